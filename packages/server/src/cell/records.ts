/**
 * Records: what the cell puts into the store is a CRC-32 over key and value, 4 bytes big-endian, and the
 * value. Reads verify it, so damage on the disk is an error and never a wrong answer.
 */
import { YtError } from "@qyt/base";
import { crc32Of } from "./crc32.ts";
import type { RecordBuffer, RecordVisitor } from "./record-buffer.ts";
import type { Entry, RangeOptions, Reader, Snapshot } from "./store.ts";
import { visitRecords } from "./visit-records.ts";
import { checksumBytes, recordChecksum } from "./write-batch.ts";

/**
 * The value of a stored record.
 * @throws YtError 721 with the key (hexadecimal) when the checksum does not fit
 */
export function openRecord(key: Uint8Array, record: Buffer): Buffer {
  if (record.length < checksumBytes) {
    throw damaged(key, record.length);
  }
  const value = record.subarray(checksumBytes);
  if (record.readUInt32BE(0) !== recordChecksum(key, value)) {
    throw damaged(key, record.length);
  }
  return value;
}

/** Whether the checksum of a stored record fits. */
export function isRecordIntact(key: Uint8Array, record: Buffer): boolean {
  return (
    record.length >= checksumBytes &&
    record.readUInt32BE(0) === recordChecksum(key, record.subarray(checksumBytes))
  );
}

function damaged(key: Uint8Array, length: number): YtError {
  return new YtError("Stored record is damaged", {
    code: "InvalidBlockChecksum",
    attributes: { key: Buffer.from(key).toString("hex"), length: BigInt(length) },
  });
}

/** Verified reads over raw ones. */
export class RecordReader implements Reader {
  readonly #raw: Reader;

  constructor(raw: Reader) {
    this.#raw = raw;
  }

  get(key: Uint8Array): Buffer | undefined {
    const record = this.#raw.get(key);
    return record === undefined ? undefined : openRecord(key, record);
  }

  *range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): IterableIterator<Entry> {
    if (options?.keysOnly === true) {
      yield* this.#raw.range(from, to, options);
      return;
    }
    for (const { key, value } of this.#raw.range(from, to, options)) {
      yield { key, value: openRecord(key, value) };
    }
  }

  /** @throws YtError 721 when a record is damaged */
  visit(from: Uint8Array, to: Uint8Array, record: RecordBuffer, visit: RecordVisitor): void {
    visitRecords(this.#raw, from, to, record, () => {
      verify(record);
      return visit(record);
    });
  }
}

/** Verifies the checksum in front of the value, and goes past it. */
function verify(record: RecordBuffer): void {
  const { bytes, view, keyStart, keyEnd, valueStart: start, valueEnd } = record;
  const valueStart = start + checksumBytes;
  if (
    valueStart > valueEnd ||
    view.getUint32(start) !==
      crc32Of(bytes, view, valueStart, valueEnd, crc32Of(bytes, view, keyStart, keyEnd))
  ) {
    throw damaged(bytes.subarray(keyStart, keyEnd), valueEnd - start);
  }
  record.valueStart = valueStart;
}

export class RecordSnapshot extends RecordReader implements Snapshot {
  readonly #snapshot: Snapshot;

  constructor(snapshot: Snapshot) {
    super(snapshot);
    this.#snapshot = snapshot;
  }

  release(): void {
    this.#snapshot.release();
  }
}
