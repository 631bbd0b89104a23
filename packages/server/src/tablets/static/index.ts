/** Static tables: writing, reading, and reading of dynamic tables as `read_table` does. */
export { columnarStatistics } from "./columnar-statistics.ts";
export { concatenate } from "./concatenate.ts";
export { attachQueueChunks, fetchQueueChunks } from "./queue-chunks.ts";
export { type ControlAttributes, type ReadTableOptions, readTable, type TableRead } from "./read-table.ts";
export { type WriteTableOptions, writeTable } from "./write-table.ts";
