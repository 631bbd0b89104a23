/**
 * Sets of keys as decision trees: a node looks at one key column and splits its values into intervals, each
 * with the set of the columns behind it. Union, intersection and complement are exact; what they may cost is
 * bounded by a budget.
 */
import type { PhysicalType } from "@qyt/schema";
import { type Cut, compareCuts, endCut, startCut } from "./cuts.ts";

/** `true` is the set of all keys. */
export type KeySet = true | KeyNode;

export interface KeyNode {
  /** The key column that decides. */
  readonly depth: number;
  /** Sorted and disjoint; what is between them is not in the set. */
  readonly items: readonly KeyItem[];
}

export interface KeyItem {
  readonly from: Cut;
  readonly to: Cut;
  /** Over deeper columns. */
  readonly next: KeySet;
}

/** Thrown when the budget is used up: the condition is too entangled to be worth more. */
export class KeySetBudgetExceeded extends Error {}

export const noKeys: KeyNode = { depth: 0, items: [] };

export function isNone(set: KeySet): boolean {
  return set !== true && set.items.length === 0;
}

export class KeySetAlgebra {
  readonly #types: readonly PhysicalType[];
  #budget: number;

  /** `types` are those of the key columns. */
  constructor(types: readonly PhysicalType[], budget: number) {
    this.#types = types;
    this.#budget = budget;
  }

  /** The keys whose column lies between two cuts. */
  interval(depth: number, from: Cut, to: Cut): KeySet {
    return compareCuts(from, to, this.#type(depth)) < 0
      ? this.node(depth, [{ from, to, next: true }])
      : noKeys;
  }

  /** A node without empty, split or superfluous items. `items` are sorted and disjoint. */
  node(depth: number, items: readonly KeyItem[]): KeySet {
    const type = this.#type(depth);
    const kept: KeyItem[] = [];
    for (const item of items) {
      this.#spend();
      if (isNone(item.next)) {
        continue;
      }
      const previous = kept[kept.length - 1];
      if (
        previous !== undefined &&
        previous.next === item.next &&
        compareCuts(previous.to, item.from, type) === 0
      ) {
        kept[kept.length - 1] = { from: previous.from, to: item.to, next: item.next };
      } else {
        kept.push(item);
      }
    }
    const [first] = kept;
    if (first === undefined) {
      return noKeys;
    }
    const whole = kept.length === 1 && first.from.kind === "start" && first.to.kind === "end";
    return whole ? first.next : { depth, items: kept };
  }

  intersect(left: KeySet, right: KeySet): KeySet {
    if (left === true || right === true) {
      return left === true ? right : left;
    }
    if (isNone(left) || isNone(right)) {
      return noKeys;
    }
    if (left.depth !== right.depth) {
      const [upper, lower] = left.depth < right.depth ? [left, right] : [right, left];
      return this.node(
        upper.depth,
        upper.items.map((item) => ({ ...item, next: this.intersect(item.next, lower) })),
      );
    }
    const type = this.#type(left.depth);
    const items: KeyItem[] = [];
    for (let a = 0, b = 0; ; ) {
      const leftItem = left.items[a];
      const rightItem = right.items[b];
      if (leftItem === undefined || rightItem === undefined) {
        return this.node(left.depth, items);
      }
      this.#spend();
      const from = compareCuts(leftItem.from, rightItem.from, type) > 0 ? leftItem.from : rightItem.from;
      const leftEnds = compareCuts(leftItem.to, rightItem.to, type) < 0;
      const to = leftEnds ? leftItem.to : rightItem.to;
      if (compareCuts(from, to, type) < 0) {
        items.push({ from, to, next: this.intersect(leftItem.next, rightItem.next) });
      }
      if (leftEnds) {
        a += 1;
      } else {
        b += 1;
      }
    }
  }

  union(left: KeySet, right: KeySet): KeySet {
    if (left === true || right === true) {
      return true;
    }
    if (isNone(left) || isNone(right)) {
      return isNone(left) ? right : left;
    }
    const depth = Math.min(left.depth, right.depth);
    return this.#unite(depth, lift(left, depth), lift(right, depth));
  }

  /** The union of many sets, halving so that no set is copied more often than needed. */
  unionAll(sets: readonly KeySet[]): KeySet {
    if (sets.length <= 1) {
      return sets[0] ?? noKeys;
    }
    const disjoint = this.#uniteDisjoint(sets);
    if (disjoint !== undefined) {
      return disjoint;
    }
    const middle = sets.length >> 1;
    return this.union(this.unionAll(sets.slice(0, middle)), this.unionAll(sets.slice(middle)));
  }

  /** The union of sets that decide on one column by different or by equal values, as `a = 1 OR a = 2 OR …` gives. */
  #uniteDisjoint(sets: readonly KeySet[]): KeySet | undefined {
    const depth = sets[0] === true ? undefined : sets[0]?.depth;
    if (depth === undefined || !sets.every((set) => set !== true && set.depth === depth)) {
      return undefined;
    }
    const type = this.#type(depth);
    const items = sets.flatMap((set) => (set === true ? [] : set.items));
    items.sort(
      (left, right) => compareCuts(left.from, right.from, type) || compareCuts(left.to, right.to, type),
    );
    const groups: { from: Cut; to: Cut; nexts: KeySet[] }[] = [];
    for (const { from, to, next } of items) {
      const previous = groups[groups.length - 1];
      if (previous === undefined || compareCuts(previous.to, from, type) <= 0) {
        groups.push({ from, to, nexts: [next] });
      } else if (compareCuts(previous.from, from, type) === 0 && compareCuts(previous.to, to, type) === 0) {
        previous.nexts.push(next);
      } else {
        return undefined;
      }
    }
    return this.node(
      depth,
      groups.map(({ from, to, nexts }) => ({ from, to, next: this.unionAll(nexts) })),
    );
  }

