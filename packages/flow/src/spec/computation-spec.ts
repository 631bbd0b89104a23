/**
 * The static spec of a computation.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp (`TComputationSpec`).
 */
import { z } from "zod";
import {
  anything,
  boolean,
  double,
  duration,
  emptySchema,
  freeMap,
  integer,
  mapOfFields,
  names,
  nested,
  struct,
  tableSchema,
  text,
} from "./fields.ts";
import { watermarkStrategy } from "./watermark-strategy.ts";

const timeType = z.enum(["event_time", "system_time", "current_time"]).prefault("event_time");

export const timerStream = struct({
  timeType,
  streams: names.optional(),
  /** Delays in milliseconds. */
  streamsWithDelays: mapOfFields(duration).optional(),
  deduplicateEqualTimestamps: boolean.prefault(true),
});

export const sourceStream = struct({ sourceClassName: text, parameters: freeMap });

export const sinkSpec = struct({
  sinkClassName: text,
  inputStreamIds: names.prefault([]),
  parameters: freeMap,
});

export const computationSpec = struct({
  computationClassName: text,
  processingFunction: text.optional(),
  processingFunctionParameters: anything.optional(),
  groupBySchema: tableSchema.optional().transform((schema) => schema ?? emptySchema),
  experimentalEnableNonUintKey: boolean.optional(),
  useCompactInputMessages: boolean.optional(),
  inputStreamIds: names.prefault([]),
  outputStreamIds: names.prefault([]),
  /** As given; `streamsDependencyOf` adds what is derived. */
  streamsDependency: mapOfFields(names),
  watermarkStrategy,
  requiredResourceIds: mapOfFields(
    struct({ alias: text.optional(), worker: boolean.prefault(true), controller: boolean.prefault(true) }),
  ),
  parameters: freeMap,
  timerStreams: mapOfFields(timerStream),
  keyVisitorStreams: mapOfFields(
    struct({
      names: names.optional(),
      externalNames: names.optional(),
      upstreamStreams: names.optional(),
      bucketCount: integer({ min: 1 }).prefault(8),
    }),
  ),
  sourceStreams: mapOfFields(sourceStream),
  sinks: mapOfFields(sinkSpec),
  externalStateManagers: mapOfFields(freeMap),
  externalStateJoiners: mapOfFields(freeMap),
  stateJoiners: mapOfFields(freeMap),
  heavyHitters: struct({
    window: duration.prefault("5m"),
    threshold: double.prefault(0.01),
    limit: integer({ min: 1 }).prefault(5),
  }).optional(),
  pivotFinder: struct({
    partCount: integer({ min: 1 }).prefault(16),
    windowSize: integer({ min: 1 }).prefault(16_384),
  }).optional(),
  inputOrdering: nested({ timeType, streamDelays: mapOfFields(duration) }),
  distributionOrdering: z.enum(["strict", "relaxed"]).prefault("strict"),
  workerGroup: text.prefault(""),
  allowTimerSelfDependency: boolean.prefault(false),
});

export type ComputationSpec = z.output<typeof computationSpec>;
export type TimerStreamSpec = z.output<typeof timerStream>;
export type SinkSpec = z.output<typeof sinkSpec>;
export type SourceStreamSpec = z.output<typeof sourceStream>;
