import { column, TableSchema } from "@qyt/schema";
import { describe, expect, it } from "vitest";
import type { FlowTimestamp } from "../model/message.ts";
import { flowTimestamp, infiniteTimestamp } from "../model/timestamps.ts";
import type { StreamReport, Traverse, WatermarkState } from "../protocol/protocol.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";
import { aggregateSource, monotone, type PartitionView } from "./aggregation.ts";
import { mayRead, readDelayThreshold } from "./alignment.ts";
import { compileAssigner } from "./event-timestamp-assigner.ts";
import { holdingEventTimestamp } from "./percentile.ts";
import { applyInflight, completedTraverse, jobTraverse, mergeTraverse } from "./traverse.ts";
import { WatermarkGenerator } from "./watermark-generator.ts";

const at = flowTimestamp;

function generatorWithUnits(
  bound: number,
  units: readonly (readonly [number, number])[],
): WatermarkGenerator {
  const generator = new WatermarkGenerator({ useSourceWatermark: false, bound });
  for (const [index, [min, max]] of units.entries()) {
    generator.read(BigInt(index), at(min), at(max));
  }
  return generator;
}

describe("the watermark of a source's partition", () => {
  it("[flow 43] waits for the head unit and allows for disorder", () => {
    const units: [number, number][] = [
      [10, 30],
      [40, 40],
      [50, 50],
      [60, 60],
      [70, 80],
      [90, 91],
    ];
    const generator = new WatermarkGenerator({ useSourceWatermark: false, bound: 5 });
    const read = units.map(([min, max], index) => {
      generator.read(BigInt(index), at(min), at(max));
      return generator.readWatermark(undefined);
    });
    expect(read).toEqual([25, 35, 45, 55, 75, 86]);
    expect(generator.watermark(undefined)).toBe(10);
    const persisted = units.map((_, index) => {
      generator.persisted(BigInt(index));
      return generator.watermark(undefined);
    });
    expect(persisted).toEqual([35, 45, 55, 70, 86, 86]);
  });

  it("[flow 44] counts units persisted out of order once those before them are", () => {
    const generator = generatorWithUnits(5, [
      [10, 10],
      [20, 20],
      [30, 30],
      [40, 40],
    ]);
    const seen = [3n, 1n, 2n, 0n].map((offset) => {
      generator.persisted(offset);
      return generator.watermark(undefined);
    });
    expect(seen).toEqual([5, 5, 5, 35]);
  });

  it("comes back from its state as it was", () => {
    const generator = generatorWithUnits(5, [
      [10, 30],
      [40, 40],
    ]);
    generator.persisted(0n);
    const again = new WatermarkGenerator({ useSourceWatermark: false, bound: 5 }, generator.state());
    expect(again.watermark(undefined)).toBe(generator.watermark(undefined));
  });

  it("[flow 40] a source's own watermark is 0 until the first heartbeat", () => {
    const generator = new WatermarkGenerator({ useSourceWatermark: true, bound: 5 });
    generator.read(0n, at(100), at(100));
    generator.persisted(0n);
    expect(generator.watermark(undefined)).toBe(0);
    expect(generator.watermark(at(70))).toBe(70);
  });

  it("without `use_source_watermark` the source's own only bounds it", () => {
    const generator = generatorWithUnits(5, [[100, 100]]);
    generator.persisted(0n);
    expect(generator.watermark(at(70))).toBe(70);
    expect(generator.watermark(at(700))).toBe(95);
  });
});

const noInflight = {
  count: 0,
  byteSize: 0,
  idleDuration: undefined,
  lastIdleTimestamp: undefined,
  unavailableInstant: undefined,
};

function partition(
  id: string,
  watermark: number,
  inflight: Partial<StreamReport["inflight"]> = {},
): PartitionView {
  const report: StreamReport = {
    epoch: 1n,
    state: "active",
    systemWatermark: at(2_000_000_000),
    eventWatermark: at(watermark),
    inflight: { ...noInflight, ...inflight },
  };
  return {
    partitionId: id,
    availabilityGroup: "queue",
    areInputsCompleted: true,
    streams: new Map([["out", report]]),
  };
}

