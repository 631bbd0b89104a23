/**
 * What controller and workers say to each other, and workers among themselves. Over HTTP as YSON between
 * processes, as values in the simulation (`Network` carries either).
 * Specified in: documentation "Flow"; yt/yt/flow/library/cpp/common/controller/proto/worker_tracker_service.proto,
 * common/worker/proto/message_service.proto.
 */
import type { YsonValue, YtError } from "@qyt/base";
import type {
  ComputationId,
  FlowTimestamp,
  JobId,
  Key,
  KeyRange,
  Message,
  MessageId,
  PartitionId,
  StreamId,
} from "../model/message.ts";

export type PipelineState =
  | "unknown"
  | "stopped"
  | "paused"
  | "working"
  | "draining"
  | "pausing"
  | "completed";

export type StreamState = "active" | "drained" | "completed";

export type PartitionState = "executing" | "interrupting" | "completing" | "completed" | "interrupted";

/** What a job says of one stream (`TStreamTraverseData`). */
export interface Traverse {
  readonly epoch: bigint;
  readonly state: StreamState;
  readonly systemWatermark: FlowTimestamp;
  readonly eventWatermark: FlowTimestamp;
}

export interface InflightReport {
  readonly count: number;
  readonly byteSize: number;
  /** In seconds; sources only. */
  readonly idleDuration: number | undefined;
  readonly lastIdleTimestamp: FlowTimestamp | undefined;
  readonly unavailableInstant: FlowTimestamp | undefined;
}

export interface StreamReport extends Traverse {
  readonly inflight: InflightReport;
}

export interface PartitionLayout {
  readonly partitionId: PartitionId;
  readonly computationId: ComputationId;
  /** Of range partitions. */
  readonly range: KeyRange | undefined;
  /** Of source partitions: `[source stream id, identity, index]`. */
  readonly sourceKey: Key | undefined;
  readonly state: PartitionState;
  readonly currentJobId: JobId | undefined;
  /** Where the current job runs. */
  readonly workerAddress: string | undefined;
}

export interface JobAssignment {
  readonly jobId: JobId;
  readonly partitionId: PartitionId;
  /** The job finishes after the epoch under way (graceful move). */
  readonly finishAfterCurrentEpoch: boolean;
}

/** Watermarks as they are broadcast to workers. */
export interface WatermarkState {
  readonly currentTimestamp: FlowTimestamp;
  /** By global stream name. */
  readonly streams: ReadonlyMap<
    string,
    { readonly systemWatermark: FlowTimestamp; readonly eventWatermark: FlowTimestamp }
  >;
  readonly alignmentGroups: ReadonlyMap<string, FlowTimestamp>;
}

export interface JobStatus {
  readonly jobId: JobId;
  readonly partitionId: PartitionId;
  readonly isFinished: boolean;
  /** Why it failed; `undefined` when it finished well or runs. */
  readonly error: YtError | undefined;
  readonly epoch: bigint;
  /** By stream id, as the computation knows it. */
  readonly streams: ReadonlyMap<StreamId, StreamReport>;
  /** Errors that are tried again, by component path. */
  readonly retryableErrors: readonly { readonly path: string; readonly error: YtError }[];
  readonly metrics: {
    /** Cores, over the last 30 s. */
    readonly cpu: number;
    readonly messagesPerSecond: number;
    readonly bytesPerSecond: number;
    readonly epochsPerSecond: number;
  };
}

export interface Heartbeat {
  readonly workerAddress: string;
  /** New with each start of the worker. */
  readonly incarnation: string;
  readonly sequenceNumber: bigint;
  readonly workerGroups: readonly string[];
  readonly knownSpecVersion: bigint;
  readonly knownDynamicSpecVersion: bigint;
  readonly knownLayoutVersion: bigint;
  readonly jobs: readonly JobStatus[];
}

export interface HeartbeatAnswer {
  /** Of the leader that answers; a worker obeys the newest. */
  readonly leaderIncarnation: string;
  readonly pipelineState: PipelineState;
  /** Absent when the worker's is the same. */
  readonly spec: { readonly version: bigint; readonly value: YsonValue } | undefined;
  readonly dynamicSpec: { readonly version: bigint; readonly value: YsonValue } | undefined;
  /** All partitions; absent when the worker's version is the same. */
  readonly layout: { readonly version: bigint; readonly partitions: readonly PartitionLayout[] } | undefined;
  /** The jobs this worker shall run; what is not here is stopped. */
  readonly jobs: readonly JobAssignment[];
  readonly watermarks: WatermarkState;
  /** United traverse of each stream by its global name, for the jobs' input streams. */
  readonly inputTraverse: ReadonlyMap<string, Traverse>;
  /** Streams of partitions that the controller blocks (strict ordering over a repartitioning). */
  readonly blockedStreams: ReadonlyMap<PartitionId, readonly StreamId[]>;
}

/** Messages from one job to another, sent until they are finished. */
export interface PushMessages {
  readonly fromPartitionId: PartitionId;
  readonly fromJobId: JobId;
  readonly toPartitionId: PartitionId;
  readonly toJobId: JobId;
  /** In order. Without any the call asks what is finished. */
  readonly messages: readonly Message[];
  /** `finishedOffset` of the last answer that was received: what lies before it need not be told again. */
  readonly acknowledgedOffset: number;
}

export interface PushAnswer {
  /** The receiver does not run that job (any more): ask the layout again. */
  readonly isUnknownJob: boolean;
  /** How many of the messages, from the front, the receiver has; there was no room for the others. */
  readonly accepted: number;
  /** Committed by the receiver: must not be sent again. From `acknowledgedOffset` on. */
  readonly finished: readonly MessageId[];
  /** How many finished messages there were in all between these two jobs. */
  readonly finishedOffset: number;
  /** How many bytes more the receiver takes for now. */
  readonly byteLimit: number;
}

/** Calls between processes. Rejects with a transport error when the answer is lost. */
export interface Network {
  call(
    address: string,
    method: string,
    body: YsonValue,
    options?: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<YsonValue>;
}
