/**
 * Rows of sorted tables straight out of the memory of the store: what nearly all rows are, whose newest version is
 * the whole row in one record. What has to be put together of several is left to `SortedRows.lookup`.
 */
import { decodeCell, type PhysicalType, type RowValue, writeKeyCells } from "@qyt/schema";
import { type Cell, type KeyRange, RecordBuffer } from "../../cell/index.ts";
import {
  decodeRowKey,
  rowsPrefixBytes,
  timestampBytes,
  versionKey,
  versionStamp,
  versionSuffixBytes,
} from "./row-keys.ts";
import { partHeaderBytes } from "./stored-versions.ts";
import { findCells } from "./version-record.ts";

/** The table whose rows are read. */
export interface CellTable {
  readonly cell: Cell;
  readonly prefix: Buffer;
  readonly range: KeyRange;
  readonly keyTypes: readonly PhysicalType[];
  readonly columnCount: number;
  /** In the schema by column id; −1 for a column that is gone. */
  readonly positions: readonly number[];
}

/** `fold`: there may be a row, of several versions or parts. */
type Found = "row" | "none" | "fold";

/** Finds where the cells of one version after the other are. */
class VersionCells {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly #positions: readonly number[];

  constructor({ columnCount, positions }: CellTable) {
    this.starts = new Int32Array(columnCount);
    this.ends = new Int32Array(columnCount);
    this.#positions = positions;
  }

  /** Looks at the newest version of a row that counts. @throws YtError 721 when its record is damaged */
  find({ bytes, view, keyEnd, valueStart, valueEnd }: RecordBuffer): Found {
    const isInOnePart =
      valueEnd - valueStart > partHeaderBytes &&
      view.getUint16(valueStart) === 1 &&
      view.getUint16(keyEnd - partBytes) === 0;
    if (!isInOnePart) {
      return "fold";
    }
    this.starts.fill(0);
    this.ends.fill(0);
    const from = valueStart + partHeaderBytes;
    const kind = findCells(bytes, from, valueEnd, this.#positions, this.starts, this.ends);
    return kind === "write" ? "row" : kind === "delete" ? "none" : "fold";
  }
}

const partBytes = versionSuffixBytes - timestampBytes;

/** Reads rows by key, one at a time. */
export class CellReader {
  /** Of the last row: memory, and where the cell of each column asked for is; one that ends where it starts is null. */
  readonly record = new RecordBuffer(4096);
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly #table: CellTable;
  readonly #columns: readonly number[];
  readonly #version: VersionCells;
  /** Behind the key of a row: its first version that counts, and its end. */
  #first: Buffer;
  readonly #last = versionStamp(0n);
  #from: Buffer = Buffer.alloc(0);
  #to: Buffer = Buffer.alloc(0);
  #found: Found = "none";

  /** @param columns positions in the schema */
  constructor(table: CellTable, columns: readonly number[]) {
    this.#table = table;
    this.#columns = columns;
    this.#first = this.#last;
    this.#version = new VersionCells(table);
    this.starts = new Int32Array(columns.length);
    this.ends = new Int32Array(columns.length);
  }

  isFor(table: CellTable, columns: readonly number[]): boolean {
    return (
      table === this.#table &&
      columns.length === this.#columns.length &&
      columns.every((position, index) => position === this.#columns[index])
    );
  }

  /** Rows are read as of this time from now on. */
  setTimestamp(timestamp: bigint): void {
    this.#first = versionStamp(timestamp);
    this.#from = Buffer.alloc(0);
  }

  read(key: Buffer): Found {
    const { record } = this;
    const { cell, keyTypes } = this.#table;
    this.#begin(key);
    cell.visit(this.#from, this.#to, record, this.#take);
    if (this.#found === "row") {
      const { starts, ends } = this.#version;
      writeKeyCells(key, key.length - 1, keyTypes, record, starts, ends);
      for (let index = 0; index < this.#columns.length; index++) {
        const position = this.#columns[index] ?? 0;
        this.starts[index] = starts[position] ?? 0;
        this.ends[index] = ends[position] ?? 0;
      }
    }
    return this.#found;
  }

  readonly #take = (record: RecordBuffer): boolean => {
    this.#found = this.#version.find(record);
    return false;
  };

  #begin(key: Buffer): void {
    this.#found = "none";
    this.record.length = 0;
    const { prefix } = this.#table;
    const keyEnd = prefix.length + key.length;
    if (this.#from.length !== keyEnd + versionSuffixBytes) {
      this.#from = Buffer.concat([prefix, key, this.#first]);
      this.#to = Buffer.concat([prefix, key, this.#last]);
    } else {
      // What stands around the key is the same.
      this.#from.set(key, prefix.length);
      this.#to.set(key, prefix.length);
    }
  }
}

export interface CellScan {
  /** Row keys in [from, to). */
  readonly from: Buffer;
  readonly to: Buffer | undefined;
  readonly timestamp: bigint;
  /** Rows at most. */
  readonly maxRows: number;
  /** Records at most that are looked at, but for the rest of a row. */
  readonly maxRecords: number;
  /** Bytes of values at most, the same. */
  readonly maxBytes: number;
  /** Versions of a row that do not count are jumped over from so many on. */
  readonly maxPassed: number;
  /** Positions in the schema: the values of a row stand in this order. */
  readonly columns: readonly number[];
  /** All rows have to be put together. */
  readonly foldsAll: boolean;
  /** Reads a row that has to be put together, all columns in the order of the schema. */
  readonly fold: (key: Buffer) => readonly RowValue[] | undefined;
}

/** Putting a row together takes the time of so many records that are looked at. */
const recordsPerFold = 20;

/** Reads rows in the order of their keys. */
export class RowScan {
  readonly rows: RowValue[][] = [];
  /** Row key where to go on; undefined at the end. */
  next: Buffer | undefined;
  readonly #table: CellTable;
  readonly #scan: CellScan;
  readonly #version: VersionCells;
  readonly #needsKey: boolean;
  /** Versions that count have an inverted timestamp of at least this. */
  readonly #firstHigh: number;
  readonly #firstLow: number;
  #left: number;
  #leftBytes: number;
  /** The key of the row that the scan is in, in the memory of its first record. */
  #keyBytes: Buffer = Buffer.alloc(0);
  #keyStart = 0;
  #keyEnd = 0;
  /** The row is read. */
  #isClosed = false;
  #passed = 0;
  #jump: Buffer | undefined;

