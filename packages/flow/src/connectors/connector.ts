/**
 * What a computation knows of connectors: a source and a sink at the worker, their controllers at the leading
 * controller, and the registry of classes.
 * Specified in: yt/yt/flow/library/cpp/common/source.h, sink.h, connectors/common; documentation "Flow", connectors.
 */
import type { Clock, Random, YsonMap, YsonValue, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { ClusterDirectory, ClusterPath, FlowTransaction } from "../cluster/flow-cluster.ts";
import type { FlowTimestamp, Key, Message, MessageId, StreamId, UniqueSeqNo } from "../model/message.ts";

/** The time of an epoch: a fresh sequence number and its seconds. */
export interface EpochTime {
  readonly seqNo: UniqueSeqNo;
  readonly now: FlowTimestamp;
}

/** Errors that are tried again, by path (`/read`), shown in the status tree. `undefined` clears. */
export interface StatusReporter {
  report(path: string, error: YtError | undefined): void;
}

export interface ConnectorContext {
  readonly clusters: ClusterDirectory;
  /** The cluster of the pipeline. */
  readonly pipelineCluster: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly status: StatusReporter;
  readonly log: (level: "warn" | "error" | "info", message: string, fields?: Record<string, unknown>) => void;
}

/** What one epoch may read. */
export interface BatchLimits {
  readonly maxRows: number;
  /** In bytes. */
  readonly maxBytes: number;
  /** How long to wait for the request under way, in milliseconds. */
  readonly durationMs: number;
}

/** The messages of one offset: read, published and persisted together. */
export interface SourceUnit {
  readonly offset: bigint;
  readonly messages: readonly Message[];
  /** Smallest and largest event time of its messages; undefined without messages. */
  readonly minEventTimestamp: FlowTimestamp | undefined;
  readonly maxEventTimestamp: FlowTimestamp | undefined;
}

/** What is under way in a source's partition (`TInflightMetrics`). */
export interface Inflight {
  readonly count: number;
  readonly byteSize: number;
  readonly minSystemTimestamp: FlowTimestamp | undefined;
  readonly minEventTimestamp: FlowTimestamp | undefined;
  readonly isEmpty: boolean;
  /** Draining, and nothing more will be handed out. */
  readonly isSuspended: boolean;
  /** Only sources. In seconds. */
  readonly idleDuration?: number;
  readonly lastIdleTimestamp?: FlowTimestamp;
  /** Since when the partition is stably unavailable. */
  readonly unavailableInstant?: FlowTimestamp;
}

/** One partition of an ordered source, at the worker that runs its job. Methods are called by one epoch at a time. */
export interface OrderedSource {
  /** The schema of the messages' payloads; known after the first batch. */
  readonly payloadSchema: TableSchema | undefined;
  /** Restores the state and starts the periodic refresh. Sends nothing that changes a cluster. */
  init(state: YsonMap | undefined): Promise<void>;
  /**
   * The next units, in offset order; empty when there is nothing, when the request is not ready in time, or when
   * it failed (then the status says so). Ids and alignment times come from `time` or, on a replay, from memory.
   */
  fetch(time: EpochTime, limits: BatchLimits): Promise<readonly SourceUnit[]>;
  /** A unit was handed out: from now on it may be visible downstream. In offset order. */
  markPublished(offset: bigint): void;
  /** A unit is processed to its end, in any order; the state advances over a prefix without gaps. */
  markPersisted(offset: bigint): void;
  /** The state to store with this epoch, or `undefined` when it has not changed. */
  sync(time: EpochTime): YsonMap | undefined;
  /** The epoch with the last `sync`ed state was committed. */
  committed(): void;
  inflight(time: EpochTime): Inflight;
  /** The watermark of the queue's own meta, of the persisted prefix; undefined when none was seen. */
  readonly persistedEventWatermark: FlowTimestamp | undefined;
  /** The same of everything read. */
  readonly readEventWatermark: FlowTimestamp | undefined;
  setDraining(draining: boolean): void;
  /** @throws YtError naming the parameter, and then nothing has changed */
  reconfigure(dynamicParameters: YsonMap): void;
  close(): Promise<void>;
}

/** One sink of one partition, at the worker that runs its job. */
export interface Sink {
  init(state: YsonMap | undefined): Promise<void>;
  /**
   * Takes a message of an input stream, in message-id order; `done` once it needs not be kept: after the write is
   * certain (async: after the state that says so is committed).
   */
  distribute(message: Message, done: () => void): void;
  /**
   * Adds to the epoch's transaction what belongs to it.
   * @returns the state to store in the same transaction, or `undefined` when it has not changed
   */
  sync(transaction: FlowTransaction): Promise<YsonMap | undefined>;
  /** The epoch's transaction is committed. */
  committed(): void;
  readonly inflight: { readonly count: number; readonly byteSize: number };
  reconfigure(dynamicParameters: YsonMap): void;
  close(): Promise<void>;
}

/** The controller's side of a source: which partitions there are. */
export interface SourceController {
  /** `undefined` while it is not known. */
  listKeys(): readonly Key[] | undefined;
  /** State kept by the controller. */
  readonly state: YsonMap;
  start(state: YsonMap | undefined): void;
  stop(): Promise<void>;
}

/** The controller's side of a sink: how many channels it writes to, and its heartbeats. */
export interface SinkController {
  channelCount(): number | undefined;
  readonly state: YsonMap;
  start(state: YsonMap | undefined): void;
  /** Event watermarks by stream; `undefined` while they are not known. */
  setWatermarks(watermarks: ReadonlyMap<StreamId, FlowTimestamp> | undefined): void;
  reconfigure(dynamicParameters: YsonMap): void;
  stop(): Promise<void>;
}

/** A path that a connector reads or writes, for the check of owners. */
export interface ClaimedPath extends ClusterPath {
  readonly use: "read" | "shared_write" | "exclusive_write";
}

export interface SourceClass {
  readonly name: string;
  /** @throws YtError with the text of the rule; `path` is the place in the spec */
  validate(parameters: YsonValue, dynamicParameters: YsonValue): readonly ClaimedPath[];
  createSource(context: ConnectorContext, spec: SourceContextSpec & { readonly key: Key }): OrderedSource;
  createController(context: ConnectorContext, spec: SourceContextSpec): SourceController;
}

export interface SourceContextSpec {
  readonly streamId: StreamId;
  readonly parameters: YsonMap;
  readonly dynamicParameters: YsonMap;
}

export interface SinkContextSpec {
  readonly sinkId: string;
  readonly inputStreamIds: readonly StreamId[];
  /** Of the input streams, in the same order. */
  readonly inputSchemas: readonly TableSchema[];
  readonly parameters: YsonMap;
  readonly dynamicParameters: YsonMap;
}

export interface SinkClass {
  readonly name: string;
  validate(
    parameters: YsonValue,
    dynamicParameters: YsonValue,
    context: { readonly inputStreamIds: readonly StreamId[]; readonly pipelineCluster: string },
  ): readonly ClaimedPath[];
  createSink(context: ConnectorContext, spec: SinkContextSpec): Sink;
  createController(context: ConnectorContext, spec: SinkContextSpec): SinkController;
}

export interface ConnectorRegistry {
  source(className: string): SourceClass;
  sink(className: string): SinkClass;
  readonly sourceNames: readonly string[];
  readonly sinkNames: readonly string[];
}

/** Largest id so far; ids of one stream grow. */
export type LastMessageId = MessageId | undefined;
