/**
 * Since when the rows of a sorted table can be read, as it is stored: compaction writes it down together with
 * what it drops, so that a restart refuses the same reads.
 */
import type { Reader, WriteBatch } from "../../cell/index.ts";
import { keyspace, prefixRange, storeKey, u64be } from "../../cell/index.ts";
import { decodeObjectId, encodeObjectId } from "../chunks/keys.ts";

function recordKey(rowsId: string): Buffer {
  return storeKey(keyspace.retainedRows, encodeObjectId(rowsId));
}

export function putRetained(batch: WriteBatch, rowsId: string, timestamp: bigint): void {
  batch.put(recordKey(rowsId), u64be(timestamp));
}

/** With the rows. */
export function removeRetained(batch: WriteBatch, rowsId: string): void {
  batch.remove(recordKey(rowsId));
}

/** undefined: rows of a release that did not write it down. */
export function readRetained(reader: Pick<Reader, "get">, rowsId: string): bigint | undefined {
  return reader.get(recordKey(rowsId))?.readBigUInt64BE();
}

/** Marks rows that no table has yet. */
const stagedMark = Buffer.of(1);

/** Rows are about to be written under the id that no table has: they go at the next start, unless one takes them. */
export function putStaged(batch: WriteBatch, rowsId: string): void {
  batch.put(recordKey(rowsId), Buffer.concat([u64be(0), stagedMark]));
}

/** Ids of rows that no table has taken. */
export function stagedRows(reader: Pick<Reader, "range">): string[] {
  const { from, to } = prefixRange(storeKey(keyspace.retainedRows));
  const ids: string[] = [];
  for (const { key, value } of reader.range(from, to)) {
    if (value.length > 8) {
      ids.push(decodeObjectId(key, 1));
    }
  }
  return ids;
}
