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
  #waiting = 0;

  constructor(context: { readonly clock: Clock; readonly config: () => DynamicConfig }) {
    this.#clock = context.clock;
    this.#config = context.config;
  }

  /** Tasks that wait for their turn now. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Resolves when one more task may start. @throws the signal's reason when it aborts first */
  async acquire(signal: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonic();
    const slotMs = Math.max(nowMs, this.#nextSlotMs);
    this.#nextSlotMs = slotMs + 1_000 / Math.max(this.#config().agent.exportRateLimit, minRatePerSecond);
    this.#waiting++;
    try {
      if (slotMs > nowMs) {
        await sleep(this.#clock, slotMs - nowMs, signal);
      }
      signal.throwIfAborted();
    } finally {
      this.#waiting--;
    }
  }
}
