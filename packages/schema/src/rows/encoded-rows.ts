/**
 * Encoded rows: the form in which rows travel from the wire to the store and back. A row is one cell per
 * column, in schema order, with no framing:
 *
 * | cell   | bytes                                                        |
 * | ------ | ------------------------------------------------------------ |
 * | null   | `0x23`                                                       |
 * | absent | `0x00` (only where a reader was asked to keep absence)       |
 * | int64  | `0x02`, zigzag varint                                        |
 * | uint64 | `0x06`, varint                                               |
 * | double | `0x03`, 8 bytes little-endian                                |
 * | boolean| `0x04` false, `0x05` true                                    |
 * | string | `0x01`, zigzag varint length, bytes                          |
 * | any    | `0x07`, plain varint length, binary YSON                     |
 *
 * All but absent and any are binary YSON scalars, so that writers copy them as they are.
 */
import { type RowValue, YsonAny } from "../value-type.ts";
import { damaged } from "./row-errors.ts";
import { highWord, lowWord, type RowOutput, viewOf, wordsToUint64 } from "./row-output.ts";

/** The first byte of a cell. */
export const cellKind = {
  absent: 0x00,
  string: 0x01,
  int64: 0x02,
  double: 0x03,
  false: 0x04,
  true: 0x05,
  uint64: 0x06,
  any: 0x07,
  null: 0x23,
} as const;

/** The index in `EncodedRows.tabletIndexes` of a row that names no tablet. */
export const noTabletIndex = -1;

/** A batch of encoded rows, immutable. */
export class EncodedRows {
  readonly rowCount: number;
  /** The cells of all rows, one row after the other. */
  readonly bytes: Buffer;
  /** End of each row in `bytes`. */
  readonly ends: Uint32Array;
  /** Data weight of each row in bytes, with the leading 1, without system columns. */
  readonly weights: Uint32Array;
  /** `$tablet_index` of each row, `noTabletIndex` where there is none; undefined when no row has one. */
  readonly tabletIndexes?: Int32Array;
  /** `$sequence_number` of each row, where `hasSequenceNumber` says so; undefined when no row has one. */
  readonly sequenceNumbers?: BigInt64Array;
  /** One byte per row: 1 if the row has a `$sequence_number`. Present together with `sequenceNumbers`. */
  readonly hasSequenceNumber?: Uint8Array;

  constructor(fields: {
    readonly rowCount: number;
    readonly bytes: Buffer;
    readonly ends: Uint32Array;
    readonly weights: Uint32Array;
    readonly tabletIndexes?: Int32Array;
    readonly sequenceNumbers?: BigInt64Array;
    readonly hasSequenceNumber?: Uint8Array;
  }) {
    this.rowCount = fields.rowCount;
    this.bytes = fields.bytes;
    this.ends = fields.ends;
    this.weights = fields.weights;
    if (fields.tabletIndexes !== undefined) {
      this.tabletIndexes = fields.tabletIndexes;
    }
    if (fields.sequenceNumbers !== undefined && fields.hasSequenceNumber !== undefined) {
      this.sequenceNumbers = fields.sequenceNumbers;
      this.hasSequenceNumber = fields.hasSequenceNumber;
    }
  }

  rowStart(row: number): number {
    return row === 0 ? 0 : (this.ends[row - 1] ?? 0);
  }

  rowEnd(row: number): number {
    return this.ends[row] ?? 0;
  }

  /** The sequence number the row carries, or undefined. */
  sequenceNumberOf(row: number): bigint | undefined {
    return this.hasSequenceNumber?.[row] === 1 ? this.sequenceNumbers?.[row] : undefined;
  }

  /** Sum of the data weights. */
  get totalWeight(): number {
    let sum = 0;
    for (let row = 0; row < this.rowCount; row++) {
      sum += this.weights[row] ?? 0;
    }
    return sum;
  }

  /** Rows `[from, to)` over the same bytes. */
  slice(from: number, to: number = this.rowCount): EncodedRows {
    const base = this.rowStart(from);
    return new EncodedRows({
      rowCount: to - from,
      bytes: this.bytes.subarray(base, to > from ? this.rowEnd(to - 1) : base),
      ends: base === 0 ? this.ends.subarray(from, to) : this.ends.subarray(from, to).map((end) => end - base),
      weights: this.weights.subarray(from, to),
      ...(this.tabletIndexes === undefined ? {} : { tabletIndexes: this.tabletIndexes.subarray(from, to) }),
      ...(this.sequenceNumbers === undefined || this.hasSequenceNumber === undefined
        ? {}
        : {
            sequenceNumbers: this.sequenceNumbers.subarray(from, to),
            hasSequenceNumber: this.hasSequenceNumber.subarray(from, to),
          }),
    });
  }

  /** The cells of one row as values; `undefined` for an absent cell. */
  decodeRow(row: number): (RowValue | undefined)[] {
    return decodeCells(this.bytes, this.rowStart(row), this.rowEnd(row));
  }
}

/**
 * The position after the cell at `position`.
 * @throws YtError 721 when it goes past `end` or is no cell
 */
