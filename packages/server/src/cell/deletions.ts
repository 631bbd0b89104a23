/**
 * Background removal of key ranges, in slices, so that dropping a chunk of a million records never
 * stops the process. What is to be removed is recorded in the batch that made it garbage; a restart
 * goes on with it. The keys already gone are the progress, so none is recorded.
 */
import { type Clock, sleep } from "@qyt/base";
import { keyspace, prefixRange, readSafeU64be, storeKey, u16be, u64be } from "./keyspace.ts";
import type { Reader } from "./store.ts";
import { WriteBatch } from "./write-batch.ts";

export interface DeletionOptions {
  /** Records removed in one commit. Default: 1,000. */
  readonly sliceRecords?: number;
  /** Pause after each slice, in milliseconds. Default: 1. */
  readonly pauseMs?: number;
  /** Pause after a failed commit, in milliseconds. Default: 1,000. */
  readonly retryMs?: number;
}

/** What of the cell is used here. */
interface DeletionHost extends Reader {
  readonly clock: Clock;
  readonly metrics: { rangeRemovals: number; removedRecords: number };
  commit(mutation: { batch: WriteBatch }): Promise<void>;
}

interface Removal {
  readonly registryKey: Buffer;
  readonly from: Buffer;
  readonly to: Buffer;
}

const registry = prefixRange(storeKey(keyspace.deletions));

export class RangeDeletions {
  readonly #host: DeletionHost;
  readonly #sliceRecords: number;
  readonly #pauseMs: number;
  readonly #retryMs: number;
  readonly #logger: { error(fields: object, message: string): void } | undefined;
  /** Batches that carry a registration. */
  readonly #scheduled = new WeakSet<WriteBatch>();
  readonly #stop = new AbortController();
  #nextId: number;
  #running: Promise<void> | undefined;
  #hasWork = false;

  constructor(
    host: DeletionHost,
    options: DeletionOptions,
    logger: { error(fields: object, message: string): void } | undefined,
  ) {
    this.#host = host;
    this.#sliceRecords = options.sliceRecords ?? 1000;
    this.#pauseMs = options.pauseMs ?? 1;
    this.#retryMs = options.retryMs ?? 1000;
    this.#logger = logger;
    const [last] = host.range(registry.from, registry.to, { reverse: true, limit: 1 });
    this.#nextId = last === undefined ? 0 : readSafeU64be(last.key, 1) + 1;
  }

  schedule(batch: WriteBatch, from: Uint8Array, to: Uint8Array): void {
    batch.put(
      storeKey(keyspace.deletions, u64be(this.#nextId++)),
      Buffer.concat([u16be(from.length), from, to]),
    );
    this.#scheduled.add(batch);
  }

  /** Starts the removals that a durable batch registered. */
  onDurable(batch: WriteBatch): void {
    if (this.#scheduled.has(batch)) {
      this.run();
    }
  }

  run(): void {
    this.#hasWork = true;
    this.#running ??= this.#work().finally(() => {
      this.#running = undefined;
    });
  }

  idle(): Promise<void> {
    return this.#running ?? Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Never rejects: a failed commit is tried again later. */
  async #work(): Promise<void> {
    const { signal } = this.#stop;
    while (this.#hasWork && !signal.aborted) {
      this.#hasWork = false;
      while (!signal.aborted) {
        let pauseMs = this.#pauseMs;
        try {
          const removal = this.#first();
          if (removal === undefined) {
            break;
          }
          await this.#removeSlice(removal);
        } catch (thrown) {
          this.#logger?.error({ err: thrown }, "Background removal failed, it is tried again");
          pauseMs = this.#retryMs;
        }
        await sleep(this.#host.clock, pauseMs, signal).catch(() => {});
      }
    }
  }

  #first(): Removal | undefined {
    for (const { key, value } of this.#host.range(registry.from, registry.to, { limit: 1 })) {
      const fromLength = value.readUInt16BE(0);
      return {
        registryKey: key,
        from: value.subarray(2, 2 + fromLength),
        to: value.subarray(2 + fromLength),
      };
    }
    return undefined;
  }

  /** Removes up to a slice of the records, and the registration with the last of them. */
  async #removeSlice(removal: Removal): Promise<void> {
    const batch = new WriteBatch();
    let count = 0;
    const options = { limit: this.#sliceRecords, keysOnly: true };
    for (const { key } of this.#host.range(removal.from, removal.to, options)) {
      batch.remove(key);
      ++count;
    }
    const isLast = count < this.#sliceRecords;
    if (isLast) {
      batch.remove(removal.registryKey);
    }
    await this.#host.commit({ batch });
    this.#host.metrics.removedRecords += count;
    this.#host.metrics.rangeRemovals += isLast ? 1 : 0;
  }
}
