/** How many tablets a table has, where they begin, and what their row counts start from. */
import { bare, isList, limits, Uint64, type YsonValue, YtError } from "@qyt/base";
import type { RowValue, TableSchema } from "@qyt/schema";
import { stringToBytes } from "@qyt/yson";
import { firstRowKey } from "../sorted/index.ts";

/** Encoded first keys of the tablets of a new table. */
export function readPivots(
  schema: TableSchema,
  isSorted: boolean,
  tabletCount: YsonValue | undefined,
  pivotKeys: YsonValue | undefined,
): Buffer[] {
  if (tabletCount !== undefined && pivotKeys !== undefined) {
    throw new YtError('Cannot specify both "tablet_count" and "pivot_keys"');
  }
  if (pivotKeys !== undefined) {
    if (!isSorted) {
      throw new YtError("Table is ordered; must provide tablet count");
    }
    return parsePivotKeys(schema, pivotKeys);
  }
  const count = tabletCount === undefined ? 1 : Number(readInteger(tabletCount, "tablet_count"));
  if (isSorted && count > 1) {
    throw new YtError("Table is sorted; must provide pivot keys");
  }
  checkTabletCount(count);
  return Array.from({ length: count }, () => Buffer.alloc(0));
}

export function checkTabletCount(count: number): void {
  if (count <= 0) {
    throw new YtError("Tablet count must be positive");
  }
  if (count > limits.maxTabletCount) {
    throw new YtError(`Tablet count cannot exceed the limit of ${limits.maxTabletCount}`);
  }
}

/** Encoded pivot keys, checked to increase strictly from the empty one. */
export function parsePivotKeys(schema: TableSchema, value: YsonValue): Buffer[] {
  const list = bare(value);
  if (!isList(list) || list.length === 0) {
    throw new YtError('"pivot_keys" must be a non-empty list');
  }
  checkTabletCount(list.length);
  const types = schema.columns.slice(0, schema.keyColumnCount).map(({ physical }) => physical);
  const pivots = list.map((pivot) => {
    const key = bare(pivot);
    if (!isList(key) || key.length > types.length) {
      throw new YtError("Pivot key must be a list of at most as many values as there are key columns");
    }
    return firstRowKey(key.map(toRowValue), types);
  });
  if (pivots[0]?.length !== 0) {
    throw new YtError("First pivot key must be empty");
  }
  for (let index = 1; index < pivots.length; index++) {
    if (Buffer.compare(pivots[index - 1] ?? Buffer.alloc(0), pivots[index] ?? Buffer.alloc(0)) >= 0) {
      throw new YtError("Pivot keys must be strictly increasing");
    }
  }
  return pivots;
}

function toRowValue(value: YsonValue): RowValue {
  const plain = bare(value);
  if (
    plain === null ||
    typeof plain === "boolean" ||
    typeof plain === "bigint" ||
    typeof plain === "number"
  ) {
    return plain;
  }
  if (plain instanceof Uint64) {
    return plain.value;
  }
  if (typeof plain === "string") {
    return stringToBytes(plain);
  }
  throw new YtError("Pivot keys consist of scalar values");
}

export interface TabletPresets {
  readonly trimmedRowCounts: readonly number[] | undefined;
  readonly cumulativeDataWeights: readonly number[] | undefined;
}

export function readPresets(
  isSorted: boolean,
  count: number,
  tabletCount: YsonValue | undefined,
  given: { trimmedRowCounts: YsonValue | undefined; cumulativeDataWeights: YsonValue | undefined },
): TabletPresets {
  return {
    trimmedRowCounts: readPreset("trimmed_row_counts", given.trimmedRowCounts, isSorted, count, tabletCount),
    cumulativeDataWeights: readPreset(
      "cumulative_data_weights",
      given.cumulativeDataWeights,
      isSorted,
      count,
      tabletCount,
    ),
  };
}

function readPreset(
  name: string,
  value: YsonValue | undefined,
  isSorted: boolean,
  count: number,
  tabletCount: YsonValue | undefined,
): number[] | undefined {
  if (value === undefined || bare(value) === null) {
    return undefined;
  }
  if (isSorted) {
    throw new YtError(`"${name}" can only be set for ordered tables`);
  }
  if (tabletCount === undefined) {
    throw new YtError(`"${name}" cannot be specified without "tablet_count"`);
  }
  return parsePreset(name, value, count);
}

export function parsePreset(name: string, value: YsonValue, count: number): number[] {
  const list = bare(value);
  if (!isList(list) || list.length !== count) {
    throw new YtError(
      `"${name}" has invalid size: expected ${count}, actual ${isList(list) ? list.length : "no list"}`,
    );
  }
  return list.map((item) => {
    const number = Number(readInteger(item, name));
    if (number < 0) {
      throw new YtError(`Values of "${name}" must be nonnegative`);
    }
    if (!Number.isSafeInteger(number)) {
      throw new YtError(`Values of "${name}" must be below 2^53`);
    }
    return number;
  });
}

function readInteger(value: YsonValue, name: string): bigint {
  const plain = bare(value);
  if (typeof plain === "bigint") {
    return plain;
  }
  if (plain instanceof Uint64) {
    return plain.value;
  }
  throw new YtError(`Error setting builtin attribute "${name}"`, {
    inner: [new YtError("Cannot parse integer value")],
  });
}
