/** What the worker gives a job: what it is (fixed) and what is known at the moment (changes between epochs). */
import type { Clock, Random } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { ClusterDirectory, FlowCluster } from "../cluster/flow-cluster.ts";
import type { ConnectorContext, ConnectorRegistry, StatusReporter } from "../connectors/connector.ts";
import type { FunctionRegistry } from "../functions/process-function.ts";
import type { JobId, StreamId } from "../model/message.ts";
import type { PartitionLayout, PartitionState, Traverse, WatermarkState } from "../protocol/protocol.ts";
import type { ComputationSpec } from "../spec/computation-spec.ts";
import type { DynamicComputationSpec } from "../spec/dynamic-spec.ts";
import type { StoredOutput } from "./output-store.ts";

/** Takes outputs to the jobs of the computations that read their streams. */
export interface Outbox {
  /** How many computations read a stream. */
  consumerCount(streamId: StreamId): number;
  /** Sends outputs in order. `done` is called for each once per consumer, when that one has committed it. */
  send(outputs: readonly StoredOutput[], done: (output: StoredOutput) => void): void;
  /** Whether more of a stream has to wait until receivers take it. */
  isFull(streamId: StreamId): boolean;
}

/** Holds a job back to an agreed rate. */
export interface Throttle {
  /** Resolves when the rows and bytes may be processed. @throws YtError when the quota cannot be asked for */
  acquire(rows: number, bytes: number): Promise<void>;
}

export interface JobContext {
  readonly cluster: FlowCluster;
  readonly clusters: ClusterDirectory;
  readonly pipelinePath: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ConnectorContext["log"];
  readonly status: StatusReporter;
  readonly registry: ConnectorRegistry;
  readonly functions: FunctionRegistry;
  readonly partition: PartitionLayout;
  readonly jobId: JobId;
  readonly spec: ComputationSpec;
  /** All streams of the pipeline. */
  readonly streams: ReadonlyMap<StreamId, TableSchema>;
  /** The version of the static spec: the epoch of what descends from nothing. */
  readonly specGeneration: bigint;
  readonly outbox: Outbox;
  readonly throttle?: Throttle;
  /** Bytes of input that may lie at the job, as it is now. */
  readonly inputByteLimit: () => number;
}

/** What changes while a job runs. Taken up between epochs. */
export interface JobConditions {
  readonly dynamicSpec: DynamicComputationSpec;
  /** Forced while the pipeline drains, or set in the dynamic spec. */
  readonly isDraining: boolean;
  readonly watermarks: WatermarkState;
  /** By global stream name. */
  readonly inputTraverse: ReadonlyMap<string, Traverse>;
  readonly blockedStreams: ReadonlySet<StreamId>;
  readonly partitionState: PartitionState;
}

/** How an epoch went: `empty` and `held` make the job wait a little, `held` without being woken by messages. */
export type EpochResult = "worked" | "empty" | "held";
