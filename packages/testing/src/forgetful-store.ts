/**
 * A store that forgets what was not flushed, and fails where told: so a crash or a broken disk can be put
 * between any two writes. Each batch is one write to the durable store beneath.
 */
import { toYtError, YtError } from "@qyt/base";
import type { Entry, RangeOptions, Snapshot, Store, StoreMetrics, WriteBatch } from "@qyt/server";

interface Unflushed {
  readonly batch: WriteBatch;
  resolve(): void;
  reject(error: YtError): void;
}

export class ForgetfulStore implements Store {
  readonly #durable: Store;
  #unflushed: Unflushed[] = [];
  #isRunning = false;
  /** How many writes the held gate still lets through. */
  #allowed = Number.POSITIVE_INFINITY;
  #onAllowed: (() => void) | undefined;
  #failAtWrite: number | undefined;
  #failure: YtError | undefined;
  #refusal: YtError | undefined;
  #state: "open" | "closed" | "crashed" = "open";
  #idle: (() => void)[] = [];
  #writes = 0;
  #failedWrites = 0;
  #bytes = 0;

  /** @param durable what survives a crash, usually a `MemoryStore` */
  constructor(durable: Store) {
    this.#durable = durable;
  }

  get metrics(): StoreMetrics {
    return {
      flushes: this.#writes,
      failedFlushes: this.#failedWrites,
      batches: this.#writes,
      bytes: this.#bytes,
      queueLength: this.#unflushed.length,
    };
  }

  /** Writes so far, failed ones too. */
  get writeCount(): number {
    return this.#writes + this.#failedWrites;
  }

  /** Batches committed but not flushed. */
  get unflushedCount(): number {
    return this.#unflushed.length;
  }

  /** From now on nothing is flushed, until `release`: commits stay in flight. */
  hold(): void {
    this.#allowed = 0;
  }

  /** Flushes the next `count` batches, now or when they come; without a count, all of them. */
  release(count = Number.POSITIVE_INFINITY): void {
    this.#allowed += count;
    this.#onAllowed?.();
  }

  /** The n-th write from now (1 is the next) fails, and with it all that are queued behind it. */
  failAt(n: number, error: YtError = new YtError("Disk is broken")): void {
    this.#failAtWrite = this.writeCount + n;
    this.#failure = error;
  }

  /**
   * The process dies: what is not flushed is forgotten and its promises never settle. Returns the store
   * as the next process finds it.
   * @param flushed so many of the unflushed batches had reached the disk, unacknowledged
   */
  async crash(flushed = 0): Promise<ForgetfulStore> {
    this.#state = "crashed";
    const lost = this.#unflushed.splice(0);
    for (const { batch } of lost.slice(0, flushed)) {
      await this.#durable.commit(batch);
    }
    return new ForgetfulStore(this.#durable);
  }

  get(key: Uint8Array): Buffer | undefined {
    return this.#open().get(key);
  }

  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    return this.#open().range(from, to, options);
  }

  snapshot(): Snapshot {
    return this.#open().snapshot();
  }

  commit(batch: WriteBatch): Promise<void> {
    if (this.#state === "crashed") {
      return new Promise(() => {});
    }
    const refusal = this.#state === "closed" ? new YtError("Store is closed") : this.#refusal;
    if (refusal !== undefined) {
      return Promise.reject(refusal);
    }
    return new Promise((resolve, reject) => {
      this.#unflushed.push({ batch, resolve, reject });
      if (!this.#isRunning) {
        this.#isRunning = true;
        void this.#run();
      }
    });
  }

  async close(): Promise<void> {
    if (this.#isRunning) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
    if (this.#state === "open") {
      this.#state = "closed";
    }
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    for (let next = this.#unflushed[0]; next !== undefined; next = this.#unflushed[0]) {
      if (this.#allowed <= 0) {
        await new Promise<void>((resolve) => {
          this.#onAllowed = resolve;
        });
        continue;
      }
      this.#allowed -= 1;
      try {
        if (this.#failure !== undefined && this.writeCount + 1 === this.#failAtWrite) {
          throw this.#failure;
        }
        await this.#durable.commit(next.batch);
      } catch (thrown) {
        this.#fail(toYtError(thrown));
        continue;
      }
      if (this.#unflushed[0] !== next) {
        return;
      }
      this.#unflushed.shift();
      this.#writes += 1;
      this.#bytes += next.batch.byteSize;
      next.resolve();
    }
    this.#isRunning = false;
    for (const resolve of this.#idle.splice(0)) {
      resolve();
    }
  }

  #fail(error: YtError): void {
    this.#failedWrites += 1;
    this.#failAtWrite = undefined;
    this.#failure = undefined;
    this.#refusal = error;
    setImmediate(() => {
      this.#refusal = undefined;
    });
    for (const { reject } of this.#unflushed.splice(0)) {
      reject(error);
    }
  }

  #open(): Store {
    if (this.#state !== "open") {
      throw new YtError("Store is closed");
    }
    return this.#durable;
  }
}
