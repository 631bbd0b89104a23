/** Tables: the Cypress node, its life cycle, and handles on dynamic tables. */
export type { AlterOptions } from "./alter.ts";
export { DynamicTableHandle, timestampColumnPrefix } from "./dynamic-table-handle.ts";
export type { TabletRange } from "./lifecycle.ts";
export { type Table, type TableContext, TableManager } from "./manager.ts";
export type { ReshardOptions } from "./reshard.ts";
export { orderedSource, requireReadableRanges, sortedSource } from "./row-source.ts";
export { SliceWriter } from "./slice-writer.ts";
export { pivotKeyToYson } from "./table-attributes.ts";
export { isOrderedDynamic, isSortedDynamic, type TableState } from "./table-state.ts";
