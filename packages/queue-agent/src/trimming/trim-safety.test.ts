/**
 * Trimming on any mixture of old and new knowledge: a plan never takes a row that a vital consumer, an export
 * or a floor still needs, because what is known of them is never ahead of what they are.
 */
import { YtError } from "@qyt/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { consumerSnapshot, lookupOf, queueSnapshot, registration } from "../testing/snapshots.ts";
import { type LifetimeFloor, planTrim, type TrimPlan } from "./trim-plan.ts";

const partitionCount = 3;
const count = fc.bigInt(0n, 30n);
const perPartition = fc.array(count, { minLength: partitionCount, maxLength: partitionCount });
/** Which partitions a registration names; none: all of them. */
const someOf = fc.option(fc.uniqueArray(fc.bigInt(0n, BigInt(partitionCount - 1)), { maxLength: 2 }));
const fault = fc.constantFrom(
  "none",
  "none",
  "none",
  "missing",
  "error",
  "no queue",
  "queue error",
  "short",
  "old",
);
/** Unix milliseconds of the pass; what was seen earlier is too old. */
const passMs = 60_000;

const world = fc.record({
  upper: perPartition,
  lower: perPartition,
  states: fc.array(fc.constantFrom("mounted", "mounted", "frozen", "unmounted"), {
    minLength: partitionCount,
    maxLength: partitionCount,
  }),
  consumers: fc.array(fc.record({ offsets: perPartition, vital: fc.boolean(), partitions: someOf, fault }), {
    maxLength: 4,
  }),
  exported: fc.option(perPartition),
  exportsFailed: fc.boolean(),
  retainedRows: fc.option(count),
  floors: fc.option(fc.array(fc.option(count), { minLength: partitionCount, maxLength: partitionCount })),
});

test("no row goes that somebody needs, whatever could not be read", () => {
  fc.assert(
    fc.property(world, (input) => {
      const { upper, lower, states, consumers, exported, exportsFailed, retainedRows, floors } = input;
      const error = new YtError("Cannot be read");
      const snapshots = consumers.flatMap(({ offsets, fault }, index) => {
        const known = fault === "short" ? offsets.slice(0, 1) : offsets;
        return fault === "missing"
          ? []
          : consumerSnapshot(`c${index}`, known, {
              passInstantMs: fault === "old" ? passMs - 1 : passMs,
              error: fault === "error" ? error : null,
              subError: fault === "queue error" ? error : null,
              isQueueUnknown: fault === "no queue",
            });
      });
      const lifetimeFloors = new Map<number, LifetimeFloor>();
      for (const [index, floor] of (floors ?? []).entries()) {
        lifetimeFloors.set(index, floor ?? error);
      }
      let plan: TrimPlan;
      try {
        plan = planTrim(
          {
            queue: queueSnapshot({
              autoTrim: { retainedRows, retainedLifetimeDurationMs: floors === null ? null : 5_000 },
              registrations: consumers.map(({ vital, partitions }, index) =>
                registration(`c${index}`, vital, { partitions }),
              ),
              partitions: upper.map((upperRowIndex, index) => ({
                upperRowIndex,
                lowerRowIndex: lower[index] ?? 0n,
                tabletState: states[index] ?? "",
              })),
            }),
            consumer: lookupOf(snapshots),
            consumersSinceMs: passMs,
            exports: exportsFailed
              ? { kind: "error", error }
              : exported === null
                ? { kind: "none" }
                : { kind: "rows", rowCounts: new Map(exported.entries()) },
          },
          lifetimeFloors,
        );
      } catch {
        return;
      }
      expect(plan.floorsNeeded).toEqual([]);
      expect(exportsFailed).toBe(false);
      for (const { partitionIndex, trimmedRowCount } of plan.trims) {
        const at = (values: readonly bigint[]): bigint => values[partitionIndex] ?? 0n;
        expect(states[partitionIndex]).toBe("mounted");
        expect(trimmedRowCount).toBeGreaterThan(at(lower));
        expect(trimmedRowCount).toBeLessThanOrEqual(at(upper));
        expect(at(upper) - trimmedRowCount).toBeGreaterThanOrEqual(retainedRows ?? 0n);
        const readers = consumers.filter(
          ({ vital, partitions }) =>
            vital &&
            (partitions === null || partitions.length === 0 || partitions.includes(BigInt(partitionIndex))),
        );
        expect(readers.length + (exported === null ? 0 : 1)).toBeGreaterThan(0);
        for (const { offsets, fault } of readers) {
          expect(fault === "none" || (fault === "short" && partitionIndex === 0)).toBe(true);
          expect(trimmedRowCount).toBeLessThanOrEqual(at(offsets));
        }
        if (exported !== null) {
          expect(trimmedRowCount).toBeLessThanOrEqual(at(exported));
        }
        if (floors !== null) {
          expect(trimmedRowCount).toBeLessThanOrEqual(floors[partitionIndex] ?? -1n);
        }
      }
    }),
    { numRuns: 3_000 },
  );
});

test("known things only grow, so plans on old snapshots take no more than plans on new ones", () => {
  fc.assert(
    fc.property(perPartition, perPartition, perPartition, perPartition, (offsets, later, upper, written) => {
      const planAt = (known: readonly bigint[], rows: readonly bigint[]): TrimPlan =>
        planTrim({
          queue: queueSnapshot({
            registrations: [registration("c", true)],
            partitions: rows.map((upperRowIndex) => ({ upperRowIndex })),
          }),
          consumer: lookupOf([consumerSnapshot("c", known)]),
          consumersSinceMs: 0,
          exports: { kind: "none" },
        });
      const sum = (left: readonly bigint[], right: readonly bigint[]): bigint[] =>
        left.map((value, index) => value + (right[index] ?? 0n));
      const newest = planAt(sum(offsets, later), sum(upper, written));
      for (const { partitionIndex, trimmedRowCount } of planAt(offsets, upper).trims) {
        const limit = newest.trims.find((trim) => trim.partitionIndex === partitionIndex)?.trimmedRowCount;
        expect(trimmedRowCount).toBeLessThanOrEqual(limit ?? -1n);
      }
    }),
  );
});
