/**
 * Keys of the rows of sorted tables in the store.
 *
 *     0x07 · rows id (16 bytes) · encoded key · inverted commit timestamp u64 · part u16
 *
 * So the versions of a row stand together, newest first. The rows id belongs to the table, not to a
 * tablet: resharding moves nothing.
 */
import { limits, YtError } from "@qyt/base";
import { type KeyRange, keyspace } from "../../cell/index.ts";
import { encodeObjectId } from "../chunks/keys.ts";

const allBits = (1n << 64n) - 1n;
export const versionSuffixBytes = 10;
export const rowsPrefixBytes = 17;
export const maxRowKeyBytes = limits.maxStoreKeyBytes - rowsPrefixBytes - versionSuffixBytes;

export function rowsPrefix(rowsId: string): Buffer {
  return Buffer.concat([Buffer.of(keyspace.sortedRows), encodeObjectId(rowsId)]);
}

/** @throws YtError 308 for a key that the store cannot take */
export function checkRowKey(key: Buffer): void {
  if (key.length > maxRowKeyBytes) {
    throw new YtError(`Key is too long: encoded length ${key.length}, limit ${maxRowKeyBytes}`, {
      code: "RowWeightLimitExceeded",
      attributes: { length: BigInt(key.length), limit: BigInt(maxRowKeyBytes) },
    });
  }
}

export function versionKey(prefix: Buffer, key: Buffer, timestamp: bigint, part: number): Buffer {
  const result = Buffer.allocUnsafe(prefix.length + key.length + versionSuffixBytes);
  prefix.copy(result, 0);
  key.copy(result, prefix.length);
  result.writeBigUInt64BE(allBits - timestamp, prefix.length + key.length);
  result.writeUInt16BE(part, prefix.length + key.length + 8);
  return result;
}

/** The versions of one row with timestamps in (above, upTo], newest first. */
export function versionRange(prefix: Buffer, key: Buffer, above: bigint, upTo: bigint): KeyRange {
  return { from: versionKey(prefix, key, upTo, 0), to: versionKey(prefix, key, above, 0) };
}

export function timestampOfKey(stored: Buffer): bigint {
  return allBits - stored.readBigUInt64BE(stored.length - versionSuffixBytes);
}

export function partOfKey(stored: Buffer): number {
  return stored.readUInt16BE(stored.length - 2);
}

/** The encoded key inside a stored key. */
export function rowKeyOf(stored: Buffer): Buffer {
  return stored.subarray(rowsPrefixBytes, stored.length - versionSuffixBytes);
}
