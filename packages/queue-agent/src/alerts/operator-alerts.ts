/**
 * Alerts of qyt that operators ask for: a vital consumer that holds data back, a consumer that lost rows to
 * trimming, a consumer that has stopped reading. Pure functions of the snapshots.
 *
 * Each lasts as long as its cause, and begins when the cause has lasted for its threshold (`controller/…` in
 * the dynamic configuration), so that a queue that is merely slow, or new, has none.
 */
import { type YsonValue, YtError } from "@qyt/base";
import { timestampSeconds } from "@qyt/schema";
import type { ControllerConfig } from "../config/dynamic-config.ts";
import { greatest } from "../integers.ts";
import { referenceToString } from "../objects/reference.ts";
import { type ConsumerLookup, concerns, consumerAttributes, keyOf } from "../objects/registrations.ts";
import type { RegistrationRow } from "../objects/state-rows.ts";
import type { ConsumerPartitionSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import type { Alert, AlertKind } from "./alert.ts";
import { alertKinds } from "./alert-kinds.ts";

export type OperatorThresholds = Pick<
  ControllerConfig,
  "stuckVitalConsumerThresholdMs" | "lostRowsThresholdMs" | "stuckOffsetThresholdMs"
>;

/** One partition as its queue and one of its consumers see it. */
interface ReadPartition {
  readonly index: number;
  readonly queue: QueuePartitionSnapshot;
  readonly consumer: ConsumerPartitionSnapshot;
}

/** Partitions of one consumer with the same trouble. */
interface Finding {
  readonly partitions: number[];
  rowCount: bigint;
  /** Bytes; `null` when unknown in one of them. */
  dataWeight: bigint | null;
  /** Of the partition where it lasts longest. */
  durationMs: number;
}

/** @param nowMs Unix milliseconds */
export function operatorAlerts(
  queue: QueueSnapshot,
  consumer: ConsumerLookup,
  nowMs: number,
  thresholds: OperatorThresholds,
): readonly Alert[] {
  if (queue.error !== null) {
    return [];
  }
  const readers = queue.registrations.map((registration) => ({
    registration,
    partitions: readPartitions(queue, registration, consumer),
  }));
  const holders = smallestVitalOffsets(readers);
  const alerts: Alert[] = [];
  for (const { registration, partitions } of readers) {
    const name = referenceToString(registration.consumer);
    const add = (kind: AlertKind, finding: Finding | null, text: (found: Finding) => string): void => {
      if (finding !== null) {
        alerts.push(alertOf(kind, registration, finding, text(finding)));
      }
    };
    if (registration.vital && queue.row.autoTrimConfig?.enable === true) {
      const held = partitions.filter(({ index, consumer }) => holders.get(index) === consumer.nextRowIndex);
      add(
        alertKinds.vitalConsumerHoldsData,
        unmoved(held, nowMs, thresholds.stuckVitalConsumerThresholdMs),
        ({ rowCount, dataWeight, durationMs }) =>
          `Vital consumer ${name} has not moved for ${seconds(durationMs)} and keeps ${rowCount} rows` +
          `${dataWeight === null ? "" : ` (${dataWeight} bytes)`} from being trimmed: let it read, or register it with vital=%false`,
      );
    }
    add(
      alertKinds.consumerLostRows,
      lost(partitions, nowMs, thresholds.lostRowsThresholdMs),
      ({ rowCount }) =>
        `${rowCount} rows were trimmed that consumer ${name} had not read: they are gone; ` +
        "register it with vital=%true or retain more (@auto_trim_config, max_data_ttl) to keep such rows in future",
    );
    add(
      alertKinds.consumerOffsetStuck,
      unmoved(partitions, nowMs, thresholds.stuckOffsetThresholdMs),
      ({ rowCount, durationMs }) =>
        `Consumer ${name} has ${rowCount} unread rows and its offset has not moved for ${seconds(durationMs)}: ` +
        "see whether its readers run and advance it, or unregister it",
    );
  }
  return alerts;
}

function readPartitions(
  queue: QueueSnapshot,
  registration: RegistrationRow,
  consumer: ConsumerLookup,
): readonly ReadPartition[] {
  const snapshot = consumer(registration.consumer);
  const sub = snapshot?.error === null ? snapshot.queues.get(keyOf(registration)) : undefined;
  const result: ReadPartition[] = [];
  if (sub?.error !== null) {
    return result;
  }
  for (const [index, partition] of queue.partitions.entries()) {
    const read = sub.partitions[index];
    if (read?.error === null && partition.error === null && concerns(registration, index)) {
      result.push({ index, queue: partition, consumer: read });
    }
  }
  return result;
}

/** By partition the offset that trimming waits for. */
function smallestVitalOffsets(
  readers: readonly {
    readonly registration: RegistrationRow;
    readonly partitions: readonly ReadPartition[];
  }[],
): ReadonlyMap<number, bigint> {
  const result = new Map<number, bigint>();
  for (const { registration, partitions } of readers) {
    for (const { index, consumer } of registration.vital ? partitions : []) {
      const known = result.get(index);
      if (known === undefined || consumer.nextRowIndex < known) {
        result.set(index, consumer.nextRowIndex);
      }
    }
  }
  return result;
}

/** Partitions with rows to read whose offset has not moved since these rows were there. */
function unmoved(partitions: readonly ReadPartition[], nowMs: number, thresholdMs: number): Finding | null {
  return collect(partitions, thresholdMs, ({ queue, consumer }) => {
    const first = greatest(consumer.nextRowIndex, queue.lowerRowIndex);
    const rowCount = queue.upperRowIndex - first;
    const sinceMs = Math.max(consumer.offsetSinceMs, unreadSinceMs(queue, consumer));
    return { rowCount, dataWeight: unreadDataWeight(queue, consumer), durationMs: nowMs - sinceMs };
  });
}

/** Partitions where the next row to read is one that was trimmed. */
function lost(partitions: readonly ReadPartition[], nowMs: number, thresholdMs: number): Finding | null {
  return collect(partitions, thresholdMs, ({ queue, consumer }) => ({
    rowCount: queue.lowerRowIndex - consumer.nextRowIndex,
    dataWeight: null,
    durationMs: nowMs - consumer.offsetSinceMs,
  }));
}

function collect(
  partitions: readonly ReadPartition[],
  thresholdMs: number,
  examine: (partition: ReadPartition) => Omit<Finding, "partitions">,
): Finding | null {
  let finding: Finding | null = null;
  for (const partition of partitions) {
    const { rowCount, dataWeight, durationMs } = examine(partition);
    if (rowCount <= 0n || durationMs < thresholdMs) {
      continue;
    }
    if (finding === null) {
      finding = { partitions: [partition.index], rowCount, dataWeight, durationMs };
      continue;
    }
    finding.partitions.push(partition.index);
    finding.rowCount += rowCount;
    finding.dataWeight =
      finding.dataWeight === null || dataWeight === null ? null : finding.dataWeight + dataWeight;
    finding.durationMs = Math.max(finding.durationMs, durationMs);
  }
  return finding;
}

/** Unix milliseconds since when there surely are unread rows; 0 when that is unknown. */
function unreadSinceMs(queue: QueuePartitionSnapshot, consumer: ConsumerPartitionSnapshot): number {
  const isLastRow = queue.upperRowIndex - consumer.nextRowIndex === 1n;
  const timestamp = consumer.nextRowTimestamp ?? (isLastRow ? queue.lastWriteTimestamp : null);
  return timestamp === null ? 0 : timestampSeconds(timestamp) * 1_000;
}

function unreadDataWeight(queue: QueuePartitionSnapshot, consumer: ConsumerPartitionSnapshot): bigint | null {
  // The weight up to the first row that is there is not known exactly; `trimmedDataWeight` includes that row.
  const read =
    consumer.nextRowIndex <= queue.lowerRowIndex ? queue.trimmedDataWeight : consumer.cumulativeDataWeight;
  return queue.cumulativeDataWeight === null || read === null ? null : queue.cumulativeDataWeight - read;
}

function alertOf(kind: AlertKind, registration: RegistrationRow, finding: Finding, message: string): Alert {
  const attributes: Record<string, YsonValue | undefined> = {
    row_count: finding.rowCount,
    data_weight: finding.dataWeight ?? undefined,
    duration: BigInt(Math.round(finding.durationMs)),
    partitions: finding.partitions.map((index) => BigInt(index)),
  };
  const tags = new Map(Object.entries(consumerAttributes(registration)));
  return { kind, error: new YtError(message, { attributes }), tags };
}

function seconds(ms: number): string {
  return `${Math.floor(ms / 1_000)} seconds`;
}
