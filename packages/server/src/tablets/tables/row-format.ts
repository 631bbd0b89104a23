/** How rows of a schema are stored: which cell is which column, and what the server fills in. */
import { systemColumns, type TableSchema } from "@qyt/schema";
import type { RowFormat } from "../chunks/chunk.ts";

/** Stored cells of an ordered table: all columns but the two that are kept in block headers. */
export function rowFormatOf(schema: TableSchema): RowFormat {
  return {
    columns: schema.columns
      .map(({ name }) => name)
      .filter((name) => name !== systemColumns.timestamp && name !== systemColumns.cumulativeDataWeight),
    hasTimestamp: schema.indexOf(systemColumns.timestamp) >= 0,
    hasCumulativeDataWeight: schema.indexOf(systemColumns.cumulativeDataWeight) >= 0,
  };
}
