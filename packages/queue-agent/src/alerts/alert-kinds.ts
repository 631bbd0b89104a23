/**
 * All kinds of alerts: code, category and description.
 *
 * Specified in: yt/yt/server/queue_agent/private.h (codes, categories), alert_manager of the queue agent's
 * parts (descriptions). The last three are of qyt: what operators ask a queue for; their codes lie in a range
 * that YTsaurus does not use.
 */
import { errorCodes } from "@qyt/base";
import type { AlertKind } from "./alert.ts";

export const alertKinds = {
  synchronizerUnableToFetchObjectRevisions: {
    code: errorCodes.CypressSynchronizerUnableToFetchObjectRevisions,
    category: "cypress_synchronizer_unable_to_fetch_object_revisions",
    description: "Error retrieving queue agent object revisions from clusters",
  },
  synchronizerUnableToFetchAttributes: {
    code: errorCodes.CypressSynchronizerUnableToFetchAttributes,
    category: "cypress_synchronizer_unable_to_fetch_attributes",
    description: "Error fetching attributes from clusters",
  },
  synchronizerPassFailed: {
    code: errorCodes.CypressSynchronizerPassFailed,
    category: "cypress_synchronizer_pass_failed",
    description: "Error performing Cypress synchronizer pass",
  },
  synchronizerConflictingDynamicStateObjects: {
    code: errorCodes.CypressSynchronizerConflictingDynamicStateObjects,
    category: "cypress_synchronizer_conflicting_dynamic_state_objects",
    description: "Duplicate object paths present in current dynamic state",
  },
  synchronizerMissingReplicatedTableMappingObjects: {
    code: errorCodes.CypressSynchronizerMissingReplicatedTableMappingObjects,
    category: "cypress_synchronizer_missing_replicated_table_mapping_objects",
    description:
      "Found objects present in current dynamic state, but missing in replicated table mapping table",
  },
  agentPassFailed: {
    code: errorCodes.QueueAgentPassFailed,
    category: "queue_agent_pass_failed",
    description: "Error in Queue Agent pass",
  },
  staticExportFailed: {
    code: errorCodes.QueueAgentQueueControllerStaticExportFailed,
    category: "queue_agent_queue_controller_static_export_failed",
    description: "Failed to perform static export for queue",
  },
  trimFailed: {
    code: errorCodes.QueueAgentQueueControllerTrimFailed,
    category: "queue_agent_queue_controller_trim_failed",
    description: "Error while trimming queue",
  },
  staticExportMisconfiguration: {
    code: errorCodes.QueueAgentQueueControllerStaticExportMisconfiguration,
    category: "queue_agent_queue_controller_static_export_misconfiguration",
    description: "Failed to update exports due to misconfiguration",
  },
  shardingManagerPassFailed: {
    code: errorCodes.QueueAgentShardingManagerPassFailed,
    category: "queue_agent_sharding_manager_pass_failed",
    description: "Error performing queue agent manager pass",
  },
  vitalConsumerHoldsData: {
    code: errorCodes.QytVitalConsumerHoldsData,
    category: "qyt_vital_consumer_holds_data",
    description: "Vital consumers have not moved for a long time and keep rows from being trimmed",
  },
  consumerLostRows: {
    code: errorCodes.QytConsumerLostRows,
    category: "qyt_consumer_lost_rows",
    description: "Rows were trimmed that consumers had not read",
  },
  consumerOffsetStuck: {
    code: errorCodes.QytConsumerOffsetStuck,
    category: "qyt_consumer_offset_stuck",
    description: "Consumers have unread rows and their offsets have not moved for a long time",
  },
} as const satisfies Readonly<Record<string, AlertKind>>;