export function skipCell(bytes: Uint8Array, position: number, end: number): number {
  let next = position + 1;
  switch (position < end ? bytes[position] : -1) {
    case cellKind.absent:
    case cellKind.null:
    case cellKind.false:
    case cellKind.true:
      return next;
    case cellKind.int64:
    case cellKind.uint64: {
      while (next < end && (bytes[next] ?? 0) >= 0x80) {
        next++;
      }
      next++;
      break;
    }
    case cellKind.double:
      next += 8;
      break;
    case cellKind.string:
    case cellKind.any: {
      let length = 0;
      let scale = 1;
      let byte = next < end ? (bytes[next++] ?? 0) : 0;
      while (byte >= 0x80 && next < end && scale < 0x1_0000_0000) {
        length += (byte & 0x7f) * scale;
        scale *= 0x80;
        byte = bytes[next++] ?? 0;
      }
      length += byte * scale;
      next += bytes[position] === cellKind.string ? length / 2 : length;
      break;
    }
    default:
      throw damaged("A row has no cell where one is expected");
  }
  // A fraction comes from a negative string length.
  if (next > end || !Number.isInteger(next)) {
    throw damaged("A cell goes past the end of its row");
  }
  return next;
}

/** Start of the payload of a string or any cell that `skipCell` has accepted. */
export function payloadStart(bytes: Uint8Array, position: number): number {
  let next = position + 1;
  while ((bytes[next] ?? 0) >= 0x80) {
    next++;
  }
  return next + 1;
}

/**
 * The value of the cell `[position, end)`; `undefined` for an absent one. Strings and any share the memory.
 * @throws YtError 721 when it is no cell
 */
export function decodeCell(bytes: Buffer, position: number, end: number): RowValue | undefined {
  switch (bytes[position]) {
    case cellKind.absent:
      return undefined;
    case cellKind.null:
      return null;
    case cellKind.false:
      return false;
    case cellKind.true:
      return true;
    case cellKind.int64: {
      const raw = readVarint64(bytes, position + 1, end);
      return (raw >> 1n) ^ -(raw & 1n);
    }
    case cellKind.uint64:
      return readVarint64(bytes, position + 1, end);
    case cellKind.double:
      return bytes.readDoubleLE(position + 1);
    case cellKind.string:
      return bytes.subarray(payloadStart(bytes, position), end);
    case cellKind.any:
      return new YsonAny(bytes.subarray(payloadStart(bytes, position), end));
    default:
      throw damaged("A row has no cell where one is expected");
  }
}

/** All cells of `[start, end)` as values. @throws YtError 721 when these are no cells */
export function decodeCells(bytes: Buffer, start: number, end: number): (RowValue | undefined)[] {
  const values: (RowValue | undefined)[] = [];
  let position = start;
  while (position < end) {
    const next = skipCell(bytes, position, end);
    values.push(decodeCell(bytes, position, next));
    position = next;
  }
  return values;
}

/**
 * Data weight of the cell `[position, end)`, in bytes: null and absent 0, boolean 1, numbers 8, strings and any
 * their length.
 */
export function cellWeight(bytes: Uint8Array, position: number, end: number): number {
  switch (bytes[position]) {
    case cellKind.int64:
    case cellKind.uint64:
    case cellKind.double:
      return 8;
    case cellKind.false:
    case cellKind.true:
      return 1;
    case cellKind.string:
    case cellKind.any:
      return end - payloadStart(bytes, position);
    default:
      return 0;
  }
}

/** Data weight of the row whose cells are `[start, end)`, with the leading 1. */
export function rowWeight(bytes: Uint8Array, start: number, end: number): number {
  let weight = 1;
  let position = start;
  while (position < end) {
    const next = skipCell(bytes, position, end);
    weight += cellWeight(bytes, position, next);
    position = next;
  }
  return weight;
}

/**
 * Appends the cell of a value; `isUnsigned` tells whether a bigint is uint64. Undefined is an absent cell. The
 * value is not checked against a schema: `EncodedRowsBuilder` does that.
 */
export function writeCell(output: RowOutput, value: RowValue | undefined, isUnsigned: boolean): void {
  if (value === undefined) {
    output.byte(cellKind.absent);
  } else if (value === null) {
    output.byte(cellKind.null);
  } else if (typeof value === "boolean") {
    output.byte(value ? cellKind.true : cellKind.false);
  } else if (typeof value === "bigint") {
    output.byte(isUnsigned ? cellKind.uint64 : cellKind.int64);
    if (isUnsigned) {
      output.varint64(lowWord(value), highWord(value));
    } else {
      output.zigzag64(lowWord(value), highWord(value));
    }
  } else if (typeof value === "number") {
    output.byte(cellKind.double);
    output.double(value);
  } else {
    const isAny = value instanceof YsonAny;
    const bytes = isAny ? value.bytes : value;
    output.byte(isAny ? cellKind.any : cellKind.string);
    output.varint(isAny ? bytes.length : bytes.length * 2);
    output.copy(bytes, viewOf(bytes), 0, bytes.length);
  }
}

function readVarint64(bytes: Uint8Array, start: number, end: number): bigint {
  let low = 0;
  let high = 0;
  let shift = 0;
  for (let position = start; position < end && shift < 64; position++) {
    const bits = (bytes[position] ?? 0) & 0x7f;
    if (shift < 28) {
      low |= bits << shift;
    } else if (shift === 28) {
      low |= bits << 28;
      high |= bits >>> 4;
    } else {
      high |= bits << (shift - 32);
    }
    shift += 7;
  }
  return wordsToUint64(low, high);
}
