/** Rows of sorted dynamic tables. */
export type { CellReader } from "./cell-reads.ts";
export { putRetained, readRetained } from "./retained-record.ts";
export type { Retention } from "./retention.ts";
export { firstRowKey, rowKeyAfter, rowKeyOf, rowsPrefix, storedKey, timestampOfKey } from "./row-keys.ts";
export { LockGroups, type LockMode, mainGroup } from "./row-locks.ts";
export { RowWatch } from "./row-watch.ts";
export type { RowWrite, WriteStamp } from "./row-write-types.ts";
export type { WriteSession } from "./row-writes.ts";
export { type RowReadOptions, type ScannedRows, SortedRows, type SortedRowsOptions } from "./sorted-rows.ts";
export { lastPartKey, readVersions } from "./stored-versions.ts";
export {
  addFigures,
  dividedFigures,
  FigureChanges,
  noFigures,
  SortedTabletFigures,
  type TabletFigures,
} from "./tablet-figures.ts";
export {
  type InputCell,
  type RowVersion,
  type VersionCell,
  type VersionInput,
  type VersionKind,
  versionWeight,
} from "./version-record.ts";
