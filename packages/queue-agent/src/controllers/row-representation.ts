/** Rows of the state tables as the Orchid shows them: `row` of an object. */
import { mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, QueueRow, StateRow } from "../objects/state-rows.ts";

export function stateRowToYson(row: StateRow): YsonMap {
  return row.kind === "queue" ? queueRowToYson(row) : consumerRowToYson(row);
}

function queueRowToYson(row: QueueRow): YsonMap {
  return mapOf({
    queue: referenceToString(row.reference),
    ...commonOf(row),
    dynamic: row.dynamic,
    sorted: row.sorted,
    auto_trim_config: row.rawAutoTrimConfig,
    static_export_config: row.rawStaticExportConfig,
    object_id: row.objectId,
    queue_profiling_tag: row.profilingTag,
  });
}

function consumerRowToYson(row: ConsumerRow): YsonMap {
  return mapOf({
    consumer: referenceToString(row.reference),
    ...commonOf(row),
    treat_as_queue_consumer: row.treatAsQueueConsumer,
    schema: row.schema,
    queue_consumer_profiling_tag: row.profilingTag,
    is_multi_consumer: row.isMultiConsumer,
  });
}

function commonOf(row: StateRow): Readonly<Record<string, YsonValue>> {
  const { synchronizationError } = row;
  return {
    row_revision: unsigned(row.rowRevision),
    revision: unsigned(row.revision),
    object_type: row.objectType,
    queue_agent_stage: row.queueAgentStage,
    queue_agent_banned: row.queueAgentBanned,
    synchronization_error: synchronizationError === null ? null : errorToYson(synchronizationError),
  };
}

function unsigned(value: bigint | null): Uint64 | null {
  return value === null ? null : new Uint64(value);
}
