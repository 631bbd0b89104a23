/**
 * The sink for rows of a table with a strict schema: checks values against the columns and makes encoded rows.
 * Specified in: yt/yt/client/table_client/unversioned_row.cpp (ValidateClientRow), value_consumer.cpp.
 */
import { YtError } from "@qyt/base";
import { bytesToString } from "@qyt/yson";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import type { ColumnTable } from "./column-table.ts";
import { cellKind, cellWeight, type EncodedRows, noTabletIndex, writeCell } from "./encoded-rows.ts";
import { RowBatch } from "./row-batch.ts";
import {
  invalidType,
  missingRequiredColumn,
  requiredColumn,
  rowTooLarge,
  tooManyValues,
  unexpectedColumn,
  valueTooLong,
} from "./row-errors.ts";
import { RowOutput, wordsToInt64, wordsToUint64 } from "./row-output.ts";
import { fastValue, forbiddenCell, type PlannedColumn, type RowPlan, tabletIndexCell } from "./row-plan.ts";
import type { RowLimits, RowSink } from "./row-sink.ts";
import type { TypeConversion } from "./type-conversion.ts";
import { checkValue } from "./value-checks.ts";

export interface SchemaRowSinkOptions {
  /** Columns that a row does not mention become absent cells instead of null ones. */
  readonly keepAbsent: boolean;
  /** A row of a sorted table must have a column that is no key. */
  readonly needsValues: boolean;
  /** Keys that a row does not mention are an error instead of null. */
  readonly needsKeys: boolean;
  /** With it a `$tablet_index` out of range is found here, with the index of its row. */
  readonly tabletCount?: number;
  readonly conversion: TypeConversion;
  readonly limits: RowLimits;
}

export class SchemaRowSink implements RowSink {
  output: RowOutput;
  rowIndex = 0;

  readonly #plan: RowPlan;
  readonly #options: SchemaRowSinkOptions;
  readonly #table: ColumnTable;
  readonly #fast: Uint8Array;
  readonly #cellOf: Int32Array;
  readonly #required: Uint8Array;
  readonly #cellCount: number;
  readonly #maxString: number;
  readonly #filler: number;

  readonly #batch: RowBatch;

  // The row.
  #rowStart = 0;
  #weight = 1;
  #place = 0;
  #current = 0;
  #nextCell = 0;
  #isShuffled = false;
  #requiredSeen = 0;
  #tabletIndex = noTabletIndex;
  #sequenceNumber = 0n;
  #hasSequence = false;
  #epoch = 1;

  /** By place in the row: the column that came there last time. */
  readonly #order: Int32Array;
  /** By column: the epoch of the row it was last seen in. */
  readonly #seen: Int32Array;
  readonly #cellStart: Int32Array;
  readonly #cellEnd: Int32Array;
  readonly #scratch = new RowOutput(64);

  constructor(plan: RowPlan, options: SchemaRowSinkOptions, expectedBytes = 1024) {
    this.#plan = plan;
    this.#options = options;
    this.#table = plan.table;
    this.#fast = plan.fast;
    this.#cellOf = plan.cellOf;
    this.#required = plan.required;
    this.#cellCount = plan.cells.length;
    this.#maxString = options.limits.maxStringValueBytes;
    this.#filler = options.keepAbsent ? cellKind.absent : cellKind.null;
    this.#batch = new RowBatch(expectedBytes);
    this.output = new RowOutput(expectedBytes);
    const count = plan.columns.length;
    this.#order = new Int32Array(count + 1);
    for (let place = 0; place < count; place++) {
      this.#order[place] = place;
    }
    this.#order[count] = -1;
    this.#seen = new Int32Array(count);
    this.#cellStart = new Int32Array(this.#cellCount);
    this.#cellEnd = new Int32Array(this.#cellCount);
  }

  beginRow(): void {
    this.#rowStart = this.output.length;
    this.#weight = 1;
    this.#place = 0;
    this.#nextCell = 0;
    this.#isShuffled = false;
    this.#requiredSeen = 0;
    this.#tabletIndex = noTabletIndex;
    this.#hasSequence = false;
    this.#epoch++;
    if (this.#epoch === 0x7fff_ffff) {
      this.#seen.fill(0);
      this.#epoch = 1;
    }
  }

