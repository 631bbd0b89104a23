/**
 * `//sys`: a map with the attributes of the cluster as a whole.
 * Specified in: yt/yt/server/master/cypress_server/sys_node_proxy.cpp, sys_node_type_handler.cpp.
 */

import { mapOf, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import { parseString } from "../attributes/values.ts";
import type { BuiltinAttribute, NodeType } from "../node-type.ts";
import { type MapState, mapType } from "./map-node.ts";

const maxClusterNameLength = 128;
const base = mapType("sys_node", 602);

export const sysNodeType: NodeType<MapState> = {
  ...base,
  attributes: new Map<string, BuiltinAttribute<MapState>>([
    ...base.attributes,
    ["cell_tag", { get: (_node, view) => BigInt(view.cellTag) }],
    ["primary_cell_tag", { get: (_node, view) => BigInt(view.cellTag) }],
    [
      "cluster_name",
      {
        get: (node, view) => node.state.settings.get("cluster_name") ?? view.clusterName,
        set(_draft, node, value) {
          const name = parseString(value);
          if (name === "" || stringToBytes(name).length > maxClusterNameLength) {
            throw new YtError(
              `Cluster name must be between 1 and ${maxClusterNameLength} characters, got "${name}"`,
            );
          }
          return { state: { settings: new Map(node.state.settings).set("cluster_name", name) } };
        },
        setPermission: "administer",
      },
    ],
    [
      "cluster_connection",
      {
        opaque: true,
        get: (node, view) =>
          node.state.settings.get("cluster_connection") ??
          mapOf({ cluster_name: view.clusterName, primary_master: mapOf({ addresses: [] }) }),
        set: (_draft, node, value) => ({
          state: { settings: new Map(node.state.settings).set("cluster_connection", value) },
        }),
      },
    ],
    ["chunk_replicator_enabled", { get: () => true }],
    ["chunk_refresh_enabled", { get: () => true }],
    ["master_alerts", { get: () => [] }],
  ]),
};
