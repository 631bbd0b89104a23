/**
 * A master transaction that lives as long as its owner: pinged on time, and given up, by the owner's own
 * clock, before the cluster can have ended it. No agreement of clocks between machines is needed.
 */
import { type Clock, sleep, toYtError, type YsonMap } from "@qyt/base";
import type { YtClient } from "@qyt/client";

export interface PingedTransactionOptions {
  readonly client: YtClient;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly attributes: YsonMap;
}

const pingsPerTimeout = 4;
/** The owner stops to trust a transaction after this share of its timeout without an answered ping. */
const trustShare = 0.8;

export class PingedTransaction {
  readonly id: string;
  readonly #options: PingedTransactionOptions;
  readonly #abort = new AbortController();
  readonly #ended: Promise<void>;
  /** Monotonic time of the start of the last ping that was answered. */
  #aliveMs: number;
  /** Committed, or lost: there is nothing to abort any more. */
  #isOver = false;

  private constructor(id: string, startMs: number, options: PingedTransactionOptions) {
    this.id = id;
    this.#options = options;
    this.#aliveMs = startMs;
    this.#ended = this.#keep();
  }

  /** @throws YtError when it cannot be started */
  static async start(options: PingedTransactionOptions, signal: AbortSignal): Promise<PingedTransaction> {
    const startMs = options.clock.monotonic();
    const id = await options.client.startTransaction({
      transactionTimeoutMs: options.timeoutMs,
      attributes: options.attributes,
      signal,
    });
    return new PingedTransaction(id, startMs, options);
  }

  /** Whether the cluster still has it for certain. False at once after a pause of the process. */
  get isAlive(): boolean {
    const { clock, timeoutMs } = this.#options;
    return (
      !this.#isOver &&
      !this.#abort.signal.aborted &&
      clock.monotonic() - this.#aliveMs < timeoutMs * trustShare
    );
  }

  /** Resolves when it is lost or closed, or the signal aborts. */
  async endedOr(signal: AbortSignal): Promise<void> {
    let onAbort = (): void => {};
    const aborted = new Promise<void>((resolve) => {
      onAbort = resolve;
    });
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
    }
    await Promise.race([this.#ended, aborted]);
    // The signal may live as long as the process, which has many transactions.
    signal.removeEventListener("abort", onAbort);
  }

  /**
   * Commits it; it is pinged until the cluster answers.
   * @throws YtError of the commit: then it is unknown whether it was made, and `close` is still to be called
   */
  async commit(signal: AbortSignal): Promise<void> {
    await this.#options.client.commitTransaction(this.id, { signal });
    this.#isOver = true;
    await this.close();
  }

  /** Aborts it on the cluster, if that answers and it is not committed, and stops to ping it. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
    if (!this.#isOver) {
      const { client, timeoutMs } = this.#options;
      await client.abortTransaction(this.id, { timeoutMs }).catch(() => {});
    }
  }

  async #keep(): Promise<void> {
    const { client, clock, timeoutMs } = this.#options;
    const { signal } = this.#abort;
    const periodMs = timeoutMs / pingsPerTimeout;
    while (!signal.aborted) {
      const startMs = clock.monotonic();
      try {
        await client.pingTransaction(this.id, { signal, timeoutMs: periodMs * 2 });
        this.#aliveMs = startMs;
      } catch (thrown) {
        if (toYtError(thrown).has("NoSuchTransaction")) {
          this.#isOver = true;
          return;
        }
      }
      if (!signal.aborted && !this.isAlive) {
        this.#isOver = true;
        return;
      }
      const restMs = Math.max(0, startMs + periodMs - clock.monotonic());
      await sleep(clock, restMs, signal).catch(() => {});
    }
  }
}