  dropRow(): void {
    this.output.length = this.#rowStart;
  }

  endRow(): void {
    if (this.#nextCell < this.#cellCount) {
      this.#fill(this.#cellCount);
    }
    if (this.#requiredSeen !== this.#plan.requiredCount) {
      this.#failRequired();
    }
    if (this.#options.needsKeys || (this.#options.needsValues && this.#plan.keyCellCount > 0)) {
      this.#checkKeysAndValues();
    }
    if (this.#isShuffled) {
      this.#reorder();
    }
    const limits = this.#options.limits;
    if (this.#weight > limits.maxRowWeightBytes) {
      throw rowTooLarge(this.#weight, limits.maxRowWeightBytes);
    }
    this.#batch.add(this.output.length, this.#weight, this.#tabletIndex);
    if (this.#hasSequence) {
      this.#batch.setSequenceNumber(this.#sequenceNumber);
    }
    this.rowIndex++;
    this.#rowStart = this.output.length;
    if (this.#batch.rowCount > limits.maxRowCount) {
      throw new YtError(`Too many rows in rowset: limit ${limits.maxRowCount}`, {
        code: "TooManyRowsInRowset",
      });
    }
    if (this.output.length > limits.maxEncodedBytes) {
      throw new YtError(`Rows take too much memory: limit ${limits.maxEncodedBytes} bytes`, {
        code: "MemoryLimitExceeded",
      });
    }
  }

  /** The rows since the last call. */
  take(nextCapacity?: number): EncodedRows {
    this.output.length = this.#rowStart;
    this.#rowStart = 0;
    return this.#batch.take(this.output.take(nextCapacity));
  }

  matchColumn(bytes: Uint8Array, position: number, end: number, terminator: number): number {
    return this.#table.matchSpelling(this.#order[this.#place] ?? -1, bytes, position, end, terminator);
  }

  selectMatched(): void {
    this.#select(this.#order[this.#place] ?? 0);
  }

  selectColumn(bytes: Uint8Array, start: number, end: number): void {
    const table = this.#table;
    let column = this.#order[this.#place] ?? -1;
    if (column < 0 || !table.isNamed(column, bytes, start, end)) {
      column = table.find(bytes, start, end);
      if (column < 0) {
        throw unexpectedColumn(bytesToString(bytes, start, end));
      }
    }
    this.#select(column);
  }

  putNull(): void {
    const column = this.#column();
    if (column.cell < 0) {
      return; // Null in a system column counts as absent.
    }
    const value = checkValue(column, null, "null", this.#options.conversion);
    this.#putCell(column, value);
  }

  putBoolean(value: boolean): void {
    if (this.#fast[this.#current] !== fastValue.boolean) {
      this.#putSlow(value, "boolean");
      return;
    }
    const cell = this.#beginCell();
    this.output.byte(value ? cellKind.true : cellKind.false);
    this.#cellEnd[cell] = this.output.length;
    this.#weight += 1;
  }

  putInt64(low: number, high: number): void {
    const fast = this.#fast[this.#current];
    if (fast === fastValue.int64) {
      const cell = this.#beginCell();
      this.output.byte(cellKind.int64);
      this.output.zigzag64(low, high);
      this.#cellEnd[cell] = this.output.length;
      this.#weight += 8;
    } else if (fast === fastValue.uint64 && high >= 0 && this.#options.conversion.integral) {
      this.#putUint64(low, high);
    } else {
      this.#putSlow(wordsToInt64(low, high), "int64");
    }
  }

  putUint64(low: number, high: number): void {
    if (this.#fast[this.#current] === fastValue.uint64) {
      this.#putUint64(low, high);
    } else {
      this.#putSlow(wordsToUint64(low, high), "uint64");
    }
  }

  putDouble(value: number): void {
    if (this.#fast[this.#current] !== fastValue.double) {
      this.#putSlow(value, "double");
      return;
    }
    const cell = this.#beginCell();
    this.output.byte(cellKind.double);
    this.output.double(value);
    this.#cellEnd[cell] = this.output.length;
    this.#weight += 8;
  }

  putString(bytes: Uint8Array, view: DataView, start: number, end: number): void {
    if (this.#fast[this.#current] !== fastValue.string) {
      this.#putSlow(bytes.subarray(start, end), "string");
      return;
    }
    const length = end - start;
    if (length > this.#maxString) {
      throw valueTooLong("string", length, this.#maxString);
    }
    const cell = this.#beginCell();
    this.output.string(bytes, view, start, end);
    this.#cellEnd[cell] = this.output.length;
    this.#weight += length;
  }

  beginAny(): void {
    const column = this.#column();
    if (column.physical !== "any") {
      throw this.#wrongType(column, "any");
    }
    this.#beginCell();
    this.output.byte(cellKind.any);
    this.output.byte(0); // The length, where it fits one byte.
  }

  endAny(): void {
    const column = this.#column();
    const output = this.output;
    const lengthAt = (this.#cellStart[column.cell] ?? 0) + 1;
    const length = output.length - lengthAt - 1;
    if (length > this.#maxString) {
      throw valueTooLong("any", length, this.#maxString);
    }
    if (length < 0x80) {
      output.bytes[lengthAt] = length;
    } else {
      const shift = length < 0x4000 ? 1 : length < 0x20_0000 ? 2 : length < 0x1000_0000 ? 3 : 4;
      output.ensure(shift);
      output.bytes.copyWithin(lengthAt + 1 + shift, lengthAt + 1, output.length);
      const end = output.length + shift;
      output.length = lengthAt;
      output.varint(length);
      output.length = end;
    }
    this.#cellEnd[column.cell] = output.length;
    this.#weight += length;
  }

  /** A value in JavaScript form. `type` tells int64 from uint64. */
  putValue(value: RowValue, type: PhysicalType): void {
    if (value === null) {
      this.putNull();
    } else {
      this.#putSlow(value, type);
    }
  }

  #column(): PlannedColumn {
    const column = this.#plan.columns[this.#current];
    if (column === undefined) {
      throw new RangeError("No column is selected");
    }
    return column;
  }

  #select(column: number): void {
    if (this.#seen[column] === this.#epoch) {
      this.#failSelected(column);
    }
    const place = this.#place;
    if (place >= this.#options.limits.maxValuesPerRow) {
      throw tooManyValues(place + 1, this.#options.limits.maxValuesPerRow);
    }
    this.#seen[column] = this.#epoch;
    this.#order[place] = column;
    this.#place = place + 1;
    this.#current = column;
    this.#requiredSeen += this.#required[column] ?? 0;
    if (this.#cellOf[column] === forbiddenCell) {
      this.#failSelected(column);
    }
  }

  #failSelected(column: number): never {
    const planned = this.#plan.columns[column];
    const name = planned?.name ?? "";
    if (planned?.cell === forbiddenCell) {
      throw name.startsWith("$")
        ? unexpectedColumn(name)
        : new YtError(`Non-key column "${name}" in a key`, { code: "SchemaViolation" });
    }
    throw new YtError(planned?.isKey ? `Duplicate key column "${name}"` : `Duplicate column "${name}"`, {
      code: "SchemaViolation",
    });
  }

  #beginCell(): number {
    const cell = this.#cellOf[this.#current] ?? 0;
    const next = this.#nextCell;
    if (cell >= next) {
      if (cell > next) {
        this.#fill(cell);
      }
      this.#nextCell = cell + 1;
    } else {
      this.#isShuffled = true;
    }
    this.#cellStart[cell] = this.output.length;
    return cell;
  }

  /** Writes fillers for the cells up to `cell`: they are missing, or come later. */
  #fill(cell: number): void {
    for (let missing = this.#nextCell; missing < cell; missing++) {
      this.#cellStart[missing] = this.output.length;
      this.output.byte(this.#filler);
      this.#cellEnd[missing] = this.output.length;
    }
  }

  #reorder(): void {
    const output = this.output;
    const scratch = this.#scratch;
    scratch.length = 0;
    for (let cell = 0; cell < this.#cellCount; cell++) {
      scratch.copy(output.bytes, output.view, this.#cellStart[cell] ?? 0, this.#cellEnd[cell] ?? 0);
    }
    output.length = this.#rowStart;
    output.copy(scratch.bytes, scratch.view, 0, scratch.length);
  }

  #putUint64(low: number, high: number): void {
    const cell = this.#beginCell();
    this.output.byte(cellKind.uint64);
    this.output.varint64(low, high);
    this.#cellEnd[cell] = this.output.length;
    this.#weight += 8;
  }

  #putSlow(value: RowValue, type: PhysicalType): void {
    const column = this.#column();
    if (column.cell < 0) {
      this.#putSystemValue(column, value, type);
      return;
    }
    if (column.isComputed) {
      throw new YtError(
        `Column "${column.name}" is computed automatically and should not be provided by user`,
        { code: "SchemaViolation" },
      );
    }
    this.#putCell(column, checkValue(column, value, type, this.#options.conversion));
  }

