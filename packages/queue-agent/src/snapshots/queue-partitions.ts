/**
 * The partitions of a queue's snapshot from what was read. A partition that did not change is the object of the
 * previous snapshot, so that a pass over thousands of quiet partitions makes next to nothing new.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueSnapshotBuildSession).
 */
import { YtError } from "@qyt/base";
import type { ErrorOrigin } from "./error-origin.ts";
import type { QueueLayout, TabletInfo, TabletPlace } from "./queue-layout.ts";
import {
  countedWeight,
  type QueuePartitionSnapshot,
  type QueueSnapshot,
  type WriteRates,
  writeRatesAt,
} from "./queue-snapshot.ts";
import { noWeights, type Weights } from "./queue-weights.ts";
import { emptyRateCounter, isSettled, updateRateCounter } from "./rates.ts";

export interface QueueReading {
  readonly layout: QueueLayout;
  /** Of each readable tablet its counts, or why they could not be read. */
  readonly infos: ReadonlyMap<number, TabletInfo | YtError>;
  readonly weights: ReadonlyMap<number, Weights>;
}

const emptyWriteRates: WriteRates = { rowCount: emptyRateCounter, dataWeight: emptyRateCounter };

/** @returns the list of the previous snapshot itself when nothing in it has changed */
export function queuePartitions(
  reading: QueueReading,
  previous: QueueSnapshot | undefined,
  nowMs: number,
  origin: Pick<ErrorOrigin, "again">,
): readonly QueuePartitionSnapshot[] {
  const before = previous?.partitions ?? [];
  const previousMs = previous?.passInstantMs ?? nowMs;
  const partitions = reading.layout.tablets.map((tablet, index) => {
    const info = reading.infos.get(index);
    return info === undefined || info instanceof YtError
      ? unreadable(tablet, index, info, before[index], origin)
      : readable(tablet, index, info, reading.weights.get(index) ?? noWeights, {
          before: before[index],
          previousMs,
          nowMs,
        });
  });
  const isSame =
    partitions.length === before.length &&
    partitions.every((partition, index) => partition === before[index]);
  return isSame ? before : partitions;
}

function unreadable(
  tablet: TabletPlace,
  partitionIndex: number,
  reason: YtError | undefined,
  before: QueuePartitionSnapshot | undefined,
  origin: Pick<ErrorOrigin, "again">,
): QueuePartitionSnapshot {
  const error = origin.again(
    reason ??
      new YtError(`Tablet ${tablet.tabletId} is not mounted or frozen`, {
        attributes: { state: tablet.state },
      }),
    before?.error,
  );
  return before !== undefined && error === before.error && isSamePlace(tablet, before)
    ? before
    : {
        partitionIndex,
        error,
        tabletId: tablet.tabletId,
        tabletState: tablet.state,
        cellId: tablet.cellId,
        host: tablet.host,
        lowerRowIndex: 0n,
        upperRowIndex: 0n,
        lastWriteTimestamp: 0n,
        cumulativeDataWeight: null,
        trimmedDataWeight: null,
        writeRates: emptyWriteRates,
      };
}

interface Moment {
  readonly before: QueuePartitionSnapshot | undefined;
  /** Unix milliseconds of the previous pass and of this one. */
  readonly previousMs: number;
  readonly nowMs: number;
}

function readable(
  tablet: TabletPlace,
  partitionIndex: number,
  info: TabletInfo,
  weights: Weights,
  moment: Moment,
): QueuePartitionSnapshot {
  const { before } = moment;
  if (before !== undefined && isUnchanged(tablet, info, weights, before)) {
    return before;
  }
  return {
    partitionIndex,
    error: null,
    tabletId: tablet.tabletId,
    tabletState: tablet.state,
    cellId: tablet.cellId,
    host: tablet.host,
    lowerRowIndex: info.lowerRowIndex,
    upperRowIndex: info.upperRowIndex,
    lastWriteTimestamp: info.lastWriteTimestamp,
    cumulativeDataWeight: weights.cumulativeDataWeight,
    trimmedDataWeight: weights.trimmedDataWeight,
    writeRates: nextRates(info, weights, moment),
  };
}

function nextRates(info: TabletInfo, weights: Weights, { before, previousMs, nowMs }: Moment): WriteRates {
  const rates =
    before === undefined || before.error !== null ? emptyWriteRates : writeRatesAt(before, previousMs);
  const weight = countedWeight({
    upperRowIndex: info.upperRowIndex,
    cumulativeDataWeight: weights.cumulativeDataWeight,
  });
  return {
    rowCount: updateRateCounter(rates.rowCount, Number(info.upperRowIndex), nowMs),
    dataWeight:
      weight === null ? rates.dataWeight : updateRateCounter(rates.dataWeight, Number(weight), nowMs),
  };
}

function isUnchanged(
  tablet: TabletPlace,
  info: TabletInfo,
  weights: Weights,
  before: QueuePartitionSnapshot,
): boolean {
  return (
    before.error === null &&
    before.upperRowIndex === info.upperRowIndex &&
    before.lowerRowIndex === info.lowerRowIndex &&
    before.lastWriteTimestamp === info.lastWriteTimestamp &&
    before.cumulativeDataWeight === weights.cumulativeDataWeight &&
    before.trimmedDataWeight === weights.trimmedDataWeight &&
    isSettled(before.writeRates.rowCount) &&
    isSettled(before.writeRates.dataWeight) &&
    isSamePlace(tablet, before)
  );
}

function isSamePlace(tablet: TabletPlace, before: QueuePartitionSnapshot): boolean {
  return (
    before.tabletId === tablet.tabletId &&
    before.tabletState === tablet.state &&
    before.cellId === tablet.cellId &&
    before.host === tablet.host
  );
}
