/**
 * `describe-partition`, `describe-worker` and `describe-workers`.
 * Specified in: yt/yt/flow/library/cpp/controller/describe/describe_partition.cpp, describe_worker.cpp.
 */
import { mapOf, type YsonMap, YtError } from "@qyt/base";
import { jobStatusToYson } from "../flow-view.ts";
import { partitionToYson } from "../layout-log.ts";
import type { Leader } from "../leader.ts";
import type { Worker } from "../workers.ts";

/** @throws YtError 500 when there is no such partition */
export function describePartition(leader: Leader, partitionId: string): YsonMap {
  const partition = leader.layout.partitions.get(partitionId);
  if (partition === undefined) {
    throw new YtError(`Partition ${partitionId} is not found; "get-flow-view" lists them`, {
      code: "ResolveError",
    });
  }
  const job =
    partition.currentJobId === undefined ? undefined : leader.layout.jobs.get(partition.currentJobId);
  const status = job === undefined ? undefined : leader.workers.statuses.get(job.jobId);
  return new Map([
    ...partitionToYson(partition),
    ...mapOf({
      worker_address: job?.workerAddress,
      job_status: status === undefined ? undefined : jobStatusToYson(status),
      recent_failures: leader.failures
        .of(partitionId)
        .map((failure) =>
          mapOf({ reason: failure.reason, message: failure.message, worker_address: failure.workerAddress }),
        ),
    }),
  ]);
}

/** @throws YtError 500 when no such worker reports */
export function describeWorker(leader: Leader, address: string): YsonMap {
  const worker = leader.workers.workers.get(address);
  if (worker === undefined) {
    throw new YtError(`Worker ${address} is not found; "describe-workers" lists them`, {
      code: "ResolveError",
    });
  }
  return workerToYson(leader, worker);
}

export function describeWorkers(leader: Leader): YsonMap {
  return mapOf({
    workers: [...leader.workers.workers.values()].map((worker) => workerToYson(leader, worker)),
  });
}

function workerToYson(leader: Leader, worker: Worker): YsonMap {
  const jobs = [...leader.layout.jobs.values()].filter((job) => job.workerAddress === worker.address);
  const statuses = jobs.flatMap((job) => {
    const status = leader.workers.statuses.get(job.jobId);
    return status === undefined ? [] : [status];
  });
  return mapOf({
    address: worker.address,
    incarnation_id: worker.incarnation,
    groups: worker.groups,
    banned: worker.isBanned,
    job_count: BigInt(jobs.length),
    cpu_usage: statuses.reduce((total, status) => total + status.metrics.cpu, 0),
    messages_per_second: statuses.reduce((total, status) => total + status.metrics.messagesPerSecond, 0),
  });
}
