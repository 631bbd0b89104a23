/** The interface of row readers and what their options mean. */
import { limits } from "@qyt/base";
import type { EncodedRows } from "./encoded-rows.ts";
import type { RowKind } from "./row-plan.ts";
import type { RowLimits } from "./row-sink.ts";

/** Turns the bytes of a format into rows. Chunks may be split at any byte. */
export interface RowReader<Rows = EncodedRows> {
  /** Takes more input. @throws YtError about the first bad row, with the attribute `row_index` */
  feed(chunk: Uint8Array): void;
  /** The rows that are complete so far and were not given out before. */
  drain(): Rows;
  /** Ends the input and gives out the remaining rows. */
  finish(): Rows;
}

export interface RowReaderOptions {
  readonly rowKind: RowKind;
  /** Columns that a row does not mention become absent cells instead of null ones (update mode). */
  readonly keepAbsent?: boolean;
  /** A key column that a row does not mention is an error instead of null. */
  readonly requireKeys?: boolean;
  /** With it a `$tablet_index` out of range is an error here, which names the row. */
  readonly tabletCount?: number;
  readonly limits?: Partial<RowLimits>;
  /** How long the input of one row may be, in bytes. */
  readonly maxRowBytes?: number;
  readonly maxDepth?: number;
  /** How much input is to be expected, in bytes: the buffers begin with that. */
  readonly expectedBytes?: number;
}

/** The limits in force: the defaults of the kind of row, then those given. */
export function rowLimitsOf(options: RowReaderOptions): RowLimits {
  return {
    maxStringValueBytes:
      options.rowKind === "static" ? limits.maxClientRowWeightBytes : limits.maxStringValueBytes,
    maxRowWeightBytes: limits.maxClientRowWeightBytes,
    maxValuesPerRow: limits.maxValuesPerRow,
    maxRowCount: options.rowKind === "static" ? Number.MAX_SAFE_INTEGER : limits.maxRowsPerRowset,
    maxEncodedBytes: 2 * limits.maxRowBodyBytes,
    ...options.limits,
  };
}

export const defaultMaxRowBytes = limits.maxRowBodyBytes;
