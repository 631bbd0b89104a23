/** Codes of the queue agent's alerts, in `@queue_status/alerts` and in the Orchid of an agent. */
import type { DescriptionTable } from "./error-description.ts";

const lookAtCluster = "Look at the inner errors, and whether the cluster they name runs and answers.";

export const alertDescriptions: DescriptionTable = {
  CypressSynchronizerUnableToFetchObjectRevisions: {
    meaning: "The queue agent could not ask a cluster which queues and consumers it has.",
    cause: "The cluster is down or cannot be reached; its objects stay as they were last seen.",
    remedy: lookAtCluster,
  },
  CypressSynchronizerUnableToFetchAttributes: {
    meaning: "The queue agent could not read the attributes of queues or consumers of a cluster.",
    cause: "The cluster is down or cannot be reached; changed configurations do not take effect meanwhile.",
    remedy: lookAtCluster,
  },
  CypressSynchronizerPassFailed: {
    meaning: "New queues, consumers and changed configurations are not picked up.",
    cause: "A state table in `//sys/queue_agents` is unmounted, altered or not writable.",
    remedy: "Mount the table that the inner error names, or restore its schema.",
  },
  CypressSynchronizerConflictingDynamicStateObjects: {
    meaning: "The same path is known as a queue and as a consumer.",
    cause: "Rows that were written to the state tables by hand.",
    remedy: "Remove the wrong row from `//sys/queue_agents/queues` or `consumers`.",
  },
  CypressSynchronizerMissingReplicatedTableMappingObjects: {
    meaning: "Replicated objects have no row in the table of replicas.",
    cause: "The mapping was switched on a moment ago, or its rows were removed.",
    remedy: "Wait for a pass; if it stays so, look at the synchronizer's errors.",
  },
  QueueAgentPassFailed: {
    meaning: "The queue agent could not read which objects it is to follow; it goes on with those it knows.",
    cause: "A state table in `//sys/queue_agents` is absent, unmounted or altered.",
    remedy: "Mount the table that the inner error names, or restore its schema.",
  },
  QueueAgentQueueControllerStaticExportFailed: {
    meaning: "An export made no table, or not all that were due; no rows are lost, it is tried again.",
    cause:
      "A directory that is absent or for another queue, a table name that is taken, a lock, a full directory (`max_table_count`, `max_data_weight`).",
    remedy: "Do what the inner error of the export (`export_name`) says.",
  },
  QueueAgentQueueControllerTrimFailed: {
    meaning: "A queue with automatic trimming is not trimmed, or not in all partitions.",
    cause:
      "A vital consumer or an export that cannot be read, a partition in error, or nothing to trim by: neither a vital consumer nor an export.",
    remedy:
      "Do what the inner errors say: mend the consumer, register one as vital, configure an export, or set `enable=%false`.",
  },
  QueueAgentQueueControllerStaticExportMisconfiguration: {
    meaning: "The exports of a queue do not fit together; none of them runs, and the queue is not trimmed.",
    cause: "Two exports with one directory, or exports on the control object of a replicated queue.",
    remedy: "Correct `@static_export_config`.",
  },
  QueueAgentShardingManagerPassFailed: {
    meaning: "Objects are not handed out to queue agents; the former mapping stays.",
    cause: "A state table that cannot be read or written, or all agents are banned.",
    remedy: "Mount the table that the inner error names; see `@banned` of the instances.",
  },
  QytVitalConsumerHoldsData: {
    meaning: "A vital consumer has not moved for long and keeps rows from being trimmed.",
    cause: "Its readers do not run, or do not advance it.",
    remedy: "Let it read, register it with `vital=%false`, or unregister it.",
  },
  QytConsumerLostRows: {
    meaning: "Rows were trimmed that a consumer had not read; they are gone.",
    cause: "It is not vital, or rows went by their age (`max_data_ttl`) or by hand.",
    remedy: "Advance it to a row that is there; register it as vital to keep such rows in future.",
  },
  QytConsumerOffsetStuck: {
    meaning: "A consumer has unread rows and its offset has not moved for long.",
    cause: "Its readers do not run, fail, or do not advance it.",
    remedy: "See whether they run; unregister the consumer when nobody needs it.",
  },
};
