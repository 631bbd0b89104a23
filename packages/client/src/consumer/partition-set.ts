/**
 * The partitions that a consumer reads now: who is next, how much is read ahead, and how batches of them are settled.
 */
import { type Clock, toYtError, YtError } from "@qyt/base";
import type { Transaction } from "../transactions/transaction.ts";
import { Batch, type BatchHost } from "./batch.ts";
import { Condition } from "./condition.ts";
import type { ConsumerEvent, RevokedEvent } from "./events.ts";
import type { MembershipHost } from "./membership.ts";
import { type Attempts, leaseLost, Partition, type ReadingHost } from "./partition.ts";
import type { QueueLink } from "./queue-link.ts";
import type { Settlement } from "./settlement.ts";

export interface PartitionSetOptions {
  readonly clock: Clock;
  readonly settlement: Settlement;
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly prefetchRows: number;
  readonly prefetchBytes: number;
  readonly waitTimeoutMs: number;
  readonly maxHandlerMs: number;
  emit(event: ConsumerEvent): void;
}

/** So many pulls wait at a time; with more partitions they take turns. Connections are left for other requests. */
const maxPulls = 24;
const waitInTurnsMs = 100;
const pauseAfterFailureMs = 500;
const pauseUntilFreshMs = 50;

export class PartitionSet implements ReadingHost, MembershipHost, BatchHost {
  readonly partitions = new Map<string, Partition>();
  readonly changed: Condition;
  readonly #options: PartitionSetOptions;
  readonly #work = new Set<Promise<void>>();
  readonly #givingBack = new Set<Promise<void>>();
  #pulls = 0;
  #isPaused: (partition: Partition) => boolean = () => false;

  constructor(options: PartitionSetOptions) {
    this.#options = options;
    this.changed = new Condition(options.clock);
  }

  get maxRows(): number {
    return this.#options.batchRows;
  }

  get maxBytes(): number {
    return this.#options.batchBytes;
  }

  now(): number {
    return this.#options.clock.monotonic();
  }

  emit(event: ConsumerEvent): void {
    this.#options.emit(event);
  }

  failed(what: string, thrown: unknown): void {
    this.emit({ type: "failed", what, error: toYtError(thrown) });
  }

  // Reading ahead

  hasRoom(): boolean {
    let rows = 0;
    let bytes = 0;
    for (const { buffer } of this.partitions.values()) {
      rows += buffer.rowCount;
      bytes += buffer.byteCount;
    }
    return rows < this.#options.prefetchRows && bytes < this.#options.prefetchBytes;
  }

  async enterPull(): Promise<{ readonly waitMs: number; leave(): void }> {
    while (this.#pulls >= maxPulls) {
      await this.changed.wait();
    }
    ++this.#pulls;
    const waitMs = this.partitions.size <= maxPulls ? this.#options.waitTimeoutMs : waitInTurnsMs;
    return {
      waitMs,
      leave: () => {
        if (this.#pulls-- >= maxPulls) {
          this.changed.notify();
        }
      },
    };
  }

  onGone(partition: Partition): void {
    this.drop(partition, "gone");
  }

  // Which partitions

  gain(
    at: { readonly link: QueueLink; readonly index: number },
    state: { readonly epoch: bigint | undefined; readonly offset: bigint; readonly attempts: Attempts },
  ): void {
    const partition = new Partition(this, at, state);
    partition.isPaused = this.#isPaused(partition);
    this.partitions.set(partition.key, partition);
    this.emit({ type: "assigned", ...partition.where, offset: state.offset });
    void this.track(partition.read());
    this.changed.notify();
  }

  drop(partition: Partition, reason: RevokedEvent["reason"]): void {
    if (!partition.isEnded) {
      partition.end();
      this.partitions.delete(partition.key);
      this.emit({ type: "revoked", ...partition.where, reason });
    }
  }

  setLeaving(partition: Partition, isLeaving: boolean): void {
    if (partition.isLeaving !== isLeaving) {
      partition.isLeaving = isLeaving;
      this.changed.notify();
    }
    if (isLeaving && !partition.isBusy) {
      void this.giveBack(partition);
    }
  }

