/**
 * Sorted rows at commit: those of an ordinary table go into its store, those of a replicated one into its log
 * and, translated, into the stores of its synchronous replicas. Also what replication itself commits.
 * Specified in: yt/yt/ytlib/api/native/transaction.cpp (SubmitRows).
 */
import type { WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { DynamicTable, Replication, SyncReplica } from "../dynamic-table.ts";
import type { RowWrite } from "../sorted/index.ts";
import type { RowBuffer } from "./row-buffer.ts";

/** Changes of the rows that one table stores. */
export interface StoredRows {
  readonly table: DynamicTable;
  readonly writes: Iterable<RowWrite>;
}

/** Rows of a log that go to one replica, with the progress that is written down along with them. */
export interface ReplicatedPart {
  /** Changes of the rows of a sorted replica. */
  readonly sorted?: StoredRows;
  /** The rest, right before the batch is committed. @throws YtError when the part is out of date */
  prepare(batch: WriteBatch, commitTimestamp: bigint, prepared: Prepared[]): void;
}

/** The changes of one sorted replicated table, at commit. */
export class LoggedRows {
  readonly table: DynamicTable;
  readonly #replication: Replication;
  readonly #replicas: readonly SyncReplica[];
  readonly #buffer: RowBuffer;
  readonly #byTablet = new Map<number, RowWrite[]>();

  private constructor(buffer: RowBuffer, replication: Replication) {
    this.table = buffer.table;
    this.#buffer = buffer;
    this.#replication = replication;
    this.#replicas = replication.syncReplicas();
  }

  /** `undefined` for a table that stores its rows itself. @throws YtError when a replica cannot take rows */
  static of(buffer: RowBuffer): LoggedRows | undefined {
    const { replication } = buffer.table;
    return replication === undefined ? undefined : new LoggedRows(buffer, replication);
  }

  /** What the synchronous replicas store. */
  *stored(): Generator<StoredRows> {
    for (const { table, translate } of this.#replicas) {
      table.requireRoom();
      yield { table, writes: translated(this.#buffer.writes(), translate) };
    }
  }

  /** Sorts out which tablet of the log has which change; pauses often. @throws YtError 1702 */
  *collect(): Generator<void> {
    for (const write of this.#buffer.writes()) {
      if (write.version === undefined) {
        continue;
      }
      const index = this.#replication.tabletIndexOf(this.table.requireWritableKey(write.key));
      const writes = this.#byTablet.get(index) ?? [];
      writes.push(write);
      this.#byTablet.set(index, writes);
      if (writes.length % changesPerPause === 0) {
        yield;
      }
    }
  }

  /** @throws YtError 1702, 1732 */
  prepare(batch: WriteBatch, commitTimestamp: bigint, prepared: Prepared[]): void {
    for (const [tabletIndex, writes] of this.#byTablet) {
      const rows = this.#replication.encodeChanges(writes);
      this.#replication.prepareAppend(
        batch,
        prepared,
        { tabletIndex, rows, selection: undefined },
        commitTimestamp,
        this.#replicas,
      );
    }
  }
}

const changesPerPause = 100;

function* translated(
  writes: Iterable<RowWrite>,
  translate: (write: RowWrite) => RowWrite,
): Generator<RowWrite> {
  for (const write of writes) {
    yield translate(write);
  }
}
