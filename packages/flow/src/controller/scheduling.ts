/**
 * One cycle's changes of the layout while a pipeline works or drains: finished, failed and lost jobs go, partitions
 * follow the spec and the sources, every partition gets a job. Works on the layout it is given; nothing is written.
 * Specified in: yt/yt/flow/library/cpp/controller/job_manager.cpp.
 */
import { type Random, YtError } from "@qyt/base";
import type { ComputationId, FlowTimestamp } from "../model/message.ts";
import type { ComputationSpec } from "../spec/computation-spec.ts";
import { defaultDynamicComputationSpec } from "../spec/dynamic-spec.ts";
import { parseSpec } from "../spec/fields.ts";
import type { ConnectorControllers } from "./connector-controllers.ts";
import type { FailureLog } from "./failures.ts";
import type { Job, Layout } from "./layout.ts";
import {
  afterFinish,
  interruptForeign,
  type PartitioningContext,
  partitionRanges,
  partitionSource,
  removeInterrupted,
} from "./partitioning.ts";
import { findLostJobs, type LostJob, type PlacementOptions, placeJobs, rebalance } from "./placement.ts";
import { partitioningParameters, type RangeView, rangeCount } from "./range-partitioning.ts";
import type { ParsedSpecs } from "./spec-store.ts";
import type { WorkerRegistry } from "./workers.ts";

/** Error code of a job that ended because it was asked to. */
const gracefulShutdown = "GracefulShutdown";

export interface SchedulingContext {
  readonly specs: ParsedSpecs;
  readonly layout: Layout;
  readonly workers: WorkerRegistry;
  readonly connectors: ConnectorControllers;
  readonly failures: FailureLog;
  readonly random: Random;
  readonly now: FlowTimestamp;
  /** Monotonic milliseconds. */
  readonly nowMs: number;
  readonly leaderSinceMs: number;
  /** Since when no partition has been made or ended, monotonic. */
  readonly steadySinceMs: number;
  /** The channel counts that range partitions were last made for, by computation. Changed here. */
  readonly appliedTopologies: Map<ComputationId, string>;
}

export interface SchedulingResult {
  /** Jobs that are no more: their leases are taken. */
  readonly removedJobs: readonly Job[];
  readonly addedJobs: readonly Job[];
  /** Lines for the public log. */
  readonly events: readonly string[];
  readonly hasRepartitioned: boolean;
}

export function schedule(context: SchedulingContext): SchedulingResult {
  const { layout, specs, workers } = context;
  const before = new Map(layout.jobs);
  const events: string[] = [];
  const partitioning: PartitioningContext = {
    layout,
    now: context.now,
    newPartitionId: () => newGuid(context.random),
  };
  dropFinishedJobs(context, partitioning, events);
  dropLostJobs(context, events);
  removeInterrupted(partitioning);
  interruptForeign(partitioning, new Set(specs.spec.computations.keys()));
  let hasRepartitioned = false;
  for (const [computationId, computation] of specs.spec.computations) {
    hasRepartitioned = partition(context, partitioning, computationId, computation) || hasRepartitioned;
  }
  const addedJobs = placeAll(context, events);
  const removedJobs = [...before.values()].filter((job) => !layout.jobs.has(job.jobId));
  workers.forget(context.nowMs, specs.dynamicSpec.jobManager.lostJobTimeout, layout.jobs);
  context.failures.forget(layout.partitions);
  return { removedJobs, addedJobs, events, hasRepartitioned };
}

function dropFinishedJobs(
  context: SchedulingContext,
  partitioning: PartitioningContext,
  events: string[],
): void {
  for (const job of [...context.layout.jobs.values()]) {
    const status = context.workers.statuses.get(job.jobId);
    const partition = context.layout.partitions.get(job.partitionId);
    if (status === undefined || partition === undefined || !status.isFinished) {
      continue;
    }
    context.layout.removeJob(job.jobId);
    if (status.error === undefined) {
      context.failures.succeededCount += 1;
      afterFinish(partitioning, { ...partition, currentJobId: undefined });
      events.push(`Job completed (ComputationId: ${partition.computationId}, JobId: ${job.jobId})`);
    } else if (!status.error.has(gracefulShutdown)) {
      context.failures.add(job.partitionId, {
        atMs: context.nowMs,
        reason: "failed",
        message: status.error.message,
        workerAddress: job.workerAddress,
      });
      events.push(
        `Job failed (ComputationId: ${partition.computationId}, JobId: ${job.jobId}, Worker: ${job.workerAddress}): ${status.error.message}`,
      );
    }
  }
}

