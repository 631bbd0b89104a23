/**
 * What replicated tables tell of their replicas, and replicas of themselves.
 * Specified in: yt/yt/server/master/table_server/replicated_table_node_proxy.cpp,
 * tablet_server/table_replica_proxy.cpp.
 */
import { mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { timestampSeconds } from "@qyt/schema";
import { errorToYson } from "@qyt/yson";
import type { BuiltinAttribute, Node, View } from "../../cypress/index.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import { parseMap } from "../tables/settings.ts";
import { type TableState, withSetting } from "../tables/table-state.ts";
import { type ReplicaNode, type ReplicaState, stateName } from "./replica-state.ts";

const optionsName = "replicated_table_options";

/** Attributes of a replicated table beyond those of every table. */
export function replicatedTableAttributes(
  environment: TableEnvironment,
): ReadonlyMap<string, BuiltinAttribute<TableState>> {
  return new Map<string, BuiltinAttribute<TableState>>([
    [
      "replicas",
      {
        opaque: true,
        isPresent: () => true,
        get: (node) =>
          mapOf(
            Object.fromEntries(
              environment.replicas
                .of(node.id)
                .map((replica) => [replica.id, describe(environment, node, replica)]),
            ),
          ),
      },
    ],
    [
      optionsName,
      {
        get: ({ state }) => state.settings.get(optionsName) ?? mapOf({}),
        set: (_draft, { state }, value) => ({ state: withSetting(state, optionsName, parseMap(value)) }),
      },
    ],
  ]);
}

function describe(environment: TableEnvironment, table: Node<TableState>, replica: ReplicaNode): YsonMap {
  const { state } = replica;
  return mapOf({
    cluster_name: state.clusterName,
    replica_path: state.replicaPath,
    state: stateName(state),
    mode: state.mode,
    replication_lag_time: lagTimeMs(environment, table.state, replica),
    error_count: BigInt(environment.replicationErrors.of(replica.id).size),
    replicated_table_tracker_enabled: trackerEnabled(state),
  });
}

export function trackerEnabled({ settings }: ReplicaState): YsonValue {
  return settings.get("enable_replicated_table_tracker") ?? true;
}

/** Index of the first row of a tablet that the replica lacks. */
function rowIndexOf(
  environment: TableEnvironment,
  replica: ReplicaNode,
  tabletId: string,
  index: number,
): number {
  const trimmedRowCount = environment.orderedTablets.get(tabletId)?.visible.trimmedRowCount ?? 0;
  return environment.progress.firstLacking("visible", replica, { id: tabletId, index, trimmedRowCount });
}

/** Age of the oldest row that the replica lacks, over all tablets, in milliseconds. */
export function lagTimeMs(environment: TableEnvironment, table: TableState, replica: ReplicaNode): bigint {
  let oldestMs: number | undefined;
  for (const [index, { id }] of table.tablets.entries()) {
    const missing = environment.orderedTablets.get(id)?.rowFacts(rowIndexOf(environment, replica, id, index));
    if (missing !== undefined) {
      const writtenMs = timestampSeconds(missing.timestamp) * 1000;
      oldestMs = Math.min(oldestMs ?? writtenMs, writtenMs);
    }
  }
  return oldestMs === undefined
    ? 0n
    : BigInt(Math.max(0, Math.round(environment.cell.clock.now() - oldestMs)));
}

/** The table that a replica belongs to, if it is still there. */
export function tableOf(view: View, replica: Pick<ReplicaNode, "state">): Node<TableState> | undefined {
  return view.node(replica.state.tableId) as Node<TableState> | undefined;
}

/** `tablets` of a replica: how far it is in each. */
export function replicaTablets(environment: TableEnvironment, replica: ReplicaNode, view: View): YsonValue[] {
  const errors = environment.replicationErrors.of(replica.id);
  return (tableOf(view, replica)?.state.tablets ?? []).map(({ id, state }, index) => {
    const rowIndex = BigInt(rowIndexOf(environment, replica, id, index));
    return mapOf({
      tablet_id: id,
      state: state === "unmounted" ? "none" : stateName(replica.state),
      current_replication_row_index: rowIndex,
      committed_replication_row_index: rowIndex,
      has_error: errors.has(id),
    });
  });
}

/** `replica_infos` of one tablet in `get_tablet_infos`. */
export function replicaInfos(
  environment: TableEnvironment,
  table: Node<TableState>,
  tabletIndex: number,
): YsonValue[] {
  const tabletId = table.state.tablets[tabletIndex]?.id ?? "";
  return environment.replicas.of(table.id).map((replica) => {
    const rowIndex = BigInt(rowIndexOf(environment, replica, tabletId, tabletIndex));
    const error = environment.replicationErrors.of(replica.id).get(tabletId);
    return mapOf({
      replica_id: replica.id,
      last_replication_timestamp: new Uint64(
        environment.progress.visible(replica.id, tabletId)?.timestamp ?? 0n,
      ),
      mode: replica.state.mode,
      current_replication_row_index: rowIndex,
      committed_replication_row_index: rowIndex,
      replication_error: error === undefined ? undefined : errorToYson(error),
    });
  });
}
