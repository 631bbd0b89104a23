/**
 * Chunk lists: which chunks a tablet or a static table consists of, and at which row each begins. One
 * record for each chunk, so that a list of any length grows at the price of one.
 */
import { assert } from "@qyt/base";
import type { Cell, WriteBatch } from "../../cell/index.ts";
import type { ChunkMeta } from "./chunk.ts";
import type { ChunkManager } from "./chunk-manager.ts";
import {
  decodeObjectId,
  encodeObjectId,
  objectIdBytes,
  rowIndexOfStoreRefKey,
  storeRefKey,
  storeRefRange,
} from "./keys.ts";
import { combinePrepared, type Prepared } from "./prepared.ts";
import type { StoreSpan } from "./store-reader.ts";

/** A chunk in a chunk list. */
export interface StoreRef extends StoreSpan {
  readonly chunk: ChunkMeta;
  readonly chunkId: string;
}

export function storeRefOf(chunk: ChunkMeta, firstRowIndex: number): StoreRef {
  return {
    chunk,
    chunkId: chunk.id,
    storeId: chunk.storeId,
    firstRowIndex,
    rowCount: chunk.rowCount,
    format: chunk.format,
  };
}

/** Index of the row after the list's last one; `emptyEnd` for an empty list. */
export function endOfStores(refs: readonly StoreRef[], emptyEnd: number): number {
  const last = refs.at(-1);
  return last === undefined ? emptyEnd : last.firstRowIndex + last.rowCount;
}

/** The chunks one after the other, the first at `firstRowIndex`. */
export function layOutChunks(chunks: readonly ChunkMeta[], firstRowIndex: number): StoreRef[] {
  let row = firstRowIndex;
  return chunks.map((chunk) => {
    const ref = storeRefOf(chunk, row);
    row += chunk.rowCount;
    return ref;
  });
}

/** Reads the chunk list of a tablet or static table. */
export function loadStoreRefs(cell: Cell, chunks: ChunkManager, ownerId: string): StoreRef[] {
  const refs: StoreRef[] = [];
  const { from, to } = storeRefRange(ownerId);
  for (const { key, value } of cell.range(from, to)) {
    assert(value.length === objectIdBytes, `Chunk list ${ownerId} has a damaged record`);
    refs.push(storeRefOf(chunks.get(decodeObjectId(value, 0)), rowIndexOfStoreRefKey(key)));
  }
  return refs;
}

/** Writes the place of a chunk whose reference is already counted. */
export function putStoreRef(batch: WriteBatch, ownerId: string, ref: StoreRef): void {
  batch.put(storeRefKey(ownerId, ref.firstRowIndex), encodeObjectId(ref.chunkId));
}

/** Removes the place of a chunk, leaving its reference count to the caller. */
export function removeStoreRef(batch: WriteBatch, ownerId: string, ref: StoreRef): void {
  batch.remove(storeRefKey(ownerId, ref.firstRowIndex));
}

/** Puts chunks that are in other lists already into this one. */
export function shareStoreRefs(
  batch: WriteBatch,
  chunks: ChunkManager,
  ownerId: string,
  refs: readonly StoreRef[],
): Prepared {
  return combinePrepared(
    refs.map((ref) => {
      putStoreRef(batch, ownerId, ref);
      return chunks.ref(batch, ref.chunkId);
    }),
  );
}

/** Takes chunks out of a list; those that no other list names go. */
export function dropStoreRefs(
  batch: WriteBatch,
  chunks: ChunkManager,
  ownerId: string,
  refs: readonly StoreRef[],
): Prepared {
  return combinePrepared(
    refs.map((ref) => {
      removeStoreRef(batch, ownerId, ref);
      return chunks.unref(batch, ref.chunkId);
    }),
  );
}
