/**
 * Entries in key order, in leaves that are copied on write once someone holds an image of them. A flat
 * B-tree: enough for tests and small clusters without a disk.
 */
import { defined } from "@qyt/base";
import type { Entry, RangeOptions } from "./store.ts";

const maxLeafEntries = 256;

interface Leaf {
  readonly entries: Entry[];
  /** The generation that may change this leaf in place. */
  readonly generation: number;
}

/** An unchanging image of the entries. */
export class EntriesImage {
  readonly #leaves: readonly Leaf[];

  constructor(leaves: readonly Leaf[]) {
    this.#leaves = leaves;
  }

  get(key: Uint8Array): Buffer | undefined {
    const leaf = this.#leaves[findLeaf(this.#leaves, key)];
    const entry = leaf?.entries[findEntry(leaf.entries, key)];
    return entry !== undefined && Buffer.compare(entry.key, key) === 0 ? entry.value : undefined;
  }

  *range(from: Uint8Array, to: Uint8Array, options: RangeOptions = {}): IterableIterator<Entry> {
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    const walk = options.reverse === true ? this.#down(from, to) : this.#up(from, to);
    for (const entry of walk) {
      if (left-- <= 0) {
        return;
      }
      yield options.keysOnly === true ? { key: entry.key, value: Buffer.alloc(0) } : entry;
    }
  }

  *#up(from: Uint8Array, to: Uint8Array): IterableIterator<Entry> {
    for (let l = findLeaf(this.#leaves, from); l < this.#leaves.length; ++l) {
      const { entries } = defined(this.#leaves[l], "leaf");
      for (let i = findEntry(entries, from); i < entries.length; ++i) {
        const entry = defined(entries[i], "entry");
        if (Buffer.compare(entry.key, to) >= 0) {
          return;
        }
        yield entry;
      }
    }
  }

  *#down(from: Uint8Array, to: Uint8Array): IterableIterator<Entry> {
    for (let l = findLeaf(this.#leaves, to); l >= 0; --l) {
      const { entries } = this.#leaves[l] ?? { entries: [] };
      for (let i = findEntry(entries, to) - 1; i >= 0; --i) {
        const entry = defined(entries[i], "entry");
        if (Buffer.compare(entry.key, from) < 0) {
          return;
        }
        yield entry;
      }
    }
  }
}

export class SortedEntries {
  #leaves: Leaf[] = [];
  #generation = 0;
  #image: EntriesImage | undefined;

  /** O(1); the next change copies what it touches. */
  image(): EntriesImage {
    this.#image ??= new EntriesImage(this.#leaves);
    return this.#image;
  }

  put(key: Buffer, value: Buffer): void {
    this.#prepare();
    if (this.#leaves.length === 0) {
      this.#leaves.push({ entries: [], generation: this.#generation });
    }
    const l = Math.min(findLeaf(this.#leaves, key), this.#leaves.length - 1);
    const { entries } = this.#own(l);
    const i = findEntry(entries, key);
    const old = entries[i];
    const exists = old !== undefined && Buffer.compare(old.key, key) === 0;
    entries.splice(i, exists ? 1 : 0, { key, value });
    if (entries.length > maxLeafEntries) {
      const upper = entries.splice(entries.length >> 1);
      this.#leaves.splice(l + 1, 0, { entries: upper, generation: this.#generation });
    }
  }

  remove(key: Uint8Array): void {
    const l = findLeaf(this.#leaves, key);
    const found = this.#leaves[l];
    const i = found === undefined ? 0 : findEntry(found.entries, key);
    const old = found?.entries[i];
    if (old === undefined || Buffer.compare(old.key, key) !== 0) {
      return;
    }
    this.#prepare();
    const { entries } = this.#own(l);
    entries.splice(i, 1);
    if (entries.length === 0) {
      this.#leaves.splice(l, 1);
    }
  }

  #prepare(): void {
    if (this.#image !== undefined) {
      this.#image = undefined;
      this.#leaves = [...this.#leaves];
      this.#generation += 1;
    }
  }

  #own(index: number): Leaf {
    const leaf = defined(this.#leaves[index], "leaf");
    if (leaf.generation === this.#generation) {
      return leaf;
    }
    const copy = { entries: [...leaf.entries], generation: this.#generation };
    this.#leaves[index] = copy;
    return copy;
  }
}

/** Index of the first leaf whose last key is not below `key`; the number of leaves if there is none. */
function findLeaf(leaves: readonly Leaf[], key: Uint8Array): number {
  let low = 0;
  let high = leaves.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const last = leaves[middle]?.entries.at(-1);
    if (last !== undefined && Buffer.compare(last.key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/** Index of the first entry whose key is not below `key`. */
function findEntry(entries: readonly Entry[], key: Uint8Array): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = entries[middle];
    if (entry !== undefined && Buffer.compare(entry.key, key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
