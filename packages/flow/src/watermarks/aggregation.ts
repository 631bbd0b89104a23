/**
 * What the controller makes of the partitions of one computation: each stream is as far as its last partition,
 * but for those that are hidden because they are unavailable, idle or late.
 *
 * Pure: a view of the partitions in, streams and a stall out.
 * Specified in: yt/yt/flow/library/cpp/computation/controller_base.cpp; documentation "Flow", spec.
 */
import { YtError } from "@qyt/base";
import type { FlowTimestamp } from "../model/message.ts";
import { maxTimestamp, minTimestamp, minusSeconds, undefinedTimestamp } from "../model/timestamps.ts";
import type { StreamReport, Traverse } from "../protocol/protocol.ts";
import type { WatermarkStrategy } from "../spec/watermark-strategy.ts";
import { mergeTraverse } from "./traverse.ts";

export interface PartitionView {
  readonly partitionId: string;
  /** The group that becomes unavailable as a whole. The queue source has one group for all. */
  readonly availabilityGroup: string;
  /** By stream id. */
  readonly streams: ReadonlyMap<string, StreamReport>;
  /** Whether the input streams are completed; of a source, always. */
  readonly areInputsCompleted: boolean;
}

export interface Aggregated {
  readonly streams: ReadonlyMap<string, Traverse>;
  /** For `/idle_partitions_watermark_stall`: set when too many partitions are idle for the watermark to go on. */
  readonly stall: YtError | undefined;
}

type Generator = NonNullable<WatermarkStrategy["watermarkGenerator"]>;

/** @throws YtError 1 when there is no partition at all: a `partition_filter` that lets none through */
export function aggregateSource(
  computationId: string,
  partitions: readonly PartitionView[],
  generator: Generator | undefined,
): Aggregated {
  checkPresence(computationId, partitions);
  if (generator === undefined) {
    return { streams: mergeAll(partitions), stall: undefined };
  }
  const bound = generator.outOfOrdernessBound / 1_000;
  let views = hideUnavailable(partitions, generator, bound);
  const idle = hideIdle(views, generator, bound);
  views = hideLate(idle.views, generator);
  return { streams: mergeAll(views), stall: idle.stall };
}

/** Computations without sources: the least of all partitions. @throws YtError 1 when there is none */
export function aggregate(
  computationId: string,
  partitions: readonly PartitionView[],
): ReadonlyMap<string, Traverse> {
  checkPresence(computationId, partitions);
  return mergeAll(partitions);
}

/** A new report never lowers what was said of a stream. */
export function monotone(before: Traverse | undefined, now: Traverse): Traverse {
  return before === undefined
    ? now
    : {
        ...now,
        systemWatermark: maxTimestamp(before.systemWatermark, now.systemWatermark),
        eventWatermark: maxTimestamp(before.eventWatermark, now.eventWatermark),
      };
}

function checkPresence(computationId: string, partitions: readonly PartitionView[]): void {
  if (partitions.length === 0) {
    throw new YtError(
      `Computation "${computationId}" has no partitions to process: check the partition filter, ` +
        `and that the queue has partitions`,
    );
  }
}

function mergeAll(partitions: readonly PartitionView[]): ReadonlyMap<string, Traverse> {
  const merged = new Map<string, Traverse>();
  for (const { streams } of partitions) {
    for (const [streamId, report] of streams) {
      const known = merged.get(streamId);
      const { epoch, state, systemWatermark, eventWatermark } = report;
      const traverse = { epoch, state, systemWatermark, eventWatermark };
      merged.set(streamId, known === undefined ? traverse : mergeTraverse(known, traverse));
    }
  }
  return merged;
}

/** Raises the event watermarks of a partition to `until − bound`, where they are lower. */
function hidden(view: PartitionView, until: FlowTimestamp, bound: number): PartitionView {
  const raised = minusSeconds(until, bound);
  const streams = [...view.streams].map(
    ([id, report]) =>
      [id, { ...report, eventWatermark: maxTimestamp(report.eventWatermark, raised) }] as const,
  );
  return { ...view, streams: new Map(streams) };
}

