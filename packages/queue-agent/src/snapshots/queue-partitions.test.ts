/** Partitions of queue snapshots: what is kept, whose counter goes on, what starts anew. */
import { mapOf, type YtError } from "@qyt/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { queueSnapshot } from "../testing/snapshots.ts";
import type { TabletInfo } from "./queue-layout.ts";
import { queuePartitions } from "./queue-partitions.ts";
import { type QueuePartitionSnapshot, type QueueSnapshot, writeRatesAt } from "./queue-snapshot.ts";
import { emptyRateCounter, type RateCounter, updateRateCounter } from "./rates.ts";

const startMs = 1_737_640_800_000;
const passMs = 1_000;
const origin = {
  again: (error: YtError, previous: YtError | null | undefined): YtError =>
    previous?.message === error.message ? previous : error,
};

/** Row counts by partition; `null`: the tablet is unmounted. */
type Counts = readonly (bigint | null)[];

/** Runs passes, one a second, and gives the snapshot of each. */
function run(passes: readonly Counts[]): readonly QueueSnapshot[] {
  const snapshots: QueueSnapshot[] = [];
  for (const [index, counts] of passes.entries()) {
    const previous = snapshots.at(-1);
    const nowMs = startMs + index * passMs;
    const infos = new Map<number, TabletInfo>();
    for (const [partition, count] of counts.entries()) {
      if (count !== null) {
        infos.set(partition, { lowerRowIndex: 0n, upperRowIndex: count, lastWriteTimestamp: count });
      }
    }
    const layout = {
      objectId: "1-1-1-1",
      revision: 1n,
      tabletState: "mixed",
      tabletCount: counts.length,
      hasTimestampColumn: true,
      hasCumulativeDataWeightColumn: true,
      isReplica: false,
      tablets: counts.map((count, partition) => ({
        tabletId: `tablet-${partition}`,
        state: count === null ? "unmounted" : "mounted",
        cellId: "cell",
        host: null,
      })),
    };
    const weights = new Map(
      [...infos].map(([partition, { upperRowIndex }]) => [
        partition,
        { cumulativeDataWeight: upperRowIndex === 0n ? null : upperRowIndex * 20n, trimmedDataWeight: null },
      ]),
    );
    snapshots.push({
      ...queueSnapshot({ objectId: null }),
      passIndex: index,
      passInstantMs: nowMs,
      partitions: queuePartitions({ layout, infos, weights }, previous, nowMs, origin),
    });
  }
  return snapshots;
}

function rowRate(snapshot: QueueSnapshot | undefined, partition: number): RateCounter | undefined {
  const found: QueuePartitionSnapshot | undefined = snapshot?.partitions[partition];
  return found === undefined || snapshot === undefined
    ? undefined
    : writeRatesAt(found, snapshot.passInstantMs).rowCount;
}

test("a counter goes on with the partition of its index, whichever others cannot be read", () => {
  const snapshots = run([
    [10n, 1_000n],
    [null, 1_005n],
    [null, 1_010n],
  ]);
  expect(rowRate(snapshots.at(-1), 1)?.immediate).toBe(5);
});

test("a counter starts anew after the partition was in error", () => {
  const [, , back, later] = run([[10n], [null], [500n], [501n]]);
  expect(rowRate(back, 0)).toMatchObject({ immediate: 0, perMinute: 0, count: 500 });
  expect(rowRate(later, 0)?.immediate).toBe(1);
});

test("a partition that is new starts with 0", () => {
  const [, second] = run([[10n], [11n, 7n]]);
  expect(rowRate(second, 0)?.immediate).toBe(1);
  expect(rowRate(second, 1)?.immediate).toBe(0);
});

test("the error of an unmounted tablet names its state and is kept while it lasts", () => {
  const [first, second] = run([[null], [null]]);
  const error = first?.partitions[0]?.error;
  expect(error?.message).toBe("Tablet tablet-0 is not mounted or frozen");
  expect(error?.attributes).toEqual(mapOf({ state: "unmounted" }));
  expect(second?.partitions).toBe(first?.partitions);
});

test("the rates are those of a counter that is updated with every pass, though quiet partitions are kept", () => {
  const history = fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 2, maxLength: 60 });
  fc.assert(
    fc.property(history, (steps) => {
      let count = 0n;
      const counts = steps.map((step) => {
        // Mostly quiet, as queues are.
        count += BigInt(step < 2 ? 0 : step);
        return [count];
      });
      const snapshots = run(counts);
      let rows = emptyRateCounter;
      for (const [index, [expected = 0n]] of counts.entries()) {
        rows = updateRateCounter(rows, Number(expected), startMs + index * passMs);
        const seen = rowRate(snapshots[index], 0);
        expect(seen?.immediate).toBeCloseTo(rows.immediate, 9);
        expect(seen?.perMinute).toBeCloseTo(rows.perMinute, 9);
        expect(seen?.perHour).toBeCloseTo(rows.perHour, 9);
        expect(seen?.perDay).toBeCloseTo(rows.perDay, 9);
        const weight = snapshots[index]?.partitions[0];
        if (weight !== undefined) {
          const { dataWeight } = writeRatesAt(weight, startMs + index * passMs);
          expect(dataWeight.perMinute).toBeCloseTo(20 * rows.perMinute, 6);
        }
      }
    }),
  );
  const [, second, third] = run([[5n], [5n], [5n]]);
  expect(third?.partitions).toBe(second?.partitions);
});
