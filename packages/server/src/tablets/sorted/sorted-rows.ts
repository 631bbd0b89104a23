/**
 * The rows of one sorted dynamic table: versions by key and commit timestamp.
 *
 * Reads see what is durable. Writes are checked against the store, and against what is in flight, by
 * row and lock group. Specified in: documentation "Sorted dynamic tables", "Dynamic tables: transactions".
 */
import type { PhysicalType, RowValue, TableSchema } from "@qyt/schema";
import { type Cell, type KeyRange, prefixRange, type WriteBatch } from "../../cell/index.ts";
import { CellReader, type CellTable, RowScan } from "./cell-reads.ts";
import { putRetained } from "./retained-record.ts";
import type { Retention } from "./retention.ts";
import { decodeRowKey, encodeRowKey, rowsPrefix, versionRange } from "./row-keys.ts";
import { LockGroups, type RowLocks } from "./row-locks.ts";
import { RowState } from "./row-state.ts";
import { RowSweep } from "./row-sweep.ts";
import type { RowWrite, WriteStamp } from "./row-write-types.ts";
import { WriteSession } from "./row-writes.ts";
import { readVersions, type StoredVersion } from "./stored-versions.ts";
import type { FigureChanges } from "./tablet-figures.ts";
import { type StoredColumns, VersionFold } from "./version-fold.ts";
import type { RowVersion } from "./version-record.ts";

const maxTimestamp = 0x3fff_ffff_ffff_ff00n;
/** So many versions of a row that do not count are read before the scan jumps over the rest. */
const maxPassedVersions = 8;
/** A scan looks at so many records for each row asked for, then lets others have a turn. */
const recordsPerRow = 4;
const maxScannedBytes = 512 * 1024;

export interface SortedRowsOptions {
  readonly cell: Cell;
  /** Object id under which the rows are stored. */
  readonly rowsId: string;
  readonly schema: TableSchema;
  /** Names of all value columns the table ever had; the position is the stored id. */
  readonly valueColumns: readonly string[];
  /** Path in error texts. */
  readonly path: () => string;
  /** Of another view of the same rows. */
  readonly state?: RowState | undefined;
  /** Versions that were covered before this time may be gone. Default: none is. */
  readonly retainedTimestamp?: bigint;
}

/** How rows are read. */
export interface RowReadOptions {
  /** Behind the columns of the schema stands the commit timestamp of the value of each value column. */
  readonly withTimestamps?: boolean | undefined;
}

export interface ScannedRows {
  readonly rows: RowValue[][];
  /** Row key where to go on; undefined at the end. */
  readonly next: Buffer | undefined;
}

export class SortedRows implements StoredColumns {
  readonly schema: TableSchema;
  readonly keyTypes: readonly PhysicalType[];
  readonly lockGroups: LockGroups;
  /** Shared by all views of the rows. */
  readonly state: RowState;
  readonly #cell: Cell;
  readonly #rowsId: string;
  readonly #prefix: Buffer;
  readonly #path: () => string;
  /** Position in the schema by column id; −1 for a column that is gone. */
  readonly #positionOfColumn: readonly number[];
  readonly #columnOfPosition: readonly number[];
  readonly #cells: CellTable;
  /** Of all columns. */
  readonly #positions: readonly number[];