  #putCell(column: PlannedColumn, value: RowValue): void {
    const bytes = value instanceof YsonAny ? value.bytes : value;
    if (bytes instanceof Uint8Array && bytes.length > this.#maxString) {
      throw valueTooLong(column.physical, bytes.length, this.#maxString);
    }
    const cell = this.#beginCell();
    const start = this.output.length;
    writeCell(this.output, value, column.physical === "uint64");
    this.#cellEnd[cell] = this.output.length;
    this.#weight += cellWeight(this.output.bytes, start, this.output.length);
  }

  #putSystemValue(column: PlannedColumn, value: RowValue, type: PhysicalType): void {
    let integer: RowValue;
    try {
      integer = checkValue(column, value, type, { ...this.#options.conversion, integral: true });
    } catch {
      throw this.#wrongType(column, type);
    }
    if (typeof integer !== "bigint") {
      throw this.#wrongType(column, type);
    }
    if (column.cell === tabletIndexCell) {
      this.#putTabletIndex(integer);
    } else {
      this.#hasSequence = true;
      this.#sequenceNumber = integer;
    }
  }

  #putTabletIndex(index: bigint): void {
    const count = this.#options.tabletCount;
    const isPossible = index >= 0n && index <= 0x7fff_ffffn;
    if (count !== undefined ? !isPossible || index >= BigInt(count) : index === BigInt(noTabletIndex)) {
      const range = count === undefined ? "" : `, expected in range [0, ${count - 1}]`;
      throw new YtError(`Invalid tablet index: actual ${index}${range}`);
    }
    // Whatever fits no tablet stays an index that no tablet has.
    this.#tabletIndex = isPossible ? Number(index) : index < 0n ? -0x8000_0000 : 0x7fff_ffff;
  }

