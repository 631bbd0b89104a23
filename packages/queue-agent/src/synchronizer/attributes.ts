/**
 * Attributes of a table as a row of the state. An attribute that cannot be read makes the whole row
 * erroneous until it is set right.
 *
 * Specified in: yt/yt/server/queue_agent/cypress_synchronizer.cpp, yt/yt/ytlib/queue_client/dynamic_state.cpp
 * (FromAttributeDictionary).
 */
import { bare, isList, isMap, toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { readBoolean } from "../config/fields.ts";
import { defaultAutoTrimConfig } from "../objects/object-configs.ts";
import { parseAutoTrimConfig, parseStaticExportConfigs } from "../objects/parse-configs.ts";
import type { ObjectReference } from "../objects/reference.ts";
import type { ConsumerRow, ObjectRow, QueueRow, StateRow } from "../objects/state-rows.ts";
import { integerOf, isNothing, textOf } from "../scalars.ts";

/** What is fetched of a queue and of a consumer. */
export const fetchedAttributes: Readonly<Record<StateRow["kind"], readonly string[]>> = {
  queue: [
    "attribute_revision",
    "type",
    "dynamic",
    "sorted",
    "auto_trim_config",
    "static_export_config",
    "queue_agent_stage",
    "id",
    "queue_agent_banned",
    "queue_profiling_tag",
    "treat_as_queue_consumer",
  ],
  consumer: [
    "attribute_revision",
    "type",
    "treat_as_queue_consumer",
    "schema",
    "queue_agent_stage",
    "queue_agent_banned",
    "queue_consumer_profiling_tag",
  ],
};

/** A row with nothing but its key, its revision, and why. */
export function erroneousRow(
  kind: StateRow["kind"],
  reference: ObjectReference,
  rowRevision: bigint,
  synchronizationError: YtError,
): StateRow {
  const common = {
    reference,
    rowRevision,
    revision: null,
    objectType: null,
    queueAgentStage: null,
    synchronizationError,
    queueAgentBanned: null,
    profilingTag: null,
  };
  return kind === "queue"
    ? {
        ...common,
        kind,
        dynamic: null,
        sorted: null,
        autoTrimConfig: null,
        staticExportConfig: null,
        objectId: null,
        rawAutoTrimConfig: null,
        rawStaticExportConfig: null,
      }
    : { ...common, kind, treatAsQueueConsumer: null, schema: null, isMultiConsumer: false };
}

/** Never throws: what is wrong is the row's `synchronizationError`. */
export function rowOfAttributes(
  kind: StateRow["kind"],
  reference: ObjectReference,
  rowRevision: bigint,
  attributes: YsonMap,
): StateRow {
  try {
    return kind === "queue"
      ? queueRow(reference, rowRevision, attributes)
      : consumerRow(reference, rowRevision, attributes);
  } catch (thrown) {
    const error = toYtError(thrown).wrap("Attributes of the object cannot be read");
    return {
      ...erroneousRow(kind, reference, rowRevision, error),
      revision: integerOf(attributes.get("attribute_revision")),
      objectType: textOf(attributes.get("type")),
      queueAgentStage: textOf(attributes.get("queue_agent_stage")),
    };
  }
}

function queueRow(reference: ObjectReference, rowRevision: bigint, attributes: YsonMap): QueueRow {
  const rawAutoTrimConfig = attributes.get("auto_trim_config") ?? null;
  const rawStaticExportConfig = attributes.get("static_export_config") ?? null;
  return {
    kind: "queue",
    ...commonFields(reference, rowRevision, attributes, "queue_profiling_tag"),
    dynamic: optionalBoolean(attributes, "dynamic"),
    sorted: optionalBoolean(attributes, "sorted"),
    autoTrimConfig: isNothing(rawAutoTrimConfig)
      ? defaultAutoTrimConfig
      : named("auto_trim_config", () => parseAutoTrimConfig(rawAutoTrimConfig)),
    staticExportConfig: isNothing(rawStaticExportConfig)
      ? null
      : named("static_export_config", () => parseStaticExportConfigs(rawStaticExportConfig)),
    objectId: optionalText(attributes, "id"),
    rawAutoTrimConfig,
    rawStaticExportConfig,
  };
}

function consumerRow(reference: ObjectReference, rowRevision: bigint, attributes: YsonMap): ConsumerRow {
  const schema = attributes.get("schema") ?? null;
  return {
    kind: "consumer",
    ...commonFields(reference, rowRevision, attributes, "queue_consumer_profiling_tag"),
    treatAsQueueConsumer: optionalBoolean(attributes, "treat_as_queue_consumer"),
    schema,
    isMultiConsumer: hasNamesOfConsumers(schema),
  };
}

function commonFields(
  reference: ObjectReference,
  rowRevision: bigint,
  attributes: YsonMap,
  profilingTag: string,
): ObjectRow {
  return {
    reference,
    rowRevision,
    revision: integerOf(attributes.get("attribute_revision")),
    objectType: optionalText(attributes, "type"),
    queueAgentStage: optionalText(attributes, "queue_agent_stage"),
    synchronizationError: null,
    queueAgentBanned: optionalBoolean(attributes, "queue_agent_banned"),
    profilingTag: optionalText(attributes, profilingTag),
  };
}

/** Multi-consumers keep the offsets of many consumers, told apart by the first key column. */
function hasNamesOfConsumers(schema: YsonValue): boolean {
  const columns = bare(schema);
  const first = isList(columns) && columns[0] !== undefined ? bare(columns[0]) : null;
  return (
    isMap(first) &&
    textOf(first.get("name")) === "queue_consumer_name" &&
    textOf(first.get("sort_order")) !== null
  );
}

function named<T>(attribute: string, read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw toYtError(thrown).wrap(`Error parsing attribute "${attribute}"`, { attribute });
  }
}

function optionalBoolean(attributes: YsonMap, name: string): boolean | null {
  return optional(attributes, name, "boolean", readBoolean);
}

function optionalText(attributes: YsonMap, name: string): string | null {
  return optional(attributes, name, "a string", (value) => (typeof value === "string" ? value : undefined));
}

function optional<T>(
  attributes: YsonMap,
  name: string,
  wanted: string,
  read: (value: YsonValue) => T | undefined,
): T | null {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return null;
  }
  const result = read(value);
  if (result === undefined) {
    throw new YtError(`Error parsing attribute "${name}": it must be ${wanted}`, {
      attributes: { attribute: name },
    });
  }
  return result;
}
