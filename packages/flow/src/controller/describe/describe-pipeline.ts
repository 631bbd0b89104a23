/**
 * `describe-pipeline` and `describe-computation(s)`: the graph as a person wants to see it, with what is wrong at
 * each of its parts.
 * Specified in: yt/yt/flow/library/cpp/controller/describe/describe_pipeline.cpp, describe_computation.cpp.
 */
import { emptyMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { writeYsonText } from "@qyt/yson";
import type { ComputationId, StreamId } from "../../model/message.ts";
import type { ComputationSpec } from "../../spec/computation-spec.ts";
import type { PipelineSpec } from "../../spec/pipeline-spec.ts";
import { globalStreamName, streamsDependencyOf, streamsOf } from "../../spec/stream-graph.ts";
import { isAtLeast } from "../../watermarks/traverse.ts";
import { mapValues } from "../flow-view.ts";
import type { Leader } from "../leader.ts";
import type { TrackedStatus } from "../workers.ts";
import { type Message, messageToYson, retryableError, statusOf } from "./statuses.ts";

export function describePipeline(leader: Leader, statusOnly: boolean): YsonMap {
  const messages = pipelineMessages(leader);
  const spec = leader.parsed?.spec;
  const computations = [...(spec?.computations ?? [])].map(([id, item]) => describe(leader, id, item));
  const all = [...messages, ...computations.flatMap((item) => item.messages)];
  const status = statusOf(all);
  if (statusOnly || spec === undefined) {
    return mapOf({ status, messages: messages.map(messageToYson) });
  }
  return mapOf({
    status,
    messages: messages.map(messageToYson),
    computations: byId(computations),
    streams: describeStreams(leader, spec),
    sources: connectorsOf(spec, "sources"),
    sinks: connectorsOf(spec, "sinks"),
    read_delay_edges: readDelayEdges(spec),
  });
}

/** @throws YtError 500 when the spec has no such computation */
export function describeComputation(leader: Leader, computationId: ComputationId): YsonMap {
  const computation = leader.parsed?.spec.computations.get(computationId);
  if (computation === undefined) {
    const known = [...(leader.parsed?.spec.computations.keys() ?? [])].map((id) => `"${id}"`).join(", ");
    throw new YtError(`Computation "${computationId}" is not found; the pipeline has: ${known || "none"}`, {
      code: "ResolveError",
    });
  }
  return describe(leader, computationId, computation).yson;
}

export function describeComputations(leader: Leader): YsonMap {
  const items = [...(leader.parsed?.spec.computations ?? [])].map(([id, item]) => describe(leader, id, item));
  return mapOf({ computations: byId(items) });
}

interface Described {
  readonly id: string;
  readonly yson: YsonMap;
  readonly messages: readonly Message[];
}

function byId(items: readonly Described[]): YsonMap {
  return new Map(items.map((item): [string, YsonValue] => [item.id, item.yson]));
}

function pipelineMessages(leader: Leader): readonly Message[] {
  const messages: Message[] = [];
  const streams = [...(leader.progress?.streams.values() ?? [])];
  for (const [path, error] of leader.errors) {
    if (path === "/spec") {
      messages.push({
        text: `Pipeline static spec parseability error: ${error.message}`,
        level: "error",
        error,
      });
    } else if (path === "/job_manager/workers") {
      messages.push({ text: error.message, level: "error", error });
    } else {
      messages.push(retryableError(path, error));
    }
  }
  for (const field of leader.parsed?.unknownFields ?? []) {
    messages.push({ text: `Field ${field} is not known and has no effect`, level: "warning" });
  }
  const completed = streams.filter((stream) => stream.state === "completed").length;
  const drained = streams.filter((stream) => isAtLeast(stream.state, "drained")).length;
  messages.push({
    text: `Stream state info (TotalStreams: ${streams.length}, CompletedStreams: ${completed}, DrainedStreams: ${drained})`,
    level: "info",
  });
  return messages;
}

function describe(leader: Leader, id: ComputationId, computation: ComputationSpec): Described {
  const partitions = leader.layout.partitionsOf(id);
  const statuses = partitions.flatMap((partition) => {
    const status =
      partition.currentJobId === undefined ? undefined : leader.workers.statuses.get(partition.currentJobId);
    return status === undefined ? [] : [status];
  });
  const countByState = new Map<string, YsonValue>();
  for (const partition of partitions) {
    const known = countByState.get(partition.state);
    countByState.set(partition.state, (typeof known === "bigint" ? known : 0n) + 1n);
  }
  const messages = computationMessages(leader, id, statuses);
  const yson = mapOf({
    id,
    name: id,
    class_name: computation.computationClassName,
    process_function: computation.processingFunction,
    status: statusOf(messages),
    messages: messages.map(messageToYson),
    group_by_schema_str: writeYsonText(computation.groupBySchema.toYson()),
    epoch_per_second: sum(statuses, (status) => status.metrics.epochsPerSecond),
    partitions_stats: mapOf({ count: BigInt(partitions.length), count_by_state: countByState }),
    cpu_usage: sum(statuses, (status) => status.metrics.cpu),
    metrics: mapOf({
      messages_per_second: sum(statuses, (status) => status.metrics.messagesPerSecond),
      bytes_per_second: sum(statuses, (status) => status.metrics.bytesPerSecond),
    }),
    input_streams: computation.inputStreamIds,
    output_streams: computation.outputStreamIds,
    source_streams: [...computation.sourceStreams.keys()],
    timer_streams: [...computation.timerStreams.keys()],
    sinks: [...computation.sinks.keys()],
    streams_dependency: mapValues(streamsDependencyOf(computation), (parents) => [...parents]),
  });
  return { id, yson, messages };
}

function computationMessages(
  leader: Leader,
  id: ComputationId,
  statuses: readonly TrackedStatus[],
): readonly Message[] {
  const messages: Message[] = [];
  const seen = new Set<string>();
  for (const status of statuses) {
    for (const { path, error } of status.retryableErrors) {
      if (!seen.has(`${path} ${error.message}`)) {
        seen.add(`${path} ${error.message}`);
        messages.push(retryableError(path, error));
      }
    }
  }
  for (const partition of leader.layout.partitionsOf(id)) {
    const last = leader.failures.of(partition.partitionId).at(-1);
    const age = last === undefined ? Number.POSITIVE_INFINITY : leader.options.clock.monotonic() - last.atMs;
    if (last !== undefined && age < recentFailureMs) {
      messages.push({
        text: `Job failed (JobFinishReason: ${last.reason}): ${last.message}`,
        level: "error",
      });
    }
  }
  const specs = leader.specs;
  messages.push({ text: "Spec", level: "info", yson: partOf(specs.spec.value, id) });
  messages.push({ text: "DynamicSpec", level: "info", yson: partOf(specs.dynamicSpec.value, id) });
  return messages;
}

/** A failure older than this is told no more by the describe commands. */
const recentFailureMs = 300_000;

function partOf(spec: YsonValue, computationId: ComputationId): YsonValue {
  const computations = spec instanceof Map ? spec.get("computations") : undefined;
  return (computations instanceof Map ? computations.get(computationId) : undefined) ?? emptyMap;
}

function describeStreams(leader: Leader, spec: PipelineSpec): YsonMap {
  const described = new Map<string, YsonValue>();
  for (const [computationId, computation] of spec.computations) {
    for (const [streamId, kind] of streamsOf(computation)) {
      if (kind !== "input") {
        const name = globalStreamName(computationId, streamId, kind);
        described.set(name, describeStream(leader, computationId, streamId, name));
      }
    }
  }
  return described;
}

function describeStream(
  leader: Leader,
  computationId: ComputationId,
  streamId: StreamId,
  name: string,
): YsonMap {
  const reports = leader.layout.partitionsOf(computationId).flatMap((partition) => {
    const jobId = partition.currentJobId;
    const report =
      jobId === undefined ? undefined : leader.workers.statuses.get(jobId)?.streams.get(streamId);
    return report === undefined ? [] : [report];
  });
  const traverse = leader.progress?.streams.get(name);
  return mapOf({
    id: streamId,
    name: streamId,
    global_name: name,
    status: "info",
    messages: [],
    state: traverse?.state,
    event_watermark: traverse === undefined ? undefined : BigInt(finite(traverse.eventWatermark)),
    inflight_rows: BigInt(Math.round(reports.reduce((total, report) => total + report.inflight.count, 0))),
    inflight_bytes: BigInt(
      Math.round(reports.reduce((total, report) => total + report.inflight.byteSize, 0)),
    ),
  });
}

function connectorsOf(spec: PipelineSpec, kind: "sources" | "sinks"): YsonMap {
  const described = new Map<string, YsonValue>();
  for (const [computationId, computation] of spec.computations) {
    const connectors =
      kind === "sources"
        ? [...computation.sourceStreams].map(
            ([id, item]) => [id, item.sourceClassName, item.parameters, id] as const,
          )
        : [...computation.sinks].map(
            ([id, item]) => [id, item.sinkClassName, item.parameters, item.inputStreamIds[0]] as const,
          );
    for (const [id, className, parameters, streamId] of connectors) {
      const text = kind === "sources" ? "Source parameters" : "Sink parameters";
      described.set(
        `${computationId}/${id}`,
        mapOf({
          id,
          name: id,
          description: className,
          status: "info",
          messages: [messageToYson({ text, level: "info", yson: parameters })],
          stream_id: streamId,
        }),
      );
    }
  }
  return described;
}

function readDelayEdges(spec: PipelineSpec): YsonValue {
  return [...spec.computations].flatMap(([computationId, computation]) =>
    [...(computation.watermarkStrategy.watermarkAlignment?.readDelays ?? [])].map(([from, delay]) =>
      mapOf({ from, to: computationId, delay: BigInt(delay) }),
    ),
  );
}

function sum(statuses: readonly TrackedStatus[], of: (status: TrackedStatus) => number): number {
  return statuses.reduce((total, status) => total + of(status), 0);
}

function finite(time: number): number {
  return Number.isFinite(time) ? time : 0;
}
