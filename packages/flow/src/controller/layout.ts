/**
 * The layout: partitions, their jobs, and where these run; with a record of what has changed, for the log that
 * persists it.
 * Specified in: yt/yt/flow/library/cpp/common/flow_view.cpp (`TFlowLayout`).
 */
import { defined } from "@qyt/base";
import type { ComputationId, FlowTimestamp, JobId, Key, KeyRange, PartitionId } from "../model/message.ts";
import type { PartitionState } from "../protocol/protocol.ts";

export interface Partition {
  readonly partitionId: PartitionId;
  readonly computationId: ComputationId;
  readonly range: KeyRange | undefined;
  /** `[source stream id, identity, index]`. */
  readonly sourceKey: Key | undefined;
  readonly state: PartitionState;
  readonly stateTimestamp: FlowTimestamp;
  readonly currentJobId: JobId | undefined;
}

export interface Job {
  readonly jobId: JobId;
  readonly partitionId: PartitionId;
  readonly workerAddress: string;
  readonly workerIncarnation: string;
  readonly finishAfterCurrentEpoch: boolean;
}

export interface LayoutChanges {
  readonly partitions: ReadonlySet<PartitionId>;
  readonly jobs: ReadonlySet<JobId>;
}

export class Layout {
  readonly #partitions = new Map<PartitionId, Partition>();
  readonly #jobs = new Map<JobId, Job>();
  #changedPartitions = new Set<PartitionId>();
  #changedJobs = new Set<JobId>();
  #version = 0n;

  get partitions(): ReadonlyMap<PartitionId, Partition> {
    return this.#partitions;
  }

  get jobs(): ReadonlyMap<JobId, Job> {
    return this.#jobs;
  }

  /** Grows with every change. */
  get version(): bigint {
    return this.#version;
  }

  partitionsOf(computationId: ComputationId): readonly Partition[] {
    return [...this.#partitions.values()].filter((item) => item.computationId === computationId);
  }

  putPartition(partition: Partition): void {
    this.#partitions.set(partition.partitionId, partition);
    this.#noteChange(this.#changedPartitions, partition.partitionId);
  }

  setState(partitionId: PartitionId, state: PartitionState, now: FlowTimestamp): void {
    const partition = this.#partition(partitionId);
    if (partition.state !== state) {
      this.putPartition({ ...partition, state, stateTimestamp: now });
    }
  }

  removePartition(partitionId: PartitionId): void {
    const jobId = this.#partition(partitionId).currentJobId;
    if (jobId !== undefined) {
      this.removeJob(jobId);
    }
    this.#partitions.delete(partitionId);
    this.#noteChange(this.#changedPartitions, partitionId);
  }

  addJob(job: Job): void {
    this.#jobs.set(job.jobId, job);
    this.#noteChange(this.#changedJobs, job.jobId);
    this.putPartition({ ...this.#partition(job.partitionId), currentJobId: job.jobId });
  }

  /** Asks a job to end after its epoch. */
  finishJob(jobId: JobId): void {
    const job = defined(this.#jobs.get(jobId), "a job that is asked to finish is there");
    this.#jobs.set(jobId, { ...job, finishAfterCurrentEpoch: true });
    this.#noteChange(this.#changedJobs, jobId);
  }

  removeJob(jobId: JobId): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) {
      return;
    }
    this.#jobs.delete(jobId);
    this.#noteChange(this.#changedJobs, jobId);
    const partition = this.#partitions.get(job.partitionId);
    if (partition?.currentJobId === jobId) {
      this.putPartition({ ...partition, currentJobId: undefined });
    }
  }

  /** What has changed since the last call. */
  takeChanges(): LayoutChanges {
    const changes = { partitions: this.#changedPartitions, jobs: this.#changedJobs };
    this.#changedPartitions = new Set();
    this.#changedJobs = new Set();
    return changes;
  }

  #partition(partitionId: PartitionId): Partition {
    return defined(this.#partitions.get(partitionId), "a partition of the layout");
  }

  #noteChange(changes: Set<string>, id: string): void {
    changes.add(id);
    this.#version += 1n;
  }
}
