/**
 * Since when the rows of a sorted table can be read, as it is stored: compaction writes it down together with
 * what it drops, so that a restart refuses the same reads.
 */
import type { Reader, WriteBatch } from "../../cell/index.ts";
import { keyspace, storeKey, u64be } from "../../cell/index.ts";
import { encodeObjectId } from "../chunks/keys.ts";

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

/** undefined: rows of a version that did not write it down. */
export function readRetained(reader: Pick<Reader, "get">, rowsId: string): bigint | undefined {
  return reader.get(recordKey(rowsId))?.readBigUInt64BE();
}
