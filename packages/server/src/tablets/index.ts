/** The door of the tablets room. */
export type { RowSlice } from "./chunks/store-reader.ts";
export type { DynamicTable, RowInfo } from "./dynamic-table.ts";
export type { OrderedTablet } from "./ordered/index.ts";
export {
  type CellReader,
  type LockMode,
  type RowVersion,
  RowWatch,
  type SortedRows,
} from "./sorted/index.ts";
export * from "./tables/index.ts";
export { type InsertOptions, TabletTransaction, TabletTransactions } from "./transactions/index.ts";
