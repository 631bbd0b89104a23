/**
 * What the jobs' reports say of the whole pipeline: how far every stream is, the watermarks that are broadcast, and
 * whether the pipeline is drained or completed. Pure but for what it remembers: watermarks never go back.
 * Specified in: yt/yt/flow/library/cpp/controller/job_manager.cpp, computation/controller_base.cpp.
 */
import { toYtError, type YtError } from "@qyt/base";
import type { ComputationId, FlowTimestamp, JobId } from "../model/message.ts";
import { infiniteTimestamp, maxTimestamp, minTimestamp, undefinedTimestamp } from "../model/timestamps.ts";
import type { StreamReport, Traverse, WatermarkState } from "../protocol/protocol.ts";
import type { ComputationSpec } from "../spec/computation-spec.ts";
import type { PipelineSpec } from "../spec/pipeline-spec.ts";
import { globalStreamName, streamsOf } from "../spec/stream-graph.ts";
import { aggregate, aggregateSource, monotone, type PartitionView } from "../watermarks/aggregation.ts";
import { completedTraverse, isAtLeast, mergeTraverse } from "../watermarks/traverse.ts";
import type { Layout, Partition } from "./layout.ts";
import type { TrackedStatus } from "./workers.ts";

export interface ProgressView {
  readonly spec: PipelineSpec;
  readonly layout: Layout;
  readonly statuses: ReadonlyMap<JobId, TrackedStatus>;
  /** Of the specs and the layout that jobs should know: reports of an older one say nothing of the end. */
  readonly epoch: bigint;
  readonly now: FlowTimestamp;
}

export interface ProgressReport {
  /** By global stream name. */
  readonly streams: ReadonlyMap<string, Traverse>;
  readonly watermarks: WatermarkState;
  readonly isDrained: boolean;
  readonly isCompleted: boolean;
  /** Everything with a smaller system time was processed by all: rows that only recognise it can go. */
  readonly inputSystemWatermark: FlowTimestamp;
  /** By status path, for what holds the pipeline back. */
  readonly errors: ReadonlyMap<string, YtError>;
}

const nothing: Omit<StreamReport, "state" | "epoch" | "systemWatermark" | "eventWatermark"> = {
  inflight: {
    count: 0,
    byteSize: 0,
    idleDuration: undefined,
    lastIdleTimestamp: undefined,
    unavailableInstant: undefined,
  },
};

export class ProgressTracker {
  /** By global stream name. */
  #streams = new Map<string, Traverse>();
  #inputSystemWatermark: FlowTimestamp = undefinedTimestamp;

  constructor(streams: ReadonlyMap<string, Traverse> = new Map()) {
    this.#streams = new Map(streams);
  }

  get streams(): ReadonlyMap<string, Traverse> {
    return this.#streams;
  }

