/**
 * Counters and gauges of consumers and the partitions that they read, from pairs of consecutive snapshots.
 * Lags are computed when they are asked for, as statuses do.
 *
 * Specified in: yt/yt/server/queue_agent/profile_manager.cpp (TConsumerProfileManager).
 */

import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import { concerns, keyOf } from "../objects/registrations.ts";
import type { RegistrationRow } from "../objects/state-rows.ts";
import {
  type ConsumerPartitionSnapshot,
  type ConsumerSnapshot,
  countedReadWeight,
  type SubConsumerSnapshot,
} from "../snapshots/consumer-snapshot.ts";
import { durationSince, timestampToMs } from "../snapshots/instants.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type Exposition, labelText, pathLabel, sample, tagLabel } from "./exposition.ts";
import { advance } from "./queue-profiles.ts";
import {
  consumerPartitionSensors,
  consumerSensors,
  lagTimeBucketsMs,
  lagTimeHistogram,
  type Sensor,
} from "./sensors.ts";

/** The latest snapshot of a queue in this process. */
export type QueueLookup = (reference: ObjectReference) => QueueSnapshot | undefined;

interface PartitionProfile {
  rowsConsumed: bigint;
  dataWeightConsumed: bigint;
  /** The offset is of it. `null`: nothing is known yet. */
  seen: ConsumerPartitionSnapshot | null;
  lagRows: bigint | null;
  lagDataWeight: bigint | null;
  lagTimeMs: bigint | null;
}

interface SubProfile {
  /** Of consumer and queue. */
  labels: string;
  queueTag: string | null;
  partitions: PartitionProfile[];
}

interface ConsumerProfile {
  readonly tag: string | null;
  readonly labels: string;
  readonly subs: Map<string, SubProfile>;
  snapshot: ConsumerSnapshot;
}

export class ConsumerProfiles {
  readonly #profiles = new Map<string, ConsumerProfile>();

  /**
   * Counts what happened between two snapshots. Nothing is known of it when one of them is in error or they
   * have different queues; then all stays as it is.
   */
  record(previous: ConsumerSnapshot, next: ConsumerSnapshot): void {
    if (previous.error !== null || next.error !== null || !haveSameKeys(previous.queues, next.queues)) {
      return;
    }
    const profile = this.#profileOf(next);
    profile.snapshot = next;
    for (const key of profile.subs.keys()) {
      if (!next.queues.has(key)) {
        profile.subs.delete(key);
      }
    }
    for (const [key, after] of next.queues) {
      const before = previous.queues.get(key);
      if (
        before !== undefined &&
        before.error === null &&
        after.error === null &&
        before.partitions.length === after.partitions.length
      ) {
        recordSub(subProfileOf(profile, key, after), before, after);
      }
    }
  }

  /** Forgets consumers that are not led any more. */
  retain(isLed: (reference: string) => boolean): void {
    for (const reference of this.#profiles.keys()) {
      if (!isLed(reference)) {
        this.#profiles.delete(reference);
      }
    }
  }

  /** @param nowMs Unix milliseconds */
  async write(exposition: Exposition, queue: QueueLookup, nowMs: number): Promise<void> {
    const profiles = [...this.#profiles.values()];
    for (const profile of profiles) {
      updateLags(profile, queue, nowMs);
      await exposition.breathe();
    }
    await exposition.sensor(consumerSensors.partitions, consumerLines(profiles));
    for (const [sensor, read] of partitionValues) {
      await exposition.sensor(sensor, partitionLines(profiles, sensor.name, read));
    }
    await exposition.sensor(lagTimeHistogram, histogramLines(profiles));
  }

  #profileOf(snapshot: ConsumerSnapshot): ConsumerProfile {
    const { reference, row } = snapshot;
    const key = referenceToString(reference);
    let profile = this.#profiles.get(key);
    if (profile === undefined || profile.tag !== row.profilingTag) {
      const labels = labelText({
        consumer_cluster: reference.cluster,
        consumer_path: pathLabel(reference.path),
        consumer_tag: tagLabel(row.profilingTag),
      });
      profile = { tag: row.profilingTag, labels, subs: new Map(), snapshot };
      this.#profiles.set(key, profile);
    }
    return profile;
  }
}

const { rowsConsumed, dataWeightConsumed, offset, lagRows, lagDataWeight, lagTime } =
  consumerPartitionSensors;
const partitionValues: readonly (readonly [
  Sensor,
  (partition: PartitionProfile) => bigint | number | null,
])[] = [
  [rowsConsumed, (partition) => partition.rowsConsumed],
  [dataWeightConsumed, (partition) => partition.dataWeightConsumed],
  [offset, ({ seen }) => seen?.nextRowIndex ?? null],
  [lagRows, (partition) => partition.lagRows],
  [lagDataWeight, (partition) => partition.lagDataWeight],
  [lagTime, ({ lagTimeMs }) => (lagTimeMs === null ? null : Number(lagTimeMs) / 1_000)],
];

function subProfileOf(
  profile: ConsumerProfile,
  key: string,
  { partitions }: SubConsumerSnapshot,
): SubProfile {
  let sub = profile.subs.get(key);
  if (sub === undefined) {
    sub = { labels: "", queueTag: null, partitions: [] };
    profile.subs.set(key, sub);
  }
  if (sub.partitions.length !== partitions.length) {
    const kept = sub.partitions;
    sub.partitions = Array.from({ length: partitions.length }, (_, index) => kept[index] ?? emptyPartition());
  }
  return sub;
}

