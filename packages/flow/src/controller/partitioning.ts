/**
 * Which partitions there should be: new ones for new ranges and source keys, an end for those that nothing
 * corresponds to any more.
 * Specified in: yt/yt/flow/library/cpp/partitioning/partitioning_coordinator.cpp, computation/universal_controller.cpp.
 */
import type { ComputationId, FlowTimestamp, Key, KeyRange, PartitionId } from "../model/message.ts";
import type { Layout, Partition } from "./layout.ts";
import { coversKeySpace, splitKeySpace } from "./range-partitioning.ts";

export interface PartitioningContext {
  readonly layout: Layout;
  readonly now: FlowTimestamp;
  readonly newPartitionId: () => PartitionId;
}

/** Partitions of computations that the spec has no more end at once: their state is kept by nobody. */
export function interruptForeign(
  context: PartitioningContext,
  computationIds: ReadonlySet<ComputationId>,
): void {
  for (const partition of context.layout.partitions.values()) {
    if (!computationIds.has(partition.computationId) && isLive(partition)) {
      endAtOnce(context, partition);
    }
  }
}

/**
 * Source partitions follow the listed keys. A new key gets a partition; a vanished one's partition completes: its
 * states, the offsets among them, are erased by its job.
 * @param keys `undefined` while they are not known: nothing changes
 */
export function partitionSource(
  context: PartitioningContext,
  computationId: ComputationId,
  keys: readonly Key[] | undefined,
): void {
  if (keys === undefined) {
    return;
  }
  const expected = new Map(keys.map((key) => [sourceKeyText(key), key]));
  for (const partition of context.layout.partitionsOf(computationId)) {
    if (partition.sourceKey === undefined) {
      interrupt(context, partition);
      continue;
    }
    const text = sourceKeyText(partition.sourceKey);
    if (expected.has(text) && partition.state !== "interrupted") {
      // A completing partition whose key has come back ends first; then the key gets a new one.
      expected.delete(text);
    } else if (partition.state === "executing") {
      context.layout.setState(partition.partitionId, "completing", context.now);
      expected.delete(text);
    } else if (partition.state === "completed") {
      context.layout.removePartition(partition.partitionId);
    } else {
      expected.delete(text);
    }
  }
  for (const sourceKey of expected.values()) {
    create(context, { computationId, sourceKey, range: undefined });
  }
}

/**
 * Range partitions cover the key space. When they do not, when their count is another, or when they must get new
 * identities (`isForced`), all are interrupted (they hand out what they have) and new ones made.
 */
export function partitionRanges(
  context: PartitioningContext,
  computationId: ComputationId,
  count: number,
  isForced: boolean,
): boolean {
  const partitions = context.layout.partitionsOf(computationId);
  const current = partitions.filter((item) => item.state !== "interrupting" && item.state !== "interrupted");
  const ranges = current.flatMap((item) => (item.range === undefined ? [] : [item.range]));
  const isWhole = ranges.length === current.length && coversKeySpace(ranges);
  if (isWhole && ranges.length === count && !isForced) {
    return false;
  }
  for (const partition of current) {
    interrupt(context, partition);
  }
  for (const range of splitKeySpace(count)) {
    create(context, { computationId, sourceKey: undefined, range });
  }
  return true;
}

/** Partitions that are at their end go out of the layout. */
export function removeInterrupted(context: PartitioningContext): void {
  for (const partition of context.layout.partitions.values()) {
    if (partition.state === "interrupted") {
      context.layout.removePartition(partition.partitionId);
    }
  }
}

/** Whether a partition still has something to run. */
export function isLive(partition: Partition): boolean {
  return partition.state !== "completed" && partition.state !== "interrupted";
}

/** A job has ended well: its partition goes on to the next state. */
export function afterFinish(context: PartitioningContext, partition: Partition): void {
  switch (partition.state) {
    case "executing":
      context.layout.setState(partition.partitionId, "completing", context.now);
      break;
    case "completing":
      context.layout.setState(partition.partitionId, "completed", context.now);
      break;
    case "interrupting":
      context.layout.setState(partition.partitionId, "interrupted", context.now);
      break;
    default:
  }
}

/** Equal exactly for equal keys. */
export function sourceKeyText(key: Key): string {
  return JSON.stringify(
    key.map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : String(value))),
  );
}

function interrupt(context: PartitioningContext, partition: Partition): void {
  if (partition.state === "completed") {
    context.layout.setState(partition.partitionId, "interrupted", context.now);
  } else if (isLive(partition)) {
    context.layout.setState(partition.partitionId, "interrupting", context.now);
  }
}

function endAtOnce(context: PartitioningContext, partition: Partition): void {
  if (partition.currentJobId !== undefined) {
    context.layout.removeJob(partition.currentJobId);
  }
  context.layout.setState(partition.partitionId, "interrupted", context.now);
}

function create(
  context: PartitioningContext,
  shape: {
    readonly computationId: ComputationId;
    readonly sourceKey: Key | undefined;
    readonly range: KeyRange | undefined;
  },
): void {
  context.layout.putPartition({
    ...shape,
    partitionId: context.newPartitionId(),
    state: "executing",
    stateTimestamp: context.now,
    currentJobId: undefined,
  });
}
