/**
 * `watermark_strategy` of a computation: who gives events their time, and how far time has come.
 * Specified in: yt/yt/flow/library/cpp/common/spec.cpp (`TWatermarkStrategySpec`).
 */
import { z } from "zod";
import { boolean, double, duration, integer, mapOfFields, nested, struct, text } from "./fields.ts";

const minute = 60_000;

const percentile = {
  value: double.pipe(z.number().min(0).max(100)).prefault(100),
  delay: duration.prefault(minute),
};

export const watermarkStrategy = nested({
  eventTimestampAssigner: nested({
    /** Unset: event times stay as they are. */
    column: text.optional(),
    format: z.enum(["seconds", "milli_seconds", "iso8601"]).prefault("seconds"),
    limitBySystemTimestamp: boolean.prefault(false),
  }),
  watermarkGenerator: struct({
    useSourceWatermark: boolean.prefault(false),
    /** In milliseconds, as all durations here. */
    outOfOrdernessBound: duration.prefault(minute),
    idlePartitions: struct({
      duration: duration.prefault(minute),
      maxRatio: double.pipe(z.number().min(0).max(1)).prefault(0.4),
    }).optional(),
    unavailablePartitionGroups: nested({
      maxUnavailableGroups: integer({ min: 0 }).prefault(1),
      minAvailableGroups: integer({ min: 0 }).prefault(1),
    }),
    lateDataPartitions: struct(percentile).optional(),
  }).optional(),
  watermarkAlignment: struct({
    groupName: text.prefault("default-alignment-group"),
    driftBound: duration.prefault(20 * minute),
    readDelays: mapOfFields(duration),
  }).optional(),
  watermarkPercentile: struct(percentile).optional(),
});

export type WatermarkStrategy = z.output<typeof watermarkStrategy>;
