/**
 * The commit pipeline. Every state change is one mutation: a write batch with what to do when it is
 * durable. A mutation is checked against committed state plus what is in flight, joins the open group
 * without awaiting, and counts in the checks of the next one from then on. Its effects become visible,
 * and its caller is answered, after durability only.
 */
import { channel } from "node:diagnostics_channel";
import { assert, type Clock, limits, type Random, toYtError, YtError } from "@qyt/base";
import { type DeletionOptions, RangeDeletions } from "./deletions.ts";
import { checkFormat, decodeState, encodeState, stateKey, writeFormat } from "./meta.ts";
import type { RecordBuffer, RecordVisitor } from "./record-buffer.ts";
import { RecordReader, RecordSnapshot } from "./records.ts";
import type { Entry, RangeOptions, Reader, Snapshot, Store } from "./store.ts";
import { TimestampSource } from "./timestamps.ts";
import { WriteBatch } from "./write-batch.ts";

export interface CellLogger {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface CellOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  /** 16 bits, in every object id of this cell. */
  readonly cellTag: number;
  readonly logger?: CellLogger;
  readonly deletions?: DeletionOptions;
}

export interface Mutation {
  /** Belongs to the cell from now on. */
  readonly batch: WriteBatch;
  /** Makes the effects visible. Runs in commit order, after durability and before the promise resolves. */
  onDurable?(): void;
  /** Takes back what counted as in flight. Runs in reverse commit order, before the promise rejects. */
  onFailed?(error: YtError): void;
}

/** Counters since the cell was opened, ready for a metrics page. */
export interface CellMetrics {
  commits: number;
  failedCommits: number;
  /** Bytes of keys and records committed. */
  bytes: number;
  /** Mutations in flight. */
  queueLength: number;
  rangeRemovals: number;
  removedRecords: number;
}

/** Published for each durable mutation: `{ sequenceNumber, bytes, durationMs }`. */
export const commitChannel = channel("qyt.cell.commit");
/** Published when a flush failed: `{ error, mutations }`. */
export const failureChannel = channel("qyt.cell.failure");

interface InFlight {
  readonly mutation: Mutation;
  readonly sequenceNumber: bigint;
  readonly bound: bigint;
  readonly bytes: number;
  readonly startMs: number;
  resolve(): void;
  reject(error: YtError): void;
}

export class Cell implements Reader {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly cellTag: number;
  readonly metrics: CellMetrics = {
    commits: 0,
    failedCommits: 0,
    bytes: 0,
    queueLength: 0,
    rangeRemovals: 0,
    removedRecords: 0,
  };
  readonly #logger: CellLogger | undefined;
  readonly #reader: RecordReader;
  readonly #timestamps: TimestampSource;
  readonly #deletions: RangeDeletions;
  /** Grows by one at every start, so that object ids need no counter on disk. */
  readonly #epoch: number;
  #objectCounter = 0;
  #sequenceNumber: bigint;
  #durableSequenceNumber: bigint;
  /** In commit order. A Set, as it gives up its first entry in constant time. */
  readonly #inFlight = new Set<InFlight>();
  #pendingBytes = 0;
  #state: "open" | "closing" | "closed" = "open";
  #extension: Promise<void> | undefined;

