/** Visiting the records of any reader in place, also of one that has only `range`. */
import type { RecordBuffer, RecordVisitor } from "./record-buffer.ts";
import type { Reader } from "./store.ts";

/** `Reader.visit` of any reader. */
export function visitRecords(
  reader: Reader,
  from: Uint8Array,
  to: Uint8Array,
  record: RecordBuffer,
  visit: RecordVisitor,
): void {
  if (reader.visit !== undefined) {
    reader.visit(from, to, record, visit);
    return;
  }
  for (const { key, value } of reader.range(from, to)) {
    record.addKey(key, viewOf(key), 0, key.length);
    record.addValue(value, viewOf(value), value.length);
    if (!visit(record)) {
      return;
    }
  }
}

function viewOf(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
