/**
 * Decides how far each partition of a queue is trimmed. A pure function of what was read: whatever could not
 * be read blocks the trimming that depends on it, and says so.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TQueueTrimSession). Differences: a queue whose
 * own trimming is off raises nothing, the result is clamped to the rows that exist, a vital registration
 * with `partitions` protects only those, and replicas are not trimmed.
 */
import { YtError } from "@qyt/base";
import type { QueueExportProgress } from "../exports/queue-export-progress.ts";
import { least } from "../integers.ts";
import { referenceToString } from "../objects/reference.ts";
import type { ConsumerLookup } from "../objects/registrations.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { type VitalReader, vitalReader } from "./vital-reader.ts";

/** What a decision is made on. */
export interface TrimView {
  readonly queue: QueueSnapshot;
  /** The latest snapshot of a consumer in this process. */
  readonly consumer: ConsumerLookup;
  /** Unix milliseconds; what an earlier pass saw of a consumer is too old: it may have gone back since. */
  readonly consumersSinceMs: number;
  readonly exports: QueueExportProgress;
}

/** Rows from this index on are too young to be trimmed; an error when that could not be found out. */
export type LifetimeFloor = bigint | YtError;

export interface PartitionTrim {
  readonly partitionIndex: number;
  /** The new index of the first row, above the present one and at most the number of rows written. */
  readonly trimmedRowCount: bigint;
}

export interface TrimPlan {
  /** In order of partitions; those where there is nothing to trim are not in it. */
  readonly trims: readonly PartitionTrim[];
  /** Partitions that stay untrimmed because something about them could not be read. */
  readonly errors: ReadonlyMap<number, YtError>;
  /** Partitions that stay untrimmed until their lifetime floor is asked for and given to the next plan. */
  readonly floorsNeeded: readonly number[];
}

/**
 * @param floors by partition, for a queue with `retained_lifetime_duration`
 * @throws YtError when something is unknown that holds for the whole queue; nothing may be trimmed then
 */
export function planTrim(
  view: TrimView,
  floors: ReadonlyMap<number, LifetimeFloor> = new Map<number, LifetimeFloor>(),
): TrimPlan {
  const { queue, exports } = view;
  const trims: PartitionTrim[] = [];
  const errors = new Map<number, YtError>();
  const floorsNeeded: number[] = [];
  const plan: TrimPlan = { trims, errors, floorsNeeded };
  const config = queue.row.autoTrimConfig;
  if (config === null || !config.enable) {
    return plan;
  }
  const readers = readersOf(view);
  for (const partition of queue.partitions) {
    // Whatever is frozen or unmounted cannot be trimmed now; it is looked at again when it is mounted.
    if (partition.tabletState !== "mounted") {
      continue;
    }
    const { partitionIndex, upperRowIndex } = partition;
    const limit = readLimit(partition, readers, exports);
    if (limit instanceof YtError) {
      errors.set(partitionIndex, limit);
      continue;
    }
    if (limit === null) {
      continue;
    }
    const unretained = upperRowIndex - (config.retainedRows ?? 0n);
    const byCount = least(limit, upperRowIndex, unretained);
    if (byCount <= partition.lowerRowIndex) {
      continue;
    }
    const floor = config.retainedLifetimeDurationMs === null ? upperRowIndex : floors.get(partitionIndex);
    if (floor === undefined) {
      floorsNeeded.push(partitionIndex);
    } else if (floor instanceof YtError) {
      errors.set(partitionIndex, floor);
    } else if (floor > partition.lowerRowIndex) {
      trims.push({ partitionIndex, trimmedRowCount: least(byCount, floor) });
    }
  }
  return plan;
}

/** @throws YtError when it is unknown who reads the queue, or nobody does that trimming could go by */
function readersOf(view: TrimView): readonly VitalReader[] {
  const { queue, exports } = view;
  if (queue.error !== null) {
    throw queue.error.wrap("Trimming iteration skipped due to queue error");
  }
  if (queue.isReplica) {
    throw replicaIsNotTrimmed(referenceToString(queue.reference));
  }
  if (exports.kind === "error") {
    throw exports.error.wrap("Failed to get aggregate queue exports progress");
  }
  const vital = queue.registrations.filter((registration) => registration.vital);
  if (vital.length === 0 && exports.kind === "none") {
    const path = referenceToString(queue.reference);
    throw new YtError(
      `Attempted trimming iteration on queue "${path}" with no vital consumers and no configured static table exports: ` +
        "register a vital consumer (register_queue_consumer with vital=%true), configure an export " +
        "(@static_export_config), or set enable=%false in @auto_trim_config",
    );
  }
  return vital.map((registration) => vitalReader(registration, view.consumer, view.consumersSinceMs));
}

/** Its vital consumers are registered with the replicated table, which nobody follows here. */
function replicaIsNotTrimmed(queue: string): YtError {
  return new YtError(
    `Queue "${queue}" is a replica, and replicas are not trimmed automatically: vital consumers are registered with the replicated table, which this queue agent does not follow. ` +
      "Trim it by hand (trim_rows) once all readers have the rows, and remove @auto_trim_config; " +
      'or, if the replicated table is gone, make it a table of its own (alter_table with upstream_replica_id="0-0-0-0")',
  );
}

/** Up to where everybody who needs the partition's rows has them; `null`: nobody does. */
function readLimit(
  partition: QueuePartitionSnapshot,
  readers: readonly VitalReader[],
  exports: QueueExportProgress,
): bigint | null | YtError {
  if (partition.error !== null) {
    return partition.error;
  }
  let limit: bigint | null = null;
  for (const reader of readers) {
    const offset = reader.offset(partition.partitionIndex);
    if (offset instanceof YtError) {
      return offset;
    }
    if (offset !== null) {
      limit = least(offset, limit ?? offset);
    }
  }
  if (exports.kind === "rows") {
    const exported = exports.rowCounts.get(partition.partitionIndex) ?? 0n;
    limit = least(exported, limit ?? exported);
  }
  return limit;
}