type Generator = NonNullable<WatermarkStrategy["watermarkGenerator"]>;

const strategy: Generator = {
  useSourceWatermark: false,
  outOfOrdernessBound: 120_000,
  idlePartitions: { duration: 60_000, maxRatio: 1 },
  unavailablePartitionGroups: { maxUnavailableGroups: 1, minAvailableGroups: 1 },
  lateDataPartitions: undefined,
};

function watermarkOf(
  partitions: readonly PartitionView[],
  generator: Generator = strategy,
): FlowTimestamp | undefined {
  return aggregateSource("reader", partitions, generator).streams.get("out")?.eventWatermark;
}

const idleSince1729497623 = { idleDuration: 61, lastIdleTimestamp: at(1_729_497_623) };

describe("the watermark over partitions", () => {
  it("[flow 45] an idle partition is as far as its last idle time less the bound", () => {
    const others = partition("a", 1_729_600_000);
    expect(watermarkOf([others, partition("b", 5, idleSince1729497623)])).toBe(1_729_497_503);
  });

  it("[flow 46] too many idle partitions hold the watermark, and that is told", () => {
    const partitions = [partition("a", 1_729_600_000), partition("b", 5, idleSince1729497623)];
    const strict = { ...strategy, idlePartitions: { duration: 60_000, maxRatio: 0.4 } };
    const stalled = aggregateSource("reader", partitions, strict);
    expect(stalled.stall?.message).toBe(
      "Watermark cannot advance because too many source partitions are idle",
    );
    expect(stalled.streams.get("out")?.eventWatermark).toBe(5);
    expect(aggregateSource("reader", partitions, strategy).stall).toBeUndefined();
  });

  it("a partition with messages under way is not idle", () => {
    expect(watermarkOf([partition("a", 9), partition("b", 5, { ...idleSince1729497623, count: 1 })])).toBe(5);
  });

  it("an unavailable group is hidden only while another one is available", () => {
    const broken = partition("b", 5, { unavailableInstant: at(1_000) });
    expect(watermarkOf([partition("a", 900), broken])).toBe(5);
    expect(watermarkOf([partition("a", 900), { ...broken, availabilityGroup: "other" }])).toBe(880);
    expect(watermarkOf([broken])).toBe(5);
  });

  it("late partitions do not hold the others back by more than the delay", () => {
    const late = { ...strategy, lateDataPartitions: { value: 50, delay: 10_000 } };
    const partitions = [100, 500, 510, 520].map((time, index) => partition(String(index), time));
    expect(watermarkOf(partitions, late)).toBe(500);
    expect(watermarkOf([partition("a", 100), partition("b", 105)], late)).toBe(100);
  });

  it("[flow 7] no partition at all is an error that says so", () => {
    expect(() => aggregateSource("reader", [], strategy)).toThrow(
      /^Computation "reader" has no partitions to process/,
    );
  });

  it("never goes back", () => {
    const before = { ...completedTraverse(1n, at(100)) };
    expect(monotone(before, { ...before, epoch: 2n, eventWatermark: at(50) })).toEqual({
      ...before,
      epoch: 2n,
    });
  });
});

describe("holding sources back", () => {
  const watermarks = (group: number, streams: Record<string, number> = {}): WatermarkState => ({
    currentTimestamp: at(3_000),
    alignmentGroups: new Map([["g", at(group)]]),
    streams: new Map(
      Object.entries(streams).map(([id, time]) => [
        id,
        { systemWatermark: at(time), eventWatermark: at(time) },
      ]),
    ),
  });
  const alignment = { groupName: "g", driftBound: 1_200_000, readDelays: new Map<string, number>() };

  it("[flow 47] a partition ahead of its group by more than the drift does not read", () => {
    expect(mayRead(alignment, watermarks(1_000), at(2_201))).toBe(false);
    expect(mayRead(alignment, watermarks(1_000), at(2_200))).toBe(true);
    expect(mayRead(undefined, watermarks(1_000), at(2_201))).toBe(true);
  });

  it("read delays hold units back until all streams have come as far", () => {
    const delayed = {
      ...alignment,
      readDelays: new Map([
        ["a", 10_000],
        ["b", 0],
      ]),
    };
    expect(readDelayThreshold(delayed, watermarks(0, { a: 500, b: 495 }))).toBe(490);
    expect(readDelayThreshold(delayed, watermarks(0, { a: 500 }))).toBe(0);
    expect(readDelayThreshold(alignment, watermarks(0))).toBe(infiniteTimestamp);
  });
});