  constructor(options: SortedRowsOptions) {
    this.schema = options.schema;
    this.#cell = options.cell;
    this.#path = options.path;
    this.#rowsId = options.rowsId;
    this.#prefix = rowsPrefix(options.rowsId);
    this.keyTypes = options.schema.columns
      .slice(0, options.schema.keyColumnCount)
      .map(({ physical }) => physical);
    this.lockGroups = new LockGroups(options.schema);
    this.#positionOfColumn = options.valueColumns.map((name) => options.schema.indexOf(name));
    this.#columnOfPosition = options.schema.columns.map(({ name }) => options.valueColumns.indexOf(name));
    this.#positions = options.schema.columns.map((_, position) => position);
    this.#cells = {
      cell: options.cell,
      prefix: this.#prefix,
      range: this.range,
      keyTypes: this.keyTypes,
      columnCount: options.schema.columns.length,
      positions: this.#positionOfColumn,
    };
    this.state =
      options.state ??
      new RowState(
        new RowSweep({
          cell: options.cell,
          prefix: this.#prefix,
          range: this.range,
          retainedTimestamp: options.retainedTimestamp ?? 0n,
        }),
      );
  }

  get locks(): RowLocks {
    return this.state.locks;
  }

  /** All keys of the rows in the store. */
  get range(): KeyRange {
    return prefixRange(this.#prefix);
  }

  columnIdOf(position: number): number {
    return this.#columnOfPosition[position] ?? -1;
  }

  /** Position in the schema of a stored cell's column; −1 when the column is gone. */
  positionOfColumn(columnId: number): number {
    return this.#positionOfColumn[columnId] ?? -1;
  }

  /** @throws YtError 308 for a key that is too long, 325 on NaN */
  encodeKey(values: readonly RowValue[]): Buffer {
    return encodeRowKey(values, this.keyTypes);
  }

  decodeKey(key: Buffer): RowValue[] {
    return decodeRowKey(key, this.keyTypes);
  }

  /**
   * The row as of `timestamp`, all columns in schema order; `undefined` when there is none.
   * @throws YtError 500 when the table has been removed, 1708 when versions of that time are gone; so do
   * the other reads
   */
  lookup(key: Buffer, timestamp: bigint, options: RowReadOptions = {}): RowValue[] | undefined {
    this.state.requireReadable(timestamp, this.#path);
    const fold = new VersionFold(this);
    for (const { version } of this.#read(versionRange(this.#prefix, key, 0n, clamped(timestamp)))) {
      fold.add(version);
      if (fold.isClosed) {
        break;
      }
    }
    return this.#toRow(key, fold, options);
  }

  /** Versions up to `timestamp`, newest first: at most `limit`. */
  versions(key: Buffer, timestamp: bigint, limit: number): RowVersion[] {
    this.state.requireReadable(timestamp, this.#path);
    const result: RowVersion[] = [];
    for (const { version } of this.#read(versionRange(this.#prefix, key, 0n, clamped(timestamp)))) {
      result.push(version);
      if (result.length >= limit) {
        break;
      }
    }
    return result;
  }

  /**
   * Reads rows by key as `lookup` does, those that need no folding.
   * @param columns positions in the schema
   * @param known one that was made before: it is used again if it is for the same rows and columns
   */
  cellReader(timestamp: bigint, columns: readonly number[], known?: CellReader): CellReader {
    this.requireReadable(timestamp);
    const reader = known?.isFor(this.#cells, columns) === true ? known : new CellReader(this.#cells, columns);
    reader.setTimestamp(clamped(timestamp));
    return reader;
  }

  /** Whether rows can be read at this time, still. @throws as the reads do */
  requireReadable(timestamp: bigint): void {
    this.state.requireReadable(timestamp, this.#path);
  }

  /**
   * Rows with row keys in [from, to), in key order, as of `timestamp`: at most `limit`, and fewer where
   * many versions stand between them.
   * @param columns positions of the values of a row, in their order; all of them by default
   */
  scan(
    from: Buffer,
    to: Buffer | undefined,
    timestamp: bigint,
    limit: number,
    options: RowReadOptions & { readonly columns?: readonly number[] } = {},
  ): ScannedRows {
    this.state.requireReadable(timestamp, this.#path);
    const withTimestamps = options.withTimestamps === true;
    const columns = options.columns ?? (withTimestamps ? this.#timestampedPositions() : this.#positions);
    const scan = new RowScan(this.#cells, {
      from,
      to,
      timestamp: clamped(timestamp),
      maxRows: limit,
      maxRecords: limit * recordsPerRow,
      maxBytes: maxScannedBytes,
      maxPassed: maxPassedVersions,
      columns,
      foldsAll: withTimestamps,
      fold: (key) => this.lookup(key, timestamp, options),
    });
    scan.run();
    return { rows: scan.rows, next: scan.next };
  }

  /** Checks and prepares the writes of one commit to this table. */
  openWrites(stamp: WriteStamp): WriteSession {
    return new WriteSession(
      {
        locks: this.locks,
        lockGroups: this.lockGroups,
        keyTypes: this.keyTypes,
        prefix: this.#prefix,
        path: this.#path,
        decodeKey: (key) => this.decodeKey(key),
        positionOfColumn: (columnId) => this.positionOfColumn(columnId),
        noteWrites: (timestamp, writes) => this.state.noteWrites(timestamp, writes),
        versionsAbove: (key, timestamp) =>
          this.#read(versionRange(this.#prefix, key, timestamp, maxTimestamp)),
      },
      stamp,
    );
  }

  /** All writes at once. @throws YtError 1700 */
  prepareWrites(batch: WriteBatch, writes: readonly RowWrite[], stamp: WriteStamp): WriteSession {
    const session = this.openWrites(stamp);
    session.check(writes);
    session.put(batch, writes);
    return session;
  }

  /**
   * Removes or joins versions that nobody can tell apart any more: those at or below `horizon`. Reads on
   * where the last call ended, for about `maxRecords` records. What reads must not ask for any more is written
   * down in the same batch.
   * @param retention which of these versions stay apart
   * @param figures what goes is counted there
   * @returns whether there is nothing more to do for now
   */
  compact(
    batch: WriteBatch,
    horizon: bigint,
    maxRecords: number,
    retention?: Retention,
    figures?: FigureChanges,
  ): boolean {
    this.locks.forgetBefore(horizon);
    const { sweep } = this.state;
    const before = sweep.retainedTimestamp;
    const isDone = sweep.advance(
      batch,
      { columns: this, path: this.#path, figures },
      horizon,
      maxRecords,
      retention,
    );
    if (sweep.retainedTimestamp !== before) {
      putRetained(batch, this.#rowsId, sweep.retainedTimestamp);
    }
    return isDone;
  }

  /** The batch of the last `compact` was not committed. */
  compactionFailed(): void {
    this.state.sweep.startAnew();
  }

  #read(range: KeyRange): Generator<StoredVersion> {
    return readVersions(this.#cell, range, this.#path);
  }

  #timestampedPositions(): number[] {
    const { columns, keyColumnCount } = this.schema;
    return Array.from({ length: 2 * columns.length - keyColumnCount }, (_, position) => position);
  }

  #toRow(key: Buffer, fold: VersionFold, options: RowReadOptions): RowValue[] | undefined {
    if (!fold.hasRow) {
      return undefined;
    }
    const row = options.withTimestamps === true ? fold.toTimestampedRow() : fold.toRow();
    const keyValues = this.decodeKey(key);
    for (let position = 0; position < keyValues.length; position++) {
      row[position] = keyValues[position] ?? null;
    }
    return row;
  }
}

function clamped(timestamp: bigint): bigint {
  return timestamp > maxTimestamp ? maxTimestamp : timestamp;
}