  /** Gives a partition back of which nothing is out. */
  async giveBack(partition: Partition): Promise<void> {
    partition.isBusy = true;
    partition.interrupt();
    const done = this.track(this.#giveBack(partition));
    this.#givingBack.add(done);
    await done;
    this.#givingBack.delete(done);
  }

  /** Resolves when what was to be given back is, or could not be. */
  async givenBack(): Promise<void> {
    await Promise.all(this.#givingBack);
  }

  async #giveBack(partition: Partition): Promise<void> {
    try {
      await this.#options.settlement.giveBack(partition);
      this.drop(partition, "given back");
    } catch (thrown) {
      // Whether it is still ours is seen in the next round.
      partition.isBusy = false;
      this.failed(`give back partition ${partition.key}`, thrown);
    }
  }

  stalled(): readonly string[] {
    const stalled: string[] = [];
    for (const { key, outSinceMs } of this.partitions.values()) {
      if (outSinceMs !== undefined && this.now() - outSinceMs > this.#options.maxHandlerMs) {
        stalled.push(key);
      }
    }
    return stalled;
  }

  moved(partition: Partition, offset: bigint): void {
    this.emit({ type: "moved", ...partition.where, from: partition.committed, to: offset });
    partition.resetTo(offset);
  }

  /** Which partitions are paused, also of those that come later. */
  setPaused(isPaused: (partition: Partition) => boolean): void {
    this.#isPaused = isPaused;
    for (const partition of this.partitions.values()) {
      partition.isPaused = isPaused(partition);
      if (partition.isPaused) {
        partition.interrupt();
      }
    }
    this.changed.notify();
  }

  // Handing out

  /**
   * The next batch of any partition, the one that waits longest first.
   * @param mayGoOn false: nothing is handed out any more
   * @returns undefined when `mayGoOn` says so
   */
  async next(mayGoOn: () => boolean, isFresh: () => boolean): Promise<Batch | undefined> {
    while (mayGoOn()) {
      const mayHandOut = isFresh();
      const partition = mayHandOut ? this.#nextReady() : undefined;
      if (partition === undefined) {
        await this.changed.wait(mayHandOut ? this.#untilDueMs() : pauseUntilFreshMs);
        continue;
      }
      partition.isBusy = true;
      // Behind all others.
      this.partitions.delete(partition.key);
      this.partitions.set(partition.key, partition);
      const isReady = await this.#prepare(partition);
      if (isReady && !partition.isEnded && partition.buffer.rowCount > 0 && mayGoOn()) {
        const limit = Math.min(this.#options.batchRows, partition.sizeLimit);
        const taken = partition.buffer.take(limit, this.#options.batchBytes);
        partition.outSinceMs = this.now();
        this.changed.notify();
        return new Batch(this, partition, taken);
      }
      this.#free(partition);
    }
    return undefined;
  }

  async #prepare(partition: Partition): Promise<boolean> {
    try {
      return await this.#options.settlement.prepare(partition);
    } catch (thrown) {
      partition.notBeforeMs = this.now() + pauseAfterFailureMs;
      this.failed(`count an attempt of partition ${partition.key}`, thrown);
      return false;
    }
  }

  #nextReady(): Partition | undefined {
    const nowMs = this.now();
    const isSuspectOut = [...this.partitions.values()].some(
      (partition) => partition.isBusy && this.#isSuspect(partition),
    );
    for (const partition of this.partitions.values()) {
      const isHeldUp = partition.isBusy || partition.isPaused || partition.isLeaving;
      if (
        !isHeldUp &&
        partition.buffer.rowCount > 0 &&
        partition.notBeforeMs <= nowMs &&
        // If the process ends by such a row, the count must not fall on another one.
        !(isSuspectOut && this.#isSuspect(partition))
      ) {
        return partition;
      }
    }
    return undefined;
  }

  #isSuspect({ attempts }: Partition): boolean {
    return attempts.count > 0 && this.#options.settlement.countsAttempts;
  }

  #untilDueMs(): number {
    const nowMs = this.now();
    let dueMs = nowMs + 1_000;
    for (const { notBeforeMs } of this.partitions.values()) {
      dueMs = notBeforeMs > nowMs ? Math.min(dueMs, notBeforeMs) : dueMs;
    }
    return Math.max(1, dueMs - nowMs);
  }

  // Settling

  async commit(batch: Batch): Promise<void> {
    const { source, taken } = batch;
    await this.track(this.#settle(source, () => this.#options.settlement.commit(source, taken), batch));
  }

  async join(batch: Batch, tx: Transaction): Promise<void> {
    const { source, taken } = batch;
    if (source.isEnded) {
      throw leaseLost(source, "unknown");
    }
    void this.track(
      tx.ended.then(async (isCommitted) => {
        await this.#settle(
          source,
          async () => {
            if (!isCommitted) {
              throw new YtError(`Transaction ${tx.id} was not committed`);
            }
          },
          batch,
        ).catch(() => undefined);
      }),
    );
    await this.#options.settlement.join(source, taken, tx);
  }

  async fail(batch: Batch, thrown: unknown): Promise<void> {
    const { source, taken } = batch;
    try {
      if (!source.isEnded) {
        await this.track(this.#options.settlement.fail(source, taken, thrown));
      }
    } catch (refused) {
      await this.#recover(batch, refused);
    } finally {
      this.#free(source);
    }
  }

  release(batch: Batch): void {
    const { source, taken } = batch;
    if (!source.isEnded) {
      this.#options.settlement.release(source, taken);
    }
    this.#free(source);
  }

  /** Resolves when nothing that was begun is under way. */
  async idle(): Promise<void> {
    while (this.#work.size > 0) {
      await Promise.allSettled(this.#work);
    }
  }

  async track<T>(work: Promise<T>): Promise<T> {
    const done = work.then(
      () => undefined,
      () => undefined,
    );
    this.#work.add(done);
    try {
      return await work;
    } finally {
      this.#work.delete(done);
    }
  }

  async #settle(partition: Partition, work: () => Promise<void>, batch: Batch): Promise<void> {
    try {
      if (partition.isEnded) {
        throw leaseLost(partition, "unknown");
      }
      await work();
      this.#options.settlement.succeeded(partition, batch.taken);
    } catch (thrown) {
      if (!(await this.#recover(batch, thrown))) {
        throw thrown;
      }
    } finally {
      this.#free(partition);
    }
  }

  /** After a failed commit the store says what is so. @returns whether the offset has advanced after all */
  async #recover(batch: Batch, thrown: unknown): Promise<boolean> {
    const { source, taken } = batch;
    if (source.isEnded) {
      return false;
    }
    ++source.version;
    try {
      const { offset, owner } = await this.#options.settlement.stored(source);
      if (owner !== undefined) {
        this.drop(source, "taken over");
      } else if (offset === taken.nextOffset) {
        this.#options.settlement.succeeded(source, taken);
        return true;
      } else if (offset !== taken.offset) {
        this.moved(source, offset);
      } else if (batch.failure !== undefined) {
        await this.#options.settlement.fail(source, taken, batch.failure.thrown);
      } else if (source.buffer.position === taken.nextOffset) {
        source.notBeforeMs = this.now() + pauseAfterFailureMs;
        this.#options.settlement.release(source, taken);
      }
    } catch (refused) {
      this.failed(
        `find out the offset of partition ${source.key} after: ${toYtError(thrown).message}`,
        refused,
      );
      source.notBeforeMs = this.now() + pauseAfterFailureMs;
      source.resetTo(taken.offset);
    }
    return false;
  }

  #free(partition: Partition): void {
    partition.isBusy = false;
    partition.outSinceMs = undefined;
    if (partition.isLeaving && !partition.isEnded) {
      void this.giveBack(partition);
    }
    this.changed.notify();
  }
}
