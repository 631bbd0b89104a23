/** What the Orchid says of a periodic pass: whether it is done here, when, how often, and how it ended. */
import { type Clock, mapOf, type YsonMap, type YtError } from "@qyt/base";
import { errorOrNoneToYson } from "./error-or-none.ts";
import { instantFromMs } from "./snapshots/instants.ts";

export class PassStatus {
  readonly #clock: Clock;
  #isActive = false;
  #index = -1;
  #startMs = 0;
  #durationMs = 0;
  #totalDurationMs = 0;
  #endedCount = 0;
  #errorCount = 0;
  #error: YtError | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isActive(): boolean {
    return this.#isActive;
  }

  /** −1 before the first pass. */
  get index(): number {
    return this.#index;
  }

  get startMs(): number {
    return this.#startMs;
  }

  /** Of the last pass that ended, in milliseconds. */
  get durationMs(): number {
    return this.#durationMs;
  }

  /** Of all passes that ended, in milliseconds. */
  get totalDurationMs(): number {
    return this.#totalDurationMs;
  }

  get endedCount(): number {
    return this.#endedCount;
  }

  get errorCount(): number {
    return this.#errorCount;
  }

  get error(): YtError | null {
    return this.#error;
  }

  /** Another instance does the work. */
  rest(): void {
    this.#isActive = false;
    this.#error = null;
  }

  /** Runs the pass. @throws what it throws */
  async measure<T>(pass: () => Promise<T>): Promise<T> {
    this.#isActive = true;
    this.#index += 1;
    this.#startMs = this.#clock.now();
    const startMs = this.#clock.monotonic();
    try {
      const result = await pass();
      this.#error = null;
      return result;
    } finally {
      this.#durationMs = this.#clock.monotonic() - startMs;
      this.#totalDurationMs += this.#durationMs;
      this.#endedCount += 1;
    }
  }

  fail(error: YtError): void {
    this.#error = error;
    this.#errorCount += 1;
  }

  orchid(): YsonMap {
    return mapOf({
      active: this.#isActive,
      pass_instant: instantFromMs(this.#startMs),
      pass_index: BigInt(this.#index),
      pass_error: errorOrNoneToYson(this.#error),
    });
  }
}
