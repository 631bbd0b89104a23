/**
 * What a table replica is: an object that tells of one copy of a replicated table. Its table, with the rows,
 * is an ordinary one that names the replica in `@upstream_replica_id`.
 * Specified in: yt/yt/server/master/tablet_server/table_replica.h.
 */
import { assert, bare, isList, isMap, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import type { Node } from "../../cypress/index.ts";

export const replicaTypeName = "table_replica";
export const replicaObjectType = 709;
export const replicatedTableTypeName = "replicated_table";
export const replicatedTableObjectType = 425;
/** Where the objects are, by id. */
export const replicasPath = "//sys/table_replicas";
/** As long as this is a table's `@upstream_replica_id`, the table is no replica. */
export const noReplicaId = "0-0-0-0";

export type ReplicaMode = "sync" | "async";

export interface ReplicaState {
  readonly tableId: string;
  readonly clusterName: string;
  readonly replicaPath: string;
  readonly mode: ReplicaMode;
  readonly enabled: boolean;
  /** First row of each tablet that the replica is to have; absent: the first that the log has. */
  readonly startRowIndexes?: readonly number[];
  /** Attributes that are kept and shown: `preserve_timestamps`, `atomicity`, … */
  readonly settings: YsonMap;
}

export type ReplicaNode = Node<ReplicaState>;

export function encodeReplica(state: ReplicaState): YsonValue {
  return mapOf({
    table_id: state.tableId,
    cluster_name: state.clusterName,
    replica_path: state.replicaPath,
    mode: state.mode,
    enabled: state.enabled,
    start_row_indexes: state.startRowIndexes?.map((index) => BigInt(index)),
    settings: state.settings,
  });
}

export function decodeReplica(value: YsonValue): ReplicaState {
  const map = bare(value);
  assert(isMap(map), "Stored state of a replica is a map");
  const text = (name: string): string => {
    const field = bare(map.get(name) ?? null);
    assert(typeof field === "string", `Stored state of a replica has ${name}`);
    return field;
  };
  const starts = bare(map.get("start_row_indexes") ?? null);
  const settings = bare(map.get("settings") ?? null);
  return {
    tableId: text("table_id"),
    clusterName: text("cluster_name"),
    replicaPath: text("replica_path"),
    mode: text("mode") === "sync" ? "sync" : "async",
    enabled: map.get("enabled") === true,
    settings: isMap(settings) ? settings : new Map(),
    ...(isList(starts) ? { startRowIndexes: starts.map((index) => Number(bare(index))) } : {}),
  };
}

export function stateName({ enabled }: ReplicaState): "enabled" | "disabled" {
  return enabled ? "enabled" : "disabled";
}

/** Replicas by the tables that they belong to, kept up with every committed change of the tree. */
export class ReplicaIndex {
  readonly #byTable = new Map<string, Map<string, ReplicaNode>>();
  readonly #tableOf = new Map<string, string>();

  update(changes: Iterable<readonly [id: string, node: Node | undefined]>): void {
    for (const [id, node] of changes) {
      const known = this.#tableOf.get(id);
      if (node === undefined) {
        if (known !== undefined) {
          this.#tableOf.delete(id);
          this.#byTable.get(known)?.delete(id);
        }
      } else if (node.type === replicaTypeName) {
        const replica = node as ReplicaNode;
        const { tableId } = replica.state;
        this.#tableOf.set(id, tableId);
        const replicas = this.#byTable.get(tableId) ?? new Map<string, ReplicaNode>();
        this.#byTable.set(tableId, replicas.set(id, replica));
      }
    }
  }

  /** In the order of their creation. */
  of(tableId: string): readonly ReplicaNode[] {
    return [...(this.#byTable.get(tableId)?.values() ?? [])];
  }

  find(replicaId: string): ReplicaNode | undefined {
    const tableId = this.#tableOf.get(replicaId);
    return tableId === undefined ? undefined : this.#byTable.get(tableId)?.get(replicaId);
  }

  all(): readonly ReplicaNode[] {
    return [...this.#byTable.values()].flatMap((replicas) => [...replicas.values()]);
  }
}
