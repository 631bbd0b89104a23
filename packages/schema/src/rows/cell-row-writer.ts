/**
 * The common part of the fast row writers: goes over the cells of stored rows and puts each out between constant bytes
 * made once per column.
 */
import type { PhysicalType, RowValue } from "../value-type.ts";
import { cellKind, writeCell } from "./encoded-rows.ts";
import type { RowBlock } from "./row-block.ts";
import { RowOutput } from "./row-output.ts";
import { CellCursor, cellCountOf, type OutputColumn, type RowWriter } from "./row-writer.ts";

/** The constant bytes of a format. */
export interface RowSyntax {
  readonly open: string;
  /** Between two values. */
  readonly separator: string;
  /** After the last value of a row that has one. */
  readonly trailer: string;
  /** After a row, without `trailer`. */
  readonly close: string;
  /** A missing row. */
  readonly missing: string;
  /** The name of a column with what stands between it and the value. */
  key(name: string): Buffer;
}

const source = { column: 0, tabletIndex: 1, rowIndex: 2, timestamp: 3, cumulativeWeight: 4 } as const;
const sourceCodes = {
  column: source.column,
  tablet_index: source.tabletIndex,
  row_index: source.rowIndex,
  timestamp: source.timestamp,
  cumulative_data_weight: source.cumulativeWeight,
} as const;
const two32 = 0x1_0000_0000;

export abstract class CellRowWriter implements RowWriter {
  protected readonly output = new RowOutput(16_384);
  readonly #sources: Uint8Array;
  readonly #cells: Int32Array;
  readonly #first: readonly Buffer[];
  readonly #next: readonly Buffer[];
  readonly #empty: Buffer;
  readonly #close: Buffer;
  readonly #missing: Buffer;
  readonly #skipNulls: boolean;
  readonly #cursor: CellCursor;
  readonly #scratch = new RowOutput(256);
  /** The last timestamp put out, as it stands in the output. */
  readonly #timestamp = new RowOutput(64);
  #timestampLow = -1;
  #timestampHigh = -1;

