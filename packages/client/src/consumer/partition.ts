/** One partition that a consumer reads: its rows read ahead, what is out with a handler, and what it waits for. */
import { sleep, toYtError, YtError } from "@qyt/base";
import type { Condition } from "./condition.ts";
import type { ConsumerEvent } from "./events.ts";
import { partitionKey } from "./group-table.ts";
import type { QueueLink } from "./queue-link.ts";
import { indexOf, RowBuffer } from "./row-buffer.ts";

/** How often the row at the offset was tried alone, and how that ended. */
export interface Attempts {
  readonly count: number;
  readonly error: string;
}

export const noAttempts: Attempts = { count: 0, error: "" };

/** What the partitions of one consumer share. */
export interface ReadingHost {
  readonly changed: Condition;
  readonly maxRows: number;
  readonly maxBytes: number;
  /** Whether there is room to read ahead. */
  hasRoom(): boolean;
  /** A place for a pull that may wait, and how long it may wait, in milliseconds. */
  enterPull(): Promise<{ readonly waitMs: number; leave(): void }>;
  emit(event: ConsumerEvent): void;
  /** The partition is no more in the queue. */
  onGone(partition: Partition): void;
}

const pauseAfterFailureMs = 500;

export class Partition {
  readonly link: QueueLink;
  readonly index: number;
  readonly key: string;
  /** Of the lease; absent where there is no group. */
  readonly epoch: bigint | undefined;
  readonly buffer: RowBuffer;
  /** Aborts when it is read by this consumer no more. */
  readonly ended = new AbortController();
  /** The stored offset. */
  committed: bigint;
  attempts: Attempts;
  /** Whether `attempts` has the one that is under way. */
  isCountedAhead = false;
  /** Rows of the next batch at most: 1 after a failure, twice as many after each success. */
  sizeLimit = Number.POSITIVE_INFINITY;
  isPaused = false;
  /** To be given back as soon as nothing is out. */
  isLeaving = false;
  /** Rows are with a handler, or a change of the stored state is under way. */
  isBusy = false;
  /** Monotonic time at which its batch was handed out; absent: none is out. */
  outSinceMs: number | undefined;
  /** Monotonic time before which nothing is handed out, after a failure. */
  notBeforeMs = 0;
  /** Counts what may change the stored offset by this consumer itself. */
  version = 0;
  readonly #host: ReadingHost;
  #pull = new AbortController();
  #generation = 0;

  constructor(
    host: ReadingHost,
    at: { readonly link: QueueLink; readonly index: number },
    state: { readonly epoch: bigint | undefined; readonly offset: bigint; readonly attempts: Attempts },
  ) {
    this.#host = host;
    this.link = at.link;
    this.index = at.index;
    this.key = partitionKey(at.link.key, at.index);
    this.epoch = state.epoch;
    this.committed = state.offset;
    this.attempts = state.attempts;
    if (state.attempts.count > 0) {
      this.sizeLimit = 1;
    }
    this.buffer = new RowBuffer(state.offset);
  }

  get isEnded(): boolean {
    return this.ended.signal.aborted;
  }

  /** For events. */
  get where(): { readonly queue: string; readonly cluster: string; readonly partition: number } {
    return { queue: this.link.queuePath, cluster: this.link.queueCluster, partition: this.index };
  }

  /** Goes on at another offset; what was read ahead is dropped. */
  resetTo(offset: bigint): void {
    ++this.#generation;
    this.#pull.abort();
    this.committed = offset;
    this.attempts = noAttempts;
    this.isCountedAhead = false;
    this.buffer.reset(offset);
    this.#host.changed.notify();
  }

  /** Reads no more. */
  end(): void {
    this.ended.abort();
    this.#pull.abort();
    this.buffer.reset(this.committed);
    this.#host.changed.notify();
  }

  /** Reads ahead until its end. */
  async read(): Promise<void> {
    while (!this.isEnded) {
      const wantsRows =
        !this.isPaused && !this.isLeaving && (this.buffer.rowCount === 0 || this.#host.hasRoom());
      if (!wantsRows) {
        await this.#host.changed.wait();
        continue;
      }
      const place = await this.#host.enterPull();
      try {
        await this.#pullOnce(place.waitMs);
      } finally {
        place.leave();
      }
    }
  }

  /** Ends a pull that waits for rows which are not wanted now. */
  interrupt(): void {
    this.#pull.abort();
  }

  async #pullOnce(waitMs: number): Promise<void> {
    if (this.isEnded) {
      return;
    }
    const generation = this.#generation;
    const from = this.buffer.end;
    const pull = new AbortController();
    this.#pull = pull;
    try {
      const { rows } = await this.link.pull(this.index, from, {
        maxRowCount: BigInt(this.#host.maxRows),
        maxDataWeight: BigInt(this.#host.maxBytes),
        waitTimeoutMs: waitMs,
        signal: pull.signal,
      });
      const [first] = rows;
      if (generation !== this.#generation || first === undefined || this.isEnded) {
        return;
      }
      if (indexOf(first) > from) {
        this.#host.emit({ type: "skipped", ...this.where, from, to: indexOf(first) });
      }
      this.buffer.push(rows);
      this.#host.changed.notify();
    } catch (thrown) {
      if (pull.signal.aborted) {
        return;
      }
      const error = toYtError(thrown);
      if (error.has("NoSuchTablet")) {
        this.#host.onGone(this);
        return;
      }
      this.#host.emit({ type: "failed", what: `read partition ${this.key}`, error });
      await sleep(this.link.client.requester.options.clock, pauseAfterFailureMs, this.ended.signal).catch(
        () => undefined,
      );
    }
  }
}

/** The error of a commit by a reader that was replaced. */
export function leaseLost(partition: Partition, owner: string): YtError {
  return new YtError(
    `Partition ${partition.key} was taken over by member "${owner}" of the group; drop the batch, its rows are handled there`,
    { code: "ZombieEpoch", attributes: { partition: partition.key, owner } },
  );
}
