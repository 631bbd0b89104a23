/**
 * Finds columns by the bytes of their names, without making a string: first the column that came at this place in
 * the row before, then a hash table.
 */
import { stringToBytes } from "@qyt/yson";

export class ColumnTable {
  /** The name of each column. */
  readonly names: readonly Buffer[];
  /** How the name stands in the input between its quotes, where that differs (JSON). */
  readonly spellings: readonly Buffer[];
  readonly #slots: Int32Array;

  /** @param spell how a format writes a name between quotes; the identity by default */
  constructor(names: readonly string[], spell: (name: Buffer) => Buffer = (name) => name) {
    this.names = names.map(stringToBytes);
    this.spellings = this.names.map(spell);
    let size = 8;
    while (size < names.length * 2) {
      size *= 2;
    }
    this.#slots = new Int32Array(size).fill(-1);
    for (const [index, name] of this.names.entries()) {
      let slot = hashBytes(name, 0, name.length) & (size - 1);
      while (this.#slots[slot] !== -1) {
        slot = (slot + 1) & (size - 1);
      }
      this.#slots[slot] = index;
    }
  }

  /** The column named by `bytes[start, end)`, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#slots.length - 1;
    let slot = hashBytes(bytes, start, end) & mask;
    for (;;) {
      const index = this.#slots[slot] ?? -1;
      if (index === -1 || this.isNamed(index, bytes, start, end)) {
        return index;
      }
      slot = (slot + 1) & mask;
    }
  }

  isNamed(index: number, bytes: Uint8Array, start: number, end: number): boolean {
    const name = this.names[index];
    if (name === undefined || name.length !== end - start) {
      return false;
    }
    for (let offset = 0; offset < name.length; offset++) {
      if (name[offset] !== bytes[start + offset]) {
        return false;
      }
    }
    return true;
  }

  /** Whether the spelling of the column and then `terminator` stand at `position`: the position after, or -1. */
  matchSpelling(index: number, bytes: Uint8Array, position: number, end: number, terminator: number): number {
    const spelling = this.spellings[index];
    if (spelling === undefined || position + spelling.length >= end) {
      return -1;
    }
    const length = spelling.length;
    for (let offset = 0; offset < length; offset++) {
      if (spelling[offset] !== bytes[position + offset]) {
        return -1;
      }
    }
    return bytes[position + length] === terminator ? position + length + 1 : -1;
  }
}

/** FNV-1a over `bytes[start, end)`. */
function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let index = start; index < end; index++) {
    hash = Math.imul(hash ^ (bytes[index] ?? 0), 0x01000193);
  }
  return (hash ^ (hash >>> 15)) >>> 0;
}
