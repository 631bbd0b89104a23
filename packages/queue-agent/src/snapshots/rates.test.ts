/** Rates: first update, averages, what is shown to whom of which age, sums. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  aggregateRateCounters,
  emptyRateCounter,
  type RateCounter,
  rateCounterToYson,
  updateRateCounter,
} from "./rates.ts";

const startMs = 1_737_640_800_000;

function after(...updates: readonly (readonly [count: number, atMs: number])[]): RateCounter {
  return updates.reduce(
    (counter, [count, atMs]) => updateRateCounter(counter, count, startMs + atMs),
    emptyRateCounter,
  );
}

function shown(counter: RateCounter, atMs: number): Record<string, unknown> {
  return Object.fromEntries(rateCounterToYson(counter, startMs + atMs));
}

const zeros = { current: 0, "1m_raw": 0, "1m": 0, "1h": 0, "1d": 0 };

test("the first update stores the count; all rates are 0", () => {
  expect(shown(after([1_000_000, 0]), 0)).toEqual(zeros);
  expect(shown(emptyRateCounter, 0)).toEqual(zeros);
});

test("100 in one second: the example of the specification", () => {
  const rates = shown(after([0, 0], [100, 1000]), 1000);
  expect(rates).toEqual({
    current: 100,
    "1m_raw": 100 * (1 - Math.exp(-1 / 30)),
    "1m": 100,
    "1h": 100,
    "1d": 100,
  });
  expect(rates["1m_raw"]).toBeCloseTo(3.278, 3);
});

test("an update that is not later than the last one changes nothing", () => {
  const counter = after([0, 0], [100, 1000]);
  expect(updateRateCounter(counter, 500, startMs + 1000)).toBe(counter);
  expect(updateRateCounter(counter, 500, startMs + 10)).toBe(counter);
});

test("a count that falls, as of a queue made anew, is no negative rate", () => {
  expect(shown(after([100, 0], [0, 1000], [7, 2000]), 2000)["current"]).toBe(7);
  expect(shown(after([100, 0], [0, 1000]), 1000)).toEqual(zeros);
});

test("a window shows its own average only once the counter is as old as the window", () => {
  const counter = after([0, 0], [600, 60_000]);
  expect(shown(counter, 59_999)["1m"]).toBe(counter.immediate);
  expect(shown(counter, 60_000)["1m"]).toBe(counter.perMinute);
  expect(shown(counter, 60_000)["1h"]).toBe(counter.perMinute);
  expect(shown(counter, 3_599_999)["1h"]).toBe(counter.perMinute);
  expect(shown(counter, 3_600_000)["1h"]).toBe(counter.perHour);
  expect(shown(counter, 86_399_999)["1d"]).toBe(counter.perHour);
  expect(shown(counter, 86_400_000)["1d"]).toBe(counter.perDay);
});

const steps = fc.array(
  fc.record({ by: fc.integer({ min: 0, max: 1_000_000 }), afterMs: fc.integer({ min: 1, max: 3_600_000 }) }),
  { minLength: 1, maxLength: 30 },
);

function run(list: readonly { readonly by: number; readonly afterMs: number }[]): readonly RateCounter[] {
  let counter = updateRateCounter(emptyRateCounter, 0, startMs);
  let nowMs = startMs;
  const counters: RateCounter[] = [];
  for (const { by, afterMs } of list) {
    nowMs += afterMs;
    counter = updateRateCounter(counter, counter.count + by, nowMs);
    counters.push(counter);
  }
  return counters;
}

test("an average lies between 0 and the largest rate seen, and a longer window moves less", () => {
  fc.assert(
    fc.property(steps, (list) => {
      let largest = 0;
      let before: RateCounter = emptyRateCounter;
      for (const counter of run(list)) {
        largest = Math.max(largest, counter.immediate);
        for (const rate of [counter.perMinute, counter.perHour, counter.perDay]) {
          expect(rate).toBeGreaterThanOrEqual(0);
          expect(rate).toBeLessThanOrEqual(largest * (1 + 1e-9));
        }
        if (before === emptyRateCounter) {
          expect(counter.perHour).toBeLessThanOrEqual(counter.perMinute);
          expect(counter.perDay).toBeLessThanOrEqual(counter.perHour);
        }
        before = counter;
      }
    }),
  );
});

test("a constant rate is what every average tends to, however the updates lie", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 50 }), (pauses) => {
      let counter = updateRateCounter(emptyRateCounter, 0, startMs);
      let nowMs = startMs;
      for (const pause of pauses) {
        nowMs += pause;
        counter = updateRateCounter(counter, (nowMs - startMs) / 100, nowMs);
      }
      // Only the time that has passed counts, not how many updates it was cut into.
      const share = 1 - Math.exp(-(nowMs - startMs) / 30_000);
      expect(counter.perMinute).toBeCloseTo(10 * share, 6);
    }),
  );
});

test("a sum is the sum of its parts, whatever their order, and as young as the youngest", () => {
  fc.assert(
    fc.property(fc.array(steps, { minLength: 1, maxLength: 5 }), (lists) => {
      const parts = lists.map((list) => run(list).at(-1) ?? emptyRateCounter);
      const sum = aggregateRateCounters(parts);
      expect(sum.count).toBe(parts.reduce((total, { count }) => total + count, 0));
      expect(sum.perMinute).toBeCloseTo(
        parts.reduce((total, { perMinute }) => total + perMinute, 0),
        6,
      );
      expect(sum.lastTimeMs).toBe(Math.max(...parts.map(({ lastTimeMs }) => lastTimeMs ?? 0)));
      expect(aggregateRateCounters([...parts].reverse()).immediate).toBeCloseTo(sum.immediate, 6);
    }),
  );
  const [old, young] = [after([0, 0], [60, 60_000]), after([0, 50_000], [10, 60_000])];
  const sum = aggregateRateCounters([old, young]);
  expect(shown(sum, 60_000)["1m"]).toBe(sum.immediate);
  expect(shown(sum, 110_000)["1m"]).toBe(sum.perMinute);
  expect(aggregateRateCounters([])).toEqual(emptyRateCounter);
});