  constructor(columns: readonly OutputColumn[], syntax: RowSyntax, skipNulls: boolean) {
    this.#sources = Uint8Array.from(columns, (column) => sourceCodes[column.source.kind]);
    this.#cells = Int32Array.from(columns, (column) =>
      column.source.kind === "column" ? column.source.index : -1,
    );
    const keys = columns.map((column) => syntax.key(column.name));
    this.#first = keys.map((key) => Buffer.concat([Buffer.from(syntax.open), key]));
    this.#next = keys.map((key) => Buffer.concat([Buffer.from(syntax.separator), key]));
    this.#empty = Buffer.from(syntax.open + syntax.close);
    this.#close = Buffer.from(syntax.trailer + syntax.close);
    this.#missing = Buffer.from(syntax.missing);
    this.#skipNulls = skipNulls;
    this.#cursor = new CellCursor(cellCountOf(columns));
  }

  /** Puts out the value of the cell `[start, end)` that is neither null nor absent. */
  protected abstract cell(bytes: Buffer, view: DataView, start: number, end: number, output: RowOutput): void;
  protected abstract null(output: RowOutput): void;
  /** A nonnegative integer below 2^53 of type int64. */
  protected abstract integer(value: number, output: RowOutput): void;
  protected abstract uint64(low: number, high: number, output: RowOutput): void;
  abstract writeControl(attribute: string, value: bigint): void;

  get length(): number {
    return this.output.length;
  }

  take(): Buffer {
    return this.output.take(Math.min(this.output.length, 1 << 20));
  }

  finish(): Buffer {
    return this.output.take();
  }

  writeBlockRows(block: RowBlock, from: number, to: number, tabletIndex: number): void {
    const output = this.output;
    const bytes = block.bytes;
    const view = block.view;
    const cursor = this.#cursor;
    const columnCount = this.#sources.length;
    let start = block.rowStart(from);
    for (let row = from; row < to; row++) {
      const end = block.rowEnd(row);
      cursor.moveTo(bytes, start, end);
      start = end;
      let isFirst = true;
      for (let column = 0; column < columnCount; column++) {
        const code = this.#sources[column];
        if (code === source.column) {
          const cell = this.#cells[column] ?? 0;
          const cellStart = cursor.starts[cell] ?? 0;
          const cellEnd = cursor.ends[cell] ?? 0;
          const kind = bytes[cellStart];
          if (cellStart === cellEnd || kind === cellKind.null || kind === cellKind.absent) {
            if (!this.#skipNulls) {
              this.#prefix(column, isFirst);
              isFirst = false;
              this.null(output);
            }
            continue;
          }
          this.#prefix(column, isFirst);
          this.cell(bytes, view, cellStart, cellEnd, output);
        } else {
          this.#prefix(column, isFirst);
          if (code === source.tabletIndex) {
            this.integer(tabletIndex, output);
          } else if (code === source.rowIndex) {
            this.integer(block.firstRowIndex + row, output);
          } else if (code === source.timestamp) {
            this.#putTimestamp(view, block.timestampOffsetAt(row));
          } else {
            this.integer(block.cumulativeWeightAt(row), output);
          }
        }
        isFirst = false;
      }
      output.constant(isFirst ? this.#empty : this.#close);
    }
  }

  writeValues(values: readonly RowValue[], types: readonly PhysicalType[]): void {
    const scratch = this.#scratch;
    let isFirst = true;
    for (const [column, value] of values.entries()) {
      if (value === null && this.#skipNulls) {
        continue;
      }
      this.#prefix(column, isFirst);
      isFirst = false;
      if (value === null) {
        this.null(this.output);
      } else {
        scratch.length = 0;
        writeCell(scratch, value, types[column] === "uint64");
        this.cell(scratch.bytes, scratch.view, 0, scratch.length, this.output);
      }
    }
    this.output.constant(isFirst ? this.#empty : this.#close);
  }

  writeMissing(): void {
    this.output.constant(this.#missing);
  }

  #prefix(column: number, isFirst: boolean): void {
    const prefix = (isFirst ? this.#first : this.#next)[column];
    if (prefix !== undefined) {
      this.output.constant(prefix);
    }
  }

  #putTimestamp(view: DataView, offset: number): void {
    const low = view.getInt32(offset, true);
    const high = view.getInt32(offset + 4, true);
    const rendered = this.#timestamp;
    if (low !== this.#timestampLow || high !== this.#timestampHigh || rendered.length === 0) {
      rendered.length = 0;
      this.uint64(low, high, rendered);
      this.#timestampLow = low;
      this.#timestampHigh = high;
    }
    this.output.copy(rendered.bytes, rendered.view, 0, rendered.length);
  }
}

/** Appends a nonnegative integer below 2^53 in decimal. */
export function writeDecimal(value: number, output: RowOutput): void {
  output.ensure(16);
  let digits = 1;
  for (let power = 10; power <= value; power *= 10) {
    digits++;
  }
  const bytes = output.bytes;
  let at = output.length + digits;
  output.length = at;
  let rest = value;
  while (rest >= two32) {
    const quotient = Math.floor(rest / 10);
    bytes[--at] = 0x30 + (rest - quotient * 10);
    rest = quotient;
  }
  let small = rest >>> 0;
  for (let left = at - (output.length - digits); left > 0; left--) {
    const quotient = Math.floor(small / 10);
    bytes[--at] = 0x30 + (small - quotient * 10);
    small = quotient;
  }
}

/** Appends an int64 or uint64 in two words in decimal. */
export function writeDecimal64(low: number, high: number, isUnsigned: boolean, output: RowOutput): void {
  const upper = isUnsigned ? high >>> 0 : high | 0;
  if (upper >= 0 && upper < 0x20_0000) {
    writeDecimal(upper * two32 + (low >>> 0), output);
  } else if (upper < 0 && upper > -0x20_0000) {
    output.byte(0x2d);
    writeDecimal(-(upper * two32 + (low >>> 0)), output);
  } else {
    output.ascii(((BigInt(upper) << 32n) | BigInt(low >>> 0)).toString());
  }
}

/** The words of the varint that ends before `end`. */
export class VarintWords {
  low = 0;
  high = 0;

  read(bytes: Uint8Array, start: number, end: number): void {
    let low = 0;
    let high = 0;
    let shift = 0;
    for (let at = start; at < end && shift < 64; at++) {
      const bits = (bytes[at] ?? 0) & 0x7f;
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
    this.low = low;
    this.high = high;
  }

  /** From zigzag to two's complement. */
  unzigzag(): void {
    const sign = -(this.low & 1);
    const low = ((this.low >>> 1) | (this.high << 31)) ^ sign;
    this.high = (this.high >>> 1) ^ sign;
    this.low = low;
  }
}
