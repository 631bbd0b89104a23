/**
 * What a consumer looks like in `@queue_consumer_status` and `@queue_consumer_partitions`. Lag and disposition
 * are computed here, at reading, from the latest snapshots of both sides.
 *
 * Specified in: yt/yt/server/queue_agent/snapshot_representation.cpp. Of this project: the forms of
 * multi-consumers, `readable_row_count`, and what `expired` offsets show as their next row.
 */
import { mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import {
  type ConsumerPartitionSnapshot,
  type ConsumerSnapshot,
  readRatesAt,
  type SubConsumerSnapshot,
} from "./consumer-snapshot.ts";
import { dispositionOf, readableRowCount } from "./disposition.ts";
import { durationSince, instantFromMs, timestampToMs } from "./instants.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "./queue-snapshot.ts";
import { registrationsToYson } from "./queue-status.ts";
import { aggregateRateCounters, rateCounterToYson } from "./rates.ts";

export interface ConsumerStatusParts {
  readonly host: string;
  /** The latest snapshot of a queue in this process. */
  readonly queue: (reference: ObjectReference) => QueueSnapshot | undefined;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

function consumerErrorStatus(error: YtError, host: string): YsonMap {
  return mapOf({ queue_agent_host: host, error: errorToYson(error) });
}

/** Of a multi-consumer there is `consumers` in place of `queues`: name → `{queues=…}`. */
export function consumerStatusToYson(snapshot: ConsumerSnapshot, parts: ConsumerStatusParts): YsonMap {
  if (snapshot.error !== null) {
    return consumerErrorStatus(snapshot.error, parts.host);
  }
  if (snapshot.names instanceof YtError) {
    return consumerErrorStatus(snapshot.names, parts.host);
  }
  const { passInstantMs } = snapshot;
  const statusOf = (sub: SubConsumerSnapshot): YsonMap => subConsumerStatus(sub, passInstantMs, parts);
  return mapOf({
    queue_agent_host: parts.host,
    registrations: registrationsToYson(snapshot.registrations),
    ...(snapshot.row.isMultiConsumer
      ? { consumers: byName(snapshot, (subs) => mapOf({ queues: byQueue(subs, statusOf) })) }
      : { queues: byQueue([...snapshot.queues.values()], statusOf) }),
  });
}

/** Queue → list by partition; of a multi-consumer name → queue → list. An empty list when the snapshot is in error. */
export function consumerPartitionsToYson(snapshot: ConsumerSnapshot, parts: ConsumerStatusParts): YsonValue {
  if (snapshot.error !== null) {
    return [];
  }
  const partitionsOf = (sub: SubConsumerSnapshot): YsonValue =>
    subConsumerPartitions(sub, snapshot.passInstantMs, parts);
  return snapshot.row.isMultiConsumer
    ? byName(snapshot, (subs) => byQueue(subs, partitionsOf))
    : byQueue([...snapshot.queues.values()], partitionsOf);
}

function byQueue(
  subs: readonly SubConsumerSnapshot[],
  show: (sub: SubConsumerSnapshot) => YsonValue,
): YsonMap {
  return new Map(subs.map((sub) => [referenceToString(sub.queue), show(sub)]));
}

function byName(
  snapshot: ConsumerSnapshot,
  show: (subs: readonly SubConsumerSnapshot[]) => YsonValue,
): YsonMap {
  const groups = new Map<string, SubConsumerSnapshot[]>();
  for (const sub of snapshot.queues.values()) {
    const name = sub.consumerName ?? "";
    groups.set(name, [...(groups.get(name) ?? []), sub]);
  }
  return new Map([...groups].map(([name, subs]) => [name, show(subs)]));
}

function errorOf(sub: SubConsumerSnapshot, queue: QueueSnapshot | undefined): YtError | null {
  return (
    sub.error ??
    (queue === undefined
      ? new YtError(`Queue "${referenceToString(sub.queue)}" snapshot is missing`)
      : queue.error)
  );
}

function subConsumerStatus(
  sub: SubConsumerSnapshot,
  passInstantMs: number,
  { queue, nowMs }: ConsumerStatusParts,
): YsonMap {
  const error = errorOf(sub, queue(sub.queue));
  if (error !== null) {
    return mapOf({ error: errorToYson(error) });
  }
  const rates = sub.partitions
    .filter((partition) => partition.error === null)
    .map((partition) => readRatesAt(partition, passInstantMs));
  return mapOf({
    partition_count: BigInt(sub.partitions.length),
    read_row_count_rate: rateCounterToYson(
      aggregateRateCounters(rates.map(({ rowCount }) => rowCount)),
      nowMs,
    ),
    read_data_weight_rate: rateCounterToYson(
      aggregateRateCounters(rates.map(({ dataWeight }) => dataWeight)),
      nowMs,
    ),
  });
}

function subConsumerPartitions(
  sub: SubConsumerSnapshot,
  passInstantMs: number,
  { queue, nowMs }: ConsumerStatusParts,
): YsonValue {
  const snapshot = queue(sub.queue);
  if (snapshot === undefined || errorOf(sub, snapshot) !== null) {
    return [];
  }
  return sub.partitions.map((partition) =>
    partitionToYson(partition, snapshot.partitions[partition.partitionIndex], passInstantMs, nowMs),
  );
}

function partitionToYson(
  partition: ConsumerPartitionSnapshot,
  queue: QueuePartitionSnapshot | undefined,
  passInstantMs: number,
  nowMs: number,
): YsonMap {
  const { nextRowIndex, cumulativeDataWeight, nextRowTimestamp } = partition;
  const rates = readRatesAt(partition, passInstantMs);
  const lastConsumeMs = timestampToMs(partition.lastConsumeTimestamp);
  const error = partition.error ?? (queue === undefined ? unknownPartition(partition) : queue.error);
  if (error !== null || queue === undefined) {
    return mapOf({
      error: errorToYson(error ?? unknownPartition(partition)),
      next_row_index: nextRowIndex,
      last_consume_time: instantFromMs(lastConsumeMs),
    });
  }
  const nextCommitMs = nextRowTimestamp === null ? null : timestampToMs(nextRowTimestamp);
  return mapOf({
    next_row_index: nextRowIndex,
    last_consume_time: instantFromMs(lastConsumeMs),
    consume_idle_time: durationSince(lastConsumeMs, nowMs),
    disposition: dispositionOf(nextRowIndex, queue),
    unread_row_count: queue.upperRowIndex - nextRowIndex,
    readable_row_count: readableRowCount(nextRowIndex, queue),
    unread_data_weight:
      queue.cumulativeDataWeight === null || cumulativeDataWeight === null
        ? null
        : queue.cumulativeDataWeight - cumulativeDataWeight,
    cumulative_data_weight: cumulativeDataWeight,
    next_row_commit_time: nextCommitMs === null ? null : instantFromMs(nextCommitMs),
    processing_lag: nextCommitMs === null ? 0n : durationSince(nextCommitMs, nowMs),
    read_row_count_rate: rateCounterToYson(rates.rowCount, nowMs),
    read_data_weight_rate: rateCounterToYson(rates.dataWeight, nowMs),
  });
}

function unknownPartition({ partitionIndex }: ConsumerPartitionSnapshot): YtError {
  return new YtError(`The queue has no partition ${partitionIndex} any more`);
}
