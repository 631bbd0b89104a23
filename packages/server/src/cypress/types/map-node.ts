/**
 * Map nodes: the directories. They keep settings for the tables that are created inside.
 * Specified in: yt/yt/server/master/cypress_server/cypress_traverser and node_proxy_detail.cpp
 * (inheritable attributes).
 */
import { bare, emptyMap, isMap, type YsonMap, type YsonValue } from "@qyt/base";
import { parseBoolean, parseInteger, parseString } from "../attributes/values.ts";
import { authorizeBundle } from "../bundles.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType } from "../node-type.ts";

export interface MapState {
  /** Inheritable settings, by attribute name. */
  readonly settings: YsonMap;
}

export const emptyMapState: MapState = { settings: emptyMap };

function parseMap(value: YsonValue): YsonMap {
  const plain = bare(value);
  return isMap(plain) ? plain : emptyMap;
}

const anyValue = (value: YsonValue): YsonValue => value;

/** Settings that a directory can hold, with how each is read. */
export const inheritableSettings: ReadonlyMap<string, (value: YsonValue) => YsonValue> = new Map<
  string,
  (value: YsonValue) => YsonValue
>([
  ["compression_codec", parseString],
  ["erasure_codec", parseString],
  ["hunk_erasure_codec", parseString],
  ["replication_factor", parseInteger],
  ["media", anyValue],
  ["primary_medium", parseString],
  ["hunk_media", anyValue],
  ["hunk_primary_medium", parseString],
  ["vital", parseBoolean],
  ["chunk_merger_mode", parseString],
  ["enable_striped_erasure", parseBoolean],
  ["atomicity", parseString],
  ["commit_ordering", parseString],
  ["in_memory_mode", parseString],
  ["optimize_for", parseString],
  ["tablet_cell_bundle", parseString],
  ["profiling_mode", parseString],
  ["profiling_tag", parseString],
]);

function settingAttribute(name: string, parse: (value: YsonValue) => YsonValue): BuiltinAttribute<MapState> {
  return {
    get: (node) => node.state.settings.get(name),
    set(_draft, node, value) {
      const settings = new Map(node.state.settings);
      settings.set(name, parse(value));
      return { state: { settings } };
    },
    remove(_draft, node) {
      const settings = new Map(node.state.settings);
      settings.delete(name);
      return { state: { settings } };
    },
    ...(name === "tablet_cell_bundle" ? { authorizeValue: authorizeBundle } : {}),
  };
}

const attributes = new Map<string, BuiltinAttribute<MapState>>([
  ["count", { get: (node, view) => BigInt(view.childCount(node.id)) }],
  ...[...inheritableSettings].map(
    ([name, parse]) => [name, settingAttribute(name, parse)] as [string, BuiltinAttribute<MapState>],
  ),
]);

/** A type of map node; `//sys` and the maps of objects are such with names of their own. */
export function mapType(name: string, objectType: number): NodeType<MapState> {
  return {
    name,
    objectType,
    content: "map",
    attributes,
    encodeState: (state) => state.settings,
    decodeState: (value) => ({ settings: parseMap(value) }),
    create: () => emptyMapState,
    inheritable: (node: Node<MapState>, setting) => node.state.settings.get(setting),
  };
}

export const mapNodeType = mapType("map_node", 303);
