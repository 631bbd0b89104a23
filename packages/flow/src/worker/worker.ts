/**
 * A worker: tells the leading controller what its jobs do, runs the jobs it is given, and passes their messages on.
 * Specified in: yt/yt/flow/library/cpp/worker/worker.cpp, controller_connector.cpp.
 */
import { type Clock, emptyMap, type Random, sleep, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { ClusterDirectory } from "../cluster/flow-cluster.ts";
import type { InputBuffer } from "../computations/input-buffer.ts";
import type { JobConditions, JobContext } from "../computations/job-context.ts";
import type { ConnectorContext, ConnectorRegistry } from "../connectors/connector.ts";
import type { FunctionRegistry } from "../functions/process-function.ts";
import type { JobId, PartitionId, StreamId } from "../model/message.ts";
import { undefinedTimestamp } from "../model/timestamps.ts";
import type {
  Heartbeat,
  HeartbeatAnswer,
  JobAssignment,
  Network,
  PartitionLayout,
} from "../protocol/protocol.ts";
import {
  type DynamicPipelineSpec,
  defaultDynamicComputationSpec,
  parseDynamicSpec,
} from "../spec/dynamic-spec.ts";
import { type PipelineSpec, parsePipelineSpec } from "../spec/pipeline-spec.ts";
import { MessageDistributor, pushMessagesMethod } from "./distributor.ts";
import { Job, JobErrors } from "./job.ts";
import { JobOutbox } from "./job-outbox.ts";
import { ConsumerTable, PartitionTable, type Target } from "./routes.ts";

export interface WorkerOptions {
  readonly address: string;
  readonly pipelinePath: string;
  readonly pipelineCluster: string;
  readonly clusters: ClusterDirectory;
  readonly registry: ConnectorRegistry;
  readonly functions: FunctionRegistry;
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ConnectorContext["log"];
  readonly workerGroups: readonly string[];
  /** New with each start. */
  readonly incarnation: string;
  /** How much memory messages on their way may take, in bytes; shared by the jobs. */
  readonly messageMemory?: number;
  /** Sends a heartbeat to the leading controller. */
  readonly heartbeat: (heartbeat: Heartbeat) => Promise<HeartbeatAnswer>;
}

const defaultMessageMemory = 512 * 2 ** 20;

/** The static spec in force, and what is derived from it. */
interface Plan {
  readonly version: bigint;
  readonly spec: PipelineSpec;
  readonly streams: ReadonlyMap<StreamId, TableSchema>;
  readonly consumers: ConsumerTable;
}

interface RunningJob {
  readonly job: Job;
  readonly outbox: JobOutbox;
}

export class Worker {
  readonly #options: WorkerOptions;
  readonly #distributor: MessageDistributor;
  readonly #jobs = new Map<JobId, RunningJob>();
  readonly #stopping = new AbortController();
  #plan: Plan | undefined;
  #dynamic: { readonly version: bigint; readonly spec: DynamicPipelineSpec } = {
    version: 0n,
    spec: parseDynamicSpec(emptyMap).spec,
  };
  #layout: { readonly version: bigint; readonly partitions: ReadonlyMap<PartitionId, PartitionLayout> } = {
    version: 0n,
    partitions: new Map(),
  };
  #partitionTable = new PartitionTable([]);
  #answer: HeartbeatAnswer | undefined;
  #sequenceNumber = 0n;
  #running: Promise<void> | undefined;

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.#distributor = new MessageDistributor({
      address: options.address,
      network: options.network,
      clock: options.clock,
      limits: () => {
        const settings = this.#dynamic.spec.messageDistributor;
        return {
          maxRows: settings.sendQueueMaxRowsPerBatch,
          maxBytes: settings.sendQueueMaxBytesPerBatch,
          pollMs: settings.sendQueueBatchDuration,
          timeoutMs: settings.pushMessagesTimeout,
        };
      },
      inputOf: (jobId): InputBuffer | undefined => this.#jobs.get(jobId)?.job.input,
    });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Stops the jobs after their epochs and the heartbeats. */
  async stop(): Promise<void> {
    this.#stopping.abort(new YtError("Worker is stopped"));
    await Promise.all([...this.#jobs.keys()].map((jobId) => this.#stopJob(jobId)));
    this.#distributor.close();
    await this.#running;
  }

  /** A call of another process. @throws YtError when there is no such method */
  async handle(method: string, body: YsonValue): Promise<YsonValue> {
    if (method === pushMessagesMethod) {
      return this.#distributor.receive(body);
    }
    throw new YtError(`Worker has no method "${method}"`);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#options;
    while (!this.#stopping.signal.aborted) {
      const settings = this.#dynamic.spec.controllerConnector;
      let pauseMs = settings.controllerHeartbeatPeriod;
      try {
        this.#apply(await this.#options.heartbeat(this.#heartbeat()));
      } catch (thrown) {
        pauseMs = settings.controllerHeartbeatFailureBackoff;
        log("warn", "Heartbeat failed", { error: toYtError(thrown).message });
      }
      try {
        await sleep(clock, pauseMs, this.#stopping.signal);
      } catch {
        return;
      }
    }
  }

  #heartbeat(): Heartbeat {
    this.#sequenceNumber += 1n;
    return {
      workerAddress: this.#options.address,
      incarnation: this.#options.incarnation,
      sequenceNumber: this.#sequenceNumber,
      workerGroups: this.#options.workerGroups,
      knownSpecVersion: this.#plan?.version ?? 0n,
      knownDynamicSpecVersion: this.#dynamic.version,
      knownLayoutVersion: this.#layout.version,
      jobs: [...this.#jobs.values()].map(({ job }) => job.status()),
    };
  }

  #apply(answer: HeartbeatAnswer): void {
    if (this.#stopping.signal.aborted) {
      return;
    }
    this.#answer = answer;
    if (answer.spec !== undefined) {
      this.#plan = planOf(answer.spec.version, parsePipelineSpec(answer.spec.value).spec);
    }
    if (answer.dynamicSpec !== undefined) {
      const { version, value } = answer.dynamicSpec;
      this.#dynamic = { version, spec: parseDynamicSpec(value).spec };
    }
    if (answer.layout !== undefined) {
      this.#applyLayout(answer.layout);
    }
    this.#applyJobs(answer.jobs);
    for (const { job } of this.#jobs.values()) {
      job.update(this.#conditionsOf(job.context.partition));
    }
  }

  #applyLayout(layout: NonNullable<HeartbeatAnswer["layout"]>): void {
    const partitions = new Map(layout.partitions.map((partition) => [partition.partitionId, partition]));
    this.#layout = { version: layout.version, partitions };
    this.#partitionTable = new PartitionTable(layout.partitions);
    const targets = new Map<PartitionId, Target>();
    for (const { partitionId, range, state, currentJobId, workerAddress } of layout.partitions) {
      if (range !== undefined && state === "executing") {
        targets.set(partitionId, { partitionId, ...range, jobId: currentJobId, address: workerAddress });
      }
    }
    for (const { outbox } of this.#jobs.values()) {
      outbox.relocate(this.#partitionTable, targets);
    }
  }

  #applyJobs(assignments: readonly JobAssignment[]): void {
    const wanted = new Map(assignments.map((assignment) => [assignment.jobId, assignment]));
    for (const jobId of [...this.#jobs.keys()]) {
      if (!wanted.has(jobId)) {
        void this.#stopJob(jobId);
      }
    }
    for (const assignment of assignments) {
      const running = this.#jobs.get(assignment.jobId);
      if (running === undefined) {
        this.#startJob(assignment);
      } else if (assignment.finishAfterCurrentEpoch) {
        running.job.finishAfterCurrentEpoch();
      }
    }
  }

  async #stopJob(jobId: JobId): Promise<void> {
    const running = this.#jobs.get(jobId);
    if (running !== undefined) {
      this.#jobs.delete(jobId);
      running.outbox.close();
      this.#distributor.forget(jobId);
      await running.job.stop();
    }
  }

  #startJob({ jobId, partitionId }: JobAssignment): void {
    const partition = this.#layout.partitions.get(partitionId);
    const spec = partition && this.#plan?.spec.computations.get(partition.computationId);
    if (partition === undefined || spec === undefined || this.#plan === undefined) {
      return;
    }
    const errors = new JobErrors();
    const outbox = new JobOutbox({
      partitionId,
      jobId,
      consumers: this.#plan.consumers,
      partitions: this.#partitionTable,
      byteLimit: () => this.#byteLimit("outputBuffer"),
      onWork: (lanes) => this.#distributor.wake(lanes),
    });
    const { clusters, pipelineCluster, pipelinePath, clock, random, log, registry, functions } =
      this.#options;
    const context: JobContext = {
      cluster: clusters.cluster(pipelineCluster),
      clusters,
      pipelinePath,
      clock,
      random,
      log,
      status: errors,
      registry,
      functions,
      partition,
      jobId,
      spec,
      streams: this.#plan.streams,
      specGeneration: this.#plan.version,
      outbox,
      inputByteLimit: () => this.#byteLimit("inputBuffer"),
    };
    const job = new Job(context, errors, this.#conditionsOf(partition));
    this.#jobs.set(jobId, { job, outbox });
    job.start();
  }

  /** The memory for messages is shared evenly, within what the dynamic spec allows and guarantees. */
  #byteLimit(kind: "inputBuffer" | "outputBuffer"): number {
    const { fairSharePool, jobGuarantee, jobLimit } = this.#dynamic.spec.jobTracker.bufferStateManager[kind];
    const memory = (this.#options.messageMemory ?? defaultMessageMemory) / 2;
    const share = Math.min(fairSharePool, memory) / Math.max(1, this.#jobs.size);
    return Math.max(Math.min(jobGuarantee, memory), Math.min(jobLimit, share));
  }

  #conditionsOf({ partitionId, computationId }: PartitionLayout): JobConditions {
    const answer = this.#answer;
    const dynamicSpec = this.#dynamic.spec.computations.get(computationId) ?? defaultDynamicComputationSpec;
    const isPipelineDraining = answer?.pipelineState === "draining" || answer?.pipelineState === "stopped";
    return {
      dynamicSpec,
      isDraining: isPipelineDraining || dynamicSpec.draining,
      watermarks: answer?.watermarks ?? {
        currentTimestamp: undefinedTimestamp,
        streams: new Map(),
        alignmentGroups: new Map(),
      },
      inputTraverse: answer?.inputTraverse ?? new Map(),
      blockedStreams: new Set(answer?.blockedStreams.get(partitionId) ?? []),
      partitionState: this.#layout.partitions.get(partitionId)?.state ?? "executing",
    };
  }
}

function planOf(version: bigint, spec: PipelineSpec): Plan {
  const streams = new Map([...spec.streams].map(([streamId, stream]) => [streamId, stream.schema]));
  return { version, spec, streams, consumers: new ConsumerTable(spec.computations, streams) };
}
