/**
 * Order and equality of values at run time. The order is total: null first, then by value; values of type
 * `any` compare by what they hold.
 *
 * Specified in: yt/yt/client/table_client/comparator, yt/yt/library/query/engine (CompareAny).
 */
import { bare, isList, isMap, Uint64, type YsonValue, YtError } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "@qyt/schema";
import { parseYson, stringToBytes } from "@qyt/yson";

export type Comparator = (left: RowValue, right: RowValue) => number;

/** A comparator for operands of these types; they differ only when one is `any`. */
export function comparatorFor(left: PhysicalType, right: PhysicalType): Comparator {
  if (left === "any" || right === "any") {
    return compareAnyValues;
  }
  return left === "string" ? compareStrings : comparePrimitives;
}

/** Compares row prefixes: the shorter tuple decides how many values count. */
export function compareTuples(
  left: readonly RowValue[],
  right: readonly RowValue[],
  types: readonly PhysicalType[],
): number {
  const count = Math.min(left.length, right.length);
  for (let index = 0; index < count; index += 1) {
    const type = types[index] ?? "null";
    const order = comparatorFor(type, type)(left[index] ?? null, right[index] ?? null);
    if (order !== 0) {
      return order;
    }
  }
  return 0;
}

function compareStrings(left: RowValue, right: RowValue): number {
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return Buffer.compare(left, right);
  }
  return left === right ? 0 : left === null ? -1 : 1;
}

function comparePrimitives(left: RowValue, right: RowValue): number {
  if (left === null || right === null) {
    return left === right ? 0 : left === null ? -1 : 1;
  }
  return left < right ? -1 : left > right ? 1 : 0;
}

/** A scalar inside or outside of `any`, with a rank that orders types. */
type Comparable =
  | { readonly rank: 0 }
  | { readonly rank: 1; readonly value: bigint | number }
  | { readonly rank: 2; readonly value: boolean }
  | { readonly rank: 3; readonly value: Uint8Array }
  | { readonly rank: 4; readonly value: readonly YsonValue[] }
  | { readonly rank: 5 };

function compareAnyValues(left: RowValue, right: RowValue): number {
  return compareComparables(comparableOfRow(left), comparableOfRow(right));
}

/** Whether two YSON values are the same scalar; numbers of different types are the same by value. */
export function sameYsonScalar(left: YsonValue, right: YsonValue): boolean {
  const a = comparableOfYson(left);
  const b = comparableOfYson(right);
  return a.rank === b.rank && a.rank < 4 && compareComparables(a, b) === 0;
}

function comparableOfRow(value: RowValue): Comparable {
  if (value instanceof YsonAny) {
    return comparableOfYson(parseYson(value.bytes));
  }
  if (value instanceof Uint8Array) {
    return { rank: 3, value };
  }
  if (value === null) {
    return { rank: 0 };
  }
  return typeof value === "boolean" ? { rank: 2, value } : { rank: 1, value };
}

function comparableOfYson(value: YsonValue): Comparable {
  const content = bare(value);
  if (content === null) {
    return { rank: 0 };
  }
  if (isMap(content)) {
    return { rank: 5 };
  }
  if (isList(content)) {
    return { rank: 4, value: content };
  }
  if (typeof content === "string") {
    return { rank: 3, value: stringToBytes(content) };
  }
  if (content instanceof Uint64) {
    return { rank: 1, value: content.value };
  }
  return typeof content === "boolean" ? { rank: 2, value: content } : { rank: 1, value: content };
}

function compareComparables(left: Comparable, right: Comparable): number {
  if (left.rank === 5 || right.rank === 5) {
    throw new YtError("Cannot compare composite values", { code: "IncomparableComplexValues" });
  }
  if (left.rank !== right.rank) {
    return left.rank < right.rank ? -1 : 1;
  }
  if (left.rank === 0 || right.rank === 0) {
    return 0;
  }
  if (left.rank === 3 && right.rank === 3) {
    return Buffer.compare(left.value, right.value);
  }
  if (left.rank === 4 && right.rank === 4) {
    return compareLists(left.value, right.value);
  }
  return left.value < right.value ? -1 : left.value > right.value ? 1 : 0;
}

function compareLists(left: readonly YsonValue[], right: readonly YsonValue[]): number {
  const count = Math.min(left.length, right.length);
  for (let index = 0; index < count; index += 1) {
    const order = compareComparables(
      comparableOfYson(left[index] ?? null),
      comparableOfYson(right[index] ?? null),
    );
    if (order !== 0) {
      return order;
    }
  }
  return left.length - right.length;
}
