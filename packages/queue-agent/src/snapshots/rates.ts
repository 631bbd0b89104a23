/**
 * Rates of a counter: immediate and averaged over a minute, an hour and a day.
 *
 * Specified in: yt/yt/core/misc/ema_counter-inl.h (TEmaCounter).
 */

/** A counter that never changes; an update makes the next one. */
export interface RateCounter {
  readonly count: number;
  /** Unix milliseconds of the first and the latest update; `null`: none yet. */
  readonly startTimeMs: number | null;
  readonly lastTimeMs: number | null;
  /** Units a second. */
  readonly immediate: number;
  readonly perMinute: number;
  readonly perHour: number;
  readonly perDay: number;
}

export const emptyRateCounter: RateCounter = {
  count: 0,
  startTimeMs: null,
  lastTimeMs: null,
  immediate: 0,
  perMinute: 0,
  perHour: 0,
  perDay: 0,
};
