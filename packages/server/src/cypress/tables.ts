/**
 * Tables of records in memory, and layers over them that hold the changes of one mutation.
 *
 * A mutation works on layers; when its batch is durable the layers are poured into the tables, and when
 * it fails they are forgotten. So a failed mutation needs no undoing, and readers never see half of one.
 * Mutations that are committed together stand on layers that have the changes of those before them.
 */

export interface Reader1<V> {
  get(key: string): V | undefined;
  entries(): Iterable<readonly [string, V]>;
}

export interface Reader2<V> {
  get(row: string, key: string): V | undefined;
  row(row: string): Iterable<readonly [string, V]>;
  rowSize(row: string): number;
}

/** What layers stand on: a table, or layers of mutations that are not durable yet. */
export interface Store1<V> extends Reader1<V> {
  set(key: string, value: V): void;
  delete(key: string): void;
}

export interface Store2<V> extends Reader2<V> {
  set(row: string, key: string, value: V): void;
  delete(row: string, key: string): void;
}

/** Records by one key. */
export class Table1<V> implements Store1<V> {
  readonly #map = new Map<string, V>();

  get(key: string): V | undefined {
    return this.#map.get(key);
  }

  set(key: string, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: string): void {
    this.#map.delete(key);
  }

  entries(): Iterable<readonly [string, V]> {
    return this.#map;
  }

  get size(): number {
    return this.#map.size;
  }
}

/** Records by a row and a key inside of it; empty rows take no room. */
export class Table2<V> implements Store2<V> {
  readonly #rows = new Map<string, Map<string, V>>();

  get(row: string, key: string): V | undefined {
    return this.#rows.get(row)?.get(key);
  }

  set(row: string, key: string, value: V): void {
    let map = this.#rows.get(row);
    if (map === undefined) {
      map = new Map();
      this.#rows.set(row, map);
    }
    map.set(key, value);
  }

  delete(row: string, key: string): void {
    const map = this.#rows.get(row);
    if (map?.delete(key) && map.size === 0) {
      this.#rows.delete(row);
    }
  }

  row(row: string): Iterable<readonly [string, V]> {
    return this.#rows.get(row) ?? [];
  }

  rowSize(row: string): number {
    return this.#rows.get(row)?.size ?? 0;
  }
}

/** Changes over a `Table1`. `undefined` in `changes` means removed. */
export class Layer1<V> implements Store1<V> {
  readonly #base: Store1<V>;
  readonly changes = new Map<string, V | undefined>();

  constructor(base: Store1<V>) {
    this.#base = base;
  }

  get(key: string): V | undefined {
    return this.changes.has(key) ? this.changes.get(key) : this.#base.get(key);
  }

  set(key: string, value: V): void {
    this.changes.set(key, value);
  }

  delete(key: string): void {
    if (this.#base.get(key) === undefined) {
      this.changes.delete(key);
    } else {
      this.changes.set(key, undefined);
    }
  }

  *entries(): Iterable<readonly [string, V]> {
    for (const entry of this.#base.entries()) {
      if (!this.changes.has(entry[0])) {
        yield entry;
      }
    }
    for (const [key, value] of this.changes) {
      if (value !== undefined) {
        yield [key, value];
      }
    }
  }

  /** Keeps what the table below has where it is about to be changed. */
  keep(layer: Layer1<V>): void {
    for (const key of layer.changes.keys()) {
      if (!this.changes.has(key)) {
        this.changes.set(key, this.#base.get(key));
      }
    }
  }

  applyTo(target: Store1<V>): void {
    for (const [key, value] of this.changes) {
      if (value === undefined) {
        target.delete(key);
      } else {
        target.set(key, value);
      }
    }
  }
}

/** Changes over a `Table2`. */
export class Layer2<V> implements Store2<V> {
  readonly #base: Store2<V>;
  readonly changes = new Map<string, Map<string, V | undefined>>();
  /** How much larger the rows are than those below, so that a size costs nothing. */
  readonly #growth = new Map<string, number>();

  constructor(base: Store2<V>) {
    this.#base = base;
  }

  get(row: string, key: string): V | undefined {
    const changes = this.changes.get(row);
    return changes?.has(key) ? changes.get(key) : this.#base.get(row, key);
  }

  set(row: string, key: string, value: V): void {
    if (this.get(row, key) === undefined) {
      this.#grow(row, 1);
    }
    this.#changesOf(row).set(key, value);
  }

  delete(row: string, key: string): void {
    if (this.get(row, key) !== undefined) {
      this.#grow(row, -1);
    }
    if (this.#base.get(row, key) === undefined) {
      this.changes.get(row)?.delete(key);
    } else {
      this.#changesOf(row).set(key, undefined);
    }
  }

  *row(row: string): Iterable<readonly [string, V]> {
    const changes = this.changes.get(row);
    if (changes === undefined) {
      yield* this.#base.row(row);
      return;
    }
    for (const entry of this.#base.row(row)) {
      if (!changes.has(entry[0])) {
        yield entry;
      }
    }
    for (const [key, value] of changes) {
      if (value !== undefined) {
        yield [key, value];
      }
    }
  }

  rowSize(row: string): number {
    return this.#base.rowSize(row) + (this.#growth.get(row) ?? 0);
  }

  /** Keeps what the table below has where it is about to be changed. */
  keep(layer: Layer2<V>): void {
    for (const [row, changes] of layer.changes) {
      const kept = this.#changesOf(row);
      for (const [key, value] of changes) {
        const before = this.#base.get(row, key);
        if (!kept.has(key)) {
          kept.set(key, before);
        }
        this.#grow(row, Number(before !== undefined) - Number(value !== undefined));
      }
    }
  }

  #grow(row: string, by: number): void {
    this.#growth.set(row, (this.#growth.get(row) ?? 0) + by);
  }

  applyTo(target: Store2<V>): void {
    for (const [row, changes] of this.changes) {
      for (const [key, value] of changes) {
        if (value === undefined) {
          target.delete(row, key);
        } else {
          target.set(row, key, value);
        }
      }
    }
  }

  #changesOf(row: string): Map<string, V | undefined> {
    let changes = this.changes.get(row);
    if (changes === undefined) {
      changes = new Map();
      this.changes.set(row, changes);
    }
    return changes;
  }
}
