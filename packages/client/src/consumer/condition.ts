/** Waiting until something may have changed. */
import type { Clock } from "@qyt/base";

export class Condition {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Wakes all that wait now. */
  notify(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) {
      wake();
    }
  }

  /** Until the next `notify`, or for `limitMs` at most. */
  wait(limitMs?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = limitMs === undefined ? undefined : this.#clock.after(limitMs, resolve);
      this.#waiting.push(() => {
        timer?.cancel();
        resolve();
      });
    });
  }
}
