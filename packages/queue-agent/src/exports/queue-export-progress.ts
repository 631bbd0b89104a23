/**
 * How far the exports of a queue are as a whole, for trimming: an export is like one more vital consumer.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (AggregateQueueExports).
 */
import type { YtError } from "@qyt/base";
import { least } from "../integers.ts";

/** The smallest exported row index over all exports by partition; a partition that is not there has 0. */
export type QueueExportProgress =
  | { readonly kind: "none" }
  | { readonly kind: "rows"; readonly rowCounts: ReadonlyMap<number, bigint> }
  | { readonly kind: "error"; readonly error: YtError };

/**
 * Merges the progresses of several exports (or of the replicas' exports): each partition is as far as the
 * slowest, and a partition that is missing in one of them is not exported at all. `null` stands for no export;
 * when all are, so is the result.
 */
export function aggregateRowCounts(
  progresses: Iterable<ReadonlyMap<number, bigint> | null>,
): ReadonlyMap<number, bigint> | null {
  let result: Map<number, bigint> | null = null;
  for (const progress of progresses) {
    if (progress === null) {
      continue;
    }
    if (result === null) {
      result = new Map(progress);
      continue;
    }
    for (const partition of new Set([...result.keys(), ...progress.keys()])) {
      result.set(partition, least(result.get(partition) ?? 0n, progress.get(partition) ?? 0n));
    }
  }
  return result;
}
