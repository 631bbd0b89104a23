/**
 * Objects of the cluster that exist because clients look for them: the cell and its bundle, the medium,
 * schema objects.
 * Specified in: yt/yt/server/master/tablet_server/tablet_cell*_proxy.cpp, world_initializer.cpp.
 */
import { bare, isMap, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType, View } from "../node-type.ts";
import { createNamedObject } from "./objects.ts";

/** State of these: a plain map of their settings. */
export type SettingsState = YsonMap;

function asMap(value: YsonValue): YsonMap {
  const plain = bare(value);
  return isMap(plain) ? plain : new Map();
}

function fixed(name: string, fallback: YsonValue | undefined = undefined): BuiltinAttribute<SettingsState> {
  return { get: (node) => node.state.get(name) ?? fallback };
}

function writable(name: string, fallback: YsonValue | undefined): BuiltinAttribute<SettingsState> {
  return {
    get: (node) => node.state.get(name) ?? fallback,
    set: (_draft, node, value) => ({ state: new Map(node.state).set(name, value) }),
    setPermission: "administer",
  };
}

function settingsType(
  name: string,
  objectType: number,
  attributes: ReadonlyMap<string, BuiltinAttribute<SettingsState>>,
  more: Partial<NodeType<SettingsState>> = {},
): NodeType<SettingsState> {
  return {
    name,
    objectType,
    content: "entity",
    isObject: true,
    attributes,
    encodeState: (state) => state,
    decodeState: asMap,
    create(_draft, input) {
      const objectName = parseString(input.attributes.get("name") ?? input.key);
      input.attributes.delete("name");
      return mapOf({ name: objectName });
    },
    ...more,
  };
}

const nameOf = (node: Node<SettingsState>): string => String(node.state.get("name") ?? node.key ?? "");

export const tabletCellBundleType: NodeType<SettingsState> = settingsType(
  "tablet_cell_bundle",
  706,
  new Map<string, BuiltinAttribute<SettingsState>>([
    ["name", fixed("name")],
    ["health", fixed("health", "good")],
    ["node_tag_filter", writable("node_tag_filter", "")],
    ["nodes", fixed("nodes", [])],
    [
      "options",
      writable(
        "options",
        mapOf({
          changelog_account: "sys",
          snapshot_account: "sys",
          changelog_primary_medium: "default",
          snapshot_primary_medium: "default",
        }),
      ),
    ],
    ["tablet_balancer_config", writable("tablet_balancer_config", new Map())],
    [
      "resource_limits",
      writable("resource_limits", mapOf({ tablet_count: 1_000_000n, tablet_static_memory: 1n << 40n })),
    ],
    ["resource_usage", fixed("resource_usage", mapOf({ tablet_count: 0n, tablet_static_memory: 0n }))],
    ["tablet_cell_ids", { get: (node, view) => cellsOf(view.nodesOfType("tablet_cell"), nameOf(node)) }],
    [
      "tablet_cell_count",
      { get: (node, view) => BigInt(cellsOf(view.nodesOfType("tablet_cell"), nameOf(node)).length) },
    ],
  ]),
  {
    createObject: (draft, attributes, options) =>
      createNamedObject(draft, {
        type: "tablet_cell_bundle",
        mapPath: "//sys/tablet_cell_bundles",
        attributes,
        ...options,
      }),
    onRemove(_draft, node) {
      if (nameOf(node) === "default") {
        throw new YtError('Cannot remove a built-in tablet cell bundle "default"');
      }
    },
    describe: (node) => `tablet cell bundle "${nameOf(node)}"`,
  },
);

function cellsOf(cells: Iterable<Node>, bundle: string): string[] {
  return [...cells].flatMap((cell) => {
    const state = cell.state;
    return state instanceof Map && state.get("tablet_cell_bundle") === bundle ? [cell.id] : [];
  });
}

/** There is one cell, which has all mounted tablets. */
function assignedTablets(view: View): string[] {
  const ids: string[] = [];
  for (const type of ["table", "replicated_table"]) {
    for (const table of view.nodesOfType(type)) {
      ids.push(...(view.typeOf(table).assignedTablets?.(table) ?? []));
    }
  }
  return ids;
}

export const tabletCellType: NodeType<SettingsState> = settingsType(
  "tablet_cell",
  700,
  new Map<string, BuiltinAttribute<SettingsState>>([
    ["health", fixed("health", "good")],
    ["local_health", fixed("health", "good")],
    ["status", { get: () => mapOf({ health: "good", decommissioned: false }) }],
    ["peers", fixed("peers", [])],
    ["tablet_cell_bundle", fixed("tablet_cell_bundle", "default")],
    [
      "cell_bundle_id",
      {
        get(node, view) {
          const map = view.findNode("//sys/tablet_cell_bundles");
          const name = String(node.state.get("tablet_cell_bundle") ?? "default");
          return map === undefined ? undefined : view.child(map.id, name)?.id;
        },
      },
    ],
    ["config_version", fixed("config_version", 1n)],
    ["tablet_count", { get: (_node, view) => BigInt(assignedTablets(view).length) }],
    ["tablet_ids", { opaque: true, get: (_node, view) => assignedTablets(view) }],
    [
      "total_statistics",
      {
        get: (_node, view) =>
          mapOf({ tablet_count: BigInt(assignedTablets(view).length), chunk_count: 0n, memory_size: 0n }),
      },
    ],
  ]),
  { describe: (node) => `tablet cell ${node.id}` },
);

export const mediumType: NodeType<SettingsState> = settingsType(
  "domestic_medium",
  408,
  new Map<string, BuiltinAttribute<SettingsState>>([
    ["name", fixed("name")],
    ["index", fixed("index", 0n)],
    ["priority", writable("priority", 0n)],
    ["transient", fixed("transient", false)],
    ["cache", fixed("cache", false)],
    ["config", writable("config", new Map())],
    ["domestic", fixed("domestic", true)],
  ]),
  { describe: (node) => `medium "${nameOf(node)}"` },
);

/** One object per type; its entries say who may create objects of the type. */
export const schemaType: NodeType<SettingsState> = settingsType("schema", 0x8000, new Map(), {
  describe: (node) => `schema "${nameOf(node)}"`,
});
