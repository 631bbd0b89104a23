/**
 * The partitions of a consumer in one queue from what was read. As with queues, a partition that did not change
 * is the object of the previous snapshot.
 *
 * Specified in: yt/yt/server/queue_agent/consumer_controller.cpp (TSubConsumerSnapshotBuildSession).
 */
import { timestampFromMs } from "@qyt/schema";
import {
  type ConsumerPartitionSnapshot,
  countedReadWeight,
  type ReadRates,
  readRatesAt,
} from "./consumer-snapshot.ts";
import type { RowsAround } from "./next-rows.ts";
import type { OffsetRow } from "./offset-table.ts";
import type { QueuePartitionSnapshot } from "./queue-snapshot.ts";
import { emptyRateCounter, isSettled, updateRateCounter } from "./rates.ts";

export interface ConsumerReading {
  /** Of the queue. */
  readonly partitions: readonly QueuePartitionSnapshot[];
  /** By partition; none means offset 0. */
  readonly offsets: ReadonlyMap<number, OffsetRow> | undefined;
  readonly around: readonly RowsAround[];
  /** Of the consumer's table; `null` when the server does not tell. */
  readonly lastWriteTimestamp: bigint | null;
}

export interface ConsumerMoment {
  readonly before: readonly ConsumerPartitionSnapshot[];
  /** Unix milliseconds of the previous pass and of this one. */
  readonly previousMs: number;
  readonly nowMs: number;
}

const emptyReadRates: ReadRates = { rowCount: emptyRateCounter, dataWeight: emptyRateCounter };

export function consumerPartitions(
  reading: ConsumerReading,
  moment: ConsumerMoment,
): readonly ConsumerPartitionSnapshot[] {
  return reading.partitions.map((queue, index) => {
    const before = moment.before[index];
    const next = partitionOf(queue, reading, before, moment);
    return before !== undefined && isUnchanged(before, next) ? before : next;
  });
}

/** Nothing but time changes the partitions any more. */
export function areSettled(partitions: readonly ConsumerPartitionSnapshot[]): boolean {
  return partitions.every(
    ({ readRates }) => isSettled(readRates.rowCount) && isSettled(readRates.dataWeight),
  );
}

function partitionOf(
  queue: QueuePartitionSnapshot,
  { offsets, around, lastWriteTimestamp }: ConsumerReading,
  before: ConsumerPartitionSnapshot | undefined,
  moment: ConsumerMoment,
): ConsumerPartitionSnapshot {
  const { partitionIndex, error } = queue;
  const row = offsets?.get(partitionIndex);
  const nextRowIndex = row?.nextRowIndex ?? 0n;
  const rows = around[partitionIndex];
  const cumulativeDataWeight =
    error === null ? (rows?.cumulativeDataWeight ?? null) : (row?.cumulativeDataWeight ?? null);
  return {
    partitionIndex,
    error,
    nextRowIndex,
    lastConsumeTimestamp: consumeTimestampOf(row, before, lastWriteTimestamp, moment.nowMs),
    cumulativeDataWeight,
    nextRowTimestamp: error === null ? (rows?.nextRowTimestamp ?? null) : null,
    offsetSinceMs: before?.nextRowIndex === nextRowIndex ? before.offsetSinceMs : moment.nowMs,
    readRates:
      error === null ? nextRates({ nextRowIndex, cumulativeDataWeight }, before, moment) : emptyReadRates,
  };
}

function nextRates(
  position: Pick<ConsumerPartitionSnapshot, "nextRowIndex" | "cumulativeDataWeight">,
  before: ConsumerPartitionSnapshot | undefined,
  { previousMs, nowMs }: ConsumerMoment,
): ReadRates {
  const rates =
    before === undefined || before.error !== null ? emptyReadRates : readRatesAt(before, previousMs);
  const weight = countedReadWeight(position);
  return {
    rowCount: updateRateCounter(rates.rowCount, Number(position.nextRowIndex), nowMs),
    dataWeight:
      weight === null ? rates.dataWeight : updateRateCounter(rates.dataWeight, Number(weight), nowMs),
  };
}

function isUnchanged(before: ConsumerPartitionSnapshot, next: ConsumerPartitionSnapshot): boolean {
  return (
    before.error === next.error &&
    before.nextRowIndex === next.nextRowIndex &&
    before.lastConsumeTimestamp === next.lastConsumeTimestamp &&
    before.cumulativeDataWeight === next.cumulativeDataWeight &&
    before.nextRowTimestamp === next.nextRowTimestamp &&
    before.offsetSinceMs === next.offsetSinceMs &&
    areSettled([before])
  );
}

/**
 * When the offset was written. A server that does not tell it by row tells at least when the table was last
 * written: an offset that moved since the previous pass was written not later than that.
 */
function consumeTimestampOf(
  row: OffsetRow | undefined,
  before: ConsumerPartitionSnapshot | undefined,
  lastWriteTimestamp: bigint | null,
  nowMs: number,
): bigint {
  if (row === undefined) {
    return 0n;
  }
  if (row.consumeTimestamp !== null) {
    return row.consumeTimestamp;
  }
  return before?.nextRowIndex === row.nextRowIndex && before.lastConsumeTimestamp !== 0n
    ? before.lastConsumeTimestamp
    : (lastWriteTimestamp ?? timestampFromMs(nowMs));
}
