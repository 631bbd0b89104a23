/**
 * The object type `table_replica`: creating, changing and removing replicas of replicated tables.
 * Specified in: yt/yt/server/master/tablet_server/table_replica_type_handler.cpp, table_replica_proxy.cpp,
 * tablet_manager.cpp (CreateTableReplica, AlterTableReplica).
 */
import { bare, isList, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import {
  type BuiltinAttribute,
  type Draft,
  type Node,
  type NodeType,
  parseBoolean,
  parseInteger,
  parseString,
} from "../../cypress/index.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import type { TableState } from "../tables/table-state.ts";
import { lagTimeMs, replicaTablets, tableOf, trackerEnabled } from "./replica-attributes.ts";
import {
  decodeReplica,
  encodeReplica,
  type ReplicaMode,
  type ReplicaNode,
  type ReplicaState,
  replicaObjectType,
  replicasPath,
  replicaTypeName,
  replicatedTableTypeName,
  stateName,
} from "./replica-state.ts";

/** What `alter_table_replica` changes; absent: stays. */
export interface ReplicaChange {
  readonly enabled?: boolean;
  readonly mode?: ReplicaMode;
  readonly settings?: ReadonlyMap<string, YsonValue>;
}

const booleanSettings = ["preserve_timestamps", "enable_replicated_table_tracker"] as const;

export function createReplicaType(environment: TableEnvironment): NodeType<ReplicaState> {
  return {
    name: replicaTypeName,
    objectType: replicaObjectType,
    content: "entity",
    isObject: true,
    attributes: replicaAttributes(environment),
    encodeState: encodeReplica,
    decodeState: decodeReplica,
    create() {
      throw new YtError("Replicas are created without a path");
    },
    createObject: (draft, attributes) => createReplica(environment, draft, attributes),
    onRemove(draft, { id }) {
      const removal = environment.progress.prepareRemoval(environment.cell, draft.batch, id);
      draft.onDurable(() => {
        removal.onDurable();
        environment.replicationErrors.forget(id);
      });
    },
    // Who may do something with the replicated table may do it with its replicas.
    aclParent: ({ state }, view) => (view.node(state.tableId) === undefined ? undefined : state.tableId),
    describe: ({ id }) => `table replica ${id}`,
  };
}

function replicaAttributes(
  environment: TableEnvironment,
): ReadonlyMap<string, BuiltinAttribute<ReplicaState>> {
  const attributes = new Map<string, BuiltinAttribute<ReplicaState>>();
  const add = (name: string, get: BuiltinAttribute<ReplicaState>["get"], opaque = false): void => {
    attributes.set(name, opaque ? { opaque, get, isPresent: () => true } : { get });
  };
  add("cluster_name", ({ state }) => state.clusterName);
  add("replica_path", ({ state }) => state.replicaPath);
  add("table_path", ({ state }, view) => {
    const table = tableOf(view, { state });
    return table === undefined ? undefined : view.pathOf(table);
  });
  add("start_replication_timestamp", () => new Uint64(0n));
  add("state", ({ state }) => stateName(state));
  add("mode", ({ state }) => state.mode);
  add("preserve_timestamps", ({ state }) => state.settings.get("preserve_timestamps") ?? true);
  add("atomicity", ({ state }) => state.settings.get("atomicity") ?? "full");
  add("replicated_table_tracker_enabled", ({ state }) => trackerEnabled(state));
  add("replication_lag_time", (node, view) => {
    const table = tableOf(view, node);
    return table === undefined ? undefined : lagTimeMs(environment, table.state, node);
  });
  add("error_count", ({ id }) => BigInt(environment.replicationErrors.of(id).size));
  add("errors", ({ id }) => [...environment.replicationErrors.of(id).values()].map(errorToYson), true);
  add("tablets", (node, view) => replicaTablets(environment, node, view), true);
  return attributes;
}

function createReplica(
  environment: TableEnvironment,
  draft: Draft,
  attributes: Map<string, YsonValue>,
): string {
  const take = (name: string): YsonValue | undefined => {
    const value = attributes.get(name);
    attributes.delete(name);
    return value;
  };
  const required = (name: string): string => {
    const value = take(name);
    if (value === undefined) {
      throw new YtError(`Attribute "${name}" is not found`, { code: "ResolveError" });
    }
    return parseString(value);
  };
  const table = replicatedTableAt(draft, required("table_path"));
  const clusterName = required("cluster_name");
  const replicaPath = required("replica_path");
  draft.check(draft.user, "write", table);
  if (clusterName !== draft.clusterName) {
    throw new YtError(
      `Replicas on other clusters are not supported: cluster_name has to be "${draft.clusterName}", the cluster of the replicated table, but it is "${clusterName}"`,
      { attributes: { cluster_name: clusterName, local_cluster: draft.clusterName } },
    );
  }
  if (!replicaPath.startsWith("//")) {
    throw new YtError(
      `Attribute "replica_path" has to be a path from the root ("//…"), got "${replicaPath}"`,
    );
  }
  for (const { id, state } of draft.nodesOfType(replicaTypeName) as Iterable<ReplicaNode>) {
    if (state.tableId === table.id && state.replicaPath === replicaPath) {
      throw new YtError(
        `Replica table ${replicaPath} at cluster "${clusterName}" already exists in ${draft.pathOf(table)}`,
        { code: "TableReplicaAlreadyExists", attributes: { replica_id: id } },
      );
    }
  }
  const startTimestamp = take("start_replication_timestamp");
  if (startTimestamp !== undefined && parseInteger(startTimestamp) !== 0n) {
    throw new YtError(
      'Attribute "start_replication_timestamp" is not supported: name rows with "start_replication_row_indexes"',
    );
  }
  const mode = take("mode");
  const enabled = take("enabled");
  const starts = take("start_replication_row_indexes");
  const settings = readSettings(take);
  const id = draft.newId(replicaObjectType);
  const state: ReplicaState = {
    tableId: table.id,
    clusterName,
    replicaPath,
    mode: mode === undefined ? "async" : parseMode(mode),
    enabled: enabled === undefined ? false : parseBoolean(enabled),
    settings,
    ...(starts === undefined ? {} : { startRowIndexes: parseStarts(environment, table.state, starts) }),
  };
  const parent = draft.resolveNode(replicasPath);
  draft.createNode({
    type: replicaTypeName,
    parent,
    key: id,
    id,
    user: draft.user,
    account: "sys",
    attributes,
    state,
  });
  return id;
}

function replicatedTableAt(draft: Draft, path: string): Node<TableState> {
  const node = draft.resolveNode(path);
  if (node.type !== replicatedTableTypeName) {
    throw new YtError(`Only a replicated table has replicas, and ${path} is of type "${node.type}"`, {
      code: "InvalidObjectType",
      attributes: { path, type: node.type },
    });
  }
  return node as Node<TableState>;
}

function parseMode(value: YsonValue): ReplicaMode {
  const text = parseString(value);
  if (text !== "sync" && text !== "async") {
    throw new YtError(`Error parsing ETableReplicaMode value "${text}"`);
  }
  return text;
}

function readSettings(take: (name: string) => YsonValue | undefined): Map<string, YsonValue> {
  const settings = new Map<string, YsonValue>();
  for (const name of booleanSettings) {
    const value = take(name);
    if (value !== undefined) {
      settings.set(name, parseBoolean(value));
    }
  }
  const atomicity = take("atomicity");
  if (atomicity !== undefined) {
    const text = parseString(atomicity);
    if (text !== "full" && text !== "none") {
      throw new YtError(`Error parsing EAtomicity value "${text}"`);
    }
    settings.set("atomicity", text);
  }
  return settings;
}

/** One row index for each tablet, of a row that the log has had or will have next. */
function parseStarts(environment: TableEnvironment, table: TableState, value: YsonValue): number[] {
  const list = bare(value);
  const starts = isList(list) ? list.map((item) => Number(parseInteger(item))) : [];
  const fits =
    starts.length === table.tablets.length &&
    table.tablets.every(({ id }, index) => {
      const start = starts[index] ?? -1;
      return start >= 0 && start <= environment.orderedTablet(id).pending.totalRowCount;
    });
  if (!fits) {
    throw new YtError(
      `Attribute "start_replication_row_indexes" has to have a row index for each of the ${table.tablets.length} tablets, from 0 to the number of its rows`,
    );
  }
  return starts;
}

/** Changes a replica; needs `write` on the replicated table. @throws YtError 500, 901 */
export function alterReplica(draft: Draft, replicaId: string, change: ReplicaChange): void {
  const node = draft.nodeOrThrow(replicaId);
  if (node.type !== replicaTypeName) {
    throw new YtError(`Object ${replicaId} is no table replica but of type "${node.type}"`, {
      code: "InvalidObjectType",
      attributes: { replica_id: replicaId, type: node.type },
    });
  }
  const { state } = node as ReplicaNode;
  const table = tableOf(draft, { state });
  if (table === undefined) {
    throw new YtError(`The replicated table of replica ${replicaId} does not exist any more`, {
      code: "ResolveError",
      attributes: { replica_id: replicaId },
    });
  }
  draft.check(draft.user, "write", table);
  const settings = new Map([...state.settings, ...(change.settings ?? [])]);
  draft.update(replicaId, {
    state: {
      ...state,
      settings,
      ...(change.enabled === undefined ? {} : { enabled: change.enabled }),
      ...(change.mode === undefined ? {} : { mode: change.mode }),
    },
  });
}

/** For lists of errors: `{replica_id=[error]}`, those of the replicas of one table. */
export function replicationErrorsOf(environment: TableEnvironment, tableId: string): YsonMap {
  const errors = new Map<string, YsonValue>();
  for (const { id } of environment.replicas.of(tableId)) {
    const own = [...environment.replicationErrors.of(id)];
    if (own.length > 0) {
      errors.set(
        id,
        own.map(([tabletId, error]) => errorToYson(error.withAttributes({ tablet_id: tabletId }))),
      );
    }
  }
  return errors;
}
