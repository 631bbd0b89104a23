/**
 * How much is in each tablet of sorted tables: versions, data weight, bytes in the store, and when rows were written
 * last. Every batch that writes or removes versions writes down what its tablets have then, so that reading a figure
 * reads nothing and a restart counts nothing.
 *
 * The numbers are those that YTsaurus keeps of the chunks of a tablet: a version is a row of a chunk until compaction
 * has merged it. Specified in: `GetDataWeight(TVersionedRow)` of yt/yt/client/table_client/versioned_row.cpp.
 */
import {
  type Cell,
  keyspace,
  prefixRange,
  readSafeU64be,
  storeKey,
  type WriteBatch,
  writeU64be,
} from "../../cell/index.ts";
import { decodeObjectId, encodeObjectId } from "../chunks/keys.ts";
import type { Prepared } from "../chunks/prepared.ts";
import { laterOf } from "../ordered/tablet-state.ts";

export interface TabletFigures {
  readonly versionCount: number;
  readonly dataWeight: number;
  /** Keys and values in the store. */
  readonly byteSize: number;
  /** Commit timestamp of the newest write; 0 when there never was one. */
  readonly lastCommitTimestamp: bigint;
}

export const noFigures: TabletFigures = {
  versionCount: 0,
  dataWeight: 0,
  byteSize: 0,
  lastCommitTimestamp: 0n,
};

export function addFigures(left: TabletFigures, right: TabletFigures): TabletFigures {
  return {
    versionCount: left.versionCount + right.versionCount,
    dataWeight: left.dataWeight + right.dataWeight,
    byteSize: left.byteSize + right.byteSize,
    lastCommitTimestamp: laterOf(left.lastCommitTimestamp, right.lastCommitTimestamp),
  };
}

/** A part of figures whose tablet is divided: which rows are in which part is not known. */
export function dividedFigures(whole: TabletFigures, count: number, index: number): TabletFigures {
  const part = (total: number): number =>
    Math.floor((total * (index + 1)) / count) - Math.floor((total * index) / count);
  return {
    versionCount: part(whole.versionCount),
    dataWeight: part(whole.dataWeight),
    byteSize: part(whole.byteSize),
    lastCommitTimestamp: whole.lastCommitTimestamp,
  };
}

interface Change {
  versionCount: number;
  dataWeight: number;
  byteSize: number;
}

/** What one batch adds to tablets and takes from them. */
export class FigureChanges {
  readonly #tabletIdOf: (key: Buffer) => string;
  readonly #changes = new Map<string, Change>();

  constructor(tabletIdOf: (key: Buffer) => string) {
    this.#tabletIdOf = tabletIdOf;
  }

  /** @param sign 1: versions are put, −1: they are removed */
  add(key: Buffer, sign: 1 | -1, dataWeight: number, byteSize: number): void {
    const tabletId = this.#tabletIdOf(key);
    let change = this.#changes.get(tabletId);
    if (change === undefined) {
      change = { versionCount: 0, dataWeight: 0, byteSize: 0 };
      this.#changes.set(tabletId, change);
    }
    change.versionCount += sign;
    change.dataWeight += sign * dataWeight;
    change.byteSize += sign * byteSize;
  }

  entries(): Iterable<readonly [tabletId: string, change: Readonly<Change>]> {
    return this.#changes;
  }
}

const recordBytes = 32;

export class SortedTabletFigures {
  /** With what is in flight. */
  readonly #pending = new Map<string, TabletFigures>();
  readonly #visible = new Map<string, TabletFigures>();
  /** Who has the rows of a tablet that a mutation in flight takes away. */
  readonly #successors = new Map<string, string>();

  private constructor() {}

  static open(cell: Pick<Cell, "range">): SortedTabletFigures {
    const all = new SortedTabletFigures();
    const { from, to } = prefixRange(storeKey(keyspace.sortedTablets));
    for (const { key, value } of cell.range(from, to)) {
      const figures: TabletFigures = {
        versionCount: readSafeU64be(value, 0),
        dataWeight: readSafeU64be(value, 8),
        byteSize: readSafeU64be(value, 16),
        lastCommitTimestamp: value.readBigUInt64BE(24),
      };
      const id = decodeObjectId(key, 1);
      all.#pending.set(id, figures);
      all.#visible.set(id, figures);
    }
    return all;
  }

