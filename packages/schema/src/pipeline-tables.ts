/**
 * The tables of a pipeline's node, as plain data: whoever creates a pipeline makes these.
 * Specified in: yt/yt/flow/library/pipeline_tables/definitions.yson.
 */
import { mapOf, type YsonMap } from "@qyt/base";
import { column, TableSchema } from "./table-schema.ts";

/** A column: `key` columns come first and are ascending. */
interface Column {
  readonly name: string;
  readonly type: "string" | "any" | "uint64" | "int64" | "boolean";
  readonly isKey?: boolean;
  readonly expression?: string;
  readonly maxInlineHunkSize?: bigint;
}

export interface PipelineTable {
  /** The table's name below the pipeline's node. */
  readonly name: PipelineTableName;
  readonly columns: readonly Column[];
  /** What `create` is given besides the schema. */
  readonly attributes: YsonMap;
}

export const pipelineTableNames = [
  "timers",
  "input_messages",
  "compact_input_messages",
  "compact_output_messages",
  "compact_partition_output_messages",
  "states",
  "partition_states",
  "flow_state",
  "flow_state_obsolete",
  "flow_control",
  "key_visitor_states",
  "partition_transactions",
  "leases",
  "leader_election_lock",
  "controller_logs",
] as const;

export type PipelineTableName = (typeof pipelineTableNames)[number];

const key = (name: string, type: Column["type"], expression?: string): Column => ({
  name,
  type,
  isKey: true,
  ...(expression === undefined ? {} : { expression }),
});
const value = (name: string, type: Column["type"]): Column => ({ name, type });
/** A value that may be large and then lies beside the row. */
const large = (name: string, type: Column["type"]): Column => ({ name, type, maxInlineHunkSize: 128n });

const computationAndKey = [key("computation_id", "string"), key("key", "any")];
const partitionKey = [key("hash", "uint64", "farm_hash(partition_id)"), key("partition_id", "string")];
const chunk = [
  key("stream_id", "string"),
  key("chunk_id", "int64"),
  large("data", "string"),
  value("data_codec", "int64"),
  value("processed_mask", "string"),
];
const state = [
  key("name", "string"),
  large("state", "any"),
  large("compressed", "string"),
  large("compressed_patch", "string"),
  large("format", "any"),
];

const dynamic = mapOf({ dynamic: true });
/** Rows below the watermark of `custom_runtime_data` are dropped by compactions. */
const deduplication = mapOf({
  dynamic: true,
  mount_config: mapOf({ min_data_versions: 0n, min_data_ttl: 0n, row_merger_type: "watermark" }),
});
const logs = mapOf({
  dynamic: true,
  tablet_count: 1n,
  mount_config: mapOf({ min_data_versions: 0n, min_data_ttl: 0n, max_data_ttl: 86_400_000n }),
});

function table(name: PipelineTableName, columns: readonly Column[], attributes = dynamic): PipelineTable {
  return { name, columns, attributes };
}

export const pipelineTables: readonly PipelineTable[] = [
  table("timers", [
    ...computationAndKey,
    key("message_id", "string"),
    value("stream_id", "string"),
    value("system_timestamp", "uint64"),
    value("event_timestamp", "uint64"),
    value("trigger_timestamp", "uint64"),
  ]),
  table(
    "input_messages",
    [...computationAndKey, key("message_id", "string"), value("system_timestamp", "uint64")],
    deduplication,
  ),
  table(
    "compact_input_messages",
    [key("deduplication_message_key", "string"), value("system_timestamp", "uint64")],
    deduplication,
  ),
  table("compact_output_messages", [...computationAndKey, ...chunk]),
  table("compact_partition_output_messages", [...partitionKey, ...chunk]),
  table("states", [...computationAndKey, ...state]),
  table("partition_states", [...partitionKey, ...state]),
  table("flow_state", [
    key("sequence_id", "int64"),
    value("flags", "uint64"),
    value("state_name", "string"),
    value("key_left", "string"),
    value("key_right", "string"),
    value("value", "any"),
  ]),
  table("flow_state_obsolete", [key("key", "string"), value("value", "any")]),
  table("flow_control", [key("key", "string"), value("value", "any")]),
  table("key_visitor_states", [
    key("computation_id", "string"),
    key("stream_id", "string"),
    key("key", "any"),
    key("is_lower", "boolean"),
    large("state", "any"),
  ]),
  table("partition_transactions", [...partitionKey, value("last_transaction_start_timestamp", "uint64")]),
  table("leases", [
    key("hash", "uint64", "farm_hash(key)"),
    key("key", "string"),
    key("subkey", "string"),
    value("value", "any"),
  ]),
  table("leader_election_lock", [
    key("lock_key", "string"),
    value("leader_lease_id", "string"),
    value("leader_name", "string"),
    value("lease_timeout", "uint64"),
    value("last_ping_time", "uint64"),
  ]),
  table(
    "controller_logs",
    [
      value("host", "string"),
      value("data", "string"),
      value("codec", "string"),
      value("$timestamp", "uint64"),
      value("$cumulative_data_weight", "int64"),
    ],
    logs,
  ),
];

/** The schema as `create` takes it. */
export function schemaOfPipelineTable(definition: PipelineTable): TableSchema {
  const isSorted = definition.columns.some((item) => item.isKey === true);
  const columns = definition.columns.map((item) =>
    column(item.name, item.type, {
      ...(item.isKey === true ? { sortOrder: "ascending" as const } : {}),
      ...(item.expression === undefined ? {} : { expression: item.expression }),
      ...(isSorted && item.isKey !== true ? { group: "default" } : {}),
      ...(item.maxInlineHunkSize === undefined ? {} : { maxInlineHunkSize: item.maxInlineHunkSize }),
    }),
  );
  return new TableSchema(columns, { uniqueKeys: isSorted });
}

/** Tables of pipelines keep keys of any width in one column; no other dynamic table may have such a key column. */
export function mayHaveAnyKey(schema: TableSchema): boolean {
  return anyKeySchemas.some((known) => known.equals(schema));
}

const anyKeySchemas = pipelineTables
  .filter((item) => item.columns.some(({ isKey, type }) => isKey === true && type === "any"))
  .map(schemaOfPipelineTable);
