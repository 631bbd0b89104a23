/**
 * How many range partitions a computation has, and where they are cut: pure.
 * Specified in: yt/yt/flow/library/cpp/partitioning/input_partitioning.cpp, partitioning_coordinator.h.
 */
import { z } from "zod";
import type { KeyRange } from "../model/message.ts";
import { double, duration, integer, nested } from "../spec/fields.ts";

/** Dynamic parameters of a computation that concern its partitions, with their defaults. */
export const partitioningParameters = nested({
  desiredPartitionCount: integer({ min: 1 }).optional(),
  minPartitionCount: integer({ min: 1 }).optional(),
  maxPartitionCount: integer({ min: 1 }).optional(),
  sinkChannelMultiplier: integer({ min: 1 }).prefault(3),
  desiredAveragePartitionCpuLoad: double.prefault(0.1),
  desiredAveragePartitionMemoryUsed: double.prefault(300_000_000),
  desiredAveragePartitionMessagesPerSecond: double.prefault(10_000),
  desiredAveragePartitionBytesPerSecond: double.prefault(2_000_000),
  desiredAveragePartitionTimerCount: double.prefault(50_000),
  allowedPartitionCountDeviation: double.pipe(z.number().min(1.01).max(100)).prefault(1.1),
  partitionCountDoubleDelay: duration.prefault("20m"),
  partitionCountHalfDelay: duration.prefault("20m"),
});

export type PartitioningParameters = z.output<typeof partitioningParameters>;

const defaultMin = 3;
const defaultMax = 20_000;
const uint64Range = 1n << 64n;

/** What the count is decided by. */
export interface RangeView {
  readonly currentCount: number;
  readonly workerCount: number;
  /** The largest channel count of the sinks; `undefined` without sinks or while it is not known. */
  readonly maxSinkChannelCount: number | undefined;
  /** Averages over the partitions that report; `undefined` while too few do. */
  readonly load:
    | { readonly cpu: number; readonly messagesPerSecond: number; readonly bytesPerSecond: number }
    | undefined;
  /** For how long the pipeline has worked with these partitions, in milliseconds. */
  readonly steadyMs: number;
}

/** The count of partitions that should be; the current one when a change is not worth it, or not yet. */
export function rangeCount(parameters: PartitioningParameters, view: RangeView): number {
  if (parameters.desiredPartitionCount !== undefined) {
    return parameters.desiredPartitionCount;
  }
  const [min, max] = bounds(parameters);
  const suggestions = [...sinkSuggestion(parameters, view), ...loadSuggestions(parameters, view)];
  const wanted = suggestions.length === 0 ? view.workerCount : Math.max(...suggestions);
  const floor = suggestions.length === 0 ? 0 : Math.floor(view.currentCount / 2);
  const count = Math.min(max, Math.max(min, wanted, floor));
  const { currentCount } = view;
  if (currentCount < min || currentCount > max) {
    return count;
  }
  const deviation = parameters.allowedPartitionCountDeviation;
  const isClose = count <= currentCount * deviation && count >= currentCount / deviation;
  if (isClose || view.load === undefined) {
    return currentCount;
  }
  const factor = count > currentCount ? count / currentCount : currentCount / count;
  const reference =
    count > currentCount ? parameters.partitionCountDoubleDelay : parameters.partitionCountHalfDelay;
  const delay = Math.max((reference / Math.log(factor)) * Math.log(2), reference / 2);
  return view.steadyMs > delay ? count : currentCount;
}

/** The space of uint64 keys cut into equal ranges, without gaps. */
export function splitKeySpace(count: number): readonly KeyRange[] {
  const parts = BigInt(count);
  return Array.from({ length: count }, (_, index) => ({
    lower: (uint64Range * BigInt(index)) / parts,
    upper: index === count - 1 ? undefined : (uint64Range * BigInt(index + 1)) / parts,
  }));
}

/** Whether ranges cover the whole key space, each key once. */
export function coversKeySpace(ranges: readonly KeyRange[]): boolean {
  const sorted = [...ranges].sort((left, right) => (left.lower < right.lower ? -1 : 1));
  let end: bigint | undefined = 0n;
  for (const range of sorted) {
    if (range.lower !== end) {
      return false;
    }
    end = range.upper;
  }
  return sorted.length > 0 && end === undefined;
}

function bounds(parameters: PartitioningParameters): readonly [min: number, max: number] {
  const { minPartitionCount, maxPartitionCount } = parameters;
  const min = minPartitionCount ?? Math.min(defaultMin, maxPartitionCount ?? defaultMin);
  return [min, Math.max(min, maxPartitionCount ?? defaultMax)];
}

function sinkSuggestion(parameters: PartitioningParameters, view: RangeView): readonly number[] {
  return view.maxSinkChannelCount === undefined
    ? []
    : [Math.max(view.maxSinkChannelCount * parameters.sinkChannelMultiplier, view.workerCount)];
}

function loadSuggestions(parameters: PartitioningParameters, view: RangeView): readonly number[] {
  const { load, currentCount } = view;
  if (load === undefined || currentCount === 0) {
    return [];
  }
  const ratios = [
    load.cpu / parameters.desiredAveragePartitionCpuLoad,
    load.messagesPerSecond / parameters.desiredAveragePartitionMessagesPerSecond,
    load.bytesPerSecond / parameters.desiredAveragePartitionBytesPerSecond,
  ];
  return ratios.map((ratio) => {
    const count = Math.round(currentCount * ratio);
    // A count that falls does so step by step.
    return count < currentCount ? Math.min(count * 3, currentCount) : count;
  });
}
