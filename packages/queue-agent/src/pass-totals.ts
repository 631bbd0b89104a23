/** How many passes of one kind there were, for metrics: of all objects together. */

export class PassTotals {
  #count = 0;
  #errorCount = 0;
  #startMs = 0;
  #durationMs = 0;

  /** Passes that have ended. */
  get count(): number {
    return this.#count;
  }

  /** Of them, those that failed. */
  get errorCount(): number {
    return this.#errorCount;
  }

  /** Unix milliseconds of the start of the latest one; 0: there was none. */
  get startMs(): number {
    return this.#startMs;
  }

  /** Of all passes that have ended, in milliseconds. */
  get durationMs(): number {
    return this.#durationMs;
  }

  /** @param startMs Unix milliseconds */
  record(startMs: number, durationMs: number, hasFailed: boolean): void {
    this.#count += 1;
    this.#startMs = Math.max(this.#startMs, startMs);
    this.#durationMs += durationMs;
    if (hasFailed) {
      this.#errorCount += 1;
    }
  }
}
