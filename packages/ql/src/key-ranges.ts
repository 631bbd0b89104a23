/**
 * Sets of keys → ranges of keys for a scan: sorted, disjoint, and joined where they touch.
 *
 * Specified in: yt/yt/library/query/engine_api/range_inferrer.cpp.
 */
import { defined } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import { compareTuples } from "./compare.ts";
import { type ComputedKey, ComputedKeyInference } from "./computed-keys.ts";
import { after, type Cut, listValues, valueBelow } from "./cuts.ts";
import type { Expression } from "./expressions.ts";
import { KeyConditions } from "./key-conditions.ts";
import { isNone, type KeyItem, type KeySet, KeySetAlgebra, KeySetBudgetExceeded } from "./key-sets.ts";
import { queryLimits } from "./options.ts";

/** A bound on keys: the values are a prefix of the key, and all keys with that prefix are equal to it. */
export interface KeyBound {
  readonly values: readonly RowValue[];
  readonly inclusive: boolean;
}

export interface KeyRange {
  readonly lower: KeyBound;
  readonly upper: KeyBound;
}

/** The range of all keys. */
export const unboundedRange: KeyRange = {
  lower: { values: [], inclusive: true },
  upper: { values: [], inclusive: true },
};

export interface KeyRanges {
  readonly ranges: readonly KeyRange[];
  /** Whether every key in the ranges satisfies the condition. */
  readonly exact: boolean;
}

/**
 * The ranges of keys that can satisfy a condition.
 *
 * @param types types of the key columns, which are the first columns of the table
 * @param computed those of them that are computed
 * @param limit the most ranges there may be; beyond it they get coarser
 */
export function inferKeyRanges(
  condition: Expression | undefined,
  types: readonly PhysicalType[],
  computed: readonly ComputedKey[],
  limit: number,
): KeyRanges {
  if (condition === undefined) {
    return { ranges: [unboundedRange], exact: true };
  }
  try {
    const conditions = new KeyConditions(new KeySetAlgebra(types, queryLimits.maxRangeSteps), types);
    const set = narrowed(conditions, condition, types, computed);
    if (isNone(set)) {
      return { ranges: [], exact: true };
    }
    // Ever fewer key columns are told apart until the ranges are few enough.
    for (let depth = types.length; depth > 0; depth -= 1) {
      const flattener = new Flattener(types, limit, depth);
      if (flattener.add(set, [])) {
        const ranges = flattener.ranges.map((range) => toKeyRange(range, types));
        return { ranges, exact: conditions.exact && flattener.exact };
      }
    }
  } catch (error) {
    if (!(error instanceof KeySetBudgetExceeded)) {
      throw error;
    }
  }
  return { ranges: [unboundedRange], exact: false };
}

function narrowed(
  conditions: KeyConditions,
  condition: Expression,
  types: readonly PhysicalType[],
  computed: readonly ComputedKey[],
): KeySet {
  const set = conditions.keysOf(condition);
  try {
    const algebra = new KeySetAlgebra(types, queryLimits.maxRangeSteps);
    return new ComputedKeyInference(algebra, types, computed, conditions.listedCount).narrow(set);
  } catch (error) {
    if (error instanceof KeySetBudgetExceeded) {
      return set;
    }
    throw error;
  }
}

/** Whether a key lies in a range. */
export function isInRange(
  key: readonly RowValue[],
  range: KeyRange,
  types: readonly PhysicalType[],
): boolean {
  const lower = compareTuples(key, range.lower.values, types);
  const upper = compareTuples(key, range.upper.values, types);
  return (
    (lower > 0 || (lower === 0 && range.lower.inclusive)) &&
    (upper < 0 || (upper === 0 && range.upper.inclusive))
  );
}

/** A place between keys: before or behind all keys with the prefix. */
interface KeyCut {
  readonly prefix: readonly RowValue[];
  readonly behind: boolean;
}

interface CutRange {
  readonly lower: KeyCut;
  readonly upper: KeyCut;
}

class Flattener {
  readonly ranges: CutRange[] = [];
  exact = true;
  readonly #types: readonly PhysicalType[];
  readonly #limit: number;
  readonly #maxDepth: number;