function dropLostJobs(context: SchedulingContext, events: string[]): void {
  const lost: readonly LostJob[] = findLostJobs({
    layout: context.layout,
    workers: context.workers.workers,
    statuses: context.workers.statuses,
    nowMs: context.nowMs,
    leaderSinceMs: context.leaderSinceMs,
    lostJobTimeoutMs: context.specs.dynamicSpec.jobManager.lostJobTimeout,
  });
  for (const { job, reason, message } of lost) {
    context.layout.removeJob(job.jobId);
    context.failures.add(job.partitionId, {
      atMs: context.nowMs,
      reason,
      message,
      workerAddress: job.workerAddress,
    });
    events.push(`Job lost (JobId: ${job.jobId}): ${message}`);
  }
}

function partition(
  context: SchedulingContext,
  partitioning: PartitioningContext,
  computationId: ComputationId,
  computation: ComputationSpec,
): boolean {
  if (computation.sourceStreams.size > 0) {
    partitionSource(partitioning, computationId, context.connectors.keysOf(computationId));
    return false;
  }
  const topology = context.connectors.sinkTopology(computationId);
  if (computation.sinks.size > 0 && topology === undefined) {
    // Producer ids depend on the channels: partitions are made when their number is known.
    const isNew = context.layout.partitionsOf(computationId).length === 0;
    if (isNew) {
      return false;
    }
  }
  const applied = context.appliedTopologies.get(computationId);
  const isForced = topology !== undefined && applied !== undefined && applied !== topology;
  const count = wantedCount(context, computationId);
  const changed = partitionRanges(partitioning, computationId, count, isForced);
  if (topology !== undefined && (changed || applied === undefined)) {
    context.appliedTopologies.set(computationId, topology);
  }
  return changed;
}

function wantedCount(context: SchedulingContext, computationId: ComputationId): number {
  const dynamic = context.specs.dynamicSpec.computations.get(computationId) ?? defaultDynamicComputationSpec;
  const { spec: parameters } = parseSpec(
    partitioningParameters,
    dynamic.parameters,
    `parameters of computation "${computationId}"`,
  );
  const current = context.layout
    .partitionsOf(computationId)
    .filter((item) => item.state !== "interrupting" && item.state !== "interrupted");
  const reports = current.flatMap((item) => {
    const status =
      item.currentJobId === undefined ? undefined : context.workers.statuses.get(item.currentJobId);
    return status === undefined ? [] : [status.metrics];
  });
  const mean = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const isReported = reports.length > 0 && reports.length === current.length;
  const view: RangeView = {
    currentCount: current.length,
    workerCount: context.workers.workers.size,
    maxSinkChannelCount: context.connectors.maxChannelCount(computationId),
    load: isReported
      ? {
          cpu: mean(reports.map((report) => report.cpu)),
          messagesPerSecond: mean(reports.map((report) => report.messagesPerSecond)),
          bytesPerSecond: mean(reports.map((report) => report.bytesPerSecond)),
        }
      : undefined,
    steadyMs: context.nowMs - context.steadySinceMs,
  };
  return rangeCount(parameters, view);
}

function placeAll(context: SchedulingContext, events: string[]): readonly Job[] {
  const { layout, specs, workers, failures, nowMs } = context;
  const { jobManager } = specs.dynamicSpec;
  if (workers.workers.size < jobManager.minimumWorkerCount) {
    return [];
  }
  const options: PlacementOptions = {
    groupOf: (computationId) => specs.spec.computations.get(computationId)?.workerGroup ?? "",
    weightOf: (item) => (item.state === "interrupting" ? 0.1 : 1),
    isFaulty: (partitionId, address) =>
      failures.isFaulty(partitionId, address, nowMs, {
        windowMs: jobManager.faultyAddressWindow,
        attempts: jobManager.faultyAddressAttempts,
      }),
    newJobId: () => newGuid(context.random),
  };
  const added = placeJobs(layout, workers.workers, options);
  const isSteady = nowMs - context.steadySinceMs >= jobManager.rebalanceDelayAfterPipelineSync;
  if (added.length === 0 && isSteady) {
    for (const job of rebalance(layout, workers.workers, options, jobManager.rebalanceTargetDeviation)) {
      events.push(`Job is moved from worker ${job.workerAddress} (JobId: ${job.jobId})`);
    }
  }
  return added;
}

/** An id in the form of the field: four hexadecimal numbers. */
export function newGuid(random: Random): string {
  return [random.uint32(), random.uint32(), random.uint32(), random.uint32()]
    .map((part) => part.toString(16))
    .join("-");
}

/** Fails when workers are too few. Texts of the describe commands. */
export function tooFewWorkers(count: number, required: number): YtError | undefined {
  return count < required
    ? new YtError(`Too few workers (Count: ${count}, Required: ${required}); start \`qyt flow worker\``)
    : undefined;
}
