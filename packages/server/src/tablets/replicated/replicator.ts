/**
 * Brings rows from the logs of replicated tables to their replicas, in the order of the log and each exactly
 * once: a portion of rows and the progress that tells of it are one commit.
 * Specified in: yt/yt/server/node/tablet_node/table_replicator.cpp.
 */
import { toYtError, YtError } from "@qyt/base";
import { EncodedRows } from "@qyt/schema";
import type { RowSlice } from "../chunks/store-reader.ts";
import type { OrderedTablet } from "../ordered/index.ts";
import type { RowWrite } from "../sorted/index.ts";
import type { DynamicTableHandle } from "../tables/dynamic-table-handle.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import { isReadableAs } from "../tables/slice-writer.ts";
import type { TabletTransactions } from "../transactions/index.ts";
import type { ReplicatedPart } from "../transactions/logged-rows.ts";
import { decodeChange } from "./log-rows.ts";
import type { ReplicaNode } from "./replica-state.ts";
import type { ReplicatedLog } from "./replicated-log.ts";

/** So many rows at most go in one commit … */
const portionRows = 200;
/** … and no more when they reach this, in bytes. */
const portionWeight = 1024 * 1024;

export interface ReplicatorOptions {
  readonly environment: TableEnvironment;
  readonly transactions: TabletTransactions;
  /** The log of a replicated table; `undefined` when it is gone. */
  readonly logOf: (tableId: string) => ReplicatedLog | undefined;
}

interface Portion {
  readonly fromRow: number;
  readonly toRow: number;
  readonly timestamp: bigint;
  readonly slices: readonly RowSlice[];
}

export class Replicator {
  readonly #options: ReplicatorOptions;
  /** Replicas that are being served; true: rows have come meanwhile. */
  readonly #running = new Map<string, { isWantedAgain: boolean; readonly done: Promise<void> }>();
  #isClosed = false;

  constructor(options: ReplicatorOptions) {
    this.#options = options;
  }

  /** Rows have come, a replica has changed, or it is time to look again. */
  wake(tableId: string): void {
    for (const { id, state } of this.#options.environment.replicas.of(tableId)) {
      if (state.enabled) {
        this.#wakeReplica(tableId, id);
      }
    }
  }

  /** Looks at every replica. */
  wakeAll(): void {
    for (const { id, state } of this.#options.environment.replicas.all()) {
      if (state.enabled) {
        this.#wakeReplica(state.tableId, id);
      }
    }
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.all([...this.#running.values()].map(({ done }) => done));
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.settled();
  }

  #wakeReplica(tableId: string, replicaId: string): void {
    if (this.#isClosed) {
      return;
    }
    const running = this.#running.get(replicaId);
    if (running !== undefined) {
      running.isWantedAgain = true;
      return;
    }
    if (!this.#hasWork(tableId, replicaId)) {
      return;
    }
    const run = { isWantedAgain: false, done: Promise.resolve() };
    run.done = this.#serve(tableId, replicaId, run);
    this.#running.set(replicaId, run);
  }

  #hasWork(tableId: string, replicaId: string): boolean {
    const log = this.#options.logOf(tableId);
    return log !== undefined && !log.isInSync(replicaId);
  }

  /** Until the replica has all rows. After a failure the tablet waits for the next time it is looked at. */
  async #serve(tableId: string, replicaId: string, run: { isWantedAgain: boolean }): Promise<void> {
    // Not in the stack of the commit that has just become visible.
    await Promise.resolve();
    try {
      for (let isDone = false; !isDone && !this.#isClosed; ) {
        run.isWantedAgain = false;
        isDone = !(await this.#round(tableId, replicaId)) && !run.isWantedAgain;
      }
    } finally {
      this.#running.delete(replicaId);
    }
  }

  /** One portion of each tablet. @returns whether any row has gone */
  async #round(tableId: string, replicaId: string): Promise<boolean> {
    const { environment } = this.#options;
    let hasMoved = false;
    const count = this.#options.logOf(tableId)?.table.tabletCount ?? 0;
    for (let index = 0; index < count && !this.#isClosed; index++) {
      const log = this.#options.logOf(tableId);
      const record = log?.table.state.tablets[index];
      const replica = log?.replicas.find(({ id }) => id === replicaId);
      if (log === undefined || record === undefined || replica === undefined || !replica.state.enabled) {
        return false;
      }
      if (record.state === "unmounted") {
        continue;
      }
      try {
        hasMoved = (await this.#replicate(log, replica, index)) || hasMoved;
        environment.replicationErrors.clear(replicaId, record.id);
      } catch (thrown) {
        environment.replicationErrors.set(replicaId, record.id, toYtError(thrown));
      }
    }
    return hasMoved;
  }

