/**
 * The limiter of export tasks that all exporters of one instance share, so that many exports due at the same
 * second do not fall upon the cluster at once.
 *
 * Specified in: yt/yt/server/queue_agent/queue_export_manager.cpp.
 */
import { type Clock, sleep } from "@qyt/base";
import type { DynamicConfig } from "../config/dynamic-config.ts";
import { PassTotals } from "../pass-totals.ts";

/** Keeps the division finite whatever the configuration says. */
const minRatePerSecond = 0.001;

export class ExportManager {
  /** Of the tasks of all exporters. */
  readonly passes = new PassTotals();
  readonly #clock: Clock;
  readonly #config: () => DynamicConfig;
  #nextSlotMs = 0;
  /** Resolves when the task that came last has its turn, or has been stopped, and all before it have. */
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(context: { readonly clock: Clock; readonly config: () => DynamicConfig }) {
    this.#clock = context.clock;
    this.#config = context.config;
  }

  /** Tasks that wait for their turn now. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Resolves when one more task may start. Tasks start in the order in which they came; one that is stopped
   * while it waits takes nothing of the rate.
   * @throws the signal's reason when it aborts first
   */
  async acquire(signal: AbortSignal): Promise<void> {
    const before = this.#last;
    let goOn = (): void => {};
    this.#last = new Promise((resolve) => {
      goOn = resolve;
    });
    this.#waiting++;
    try {
      await unlessAborted(before, signal);
      const nowMs = this.#clock.monotonic();
      const slotMs = Math.max(nowMs, this.#nextSlotMs);
      if (slotMs > nowMs) {
        await sleep(this.#clock, slotMs - nowMs, signal);
      }
      this.#nextSlotMs = slotMs + 1_000 / Math.max(this.#config().agent.exportRateLimit, minRatePerSecond);
    } finally {
      this.#waiting--;
      // The next one is behind all that are before this one, too.
      void before.then(goOn);
    }
  }
}

function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) {
      onAbort();
      return;
    }
    signal.addEventListener("abort", onAbort, { once: true });
    void work.then(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
