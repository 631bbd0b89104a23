/** Rows of sorted dynamic tables. */
export { putRetained, readRetained } from "./retained-record.ts";
export type { Retention } from "./retention.ts";
export { firstRowKey, rowKeyAfter, rowKeyOf, rowsPrefix, storedKey } from "./row-keys.ts";
export { LockGroups, type LockMode, mainGroup } from "./row-locks.ts";
export { RowWatch } from "./row-watch.ts";
export type { RowWrite, WriteStamp } from "./row-write-types.ts";
export type { WriteSession } from "./row-writes.ts";
export { type RowReadOptions, type ScannedRows, SortedRows, type SortedRowsOptions } from "./sorted-rows.ts";
export type { InputCell, RowVersion, VersionCell, VersionInput, VersionKind } from "./version-record.ts";
