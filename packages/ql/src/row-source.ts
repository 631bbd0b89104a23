/** The tables behind a query, as it reads them. */
import type { RowValue } from "@qyt/schema";
import type { KeyRange } from "./key-ranges.ts";

/** Where the rows come from. */
export interface RowSource {
  /**
   * Rows with keys in the ranges, in key order, in batches; the values stand as the columns do in `columns`.
   * The iterator is closed early when no more rows are needed.
   */
  scan(
    ranges: readonly KeyRange[],
    columns: readonly number[],
  ): AsyncIterable<readonly (readonly RowValue[])[]>;
}

/** By the rich path text of the tables. */
export type SourceOf = (tablePath: string) => RowSource;
