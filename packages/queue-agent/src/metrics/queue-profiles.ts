/**
 * Counters and gauges of queues and their partitions, from pairs of consecutive snapshots.
 *
 * Specified in: yt/yt/server/queue_agent/profile_manager.cpp (TQueueProfileManager).
 */
import { greatest } from "../integers.ts";
import { referenceToString } from "../objects/reference.ts";
import {
  countedWeight,
  type QueuePartitionSnapshot,
  type QueueSnapshot,
} from "../snapshots/queue-snapshot.ts";
import { type Exposition, labelText, pathLabel, sample, tagLabel } from "./exposition.ts";
import { queuePartitionSensors, queueSensors } from "./sensors.ts";

interface PartitionProfile {
  rowsWritten: bigint;
  rowsTrimmed: bigint;
  dataWeightWritten: bigint;
  rowCount: bigint | null;
  dataWeight: bigint | null;
  /** The gauges are of it. */
  seen: QueuePartitionSnapshot | null;
}

interface QueueProfile {
  readonly tag: string | null;
  readonly labels: string;
  partitions: PartitionProfile[];
  snapshot: QueueSnapshot;
}

export class QueueProfiles {
  readonly #profiles = new Map<string, QueueProfile>();

  /**
   * Counts what happened between two snapshots. Nothing is known of it when one of them is in error or the
   * number of partitions has changed; then all stays as it is.
   */
  record(previous: QueueSnapshot, next: QueueSnapshot): void {
    if (
      previous.error !== null ||
      next.error !== null ||
      previous.partitions.length !== next.partitions.length
    ) {
      return;
    }
    const profile = this.#profileOf(next);
    profile.snapshot = next;
    for (const [index, after] of next.partitions.entries()) {
      const before = previous.partitions[index];
      const partition = profile.partitions[index];
      if (before !== undefined && partition !== undefined) {
        recordPartition(partition, before, after);
      }
    }
  }

  /** Forgets queues that are not led any more. */
  retain(isLed: (reference: string) => boolean): void {
    for (const reference of this.#profiles.keys()) {
      if (!isLed(reference)) {
        this.#profiles.delete(reference);
      }
    }
  }

  async write(exposition: Exposition): Promise<void> {
    const profiles = [...this.#profiles.values()];
    const { partitions, consumers } = queueSensors;
    await exposition.sensor(
      partitions,
      lines(profiles, ({ labels, snapshot }) => sample(partitions.name, labels, snapshot.partitions.length)),
    );
    await exposition.sensor(
      consumers,
      lines(profiles, ({ labels, snapshot }) => {
        const vital = snapshot.registrations.filter((registration) => registration.vital).length;
        return (
          sample(consumers.name, `${labels},vital="true"`, vital) +
          sample(consumers.name, `${labels},vital="false"`, snapshot.registrations.length - vital)
        );
      }),
    );
    for (const field of partitionFields) {
      const sensor = queuePartitionSensors[field];
      await exposition.sensor(sensor, partitionLines(profiles, sensor.name, field));
    }
  }

  #profileOf(snapshot: QueueSnapshot): QueueProfile {
    const key = referenceToString(snapshot.reference);
    const tag = snapshot.row.profilingTag;
    const count = snapshot.partitions.length;
    let profile = this.#profiles.get(key);
    if (profile === undefined || profile.tag !== tag) {
      profile = { tag, labels: queueLabelText(snapshot), partitions: [], snapshot };
      this.#profiles.set(key, profile);
    }
    if (profile.partitions.length !== count) {
      const kept = profile.partitions;
      profile.partitions = Array.from({ length: count }, (_, index) => kept[index] ?? emptyPartition());
    }
    return profile;
  }
}

/** The labels that tell a queue. */
export function queueLabelText({ reference, row }: Pick<QueueSnapshot, "reference" | "row">): string {
  return labelText({
    queue_cluster: reference.cluster,
    queue_path: pathLabel(reference.path),
    queue_tag: tagLabel(row.profilingTag),
  });
}

const partitionFields = [
  "rowsWritten",
  "rowsTrimmed",
  "dataWeightWritten",
  "rowCount",
  "dataWeight",
] as const;

function recordPartition(
  profile: PartitionProfile,
  before: QueuePartitionSnapshot,
  after: QueuePartitionSnapshot,
): void {
  if ((before === after && profile.seen === after) || before.error !== null || after.error !== null) {
    return;
  }
  profile.seen = after;
  profile.rowsWritten += advance(before.upperRowIndex, after.upperRowIndex);
  profile.rowsTrimmed += advance(before.lowerRowIndex, after.lowerRowIndex);
  profile.dataWeightWritten += advance(countedWeight(before), countedWeight(after));
  profile.rowCount = after.upperRowIndex - after.lowerRowIndex;
  if (after.cumulativeDataWeight !== null && after.trimmedDataWeight !== null) {
    profile.dataWeight = after.cumulativeDataWeight - after.trimmedDataWeight;
  }
}

/** By how much a counted value has grown; what is unknown, or has fallen, counts as nothing. */
export function advance(before: bigint | null, after: bigint | null): bigint {
  return before === null || after === null ? 0n : greatest(0n, after - before);
}

function emptyPartition(): PartitionProfile {
  return {
    rowsWritten: 0n,
    rowsTrimmed: 0n,
    dataWeightWritten: 0n,
    rowCount: null,
    dataWeight: null,
    seen: null,
  };
}

function* lines<T>(profiles: Iterable<T>, line: (profile: T) => string): Iterable<string> {
  for (const profile of profiles) {
    yield line(profile);
  }
}

function* partitionLines(
  profiles: readonly QueueProfile[],
  name: string,
  field: (typeof partitionFields)[number],
): Iterable<string> {
  for (const { labels, partitions } of profiles) {
    for (const [index, partition] of partitions.entries()) {
      const value = partition[field];
      if (value !== null && partition.seen !== null) {
        yield sample(name, `${labels},partition_index="${index}"`, value);
      }
    }
  }
}
