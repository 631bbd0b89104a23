/**
 * Rates of a counter: immediate and averaged over a minute, an hour and a day.
 *
 * Specified in: yt/yt/core/misc/ema_counter-inl.h (TEmaCounter).
 */
import { mapOf, type YsonMap } from "@qyt/base";

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

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/**
 * The counter after it was seen at `count` at `nowMs` (Unix milliseconds). The first update only stores both;
 * a time not later than that of the latest update changes nothing; a count that fell counts as no progress.
 */
export function updateRateCounter(counter: RateCounter, count: number, nowMs: number): RateCounter {
  const { startTimeMs, lastTimeMs } = counter;
  if (startTimeMs === null || lastTimeMs === null) {
    return { ...emptyRateCounter, count, startTimeMs: nowMs, lastTimeMs: nowMs };
  }
  if (nowMs <= lastTimeMs) {
    return counter;
  }
  const passedMs = nowMs - lastTimeMs;
  const rate = Math.max(0, count - counter.count) / (passedMs / 1000);
  return {
    count,
    startTimeMs,
    lastTimeMs: nowMs,
    immediate: rate,
    perMinute: averaged(counter.perMinute, rate, passedMs, minuteMs),
    perHour: averaged(counter.perHour, rate, passedMs, hourMs),
    perDay: averaged(counter.perDay, rate, passedMs, dayMs),
  };
}

/**
 * The counter as it would be had it been updated with its own count until `untilMs`. Averages fall by time
 * alone, so that nobody has to do this at each of many passes that find nothing new.
 */
export function unchangedUntil(counter: RateCounter, untilMs: number): RateCounter {
  return counter.startTimeMs === null ? counter : updateRateCounter(counter, counter.count, untilMs);
}

/** Nothing changes it any more but time: `unchangedUntil` tells its later states. */
export function isSettled(counter: RateCounter): boolean {
  return counter.immediate === 0;
}

function averaged(previous: number, rate: number, passedMs: number, windowMs: number): number {
  if (previous === 0 && rate === 0) {
    return 0;
  }
  const weight = Math.exp(-passedMs / (windowMs / 2));
  return rate * (1 - weight) + previous * weight;
}

/** The counter of all parts: sums of counts and rates, with the latest of the start times and of the last times. */
export function aggregateRateCounters(parts: Iterable<RateCounter>): RateCounter {
  const sum = { ...emptyRateCounter };
  let startTimeMs: number | null = null;
  let lastTimeMs: number | null = null;
  for (const part of parts) {
    sum.count += part.count;
    sum.immediate += part.immediate;
    sum.perMinute += part.perMinute;
    sum.perHour += part.perHour;
    sum.perDay += part.perDay;
    startTimeMs = latest(startTimeMs, part.startTimeMs);
    lastTimeMs = latest(lastTimeMs, part.lastTimeMs);
  }
  return { ...sum, startTimeMs, lastTimeMs };
}

function latest(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.max(left, right);
}

/**
 * The five doubles of a status. An average over a window that the counter is too young for gives way to that
 * of the next shorter one.
 */
export function rateCounterToYson(counter: RateCounter, nowMs: number): YsonMap {
  const { startTimeMs } = counter;
  const isOlderThan = (windowMs: number): boolean => startTimeMs !== null && startTimeMs + windowMs <= nowMs;
  const minute = isOlderThan(minuteMs) ? counter.perMinute : counter.immediate;
  const hour = isOlderThan(hourMs) ? counter.perHour : minute;
  return mapOf({
    current: counter.immediate,
    "1m_raw": counter.perMinute,
    "1m": minute,
    "1h": hour,
    "1d": isOlderThan(dayMs) ? counter.perDay : hour,
  });
}