  async #replicate(log: ReplicatedLog, replica: ReplicaNode, tabletIndex: number): Promise<boolean> {
    const { environment, transactions } = this.#options;
    if (log.lag(replica.id, tabletIndex) === 0) {
      return false;
    }
    const tablet = log.table.readableTablet(tabletIndex);
    const portion = readPortion(tablet, log.position(replica.id, tabletIndex, "visible"));
    if (portion === undefined) {
      return false;
    }
    const { table } = log.bound(replica);
    table.requireRoom();
    await transactions.run({ user: "replicator", isBlind: true, atomicity: table.atomicity }, (transaction) =>
      transaction.addReplicated(this.#part(log, replica, tabletIndex, tablet, portion)),
    );
    return environment.replicas.find(replica.id) !== undefined;
  }

  #part(
    log: ReplicatedLog,
    replica: ReplicaNode,
    tabletIndex: number,
    tablet: OrderedTablet,
    portion: Portion,
  ): ReplicatedPart {
    const { progress, replicas } = this.#options.environment;
    const { table, translate } = log.bound(replica);
    const taken = log.table.sorted ? takeChanges(log.table, portion, translate) : undefined;
    const toRow = taken?.toRow ?? portion.toRow;
    return {
      ...(taken === undefined ? {} : { sorted: { table, writes: taken.writes } }),
      prepare(batch, commitTimestamp, prepared) {
        // Looked at again: the replica may have been changed while this waited for its turn to commit.
        if (replicas.find(replica.id)?.state.enabled !== true) {
          throw new YtError(`Replica ${replica.id} is not enabled any more`);
        }
        log.bound(replica);
        const now = log.position(replica.id, tabletIndex, "pending");
        if (now !== portion.fromRow) {
          throw new YtError(`Replica ${replica.id} is at row ${now} already, not at ${portion.fromRow}`, {
            code: "SyncReplicaNotInSync",
          });
        }
        if (taken === undefined) {
          const target = table.writableTablet(log.targetIndex(tabletIndex, table));
          const rows = encodedRows(tablet, portion);
          prepared.push(target.prepareAppend(batch, rows, undefined, commitTimestamp));
        }
        prepared.push(
          progress.prepare(batch, replica.id, tablet.tabletId, {
            rowIndex: toRow,
            timestamp: portion.timestamp,
            broughtAt: commitTimestamp,
          }),
        );
      },
    };
  }
}

function readPortion(tablet: OrderedTablet, fromRow: number): Portion | undefined {
  const slices = [...tablet.read(fromRow, { maxRowCount: portionRows, maxDataWeight: portionWeight })];
  const first = slices[0];
  const last = slices.at(-1);
  if (first === undefined || last === undefined) {
    return undefined;
  }
  return {
    fromRow: first.block.firstRowIndex + first.from,
    toRow: last.block.firstRowIndex + last.to,
    timestamp: last.block.timestampAt(last.to - 1),
    slices,
  };
}

/** Changes up to the first that is of a row changed before: one commit changes a row once. */
function takeChanges(
  table: DynamicTableHandle,
  { slices, toRow }: Portion,
  translate: (write: RowWrite) => RowWrite,
): { readonly writes: readonly RowWrite[]; readonly toRow: number } {
  const seen = new Set<string>();
  const writes: RowWrite[] = [];
  for (const slice of slices) {
    for (let row = slice.from; row < slice.to; row++) {
      const write = decodeChange(table, slice, row);
      if (seen.has(write.name)) {
        return { writes, toRow: slice.block.firstRowIndex + row };
      }
      seen.add(write.name);
      writes.push(translate(write));
    }
  }
  return { writes, toRow };
}

/** The rows of the portion as they are stored; cells were only ever added behind. */
function encodedRows(tablet: OrderedTablet, { slices, fromRow, toRow }: Portion): EncodedRows {
  const { format } = tablet;
  const systemWeight = (format.hasTimestamp ? 8 : 0) + (format.hasCumulativeDataWeight ? 8 : 0);
  const parts: Buffer[] = [];
  const ends = new Uint32Array(toRow - fromRow);
  const weights = new Uint32Array(toRow - fromRow);
  let count = 0;
  let end = 0;
  for (const { block, from, to, format: stored } of slices) {
    if (!isReadableAs(stored, format)) {
      throw new YtError(
        `Rows of tablet ${tablet.tabletId} were written before the replicated table was altered in a way that its replicas cannot follow`,
      );
    }
    const start = block.rowStart(from);
    for (let row = from; row < to; row++) {
      ends[count] = end + block.rowEnd(row) - start;
      weights[count] = block.weightAt(row) - systemWeight;
      count++;
    }
    parts.push(block.bytes.subarray(start, block.rowEnd(to - 1)));
    end += block.rowEnd(to - 1) - start;
  }
  return new EncodedRows({ rowCount: count, bytes: Buffer.concat(parts), ends, weights });
}
