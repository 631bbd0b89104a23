/**
 * Places between values of one type. An interval lies between two cuts, so open and closed bounds, and
 * bounds at infinity, all compare in one way. Integers, booleans and strings have a next value, so for them
 * "behind x" is "before the next of x", and touching intervals are seen to touch.
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import { comparatorFor } from "./compare.ts";

export type Cut =
  | { readonly kind: "start" }
  | { readonly kind: "end" }
  | { readonly kind: "before"; readonly value: RowValue }
  | { readonly kind: "after"; readonly value: RowValue };

export const startCut: Cut = { kind: "start" };
export const endCut: Cut = { kind: "end" };

const int64Min = -(1n << 63n);
const int64Max = (1n << 63n) - 1n;
const uint64Max = (1n << 64n) - 1n;
const empty = new Uint8Array(0);

/** The cut just before a value. Nothing is below null. */
export function before(value: RowValue): Cut {
  return value === null ? startCut : { kind: "before", value };
}

/** The cut just behind a value. */
export function after(value: RowValue, type: PhysicalType): Cut {
  if (value === null) {
    const smallest = smallestOf(type);
    return smallest === undefined ? { kind: "after", value } : before(smallest);
  }
  if (typeof value === "bigint") {
    return value === (type === "uint64" ? uint64Max : int64Max) ? endCut : before(value + 1n);
  }
  if (typeof value === "boolean") {
    return value ? endCut : before(true);
  }
  if (value instanceof Uint8Array) {
    return before(Buffer.concat([value, Buffer.of(0)]));
  }
  return { kind: "after", value };
}

/** The value behind which a "before" cut lies, where there is one; undefined otherwise. */
export function valueBelow(cut: Cut, type: PhysicalType): { readonly value: RowValue } | undefined {
  if (cut.kind !== "before") {
    return undefined;
  }
  const { value } = cut;
  if (typeof value === "bigint") {
    return { value: value === (type === "uint64" ? 0n : int64Min) ? null : value - 1n };
  }
  if (typeof value === "boolean") {
    return { value: value ? false : null };
  }
  if (value instanceof Uint8Array) {
    if (value.length === 0) {
      return { value: null };
    }
    return value[value.length - 1] === 0 ? { value: value.subarray(0, -1) } : undefined;
  }
  return undefined;
}

export function compareCuts(left: Cut, right: Cut, type: PhysicalType): number {
  if (left.kind === "start" || right.kind === "end") {
    return left.kind === right.kind ? 0 : -1;
  }
  if (left.kind === "end" || right.kind === "start") {
    return 1;
  }
  const order = comparatorFor(type, type)(left.value, right.value);
  if (order !== 0 || left.kind === right.kind) {
    return order;
  }
  return left.kind === "before" ? -1 : 1;
}

/** The only value between two cuts, if there is just one. */
export function onlyValue(from: Cut, to: Cut, type: PhysicalType): { readonly value: RowValue } | undefined {
  const value = firstValue(from);
  return value !== undefined && compareCuts(after(value.value, type), to, type) === 0 ? value : undefined;
}

/** The least value behind a cut, if there is one. */
export function firstValue(cut: Cut): { readonly value: RowValue } | undefined {
  if (cut.kind === "start") {
    return { value: null };
  }
  return cut.kind === "before" ? { value: cut.value } : undefined;
}

/** The number of values between two cuts of an integer type; Infinity where it is not known to be small. */
export function countValues(from: Cut, to: Cut): number {
  if (from.kind !== "before" || to.kind !== "before") {
    return Infinity;
  }
  return typeof from.value === "bigint" && typeof to.value === "bigint"
    ? Number(to.value - from.value)
    : Infinity;
}

function smallestOf(type: PhysicalType): RowValue | undefined {
  switch (type) {
    case "int64":
      return int64Min;
    case "uint64":
      return 0n;
    case "boolean":
      return false;
    case "string":
      return empty;
    default:
      return undefined;
  }
}
