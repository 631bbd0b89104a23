/** A `DynamicConfig` as the node that would give it, for the Orchid (`effective_config`). */
import { mapOf, type YsonValue } from "@qyt/base";
import type { DynamicConfig } from "./dynamic-config.ts";

export function dynamicConfigToYson(config: DynamicConfig): YsonValue {
  const { sharding, synchronizer, agent } = config;
  const { controller } = agent;
  const { queueExporter } = controller;
  const { retryBackoff } = queueExporter;
  return mapOf({
    alert_manager: mapOf({ alert_collection_period: BigInt(config.alertCollectionPeriodMs) }),
    queue_agent_sharding_manager: mapOf({
      pass_period: BigInt(sharding.passPeriodMs),
      sync_banned_instances_period: BigInt(sharding.syncBannedInstancesPeriodMs),
    }),
    cypress_synchronizer: mapOf({
      pass_period: BigInt(synchronizer.passPeriodMs),
      enable: synchronizer.enable,
      policy: synchronizer.policy,
      clusters: synchronizer.clusters,
      write_replicated_table_mapping: synchronizer.writeReplicatedTableMapping,
    }),
    queue_agent: mapOf({
      pass_period: BigInt(agent.passPeriodMs),
      handle_replicated_objects: agent.handleReplicatedObjects,
      inactive_object_display_limit: BigInt(agent.inactiveObjectDisplayLimit),
      queue_agent_channel_request_timeout: BigInt(agent.queueAgentChannelRequestTimeoutMs),
      queue_export_manager: mapOf({ export_rate_limit: agent.exportRateLimit }),
      controller: mapOf({
        pass_period: BigInt(controller.passPeriodMs),
        enable_automatic_trimming: controller.enableAutomaticTrimming,
        trimming_period: controller.trimmingPeriodMs === null ? null : BigInt(controller.trimmingPeriodMs),
        delayed_objects: [...controller.delayedObjects],
        controller_delay: BigInt(controller.controllerDelayMs),
        stuck_vital_consumer_threshold: BigInt(controller.stuckVitalConsumerThresholdMs),
        lost_rows_threshold: BigInt(controller.lostRowsThresholdMs),
        stuck_offset_threshold: BigInt(controller.stuckOffsetThresholdMs),
        queue_exporter: mapOf({
          enable: queueExporter.enable,
          pass_period: BigInt(queueExporter.passPeriodMs),
          max_exported_table_count_per_task: BigInt(queueExporter.maxExportedTableCountPerTask),
          implementation: queueExporter.implementation,
          enable_row_count_check: queueExporter.enableRowCountCheck,
          retry_backoff: mapOf({
            min_backoff: BigInt(retryBackoff.minBackoffMs),
            max_backoff: BigInt(retryBackoff.maxBackoffMs),
            backoff_multiplier: retryBackoff.multiplier,
            backoff_jitter: retryBackoff.jitter,
          }),
        }),
      }),
    }),
  });
}
