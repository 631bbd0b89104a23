/** Which chunks go into which table, and how far an export is. */

import { timestampFromSeconds } from "@qyt/schema";
import { parseYson, writeYsonText } from "@qyt/yson";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ExportPlan, planSingleTable, planTablePerPeriod } from "./export-plan.ts";
import {
  advanced,
  decodeProgress,
  type ExportProgress,
  encodeProgress,
  exportedRowCounts,
  freshProgress,
  progressOf,
} from "./export-progress.ts";
import type { QueueChunk } from "./queue-chunks.ts";
import { aggregateRowCounts } from "./queue-export-progress.ts";

const id = "1-2-3-4";

/** Chunks of ten rows, by the second of their newest row. */
function tablet(tabletIndex: number, seconds: readonly number[]): QueueChunk[] {
  return seconds.map((second, index) => ({
    id: `${tabletIndex}-0-0-${index}`,
    tabletIndex,
    startRowIndex: BigInt(index * 10),
    rowCount: 10n,
    dataWeight: 100n,
    maxTimestamp: timestampFromSeconds(second) + 5n,
  }));
}

/** Export time → chunk ids. */
function shape(plan: ExportPlan): Record<number, string[]> {
  return Object.fromEntries(
    plan.parts.map((part) => [part.exportTime, part.chunks.map((chunk) => chunk.id)]),
  );
}

const bounds = { periodSeconds: 10, upperBound: 40 };

describe("one table per iteration", () => {
  test("[queue-agent 95] everything due goes into one table named by the bound, by tablets", () => {
    const tablets = [tablet(0, [5, 25]), tablet(1, [12]), tablet(2, [])];
    expect(shape(planSingleTable({ tablets }, freshProgress(id), bounds))).toEqual({
      40: ["0-0-0-0", "0-0-0-1", "1-0-0-0"],
    });
  });

  test("a chunk of the second of the bound waits for the next table", () => {
    const tablets = [tablet(0, [39, 40])];
    expect(shape(planSingleTable({ tablets }, freshProgress(id), bounds))).toEqual({ 40: ["0-0-0-0"] });
  });

  test("nothing behind a chunk that is too young, whatever its time: rows stay in order", () => {
    const tablets = [tablet(0, [5, 41, 6])];
    expect(shape(planSingleTable({ tablets }, freshProgress(id), bounds))).toEqual({ 40: ["0-0-0-0"] });
    expect(shape(planTablePerPeriod({ tablets }, freshProgress(id), bounds))).toEqual({ 10: ["0-0-0-0"] });
  });

  test("goes on behind the last chunk, and from the first when that one has been trimmed", () => {
    const all = tablet(0, [5, 6, 7]);
    const progress = advanced(freshProgress(id), all.slice(0, 2), 10);
    expect(shape(planSingleTable({ tablets: [all] }, progress, bounds))).toEqual({ 40: ["0-0-0-2"] });
    expect(shape(planSingleTable({ tablets: [all.slice(2)] }, progress, bounds))).toEqual({
      40: ["0-0-0-2"],
    });
  });
});

describe("a table per period", () => {
  test("[queue-agent 96] [queue-agent 106] each period with rows has its own", () => {
    const tablets = [tablet(0, [5, 6, 31]), tablet(1, [12])];
    expect(shape(planTablePerPeriod({ tablets }, freshProgress(id), bounds))).toEqual({
      10: ["0-0-0-0", "0-0-0-1"],
      20: ["1-0-0-0"],
      40: ["0-0-0-2"],
    });
  });

  test("[queue-agent 107] rows flushed late go into the table after the last one", () => {
    const tablets = [tablet(0, [5, 31])];
    const progress: ExportProgress = { ...freshProgress(id), lastExportTime: 20 };
    expect(shape(planTablePerPeriod({ tablets }, progress, bounds))).toEqual({
      30: ["0-0-0-0"],
      40: ["0-0-0-1"],
    });
  });

  test("timestamps that go back do not put rows before those ahead of them", () => {
    const tablets = [tablet(0, [25, 5, 35])];
    expect(shape(planTablePerPeriod({ tablets }, freshProgress(id), bounds))).toEqual({
      30: ["0-0-0-0", "0-0-0-1"],
      40: ["0-0-0-2"],
    });
  });

  test("a last chunk that does not end at the stored row count is reported", () => {
    const all = tablet(0, [5, 6]);
    const progress = advanced(freshProgress(id), all.slice(0, 1), 10);
    const wrong = new Map([...progress.tablets].map(([key, value]) => [key, { ...value, rowCount: 9n }]));
    const plan = planTablePerPeriod({ tablets: [all] }, { ...progress, tablets: wrong }, bounds);
    expect(plan.mismatches).toEqual([{ chunk: all[0], rowCount: 9n }]);
  });
});