  update(view: ProgressView): ProgressReport {
    const errors = new Map<string, YtError>();
    const streams = new Map<string, Traverse>();
    let isWhole = true;
    for (const [computationId, computation] of view.spec.computations) {
      try {
        const found = this.#aggregate(view, computationId, computation);
        for (const [name, traverse] of found.streams) {
          streams.set(name, monotone(this.#streams.get(name), traverse));
        }
        if (found.stall !== undefined) {
          errors.set(`/computations/${computationId}/idle_partitions_watermark_stall`, found.stall);
        }
      } catch (thrown) {
        isWhole = false;
        errors.set(`/computations/${computationId}/traverse`, toYtError(thrown));
      }
    }
    for (const [name, traverse] of this.#streams) {
      if (!streams.has(name) && isKnown(view.spec, name)) {
        streams.set(name, { ...traverse, state: "active" });
      }
    }
    this.#streams = streams;
    const united = isWhole ? unite(streams.values()) : undefined;
    const isCurrent = united !== undefined && united.epoch === view.epoch;
    return {
      streams,
      watermarks: this.#watermarks(view),
      isDrained: isCurrent && isAtLeast(united.state, "drained"),
      isCompleted: isCurrent && united.state === "completed" && everythingEnded(view.layout),
      inputSystemWatermark: this.#advanceInputWatermark(view, streams),
      errors,
    };
  }

  #aggregate(
    view: ProgressView,
    computationId: ComputationId,
    computation: ComputationSpec,
  ): { readonly streams: ReadonlyMap<string, Traverse>; readonly stall: YtError | undefined } {
    const kinds = streamsOf(computation);
    // Outputs of interrupting partitions hold their streams back too: they still hand out.
    const partitions = view.layout
      .partitionsOf(computationId)
      .filter((partition) => partition.state !== "interrupted");
    const views = partitions.map((partition) => this.#view(view, computation, partition));
    const isSource = computation.sourceStreams.size > 0;
    const generator = computation.watermarkStrategy.watermarkGenerator;
    const found = isSource
      ? aggregateSource(computationId, views, generator)
      : { streams: aggregate(computationId, views), stall: undefined };
    const named = new Map<string, Traverse>();
    for (const [streamId, traverse] of found.streams) {
      const kind = kinds.get(streamId);
      if (kind !== undefined && kind !== "input") {
        named.set(globalStreamName(computationId, streamId, kind), traverse);
      }
    }
    return { streams: named, stall: found.stall };
  }

  /** What a partition says of its streams: its report, its end, or, before the first report, what was known. */
  #view(view: ProgressView, computation: ComputationSpec, partition: Partition): PartitionView {
    const status =
      partition.currentJobId === undefined ? undefined : view.statuses.get(partition.currentJobId);
    const streams = new Map<string, StreamReport>();
    for (const [streamId, kind] of streamsOf(computation)) {
      const report = status?.streams.get(streamId);
      if (partition.state === "completed") {
        streams.set(streamId, { ...completedTraverse(view.epoch, view.now), ...nothing });
      } else if (report !== undefined && status?.error === undefined) {
        streams.set(streamId, report);
      } else {
        const known = this.#streams.get(globalStreamName(partition.computationId, streamId, kind));
        streams.set(streamId, {
          epoch: 0n,
          state: "active",
          systemWatermark: known?.systemWatermark ?? undefinedTimestamp,
          eventWatermark: known?.eventWatermark ?? undefinedTimestamp,
          ...nothing,
        });
      }
    }
    return {
      partitionId: partition.partitionId,
      availabilityGroup: "default",
      streams,
      areInputsCompleted: computation.sourceStreams.size > 0,
    };
  }

  #watermarks(view: ProgressView): WatermarkState {
    const streams = new Map(
      [...this.#streams].map(([name, { systemWatermark, eventWatermark }]) => [
        name,
        { systemWatermark, eventWatermark },
      ]),
    );
    const groups = new Map<string, FlowTimestamp>();
    for (const computation of view.spec.computations.values()) {
      const name = computation.watermarkStrategy.watermarkAlignment?.groupName;
      for (const output of name === undefined ? [] : computation.outputStreamIds) {
        const watermark = streams.get(output)?.eventWatermark ?? undefinedTimestamp;
        groups.set(name ?? "", minTimestamp(groups.get(name ?? "") ?? infiniteTimestamp, watermark));
      }
    }
    return { currentTimestamp: view.now, streams, alignmentGroups: groups };
  }

  #advanceInputWatermark(view: ProgressView, streams: ReadonlyMap<string, Traverse>): FlowTimestamp {
    const names = new Set(
      [...view.spec.computations.values()].flatMap((item) => [
        ...item.outputStreamIds,
        ...item.inputStreamIds,
      ]),
    );
    let least = infiniteTimestamp;
    for (const name of names) {
      least = minTimestamp(least, streams.get(name)?.systemWatermark ?? undefinedTimestamp);
    }
    if (names.size > 0) {
      this.#inputSystemWatermark = maxTimestamp(this.#inputSystemWatermark, least);
    }
    return this.#inputSystemWatermark;
  }
}

function unite(streams: Iterable<Traverse>): Traverse | undefined {
  let united: Traverse | undefined;
  for (const traverse of streams) {
    united = united === undefined ? traverse : mergeTraverse(united, traverse);
  }
  return united;
}

function everythingEnded(layout: Layout): boolean {
  return [...layout.partitions.values()].every(
    (partition) => partition.state === "completed" || partition.state === "interrupted",
  );
}

function isKnown(spec: PipelineSpec, name: string): boolean {
  for (const [computationId, computation] of spec.computations) {
    for (const [streamId, kind] of streamsOf(computation)) {
      if (globalStreamName(computationId, streamId, kind) === name) {
        return true;
      }
    }
  }
  return false;
}
