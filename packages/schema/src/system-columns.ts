/**
 * Names of the columns the system gives a meaning to, and which of them a table may declare.
 * Specified in: yt/yt/client/table_client/public.h, `ValidateSystemColumnSchema` of schema.cpp.
 */
import type { LogicalType } from "./value-type.ts";

export const systemColumns = {
  tabletIndex: "$tablet_index",
  rowIndex: "$row_index",
  timestamp: "$timestamp",
  cumulativeDataWeight: "$cumulative_data_weight",
  sequenceNumber: "$sequence_number",
  tableIndex: "$table_index",
  rangeIndex: "$range_index",
  empty: "$empty",
  ttl: "$ttl",
} as const;

/** Columns a table without key columns may declare, with the only type they may have. */
export const orderedSystemColumns: ReadonlyMap<string, LogicalType> = new Map<string, LogicalType>([
  [systemColumns.timestamp, "uint64"],
  [systemColumns.cumulativeDataWeight, "int64"],
]);

/** Columns a sorted table may declare, with the only type they may have. */
export const sortedSystemColumns: ReadonlyMap<string, LogicalType> = new Map<string, LogicalType>([
  [systemColumns.empty, "int64"],
  [systemColumns.ttl, "uint64"],
]);

/** Whether the name is reserved for the system. */
export function isSystemColumnName(name: string): boolean {
  return name.startsWith("$");
}