function unavailableSince(view: PartitionView): FlowTimestamp | undefined {
  const instants = [...view.streams.values()].map((report) => report.inflight.unavailableInstant);
  return instants.find((instant) => instant !== undefined);
}

function hideUnavailable(
  views: readonly PartitionView[],
  { unavailablePartitionGroups: limits }: Generator,
  bound: number,
): readonly PartitionView[] {
  const groups = new Map<string, PartitionView[]>();
  for (const view of views) {
    groups.set(view.availabilityGroup, [...(groups.get(view.availabilityGroup) ?? []), view]);
  }
  /** Since when, of groups that are unavailable as a whole. */
  const since = new Map<string, FlowTimestamp>();
  for (const [name, members] of groups) {
    const instants = members.map(unavailableSince);
    const known = instants.filter((instant) => instant !== undefined);
    const [first, ...rest] = known;
    if (first !== undefined && known.length === members.length) {
      since.set(name, rest.reduce(minTimestamp, first));
    }
  }
  const isTolerated =
    since.size <= limits.maxUnavailableGroups && groups.size - since.size >= limits.minAvailableGroups;
  if (!isTolerated) {
    return views;
  }
  return views.map((view) => {
    const instant = since.get(view.availabilityGroup);
    return instant === undefined ? view : hidden(view, instant, bound);
  });
}

function hideIdle(
  views: readonly PartitionView[],
  { idlePartitions: limits }: Generator,
  bound: number,
): { readonly views: readonly PartitionView[]; readonly stall: YtError | undefined } {
  if (limits === undefined) {
    return { views, stall: undefined };
  }
  const idle = views.filter((view) => isIdle(view, limits.duration / 1_000));
  const limit = Math.floor(limits.maxRatio * views.length);
  if (idle.length > limit) {
    const stall =
      idle.length < views.length
        ? new YtError("Watermark cannot advance because too many source partitions are idle", {
            attributes: {
              idle_partition_count: BigInt(idle.length),
              max_idle_partition_count: BigInt(limit),
              partition_count: BigInt(views.length),
            },
          })
        : undefined;
    return { views, stall };
  }
  const isHidden = new Set(idle.map((view) => view.partitionId));
  return {
    views: views.map((view) => {
      const until = isHidden.has(view.partitionId) ? lastIdle(view) : undefined;
      return until === undefined ? view : hidden(view, until, bound);
    }),
    stall: undefined,
  };
}

function isIdle(view: PartitionView, durationSeconds: number): boolean {
  const reports = [...view.streams.values()];
  const durations = reports
    .map((report) => report.inflight.idleDuration)
    .filter((seconds) => seconds !== undefined);
  return (
    view.areInputsCompleted &&
    reports.every((report) => report.inflight.count === 0) &&
    durations.length > 0 &&
    durations.every((seconds) => seconds >= durationSeconds)
  );
}

function lastIdle(view: PartitionView): FlowTimestamp | undefined {
  const times = [...view.streams.values()].map((report) => report.inflight.lastIdleTimestamp);
  return times.find((time) => time !== undefined);
}

function hideLate(
  views: readonly PartitionView[],
  { lateDataPartitions: limits }: Generator,
): readonly PartitionView[] {
  const watermarks = views.map(eventWatermark).sort((left, right) => left - right);
  const [least] = watermarks;
  if (limits === undefined || least === undefined) {
    return views;
  }
  const index = Math.floor((watermarks.length * (100 - limits.value)) / 100);
  const percentile = watermarks[Math.min(index, watermarks.length - 1)] ?? least;
  const threshold = maxTimestamp(least, minusSeconds(percentile, limits.delay / 1_000));
  // The threshold is a watermark already, no time of events: no bound to take off.
  return views.map((view) => (eventWatermark(view) < threshold ? hidden(view, threshold, 0) : view));
}

function eventWatermark(view: PartitionView): FlowTimestamp {
  const [first, ...rest] = [...view.streams.values()].map((report) => report.eventWatermark);
  return first === undefined ? undefinedTimestamp : rest.reduce(minTimestamp, first);
}
