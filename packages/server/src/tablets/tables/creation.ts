/** What `create` makes of the attributes of a new table. Specified in: tablet_manager.cpp. */
import { assert, bare, type YsonValue, YtError } from "@qyt/base";
import { TableSchema, validateStaticTableSchema } from "@qyt/schema";
import { type CreateInput, checkBundle, type Draft } from "../../cypress/index.ts";
import { noReplicaId } from "../replicated/replica-state.ts";
import { ComputedColumns } from "./computed-columns.ts";
import { dynamicSchema } from "./dynamic-schema.ts";
import type { TableEnvironment } from "./environment.ts";
import { parseQueueSetting, queueSettings } from "./queue-attributes.ts";
import { tableSettings } from "./settings.ts";
import { createSortedTablet } from "./sorted-tablets.ts";
import { hasOrderedTablets, type TableState, type TabletRecord, withSetting } from "./table-state.ts";
import { readPivots, readPresets } from "./tablet-layout.ts";
import { createOrderedTablet, tabletObjectType } from "./tablets.ts";

/**
 * State of a new table; takes its own attributes out of `input.attributes`.
 * @param isReplicated its tablets hold a log, and replicas have its rows
 */
export function createState(
  environment: TableEnvironment,
  draft: Draft,
  input: CreateInput,
  isReplicated = false,
): TableState {
  const take = (name: string): YsonValue | undefined => {
    const value = input.attributes.get(name);
    input.attributes.delete(name);
    return value;
  };
  const dynamic = readFlag(take("dynamic"));
  const given = take("schema");
  const settings = new Map<string, YsonValue>();
  for (const [name, setting] of tableSettings) {
    const own = take(name);
    const value = own ?? (setting.inheritable === true ? draft.inherited(input.parent, name) : undefined);
    if (value !== undefined) {
      settings.set(name, parseSetting(name, value));
    }
    if (own !== undefined && name === "tablet_cell_bundle") {
      checkBundle(draft, draft.user, String(settings.get(name)), "use");
    }
  }
  const tabletCount = take("tablet_count");
  const pivotKeys = take("pivot_keys");
  const trimmedRowCounts = take("trimmed_row_counts");
  const cumulativeDataWeights = take("cumulative_data_weights");
  take("schema_mode");
  const upstreamReplicaId = parseReplicaId(take("upstream_replica_id"));
  if (isReplicated) {
    requireReplicable(dynamic, settings, upstreamReplicaId);
  }
  if (upstreamReplicaId !== undefined && !dynamic) {
    throw new YtError('"upstream_replica_id" can only be set for dynamic tables');
  }
  const queueGiven = queueSettings.map((name) => [name, take(name)] as const);
  const withQueueSettings = (state: TableState): TableState =>
    queueGiven.reduce(
      (result, [name, value]) =>
        value === undefined ? result : withSetting(result, name, parseQueueSetting(state, name, value)),
      state,
    );
  if (!dynamic) {
    const schema = given === undefined ? new TableSchema([], { strict: false }) : TableSchema.fromYson(given);
    validateStaticTableSchema(schema);
    return withQueueSettings({
      schema,
      schemaMode: given === undefined ? "weak" : "strong",
      dynamic: false,
      settings,
      tablets: [],
      valueColumns: [],
    });
  }
  if (given === undefined) {
    throw new YtError('"schema" is mandatory for dynamic tables');
  }
  const schema = dynamicSchema(TableSchema.fromYson(given));
  ComputedColumns.of(schema);
  const isSorted = schema.keyColumnCount > 0;
  const pivots = readPivots(schema, isSorted, tabletCount, pivotKeys);
  const base = withQueueSettings({
    schema,
    schemaMode: "strong",
    dynamic: true,
    settings,
    tablets: [],
    valueColumns: schema.columns.slice(schema.keyColumnCount).map(({ name }) => name),
    ...(isSorted ? { rowsId: input.id } : {}),
    ...(isReplicated ? { isReplicated } : {}),
    ...(upstreamReplicaId === undefined ? {} : { upstreamReplicaId }),
  });
  if (isSorted) {
    environment.addSortedRows(draft.batch, input.id);
  }
  const presets = readPresets(isSorted, pivots.length, tabletCount, {
    trimmedRowCounts,
    cumulativeDataWeights,
  });
  const tablets = pivots.map((pivotKey, index): TabletRecord => {
    if (!hasOrderedTablets(base)) {
      return createSortedTablet(environment, draft, pivotKey);
    }
    const id = draft.newId(tabletObjectType);
    createOrderedTablet(environment, draft, base, {
      tabletId: id,
      tableId: input.id,
      trimmedRowCount: presets.trimmedRowCounts?.[index] ?? 0,
      cumulativeDataWeight: presets.cumulativeDataWeights?.[index] ?? 0,
    });
    return { id, state: "unmounted", pivotKey };
  });
  return { ...base, tablets };
}

/** Specified in: replicated_table_node_type_handler.cpp. */
function requireReplicable(
  dynamic: boolean,
  settings: ReadonlyMap<string, YsonValue>,
  upstreamReplicaId: string | undefined,
): void {
  if (!dynamic) {
    throw new YtError('Table must be dynamic: create a replicated table with attribute "dynamic" = %true');
  }
  if (upstreamReplicaId !== undefined) {
    throw new YtError("Replicated table cannot be a replica: upstream_replica_id cannot be set");
  }
  if ((settings.get("in_memory_mode") ?? "none") !== "none") {
    throw new YtError("Replicated table cannot be in memory: its rows are in its replicas");
  }
}

/** The id of a replica; `undefined` for the one that stands for none. @throws YtError when it is no id */
export function parseReplicaId(value: YsonValue | undefined): string | undefined {
  if (value === undefined) {
    return undefined;
  }
  const plain = bare(value);
  if (typeof plain !== "string" || !replicaIdPattern.test(plain)) {
    throw new YtError(`Error parsing "upstream_replica_id": ${String(plain)} is no object id`);
  }
  return plain === noReplicaId ? undefined : plain;
}

const replicaIdPattern = /^[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}$/;

function parseSetting(name: string, value: YsonValue): YsonValue {
  const setting = tableSettings.get(name);
  assert(setting !== undefined, `${name} is a table setting`);
  return setting.parse(value);
}

function readFlag(value: YsonValue | undefined): boolean {
  if (value === undefined) {
    return false;
  }
  const plain = bare(value);
  if (plain === true || plain === "true") {
    return true;
  }
  if (plain === false || plain === "false") {
    return false;
  }
  throw new YtError('Error setting builtin attribute "dynamic"', {
    inner: [new YtError("Cannot parse boolean value")],
  });
}
