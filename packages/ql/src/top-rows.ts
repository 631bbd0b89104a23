/**
 * The first rows of an order, found in one pass while holding no more than wanted: a heap with the worst of
 * the kept rows on top. Rows that compare equal stay in the order they came.
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import { comparatorFor } from "./compare.ts";

interface Entry {
  readonly keys: readonly RowValue[];
  readonly sequence: number;
  readonly row: readonly RowValue[];
}

export interface SortKey {
  readonly type: PhysicalType;
  readonly descending: boolean;
}

export class TopRows {
  readonly #capacity: number;
  readonly #compareKeys: (left: readonly RowValue[], right: readonly RowValue[]) => number;
  readonly #heap: Entry[] = [];
  #sequence = 0;

  constructor(capacity: number, keys: readonly SortKey[]) {
    this.#capacity = capacity;
    const comparators = keys.map(({ type, descending }) => {
      const compare = comparatorFor(type, type);
      return descending ? (left: RowValue, right: RowValue) => compare(right, left) : compare;
    });
    this.#compareKeys = (left, right) => {
      for (const [index, compare] of comparators.entries()) {
        const order = compare(left[index] ?? null, right[index] ?? null);
        if (order !== 0) {
          return order;
        }
      }
      return 0;
    };
  }

  /** Offers a row by its keys; `makeEntry` is called only when it is kept, to copy what must outlive the batch. */
  offer(
    keys: readonly RowValue[],
    makeEntry: () => { keys: readonly RowValue[]; row: readonly RowValue[] },
  ): void {
    const sequence = this.#sequence;
    this.#sequence += 1;
    const worst = this.#heap[0];
    if (this.#heap.length < this.#capacity) {
      this.#heap.push({ ...makeEntry(), sequence });
      this.#up(this.#heap.length - 1);
    } else if (worst !== undefined && this.#compareKeys(keys, worst.keys) < 0) {
      this.#heap[0] = { ...makeEntry(), sequence };
      this.#down();
    }
  }

  /** The kept rows in order; the collection is empty afterwards. */
  drain(): (readonly RowValue[])[] {
    const entries = this.#heap.splice(0);
    entries.sort((left, right) => this.#compare(left, right));
    return entries.map((entry) => entry.row);
  }

  #compare(left: Entry, right: Entry): number {
    return this.#compareKeys(left.keys, right.keys) || left.sequence - right.sequence;
  }

  #up(start: number): void {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#swapIfWorse(index, parent)) {
        return;
      }
      index = parent;
    }
  }

  #down(): void {
    let index = 0;
    for (;;) {
      const left = index * 2 + 1;
      const right = left + 1;
      const worse = this.#isWorse(right, left) ? right : left;
      if (!this.#swapIfWorse(worse, index)) {
        return;
      }
      index = worse;
    }
  }

  /** Whether the entry at `index` comes later than that at `other`. */
  #isWorse(index: number, other: number): boolean {
    const left = this.#heap[index];
    const right = this.#heap[other];
    return left !== undefined && right !== undefined && this.#compare(left, right) > 0;
  }

  /** Puts the entry at `child` above its parent when it comes later. */
  #swapIfWorse(child: number, parent: number): boolean {
    const low = this.#heap[child];
    const high = this.#heap[parent];
    if (low === undefined || high === undefined || this.#compare(low, high) <= 0) {
      return false;
    }
    this.#heap[child] = high;
    this.#heap[parent] = low;
    return true;
  }
}