  #wrongType(column: PlannedColumn, type: PhysicalType): YtError {
    if (column.cell === tabletIndexCell) {
      return new YtError("Error parsing tablet index from row");
    }
    if (column.cell < 0) {
      return new YtError("Error parsing sequence number from row");
    }
    return invalidType(column.name, column.typeName, type);
  }

  #failRequired(): never {
    for (const column of this.#plan.cells) {
      const index = this.#plan.columns.indexOf(column);
      if (column.required && this.#seen[index] !== this.#epoch) {
        throw this.#options.keepAbsent && !column.isKey
          ? missingRequiredColumn(column.name)
          : requiredColumn(column.name);
      }
    }
    throw new RangeError("No required column is missing");
  }

  #checkKeysAndValues(): void {
    let hasValues = false;
    for (const [index, column] of this.#plan.columns.entries()) {
      const isSeen = this.#seen[index] === this.#epoch;
      hasValues ||= isSeen && column.cell >= 0 && !column.isKey;
      if (this.#options.needsKeys && column.isKey && !isSeen && !column.isComputed) {
        throw new YtError(`Missing key column "${column.name}"`, { code: "SchemaViolation" });
      }
    }
    if (this.#options.needsValues && this.#plan.keyCellCount > 0 && !hasValues) {
      throw new YtError("At least one non-key column must be specified", { code: "SchemaViolation" });
    }
  }
}