describe("event times from a column", () => {
  const schema = new TableSchema([column("t", "int64"), column("text", "string")]);
  const assigner = (spec: {
    column: string;
    format: "seconds" | "milli_seconds" | "iso8601";
    limit?: boolean;
  }) =>
    compileAssigner(
      { column: spec.column, format: spec.format, limitBySystemTimestamp: spec.limit ?? false },
      schema,
    );

  it("[flow 48] milliseconds are cut to seconds, and a future time can be limited to the system's", () => {
    expect(assigner({ column: "t", format: "milli_seconds" })?.([1500n, null], at(9))).toBe(1);
    expect(assigner({ column: "t", format: "seconds", limit: true })?.([1500n, null], at(9))).toBe(9);
    const iso = assigner({ column: "text", format: "iso8601" });
    expect(iso?.([null, Buffer.from("1970-01-01T00:01:40Z")], at(9))).toBe(100);
    expect(() => assigner({ column: "none", format: "seconds" })).toThrow(/not found/);
    expect(() => assigner({ column: "text", format: "seconds" })).toThrow(/needs "int64" or "uint64"/);
  });
});

describe("a job's streams", () => {
  const now = at(1_000);
  const active: Traverse = { epoch: 3n, state: "active", systemWatermark: at(500), eventWatermark: at(400) };
  const none = {
    isEmpty: true,
    isSuspended: false,
    minSystemTimestamp: undefined,
    minEventTimestamp: undefined,
  };
  const base = {
    order: ["in", "tick", "out"],
    dependency: new Map([
      ["tick", new Set(["in"])],
      ["out", new Set(["in", "tick"])],
    ]),
    inputs: new Map([["in", active]]),
    inflight: () => none,
    sourceWatermark: () => undefined,
    isExecuting: true,
    specGeneration: 7n,
    now,
    ownSystemWatermark: now,
  };

  it("are as far as what they descend from, in system time as far as now", () => {
    expect(jobTraverse(base).get("out")).toEqual({ ...active, systemWatermark: now });
  });

  it("are held back by their own messages under way", () => {
    const inflight = (id: string) =>
      id === "tick"
        ? { ...none, isEmpty: false, minEventTimestamp: at(300), minSystemTimestamp: at(950) }
        : none;
    const result = jobTraverse({ ...base, inflight });
    expect(result.get("tick")).toMatchObject({ eventWatermark: 300, systemWatermark: 950 });
    expect(result.get("out")).toMatchObject({ eventWatermark: 300, systemWatermark: now });
  });

  it("are completed when what they descend from is, and nothing is under way", () => {
    const inputs = new Map([["in", completedTraverse(3n, now)]]);
    expect(jobTraverse({ ...base, inputs }).get("out")?.state).toBe("completed");
    const busy = () => ({ ...none, isEmpty: false });
    expect(jobTraverse({ ...base, inputs, inflight: busy }).get("out")?.state).toBe("active");
    const suspended = () => ({ ...none, isEmpty: false, isSuspended: true });
    expect(jobTraverse({ ...base, inputs, inflight: suspended }).get("out")?.state).toBe("drained");
  });

  it("merge by the minimum of every field", () => {
    expect(mergeTraverse(active, completedTraverse(2n, now))).toEqual({ ...active, epoch: 2n });
    expect(applyInflight(completedTraverse(1n, now), none).state).toBe("completed");
  });
});

describe("a percentile watermark", () => {
  it("does not wait for the last few by more than the delay", () => {
    const times = [10, 500, 510, 520].map(at);
    expect(holdingEventTimestamp(times, undefined)).toBe(10);
    expect(holdingEventTimestamp(times, { value: 50, delay: 60_000 })).toBe(450);
    expect(holdingEventTimestamp([], { value: 50, delay: 60_000 })).toBeUndefined();
  });
});
