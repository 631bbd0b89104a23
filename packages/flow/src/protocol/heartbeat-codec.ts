/** Heartbeats of workers and their answers as YSON. */
import { isList, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import { errorFromYson, errorToYson, stringToBytes } from "@qyt/yson";
import type { FlowTimestamp, Key } from "../model/message.ts";
import { timestampFromYson, timestampToUint64 } from "../model/timestamps.ts";
import { keyToYson } from "../tables/input-keys.ts";
import type {
  Heartbeat,
  HeartbeatAnswer,
  JobAssignment,
  JobStatus,
  PartitionLayout,
  StreamReport,
  Traverse,
} from "./protocol.ts";

const sourceKeyTypes = ["string", "string", "int64"] as const;
const pipelineStates = [
  "unknown",
  "stopped",
  "paused",
  "working",
  "draining",
  "pausing",
  "completed",
] as const;
const partitionStates = ["executing", "interrupting", "completing", "completed", "interrupted"] as const;
const streamStates = ["active", "drained", "completed"] as const;

export function heartbeatToYson(heartbeat: Heartbeat): YsonValue {
  return mapOf({
    worker_address: heartbeat.workerAddress,
    incarnation: heartbeat.incarnation,
    sequence_number: heartbeat.sequenceNumber,
    worker_groups: heartbeat.workerGroups,
    known_spec_version: heartbeat.knownSpecVersion,
    known_dynamic_spec_version: heartbeat.knownDynamicSpecVersion,
    known_layout_version: heartbeat.knownLayoutVersion,
    jobs: heartbeat.jobs.map(statusToYson),
  });
}

/** @throws YtError 1 when the body is no heartbeat */
export function heartbeatFromYson(body: YsonValue): Heartbeat {
  const map = asMap(body);
  return {
    workerAddress: text(map, "worker_address"),
    incarnation: text(map, "incarnation"),
    sequenceNumber: big(map, "sequence_number"),
    workerGroups: list(map, "worker_groups").map(String),
    knownSpecVersion: big(map, "known_spec_version"),
    knownDynamicSpecVersion: big(map, "known_dynamic_spec_version"),
    knownLayoutVersion: big(map, "known_layout_version"),
    jobs: list(map, "jobs").map((job) => statusFromYson(asMap(job))),
  };
}

export function heartbeatAnswerToYson(answer: HeartbeatAnswer): YsonValue {
  const { watermarks, layout } = answer;
  return mapOf({
    leader_incarnation: answer.leaderIncarnation,
    pipeline_state: answer.pipelineState,
    spec: answer.spec && mapOf(answer.spec),
    dynamic_spec: answer.dynamicSpec && mapOf(answer.dynamicSpec),
    layout: layout && mapOf({ version: layout.version, partitions: layout.partitions.map(partitionToYson) }),
    jobs: answer.jobs.map((job) =>
      mapOf({
        job_id: job.jobId,
        partition_id: job.partitionId,
        finish_after_current_epoch: job.finishAfterCurrentEpoch,
      }),
    ),
    watermark_state: mapOf({
      current_timestamp: timestampToUint64(watermarks.currentTimestamp),
      streams: mapValues(watermarks.streams, ({ systemWatermark, eventWatermark }) =>
        mapOf({
          system_watermark: timestampToUint64(systemWatermark),
          event_watermark: timestampToUint64(eventWatermark),
        }),
      ),
      alignment_groups: mapValues(watermarks.alignmentGroups, timestampToUint64),
    }),
    input_streams_traverse: mapValues(answer.inputTraverse, traverseToYson),
    blocked_streams: mapValues(answer.blockedStreams, (streams) => [...streams]),
  });
}

/** @throws YtError 1 when the body is no answer to a heartbeat */
export function heartbeatAnswerFromYson(body: YsonValue): HeartbeatAnswer {
  const map = asMap(body);
  const watermarks = asMap(map.get("watermark_state") ?? null);
  const layout = map.get("layout");
  return {
    leaderIncarnation: text(map, "leader_incarnation"),
    pipelineState: oneOf(pipelineStates, text(map, "pipeline_state")),
    spec: versioned(map.get("spec")),
    dynamicSpec: versioned(map.get("dynamic_spec")),
    layout:
      layout === undefined
        ? undefined
        : {
            version: big(asMap(layout), "version"),
            partitions: list(asMap(layout), "partitions").map((item) => partitionFromYson(asMap(item))),
          },
    jobs: list(map, "jobs").map((item): JobAssignment => {
      const job = asMap(item);
      return {
        jobId: text(job, "job_id"),
        partitionId: text(job, "partition_id"),
        finishAfterCurrentEpoch: job.get("finish_after_current_epoch") === true,
      };
    }),
    watermarks: {
      currentTimestamp: time(watermarks, "current_timestamp"),
      streams: fromMap(watermarks.get("streams"), (value) => ({
        systemWatermark: time(asMap(value), "system_watermark"),
        eventWatermark: time(asMap(value), "event_watermark"),
      })),
      alignmentGroups: fromMap(watermarks.get("alignment_groups"), timestampFromYson),
    },
    inputTraverse: fromMap(map.get("input_streams_traverse"), (value) => traverseFromYson(asMap(value))),
    blockedStreams: fromMap(map.get("blocked_streams"), (value) => (isList(value) ? value.map(String) : [])),
  };
}

function statusToYson(status: JobStatus): YsonValue {
  const { metrics } = status;
  return mapOf({
    job_id: status.jobId,
    partition_id: status.partitionId,
    is_finished: status.isFinished,
    error: status.error && errorToYson(status.error),
    epoch: status.epoch,
    streams: mapValues(status.streams, reportToYson),
    retryable_errors: status.retryableErrors.map(({ path, error }) =>
      mapOf({ path, error: errorToYson(error) }),
    ),
    performance_metrics: mapOf({
      cpu: metrics.cpu,
      messages_per_second: metrics.messagesPerSecond,
      bytes_per_second: metrics.bytesPerSecond,
      epochs_per_second: metrics.epochsPerSecond,
    }),
  });
}

function statusFromYson(map: YsonMap): JobStatus {
  const metrics = asMap(map.get("performance_metrics") ?? null);
  const error = map.get("error");
  return {
    jobId: text(map, "job_id"),
    partitionId: text(map, "partition_id"),
    isFinished: map.get("is_finished") === true,
    error: error === undefined ? undefined : errorFromYson(error),
    epoch: big(map, "epoch"),
    streams: fromMap(map.get("streams"), (value) => reportFromYson(asMap(value))),
    retryableErrors: list(map, "retryable_errors").map((item) => ({
      path: text(asMap(item), "path"),
      error: errorFromYson(asMap(item).get("error") ?? null),
    })),
    metrics: {
      cpu: double(metrics, "cpu"),
      messagesPerSecond: double(metrics, "messages_per_second"),
      bytesPerSecond: double(metrics, "bytes_per_second"),
      epochsPerSecond: double(metrics, "epochs_per_second"),
    },
  };
}

function reportToYson(report: StreamReport): YsonValue {
  const { inflight } = report;
  return mapOf({
    traverse: traverseToYson(report),
    inflight: mapOf({
      count: BigInt(inflight.count),
      byte_size: BigInt(Math.trunc(inflight.byteSize)),
      idle_duration: inflight.idleDuration,
      last_idle_timestamp: inflight.lastIdleTimestamp && timestampToUint64(inflight.lastIdleTimestamp),
      unavailable_instant: inflight.unavailableInstant && timestampToUint64(inflight.unavailableInstant),
    }),
  });
}

function reportFromYson(map: YsonMap): StreamReport {
  const inflight = asMap(map.get("inflight") ?? null);
  const optionalTime = (name: string): FlowTimestamp | undefined =>
    inflight.has(name) ? time(inflight, name) : undefined;
  return {
    ...traverseFromYson(asMap(map.get("traverse") ?? null)),
    inflight: {
      count: Number(big(inflight, "count")),
      byteSize: Number(big(inflight, "byte_size")),
      idleDuration: inflight.has("idle_duration") ? double(inflight, "idle_duration") : undefined,
      lastIdleTimestamp: optionalTime("last_idle_timestamp"),
      unavailableInstant: optionalTime("unavailable_instant"),
    },
  };
}

function traverseToYson({ epoch, state, systemWatermark, eventWatermark }: Traverse): YsonValue {
  return mapOf({
    epoch,
    state,
    system_watermark: timestampToUint64(systemWatermark),
    event_watermark: timestampToUint64(eventWatermark),
  });
}

function traverseFromYson(map: YsonMap): Traverse {
  return {
    epoch: big(map, "epoch"),
    state: oneOf(streamStates, text(map, "state")),
    systemWatermark: time(map, "system_watermark"),
    eventWatermark: time(map, "event_watermark"),
  };
}

function partitionToYson(partition: PartitionLayout): YsonValue {
  const { range, sourceKey } = partition;
  return mapOf({
    partition_id: partition.partitionId,
    computation_id: partition.computationId,
    lower_key: range && new Uint64(range.lower),
    upper_key: range?.upper === undefined ? undefined : new Uint64(range.upper),
    source_key: sourceKey && keyToYson(sourceKey, sourceKeyTypes),
    state: partition.state,
    current_job_id: partition.currentJobId,
    worker_address: partition.workerAddress,
  });
}

function partitionFromYson(map: YsonMap): PartitionLayout {
  const lower = map.get("lower_key");
  const upper = map.get("upper_key");
  const sourceKey = map.get("source_key");
  return {
    partitionId: text(map, "partition_id"),
    computationId: text(map, "computation_id"),
    range:
      lower instanceof Uint64
        ? { lower: lower.value, upper: upper instanceof Uint64 ? upper.value : undefined }
        : undefined,
    sourceKey: isList(sourceKey) ? sourceKeyFromYson(sourceKey) : undefined,
    state: oneOf(partitionStates, text(map, "state")),
    currentJobId: map.has("current_job_id") ? text(map, "current_job_id") : undefined,
    workerAddress: map.has("worker_address") ? text(map, "worker_address") : undefined,
  };
}

function sourceKeyFromYson(values: readonly YsonValue[]): Key {
  return values.map((value): RowValue => {
    if (typeof value === "string") {
      return stringToBytes(value);
    }
    return typeof value === "bigint" ? value : null;
  });
}

function versioned(value: YsonValue | undefined): { version: bigint; value: YsonValue } | undefined {
  if (value === undefined) {
    return undefined;
  }
  const map = asMap(value);
  return { version: big(map, "version"), value: map.get("value") ?? null };
}

function mapValues<Value>(map: ReadonlyMap<string, Value>, convert: (value: Value) => YsonValue): YsonMap {
  return new Map([...map].map(([name, value]) => [name, convert(value)]));
}

function fromMap<Value>(
  value: YsonValue | undefined,
  convert: (value: YsonValue) => Value,
): ReadonlyMap<string, Value> {
  return new Map([...asMap(value ?? null)].map(([name, item]) => [name, convert(item)]));
}

function asMap(value: YsonValue): YsonMap {
  if (!isMap(value)) {
    throw new YtError("A map is expected between controller and workers");
  }
  return value;
}

function list(map: YsonMap, name: string): readonly YsonValue[] {
  const value = map.get(name);
  if (!isList(value)) {
    throw new YtError(`Field "${name}" must be a list`);
  }
  return value;
}

function text(map: YsonMap, name: string): string {
  const value = map.get(name);
  if (typeof value !== "string") {
    throw new YtError(`Field "${name}" must be a string`);
  }
  return value;
}

function big(map: YsonMap, name: string): bigint {
  const value = map.get(name);
  if (typeof value !== "bigint") {
    throw new YtError(`Field "${name}" must be an integer`);
  }
  return value;
}

function double(map: YsonMap, name: string): number {
  const value = map.get(name);
  return typeof value === "number" ? value : Number(typeof value === "bigint" ? value : 0);
}

function time(map: YsonMap, name: string): FlowTimestamp {
  return timestampFromYson(map.get(name) ?? null);
}

function oneOf<Name extends string>(names: readonly Name[], value: string): Name {
  const found = names.find((name) => name === value);
  if (found === undefined) {
    throw new YtError(`"${value}" is none of ${names.join(", ")}`);
  }
  return found;
}
