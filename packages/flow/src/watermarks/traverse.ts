/**
 * What jobs and the controller say of streams: how far they are, and whether more will come.
 * Specified in: yt/yt/flow/library/cpp/common/traverse.cpp.
 */
import type { FlowTimestamp } from "../model/message.ts";
import { minTimestamp } from "../model/timestamps.ts";
import type { StreamState, Traverse } from "../protocol/protocol.ts";

const stateOrder: Readonly<Record<StreamState, number>> = { active: 0, drained: 1, completed: 2 };

/** Whether a state is at least as far as another: `active` < `drained` < `completed`. */
export function isAtLeast(state: StreamState, bound: StreamState): boolean {
  return stateOrder[state] >= stateOrder[bound];
}

/** The minimum of every field: a stream is as far as the last of its parts. */
export function mergeTraverse(left: Traverse, right: Traverse): Traverse {
  return {
    epoch: earlierEpoch(left.epoch, right.epoch),
    state: stateOrder[left.state] <= stateOrder[right.state] ? left.state : right.state,
    systemWatermark: minTimestamp(left.systemWatermark, right.systemWatermark),
    eventWatermark: minTimestamp(left.eventWatermark, right.eventWatermark),
  };
}

function earlierEpoch(left: bigint, right: bigint): bigint {
  if (left < right) {
    return left;
  }
  return right;
}

/** «Completed at (generation of the spec, now)»: what a stream begins from that descends from nothing. */
export function completedTraverse(epoch: bigint, now: FlowTimestamp): Traverse {
  return { epoch, state: "completed", systemWatermark: now, eventWatermark: now };
}

/** What of a stream is under way in a job. */
export interface StreamInflight {
  readonly isEmpty: boolean;
  readonly isSuspended: boolean;
  readonly minSystemTimestamp: FlowTimestamp | undefined;
  readonly minEventTimestamp: FlowTimestamp | undefined;
}

/** Holds a stream back by its own messages under way. */
export function applyInflight(base: Traverse, inflight: StreamInflight): Traverse {
  const { minSystemTimestamp, minEventTimestamp, isEmpty, isSuspended } = inflight;
  return {
    epoch: base.epoch,
    state: stateWithInflight(base.state, isEmpty, isSuspended),
    systemWatermark:
      minSystemTimestamp === undefined
        ? base.systemWatermark
        : minTimestamp(base.systemWatermark, minSystemTimestamp),
    eventWatermark:
      minEventTimestamp === undefined
        ? base.eventWatermark
        : minTimestamp(base.eventWatermark, minEventTimestamp),
  };
}

function stateWithInflight(base: StreamState, isEmpty: boolean, isSuspended: boolean): StreamState {
  if (base === "completed" && isEmpty) {
    return "completed";
  }
  return isSuspended || (isEmpty && isAtLeast(base, "drained")) ? "drained" : "active";
}

/** What is needed to say how far a job's streams are. */
export interface JobTraverseInput {
  /** Streams, each after those it descends from (`topologicalOrder`). */
  readonly order: readonly string[];
  readonly dependency: ReadonlyMap<string, ReadonlySet<string>>;
  /** What the controller said of the input streams. */
  readonly inputs: ReadonlyMap<string, Traverse>;
  readonly inflight: (streamId: string) => StreamInflight;
  /** The generator's watermark of source streams: replaces what they would have by themselves. */
  readonly sourceWatermark: (streamId: string) => FlowTimestamp | undefined;
  /** Only a partition that executes waits for its inputs; others finish what they have. */
  readonly isExecuting: boolean;
  readonly specGeneration: bigint;
  readonly now: FlowTimestamp;
  /** The system watermark of streams that are no inputs: «now», for swift maps that of the input. */
  readonly ownSystemWatermark: FlowTimestamp;
}

/** How far each stream of a job is. */
export function jobTraverse(input: JobTraverseInput): ReadonlyMap<string, Traverse> {
  const result = new Map<string, Traverse>();
  for (const streamId of input.order) {
    const given = input.inputs.get(streamId);
    let traverse = given ?? completedTraverse(input.specGeneration, input.now);
    if (input.isExecuting) {
      for (const parent of input.dependency.get(streamId) ?? []) {
        const known = result.get(parent);
        if (known !== undefined && parent !== streamId) {
          traverse = mergeTraverse(traverse, known);
        }
      }
    }
    if (given === undefined) {
      traverse = { ...traverse, systemWatermark: input.ownSystemWatermark };
    }
    const watermark = input.sourceWatermark(streamId);
    if (watermark !== undefined) {
      traverse = { ...traverse, eventWatermark: minTimestamp(traverse.eventWatermark, watermark) };
    }
    result.set(streamId, applyInflight(traverse, input.inflight(streamId)));
  }
  return result;
}
