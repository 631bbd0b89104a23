/** Sensors of consumers, from pairs of snapshots, with lags as of the moment of the answer. */
import { YtError } from "@qyt/base";
import { expect, test } from "vitest";
import type { ConsumerPartitionSnapshot, ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type Sample, samplesOf } from "../testing/metrics.ts";
import { consumerSnapshot, queueSnapshot, registration } from "../testing/snapshots.ts";
import { ConsumerProfiles } from "./consumer-profiles.ts";

const labels = {
  consumer_cluster: "pythia",
  consumer_path: "//tmp/c",
  consumer_tag: "none",
  queue_cluster: "pythia",
  queue_path: "//tmp/q",
  queue_tag: "none",
};
/** The rows of the queue were committed in this second. */
const commitSecond = 1_700_000_000;
const nowMs = (commitSecond + 3) * 1_000;

/** Three rows of 20 bytes. */
const threeRows = queueSnapshot({ partitions: [{ upperRowIndex: 3n, cumulativeDataWeight: 60n }] });

function at(offset: bigint): Partial<ConsumerPartitionSnapshot> {
  return {
    nextRowIndex: offset,
    cumulativeDataWeight: offset === 0n ? null : 20n * offset,
    nextRowTimestamp: offset < 3n ? BigInt(commitSecond) << 30n : null,
  };
}

function recorded(...snapshots: readonly ConsumerSnapshot[]): ConsumerProfiles {
  const profiles = new ConsumerProfiles();
  for (const [index, next] of snapshots.entries()) {
    const previous = snapshots[index - 1];
    if (previous !== undefined) {
      profiles.record(previous, next);
    }
  }
  return profiles;
}

async function read(
  profiles: ConsumerProfiles,
  name: string,
  queue: QueueSnapshot | undefined = threeRows,
): Promise<readonly Sample[]> {
  const samples = await samplesOf((exposition) => profiles.write(exposition, () => queue, nowMs));
  return samples.get(`yt_queue_agent_${name}`) ?? [];
}

async function values(
  profiles: ConsumerProfiles,
  name: string,
  queue?: QueueSnapshot,
): Promise<readonly number[]> {
  return (await read(profiles, name, queue)).map(({ value }) => value);
}

async function histogram(profiles: ConsumerProfiles): Promise<Readonly<Record<string, number>>> {
  const samples = await read(profiles, "consumer_partition_lag_time_histogram_bucket");
  return Object.fromEntries(samples.map(({ labels: { le = "" }, value }) => [le, value]));
}

test("[queue-agent 131] a consumer at offset 0 of three rows lags by all of them", async () => {
  const profiles = recorded(consumerSnapshot("c", [at(0n)]), consumerSnapshot("c", [at(0n)]));
  const [lag] = await read(profiles, "consumer_partition_lag_rows");
  expect(lag).toEqual({ labels: { ...labels, partition_index: "0" }, value: 3 });
  expect(await values(profiles, "consumer_partition_offset")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_rows_consumed")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_lag_time")).toEqual([3]);
  const buckets = await histogram(profiles);
  expect(buckets).toMatchObject({ "1000": 0, "4000": 1, "16000": 1, "+Inf": 1 });
});

test("[queue-agent 132] lags shrink with the offset, down to the lowest bucket", async () => {
  const first = consumerSnapshot("c", [at(0n)]);
  const second = consumerSnapshot("c", [at(1n)]);
  const profiles = recorded(first, first, second);
  expect(await values(profiles, "consumer_partition_lag_rows")).toEqual([2]);
  expect(await values(profiles, "consumer_partition_lag_data_weight")).toEqual([40]);
  expect(await values(profiles, "consumer_partition_rows_consumed")).toEqual([1]);
  profiles.record(second, consumerSnapshot("c", [at(3n)]));
  expect(await values(profiles, "consumer_partition_lag_rows")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_lag_data_weight")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_lag_time")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_rows_consumed")).toEqual([3]);
  expect(await values(profiles, "consumer_partition_data_weight_consumed")).toEqual([60]);
  expect((await histogram(profiles))["250"]).toBe(1);
});

test("[queue-agent 133] the profiling tags of consumer and queue are labels", async () => {
  const tagged = consumerSnapshot("c", [at(1n)]);
  const snapshot = { ...tagged, row: { ...tagged.row, profilingTag: "reports" } };
  const queue = { ...threeRows, row: { ...threeRows.row, profilingTag: "billing" } };
  const [offset] = await read(recorded(snapshot, snapshot), "consumer_partition_offset", queue);
  expect(offset?.labels).toEqual({
    ...labels,
    consumer_tag: "reports",
    queue_tag: "billing",
    partition_index: "0",
  });
});

test("another set of queues, or an error, leaves all as it was", async () => {
  const one = consumerSnapshot("c", [at(1n)]);
  const away = consumerSnapshot("c", [], { error: new YtError("The cluster is away") });
  const unknown = consumerSnapshot("c", [], { isQueueUnknown: true });
  const profiles = recorded(one, one, away, consumerSnapshot("c", [at(3n)]), unknown);
  expect(await values(profiles, "consumer_partition_offset")).toEqual([1]);
  expect(await values(profiles, "consumer_partition_rows_consumed")).toEqual([0]);
});

test("an offset set back counts as nothing", async () => {
  const profiles = recorded(consumerSnapshot("c", [at(3n)]), consumerSnapshot("c", [at(1n)]));
  expect(await values(profiles, "consumer_partition_rows_consumed")).toEqual([0]);
  expect(await values(profiles, "consumer_partition_offset")).toEqual([1]);
});

test("lags stay while the queue cannot be read", async () => {
  const one = consumerSnapshot("c", [at(1n)]);
  const profiles = recorded(one, one);
  expect(await values(profiles, "consumer_partition_lag_rows")).toEqual([2]);
  const unmounted = queueSnapshot({ partitions: [{ error: new YtError("Tablet is not mounted") }] });
  expect(await values(profiles, "consumer_partition_lag_rows", unmounted)).toEqual([2]);
});

test("partitions outside a registration are not shown", async () => {
  const snapshot = {
    ...consumerSnapshot("c", [at(1n), at(2n)]),
    registrations: [registration("c", true, { partitions: [1n] })],
  };
  const shown = await read(recorded(snapshot, snapshot), "consumer_partition_offset");
  expect(shown.map(({ labels: { partition_index } }) => partition_index)).toEqual(["1"]);
});

test("names of a multi-consumer are told apart", async () => {
  const snapshot = consumerSnapshot("c", [], { names: { hourly: [at(1n)], daily: [at(2n)] } });
  const offsets = await read(recorded(snapshot, snapshot), "consumer_partition_offset");
  expect(offsets.map(({ labels: { consumer_name }, value }) => [consumer_name, value])).toEqual([
    ["hourly", 1],
    ["daily", 2],
  ]);
});

test("sensors of a consumer that is not led any more are gone", async () => {
  const one = consumerSnapshot("c", [at(1n)]);
  const profiles = recorded(one, one);
  expect(await values(profiles, "consumer_partitions")).toEqual([1]);
  profiles.retain(() => false);
  expect(await values(profiles, "consumer_partitions")).toEqual([]);
});
