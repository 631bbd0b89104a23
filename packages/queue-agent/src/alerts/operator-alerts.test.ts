/** Alerts about consumers that hold data back, lose rows or stand still. */
import { timestampFromMs } from "@qyt/schema";
import { describe, expect, test } from "vitest";
import type { ConsumerPartitionSnapshot, ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { QueuePartitionSnapshot } from "../snapshots/queue-snapshot.ts";
import {
  consumerSnapshot,
  lookupOf,
  type QueueOptions,
  queueSnapshot,
  registration,
} from "../testing/snapshots.ts";
import type { Alert } from "./alert.ts";
import { operatorAlerts } from "./operator-alerts.ts";

const minuteMs = 60_000;
const nowMs = Date.UTC(2025, 0, 23, 14);
const thresholds = {
  stuckVitalConsumerThresholdMs: 10 * minuteMs,
  lostRowsThresholdMs: 10 * minuteMs,
  stuckOffsetThresholdMs: 10 * minuteMs,
};
const ago = (minutes: number): number => nowMs - minutes * minuteMs;

function alertsOf(queue: QueueOptions, consumers: readonly ConsumerSnapshot[]): readonly Alert[] {
  return operatorAlerts(queueSnapshot(queue), lookupOf(consumers), nowMs, thresholds);
}

function categories(alerts: readonly Alert[]): string[] {
  return alerts.map(({ kind }) => kind.category);
}

const rows: Partial<QueuePartitionSnapshot> = {
  lowerRowIndex: 10n,
  upperRowIndex: 50n,
  cumulativeDataWeight: 5_000n,
  trimmedDataWeight: 1_000n,
};

/** At row 20 for so many minutes; the row to read next was written then. */
function standing(
  minutes: number,
  more: Partial<ConsumerPartitionSnapshot> = {},
): Partial<ConsumerPartitionSnapshot> {
  return {
    nextRowIndex: 20n,
    cumulativeDataWeight: 2_000n,
    offsetSinceMs: ago(minutes),
    nextRowTimestamp: timestampFromMs(ago(minutes)),
    ...more,
  };
}

describe("a vital consumer that holds data back", () => {
  const queue: QueueOptions = { registrations: [registration("c", true)], partitions: [rows] };

  test("is told with how long, how many rows and how many bytes", () => {
    const [alert] = alertsOf(queue, [consumerSnapshot("c", [standing(12)])]);
    expect(alert?.kind).toMatchObject({ code: 3090, category: "qyt_vital_consumer_holds_data" });
    expect(alert?.error.message).toBe(
      "Vital consumer pythia://tmp/c has not moved for 720 seconds and keeps 30 rows (3000 bytes) from being trimmed: let it read, or register it with vital=%false",
    );
    expect(Object.fromEntries(alert?.error.attributes ?? [])).toEqual({
      row_count: 30n,
      data_weight: 3_000n,
      duration: 720_000n,
      partitions: [0n],
    });
    expect(Object.fromEntries(alert?.tags ?? [])).toEqual({ consumer: "pythia://tmp/c" });
  });

  test("not before the threshold, not when it moves, not when there is nothing to read", () => {
    expect(alertsOf(queue, [consumerSnapshot("c", [standing(9)])])).toEqual([]);
    expect(alertsOf(queue, [consumerSnapshot("c", [standing(60, { offsetSinceMs: ago(1) })])])).toEqual([]);
    expect(alertsOf(queue, [consumerSnapshot("c", [standing(60, { nextRowIndex: 50n })])])).toEqual([]);
  });

  test("rows that came just now are not held back for long, however long the offset has stood", () => {
    const waiting = standing(600, { nextRowTimestamp: timestampFromMs(ago(1)) });
    expect(alertsOf(queue, [consumerSnapshot("c", [waiting])])).toEqual([]);
    const lastRow = standing(600, { nextRowIndex: 49n, nextRowTimestamp: null });
    const fresh = { ...rows, lastWriteTimestamp: timestampFromMs(ago(2)) };
    expect(alertsOf({ ...queue, partitions: [fresh] }, [consumerSnapshot("c", [lastRow])])).toEqual([]);
  });

  test("only the slowest vital consumer of a partition, and only when the queue is trimmed by it", () => {
    const registrations = [registration("c", true), registration("slow", true)];
    const consumers = [
      consumerSnapshot("c", [standing(12)]),
      consumerSnapshot("slow", [standing(12, { nextRowIndex: 15n })]),
    ];
    const holding = (found: readonly Alert[]): unknown =>
      found.filter(({ kind }) => kind.code === 3090).map(({ tags }) => tags.get("consumer"));
    expect(holding(alertsOf({ registrations, partitions: [rows] }, consumers))).toEqual([
      "pythia://tmp/slow",
    ]);
    const untrimmed = { registrations, partitions: [rows], autoTrim: { enable: false } };
    expect(holding(alertsOf(untrimmed, consumers))).toEqual([]);
  });

  test("partitions are summed up, those that the registration does not name left out", () => {
    const partitions = [rows, rows, rows];
    const consumers = [consumerSnapshot("c", [standing(12), standing(20), standing(30)])];
    const registrations = [registration("c", true, { partitions: [0n, 1n] })];
    const [alert] = alertsOf({ registrations, partitions }, consumers);
    expect(Object.fromEntries(alert?.error.attributes ?? [])).toMatchObject({
      row_count: 60n,
      duration: BigInt(20 * minuteMs),
      partitions: [0n, 1n],
    });
  });
});

describe("a consumer that lost rows", () => {
  test("is told with how many, whether vital or not", () => {
    const queue: QueueOptions = { registrations: [registration("c", false)], partitions: [rows, rows] };
    const behind = { nextRowIndex: 4n, offsetSinceMs: ago(11) };
    const alerts = alertsOf(queue, [consumerSnapshot("c", [behind, standing(0)])]);
    expect(alerts.filter(({ kind }) => kind.code === 3091).map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^6 rows were trimmed that consumer pythia:\/\/tmp\/c had not read/),
    ]);
    const recent = consumerSnapshot("c", [{ ...behind, offsetSinceMs: ago(9) }, standing(0)]);
    expect(alertsOf(queue, [recent])).toEqual([]);
  });
});

describe("a consumer that stands still with lag", () => {
  const queue: QueueOptions = { registrations: [registration("c", false)], partitions: [rows] };

  test("is told with its unread rows and how long", () => {
    const alerts = alertsOf(queue, [consumerSnapshot("c", [standing(15)])]);
    expect(categories(alerts)).toEqual(["qyt_consumer_offset_stuck"]);
    expect(alerts[0]?.error.message).toMatch(
      /has 30 unread rows and its offset has not moved for 900 seconds/,
    );
  });

  test("a name of a multi-consumer is told by its name", () => {
    const registrations = [registration("m", false, { consumerName: "left" })];
    const consumer = consumerSnapshot("m", [], { names: { left: [standing(15)] } });
    const [alert] = alertsOf({ ...queue, registrations }, [consumer]);
    expect(alert?.tags.get("consumer_name")).toBe("left");
  });
});

test("a fresh queue, one in error, and consumers of which nothing is known have no such alerts", () => {
  const registrations = [registration("c", true)];
  expect(alertsOf({ registrations, partitions: [{}] }, [consumerSnapshot("c", [0n])])).toEqual([]);
  expect(alertsOf({ registrations, partitions: [rows] }, [])).toEqual([]);
});
