/**
 * How far each replica is in each tablet of its replicated table: a small record that is written in the batch
 * that has the replica's rows, so that a crash leaves both or neither.
 *
 *     0x0a · replica id · tablet id → u64 row index · u64 timestamp · u64 when rows were last brought
 */
import { assert } from "@qyt/base";
import { type Cell, keyspace, prefixRange, storeKey, type WriteBatch } from "../../cell/index.ts";
import { decodeObjectId, encodeObjectId, objectIdBytes } from "../chunks/keys.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { ReplicaState } from "./replica-state.ts";

export interface Progress {
  /** Index of the first row of the log that the replica does not have. */
  readonly rowIndex: number;
  /** Commit timestamp of the last row that it has; 0 when there is none. */
  readonly timestamp: bigint;
  /** Commit timestamp at which the replicator last brought rows: a read at an earlier time would miss them. */
  readonly broughtAt: bigint;
}

interface Entry {
  visible: Progress;
  pending: Progress;
}

const valueBytes = 24;

export class ReplicationProgress {
  readonly #entries = new Map<string, Entry>();

  /** Reads all records. */
  static open(cell: Cell): ReplicationProgress {
    const progress = new ReplicationProgress();
    const { from, to } = prefixRange(storeKey(keyspace.replication));
    for (const { key, value } of cell.range(from, to)) {
      assert(value.length === valueBytes, "Stored progress of a replica has three numbers");
      const replicaId = decodeObjectId(key, 1);
      const tabletId = decodeObjectId(key, 1 + objectIdBytes);
      const read = {
        rowIndex: Number(value.readBigUInt64BE(0)),
        timestamp: value.readBigUInt64BE(8),
        broughtAt: value.readBigUInt64BE(16),
      };
      progress.#entries.set(`${replicaId}/${tabletId}`, { visible: read, pending: read });
    }
    return progress;
  }

  /** What readers see; absent: the replica has nothing of the tablet yet. */
  visible(replicaId: string, tabletId: string): Progress | undefined {
    return this.#entries.get(`${replicaId}/${tabletId}`)?.visible;
  }

  /** What the next change builds on. */
  pending(replicaId: string, tabletId: string): Progress | undefined {
    return this.#entries.get(`${replicaId}/${tabletId}`)?.pending;
  }

  /**
   * Index of the first row of a tablet of the log that the replica lacks, of those that are still there.
   * @param kind as readers see it, or as it will be
   */
  firstLacking(
    kind: "visible" | "pending",
    replica: {
      readonly id: string;
      /** `undefined` when the replica is gone. */
      readonly state: Pick<ReplicaState, "startRowIndexes"> | undefined;
    },
    tablet: { readonly id: string; readonly index: number; readonly trimmedRowCount: number },
  ): number {
    const known = this[kind](replica.id, tablet.id)?.rowIndex;
    const start = replica.state?.startRowIndexes?.[tablet.index] ?? 0;
    return Math.max(known ?? start, tablet.trimmedRowCount);
  }

  /** Puts the record into the batch of the rows. */
  prepare(batch: WriteBatch, replicaId: string, tabletId: string, next: Progress): Prepared {
    const id = `${replicaId}/${tabletId}`;
    const entry = this.#entries.get(id);
    const previous = entry?.pending;
    const value = Buffer.allocUnsafe(valueBytes);
    value.writeBigUInt64BE(BigInt(next.rowIndex), 0);
    value.writeBigUInt64BE(next.timestamp, 8);
    value.writeBigUInt64BE(next.broughtAt, 16);
    batch.put(progressKey(replicaId, tabletId), value);
    const changed = entry ?? { visible: { rowIndex: 0, timestamp: 0n, broughtAt: 0n }, pending: next };
    changed.pending = next;
    this.#entries.set(id, changed);
    return {
      onDurable: () => {
        changed.visible = next;
      },
      onFailed: () => {
        assert(changed.pending === next, `Progress of replica ${replicaId} is taken back out of order`);
        if (previous === undefined) {
          this.#entries.delete(id);
        } else {
          changed.pending = previous;
        }
      },
    };
  }

  /** The replica is gone: its records go with the batch. */
  prepareRemoval(cell: Cell, batch: WriteBatch, replicaId: string): Pick<Prepared, "onDurable"> {
    const { from, to } = prefixRange(progressPrefix(replicaId));
    cell.scheduleRangeRemoval(batch, from, to);
    return {
      onDurable: () => {
        for (const id of [...this.#entries.keys()]) {
          if (id.startsWith(`${replicaId}/`)) {
            this.#entries.delete(id);
          }
        }
      },
    };
  }
}

function progressPrefix(replicaId: string): Buffer {
  return storeKey(keyspace.replication, encodeObjectId(replicaId));
}

function progressKey(replicaId: string, tabletId: string): Buffer {
  return storeKey(keyspace.replication, encodeObjectId(replicaId), encodeObjectId(tabletId));
}
