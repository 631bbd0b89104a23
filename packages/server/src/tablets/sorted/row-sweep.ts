/**
 * Compaction of a sorted table: goes through all rows, a part at a time, and makes one version of those
 * that nobody is to tell apart any more: those at or below a horizon that `Retention` does not keep as they
 * are. It keeps nothing by row: what it remembers is where it is, and from
 * which horizon on another sweep will find something.
 */
import { type Cell, type KeyRange, keyAfter, type WriteBatch } from "../../cell/index.ts";
import { expires, keepsWhole, newestOnly, type Retention, sameCounts } from "./retention.ts";
import { rowKeyOf, versionKey, versionStamp } from "./row-keys.ts";
import {
  lastPartKey,
  putVersion,
  readVersions,
  removeVersion,
  type StoredVersion,
} from "./stored-versions.ts";
import type { FigureChanges } from "./tablet-figures.ts";
import { type StoredColumns, VersionFold } from "./version-fold.ts";
import { type VersionCell, versionWeight } from "./version-record.ts";

/** So many versions are folded at once at most: a longer chain becomes shorter first. */
const maxFoldedVersions = 256;
/** A row that is written all the time has very many above the horizon. */
const maxRecentVersions = 8;

export interface SweepOptions {
  readonly cell: Cell;
  readonly prefix: Buffer;
  readonly range: KeyRange;
  /** Reads at older timestamps may miss versions already. */
  readonly retainedTimestamp: bigint;
}

/** The rows as the present schema shows them. */
export interface SweptRows {
  readonly columns: StoredColumns;
  readonly path: () => string;
  /** What goes, and what takes its place, is counted here. */
  readonly figures?: FigureChanges | undefined;
}

/** The row that the sweep is in. */
interface SweptRow {
  readonly key: Buffer;
  /** Oldest version above the horizon; a later sweep may fold it. */
  oldestRecent: bigint | undefined;
  recentCount: number;
  /** Versions at or below the horizon that stay as they are, so far, and the oldest of them. */
  keptCount: number;
  kept: StoredVersion | undefined;
  isRecentDelete: boolean;
  /** Versions at or below the horizon being folded; empty once something covers the rest. */
  chain: StoredVersion[];
  fold: VersionFold | undefined;
  /** Everything older goes. */
  isCovered: boolean;
  /** Timestamp of what covers it. */
  coveredAt: bigint;
  /** A deletion that goes after all that it hides. */
  tombstone: StoredVersion | undefined;
  hasOlder: boolean;
}

export class RowSweep {
  readonly #options: SweepOptions;
  /** A sweep at a horizon of at least this finds something; undefined: nothing to find. */
  #due: bigint | undefined = 0n;
  /** Something written then goes when it is too old; undefined: nothing does. */
  #agedDue: bigint | undefined;
  #retention: Retention = newestOnly;
  #position: Buffer | undefined;
  #row: SweptRow | undefined;
  /** By which the versions of the row are folded. */
  #columns: StoredColumns | undefined;
  #retainedTimestamp: bigint;
  /** Of the batch that is being made. */
  #figures: FigureChanges | undefined;

  constructor(options: SweepOptions) {
    this.#options = options;
    this.#retainedTimestamp = options.retainedTimestamp;
  }

  /** Reads at this timestamp and later ones find every row as it was; earlier ones may not. */
  get retainedTimestamp(): bigint {
    return this.#retainedTimestamp;
  }

  /** A version was written: it may cover others, once the horizon has passed it. */
  noteWrite(timestamp: bigint): void {
    if (this.#due === undefined || timestamp < this.#due) {
      this.#due = timestamp;
    }
  }

  /** What the last batches said is not so: they were not committed. */
  startAnew(): void {
    this.#due = 0n;
    this.#position = undefined;
    this.#row = undefined;
  }

