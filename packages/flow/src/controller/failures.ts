/**
 * What has become of partitions' earlier jobs: for the describe commands, and for keeping a partition away from a
 * worker where its jobs fail.
 * Specified in: yt/yt/flow/library/cpp/common/flow_view.cpp (ephemeral state), controller/job_manager.cpp.
 */
import type { PartitionId } from "../model/message.ts";
import type { FinishReason } from "./placement.ts";

export interface Failure {
  readonly atMs: number;
  readonly reason: FinishReason;
  readonly message: string;
  readonly workerAddress: string;
}

const keptPerPartition = 20;

export class FailureLog {
  readonly #failures = new Map<PartitionId, Failure[]>();
  /** Jobs that failed, and were lost, since this controller leads. */
  failedCount = 0;
  lostCount = 0;
  succeededCount = 0;

  add(partitionId: PartitionId, failure: Failure): void {
    this.failedCount += failure.reason === "failed" ? 1 : 0;
    this.lostCount += failure.reason === "lost_worker" || failure.reason === "expired_lease" ? 1 : 0;
    const known = this.#failures.get(partitionId) ?? [];
    this.#failures.set(partitionId, [...known.slice(1 - keptPerPartition), failure]);
  }

  of(partitionId: PartitionId): readonly Failure[] {
    return this.#failures.get(partitionId) ?? [];
  }

  forget(partitions: ReadonlyMap<PartitionId, unknown>): void {
    for (const partitionId of this.#failures.keys()) {
      if (!partitions.has(partitionId)) {
        this.#failures.delete(partitionId);
      }
    }
  }

  /** Whether a partition's jobs have failed at a worker `attempts` times within `windowMs`. */
  isFaulty(
    partitionId: PartitionId,
    address: string,
    nowMs: number,
    options: { readonly windowMs: number; readonly attempts: number },
  ): boolean {
    const recent = this.of(partitionId).filter(
      (failure) => failure.workerAddress === address && nowMs - failure.atMs <= options.windowMs,
    );
    return options.attempts > 0 && recent.length >= options.attempts;
  }
}
