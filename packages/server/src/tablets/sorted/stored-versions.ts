/**
 * Versions of rows as records: one that is longer than a record of the store may be stands in several
 * parts under one key and timestamp.
 */
import { limits, YtError } from "@qyt/base";
import { RowOutput } from "@qyt/schema";
import type { Cell, KeyRange, WriteBatch } from "../../cell/index.ts";
import { partOfKey, timestampOfKey } from "./row-keys.ts";
import { decodeVersion, type RowVersion, type VersionInput, writeVersion } from "./version-record.ts";

/** In front of a record, or of a part of one: how many parts there are. */
export const partHeaderBytes = 2;
const maxRecordBytes = limits.maxStoreValueBytes - 4;
const maxPieceBytes = maxRecordBytes - partHeaderBytes;

export interface StoredVersion {
  /** Key of the first part. */
  readonly key: Buffer;
  readonly partCount: number;
  /** Of all parts, keys included. */
  readonly byteSize: number;
  readonly version: RowVersion;
}

// Batches copy what they are given, so one key and one record serve for all.
const scratchKey = Buffer.allocUnsafe(limits.maxStoreKeyBytes);
const scratchRecord = new RowOutput();
/** A scratch that a long row has made larger than this is given back. */
const maxScratchBytes = 64 * 1024;

/** @param stamp of the commit, as `versionStamp` makes it @returns bytes in the store, keys included */
export function putVersion(
  batch: WriteBatch,
  prefix: Buffer,
  key: Buffer,
  stamp: Buffer,
  version: VersionInput,
): number {
  const keyLength = prefix.length + key.length + stamp.length;
  const storedKey = scratchKey.subarray(0, keyLength);
  prefix.copy(storedKey, 0);
  key.copy(storedKey, prefix.length);
  stamp.copy(storedKey, prefix.length + key.length);
  const output = scratchRecord;
  output.length = 0;
  output.byte(0);
  output.byte(1);
  writeVersion(output, version);
  if (output.length <= maxRecordBytes) {
    batch.put(storedKey, output.bytes.subarray(0, output.length));
    return keyLength + output.length;
  }
  const record = output.bytes.subarray(partHeaderBytes, output.length);
  const partCount = Math.ceil(record.length / maxPieceBytes);
  for (let part = 0; part < partCount; part++) {
    const piece = record.subarray(part * maxPieceBytes, (part + 1) * maxPieceBytes);
    const value = Buffer.allocUnsafe(partHeaderBytes + piece.length);
    value.writeUInt16BE(partCount);
    piece.copy(value, partHeaderBytes);
    storedKey.writeUInt16BE(part, keyLength - 2);
    batch.put(storedKey, value);
  }
  const byteSize = partCount * (keyLength + partHeaderBytes) + record.length;
  if (output.bytes.length > maxScratchBytes) {
    output.take(maxScratchBytes);
  }
  return byteSize;
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
  let byteSize = 0;
  for (const entry of cell.range(range.from, range.to)) {
    const part = partOfKey(entry.key);
    if (part === 0 && key === undefined) {
      if (entry.value.readUInt16BE(0) === 1) {
        // Nearly all are in one part.
        yield {
          key: entry.key,
          partCount: 1,
          byteSize: entry.key.length + entry.value.length,
          version: decodeVersion(entry.value, timestampOfKey(entry.key), partHeaderBytes),
        };
        continue;
      }
      key = entry.key;
      partCount = entry.value.readUInt16BE(0);
      parts = [];
      byteSize = 0;
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
    byteSize += entry.key.length + entry.value.length;
    if (parts.length === partCount) {
      yield { key, partCount, byteSize, version: decodeVersion(Buffer.concat(parts), timestampOfKey(key)) };
      key = undefined;
    }
  }
  if (key !== undefined) {
    throw partsMissing(path());
  }
}

/** Key of the last part of a version. */
export function lastPartKey(stored: StoredVersion): Buffer {
  const key = Buffer.from(stored.key);
  key.writeUInt16BE(stored.partCount - 1, key.length - 2);
  return key;
}

function partsMissing(path: string): YtError {
  return new YtError(`A row of sorted table ${path} is damaged: parts of a version are missing`, {
    code: "InvalidBlockChecksum",
    attributes: { path },
  });
}
