/**
 * Who writes where in the store: the first byte of a key names the room. Integers in keys have a fixed
 * width and are big-endian, so that keys sort as the numbers do.
 */
import { assert } from "@qyt/base";

/** One prefix byte per room. Numbers are on disk: never reuse one. */
export const keyspace = {
  cellMeta: 0x01,
  cypress: 0x02,
  access: 0x03,
  chunks: 0x04,
  tablets: 0x05,
  /** store id u64 · first row index u64 [· part u16] */
  rowBlocks: 0x06,
  sortedRows: 0x07,
  /** Key ranges whose removal goes on in the background. */
  deletions: 0x08,
  mutationIds: 0x09,
  /** How far replicas of replicated tables are. */
  replication: 0x0a,
  /** Since when the rows of sorted tables can be read. */
  retainedRows: 0x0b,
  /** How much is in each tablet of sorted tables. */
  sortedTablets: 0x0c,
} as const;

export type Keyspace = (typeof keyspace)[keyof typeof keyspace];

export interface KeyRange {
  readonly from: Buffer;
  readonly to: Buffer;
}

/** The prefix byte and the parts behind it. */
export function storeKey(prefix: Keyspace, ...parts: readonly Uint8Array[]): Buffer {
  return Buffer.concat([Buffer.of(prefix), ...parts]);
}

/** 2 bytes, big-endian. */
export function u16be(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(2);
  bytes.writeUInt16BE(value);
  return bytes;
}

/** 4 bytes, big-endian. */
export function u32be(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** 8 bytes, big-endian; a number must be a safe integer. */
export function u64be(value: bigint | number): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  writeU64be(bytes, value, 0);
  return bytes;
}

/** Writes 8 bytes, big-endian, without a bigint on the way when given a number. Returns the end offset. */
export function writeU64be(target: Buffer, value: bigint | number, offset: number): number {
  if (typeof value === "bigint") {
    return target.writeBigUInt64BE(value, offset);
  }
  assert(Number.isSafeInteger(value) && value >= 0, `${value} is no unsigned safe integer`);
  const high = Math.floor(value / 0x1_0000_0000);
  target.writeUInt32BE(high, offset);
  return target.writeUInt32BE(value - high * 0x1_0000_0000, offset + 4);
}

/** Reads 8 bytes, big-endian, as a number below 2^53. */
export function readSafeU64be(source: Buffer, offset: number): number {
  const value = source.readUInt32BE(offset) * 0x1_0000_0000 + source.readUInt32BE(offset + 4);
  assert(Number.isSafeInteger(value), "integer in a key is beyond 2^53");
  return value;
}

/** `0x06 · store id · first row index [· part]`, the key of a row block. */
export function rowBlockKey(storeId: bigint | number, firstRowIndex: number, part?: number): Buffer {
  const key = Buffer.allocUnsafe(part === undefined ? 17 : 19);
  key[0] = keyspace.rowBlocks;
  writeU64be(key, storeId, 1);
  writeU64be(key, firstRowIndex, 9);
  if (part !== undefined) {
    key.writeUInt16BE(part, 17);
  }
  return key;
}

/** All keys that begin with the prefix. */
export function prefixRange(prefix: Uint8Array): KeyRange {
  const from = Buffer.from(prefix);
  return { from, to: prefixEnd(from) };
}

/** The first key behind all that begin with the prefix. The prefix must hold a byte other than ff. */
export function prefixEnd(prefix: Uint8Array): Buffer {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) {
    --length;
  }
  assert(length > 0, "a prefix of ff bytes has no end");
  const end = Buffer.from(prefix.subarray(0, length));
  end[length - 1] = (end[length - 1] ?? 0) + 1;
  return end;
}

/** The smallest key above the given one. */
export function keyAfter(key: Uint8Array): Buffer {
  const next = Buffer.alloc(key.length + 1);
  next.set(key);
  return next;
}