  constructor(types: readonly PhysicalType[], limit: number, maxDepth: number) {
    this.#types = types;
    this.#limit = Math.max(1, limit);
    this.#maxDepth = maxDepth;
  }

  /** Adds the keys of a set that begin with a prefix; false when the ranges get too many. */
  add(set: KeySet, prefix: readonly RowValue[]): boolean {
    if (set === true) {
      return this.#push({ lower: { prefix, behind: false }, upper: { prefix, behind: true } });
    }
    if (set.items.length === 0) {
      return true;
    }
    if (set.depth > prefix.length) {
      // A column in between is left open: nothing behind it can narrow the range.
      this.exact = false;
      return this.add(true, prefix);
    }
    return set.items.every((item) => this.#addItem(item, prefix));
  }

  #addItem(item: KeyItem, prefix: readonly RowValue[]): boolean {
    const type = this.#types[prefix.length] ?? "null";
    if (item.next !== true && prefix.length + 1 < this.#maxDepth) {
      const limit = Math.min(queryLimits.maxListedValues, this.#limit);
      const values = listValues(item.from, item.to, type, limit);
      if (values !== undefined) {
        return values.every((value) => this.add(item.next, [...prefix, value]));
      }
    }
    this.exact &&= item.next === true;
    return this.#push({ lower: extend(prefix, item.from), upper: extend(prefix, item.to) });
  }

  #push(range: CutRange): boolean {
    const previous = this.ranges[this.ranges.length - 1];
    const lower = normalize(range.lower, this.#types);
    const upper = normalize(range.upper, this.#types);
    if (previous !== undefined && sameCut(previous.upper, lower, this.#types)) {
      this.ranges[this.ranges.length - 1] = { lower: previous.lower, upper };
    } else {
      this.ranges.push({ lower, upper });
    }
    return this.ranges.length <= this.#limit;
  }
}

function extend(prefix: readonly RowValue[], cut: Cut): KeyCut {
  switch (cut.kind) {
    case "start":
      return { prefix, behind: false };
    case "end":
      return { prefix, behind: true };
    case "before":
      return { prefix: [...prefix, cut.value], behind: false };
    case "after":
      return { prefix: [...prefix, cut.value], behind: true };
  }
}

/** The one form of a cut that can be written in several: `behind [0]` of integers is `before [1]`. */
function normalize(cut: KeyCut, types: readonly PhysicalType[]): KeyCut {
  const { prefix, behind } = cut;
  if (prefix.length === 0) {
    return cut;
  }
  const last = prefix[prefix.length - 1] ?? null;
  const rest = prefix.slice(0, -1);
  if (!behind) {
    return last === null ? normalize({ prefix: rest, behind: false }, types) : cut;
  }
  const next = after(last, types[rest.length] ?? "null");
  if (next.kind === "end") {
    return normalize({ prefix: rest, behind: true }, types);
  }
  return next.kind === "before" ? { prefix: [...rest, next.value], behind: false } : cut;
}

function sameCut(left: KeyCut, right: KeyCut, types: readonly PhysicalType[]): boolean {
  return (
    left.behind === right.behind &&
    left.prefix.length === right.prefix.length &&
    compareTuples(left.prefix, right.prefix, types) === 0
  );
}

function toKeyRange(range: CutRange, types: readonly PhysicalType[]): KeyRange {
  const { lower, upper } = range;
  return {
    lower: { values: lower.prefix, inclusive: !lower.behind },
    upper: upper.behind ? { values: upper.prefix, inclusive: true } : upperBound(upper.prefix, types),
  };
}

/** The bound below a cut, by the value just under it where there is one. */
function upperBound(prefix: readonly RowValue[], types: readonly PhysicalType[]): KeyBound {
  const rest = prefix.slice(0, -1);
  const last = defined(prefix[prefix.length - 1], "bound of a range");
  const below = valueBelow({ kind: "before", value: last }, types[rest.length] ?? "null");
  return below === undefined
    ? { values: prefix, inclusive: false }
    : { values: [...rest, below.value], inclusive: true };
}
