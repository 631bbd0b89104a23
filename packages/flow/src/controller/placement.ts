/**
 * Which worker runs which job: lost and failed jobs are taken away, partitions without a job get one at the least
 * loaded worker of their group, and jobs move gracefully when the load is uneven. Pure decisions over a view.
 * Specified in: yt/yt/flow/library/cpp/controller/job_manager.cpp, job_balancer_greedy.cpp.
 */
import type { ComputationId, JobId, PartitionId } from "../model/message.ts";
import type { Job, Layout, Partition } from "./layout.ts";
import { isLive } from "./partitioning.ts";
import type { TrackedStatus, Worker } from "./workers.ts";

export type FinishReason =
  | "unknown"
  | "failed"
  | "rebalanced"
  | "stopped"
  | "lost_worker"
  | "expired_lease"
  | "partition_updated";

/** A job is gone, and why. */
export interface LostJob {
  readonly job: Job;
  readonly reason: FinishReason;
  readonly message: string;
}

export interface JobView {
  readonly layout: Layout;
  readonly workers: ReadonlyMap<string, Worker>;
  readonly statuses: ReadonlyMap<JobId, TrackedStatus>;
  readonly nowMs: number;
  /** When the leader began to lead: until workers had their time to report nobody is lost. */
  readonly leaderSinceMs: number;
  readonly lostJobTimeoutMs: number;
}

/** Jobs whose worker is gone or has started anew, or which nobody has reported for too long. */
export function findLostJobs(view: JobView): readonly LostJob[] {
  const lost: LostJob[] = [];
  for (const job of view.layout.jobs.values()) {
    const worker = view.workers.get(job.workerAddress);
    const lastMs = Math.max(view.statuses.get(job.jobId)?.updateMs ?? 0, view.leaderSinceMs);
    if (worker !== undefined && worker.incarnation !== job.workerIncarnation) {
      lost.push({ job, reason: "lost_worker", message: `Worker ${job.workerAddress} has started anew` });
    } else if (view.nowMs - lastMs > view.lostJobTimeoutMs) {
      lost.push({
        job,
        reason: "lost_worker",
        message: `Worker ${job.workerAddress} has not reported the job for ${Math.round(view.nowMs - lastMs)} ms`,
      });
    }
  }
  return lost;
}

export interface PlacementOptions {
  readonly groupOf: (computationId: ComputationId) => string;
  /** `weight_multiplier`, and for interrupting partitions `interrupting_weight_multiplier`. */
  readonly weightOf: (partition: Partition) => number;
  /** Workers on which the partition's jobs have failed too often of late. */
  readonly isFaulty: (partitionId: PartitionId, address: string) => boolean;
  readonly newJobId: () => JobId;
}

/** Gives a job to every live partition without one. Returns the jobs that were made. */
export function placeJobs(
  layout: Layout,
  workers: ReadonlyMap<string, Worker>,
  options: PlacementOptions,
): readonly Job[] {
  const loads = workerLoads(layout, workers, options);
  const made: Job[] = [];
  for (const partition of layout.partitions.values()) {
    if (!isLive(partition) || partition.currentJobId !== undefined) {
      continue;
    }
    const worker = leastLoaded(partition, workers, loads, options);
    if (worker === undefined) {
      continue;
    }
    const job: Job = {
      jobId: options.newJobId(),
      partitionId: partition.partitionId,
      workerAddress: worker.address,
      workerIncarnation: worker.incarnation,
      finishAfterCurrentEpoch: false,
    };
    layout.addJob(job);
    loads.set(worker.address, (loads.get(worker.address) ?? 0) + options.weightOf(partition));
    made.push(job);
  }
  return made;
}

/**
 * Asks jobs of the busiest workers to finish when another worker has less by more than a job's weight; the next
 * cycle places them anew. At most a tenth of the jobs at a time.
 * @param deviation how far above the average a worker may be, as a part of it
 */
export function rebalance(
  layout: Layout,
  workers: ReadonlyMap<string, Worker>,
  options: PlacementOptions,
  deviation: number,
): readonly Job[] {
  const loads = workerLoads(layout, workers, options);
  const moved: Job[] = [];
  const most = Math.max(1, Math.floor(layout.jobs.size / 10));
  const isMoving = [...layout.jobs.values()].some((job) => job.finishAfterCurrentEpoch);
  if (workers.size < 2 || isMoving) {
    return moved;
  }
  for (const job of layout.jobs.values()) {
    const partition = layout.partitions.get(job.partitionId);
    if (moved.length >= most || partition === undefined || partition.state !== "executing") {
      continue;
    }
    const weight = options.weightOf(partition);
    const target = leastLoaded(partition, workers, loads, options);
    const here = loads.get(job.workerAddress) ?? 0;
    const there = target === undefined ? Number.POSITIVE_INFINITY : (loads.get(target.address) ?? 0);
    const group = options.groupOf(partition.computationId);
    if (here - there > weight && here > average(workers, loads, group) * (1 + deviation)) {
      layout.finishJob(job.jobId);
      loads.set(job.workerAddress, here - weight);
      loads.set(target?.address ?? "", there + weight);
      moved.push(job);
    }
  }
  return moved;
}

/** Whether a worker takes jobs of a group. One without groups belongs only to the default (empty) group. */
function belongs(worker: Worker, group: string): boolean {
  return group === ""
    ? worker.groups.length === 0 || worker.groups.includes("")
    : worker.groups.includes(group);
}

function leastLoaded(
  partition: Partition,
  workers: ReadonlyMap<string, Worker>,
  loads: ReadonlyMap<string, number>,
  options: PlacementOptions,
): Worker | undefined {
  const group = options.groupOf(partition.computationId);
  const able = [...workers.values()].filter((worker) => belongs(worker, group) && !worker.isBanned);
  const healthy = able.filter((worker) => !options.isFaulty(partition.partitionId, worker.address));
  let best: Worker | undefined;
  for (const worker of healthy.length > 0 ? healthy : able) {
    const isBetter = best === undefined || (loads.get(worker.address) ?? 0) < (loads.get(best.address) ?? 0);
    best = isBetter ? worker : best;
  }
  return best;
}

function workerLoads(
  layout: Layout,
  workers: ReadonlyMap<string, Worker>,
  options: PlacementOptions,
): Map<string, number> {
  const loads = new Map([...workers.keys()].map((address) => [address, 0]));
  for (const job of layout.jobs.values()) {
    const partition = layout.partitions.get(job.partitionId);
    if (partition !== undefined && loads.has(job.workerAddress)) {
      loads.set(job.workerAddress, (loads.get(job.workerAddress) ?? 0) + options.weightOf(partition));
    }
  }
  return loads;
}

function average(
  workers: ReadonlyMap<string, Worker>,
  loads: ReadonlyMap<string, number>,
  group: string,
): number {
  const members = [...workers.values()].filter((worker) => belongs(worker, group) && !worker.isBanned);
  const sum = members.reduce((total, worker) => total + (loads.get(worker.address) ?? 0), 0);
  return members.length === 0 ? 0 : sum / members.length;
}
