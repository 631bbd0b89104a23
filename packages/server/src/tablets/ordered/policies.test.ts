import { timestampFromMs } from "@qyt/schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  defaultFlushSettings,
  defaultMergeSettings,
  defaultTtlSettings,
  isFlushDue,
  planMerge,
  planTtlTrim,
  type TtlTablet,
} from "./policies.ts";

const nowMs = 1_737_640_800_000;
const old = timestampFromMs(nowMs - 10 * 3_600_000);

/** Chunks of the given row counts and timestamps, behind them dynamic rows. */
function tabletOf(chunks: readonly [number, bigint][], dynamicRows = 0, trimmedRowCount = 0): TtlTablet {
  let row = 0;
  const laidOut = chunks.map(([rowCount, maxTimestamp]) => {
    const firstRowIndex = row;
    row += rowCount;
    return { firstRowIndex, rowCount, maxTimestamp };
  });
  return { chunks: laidOut, trimmedRowCount, totalRowCount: row + dynamicRows };
}

const eager = { ...defaultTtlSettings, minDataVersions: 0, maxDataVersions: 0, minDataTtlMs: 1000 };

test("[tables 132] flushed rows are trimmed after their lifetime, unflushed and young ones stay", () => {
  const young = timestampFromMs(nowMs - 500);
  expect(planTtlTrim(tabletOf([[2, old]], 3), eager, nowMs)).toBe(2);
  expect(planTtlTrim(tabletOf([], 3), eager, nowMs)).toBe(0);
  expect(
    planTtlTrim(
      tabletOf([
        [2, old],
        [1, young],
        [1, old],
      ]),
      eager,
      nowMs,
    ),
  ).toBe(2);
});

test("the bound of a lifetime is the first timestamp of a second", () => {
  const at = (ms: number) => tabletOf([[1, timestampFromMs(ms)]]);
  expect(planTtlTrim(at(nowMs - 1000), eager, nowMs)).toBe(0);
  expect(planTtlTrim(at(nowMs - 1001), eager, nowMs)).toBe(1);
});

test("with max_data_versions above 0 the longer of the two lifetimes counts", () => {
  const settings = { ...eager, maxDataVersions: 1, maxDataTtlMs: 20 * 3_600_000 };
  expect(planTtlTrim(tabletOf([[1, old]]), settings, nowMs)).toBe(0);
  expect(planTtlTrim(tabletOf([[1, old]]), { ...settings, maxDataVersions: 0 }, nowMs)).toBe(1);
});

test("[tables 133] row_count_to_keep stops at the chunk whose removal would leave fewer rows", () => {
  const tablet = tabletOf([
    [2, old],
    [1, old],
    [1, old],
    [1, old],
  ]);
  expect(planTtlTrim(tablet, { ...eager, rowCountToKeep: 2 }, nowMs)).toBe(3);
});

test("[tables 134] by default nothing is trimmed by age", () => {
  expect(planTtlTrim(tabletOf([[2, old]], 0, 1), defaultTtlSettings, nowMs)).toBe(1);
});

test("trimming by age never goes back and never beyond the chunks", () => {
  const chunk = fc.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(old, timestampFromMs(nowMs)));
  fc.assert(
    fc.property(fc.array(chunk), fc.nat(9), fc.nat(30), fc.nat(40), (chunks, dynamicRows, keep, trimmed) => {
      const tablet = tabletOf(chunks, dynamicRows);
      const before = Math.min(trimmed, tablet.totalRowCount);
      const after = planTtlTrim(
        { ...tablet, trimmedRowCount: before },
        { ...eager, rowCountToKeep: keep },
        nowMs,
      );
      expect(after).toBeGreaterThanOrEqual(before);
      if (after > before) {
        expect(tablet.chunks.some((c) => c.firstRowIndex + c.rowCount === after)).toBe(true);
        expect(tablet.totalRowCount - after).toBeGreaterThanOrEqual(keep);
      }
    }),
  );
});

test("a store is flushed by age with its share of the splay, by rows and by weight, and never empty", () => {
  const store = { rowCount: 1, dataWeight: 10, firstWriteMs: nowMs, splayShare: 0.5 };
  const due = (changes: object, afterMs = 0) =>
    isFlushDue({ ...store, ...changes }, defaultFlushSettings, nowMs + afterMs);
  expect(due({}, 929_999)).toBe(false);
  expect(due({}, 930_000)).toBe(true);
  expect(due({ rowCount: 0 }, 9_000_000)).toBe(false);
  expect(due({ rowCount: 999_999 })).toBe(false);
  expect(due({ rowCount: 1_000_000 })).toBe(true);
  expect(due({ dataWeight: defaultFlushSettings.maxDataWeightBytes })).toBe(true);
  const off = { ...defaultFlushSettings, autoFlushPeriodMs: undefined };
  expect(isFlushDue(store, off, nowMs + 1e12)).toBe(false);
});

test("[tables 135] a period of one second without splay flushes within a few", () => {
  const settings = { ...defaultFlushSettings, autoFlushPeriodMs: 1000, autoFlushPeriodSplayMs: 0 };
  const store = { rowCount: 1, dataWeight: 10, firstWriteMs: nowMs, splayShare: 0.9 };
  expect(isFlushDue(store, settings, nowMs + 999)).toBe(false);
  expect(isFlushDue(store, settings, nowMs + 1000)).toBe(true);
});

test("runs of at least four small neighbours are merged, bigger blocks are left alone", () => {
  const sizes = (list: readonly number[]) =>
    planMerge(
      list.map((byteSize) => ({ byteSize })),
      defaultMergeSettings,
    );
  expect(sizes([])).toEqual([]);
  expect(sizes([100, 100, 100])).toEqual([]);
  expect(sizes([100, 100, 100, 100])).toEqual([{ from: 0, to: 4 }]);
  expect(sizes([8000, 1, 1, 1, 1, 2041, 1, 1, 1, 2040, 1])).toEqual([
    { from: 1, to: 5 },
    { from: 6, to: 11 },
  ]);
});
