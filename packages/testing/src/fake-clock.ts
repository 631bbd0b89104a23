/** A clock that stands still until a test moves it. */
import type { Clock, Timer } from "@qyt/base";

interface FakeTimer extends Timer {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #order = 0;
  readonly #timers = new Set<FakeTimer>();

  /** @param startMs Unix time in milliseconds; default 2025-01-23T14:00:00Z */
  constructor(startMs = 1_737_640_800_000) {
    this.#wallMs = startMs;
  }

  now(): number {
    return this.#wallMs;
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  after(delayMs: number, callback: () => void): Timer {
    const timer: FakeTimer = {
      dueMs: this.#monotonicMs + Math.max(0, delayMs),
      order: this.#order++,
      callback,
      cancel: () => this.#timers.delete(timer),
    };
    this.#timers.add(timer);
    return timer;
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Moves the time of day alone, as an operator or NTP does. Timers do not see it. */
  setNow(unixMs: number): void {
    this.#wallMs = unixMs;
  }

  /**
   * Moves on by `ms`, running the timers that fall due in order, each at its own time. What they start is
   * given turns of the event loop before the next one runs, so timers that it sets count too.
   */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settle();
    for (let next = this.#nextDue(endMs); next !== undefined; next = this.#nextDue(endMs)) {
      this.#moveTo(next.dueMs);
      this.#timers.delete(next);
      next.callback();
      await settle();
    }
    this.#moveTo(endMs);
    await settle();
  }

  /** Advances in steps until the condition holds. @throws Error when it does not within `limitMs` */
  async advanceUntil(
    condition: () => boolean | Promise<boolean>,
    stepMs = 10,
    limitMs = 3_600_000,
  ): Promise<void> {
    for (let passedMs = 0; !(await condition()); passedMs += stepMs) {
      if (passedMs > limitMs) {
        throw new Error(`The condition did not come true within ${limitMs} ms of fake time`);
      }
      await this.advance(stepMs);
    }
  }

  #nextDue(limitMs: number): FakeTimer | undefined {
    let next: FakeTimer | undefined;
    for (const timer of this.#timers) {
      const isSooner =
        next === undefined ||
        timer.dueMs < next.dueMs ||
        (timer.dueMs === next.dueMs && timer.order < next.order);
      if (timer.dueMs <= limitMs && isSooner) {
        next = timer;
      }
    }
    return next;
  }

  #moveTo(monotonicMs: number): void {
    this.#wallMs += monotonicMs - this.#monotonicMs;
    this.#monotonicMs = monotonicMs;
  }
}

/** Lets everything that waits for no timer and no disk run to its end. */
export async function settle(turns = 3): Promise<void> {
  for (let i = 0; i < turns; ++i) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}