test("whatever is planned when, and in whatever portions: each chunk is in exactly one part, in order", () => {
  const seconds = fc.array(fc.nat(100), { maxLength: 8 });
  fc.assert(
    fc.property(
      fc.array(seconds, { minLength: 1, maxLength: 4 }),
      fc.array(fc.record({ at: fc.nat(30), isOld: fc.boolean(), limit: fc.integer({ min: 1, max: 3 }) })),
      fc.integer({ min: 1, max: 15 }),
      (tabletSeconds, steps, periodSeconds) => {
        const tablets = tabletSeconds.map((times, index) => tablet(index, times));
        let progress = freshProgress(id);
        let nowSeconds = 0;
        const taken: QueueChunk[] = [];
        const tables = new Set<number>();
        // After all steps a long time passes, so that in the end everything is exported.
        for (const { at, isOld, limit } of [...steps, { at: 1_000, isOld: false, limit: 1_000 }]) {
          nowSeconds += at;
          const upperBound = Math.floor(nowSeconds / periodSeconds) * periodSeconds;
          if (progress.lastExportTime >= upperBound) {
            continue;
          }
          const plan = (isOld ? planSingleTable : planTablePerPeriod)({ tablets }, progress, {
            periodSeconds,
            upperBound,
          });
          expect(plan.mismatches).toEqual([]);
          for (const part of plan.parts.slice(0, limit)) {
            expect(tables.has(part.exportTime)).toBe(false);
            tables.add(part.exportTime);
            taken.push(...part.chunks);
            progress = advanced(progress, part.chunks, part.exportTime);
          }
        }
        for (const [index, chunks] of tablets.entries()) {
          expect(taken.filter(({ tabletIndex }) => tabletIndex === index)).toEqual(chunks);
          const rowCount = exportedRowCounts(progress).get(index) ?? 0n;
          expect(rowCount).toBe(BigInt(chunks.length * 10));
        }
      },
    ),
  );
});

describe("progress", () => {
  const progress: ExportProgress = {
    lastSuccessMs: 1_737_639_900_123,
    lastTaskMs: 1_737_639_960_123,
    lastFragmentMs: 1_737_639_900_123,
    lastExportTime: 1_737_639_900,
    tablets: new Map([[2, { lastChunk: "1-2-3-5", maxTimestamp: 9n, rowCount: 30n, chunkCount: 3n }]]),
    queueObjectId: id,
  };

  test("the form of the new implementation", () => {
    expect(writeYsonText(encodeProgress(progress, "new")).replaceAll(";}", "}")).toBe(
      '{"last_successful_export_task_instant"="2025-01-23T13:45:00.123000Z";' +
        '"last_successful_export_iteration_instant"="2025-01-23T13:45:00.123000Z";' +
        '"last_export_task_instant"="2025-01-23T13:46:00.123000Z";' +
        '"last_export_unix_ts"=1737639900u;' +
        '"tablets"={"2"={"last_chunk"="1-2-3-5";"max_timestamp"=9u;"row_count"=30;"chunk_count"=3}};' +
        '"queue_object_id"="1-2-3-4"}',
    );
  });

  test("[queue-agent 109] either form is read, whichever wrote it", () => {
    const old = decodeProgress(encodeProgress(progress, "old"));
    expect(old).toEqual({ ...progress, lastTaskMs: progress.lastFragmentMs });
    expect(decodeProgress(encodeProgress(progress, "new"))).toEqual({ ...progress, lastFragmentMs: 0 });
    expect([...encodeProgress(progress, "old").keys()]).toEqual([
      "last_successful_export_iteration_instant",
      "last_exported_fragment_iteration_instant",
      "last_exported_fragment_unix_ts",
      "tablets",
      "queue_object_id",
    ]);
  });

  test("[queue-agent 104] progress without a queue id is adopted, that of another queue ignored", () => {
    const stored = decodeProgress(parseYson('{last_export_unix_ts=60u;tablets={"0"={row_count=5}}}'));
    expect(progressOf(stored, id)).toMatchObject({ lastExportTime: 60, queueObjectId: id });
    expect(progressOf({ ...stored, queueObjectId: "9-9-9-9" }, id)).toEqual(freshProgress(id));
    expect(progressOf(null, id)).toEqual(freshProgress(id));
  });

  test.each([
    "text",
    "{tablets={x={}}}",
    '{tablets={"0"={row_count=-1}}}',
    '{tablets={"0"={row_count=18446744073709551615u}}}',
    '{tablets={"0"={chunk_count=9223372036854775807}}}',
    "{last_export_unix_ts=now}",
    "{last_export_task_instant=yesterday}",
  ])("%s is refused, and says what to do", (yson) => {
    expect(() => decodeProgress(parseYson(yson))).toThrow(/remove @queue_static_export_progress/);
  });

  test("whatever integers are stored, it is written again without a fault", () => {
    const stored = parseYson(
      '{last_export_unix_ts=18446744073709551615u;tablets={"0"={row_count=4611686018427387904;max_timestamp=18446744073709551615u}}}',
    );
    expect(() => encodeProgress(decodeProgress(stored), "old")).not.toThrow();
  });

  test("[queue-agent 117] the slowest export counts, and what is missing in one is exported by none", () => {
    const left = new Map([
      [1, 1n],
      [3, 1n],
      [4, 2n],
    ]);
    const right = new Map([
      [2, 1n],
      [3, 2n],
      [4, 1n],
    ]);
    const sorted = (map: ReadonlyMap<number, bigint> | null) => [...(map ?? [])].sort(([a], [b]) => a - b);
    expect(sorted(aggregateRowCounts([left, right]))).toEqual([
      [1, 0n],
      [2, 0n],
      [3, 1n],
      [4, 1n],
    ]);
    expect(aggregateRowCounts([null, left])).toEqual(left);
    expect(aggregateRowCounts([left, null])).toEqual(left);
    expect(aggregateRowCounts([null, null])).toBeNull();
  });
});
