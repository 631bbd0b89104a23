/**
 * The embedded store: LMDB. The settings below were measured; see the comments before changing one.
 */
import { open as openFile } from "node:fs/promises";
import { platform } from "node:os";
import { dirname, resolve } from "node:path";
import { defined, limits, YtError } from "@qyt/base";
import { open, type RootDatabase, type Transaction } from "lmdb";
import { CommitQueue } from "./commit-queue.ts";
import { lockDirectory } from "./directory-lock.ts";
import { keyAfter } from "./keyspace.ts";
import { LmdbCodec } from "./lmdb-codec.ts";
import { explainFailure } from "./lmdb-errors.ts";
import type { RecordBuffer, RecordVisitor } from "./record-buffer.ts";
import type { Entry, RangeOptions, Reader, Snapshot, Store, StoreMetrics } from "./store.ts";
import type { WriteBatch } from "./write-batch.ts";

type Database = RootDatabase<Buffer, Buffer>;

export interface LmdbStoreOptions {
  /**
   * Address space for the file, in bytes; no disk space and no memory. The library would grow it, which
   * maps the file anew under load. Default: 1 TiB.
   */
  readonly mapSizeBytes?: number;
  /** A group of batches takes no more beyond it, so that handing it over stays short. Default: 4 MiB. */
  readonly maxGroupBytes?: number;
}

const settings = {
  // On every open: without it the library caps keys at 1,978 bytes on a reopen. Values of up to
  // page - 24 = 8,168 bytes take one page; runs of free pages are what LMDB is slow at.
  pageSize: 8192,
  // Undocumented, read in the library's source. With the defaults, dropping half of 2 GB took 56 s and
  // each commit after it 190 ms; with these 1.1 s and 0.5 ms (bench/store.mjs).
  maxFreeSpaceToLoad: 1000,
  maxFreeSpaceToRetain: 2000,
  // The default shows a commit to readers before it is flushed and never tells of a failed flush.
  overlappingSync: false,
  // There is one transaction at a time, made by `CommitQueue`; the library need not gather as well.
  eventTurnBatching: false,
  encoding: "binary",
  compression: false,
  cache: false,
  noSubdir: false,
  maxDbs: 1,
} as const;

/**
 * Opens, or makes, the store in a directory, which is locked against other processes until `close`.
 * @throws YtError 1 when the directory is in use or cannot be opened
 */
export async function openLmdbStore(directory: string, options: LmdbStoreOptions = {}): Promise<Store> {
  const lock = await lockDirectory(directory);
  try {
    const codec = new LmdbCodec();
    const database = openDatabase(directory, codec, options.mapSizeBytes ?? 2 ** 40);
    // LMDB flushes the file, not the names that lead to it.
    await flushDirectory(directory);
    await flushDirectory(dirname(resolve(directory)));
    return new LmdbStore(database, codec, options, () => lock.release());
  } catch (thrown) {
    await lock.release();
    throw new YtError(`Cannot open data directory "${directory}"`, {
      inner: [await explainFailure(thrown)],
    });
  }
}

/** Where the address space is limited (`ulimit -v`), a smaller map must do; the library lets it grow. */
function openDatabase(directory: string, codec: LmdbCodec, mapSize: number): Database {
  try {
    return open<Buffer, Buffer>({ ...settings, ...codec.options, path: directory, mapSize });
  } catch (thrown) {
    const smallMapSize = 2 ** 30;
    if (mapSize <= smallMapSize) {
      throw thrown;
    }
    return openDatabase(directory, codec, smallMapSize);
  }
}

async function flushDirectory(path: string): Promise<void> {
  if (platform() !== "win32") {
    const handle = await openFile(path, "r");
    await handle.sync().finally(() => handle.close());
  }
}

class LmdbStore implements Store {
  readonly #database: Database;
  readonly #codec: LmdbCodec;
  readonly #reader: LmdbReader;
  readonly #queue: CommitQueue;
  readonly #onClosed: () => Promise<void>;
  readonly #snapshots = new Set<LmdbSnapshot>();
  #isClosed = false;

  constructor(
    database: Database,
    codec: LmdbCodec,
    options: LmdbStoreOptions,
    onClosed: () => Promise<void>,
  ) {
    this.#database = database;
    this.#codec = codec;
    this.#reader = new LmdbReader(database, codec);
    this.#onClosed = onClosed;
    this.#queue = new CommitQueue({
      flush: (group) => this.#flush(group),
      gather: setImmediate,
      maxGroupBytes: options.maxGroupBytes ?? 4 * 1024 * 1024,
    });
  }

  get metrics(): StoreMetrics {
    return this.#queue.metrics;
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#checkOpen();
    return this.#reader.get(key);
  }

  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    this.#checkOpen();
    return this.#reader.range(from, to, options);
  }

  visit(from: Uint8Array, to: Uint8Array, record: RecordBuffer, visit: RecordVisitor): void {
    this.#checkOpen();
    this.#reader.visit(from, to, record, visit);
  }

  snapshot(): Snapshot {
    this.#checkOpen();
    const snapshot = new LmdbSnapshot(this.#database, this.#codec, () => this.#snapshots.delete(snapshot));
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  commit(batch: WriteBatch): Promise<void> {
    return this.#queue.commit(batch);
  }

  async close(): Promise<void> {
    if (this.#isClosed) {
      return;
    }
    await this.#queue.close();
    this.#isClosed = true;
    // One that were left would read from a file no longer mapped.
    for (const snapshot of [...this.#snapshots]) {
      snapshot.release();
    }
    await this.#database.close();
    await this.#onClosed();
  }

  /** One LMDB transaction. Sizes were checked as the batches were made: a put that throws midway would
   * leave the ones before it in the transaction. */
  async #flush(group: readonly WriteBatch[]): Promise<void> {
    const database = this.#database;
    try {
      await database.batch(() => {
        for (const batch of group) {
          for (const { key, value } of batch.entries) {
            if (value === undefined) {
              void database.remove(key);
            } else {
              void database.put(key, value);
            }
          }
        }
      });
    } catch (thrown) {
      throw await explainFailure(thrown);
    }
    database.resetReadTxn();
  }

  #checkOpen(): void {
    if (this.#isClosed) {
      throw new YtError("Store is closed");
    }
  }
}

