/**
 * The port to the disk: an ordered key-value store with atomic, durable batches. Keys and values are
 * bytes. Everything above `cell/` reads and writes through these interfaces only, so that the embedded
 * store can give way to a replicated one.
 */
import type { RecordBuffer, RecordVisitor } from "./record-buffer.ts";
import type { WriteBatch } from "./write-batch.ts";

export interface Entry {
  readonly key: Buffer;
  readonly value: Buffer;
}

export interface RangeOptions {
  /** From the highest key down. Default: false. */
  readonly reverse?: boolean;
  /** At most so many entries. Default: all. */
  readonly limit?: number;
  /** Leaves the values empty, which spares reading them. Default: false. */
  readonly keysOnly?: boolean;
}

/** Reads at the newest durable state, or at one point in time (`Snapshot`). */
export interface Reader {
  get(key: Uint8Array): Buffer | undefined;
  /**
   * The entries with `from <= key < to`, in either direction. Both bounds are always given. The
   * iterable is consumed without awaiting in between; who awaits takes a snapshot. It may be dropped
   * half read: it holds nothing.
   */
  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry>;
  /**
   * The same, each record in memory of the caller's instead of in buffers of its own: many times faster for small
   * ones. The visitor may read the store. A reader without it is read by `range`.
   */
  visit?(from: Uint8Array, to: Uint8Array, record: RecordBuffer, visit: RecordVisitor): void;
}

/** Never held across a wait for a client: old pages stay alive as long as it does. */
export interface Snapshot extends Reader {
  /** Idempotent. A released snapshot refuses reads. */
  release(): void;
}

/** Counters of a store since it was opened. */
export interface StoreMetrics {
  /** Flushes to disk, each carrying one or more batches. */
  readonly flushes: number;
  readonly failedFlushes: number;
  readonly batches: number;
  readonly bytes: number;
  /** Batches that are not durable yet. */
  readonly queueLength: number;
}

export interface Store extends Reader {
  readonly metrics: StoreMetrics;
  snapshot(): Snapshot;
  /**
   * Batches become durable in call order, each as a whole; the promise resolves when this one is durable
   * and visible. The batch must not be changed any more.
   *
   * When a flush fails, all its batches and all that were queued behind them are rejected with that
   * error, in call order, and so is every commit until the event loop has turned: callers that built on
   * what failed have then heard of it. After that the store takes commits again.
   */
  commit(batch: WriteBatch): Promise<void>;
  /** Waits for the commits under way. Later reads and commits are refused. */
  close(): Promise<void>;
}