function recordSub(profile: SubProfile, before: SubConsumerSnapshot, after: SubConsumerSnapshot): void {
  for (const [index, partition] of after.partitions.entries()) {
    const earlier = before.partitions[index];
    const counters = profile.partitions[index];
    if (
      earlier === undefined ||
      counters === undefined ||
      (earlier === partition && counters.seen === partition) ||
      earlier.error !== null ||
      partition.error !== null
    ) {
      continue;
    }
    counters.seen = partition;
    counters.rowsConsumed += advance(earlier.nextRowIndex, partition.nextRowIndex);
    counters.dataWeightConsumed += advance(countedReadWeight(earlier), countedReadWeight(partition));
  }
}

function updateLags({ labels, subs, snapshot }: ConsumerProfile, queueOf: QueueLookup, nowMs: number): void {
  for (const [key, sub] of subs) {
    const reference = snapshot.queues.get(key)?.queue;
    const queue = reference === undefined ? undefined : queueOf(reference);
    const tag = queue?.row.profilingTag ?? sub.queueTag;
    if (reference !== undefined && (sub.labels === "" || tag !== sub.queueTag)) {
      sub.queueTag = tag;
      sub.labels = `${labels},${labelText({
        queue_cluster: reference.cluster,
        queue_path: pathLabel(reference.path),
        queue_tag: tagLabel(tag),
        consumer_name: snapshot.queues.get(key)?.consumerName ?? null,
      })}`;
    }
    for (const [index, partition] of sub.partitions.entries()) {
      const range = queue?.partitions[index];
      if (range !== undefined && range.error === null) {
        updateLag(partition, range, nowMs);
      }
    }
  }
}

/** What cannot be told leaves its gauge as it was. */
function updateLag(profile: PartitionProfile, queue: QueuePartitionSnapshot, nowMs: number): void {
  const { seen } = profile;
  if (seen === null) {
    return;
  }
  profile.lagRows = queue.upperRowIndex - seen.nextRowIndex;
  if (queue.cumulativeDataWeight !== null && seen.cumulativeDataWeight !== null) {
    profile.lagDataWeight = queue.cumulativeDataWeight - seen.cumulativeDataWeight;
  }
  profile.lagTimeMs =
    seen.nextRowTimestamp === null ? 0n : durationSince(timestampToMs(seen.nextRowTimestamp), nowMs);
}

function haveSameKeys(left: ReadonlyMap<string, unknown>, right: ReadonlyMap<string, unknown>): boolean {
  if (left.size !== right.size) {
    return false;
  }
  for (const key of left.keys()) {
    if (!right.has(key)) {
      return false;
    }
  }
  return true;
}

function emptyPartition(): PartitionProfile {
  return {
    rowsConsumed: 0n,
    dataWeightConsumed: 0n,
    seen: null,
    lagRows: null,
    lagDataWeight: null,
    lagTimeMs: null,
  };
}

function* consumerLines(profiles: readonly ConsumerProfile[]): Iterable<string> {
  for (const { labels, subs } of profiles) {
    let count = 0;
    for (const { partitions } of subs.values()) {
      count += partitions.length;
    }
    yield sample(consumerSensors.partitions.name, labels, count);
  }
}

function* partitionLines(
  profiles: readonly ConsumerProfile[],
  name: string,
  read: (partition: PartitionProfile) => bigint | number | null,
): Iterable<string> {
  for (const { labels, partitions } of readPartitions(profiles)) {
    for (const [index, partition] of partitions) {
      const value = partition.seen === null ? null : read(partition);
      if (value !== null) {
        yield sample(name, `${labels},partition_index="${index}"`, value);
      }
    }
  }
}

function* histogramLines(profiles: readonly ConsumerProfile[]): Iterable<string> {
  for (const { labels, partitions } of readPartitions(profiles)) {
    const lags = [...partitions].flatMap(([, { lagTimeMs }]) =>
      lagTimeMs === null ? [] : [Number(lagTimeMs)],
    );
    if (lags.length > 0) {
      for (const bound of lagTimeBucketsMs) {
        const count = lags.filter((lag) => lag <= bound).length;
        yield sample(lagTimeHistogram.name, `${labels},le="${bound}"`, count);
      }
      yield sample(lagTimeHistogram.name, `${labels},le="+Inf"`, lags.length);
    }
  }
}

interface ReadPartitions {
  readonly labels: string;
  readonly partitions: Iterable<readonly [number, PartitionProfile]>;
}

/** The partitions that the registrations give to the consumers. */
function* readPartitions(profiles: readonly ConsumerProfile[]): Iterable<ReadPartitions> {
  for (const { subs, snapshot } of profiles) {
    for (const [key, { labels, partitions }] of subs) {
      const registration = snapshot.registrations.find((one) => keyOf(one) === key);
      yield { labels, partitions: concerned(partitions, registration) };
    }
  }
}

function* concerned(
  partitions: readonly PartitionProfile[],
  registration: RegistrationRow | undefined,
): Iterable<readonly [number, PartitionProfile]> {
  for (const [index, partition] of partitions.entries()) {
    if (registration === undefined || concerns(registration, index)) {
      yield [index, partition];
    }
  }
}
