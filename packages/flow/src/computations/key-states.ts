/**
 * States of keys: read for a batch at once, changed in memory, written in the epoch's transaction, and kept for the
 * next epochs. The job is their only writer as long as it has its lease.
 * Specified in: yt/yt/flow/library/cpp/tables/states.cpp; documentation "Flow", states.
 */
import type { YsonValue } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import type { ComputationId } from "../model/message.ts";
import { documentCell, documentOf, textCell } from "../tables/cells.ts";

/** A state as functions see it and as it is stored. */
export interface StateCodec {
  /** Begins with `/`. */
  readonly name: string;
  decode(stored: YsonValue): unknown;
  encode(value: unknown): YsonValue;
}

/** Where rows of states come from and go to: the pipeline's table, or one of the user's. */
export interface StateRows {
  /** For each key the stored values by state; `null` without a row. */
  read(keys: readonly KeyOfState[]): Promise<readonly (readonly (YsonValue | null)[])[]>;
  /** `undefined` in `values`: not changed; `null`: to be removed. */
  write(transaction: FlowTransaction, changes: readonly StateChange[]): void;
}

export interface KeyOfState {
  readonly text: string;
  /** As the cell of a `key` column. */
  readonly cell: RowValue;
  readonly values: readonly RowValue[];
}

export interface StateChange {
  readonly key: KeyOfState;
  readonly values: readonly (YsonValue | null | undefined)[];
}

interface KeyEntry {
  readonly key: KeyOfState;
  readonly stored: (YsonValue | null)[];
  readonly decoded: unknown[];
  readonly isDecoded: boolean[];
  readonly isDirty: boolean[];
}

/** How many keys stay in memory between epochs. */
const defaultCacheSize = 100_000;

export class KeyStates {
  readonly #rows: StateRows;
  readonly #codecs: readonly StateCodec[];
  readonly #cacheSize: number;
  /** The longest unused first. */
  readonly #entries = new Map<string, KeyEntry>();
  readonly #dirty = new Set<KeyEntry>();

  constructor(rows: StateRows, codecs: readonly StateCodec[], cacheSize = defaultCacheSize) {
    this.#rows = rows;
    this.#codecs = codecs;
    this.#cacheSize = cacheSize;
  }

  get isDirty(): boolean {
    return this.#dirty.size > 0;
  }

  /** Reads what is not in memory of the keys of a batch. */
  async preload(keys: Iterable<KeyOfState>): Promise<void> {
    if (this.#codecs.length === 0) {
      return;
    }
    const missing: KeyOfState[] = [];
    for (const key of keys) {
      const entry = this.#entries.get(key.text);
      if (entry === undefined) {
        missing.push(key);
      } else {
        this.#entries.delete(key.text);
        this.#entries.set(key.text, entry);
      }
    }
    if (missing.length === 0) {
      return;
    }
    const found = await this.#rows.read(missing);
    const width = this.#codecs.length;
    for (let index = 0; index < missing.length; ++index) {
      const key = missing[index];
      if (key !== undefined) {
        this.#entries.set(key.text, {
          key,
          stored: [...(found[index] ?? [])],
          decoded: new Array<unknown>(width).fill(undefined),
          isDecoded: new Array<boolean>(width).fill(false),
          isDirty: new Array<boolean>(width).fill(false),
        });
      }
    }
  }

  /** A state of a key that was preloaded; `undefined` when it is empty. */
  get(keyText: string, index: number): unknown {
    const entry = this.#entryOf(keyText);
    if (entry.isDecoded[index] !== true) {
      const stored = entry.stored[index] ?? null;
      entry.decoded[index] = stored === null ? undefined : this.#codecs[index]?.decode(stored);
      entry.isDecoded[index] = true;
    }
    return entry.decoded[index];
  }

  /** Changes a state; `undefined` empties it, and its row goes. */
  set(keyText: string, index: number, value: unknown): void {
    const entry = this.#entryOf(keyText);
    entry.decoded[index] = value;
    entry.isDecoded[index] = true;
    entry.isDirty[index] = true;
    this.#dirty.add(entry);
  }

  write(transaction: FlowTransaction): void {
    const changes: StateChange[] = [];
    for (const entry of this.#dirty) {
      const values = this.#codecs.map((codec, index) => this.#storedChange(entry, codec, index));
      if (values.some((value) => value !== undefined)) {
        changes.push({ key: entry.key, values });
      }
    }
    this.#dirty.clear();
    if (changes.length > 0) {
      this.#rows.write(transaction, changes);
    }
  }

  #storedChange(entry: KeyEntry, codec: StateCodec, index: number): YsonValue | null | undefined {
    if (entry.isDirty[index] !== true) {
      return undefined;
    }
    entry.isDirty[index] = false;
    const value = entry.decoded[index];
    const stored = value === undefined ? null : codec.encode(value);
    const isAbsentStill = stored === null && (entry.stored[index] ?? null) === null;
    entry.stored[index] = stored;
    return isAbsentStill ? undefined : stored;
  }

  /** The epoch is over: what is too much for the memory goes. */
  trim(): void {
    for (const text of this.#entries.keys()) {
      if (this.#entries.size <= this.#cacheSize) {
        return;
      }
      this.#entries.delete(text);
    }
  }

  #entryOf(keyText: string): KeyEntry {
    const entry = this.#entries.get(keyText);
    if (entry === undefined) {
      throw new Error("the states of this key were not read for the epoch");
    }
    return entry;
  }
}

/** The pipeline's table `states`. */
export class InternalStateRows implements StateRows {
  readonly #cluster: FlowCluster;
  readonly #path: string;
  readonly #computation: Uint8Array;
  readonly #names: readonly Uint8Array[];

  constructor(cluster: FlowCluster, path: string, computationId: ComputationId, names: readonly string[]) {
    this.#cluster = cluster;
    this.#path = path;
    this.#computation = textCell(computationId);
    this.#names = names.map(textCell);
  }

  async read(keys: readonly KeyOfState[]): Promise<readonly (readonly (YsonValue | null)[])[]> {
    const width = this.#names.length;
    const rows = keys.flatMap((key) => this.#names.map((name) => [this.#computation, key.cell, name]));
    const found = await this.#cluster.lookupRows(
      this.#path,
      { columns: stateKeyColumns, rows },
      { columns: ["state"], timestamp: "sync_last_committed" },
    );
    return keys.map((_, index) =>
      found.slice(index * width, (index + 1) * width).map((row) => documentOf(row?.[0])),
    );
  }

  write(transaction: FlowTransaction, changes: readonly StateChange[]): void {
    const changed: RowValue[][] = [];
    const removed: RowValue[][] = [];
    for (const { key, values } of changes) {
      for (let index = 0; index < values.length; ++index) {
        const value = values[index];
        const row: RowValue[] = [this.#computation, key.cell, this.#names[index] ?? null];
        if (value === null) {
          removed.push(row);
        } else if (value !== undefined) {
          row.push(documentCell(value));
          changed.push(row);
        }
      }
    }
    if (changed.length > 0) {
      transaction.insertRows(this.#path, { columns: [...stateKeyColumns, "state"], rows: changed });
    }
    if (removed.length > 0) {
      transaction.deleteRows(this.#path, { columns: stateKeyColumns, rows: removed });
    }
  }
}

const stateKeyColumns = ["computation_id", "key", "name"];
