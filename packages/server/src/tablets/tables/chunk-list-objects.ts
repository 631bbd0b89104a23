/**
 * Chunk lists as objects that a path may name: `#<chunk list id>/@kind`. That of a static table is stored; a
 * queue's root and those of its tablets have ids that follow from those of table and tablets, and show what
 * the tablets hold. Nobody changes them there.
 * Specified in: yt/yt/server/master/chunk_server/chunk_list_proxy.cpp.
 */
import { mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import {
  type BuiltinAttribute,
  type Node,
  type NodeType,
  objectNode,
  unstoredType,
  type View,
} from "../../cypress/index.ts";
import { chunkListObjectType, StaticChunkList } from "../chunks/static-chunk-list.ts";
import type { TableEnvironment } from "./environment.ts";
import { isOrderedDynamic, type TableState, tableObjectType } from "./table-state.ts";
import { tabletObjectType } from "./tablets.ts";

const typeName = "chunk_list";

interface ChunkListFigures {
  readonly kind: "static" | "ordered_dynamic_root" | "ordered_dynamic_tablet";
  readonly childIds: readonly string[];
  readonly statistics: YsonMap;
}

/** The id of an object's chunk list: its own, of another type. */
export function chunkListIdOf(id: string): string {
  return retyped(id, chunkListObjectType);
}

/** Object ids are `epoch-counter-(cell tag and type)-random`. */
function retyped(id: string, type: number): string {
  const [epoch = "0", counter = "0", typed = "0", random = "0"] = id.split("-");
  const tag = Math.floor(Number.parseInt(typed, 16) / 0x1_0000);
  return [epoch, counter, (tag * 0x1_0000 + type).toString(16), random].join("-");
}

/** The chunk list with the id, dressed as a node of type `chunk_list`. */
export function findChunkListObject(environment: TableEnvironment, view: View, id: string): Node | undefined {
  if (retyped(id, chunkListObjectType) !== id) {
    return undefined;
  }
  const state = tabletFigures(environment, id) ?? rootFigures(view, id) ?? staticFigures(environment, id);
  if (state === undefined) {
    return undefined;
  }
  return objectNode({ id, type: typeName, timeUs: 0, state }) as Node;
}

function tabletFigures(environment: TableEnvironment, id: string): ChunkListFigures | undefined {
  const tablet = environment.orderedTablets.get(retyped(id, tabletObjectType));
  if (tablet === undefined) {
    return undefined;
  }
  const { chunkRowCount, chunkDataWeight, trimmedDataWeight, chunkCount, chunkByteSize, flushedRowCount } =
    tablet.statistics();
  return {
    kind: "ordered_dynamic_tablet",
    childIds: tablet.visible.sealed.map(({ chunk }) => chunk.id),
    statistics: mapOf({
      row_count: BigInt(chunkRowCount),
      logical_row_count: BigInt(flushedRowCount),
      chunk_count: BigInt(chunkCount),
      data_weight: BigInt(chunkDataWeight),
      trimmed_data_weight: BigInt(trimmedDataWeight),
      logical_data_weight: BigInt(chunkDataWeight + trimmedDataWeight),
      uncompressed_data_size: BigInt(chunkByteSize),
      compressed_data_size: BigInt(chunkByteSize),
    }),
  };
}

function rootFigures(view: View, id: string): ChunkListFigures | undefined {
  const table = view.node(retyped(id, tableObjectType)) as Node<TableState> | undefined;
  if (table === undefined || table.type !== "table" || !isOrderedDynamic(table.state)) {
    return undefined;
  }
  const { tablets } = table.state;
  return {
    kind: "ordered_dynamic_root",
    childIds: tablets.map((tablet) => chunkListIdOf(tablet.id)),
    statistics: mapOf({ chunk_list_count: BigInt(tablets.length) }),
  };
}

function staticFigures(environment: TableEnvironment, id: string): ChunkListFigures | undefined {
  // Not kept: the id may be any.
  const list = StaticChunkList.open(environment.cell, environment.chunks, id);
  const { chunkCount, rowCount, dataWeight, byteSize } = list.statistics();
  return chunkCount === 0
    ? undefined
    : {
        kind: "static",
        childIds: list.refs.map(({ chunk }) => chunk.id),
        statistics: mapOf({
          row_count: BigInt(rowCount),
          logical_row_count: BigInt(rowCount),
          chunk_count: BigInt(chunkCount),
          data_weight: BigInt(dataWeight),
          uncompressed_data_size: BigInt(byteSize),
          compressed_data_size: BigInt(byteSize),
        }),
      };
}

export function createChunkListType(): NodeType<ChunkListFigures> {
  const attributes = new Map<string, BuiltinAttribute<ChunkListFigures>>();
  const add = (name: string, get: (list: ChunkListFigures) => YsonValue): void => {
    attributes.set(name, { get: ({ state }) => get(state) });
  };
  add("kind", ({ kind }) => kind);
  add("child_ids", ({ childIds }) => [...childIds]);
  add("child_count", ({ childIds }) => BigInt(childIds.length));
  add("statistics", ({ statistics }) => statistics);
  return unstoredType({
    name: typeName,
    objectType: chunkListObjectType,
    attributes,
    describe: ({ id }) => `chunk list ${id}`,
    plural: "Chunk lists",
  });
}
