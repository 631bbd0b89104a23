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
    return value === maxOf(type) ? endCut : before(value + 1n);
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

/** The least value behind a cut, if there is one. */
function firstValue(cut: Cut): { readonly value: RowValue } | undefined {
  if (cut.kind === "start") {
    return { value: null };
  }
  return cut.kind === "before" ? { value: cut.value } : undefined;
}

/** The values between two cuts in order; undefined where they are more than `limit`, or not known to be fewer. */
export function listValues(from: Cut, to: Cut, type: PhysicalType, limit: number): RowValue[] | undefined {
  const values: RowValue[] = [];
  for (let cut = from; compareCuts(cut, to, type) < 0; ) {
    const next = firstValue(cut)?.value;
    if (next === undefined || values.length >= limit || isFarBelow(next, to, type, limit)) {
      return undefined;
    }
    values.push(next);
    cut = after(next, type);
  }
  return values;
}

/** Whether the values from this one to the cut are too many, or may be, without a look at each. */
function isFarBelow(value: RowValue, to: Cut, type: PhysicalType, limit: number): boolean {
  if (typeof value === "bigint") {
    const end = to.kind === "before" && typeof to.value === "bigint" ? to.value : maxOf(type) + 1n;
    return end - value > limit;
  }
  return value instanceof Uint8Array && compareCuts(after(value, type), to, type) !== 0;
}

function maxOf(type: PhysicalType): bigint {
  return type === "uint64" ? uint64Max : int64Max;
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