  /** As readers see them; undefined for a tablet that is not there, or of a release that kept none. */
  find(tabletId: string): TabletFigures | undefined {
    return this.#visible.get(tabletId);
  }

  /** The same with what is in flight. */
  pending(tabletId: string): TabletFigures {
    return this.#pending.get(tabletId) ?? noFigures;
  }

  tabletIds(): Iterable<string> {
    return this.#visible.keys();
  }

  /** Of all tablets together, as readers see them. */
  sum(tabletIds: Iterable<string>): TabletFigures {
    let sum = noFigures;
    for (const id of tabletIds) {
      sum = addFigures(sum, this.find(id) ?? noFigures);
    }
    return sum;
  }

  /**
   * Right before the batch is committed, without an await in between.
   * @param commitTimestamp of rows that were written; absent for compaction
   */
  prepareChanges(batch: WriteBatch, changes: FigureChanges, commitTimestamp = 0n): Prepared {
    const parts: { readonly id: string; readonly difference: TabletFigures }[] = [];
    for (const [tabletId, change] of changes.entries()) {
      const id = this.#successors.get(tabletId) ?? tabletId;
      if (!this.#pending.has(id)) {
        // Its table is gone, and what is left of the rows goes too.
        continue;
      }
      const difference = { ...change, lastCommitTimestamp: commitTimestamp };
      this.#put(batch, id, addFigures(this.pending(id), difference));
      parts.push({ id, difference });
    }
    return {
      onDurable: () => {
        for (const { id, difference } of parts) {
          this.#visible.set(id, addFigures(this.#visible.get(id) ?? noFigures, difference));
        }
      },
      onFailed: () => {
        for (const { id, difference } of parts) {
          const { versionCount, dataWeight, byteSize } = this.pending(id);
          this.#pending.set(id, {
            versionCount: versionCount - difference.versionCount,
            dataWeight: dataWeight - difference.dataWeight,
            byteSize: byteSize - difference.byteSize,
            // All that is in flight fails together.
            lastCommitTimestamp: this.#visible.get(id)?.lastCommitTimestamp ?? 0n,
          });
        }
      },
    };
  }

  /** A new tablet. */
  prepareNew(batch: WriteBatch, tabletId: string, figures: TabletFigures): Prepared {
    this.#put(batch, tabletId, figures);
    return {
      // What has been compacted in it meanwhile counts when that is durable.
      onDurable: () => this.#visible.set(tabletId, figures),
      onFailed: () => this.#pending.delete(tabletId),
    };
  }

  /** @param successor who has its rows then */
  prepareRemoval(batch: WriteBatch, tabletId: string, successor?: string): Prepared {
    batch.remove(recordKey(tabletId));
    if (successor !== undefined) {
      this.#successors.set(tabletId, successor);
    }
    return {
      onDurable: () => {
        this.#successors.delete(tabletId);
        this.#pending.delete(tabletId);
        this.#visible.delete(tabletId);
      },
      onFailed: () => this.#successors.delete(tabletId),
    };
  }

  #put(batch: WriteBatch, tabletId: string, figures: TabletFigures): void {
    this.#pending.set(tabletId, figures);
    const record = Buffer.alloc(recordBytes);
    // A tablet that was divided may lose more than its part of the figures.
    writeU64be(record, Math.max(0, figures.versionCount), 0);
    writeU64be(record, Math.max(0, figures.dataWeight), 8);
    writeU64be(record, Math.max(0, figures.byteSize), 16);
    record.writeBigUInt64BE(figures.lastCommitTimestamp, 24);
    batch.put(recordKey(tabletId), record);
  }
}

function recordKey(tabletId: string): Buffer {
  return storeKey(keyspace.sortedTablets, encodeObjectId(tabletId));
}
