/** How rows of a schema are stored: which cell is which column, and what the server fills in. */
import { systemColumns, type TableSchema } from "@qyt/schema";
import type { RowFormat } from "../chunks/chunk.ts";
import { isSortedDynamic, type TableState } from "./table-state.ts";

/** Cells of a row of the log of a sorted replicated table. */
const logFormat: RowFormat = {
  columns: ["key", "change"],
  hasTimestamp: false,
  hasCumulativeDataWeight: false,
};

/** What the ordered tablets of a table hold: its rows, or a log of what was done to its sorted rows. */
export function tabletFormatOf(state: TableState): RowFormat {
  return isSortedDynamic(state) ? logFormat : rowFormatOf(state.schema);
}

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
