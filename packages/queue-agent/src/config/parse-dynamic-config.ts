/**
 * The node `<root>/config` as a `DynamicConfig`: any subset of the options, the rest by default.
 *
 * Specified in: yt/yt/server/queue_agent/config.cpp.
 */
import type { YsonValue } from "@qyt/base";
import { type ControllerConfig, type DynamicConfig, defaultDynamicConfig } from "./dynamic-config.ts";
import { FieldReader } from "./fields.ts";

export interface ParsedConfig {
  readonly config: DynamicConfig;
  /** Paths of options that do not exist; they are ignored. */
  readonly unknown: readonly string[];
}

/** A period of less would only burn the processor. */
const minPeriod = { min: 10 };
const positive = { min: 1 };

/** @throws YtError that names the option's path and what is right */
export function parseDynamicConfig(value: YsonValue): ParsedConfig {
  const defaults = defaultDynamicConfig;
  const fields = FieldReader.of(value);
  const config: DynamicConfig = {
    alertCollectionPeriodMs: fields.map("alert_manager", (alerts) =>
      alerts.duration("alert_collection_period", defaults.alertCollectionPeriodMs, minPeriod),
    ),
    sharding: fields.map("queue_agent_sharding_manager", (sharding) => ({
      passPeriodMs: sharding.duration("pass_period", defaults.sharding.passPeriodMs, minPeriod),
      syncBannedInstancesPeriodMs: sharding.duration(
        "sync_banned_instances_period",
        defaults.sharding.syncBannedInstancesPeriodMs,
        positive,
      ),
    })),
    synchronizer: fields.map("cypress_synchronizer", (synchronizer) => {
      const byDefault = defaults.synchronizer;
      synchronizer.ignore("chaos_replicated_table_queue_agent_stage");
      const alias = synchronizer.boolean(
        "write_registration_table_mapping",
        byDefault.writeReplicatedTableMapping,
      );
      const clusters = synchronizer.strings("clusters");
      return {
        passPeriodMs: synchronizer.duration("pass_period", byDefault.passPeriodMs, minPeriod),
        enable: synchronizer.boolean("enable", byDefault.enable),
        policy: synchronizer.oneOf("policy", ["polling", "watching"], byDefault.policy),
        // An empty list is the real system's default; it would watch nothing.
        clusters: clusters === null || clusters.length === 0 ? byDefault.clusters : clusters,
        writeReplicatedTableMapping: synchronizer.boolean("write_replicated_table_mapping", alias),
      };
    }),
    agent: fields.map("queue_agent", (agent) => {
      const byDefault = defaults.agent;
      agent.ignore("controller_thread_count");
      return {
        passPeriodMs: agent.duration("pass_period", byDefault.passPeriodMs, minPeriod),
        handleReplicatedObjects: agent.boolean(
          "handle_replicated_objects",
          byDefault.handleReplicatedObjects,
        ),
        inactiveObjectDisplayLimit: agent.integer(
          "inactive_object_display_limit",
          byDefault.inactiveObjectDisplayLimit,
        ),
        queueAgentChannelRequestTimeoutMs: agent.duration(
          "queue_agent_channel_request_timeout",
          byDefault.queueAgentChannelRequestTimeoutMs,
          positive,
        ),
        exportRateLimit: agent.map("queue_export_manager", (manager) =>
          manager.number("export_rate_limit", byDefault.exportRateLimit),
        ),
        controller: agent.map("controller", readController),
      };
    }),
  };
  return { config, unknown: fields.unknown() };
}

function readController(fields: FieldReader): ControllerConfig {
  const defaults = defaultDynamicConfig.agent.controller;
  fields.ignore("enable_crt_trim_by_exports", "enable_verbose_logging", "verbose_logging_objects");
  const trimmingPeriodMs = fields.optionalDuration("trimming_period");
  if (trimmingPeriodMs === 0) {
    fields.fail("trimming_period", 'Invalid "trimming_period", it must be greater than zero');
  }
  return {
    passPeriodMs: fields.duration("pass_period", defaults.passPeriodMs, minPeriod),
    enableAutomaticTrimming: fields.boolean("enable_automatic_trimming", defaults.enableAutomaticTrimming),
    trimmingPeriodMs,
    delayedObjects: new Set(fields.strings("delayed_objects") ?? []),
    controllerDelayMs: fields.duration("controller_delay", defaults.controllerDelayMs),
    stuckVitalConsumerThresholdMs: fields.duration(
      "stuck_vital_consumer_threshold",
      defaults.stuckVitalConsumerThresholdMs,
    ),
    lostRowsThresholdMs: fields.duration("lost_rows_threshold", defaults.lostRowsThresholdMs),
    stuckOffsetThresholdMs: fields.duration("stuck_offset_threshold", defaults.stuckOffsetThresholdMs),
    queueExporter: fields.map("queue_exporter", (exporter) => {
      const byDefault = defaults.queueExporter;
      return {
        enable: exporter.boolean("enable", byDefault.enable),
        passPeriodMs: exporter.duration("pass_period", byDefault.passPeriodMs, minPeriod),
        maxExportedTableCountPerTask: exporter.integer(
          "max_exported_table_count_per_task",
          byDefault.maxExportedTableCountPerTask,
          positive,
        ),
        retryBackoff: exporter.map("retry_backoff", readBackoff),
        implementation: exporter.oneOf("implementation", ["old", "new"], byDefault.implementation),
        enableRowCountCheck: exporter.boolean("enable_row_count_check", byDefault.enableRowCountCheck),
      };
    }),
  };
}

function readBackoff(fields: FieldReader): ControllerConfig["queueExporter"]["retryBackoff"] {
  const byDefault = defaultDynamicConfig.agent.controller.queueExporter.retryBackoff;
  if (fields.has("invocation_count")) {
    fields.fail("invocation_count", 'The number of attempts is unlimited: remove "invocation_count"');
  }
  const minBackoffMs = fields.duration("min_backoff", byDefault.minBackoffMs, positive);
  const maxBackoffMs = fields.duration("max_backoff", byDefault.maxBackoffMs, positive);
  if (maxBackoffMs < minBackoffMs) {
    fields.fail("max_backoff", `it must be at least "min_backoff", which is ${minBackoffMs}`);
  }
  return {
    minBackoffMs,
    maxBackoffMs,
    multiplier: fields.number("backoff_multiplier", byDefault.multiplier, { min: 1 }),
    jitter: fields.number("backoff_jitter", byDefault.jitter, { min: 0, max: 1 }),
  };
}
