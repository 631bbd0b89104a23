/** Work that is done again and again. Specified in: yt/yt/core/concurrency/periodic_executor.h, backoff_strategy.h. */
import type { Clock, Random, Timer } from "@qyt/base";

/** Periods are so much longer or shorter, so that many do not come at once. */
const jitter = 0.2;
const backoffMultiplier = 1.5;

export interface PeriodicOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** In milliseconds, as it is now. */
  readonly periodMs: () => number;
  /** Does the work. @returns whether it went well */
  readonly work: (signal: AbortSignal) => Promise<boolean>;
  /** The first pause after a failure; it grows up to the period. Default: the period. */
  readonly minBackoffMs?: number;
  /** Whether the first round is at once. Default: yes. */
  readonly isFirstAtOnce?: boolean;
}

export class Periodic {
  readonly #options: PeriodicOptions;
  readonly #abort = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #isAskedAgain = false;
  #isStarted = false;

  constructor(options: PeriodicOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isStarted) {
      return;
    }
    this.#isStarted = true;
    if (this.#options.isFirstAtOnce === false) {
      this.#schedule(this.#jittered(this.#options.periodMs()));
    } else {
      this.#run();
    }
  }

  /** Does a round now, or right after the one under way. */
  trigger(): void {
    if (!this.#isStarted || this.#abort.signal.aborted) {
      return;
    }
    if (this.#running !== undefined) {
      this.#isAskedAgain = true;
      return;
    }
    this.#run();
  }

  /** The period has changed: the next round comes when the new one says. */
  reschedule(): void {
    if (this.#timer !== undefined && this.#failures === 0) {
      this.#schedule(this.#jittered(this.#options.periodMs()));
    }
  }

  /** Ends it; what is under way is cancelled and waited for. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#abort.abort();
    await this.#running;
  }

  #run(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#running = this.#round();
  }

  async #round(): Promise<void> {
    const { signal } = this.#abort;
    const isWell = await this.#options.work(signal).catch(() => false);
    this.#running = undefined;
    if (signal.aborted) {
      return;
    }
    this.#failures = isWell ? 0 : this.#failures + 1;
    if (this.#isAskedAgain) {
      this.#isAskedAgain = false;
      this.#run();
      return;
    }
    this.#schedule(this.#pauseMs());
  }

  #pauseMs(): number {
    const periodMs = this.#options.periodMs();
    const { minBackoffMs } = this.#options;
    if (this.#failures === 0 || minBackoffMs === undefined) {
      return this.#jittered(periodMs);
    }
    const firstMs = Math.min(minBackoffMs, periodMs);
    return Math.min(periodMs, firstMs * backoffMultiplier ** (this.#failures - 1));
  }

  #jittered(periodMs: number): number {
    return periodMs * (1 + (this.#options.random.next() * 2 - 1) * jitter);
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#options.clock.after(delayMs, () => this.#run());
  }
}
