/**
 * The common part of the fast row writers: goes over the cells of stored rows and puts each out between constant bytes
 * made once per column.
 */
import type { PhysicalType, RowValue } from "../value-type.ts";
import { cellKind, writeCell } from "./encoded-rows.ts";
import type { RowBlock } from "./row-block.ts";
import { type Piece, pieceOf, RowOutput } from "./row-output.ts";
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

/** What of a row is the same in many rows, up to the next value that is not. */
type ConstantPart = Piece | "tabletIndex" | "timestamp";

export abstract class CellRowWriter implements RowWriter {
  readonly isReusable = true;
  protected readonly output: RowOutput;
  readonly #sources: Uint8Array;
  readonly #cells: Int32Array;
  readonly #first: readonly Piece[];
  readonly #next: readonly Piece[];
  readonly #empty: Piece;
  readonly #close: Piece;
  readonly #missing: Piece;
  readonly #skipNulls: boolean;
  readonly #cursor: CellCursor;
  #scratch: RowOutput | undefined;

  /** The columns whose values differ from row to row, and what stands before each of them and after the last. */
  readonly #variable: readonly number[];
  readonly #constantParts: readonly (readonly ConstantPart[])[];
  /** Made with the first block. */
  #constants: readonly RowOutput[] = [];
  readonly #needsTimestamp: boolean;
  #tabletIndex = Number.NaN;
  /** Of the constants; NaN while they are not made. */
  #timestampLow = Number.NaN;
  #timestampHigh = Number.NaN;

  /** @param expectedBytes how much the output begins with; it doubles as often as needed */
  constructor(columns: readonly OutputColumn[], syntax: RowSyntax, skipNulls: boolean, expectedBytes = 4096) {
    this.output = new RowOutput(expectedBytes);
    this.#sources = Uint8Array.from(columns, (column) => sourceCodes[column.source.kind]);
    this.#cells = Int32Array.from(columns, (column) =>
      column.source.kind === "column" ? column.source.index : -1,
    );
    const keys = columns.map((column) => syntax.key(column.name));
    this.#first = keys.map((key) => pieceOf(Buffer.concat([Buffer.from(syntax.open), key])));
    this.#next = keys.map((key) => pieceOf(Buffer.concat([Buffer.from(syntax.separator), key])));
    this.#empty = pieceOf(Buffer.from(syntax.open + syntax.close));
    this.#close = pieceOf(Buffer.from(syntax.trailer + syntax.close));
    this.#missing = pieceOf(Buffer.from(syntax.missing));
    this.#skipNulls = skipNulls;
    this.#cursor = new CellCursor(cellCountOf(columns));