/** Entries read at once: few at first, as most ranges are left at once (the newest version of a row). */
const firstPageEntries = 2;
const maxPageEntries = 512;
const maxPageBytes = 256 * 1024;

class LmdbReader implements Reader {
  readonly #database: Database;
  readonly #codec: LmdbCodec;
  readonly #options: { readonly transaction?: Transaction };

  constructor(database: Database, codec: LmdbCodec, transaction?: Transaction) {
    this.#database = database;
    this.#codec = codec;
    this.#options = transaction === undefined ? {} : { transaction };
  }

  get(key: Uint8Array): Buffer | undefined {
    if (key.length === 0 || key.length > limits.maxStoreKeyBytes) {
      return undefined;
    }
    return this.#database.get(asBuffer(key), this.#options);
  }

  /**
   * Reads page by page and leaves no cursor open between pages: an iterator that someone forgot half read
   * would keep old pages of the file alive.
   */
  *range(from: Uint8Array, to: Uint8Array, options: RangeOptions = {}): IterableIterator<Entry> {
    let low = bound(from);
    let high = bound(to);
    let left = options.limit ?? Number.POSITIVE_INFINITY;
    let pageEntries = Math.min(firstPageEntries, left);
    while (left > 0 && Buffer.compare(low, high) < 0) {
      const page = this.#page(low, high, pageEntries, options);
      yield* page;
      left -= page.length;
      if (page.length === 0) {
        return;
      }
      const last = defined(page.at(-1), "last entry").key;
      if (options.reverse === true) {
        high = last;
      } else {
        low = keyAfter(last);
      }
      pageEntries = Math.min(maxPageEntries, pageEntries * 4, left);
    }
  }

  visit(from: Uint8Array, to: Uint8Array, record: RecordBuffer, visit: RecordVisitor): void {
    const start = bound(from);
    const end = bound(to);
    if (Buffer.compare(start, end) >= 0) {
      return;
    }
    const entries = this.#database.getRange({ start, end, ...this.#options })[Symbol.iterator]();
    const readNext = () => entries.next();
    try {
      while (this.#codec.readInto(record, readNext).done !== true) {
        if (!visit(record)) {
          return;
        }
      }
    } finally {
      entries.return?.();
    }
  }

  /** The next entries of [low, high); none only at the end. */
  #page(low: Buffer, high: Buffer, maxEntries: number, options: RangeOptions): Entry[] {
    const bounds =
      options.reverse === true
        ? // By default a reverse range of the library is (low, high].
          { start: high, end: low, reverse: true, exclusiveStart: true, inclusiveEnd: true }
        : { start: low, end: high };
    const query = { ...bounds, limit: maxEntries, ...this.#options };
    const page: Entry[] = [];
    if (options.keysOnly === true) {
      for (const key of this.#database.getKeys(query)) {
        page.push({ key, value: noBytes });
      }
      return page;
    }
    let bytes = 0;
    for (const { key, value } of this.#database.getRange(query)) {
      page.push({ key, value });
      bytes += value.length;
      if (bytes > maxPageBytes) {
        break;
      }
    }
    return page;
  }
}

class LmdbSnapshot implements Snapshot {
  readonly #transaction: Transaction;
  readonly #reader: LmdbReader;
  readonly #onReleased: () => void;
  #isReleased = false;

  constructor(database: Database, codec: LmdbCodec, onReleased: () => void) {
    this.#onReleased = onReleased;
    this.#transaction = database.useReadTransaction();
    this.#reader = new LmdbReader(database, codec, this.#transaction);
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#checkHeld();
    return this.#reader.get(key);
  }

  *range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): IterableIterator<Entry> {
    this.#checkHeld();
    for (const entry of this.#reader.range(from, to, options)) {
      yield entry;
      this.#checkHeld();
    }
  }

  release(): void {
    if (!this.#isReleased) {
      this.#isReleased = true;
      this.#transaction.done();
      this.#onReleased();
    }
  }

  #checkHeld(): void {
    if (this.#isReleased) {
      throw new YtError("Snapshot is released");
    }
  }
}

const noBytes = Buffer.alloc(0);

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** A bound that LMDB takes and that divides the possible keys in the same way. */
function bound(key: Uint8Array): Buffer {
  if (key.length === 0) {
    return Buffer.of(0);
  }
  return key.length > limits.maxStoreKeyBytes
    ? keyAfter(key.subarray(0, limits.maxStoreKeyBytes))
    : asBuffer(key);
}
