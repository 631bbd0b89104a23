/**
 * Group commit: all batches that wait while a flush is under way go together into the next one. Shared
 * by the stores, which differ only in how a group is flushed.
 */
import { toYtError, YtError } from "@qyt/base";
import type { StoreMetrics } from "./store.ts";
import type { WriteBatch } from "./write-batch.ts";

interface Waiting {
  readonly batch: WriteBatch;
  resolve(): void;
  reject(error: YtError): void;
}

export interface CommitQueueOptions {
  /** Makes the batches durable and visible, all or nothing. */
  flush(group: readonly WriteBatch[]): Promise<void>;
  /** Runs the callback soon; what comes until then joins the first group. Default: a microtask. */
  gather?(run: () => void): void;
  /** A group takes no further batch beyond this size, each entry counted as `entryCostBytes` more. */
  maxGroupBytes?: number;
}

/** Handing many small entries to the disk takes its time too. */
const entryCostBytes = 256;

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #isRunning = false;
  #isClosed = false;
  /** Set while callers have not yet heard of a failure: what they commit may build on what failed. */
  #failure: YtError | undefined;
  #idle: (() => void)[] = [];
  #inFlight = 0;
  #flushes = 0;
  #failedFlushes = 0;
  #batches = 0;
  #bytes = 0;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  get metrics(): StoreMetrics {
    return {
      flushes: this.#flushes,
      failedFlushes: this.#failedFlushes,
      batches: this.#batches,
      bytes: this.#bytes,
      queueLength: this.#waiting.length + this.#inFlight,
    };
  }

  commit(batch: WriteBatch): Promise<void> {
    if (this.#isClosed) {
      return Promise.reject(new YtError("Store is closed"));
    }
    if (this.#failure !== undefined) {
      return Promise.reject(this.#failure);
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ batch, resolve, reject });
      if (!this.#isRunning) {
        this.#isRunning = true;
        (this.#options.gather ?? queueMicrotask)(() => void this.#run());
      }
    });
  }

  /** Refuses further commits and waits for those under way. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#isRunning ? new Promise((resolve) => this.#idle.push(resolve)) : Promise.resolve();
  }

  /** Never rejects: failures go to the callers of `commit`. */
  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#takeGroup();
      this.#inFlight = group.length;
      try {
        await this.#options.flush(group.map((waiting) => waiting.batch));
        this.#countFlush(group);
        for (const waiting of group) {
          waiting.resolve();
        }
      } catch (thrown) {
        this.#fail(toYtError(thrown), group);
      }
      this.#inFlight = 0;
    }
    this.#isRunning = false;
    for (const resolve of this.#idle.splice(0)) {
      resolve();
    }
  }

  #takeGroup(): Waiting[] {
    const maxBytes = this.#options.maxGroupBytes ?? Number.POSITIVE_INFINITY;
    let bytes = 0;
    let count = 0;
    for (const { batch } of this.#waiting) {
      bytes += batch.byteSize + entryCostBytes * batch.entryCount;
      if (count > 0 && bytes > maxBytes) {
        break;
      }
      ++count;
    }
    return this.#waiting.splice(0, count);
  }

  #countFlush(group: readonly Waiting[]): void {
    this.#flushes += 1;
    this.#batches += group.length;
    for (const { batch } of group) {
      this.#bytes += batch.byteSize;
    }
  }

  #fail(error: YtError, group: readonly Waiting[]): void {
    this.#failedFlushes += 1;
    this.#failure = error;
    setImmediate(() => {
      this.#failure = undefined;
    });
    for (const waiting of [...group, ...this.#waiting.splice(0)]) {
      waiting.reject(error);
    }
  }
}
