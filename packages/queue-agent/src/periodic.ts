/**
 * Runs work again and again, one run at a time. The period is asked for fresh, so that a change of the
 * configuration holds for the pause under way too.
 *
 * Specified in: yt/yt/core/concurrency/periodic_executor.cpp. Unlike there, a period runs from start to start.
 */
import { type Clock, type Random, sleep, toYtError, type YtError } from "@qyt/base";

export interface PeriodicOptions {
  readonly clock: Clock;
  /** Milliseconds from the start of a run to the start of the next one. */
  readonly periodMs: () => number;
  /** Ends early when the signal aborts. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** What a run threw; not called for what was thrown because of `stop`. */
  readonly onError: (error: YtError) => void;
  /** The first run comes after a random part of so many milliseconds, that many executors do not run at once. */
  readonly splayMs?: number;
  readonly random?: Random;
}

/** A pause is slept in pieces of so many milliseconds; after each the period is asked for again. */
const maxSleepMs = 250;
/** A run longer than its period is followed by a pause of this share of the period, for others. */
const minRestShare = 0.1;

export class PeriodicExecutor {
  readonly #options: PeriodicOptions;
  #abort: AbortController | undefined;
  /** Nothing runs between `stop` and the next `start`. */
  #isStopped = false;
  #loop: Promise<void> = Promise.resolve();
  #running: Promise<void> = Promise.resolve();

  constructor(options: PeriodicOptions) {
    this.#options = options;
  }

  get isStarted(): boolean {
    return this.#abort !== undefined;
  }

  /** Does nothing when it is started already. */
  start(): void {
    if (this.#abort === undefined) {
      this.#isStopped = false;
      this.#abort = new AbortController();
      this.#loop = this.#loop.then(() => this.#repeat(this.#abort?.signal ?? AbortSignal.abort()));
    }
  }

  /** Aborts the run under way and resolves when it has ended. May be started again. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#abort?.abort();
    this.#abort = undefined;
    await Promise.all([this.#loop, this.#running]);
  }

  /**
   * One more run, behind the one under way; `start` is not needed, but after `stop` there is none. Never rejects:
   * see `onError`.
   */
  runOnce(signal: AbortSignal = this.#abort?.signal ?? new AbortController().signal): Promise<void> {
    this.#running = this.#running.then(() => this.#runOne(signal));
    return this.#running;
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    const { clock, splayMs = 0, random, periodMs } = this.#options;
    try {
      if (splayMs > 0) {
        await sleep(clock, (random?.next() ?? 0) * splayMs, signal);
      }
      while (!signal.aborted) {
        const startMs = clock.monotonic();
        await this.runOnce(signal);
        const endMs = clock.monotonic();
        const dueMs = (): number =>
          Math.max(startMs + periodMs(), endMs + periodMs() * minRestShare) - clock.monotonic();
        for (let leftMs = dueMs(); leftMs > 0; leftMs = dueMs()) {
          await sleep(clock, Math.min(leftMs, maxSleepMs), signal);
        }
      }
    } catch (thrown) {
      if (!signal.aborted) {
        throw thrown;
      }
    }
  }

  async #runOne(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#isStopped) {
      return;
    }
    try {
      await this.#options.run(signal);
    } catch (thrown) {
      if (!signal.aborted) {
        this.#options.onError(toYtError(thrown));
      }
    }
  }
}
