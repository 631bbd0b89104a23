/**
 * What the leader last committed, as the workers are told it.
 * Specified in: yt/yt/flow/library/cpp/controller/worker_tracker_service.cpp.
 */
import type { ComputationId, KeyRange, PartitionId, StreamId } from "../model/message.ts";
import type {
  Heartbeat,
  HeartbeatAnswer,
  JobAssignment,
  PartitionLayout,
  PipelineState,
} from "../protocol/protocol.ts";
import type { PipelineSpec } from "../spec/pipeline-spec.ts";
import type { Job, Layout, Partition } from "./layout.ts";
import type { ProgressReport } from "./progress.ts";
import type { Specs } from "./spec-store.ts";

export interface CommittedView {
  readonly incarnationId: string;
  readonly state: PipelineState;
  readonly specs: Specs;
  readonly spec: PipelineSpec;
  readonly layout: Layout;
  /** The version of the layout that workers compare: grows with every change of specs, state and layout. */
  readonly epoch: bigint;
  readonly progress: ProgressReport;
}

/** Made after each commit; keeps its own copies, since the layout goes on changing. */
export class Assignments {
  readonly #view: CommittedView;
  readonly #partitions: readonly PartitionLayout[];
  readonly #jobs: readonly Job[];
  readonly #blocked: ReadonlyMap<PartitionId, readonly StreamId[]>;

  constructor(view: CommittedView) {
    this.#view = view;
    this.#jobs = [...view.layout.jobs.values()];
    this.#partitions = [...view.layout.partitions.values()].map((partition) =>
      toLayout(partition, view.layout),
    );
    this.#blocked = blockedStreams(view.layout, view.spec);
  }

  answer(heartbeat: Heartbeat): HeartbeatAnswer {
    const { specs, state, progress, epoch, incarnationId } = this.#view;
    const isSame = (known: bigint, version: bigint): boolean => known === version;
    return {
      leaderIncarnation: incarnationId,
      pipelineState: state,
      spec: isSame(heartbeat.knownSpecVersion, specs.spec.version) ? undefined : specs.spec,
      dynamicSpec: isSame(heartbeat.knownDynamicSpecVersion, specs.dynamicSpec.version)
        ? undefined
        : specs.dynamicSpec,
      layout: isSame(heartbeat.knownLayoutVersion, epoch)
        ? undefined
        : { version: epoch, partitions: this.#partitions },
      jobs: this.#jobs.filter((job) => isOf(job, heartbeat)).map(toAssignment),
      watermarks: progress.watermarks,
      inputTraverse: progress.streams,
      blockedStreams: this.#blocked,
    };
  }
}

function isOf(job: Job, heartbeat: Heartbeat): boolean {
  return job.workerAddress === heartbeat.workerAddress && job.workerIncarnation === heartbeat.incarnation;
}

function toAssignment(job: Job): JobAssignment {
  const { jobId, partitionId, finishAfterCurrentEpoch } = job;
  return { jobId, partitionId, finishAfterCurrentEpoch };
}

function toLayout(partition: Partition, layout: Layout): PartitionLayout {
  const { partitionId, computationId, range, sourceKey, state, currentJobId } = partition;
  const job = currentJobId === undefined ? undefined : layout.jobs.get(currentJobId);
  return {
    partitionId,
    computationId,
    range,
    sourceKey,
    state,
    currentJobId,
    workerAddress: job?.workerAddress,
  };
}

/**
 * With strict ordering a new partition hands nothing out while an older one over the same keys still does: its
 * output streams are blocked until that one is gone.
 */
function blockedStreams(layout: Layout, spec: PipelineSpec): ReadonlyMap<PartitionId, readonly StreamId[]> {
  const interrupting = new Map<ComputationId, Partition[]>();
  for (const partition of layout.partitions.values()) {
    if (partition.state === "interrupting") {
      const known = interrupting.get(partition.computationId) ?? [];
      interrupting.set(partition.computationId, [...known, partition]);
    }
  }
  const blocked = new Map<PartitionId, readonly StreamId[]>();
  for (const [computationId, old] of interrupting) {
    const computation = spec.computations.get(computationId);
    if (computation?.distributionOrdering !== "strict") {
      continue;
    }
    for (const partition of layout.partitionsOf(computationId)) {
      if (partition.state !== "interrupting" && old.some((item) => overlap(item.range, partition.range))) {
        blocked.set(partition.partitionId, computation.outputStreamIds);
      }
    }
  }
  return blocked;
}

function overlap(left: KeyRange | undefined, right: KeyRange | undefined): boolean {
  if (left === undefined || right === undefined) {
    return left === right;
  }
  const isBefore = (a: KeyRange, b: KeyRange): boolean => a.upper !== undefined && a.upper <= b.lower;
  return !isBefore(left, right) && !isBefore(right, left);
}
