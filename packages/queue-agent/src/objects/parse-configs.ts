/**
 * Reads `@auto_trim_config` and `@static_export_config`, which their owner may set to anything: a wrong
 * value is accepted by `set`, and the error made here shows in the object's status.
 *
 * Specified in: yt/yt/client/queue_client/config.cpp.
 */
import { bare, type YsonValue } from "@qyt/base";
import { FieldReader } from "../config/fields.ts";
import {
  type AutoTrimConfig,
  defaultOutputTableNamePattern,
  type StaticExportConfig,
  type StaticExportConfigs,
} from "./object-configs.ts";

const secondMs = 1_000;

/** Unrecognized keys are ignored. @throws YtError that names the field and what is right */
export function parseAutoTrimConfig(value: YsonValue): AutoTrimConfig {
  const fields = FieldReader.of(value);
  const retainedLifetimeDurationMs = fields.optionalDuration("retained_lifetime_duration", {
    max: Number.MAX_SAFE_INTEGER,
  });
  if (retainedLifetimeDurationMs !== null && retainedLifetimeDurationMs % secondMs !== 0) {
    fields.fail(
      "retained_lifetime_duration",
      'The value of "retained_lifetime_duration" must be a multiple of 1000 (1 second)',
    );
  }
  return {
    enable: fields.boolean("enable", false),
    retainedRows: fields.optionalInt64("retained_rows", 0n),
    retainedLifetimeDurationMs,
  };
}

/** @throws YtError that names the export, the field and what is right */
export function parseStaticExportConfigs(value: YsonValue): StaticExportConfigs {
  if (bare(value) === null) {
    return new Map();
  }
  const root = FieldReader.of(new Map([["exports", value]]));
  return root.entries("exports", readExport);
}

function readExport(fields: FieldReader): StaticExportConfig {
  const exportDirectory = fields.optionalString("export_directory");
  if (exportDirectory === null || exportDirectory === "") {
    fields.fail("export_directory", "it is required: the path of the directory that takes the tables");
  }
  return {
    exportDirectory,
    exportPeriodSeconds: readPeriod(fields) / secondMs,
    exportTtlMs: fields.duration("export_ttl", 0),
    outputTableNamePattern: fields.string("output_table_name_pattern", defaultOutputTableNamePattern),
    useUpperBoundForTableNames: fields.boolean("use_upper_bound_for_table_names", false),
    maxTableCount: fields.optionalInteger("max_table_count", { min: 1 }),
    maxDataWeight: fields.optionalInt64("max_data_weight", 1n),
  };
}

/** In milliseconds. Exactly one of a period and a schedule is given; schedules are not supported here. */
function readPeriod(fields: FieldReader): number {
  const period = fields.optionalDuration("export_period", { min: 1 });
  const hasSchedule = fields.has("export_cron_schedule");
  if (period === null || hasSchedule) {
    return fields.fail(
      "export_period",
      period === null && hasSchedule
        ? '"export_cron_schedule" is not supported: set "export_period" in milliseconds instead'
        : 'Exactly one of "export_period" and "export_cron_schedule" must be set',
    );
  }
  if (period % secondMs !== 0) {
    fields.fail("export_period", 'The value of "export_period" must be a multiple of 1000 (1 second)');
  }
  return period;
}
