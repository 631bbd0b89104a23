/**
 * Keeps a transaction alive by pings, and says by the own clock until when that can be relied on. No
 * agreement of clocks between machines is needed.
 */
import { type Clock, sleep, toYtError, YtError } from "@qyt/base";

const pingsPerTimeout = 4;
/** A transaction is not trusted any more after this share of its timeout without an answered ping. */
const trustShare = 0.8;

export interface LeaseOptions {
  readonly transactionId: string;
  readonly clock: Clock;
  /** How long it lives without a ping, in milliseconds. */
  readonly timeoutMs: number;
  /** Monotonic time at which it was asked for. */
  readonly startMs: number;
  ping(signal: AbortSignal, timeoutMs: number): Promise<void>;
  onLost(error: YtError): void;
}

export class Lease {
  readonly #options: LeaseOptions;
  readonly #stop = new AbortController();
  readonly #ended: Promise<void>;
  /** Monotonic time of the start of the last ping that was answered. */
  #aliveMs: number;
  #isLost = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
    this.#aliveMs = options.startMs;
    this.#ended = this.#keep();
  }

  /** Whether the cluster still has it for certain. False at once after a pause of the process. */
  get isAlive(): boolean {
    const { clock, timeoutMs } = this.#options;
    return !this.#isLost && clock.monotonic() - this.#aliveMs < timeoutMs * trustShare;
  }

  /** Ends the pings. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  async #keep(): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    const { signal } = this.#stop;
    const periodMs = timeoutMs / pingsPerTimeout;
    let nextMs = this.#aliveMs + periodMs;
    while (!signal.aborted) {
      await sleep(clock, Math.max(0, nextMs - clock.monotonic()), signal).catch(() => {});
      if (signal.aborted) {
        return;
      }
      const startMs = clock.monotonic();
      const refusal = await this.#ping(signal, periodMs * 2);
      if (refusal === undefined) {
        this.#aliveMs = startMs;
      }
      if (!signal.aborted && (refusal?.has("NoSuchTransaction") === true || !this.isAlive)) {
        this.#lose(refusal);
        return;
      }
      nextMs = startMs + periodMs;
    }
  }

  async #ping(signal: AbortSignal, timeoutMs: number): Promise<YtError | undefined> {
    try {
      await this.#options.ping(signal, timeoutMs);
      return undefined;
    } catch (thrown) {
      return toYtError(thrown);
    }
  }

  #lose(refusal: YtError | undefined): void {
    this.#isLost = true;
    this.#options.onLost(lostTransaction(this.#options.transactionId, refusal));
  }
}

/** The error of work in a transaction that the cluster may have ended. */
export function lostTransaction(transactionId: string, refusal: YtError | undefined): YtError {
  return new YtError(
    `Transaction ${transactionId} is lost: it was not pinged in time, or it was aborted; do the work again in a new transaction`,
    {
      code: "NoSuchTransaction",
      attributes: { transaction_id: transactionId },
      ...(refusal === undefined ? {} : { inner: [refusal] }),
    },
  );
}
