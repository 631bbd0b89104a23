/**
 * The workers that report, and what their jobs say. In memory: a new leader learns it from the next heartbeats.
 * Specified in: yt/yt/flow/library/cpp/controller/worker_tracker.cpp.
 */
import type { JobId } from "../model/message.ts";
import type { Heartbeat, JobStatus } from "../protocol/protocol.ts";

export interface Worker {
  readonly address: string;
  readonly incarnation: string;
  readonly groups: readonly string[];
  /** Monotonic milliseconds of the last heartbeat. */
  readonly lastSeenMs: number;
  /** Told to take no new jobs (`update-worker`). */
  readonly isBanned: boolean;
}

export interface TrackedStatus extends JobStatus {
  readonly updateMs: number;
}

export class WorkerRegistry {
  readonly #workers = new Map<string, Worker>();
  readonly #statuses = new Map<JobId, TrackedStatus>();
  readonly #banned = new Set<string>();

  get workers(): ReadonlyMap<string, Worker> {
    return this.#workers;
  }

  get statuses(): ReadonlyMap<JobId, TrackedStatus> {
    return this.#statuses;
  }

  /** Takes in a heartbeat. One of an older incarnation than known is not told apart: the newest call wins. */
  heartbeat(heartbeat: Heartbeat, nowMs: number): void {
    this.#workers.set(heartbeat.workerAddress, {
      address: heartbeat.workerAddress,
      incarnation: heartbeat.incarnation,
      groups: heartbeat.workerGroups,
      lastSeenMs: nowMs,
      isBanned: this.#banned.has(heartbeat.workerAddress),
    });
    for (const status of heartbeat.jobs) {
      this.#statuses.set(status.jobId, { ...status, updateMs: nowMs });
    }
  }

  /** Forgets workers that have been silent, and statuses of jobs that are no more. */
  forget(nowMs: number, lostAfterMs: number, jobs: ReadonlyMap<JobId, unknown>): void {
    for (const [address, worker] of this.#workers) {
      if (nowMs - worker.lastSeenMs > lostAfterMs) {
        this.#workers.delete(address);
      }
    }
    for (const jobId of this.#statuses.keys()) {
      if (!jobs.has(jobId)) {
        this.#statuses.delete(jobId);
      }
    }
  }

  setBanned(address: string, isBanned: boolean): void {
    if (isBanned) {
      this.#banned.add(address);
    } else {
      this.#banned.delete(address);
    }
    const worker = this.#workers.get(address);
    if (worker !== undefined) {
      this.#workers.set(address, { ...worker, isBanned });
    }
  }

  remove(address: string): void {
    this.#workers.delete(address);
  }
}