    const variable: number[] = [];
    const parts: ConstantPart[][] = [[]];
    for (const [index, code] of this.#sources.entries()) {
      const prefix = (index === 0 ? this.#first : this.#next)[index];
      const last = parts.at(-1);
      if (prefix !== undefined && last !== undefined) {
        last.push(prefix);
        if (code === source.tabletIndex) {
          last.push("tabletIndex");
        } else if (code === source.timestamp) {
          last.push("timestamp");
        } else {
          variable.push(index);
          parts.push([]);
        }
      }
    }
    parts.at(-1)?.push(columns.length === 0 ? this.#empty : this.#close);
    this.#variable = variable;
    this.#constantParts = parts;
    this.#needsTimestamp = this.#sources.includes(source.timestamp);
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
    if (this.#skipNulls) {
      this.#writeSkippingNulls(block, from, to, tabletIndex);
      return;
    }
    const output = this.output;
    const bytes = block.bytes;
    const view = block.view;
    const cursor = this.#cursor;
    const variable = this.#variable;
    if (this.#constants.length === 0) {
      this.#constants = this.#constantParts.map(() => new RowOutput(64));
    }
    const constants = this.#constants;
    const closing = constants[variable.length];
    let start = block.rowStart(from);
    let timestampOffset = -1;
    for (let row = from; row < to; row++) {
      const nextOffset =
        this.#needsTimestamp || row === from ? block.timestampOffsetAt(row) : timestampOffset;
      if (nextOffset !== timestampOffset) {
        timestampOffset = nextOffset;
        this.#makeConstants(view, timestampOffset, tabletIndex);
      }
      const end = block.rowEnd(row);
      cursor.moveTo(bytes, start, end);
      start = end;
      for (let place = 0; place < variable.length; place++) {
        const constant = constants[place];
        if (constant !== undefined) {
          output.piece(constant);
        }
        const column = variable[place] ?? 0;
        const code = this.#sources[column];
        if (code === source.column) {
          const cell = this.#cells[column] ?? 0;
          const cellStart = cursor.starts[cell] ?? 0;
          const cellEnd = cursor.ends[cell] ?? 0;
          const kind = bytes[cellStart];
          if (cellStart === cellEnd || kind === cellKind.null || kind === cellKind.absent) {
            this.null(output);
          } else {
            this.cell(bytes, view, cellStart, cellEnd, output);
          }
        } else {
          this.integer(
            code === source.rowIndex ? block.firstRowIndex + row : block.cumulativeWeightAt(row),
            output,
          );
        }
      }
      if (closing !== undefined) {
        output.piece(closing);
      }
    }
  }

  writeValues(values: readonly RowValue[], types: readonly PhysicalType[]): void {
    this.#scratch ??= new RowOutput(256);
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
    this.output.piece(isFirst ? this.#empty : this.#close);
  }

  writeCells(bytes: Buffer, view: DataView, starts: Int32Array, ends: Int32Array): void {
    const output = this.output;
    let isFirst = true;
    for (let column = 0; column < this.#sources.length; column++) {
      const start = starts[column] ?? 0;
      const end = ends[column] ?? 0;
      const isNull = isNullCell(bytes, start, end);
      if (isNull && this.#skipNulls) {
        continue;
      }
      this.#prefix(column, isFirst);
      isFirst = false;
      if (isNull) {
        this.null(output);
      } else {
        this.cell(bytes, view, start, end, output);
      }
    }
    output.piece(isFirst ? this.#empty : this.#close);
  }

  writeMissing(): void {
    this.output.piece(this.#missing);
  }

  #prefix(column: number, isFirst: boolean): void {
    const prefix = (isFirst ? this.#first : this.#next)[column];
    if (prefix !== undefined) {
      this.output.piece(prefix);
    }
  }

  /** Makes the constant parts anew if the tablet or the timestamp is another. */
  #makeConstants(view: DataView, timestampOffset: number, tabletIndex: number): void {
    const low = view.getInt32(timestampOffset, true);
    const high = view.getInt32(timestampOffset + 4, true);
    if (low === this.#timestampLow && high === this.#timestampHigh && tabletIndex === this.#tabletIndex) {
      return;
    }
    this.#timestampLow = low;
    this.#timestampHigh = high;
    this.#tabletIndex = tabletIndex;
    for (let place = 0; place < this.#constants.length; place++) {
      const constant = this.#constants[place];
      if (constant === undefined) {
        continue;
      }
      constant.length = 0;
      for (const part of this.#constantParts[place] ?? []) {
        if (part === "tabletIndex") {
          this.integer(tabletIndex, constant);
        } else if (part === "timestamp") {
          this.uint64(low, high, constant);
        } else {
          constant.piece(part);
        }
      }
    }
  }

  /** Without the columns that are null, nothing of a row is constant. */
  #writeSkippingNulls(block: RowBlock, from: number, to: number, tabletIndex: number): void {
    const output = this.output;
    const { bytes, view } = block;
    for (let row = from; row < to; row++) {
      this.#cursor.moveTo(bytes, block.rowStart(row), block.rowEnd(row));
      let isFirst = true;
      for (let column = 0; column < this.#sources.length; column++) {
        const code = this.#sources[column];
        const cell = this.#cells[column] ?? 0;
        const start = this.#cursor.starts[cell] ?? 0;
        const end = this.#cursor.ends[cell] ?? 0;
        if (code === source.column && isNullCell(bytes, start, end)) {
          continue;
        }
        this.#prefix(column, isFirst);
        isFirst = false;
        if (code === source.column) {
          this.cell(bytes, view, start, end, output);
        } else if (code === source.timestamp) {
          const offset = block.timestampOffsetAt(row);
          this.uint64(view.getInt32(offset, true), view.getInt32(offset + 4, true), output);
        } else if (code === source.tabletIndex) {
          this.integer(tabletIndex, output);
        } else {
          this.integer(
            code === source.rowIndex ? block.firstRowIndex + row : block.cumulativeWeightAt(row),
            output,
          );
        }
      }
      output.piece(isFirst ? this.#empty : this.#close);
    }
  }
}

function isNullCell(bytes: Buffer, start: number, end: number): boolean {
  return start === end || bytes[start] === cellKind.null || bytes[start] === cellKind.absent;
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