  complement(set: KeySet): KeySet {
    if (set === true) {
      return noKeys;
    }
    const items: KeyItem[] = [];
    let position: Cut = startCut;
    for (const item of set.items) {
      this.#spend();
      if (compareCuts(position, item.from, this.#type(set.depth)) < 0) {
        items.push({ from: position, to: item.from, next: true });
      }
      items.push({ ...item, next: this.complement(item.next) });
      position = item.to;
    }
    if (position.kind !== "end") {
      items.push({ from: position, to: endCut, next: true });
    }
    return this.node(set.depth, items);
  }

  #unite(depth: number, left: readonly KeyItem[], right: readonly KeyItem[]): KeySet {
    const type = this.#type(depth);
    const cuts = [...left, ...right].flatMap((item) => [item.from, item.to]);
    cuts.sort((a, b) => compareCuts(a, b, type));
    const items: KeyItem[] = [];
    let a = 0;
    let b = 0;
    for (const [index, from] of cuts.entries()) {
      this.#spend();
      const to = cuts[index + 1];
      if (to === undefined || compareCuts(from, to, type) === 0) {
        continue;
      }
      a = skipBefore(left, a, from, type);
      b = skipBefore(right, b, from, type);
      const leftNext = nextAt(left[a], from, type);
      const rightNext = nextAt(right[b], from, type);
      if (leftNext !== undefined && rightNext !== undefined) {
        items.push({ from, to, next: this.union(leftNext, rightNext) });
      } else {
        const next = leftNext ?? rightNext;
        if (next !== undefined) {
          items.push({ from, to, next });
        }
      }
    }
    return this.node(depth, items);
  }

  #type(depth: number): PhysicalType {
    return this.#types[depth] ?? "null";
  }

  #spend(): void {
    this.#budget -= 1;
    if (this.#budget < 0) {
      throw new KeySetBudgetExceeded("Key set budget exceeded");
    }
  }
}

/** The items of a node as seen from an earlier column, which it leaves open. */
function lift(node: KeyNode, depth: number): readonly KeyItem[] {
  return node.depth === depth ? node.items : [{ from: startCut, to: endCut, next: node }];
}

function skipBefore(items: readonly KeyItem[], start: number, cut: Cut, type: PhysicalType): number {
  let index = start;
  for (
    let item = items[index];
    item !== undefined && compareCuts(item.to, cut, type) <= 0;
    item = items[index]
  ) {
    index += 1;
  }
  return index;
}

function nextAt(item: KeyItem | undefined, cut: Cut, type: PhysicalType): KeySet | undefined {
  return item !== undefined && compareCuts(item.from, cut, type) <= 0 ? item.next : undefined;
}