  constructor(table: CellTable, scan: CellScan) {
    this.#table = table;
    this.#scan = scan;
    this.#version = new VersionCells(table);
    this.#needsKey = scan.columns.some((position) => position < table.keyTypes.length);
    const first = versionStamp(scan.timestamp);
    this.#firstHigh = first.readUInt32BE(0);
    this.#firstLow = first.readUInt32BE(4);
    this.#left = scan.maxRecords;
    this.#leftBytes = scan.maxBytes;
  }

  run(): void {
    const { cell, prefix, range } = this.#table;
    const { from, to } = this.#scan;
    const end = to === undefined ? range.to : Buffer.concat([prefix, to]);
    const record = new RecordBuffer();
    this.#jump = Buffer.concat([prefix, from]);
    while (this.#jump !== undefined) {
      const position: Buffer = this.#jump;
      this.#jump = undefined;
      this.#passed = 0;
      cell.visit(position, end, record, this.#take);
    }
  }

  readonly #take = (record: RecordBuffer): boolean => {
    const { bytes, view } = record;
    const keyStart = record.keyStart + rowsPrefixBytes;
    const keyEnd = record.keyEnd - versionSuffixBytes;
    this.#left--;
    this.#leftBytes -= record.valueEnd - record.valueStart;
    if (!this.#isOfRow(bytes, keyStart, keyEnd)) {
      if (
        this.rows.length >= this.#scan.maxRows ||
        this.#left <= 0 ||
        (this.#leftBytes <= 0 && this.rows.length > 0)
      ) {
        this.next = Buffer.from(bytes.subarray(keyStart, keyEnd));
        return false;
      }
      this.#keyBytes = bytes;
      this.#keyStart = keyStart;
      this.#keyEnd = keyEnd;
      this.#isClosed = false;
      this.#passed = 0;
    } else if (this.#isClosed) {
      return this.#pass();
    }
    const high = view.getUint32(keyEnd);
    if (high < this.#firstHigh || (high === this.#firstHigh && view.getUint32(keyEnd + 4) < this.#firstLow)) {
      return this.#pass();
    }
    this.#isClosed = true;
    const row = this.#read(record);
    if (row !== undefined) {
      this.rows.push(row);
    }
    return true;
  };

  /** From the end, where neighbours differ. */
  #isOfRow(bytes: Buffer, start: number, end: number): boolean {
    const known = this.#keyBytes;
    let to = this.#keyEnd;
    if (end - start !== to - this.#keyStart) {
      return false;
    }
    for (let at = end; at > start; ) {
      if (bytes[--at] !== known[--to]) {
        return false;
      }
    }
    return true;
  }

  /** A version that does not count. */
  #pass(): boolean {
    const { maxPassed, timestamp } = this.#scan;
    if (++this.#passed <= maxPassed) {
      return true;
    }
    // To the first version that is old enough, or behind the row.
    this.#jump = versionKey(this.#table.prefix, this.#rowKey(), this.#isClosed ? 0n : timestamp, 0);
    return false;
  }

  #rowKey(): Buffer {
    return this.#keyBytes.subarray(this.#keyStart, this.#keyEnd);
  }

  #read(record: RecordBuffer): RowValue[] | undefined {
    const { columns, foldsAll, fold } = this.#scan;
    const found = foldsAll ? "fold" : this.#version.find(record);
    if (found === "none") {
      return undefined;
    }
    if (found === "fold") {
      this.#left -= recordsPerFold;
      const row = fold(this.#rowKey());
      return row === undefined ? undefined : columns.map((position) => row[position] ?? null);
    }
    const { keyTypes } = this.#table;
    const { starts, ends } = this.#version;
    const { bytes } = record;
    const key = this.#needsKey ? decodeRowKey(this.#rowKey(), keyTypes) : [];
    const values = new Array<RowValue>(columns.length);
    for (let index = 0; index < columns.length; index++) {
      const position = columns[index] ?? 0;
      const start = starts[position] ?? 0;
      const end = ends[position] ?? 0;
      values[index] =
        position < keyTypes.length
          ? (key[position] ?? null)
          : start === end
            ? null
            : (decodeCell(bytes, start, end) ?? null);
    }
    return values;
  }
}
