/** The public names of chunks and chunk lists. */
export { type Chunk, type ChunkMeta, isSameRowFormat, type RowFormat, schemalessFormat } from "./chunk.ts";
export { ChunkManager } from "./chunk-manager.ts";
export { decodeObjectId, encodeObjectId } from "./keys.ts";
export { combinePrepared, nothingPrepared, type Prepared } from "./prepared.ts";
export { type ChunkListStatistics, StaticChunkList } from "./static-chunk-list.ts";
export { StaticChunkWriter } from "./static-chunk-writer.ts";
export type { RowSlice, StoreSpan } from "./store-reader.ts";
export { layOutChunks, type StoreRef } from "./store-ref.ts";
