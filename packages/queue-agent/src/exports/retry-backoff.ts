/** Pauses after failures that grow. Specified in: yt/yt/core/misc/backoff_strategy.cpp. */
import type { Random } from "@qyt/base";
import type { RetryBackoff as RetryBackoffConfig } from "../config/dynamic-config.ts";

export class RetryBackoff {
  readonly #random: Random;
  #failures = 0;
  #backoffMs = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Failures since the last success. */
  get retryIndex(): number {
    return this.#failures;
  }

  /** The pause after the latest failure, in milliseconds; 0 without one. */
  get backoffMs(): number {
    return this.#backoffMs;
  }

  /** Counts one more failure. @returns the pause before the next try, in milliseconds */
  next(config: RetryBackoffConfig): number {
    const { minBackoffMs, maxBackoffMs, multiplier, jitter } = config;
    const pauseMs = Math.min(maxBackoffMs, minBackoffMs * multiplier ** this.#failures);
    this.#failures++;
    this.#backoffMs = pauseMs * (1 + jitter * (2 * this.#random.next() - 1));
    return this.#backoffMs;
  }

  restart(): void {
    this.#failures = 0;
    this.#backoffMs = 0;
  }
}
