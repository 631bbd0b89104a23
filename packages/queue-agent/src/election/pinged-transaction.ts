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
  #isLost = false;

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
      !this.#isLost &&
      !this.#abort.signal.aborted &&
      clock.monotonic() - this.#aliveMs < timeoutMs * trustShare
    );
  }

  /** Resolves when it is lost or closed, or the signal aborts. */
  async endedOr(signal: AbortSignal): Promise<void> {
    const aborted = new Promise<void>((resolve) => {
      if (signal.aborted) {
        resolve();
      }
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    await Promise.race([this.#ended, aborted]);
  }

  /** Aborts it on the cluster, if that answers, and stops to ping it. */
  async close(): Promise<void> {
    this.#abort.abort();
    await this.#ended;
    if (!this.#isLost) {
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
          this.#isLost = true;
          return;
        }
      }
      if (!signal.aborted && !this.isAlive) {
        this.#isLost = true;
        return;
      }
      const restMs = Math.max(0, startMs + periodMs - clock.monotonic());
      await sleep(clock, restMs, signal).catch(() => {});
    }
  }
}