  #isDue(horizon: bigint): boolean {
    return (
      (this.#due !== undefined && horizon >= this.#due) ||
      (this.#agedDue !== undefined && this.#agedDue < this.#retention.agedBefore)
    );
  }

  #noteAging(timestamp: bigint): void {
    if (this.#agedDue === undefined || timestamp < this.#agedDue) {
      this.#agedDue = timestamp;
    }
  }

  /**
   * Reads on for about `maxRecords` records.
   * @returns whether the sweep has come to its end
   */
  advance(
    batch: WriteBatch,
    rows: SweptRows,
    horizon: bigint,
    maxRecords: number,
    retention: Retention = newestOnly,
  ): boolean {
    if (!sameCounts(this.#retention, retention)) {
      this.startAnew();
    }
    if (this.#position === undefined) {
      this.#retention = retention;
    }
    if (this.#columns !== undefined && !this.#columns.schema.equals(rows.columns.schema)) {
      this.startAnew();
    }
    this.#columns = rows.columns;
    this.#figures = rows.figures;
    if (this.#position === undefined) {
      if (!this.#isDue(horizon)) {
        return true;
      }
      this.#due = undefined;
      this.#agedDue = undefined;
      this.#position = this.#options.range.from;
    }
    const { cell, range } = this.#options;
    let left = maxRecords;
    for (let jump: Buffer | undefined = this.#position; jump !== undefined; ) {
      const from: Buffer = jump;
      jump = undefined;
      for (const stored of readVersions(cell, { from, to: range.to }, rows.path)) {
        const key = rowKeyOf(stored.key);
        if (this.#row === undefined || !this.#row.key.equals(key)) {
          this.#endRow(batch);
          if (left <= 0) {
            this.#position = stored.key;
            return false;
          }
          this.#row = newRow(key);
        }
        if (left <= -maxFoldedVersions) {
          // A row of very many versions: go on inside of it the next time.
          this.#position = stored.key;
          return false;
        }
        left -= stored.partCount;
        this.#position = keyAfter(lastPartKey(stored));
        if (this.#take(batch, this.#row, stored, rows.columns, horizon) === "jump") {
          jump = versionKey(this.#options.prefix, this.#row.key, horizon, 0);
          break;
        }
      }
    }
    this.#endRow(batch);
    this.#position = undefined;
    return true;
  }

  /** @returns `jump`: the versions above the horizon are too many to be looked at one by one */
  #take(
    batch: WriteBatch,
    row: SweptRow,
    stored: StoredVersion,
    columns: StoredColumns,
    horizon: bigint,
  ): "jump" | undefined {
    const { version } = stored;
    if (row.isCovered) {
      this.#retain(row.coveredAt);
      this.#remove(batch, row, stored);
      return undefined;
    }
    if (version.timestamp > horizon) {
      row.oldestRecent = version.timestamp;
      row.recentCount++;
      row.isRecentDelete = row.recentCount === 1 && version.kind === "delete";
      if (expires(this.#retention)) {
        this.#noteAging(version.timestamp);
      }
      const { minVersions, maxVersions } = this.#retention;
      if (row.recentCount <= Math.max(maxRecentVersions, minVersions, maxVersions)) {
        return undefined;
      }
      row.oldestRecent = horizon + 1n;
      return "jump";
    }
    row.hasOlder = true;
    const index = row.recentCount + row.keptCount;
    if (row.chain.length === 0 && keepsWhole(this.#retention, index, version.timestamp)) {
      if (expires(this.#retention) || index >= this.#retention.minVersions) {
        this.#noteAging(version.timestamp);
      }
      row.kept = stored;
      row.keptCount++;
      return undefined;
    }
    this.#chainKept(batch, row, columns);
    if (row.isCovered) {
      this.#retain(row.coveredAt);
      this.#remove(batch, row, stored);
      return undefined;
    }
    this.#chain(batch, row, stored, columns);
    return undefined;
  }

  /** What does not stay is folded into the oldest version that does. */
  #chainKept(batch: WriteBatch, row: SweptRow, columns: StoredColumns): void {
    const { kept } = row;
    row.kept = undefined;
    if (kept !== undefined) {
      this.#chain(batch, row, kept, columns);
    }
  }

  #chain(batch: WriteBatch, row: SweptRow, stored: StoredVersion, columns: StoredColumns): void {
    const { version } = stored;
    if (version.kind === "delete" && row.chain.length === 0) {
      row.isCovered = true;
      row.coveredAt = version.timestamp;
      row.tombstone = stored;
      return;
    }
    row.fold ??= new VersionFold(columns);
    row.fold.add(version);
    row.chain.push(stored);
    if (row.fold.isClosed) {
      row.isCovered = true;
      row.coveredAt = version.timestamp;
      this.#fold(batch, row, true);
    } else if (row.chain.length >= maxFoldedVersions) {
      this.#fold(batch, row, false);
      this.noteWrite(0n);
    }
  }

  /** Puts the one version that stands for the chain in the place of the newest of them. */
  #fold(batch: WriteBatch, row: SweptRow, isWhole: boolean): void {
    const [newest, ...older] = row.chain;
    const { fold } = row;
    row.chain = [];
    row.fold = undefined;
    if (newest === undefined || fold === undefined) {
      return;
    }
    const { timestamp } = newest.version;
    const agedBefore = isWhole && expires(this.#retention) ? this.#retention.agedBefore : 0n;
    const isExpired = timestamp < agedBefore;
    const version = fold.toVersion(isWhole, timestamp, agedBefore);
    if (older.length === 0 && !isExpired && !hasOlderThan(newest, agedBefore)) {
      this.#noteRemaining(newest.version.cells, timestamp);
      return;
    }
    this.#retain(timestamp);
    for (const stored of [newest, ...older]) {
      this.#remove(batch, row, stored);
    }
    if (!isExpired) {
      const byteSize = putVersion(batch, this.#options.prefix, row.key, versionStamp(timestamp), version);
      this.#figures?.add(row.key, 1, versionWeight(row.key, version.cells), byteSize);
      this.#noteRemaining(version.cells, timestamp);
    }
  }

  #remove(batch: WriteBatch, { key }: SweptRow, stored: StoredVersion): void {
    removeVersion(batch, stored);
    this.#figures?.add(key, -1, versionWeight(key, stored.version.cells), stored.byteSize);
  }

  /** What remains of a row is due when it is too old. */
  #noteRemaining(cells: readonly VersionCell[], timestamp: bigint): void {
    if (expires(this.#retention)) {
      this.#noteAging(timestamp);
      for (const cell of cells) {
        this.#noteAging(cell.timestamp ?? timestamp);
      }
    }
  }

  /** What was there before the timestamp goes. */
  #retain(timestamp: bigint): void {
    if (timestamp > this.#retainedTimestamp) {
      this.#retainedTimestamp = timestamp;
    }
  }

  #endRow(batch: WriteBatch): void {
    const row = this.#row;
    this.#row = undefined;
    if (row === undefined) {
      return;
    }
    if (this.#columns !== undefined) {
      this.#chainKept(batch, row, this.#columns);
    }
    this.#fold(batch, row, true);
    if (row.tombstone !== undefined) {
      this.#remove(batch, row, row.tombstone);
    }
    const willFold = row.recentCount > 1 || (row.recentCount === 1 && (row.hasOlder || row.isRecentDelete));
    if (row.oldestRecent !== undefined && willFold) {
      this.noteWrite(row.oldestRecent);
    }
  }
}

function hasOlderThan({ version }: StoredVersion, time: bigint): boolean {
  return version.cells.some((cell) => (cell.timestamp ?? version.timestamp) < time);
}

function newRow(key: Buffer): SweptRow {
  return {
    key: Buffer.from(key),
    oldestRecent: undefined,
    recentCount: 0,
    keptCount: 0,
    kept: undefined,
    isRecentDelete: false,
    chain: [],
    fold: undefined,
    isCovered: false,
    coveredAt: 0n,
    tombstone: undefined,
    hasOlder: false,
  };
}
