/**
 * Row sinks: what the format readers (YSON, JSON, DSV) push names and values into. A sink knows the schema and the
 * checks; a reader knows the syntax. Integers come as two 32-bit words, strings as a span of bytes, so that nothing
 * is allocated per value.
 */
import type { RowOutput } from "./row-output.ts";

export interface RowSink {
  /** Where the row is being written. A reader writes to it itself between `beginAny` and `endAny` only. */
  readonly output: RowOutput;
  /** Rows finished since the sink was made. */
  readonly rowIndex: number;

  beginRow(): void;
  endRow(): void;
  /** Forgets the row begun: its input was not complete. */
  dropRow(): void;

  /**
   * The fast way to a column: if the name that came at this place in the last row stands at `position`, followed by
   * `terminator`, gives the position after the terminator; else gives -1. `selectMatched` then selects the column.
   */
  matchColumn(bytes: Uint8Array, position: number, end: number, terminator: number): number;
  selectMatched(): void;
  /** Selects the column named by `bytes[start, end)`. */
  selectColumn(bytes: Uint8Array, start: number, end: number): void;

  putNull(): void;
  putBoolean(value: boolean): void;
  putInt64(low: number, high: number): void;
  putUint64(low: number, high: number): void;
  putDouble(value: number): void;
  /** `view` looks at the same memory as `bytes`. */
  putString(bytes: Uint8Array, view: DataView, start: number, end: number): void;
  /** A list or map follows: the reader writes its binary YSON to `output`, then calls `endAny`. */
  beginAny(): void;
  endAny(): void;
}

/** The limits on rows, in the units of their names. */
export interface RowLimits {
  readonly maxStringValueBytes: number;
  readonly maxRowWeightBytes: number;
  readonly maxValuesPerRow: number;
  readonly maxRowCount: number;
  /** Of the encoded form of all rows that wait to be taken. */
  readonly maxEncodedBytes: number;
}
