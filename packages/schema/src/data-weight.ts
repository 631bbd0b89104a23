/**
 * Data weight: what a row counts for limits, statistics and `$cumulative_data_weight`, in bytes.
 * Specified in: `GetDataWeight` of yt/yt/client/table_client/unversioned_row.cpp.
 */
import type { PhysicalType, RowValue } from "./value-type.ts";
import { YsonAny } from "./value-type.ts";

/** What every row weighs before its values. */
export const rowBaseWeight = 1;

/** The weight of any non-null value of a type; undefined where it depends on the value. */
export function fixedWeightOf(type: PhysicalType): number | undefined {
  switch (type) {
    case "null":
      return 0;
    case "int64":
    case "uint64":
    case "double":
      return 8;
    case "boolean":
      return 1;
    case "string":
    case "any":
      return undefined;
  }
}

/** The weight of one value: strings and YSON by their length, null nothing. */
export function valueWeight(value: RowValue): number {
  if (value === null) {
    return 0;
  }
  if (typeof value === "boolean") {
    return 1;
  }
  if (typeof value === "bigint" || typeof value === "number") {
    return 8;
  }
  return value instanceof YsonAny ? value.bytes.length : value.length;
}

/** The weight of a row, or of a key alone. */
export function rowValuesWeight(values: readonly RowValue[]): number {
  let weight = rowBaseWeight;
  for (const value of values) {
    weight += valueWeight(value);
  }
  return weight;
}
