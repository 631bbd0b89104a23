/**
 * The state of a pipeline and how it goes towards its target: pure.
 * Specified in: yt/yt/flow/library/cpp/controller/controller.cpp, job_manager.cpp, flow_executor.cpp.
 */
import { YtError } from "@qyt/base";
import type { PipelineState } from "../protocol/protocol.ts";

export type TargetState = "completed" | "stopped" | "paused";

/**
 * @throws YtError 1 when the state is no target, or the pipeline is completed and stays so
 */
export function checkTarget(state: PipelineState, target: PipelineState): TargetState {
  if (target !== "completed" && target !== "stopped" && target !== "paused") {
    throw new YtError(`State "${target}" cannot be target pipeline state`);
  }
  if (state === "completed") {
    throw new YtError(
      `Pipeline is in "completed" state, cannot change target state to "${target}"; create the pipeline anew to run it again`,
    );
  }
  return target;
}

/** Whether jobs run in a state. */
export function hasJobs(state: PipelineState): boolean {
  return state === "working" || state === "draining";
}

/** Whether jobs hand out what they have and take nothing new: forced on them while this is so. */
export function isDraining(state: PipelineState): boolean {
  return state === "draining" || state === "stopped";
}

/** The first two rules of a cycle: where the target and the binary lead. */
export function towardsTarget(
  state: PipelineState,
  target: PipelineState,
  isBinaryCompatible: boolean,
): PipelineState {
  if (!isBinaryCompatible) {
    return state === "completed" || state === "paused" || state === "stopped" ? state : "pausing";
  }
  if (state === "completed" || state === target) {
    return state;
  }
  switch (target) {
    case "completed":
      return "working";
    case "stopped":
      return "draining";
    default:
      return state === "pausing" || state === "stopped" ? state : "pausing";
  }
}

export interface Progress {
  /** All streams are completed in the current epoch, and every partition is completed or interrupted. */
  readonly isCompleted: boolean;
  /** All streams are at least drained in the current epoch. */
  readonly isDrained: boolean;
}

/** The last rules of a cycle: where the jobs' progress leads. A changed state means that all jobs stop. */
export function afterJobs(state: PipelineState, progress: Progress): PipelineState {
  switch (state) {
    case "working":
      return progress.isCompleted ? "completed" : state;
    case "draining":
      return progress.isDrained ? "stopped" : state;
    case "pausing":
      return "paused";
    default:
      return state;
  }
}
