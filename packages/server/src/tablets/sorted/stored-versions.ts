/**
 * Versions of rows as records: one that is longer than a record of the store may be stands in several
 * parts under one key and timestamp.
 */
import { limits, YtError } from "@qyt/base";
import type { Cell, KeyRange, WriteBatch } from "../../cell/index.ts";
import { partOfKey, timestampOfKey, versionKey } from "./row-keys.ts";
import { decodeVersion, type RowVersion } from "./version-record.ts";

const partHeaderBytes = 2;
const maxRecordBytes = limits.maxStoreValueBytes - 4;
const maxPieceBytes = maxRecordBytes - partHeaderBytes;

export interface StoredVersion {
  /** Key of the first part. */
  readonly key: Buffer;
  readonly partCount: number;
  readonly version: RowVersion;
}

/** @param record as `encodeVersion` makes it */
export function putVersion(
  batch: WriteBatch,
  prefix: Buffer,
  key: Buffer,
  timestamp: bigint,
  record: Buffer,
): void {
  const partCount = Math.max(1, Math.ceil(record.length / maxPieceBytes));
  for (let part = 0; part < partCount; part++) {
    const piece = record.subarray(part * maxPieceBytes, (part + 1) * maxPieceBytes);
    const value = Buffer.allocUnsafe(partHeaderBytes + piece.length);
    value.writeUInt16BE(partCount);
    piece.copy(value, partHeaderBytes);
    batch.put(versionKey(prefix, key, timestamp, part), value);
  }
}

export function removeVersion(batch: WriteBatch, stored: StoredVersion): void {
  for (let part = 0; part < stored.partCount; part++) {
    const key = Buffer.from(stored.key);
    key.writeUInt16BE(part, key.length - 2);
    batch.remove(key);
  }
}

/** Versions in store order. @throws YtError 721 when a part is missing or a record is none */
export function* readVersions(cell: Cell, range: KeyRange, path: () => string): Generator<StoredVersion> {
  let key: Buffer | undefined;
  let parts: Buffer[] = [];
  let partCount = 0;
  for (const entry of cell.range(range.from, range.to)) {
    const part = partOfKey(entry.key);
    if (part === 0 && key === undefined) {
      key = entry.key;
      partCount = entry.value.readUInt16BE(0);
      parts = [];
    }
    if (
      key === undefined ||
      part !== parts.length ||
      entry.value.readUInt16BE(0) !== partCount ||
      key.compare(entry.key, 0, entry.key.length - 2, 0, key.length - 2) !== 0
    ) {
      throw partsMissing(path());
    }
    parts.push(entry.value.subarray(partHeaderBytes));
    if (parts.length === partCount) {
      const record = parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts);
      yield { key, partCount, version: decodeVersion(record, timestampOfKey(key)) };
      key = undefined;
    }
  }
  if (key !== undefined) {
    throw partsMissing(path());
  }
}

function partsMissing(path: string): YtError {
  return new YtError(`A row of sorted table ${path} is damaged: parts of a version are missing`, {
    code: "InvalidBlockChecksum",
    attributes: { path },
  });
}
