/**
 * Keys of the small records of chunks and of chunk lists.
 *
 *     0x04 · 0 · object id            a chunk
 *     0x04 · 1 · store id u64         a store condemned: its blocks are to be removed
 *     0x04 · 2 · store id u64         an upload: a store that no chunk names yet
 *     0x05 · object id · 0            counters of an ordered tablet
 *     0x05 · object id · 1 · row u64  one chunk of a tablet or static table, by the index of its first row
 *     0x05 · object id · 2            holders of a chunk list, when it is not one
 */
import { assert } from "@qyt/base";
import {
  type KeyRange,
  keyspace,
  prefixRange,
  readSafeU64be,
  storeKey,
  u64be,
  writeU64be,
} from "../../cell/index.ts";

const chunkKind = 0;
const condemnedKind = 1;
const uploadKind = 2;

const tabletStateKind = 0;
const storeRefKind = 1;
const holdersKind = 2;

export const objectIdBytes = 16;

/** The four words of an object id, in the order of its text. */
export function encodeObjectId(id: string): Buffer {
  const bytes = Buffer.allocUnsafe(objectIdBytes);
  const words = id.split("-");
  assert(words.length === 4, `"${id}" is no object id`);
  for (let i = 0; i < 4; i++) {
    bytes.writeUInt32BE(Number.parseInt(words[i] ?? "", 16), 4 * i);
  }
  return bytes;
}

export function decodeObjectId(bytes: Buffer, start: number): string {
  const words: string[] = [];
  for (let i = 0; i < 4; i++) {
    words.push(bytes.readUInt32BE(start + 4 * i).toString(16));
  }
  return words.join("-");
}

export function chunkKey(chunkId: string): Buffer {
  return storeKey(keyspace.chunks, Buffer.of(chunkKind), encodeObjectId(chunkId));
}

export function chunkIdOfKey(key: Buffer): string {
  return decodeObjectId(key, 2);
}

export function condemnedKey(storeId: bigint): Buffer {
  return storeRecordKey(condemnedKind, storeId);
}

export function uploadKey(storeId: bigint): Buffer {
  return storeRecordKey(uploadKind, storeId);
}

export function storeIdOfKey(key: Buffer): bigint {
  return key.readBigUInt64BE(2);
}

export const chunkRange = kindRange(chunkKind);
export const condemnedRange = kindRange(condemnedKind);
export const uploadRange = kindRange(uploadKind);

export function tabletStateKey(tabletId: string): Buffer {
  return storeKey(keyspace.tablets, encodeObjectId(tabletId), Buffer.of(tabletStateKind));
}

export function listHoldersKey(listId: string): Buffer {
  return storeKey(keyspace.tablets, encodeObjectId(listId), Buffer.of(holdersKind));
}

export function storeRefKey(ownerId: string, firstRowIndex: number): Buffer {
  const key = Buffer.allocUnsafe(1 + objectIdBytes + 1 + 8);
  key[0] = keyspace.tablets;
  encodeObjectId(ownerId).copy(key, 1);
  key[1 + objectIdBytes] = storeRefKind;
  writeU64be(key, firstRowIndex, 2 + objectIdBytes);
  return key;
}

export function storeRefRange(ownerId: string): KeyRange {
  return { from: storeRefKey(ownerId, 0), to: storeRefKey(ownerId, Number.MAX_SAFE_INTEGER) };
}

export function rowIndexOfStoreRefKey(key: Buffer): number {
  return readSafeU64be(key, 2 + objectIdBytes);
}

function storeRecordKey(kind: number, storeId: bigint): Buffer {
  return storeKey(keyspace.chunks, Buffer.of(kind), u64be(storeId));
}

function kindRange(kind: number): KeyRange {
  return prefixRange(storeKey(keyspace.chunks, Buffer.of(kind)));
}
