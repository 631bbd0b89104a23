/** Rows of sorted dynamic tables. */
export { LockGroups, type LockMode, mainGroup } from "./row-locks.ts";
export { checkRowKey, rowsPrefix } from "./row-keys.ts";
export { type RowWrite, SortedRows, type SortedRowsOptions, type WriteStamp } from "./sorted-rows.ts";
export type { RowVersion, VersionCell, VersionInput, VersionKind } from "./version-record.ts";
