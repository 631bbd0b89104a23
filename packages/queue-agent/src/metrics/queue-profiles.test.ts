/** Sensors of queues, from pairs of snapshots. */
import { YtError } from "@qyt/base";
import { expect, test } from "vitest";
import type { QueuePartitionSnapshot, QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type Sample, samplesOf } from "../testing/metrics.ts";
import { type QueueOptions, queueSnapshot, registration } from "../testing/snapshots.ts";
import { QueueProfiles } from "./queue-profiles.ts";

type Partition = Partial<QueuePartitionSnapshot>;

const queueLabels = { queue_cluster: "pythia", queue_path: "//tmp/q", queue_tag: "none" };

function queue(partitions: readonly Partition[], options: QueueOptions = {}): QueueSnapshot {
  return queueSnapshot({ ...options, partitions });
}

/** Weights of 20 bytes a row. */
function rows(lower: number, upper: number): Partition {
  return {
    lowerRowIndex: BigInt(lower),
    upperRowIndex: BigInt(upper),
    cumulativeDataWeight: BigInt(20 * upper),
    trimmedDataWeight: BigInt(20 * (lower + 1)),
  };
}

function recorded(...snapshots: readonly QueueSnapshot[]): QueueProfiles {
  const profiles = new QueueProfiles();
  for (const [index, next] of snapshots.entries()) {
    const previous = snapshots[index - 1];
    if (previous !== undefined) {
      profiles.record(previous, next);
    }
  }
  return profiles;
}

async function read(profiles: QueueProfiles, name: string): Promise<readonly Sample[]> {
  const samples = await samplesOf((exposition) => profiles.write(exposition));
  return samples.get(`yt_queue_agent_${name}`) ?? [];
}

async function values(profiles: QueueProfiles, name: string): Promise<readonly number[]> {
  return (await read(profiles, name)).map(({ value }) => value);
}

test("counts what was written and trimmed between two snapshots, and shows what there is", async () => {
  const profiles = recorded(queue([rows(0, 5), rows(0, 1)]), queue([rows(2, 8), rows(0, 1)]));
  expect(await read(profiles, "queue_partition_rows_written")).toEqual([
    { labels: { ...queueLabels, partition_index: "0" }, value: 3 },
    { labels: { ...queueLabels, partition_index: "1" }, value: 0 },
  ]);
  expect(await values(profiles, "queue_partition_rows_trimmed")).toEqual([2, 0]);
  expect(await values(profiles, "queue_partition_data_weight_written")).toEqual([60, 0]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([6, 1]);
  expect(await values(profiles, "queue_partition_data_weight")).toEqual([100, 0]);
  expect(await read(profiles, "queue_partitions")).toEqual([{ labels: queueLabels, value: 2 }]);
});

test("counts consumers by vitality", async () => {
  const registrations = [registration("a", true), registration("b", false), registration("c", true)];
  const profiles = recorded(queue([rows(0, 0)]), queue([rows(0, 0)], { registrations }));
  expect(await read(profiles, "queue_consumers")).toEqual([
    { labels: { ...queueLabels, vital: "true" }, value: 2 },
    { labels: { ...queueLabels, vital: "false" }, value: 1 },
  ]);
});

test("one snapshot shows nothing, and counts from before do not appear", async () => {
  const profiles = new QueueProfiles();
  expect(await values(profiles, "queue_partition_row_count")).toEqual([]);
  profiles.record(queue([rows(0, 100)]), queue([rows(0, 100)]));
  expect(await values(profiles, "queue_partition_rows_written")).toEqual([0]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([100]);
});

test("a snapshot in error, or with another number of partitions, leaves all as it was", async () => {
  const failed = queue([], { error: new YtError("The cluster is away") });
  const profiles = recorded(queue([rows(0, 1)]), queue([rows(0, 3)]), failed, queue([rows(0, 9)]));
  expect(await values(profiles, "queue_partition_rows_written")).toEqual([2]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([3]);
  profiles.record(queue([rows(0, 9)]), queue([rows(0, 10), rows(0, 4)]));
  expect(await values(profiles, "queue_partition_row_count")).toEqual([3]);
  profiles.record(queue([rows(0, 10), rows(0, 4)]), queue([rows(0, 11), rows(0, 4)]));
  expect(await values(profiles, "queue_partition_row_count")).toEqual([11, 4]);
});

test("a partition in error leaves its sensors alone", async () => {
  const bad = { ...rows(0, 0), error: new YtError("Tablet 1-2-3-4 is not mounted or frozen") };
  const profiles = recorded(
    queue([rows(0, 1), rows(0, 1)]),
    queue([rows(0, 2), rows(0, 2)]),
    queue([bad, rows(0, 4)]),
  );
  expect(await values(profiles, "queue_partition_rows_written")).toEqual([1, 3]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([2, 4]);
});

test("what has fallen counts as nothing: a queue made anew", async () => {
  const profiles = recorded(queue([rows(5, 10)]), queue([rows(0, 2)]));
  expect(await values(profiles, "queue_partition_rows_written")).toEqual([0]);
  expect(await values(profiles, "queue_partition_rows_trimmed")).toEqual([0]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([2]);
});

test("a weight that is not known leaves the gauge as it was", async () => {
  const unknown = { ...rows(3, 3), cumulativeDataWeight: null, trimmedDataWeight: null };
  const profiles = recorded(queue([rows(0, 3)]), queue([rows(0, 3)]), queue([unknown]));
  expect(await values(profiles, "queue_partition_data_weight")).toEqual([40]);
  expect(await values(profiles, "queue_partition_data_weight_written")).toEqual([0]);
  expect(await values(profiles, "queue_partition_row_count")).toEqual([0]);
});

test("[queue-agent 133] the profiling tag of the queue is a label, and another one makes other sensors", async () => {
  const tagged = (upper: number, profilingTag: string | null): QueueSnapshot => {
    const snapshot = queue([rows(0, upper)]);
    return { ...snapshot, row: { ...snapshot.row, profilingTag } };
  };
  const profiles = recorded(tagged(0, "billing"), tagged(4, "billing"));
  expect(await read(profiles, "queue_partition_rows_written")).toEqual([
    { labels: { ...queueLabels, queue_tag: "billing", partition_index: "0" }, value: 4 },
  ]);
  profiles.record(tagged(4, "billing"), tagged(5, null));
  expect(await read(profiles, "queue_partition_rows_written")).toEqual([
    { labels: { ...queueLabels, queue_tag: "none", partition_index: "0" }, value: 1 },
  ]);
});

test("sensors of a queue that is not led any more are gone", async () => {
  const profiles = recorded(queue([rows(0, 1)]), queue([rows(0, 2)]));
  profiles.retain((reference) => reference === "pythia://tmp/q");
  expect(await values(profiles, "queue_partition_row_count")).toEqual([2]);
  profiles.retain(() => false);
  expect(await samplesOf((exposition) => profiles.write(exposition))).toEqual(new Map());
});

test("a path is cut to 200 characters and written so that Prometheus reads it", async () => {
  const path = `//tmp/a"b\\c\n${"x".repeat(300)}`;
  const options = { reference: { cluster: "pythia", path } };
  const profiles = recorded(queue([rows(0, 1)], options), queue([rows(0, 1)], options));
  const [first] = await read(profiles, "queue_partitions");
  expect(first?.labels["queue_path"]).toBe(path.slice(0, 200));
});
