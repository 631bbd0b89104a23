/** The interface of row writers and the columns they put out. */
import type { PhysicalType, RowValue } from "../value-type.ts";
import { skipCell } from "./encoded-rows.ts";
import type { RowBlock } from "./row-block.ts";

/** Where the value of an output column comes from. */
export type OutputSource =
  | { readonly kind: "column"; readonly index: number }
  | { readonly kind: "tablet_index" }
  | { readonly kind: "row_index" }
  | { readonly kind: "timestamp" }
  | { readonly kind: "cumulative_data_weight" };

export interface OutputColumn {
  readonly name: string;
  /** `index` counts the cells of a row. A row with fewer cells (older than the column) has null there. */
  readonly source: OutputSource;
}

/** Turns rows into the bytes of a format. */
export interface RowWriter {
  /** Nothing stands in front of the first row or behind the last: after `take` another document can be written. */
  readonly isReusable: boolean;
  /** Rows `[from, to)` of the block. */
  writeBlockRows(block: RowBlock, from: number, to: number, tabletIndex: number): void;
  /** One row given by its values, one per output column. `types` tells int64 from uint64. */
  writeValues(values: readonly RowValue[], types: readonly PhysicalType[]): void;
  /**
   * One row given by its cells, one per output column; one that ends where it starts is null.
   * @param view of the same memory as `bytes`
   */
  writeCells(bytes: Buffer, view: DataView, starts: Int32Array, ends: Int32Array): void;
  /** In place of a row that was looked up and does not exist. */
  writeMissing(): void;
  /** A control record: an entity with one attribute. Formats without such records leave it out. */
  writeControl(attribute: string, value: bigint): void;
  /** Bytes that wait to be taken. */
  readonly length: number;
  /** The bytes since the last call. */
  take(): Buffer;
  /** The remaining bytes with whatever closes the document. Call once, at the end. */
  finish(): Buffer;
}

/** Finds the cells of one row after the other, so that they can be visited in any order. */
export class CellCursor {
  /** By cell: where it begins and ends. Both are the same for a cell that the row does not have. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly #count: number;

  /** @param count how many cells are of interest */
  constructor(count: number) {
    this.#count = count;
    this.starts = new Int32Array(count);
    this.ends = new Int32Array(count);
  }

  /** Goes to the row `[start, end)`. @throws YtError 721 when the row is damaged */
  moveTo(bytes: Uint8Array, start: number, end: number): void {
    let at = start;
    for (let cell = 0; cell < this.#count; cell++) {
      this.starts[cell] = at;
      if (at < end) {
        at = skipCell(bytes, at, end);
      }
      this.ends[cell] = at;
    }
  }
}

/** How many cells of a row the columns reach. */
export function cellCountOf(columns: readonly OutputColumn[]): number {
  let count = 0;
  for (const { source } of columns) {
    if (source.kind === "column") {
      count = Math.max(count, source.index + 1);
    }
  }
  return count;
}
