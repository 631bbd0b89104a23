/**
 * Keys of the rows of sorted tables in the store.
 *
 *     0x07 · rows id (16 bytes) · row key · inverted commit timestamp u64 · part u16
 *
 * So the versions of a row stand together, newest first. The rows id belongs to the table, not to a
 * tablet: resharding moves nothing. A row key is the encoded key without nulls at its end, and 0x01, which
 * is below the tag of every value: so a key column that is added later is null in the rows that are there.
 */
import { assert, limits, YtError } from "@qyt/base";
import { decodeKey, encodeKeyPrefix, type PhysicalType, type RowValue } from "@qyt/schema";
import { type KeyRange, keyspace } from "../../cell/index.ts";
import { encodeObjectId } from "../chunks/keys.ts";

const allBits = (1n << 64n) - 1n;
const endOfKey = 0x01;
const aboveAllTags = Buffer.of(0xff);
export const timestampBytes = 8;
/** Timestamp and part. */
export const versionSuffixBytes = 10;
export const rowsPrefixBytes = 17;
export const maxRowKeyBytes = limits.maxStoreKeyBytes - rowsPrefixBytes - versionSuffixBytes;

export function rowsPrefix(rowsId: string): Buffer {
  return Buffer.concat([Buffer.of(keyspace.sortedRows), encodeObjectId(rowsId)]);
}

/** @throws YtError 308 for a key that the store cannot take, 325 on NaN */
export function encodeRowKey(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  assert(values.length === types.length, "a key has a value for every key column");
  const key = encodeKeyPrefix(withoutNullsAtEnd(values), types, 1);
  key[key.length - 1] = endOfKey;
  if (key.length > maxRowKeyBytes) {
    throw new YtError(`Key is too long: encoded length ${key.length}, limit ${maxRowKeyBytes}`, {
      code: "RowWeightLimitExceeded",
      attributes: { length: BigInt(key.length), limit: BigInt(maxRowKeyBytes) },
    });
  }
  return key;
}

export function decodeRowKey(key: Buffer, types: readonly PhysicalType[]): RowValue[] {
  const values = decodeKey(key.subarray(0, -1), types);
  while (values.length < types.length) {
    values.push(null);
  }
  return values;
}

/** Where the row keys that begin with these values, or that are above them, begin. */
export function firstRowKey(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  // Null is the smallest value, and not written at the end.
  return encodeKeyPrefix(withoutNullsAtEnd(values), types);
}

/** Above all row keys that begin with these values. With no values: above all. */
export function rowKeyAfter(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  return Buffer.concat([encodeKeyPrefix(values, types), aboveAllTags]);
}

function withoutNullsAtEnd(values: readonly RowValue[]): readonly RowValue[] {
  let count = values.length;
  while (count > 0 && (values[count - 1] ?? null) === null) {
    count--;
  }
  return count === values.length ? values : values.slice(0, count);
}

export function versionKey(prefix: Buffer, key: Buffer, timestamp: bigint, part: number): Buffer {
  const result = Buffer.allocUnsafe(prefix.length + key.length + versionSuffixBytes);
  prefix.copy(result, 0);
  key.copy(result, prefix.length);
  result.writeBigUInt64BE(allBits - timestamp, prefix.length + key.length);
  result.writeUInt16BE(part, prefix.length + key.length + 8);
  return result;
}

/** What stands behind the row key of a version: its timestamp, and the number of its first part. */
export function versionStamp(timestamp: bigint): Buffer {
  const stamp = Buffer.alloc(versionSuffixBytes);
  stamp.writeBigUInt64BE(allBits - timestamp);
  return stamp;
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

/** Where the versions of the rows from this row key on begin; the range is that of the table's rows. */
export function storedKey(range: KeyRange, key: Buffer): Buffer {
  return Buffer.concat([range.from, key]);
}

/** Whether a stored key is one of the versions of a row. */
export function isOfRow(stored: Buffer, key: Buffer): boolean {
  const end = stored.length - versionSuffixBytes;
  return (
    end - rowsPrefixBytes === key.length && stored.compare(key, 0, key.length, rowsPrefixBytes, end) === 0
  );
}

/** The row key inside a stored key. */
export function rowKeyOf(stored: Buffer): Buffer {
  return stored.subarray(rowsPrefixBytes, stored.length - versionSuffixBytes);
}
