/**
 * What a queue's snapshot looks like in `@queue_status` and `@queue_partitions`.
 *
 * Specified in: yt/yt/server/queue_agent/snapshot_representation.cpp; the Queue API document.
 */
import { mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { referenceToString } from "../objects/reference.ts";
import type { RegistrationRow } from "../objects/state-rows.ts";
import { durationSince, instantFromMs, timestampToMs } from "./instants.ts";
import { type QueuePartitionSnapshot, type QueueSnapshot, writeRatesAt } from "./queue-snapshot.ts";
import { aggregateRateCounters, rateCounterToYson } from "./rates.ts";

export interface QueueStatusParts {
  /** The host that answers. */
  readonly host: string;
  /** Category → error. */
  readonly alerts: YsonMap;
  /** `{progress=…}` or `{error=…}`. */
  readonly exports: YsonValue;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** The status without a snapshot: the error alone, with what is always there. */
export function queueErrorStatus(error: YtError, { host, alerts, exports }: QueueStatusParts): YsonMap {
  return mapOf({ queue_agent_host: host, alerts, exports, error: errorToYson(error) });
}

export function queueStatusToYson(snapshot: QueueSnapshot, parts: QueueStatusParts): YsonMap {
  if (snapshot.error !== null) {
    return queueErrorStatus(snapshot.error, parts);
  }
  const { host, alerts, exports, nowMs } = parts;
  const rates = snapshot.partitions
    .filter((partition) => partition.error === null)
    .map((partition) => writeRatesAt(partition, snapshot.passInstantMs));
  return mapOf({
    queue_agent_host: host,
    alerts,
    exports,
    family: "ordered_dynamic_table",
    partition_count: BigInt(snapshot.partitions.length),
    registrations: registrationsToYson(snapshot.registrations),
    has_timestamp_column: snapshot.hasTimestampColumn,
    has_cumulative_data_weight_column: snapshot.hasCumulativeDataWeightColumn,
    write_row_count_rate: rateCounterToYson(
      aggregateRateCounters(rates.map(({ rowCount }) => rowCount)),
      nowMs,
    ),
    write_data_weight_rate: rateCounterToYson(
      aggregateRateCounters(rates.map(({ dataWeight }) => dataWeight)),
      nowMs,
    ),
  });
}

/** One map a partition; none when the snapshot is in error. */
export function queuePartitionsToYson(snapshot: QueueSnapshot, nowMs: number): YsonValue[] {
  return snapshot.partitions.map((partition) => partitionToYson(partition, snapshot.passInstantMs, nowMs));
}

function partitionToYson(partition: QueuePartitionSnapshot, passInstantMs: number, nowMs: number): YsonMap {
  if (partition.error !== null) {
    return mapOf({ error: errorToYson(partition.error) });
  }
  const { cumulativeDataWeight, trimmedDataWeight } = partition;
  const rates = writeRatesAt(partition, passInstantMs);
  const lastCommitMs = timestampToMs(partition.lastWriteTimestamp);
  return mapOf({
    lower_row_index: partition.lowerRowIndex,
    upper_row_index: partition.upperRowIndex,
    available_row_count: partition.upperRowIndex - partition.lowerRowIndex,
    last_row_commit_time: instantFromMs(lastCommitMs),
    commit_idle_time: durationSince(lastCommitMs, nowMs),
    cumulative_data_weight: cumulativeDataWeight,
    trimmed_data_weight: trimmedDataWeight,
    available_data_weight:
      cumulativeDataWeight === null || trimmedDataWeight === null
        ? null
        : cumulativeDataWeight - trimmedDataWeight,
    write_row_count_rate: rateCounterToYson(rates.rowCount, nowMs),
    write_data_weight_rate: rateCounterToYson(rates.dataWeight, nowMs),
    meta: mapOf({ cell_id: partition.cellId, host: partition.host }),
  });
}

/** `{queue; consumer; vital}` of each, in the order of queue, consumer and name. */
export function registrationsToYson(registrations: readonly RegistrationRow[]): YsonValue[] {
  return registrations
    .map((registration) => ({
      queue: referenceToString(registration.queue),
      consumer: referenceToString(registration.consumer),
      registration,
    }))
    .sort((left, right) => compare(left.queue, right.queue) || compare(left.consumer, right.consumer))
    .map(({ queue, consumer, registration }) =>
      mapOf({
        queue,
        consumer,
        vital: registration.vital,
        queue_consumer_name: registration.consumerName ?? undefined,
      }),
    );
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

/** @throws never; for objects that no pass has seen yet */
export function notProcessedYet(kind: "Queue" | "Consumer"): YtError {
  return new YtError(`${kind} is not processed yet`);
}
