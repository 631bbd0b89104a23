/**
 * Chunks as objects that a path may name: `#<chunk id>/@row_count`. They are not stored in the tree, and
 * nobody changes them there.
 * Specified in: yt/yt/server/master/chunk_server/chunk_proxy.cpp.
 */
import { Uint64, type YsonValue } from "@qyt/base";
import { timestampSeconds } from "@qyt/schema";
import {
  type BuiltinAttribute,
  type Node,
  type NodeType,
  objectNode,
  unstoredType,
} from "../../cypress/index.ts";
import type { Chunk, ChunkManager } from "../chunks/index.ts";

const typeName = "chunk";
const chunkObjectType = 100;

/** The chunk with the id, dressed as a node of type `chunk`. */
export function findChunkObject(chunks: ChunkManager, id: string): Node | undefined {
  const chunk = chunks.find(id);
  if (chunk === undefined) {
    return undefined;
  }
  const timeUs = timestampSeconds(chunk.maxTimestamp) * 1_000_000;
  return objectNode({ id, type: typeName, timeUs, state: chunk }) as Node;
}

export function createChunkType(): NodeType<Chunk> {
  const attributes = new Map<string, BuiltinAttribute<Chunk>>();
  const add = (name: string, get: (chunk: Chunk) => YsonValue): void => {
    attributes.set(name, { get: ({ state }) => get(state) });
  };
  add("chunk_type", () => "table");
  add("confirmed", () => true);
  add("sealed", () => true);
  add("exists", () => true);
  add("vital", () => true);
  add("ref_counter", ({ refCount }) => BigInt(refCount));
  add("row_count", ({ rowCount }) => BigInt(rowCount));
  add("data_weight", ({ dataWeight }) => BigInt(dataWeight));
  add("uncompressed_data_size", ({ byteSize }) => BigInt(byteSize));
  add("compressed_data_size", ({ byteSize }) => BigInt(byteSize));
  add("disk_space", ({ byteSize }) => BigInt(byteSize));
  add("min_timestamp", ({ minTimestamp }) => new Uint64(minTimestamp));
  add("max_timestamp", ({ maxTimestamp }) => new Uint64(maxTimestamp));
  return unstoredType({
    name: typeName,
    objectType: chunkObjectType,
    attributes,
    describe: ({ id }) => `chunk ${id}`,
    plural: "Chunks",
  });
}
