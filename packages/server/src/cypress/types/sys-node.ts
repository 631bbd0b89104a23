/**
 * `//sys`: a map with the attributes of the cluster as a whole.
 * Specified in: yt/yt/server/master/cypress_server/sys_node_proxy.cpp, sys_node_type_handler.cpp.
 */

import { bare, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import { parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType, View } from "../node-type.ts";
import { type MapState, mapType } from "./map-node.ts";

const maxClusterNameLength = 128;
const base = mapType("sys_node", 602);

/** The part of the dynamic configuration of masters that means something here. */
const initialConfig = mapOf({ queue_agent_server: mapOf({ default_queue_agent_stage: "production" }) });

function parseConfig(value: YsonValue): YsonMap {
  const plain = bare(value);
  if (!isMap(plain)) {
    throw new YtError("The configuration must be a map");
  }
  return plain;
}

/** `//sys/@config`: what clients have set, or what is true from the beginning. */
export function clusterConfig(view: View): YsonMap {
  const sys = view.findNode("//sys") as Node<MapState> | undefined;
  const config = sys?.state.settings.get("config");
  return config === undefined ? initialConfig : parseConfig(config);
}

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
    [
      "config",
      {
        opaque: true,
        get: (node) => node.state.settings.get("config") ?? initialConfig,
        set: (_draft, node, value) => ({
          state: { settings: new Map(node.state.settings).set("config", parseConfig(value)) },
        }),
      },
    ],
    ["chunk_replicator_enabled", { get: () => true }],
    ["chunk_refresh_enabled", { get: () => true }],
    ["master_alerts", { get: () => [] }],
  ]),
};
