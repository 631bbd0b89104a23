/**
 * Rows of the state tables to values and back. A row that cannot be understood becomes one with a
 * synchronization error, so that it troubles nobody but its object.
 *
 * Specified in: yt/yt/ytlib/queue_client/dynamic_state.cpp, records/*.yaml.
 */
import { bare, isList, mapOf, toYtError, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson, parseRichPath, writeYsonText } from "@qyt/yson";
import { errorOrNoneOf, errorOrNoneToYson } from "../error-or-none.ts";
import { defaultAutoTrimConfig } from "../objects/object-configs.ts";
import { parseAutoTrimConfig, parseStaticExportConfigs } from "../objects/parse-configs.ts";
import type { ObjectReference } from "../objects/reference.ts";
import type { ConsumerRow, ObjectRow, QueueRow, RegistrationRow, StateRow } from "../objects/state-rows.ts";
import { booleanOf, integerOf, isNothing, textOf } from "../scalars.ts";

export function decodeQueueRow(row: YsonMap): QueueRow {
  const rawAutoTrimConfig = row.get("auto_trim_config") ?? null;
  const rawStaticExportConfig = row.get("static_export_config") ?? null;
  const common = decodeCommon(row, "queue_profiling_tag");
  const fields: Omit<QueueRow, "autoTrimConfig" | "staticExportConfig"> = {
    kind: "queue",
    ...common,
    dynamic: booleanOf(row.get("dynamic")),
    sorted: booleanOf(row.get("sorted")),
    objectId: textOf(row.get("object_id")),
    rawAutoTrimConfig,
    rawStaticExportConfig,
  };
  try {
    return {
      ...fields,
      autoTrimConfig: isNothing(rawAutoTrimConfig)
        ? common.synchronizationError === null && common.revision !== null
          ? defaultAutoTrimConfig
          : null
        : parseAutoTrimConfig(rawAutoTrimConfig),
      staticExportConfig: isNothing(rawStaticExportConfig)
        ? null
        : parseStaticExportConfigs(rawStaticExportConfig),
    };
  } catch (thrown) {
    const synchronizationError = toYtError(thrown).wrap("The row of the queue in the state table is wrong");
    return { ...fields, autoTrimConfig: null, staticExportConfig: null, synchronizationError };
  }
}

export function decodeConsumerRow(row: YsonMap): ConsumerRow {
  const wrapped = bare(row.get("schema") ?? null);
  return {
    kind: "consumer",
    ...decodeCommon(row, "queue_consumer_profiling_tag"),
    treatAsQueueConsumer: booleanOf(row.get("treat_as_queue_consumer")),
    schema: isList(wrapped) && wrapped[0] !== undefined ? sharedSchema(wrapped[0]) : null,
    isMultiConsumer: row.get("is_multi_consumer") === true,
  };
}

/** Thousands of consumers have one of a few schemas: equal ones are one value in memory. */
const schemas = new Map<string, YsonValue>();
const maxSharedSchemas = 1_000;

function sharedSchema(schema: YsonValue): YsonValue {
  const key = writeYsonText(schema);
  const known = schemas.get(key);
  if (known !== undefined) {
    return known;
  }
  if (schemas.size >= maxSharedSchemas) {
    schemas.clear();
  }
  schemas.set(key, schema);
  return schema;
}

/** Rows of a table's key columns, as `delete_rows` takes them. */
export function encodeObjectKey({ cluster, path }: ObjectReference): YsonMap {
  return mapOf({ cluster, path });
}

/** A row of `multi_consumer_names`; its key alone when no stage is given. */
export function encodeNameRow({ cluster, path }: ObjectReference, name: string, stage?: string): YsonMap {
  return mapOf({ cluster, path, name, ...(stage === undefined ? {} : { queue_agent_stage: stage }) });
}

/** All columns, those without a value as null: the row replaces an earlier one as a whole. */
export function encodeStateRow(row: StateRow): YsonMap {
  return mapOf({
    ...Object.fromEntries(encodeObjectKey(row.reference)),
    ...columnsOf(row),
    synchronization_error: errorOrNoneToYson(row.synchronizationError),
    ...(row.kind === "consumer" && row.schema !== null ? { schema: [row.schema] } : {}),
  });
}

/** The columns behind the key as others are shown them: no error is null, and the schema is not wrapped. */
export function columnsOf(row: StateRow): Readonly<Record<string, YsonValue>> {
  const common = {
    row_revision: unsigned(row.rowRevision),
    revision: unsigned(row.revision),
    object_type: row.objectType,
    queue_agent_stage: row.queueAgentStage,
    queue_agent_banned: row.queueAgentBanned,
    synchronization_error: row.synchronizationError === null ? null : errorToYson(row.synchronizationError),
  };
  return row.kind === "queue"
    ? {
        ...common,
        dynamic: row.dynamic,
        sorted: row.sorted,
        auto_trim_config: row.rawAutoTrimConfig,
        static_export_config: row.rawStaticExportConfig,
        object_id: row.objectId,
        queue_profiling_tag: row.profilingTag,
      }
    : {
        ...common,
        treat_as_queue_consumer: row.treatAsQueueConsumer,
        schema: row.schema,
        queue_consumer_profiling_tag: row.profilingTag,
        is_multi_consumer: row.isMultiConsumer,
      };
}

function unsigned(value: bigint | null): Uint64 | null {
  return value === null ? null : new Uint64(value);
}

/** @throws YtError when the consumer's path is malformed */
export function decodeRegistrationRow(row: YsonMap): RegistrationRow {
  const partitions = bare(row.get("partitions") ?? null);
  const { path, name } = decodeConsumerPath(textOf(row.get("consumer_path")) ?? "");
  return {
    queue: {
      cluster: textOf(row.get("queue_cluster")) ?? "",
      path: textOf(row.get("queue_path")) ?? "",
    },
    consumer: { cluster: textOf(row.get("consumer_cluster")) ?? "", path },
    consumerName: name,
    vital: row.get("vital") === true,
    partitions: isList(partitions) && partitions.length > 0 ? partitions.map(partitionOf) : null,
  };
}

/** A multi-consumer's name stands in front of the path: `<"queue_consumer_name"="a">//tmp/c`. */
function decodeConsumerPath(stored: string): { readonly path: string; readonly name: string | null } {
  if (!stored.startsWith("<")) {
    return { path: stored, name: null };
  }
  const { path, attributes } = parseRichPath(stored);
  return { path, name: textOf(attributes.get("queue_consumer_name")) };
}

function partitionOf(value: YsonValue): bigint {
  const index = integerOf(value);
  if (index === null) {
    throw new YtError("A partition of a registration is not an integer");
  }
  return index;
}

function decodeCommon(row: YsonMap, profilingTagColumn: string): ObjectRow {
  return {
    reference: { cluster: textOf(row.get("cluster")) ?? "", path: textOf(row.get("path")) ?? "" },
    rowRevision: integerOf(row.get("row_revision")),
    revision: integerOf(row.get("revision")),
    objectType: textOf(row.get("object_type")),
    queueAgentStage: textOf(row.get("queue_agent_stage")),
    synchronizationError: errorOrNoneOf(row.get("synchronization_error")),
    queueAgentBanned: booleanOf(row.get("queue_agent_banned")),
    profilingTag: textOf(row.get(profilingTagColumn)),
  };
}