  private constructor(options: CellOptions) {
    const { store, clock, random, cellTag } = options;
    assert(Number.isInteger(cellTag) && cellTag >= 0 && cellTag <= 0xffff, "cell tag is 16 bits");
    this.store = store;
    this.clock = clock;
    this.random = random;
    this.cellTag = cellTag;
    this.#logger = options.logger;
    this.#reader = new RecordReader(store);
    checkFormat(this.#reader);
    const state = decodeState(this.#reader.get(stateKey));
    this.#epoch = state.epoch + 1;
    this.#sequenceNumber = state.sequenceNumber;
    this.#durableSequenceNumber = state.sequenceNumber;
    this.#timestamps = new TimestampSource(clock, state.timestampBound);
    this.#deletions = new RangeDeletions(this, options.deletions ?? {}, options.logger);
  }

  /**
   * Opens the cell over a store and goes on with removals that a shutdown interrupted.
   * @throws YtError 1 when a newer version wrote the store, 721 when its records are damaged
   */
  static async open(options: CellOptions): Promise<Cell> {
    const cell = new Cell(options);
    const batch = new WriteBatch();
    writeFormat(batch);
    await cell.commit({ batch });
    cell.runDeletions();
    return cell;
  }

  /**
   * Takes part in the open group, in call order. The promise resolves after `onDurable`, and rejects
   * after `onFailed` with the error of the flush; nothing of the batch is stored then. An error in
   * preparing the batch (it was committed before) is thrown as a rejection too.
   */
  commit(mutation: Mutation): Promise<void> {
    if (this.#state === "closed") {
      const error = new YtError("Cell is closed", { code: "Unavailable" });
      this.#runHook(() => mutation.onFailed?.(error));
      return Promise.reject(error);
    }
    return this.#submit(mutation, this.#timestamps.boundForBatch());
  }

  /** Strictly increasing. For use inside a mutation: the bound it needs travels with the mutation's batch. */
  nextTimestamp(): bigint {
    return this.#timestamps.next();
  }

  /** A fresh timestamp for a client. Waits only when the bound on disk does not cover it. */
  async generateTimestamp(): Promise<bigint> {
    const timestamp = this.#timestamps.next();
    if (this.#timestamps.isCovered(timestamp) && this.#timestamps.isLow) {
      // Moved on in passing; should it fail, a later caller waits and hears of it.
      this.#extendBound().catch(() => {});
    }
    while (!this.#timestamps.isCovered(timestamp)) {
      // More than once when the clock leapt while an extension for others was under way.
      await this.#extendBound();
    }
    return timestamp;
  }

  /** The last timestamp handed out. */
  get lastTimestamp(): bigint {
    return this.#timestamps.last;
  }

  /** Number of the last durable mutation, over all restarts. */
  get sequenceNumber(): bigint {
    return this.#durableSequenceNumber;
  }

  /** Bytes of the mutations in flight: who adds to them faster than the disk takes them should wait. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /** Resolves once all that is in flight now is durable or has failed. Never rejects. */
  async settled(): Promise<void> {
    await this.#lastSettled;
  }

  /**
   * A new object id: epoch, counter, `cell tag << 16 | type` and a hash, in hexadecimal without leading
   * zeros. Specified in: yt/yt/client/object_client/public.h.
   * @param type object type code, 16 bits
   */
  newObjectId(type: number): string {
    this.#objectCounter += 1;
    assert(this.#objectCounter <= 0xffff_ffff, "object counter is exhausted");
    const typed = this.cellTag * 0x1_0000 + type;
    const words = [this.#epoch, this.#objectCounter, typed, this.random.uint32()];
    return words.map((word) => word.toString(16)).join("-");
  }

  /** @throws YtError 721 when the record is damaged */
  get(key: Uint8Array): Buffer | undefined {
    return this.#reader.get(key);
  }

  /** See `Reader.range`. @throws YtError 721 when a record is damaged */
  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    return this.#reader.range(from, to, options);
  }

  /** See `Reader.visit`. @throws YtError 721 when a record is damaged */
  visit(from: Uint8Array, to: Uint8Array, record: RecordBuffer, visit: RecordVisitor): void {
    this.#reader.visit(from, to, record, visit);
  }

  /** Verified reads at this point in time. */
  snapshot(): Snapshot {
    return new RecordSnapshot(this.store.snapshot());
  }

  /**
   * Has all keys in [from, to) removed in the background once the batch is durable, however long that
   * takes and over restarts. Nobody may write there any more.
   */
  scheduleRangeRemoval(batch: WriteBatch, from: Uint8Array, to: Uint8Array): void {
    this.#deletions.schedule(batch, from, to);
  }

  /** Goes on with scheduled removals; `open` and every durable `scheduleRangeRemoval` call it. */
  runDeletions(): void {
    this.#deletions.run();
  }

  /** Resolves when no removal is left to do; one that failed is tried again and counts as left. */
  deletionsIdle(): Promise<void> {
    return this.#deletions.idle();
  }

  /** Waits for what is in flight, leaves the clock where it is, and closes the store. */
  async close(): Promise<void> {
    if (this.#state !== "open") {
      return;
    }
    this.#state = "closing";
    await this.#deletions.stop();
    await this.settled();
    try {
      this.#state = "closed";
      await this.#submit({ batch: new WriteBatch() }, this.#timestamps.boundForClose());
    } catch (thrown) {
      // The reserve stays on disk: the clock may start some seconds ahead, no more.
      this.#logger?.warn({ err: thrown }, "Could not write the final state of the cell");
    }
    await this.store.close();
  }

  #lastSettled: Promise<void> = Promise.resolve();

  #submit(mutation: Mutation, bound: bigint): Promise<void> {
    const { batch } = mutation;
    const sequenceNumber = this.#sequenceNumber + 1n;
    try {
      batch.put(stateKey, encodeState({ epoch: this.#epoch, sequenceNumber, timestampBound: bound }));
      batch.sequenceNumber = sequenceNumber;
      batch.seal();
    } catch (thrown) {
      const error = toYtError(thrown);
      this.#runHook(() => mutation.onFailed?.(error));
      return Promise.reject(error);
    }
    this.#sequenceNumber = sequenceNumber;
    const promise = new Promise<void>((resolve, reject) => {
      const flight: InFlight = {
        mutation,
        sequenceNumber,
        bound,
        bytes: batch.byteSize,
        startMs: commitChannel.hasSubscribers ? this.clock.monotonic() : 0,
        resolve,
        reject,
      };
      this.#inFlight.add(flight);
      this.#pendingBytes += flight.bytes;
      this.metrics.queueLength = this.#inFlight.size;
      this.store.commit(batch).then(
        () => this.#onDurable(flight),
        (thrown) => this.#onFailed(flight, toYtError(thrown)),
      );
    });
    this.#lastSettled = promise.catch(() => {});
    return promise;
  }

  #onDurable(flight: InFlight): void {
    const [oldest] = this.#inFlight;
    assert(oldest === flight, "the store settled commits out of order");
    this.#inFlight.delete(flight);
    this.#pendingBytes -= flight.bytes;
    this.#durableSequenceNumber = flight.sequenceNumber;
    this.#timestamps.onDurable(flight.bound);
    this.metrics.commits += 1;
    this.metrics.bytes += flight.bytes;
    this.metrics.queueLength = this.#inFlight.size;
    this.#runHook(() => flight.mutation.onDurable?.());
    this.#deletions.onDurable(flight.mutation.batch);
    if (commitChannel.hasSubscribers) {
      commitChannel.publish({
        sequenceNumber: flight.sequenceNumber,
        bytes: flight.bytes,
        durationMs: this.clock.monotonic() - flight.startMs,
      });
    }
    flight.resolve();
  }

  /** The first failure takes back everything in flight: what is behind it was checked against it. */
  #onFailed(flight: InFlight, error: YtError): void {
    if (!this.#inFlight.has(flight)) {
      return;
    }
    const failed = [...this.#inFlight];
    assert(failed[0] === flight, "the store settled commits out of order");
    this.#inFlight.clear();
    this.#pendingBytes = 0;
    this.#sequenceNumber = this.#durableSequenceNumber;
    this.metrics.failedCommits += failed.length;
    this.metrics.queueLength = 0;
    this.#logger?.error({ err: error, mutations: failed.length }, "Commit failed");
    failureChannel.publish({ error, mutations: failed.length });
    for (const { mutation } of failed.toReversed()) {
      this.#runHook(() => mutation.onFailed?.(error));
    }
    for (const { reject } of failed) {
      reject(error);
    }
  }

  #extendBound(): Promise<void> {
    this.#extension ??= this.commit({ batch: new WriteBatch() }).finally(() => {
      this.#extension = undefined;
    });
    return this.#extension;
  }

  /** A hook that throws is a bug of its room; the pipeline goes on, as the other mutations are sound. */
  #runHook(hook: () => void): void {
    try {
      hook();
    } catch (thrown) {
      this.#logger?.error({ err: thrown }, "Commit hook failed");
      queueMicrotask(() => {
        throw thrown;
      });
    }
  }
}

/** Bytes in flight beyond which producers of mutations should wait (`Cell.pendingBytes`). */
export const highPendingBytes = 64 * limits.maxWriteBatchBytes;
