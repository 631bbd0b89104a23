/**
 * A write batch: puts and removals that become durable together or not at all. It owns its buffers, so
 * that a caller may reuse what he gave, and puts the record's checksum in front of each value.
 *
 * Its encoding (version 1, all integers big-endian) is deterministic, so that a batch can be logged,
 * shipped and replayed; the embedded store applies it without encoding it:
 *
 *     u8 version · u64 sequence number · u32 entry count · entries in key order
 *     entry: u16 key length · key · u32 value length, or ffffffff for a removal · value
 */
import { crc32 } from "node:zlib";
import { limits, YtError } from "@qyt/base";

/** Bytes of checksum in front of each value. */
export const checksumBytes = 4;

const formatVersion = 1;
const headerBytes = 13;
const removalMark = 0xffff_ffff;
/** The first slab comes from Node's own pool, as most batches hold a row or two; each next one is larger. */
const firstSlabBytes = 512;
const secondSlabBytes = 16 * 1024;
const maxSlabBytes = 256 * 1024;

export interface BatchEntry {
  readonly key: Buffer;
  /** `undefined` removes the key. */
  readonly value: Buffer | undefined;
}

/** Key and value in one piece, views made when someone asks. */
class OwnedEntry implements BatchEntry {
  /** Key · checksum · value. */
  readonly #bytes: Buffer;
  readonly #keyLength: number;
  /** Where the value begins: 0 for a removal. */
  #valueStart: number;

  constructor(bytes: Buffer, keyLength: number, valueStart: number) {
    this.#bytes = bytes;
    this.#keyLength = keyLength;
    this.#valueStart = valueStart;
  }

  get key(): Buffer {
    return this.#bytes.subarray(0, this.#keyLength);
  }

  get value(): Buffer | undefined {
    return this.#valueStart === 0 ? undefined : this.#bytes.subarray(this.#valueStart);
  }

  get byteSize(): number {
    return this.#keyLength + (this.#valueStart === 0 ? 0 : this.#bytes.length - this.#valueStart);
  }

  /** The value is the record from now on: its checksum is part of it. */
  seal(): void {
    if (this.#valueStart > this.#keyLength) {
      this.#valueStart = this.#keyLength;
    }
  }
}

export class WriteBatch {
  /** Position of the batch in the cell's history; set by the cell. */
  sequenceNumber = 0n;
  readonly #entries = new Map<string, OwnedEntry>();
  #byteSize = 0;
  #slab: Buffer | undefined;
  #slabUsed = 0;
  #isSealed = false;

  /**
   * Sets a key. Both are copied. The last put or removal of a key wins.
   * @throws YtError 505 for a key, 1 for a value beyond the limits of the store
   */
  put(key: Uint8Array, value: Uint8Array): void {
    this.#checkOpen();
    checkKey(key);
    checkValue(value.length + checksumBytes);
    const valueStart = key.length + checksumBytes;
    const bytes = this.#allocate(valueStart + value.length);
    bytes.set(key, 0);
    bytes.set(value, valueStart);
    // Here and not in `seal`, so that a large batch that is made in turns does not stall at its commit.
    bytes.writeUInt32BE(recordChecksum(key, value), key.length);
    this.#set(key, new OwnedEntry(bytes, key.length, valueStart));
  }

  /** Removes a key, which need not exist. @throws YtError 505 */
  remove(key: Uint8Array): void {
    this.#checkOpen();
    checkKey(key);
    const bytes = this.#allocate(key.length);
    bytes.set(key, 0);
    this.#set(key, new OwnedEntry(bytes, key.length, 0));
  }

  /** What the batch puts at the key: `null` if it removes it, `undefined` if it does not touch it. */
  find(key: Uint8Array): Buffer | null | undefined {
    this.#checkOpen();
    const entry = this.#entries.get(mapKey(key));
    return entry === undefined ? undefined : (entry.value ?? null);
  }

  /** Keys and values, in the order of their last mention. */
  get entries(): Iterable<BatchEntry> {
    return this.#entries.values();
  }

  get entryCount(): number {
    return this.#entries.size;
  }

  /** Sum of the lengths of keys and values. */
  get byteSize(): number {
    return this.#byteSize;
  }

  /**
   * Makes every value the record that the store keeps, with its checksum in front. The batch
   * takes no more entries and answers no `find`.
   */
  seal(): this {
    this.#checkOpen();
    this.#isSealed = true;
    this.#byteSize = 0;
    for (const entry of this.#entries.values()) {
      entry.seal();
      this.#byteSize += entry.byteSize;
    }
    return this;
  }

  /** The versioned encoding. @throws YtError 1 beyond `limits.maxWriteBatchBytes` */
  encode(): Buffer {
    const sorted = [...this.#entries.values()].sort((a, b) => Buffer.compare(a.key, b.key));
    const length = headerBytes + 6 * sorted.length + this.#byteSize;
    if (length > limits.maxWriteBatchBytes) {
      throw new YtError("Write batch is too long", {
        attributes: { length: BigInt(length), limit: BigInt(limits.maxWriteBatchBytes) },
      });
    }
    const bytes = Buffer.allocUnsafe(length);
    let position = bytes.writeUInt8(formatVersion, 0);
    position = bytes.writeBigUInt64BE(this.sequenceNumber, position);
    position = bytes.writeUInt32BE(sorted.length, position);
    for (const entry of sorted) {
      const { key, value } = entry;
      position = bytes.writeUInt16BE(key.length, position);
      position += key.copy(bytes, position);
      position = bytes.writeUInt32BE(value === undefined ? removalMark : value.length, position);
      position += value === undefined ? 0 : value.copy(bytes, position);
    }
    return bytes;
  }

  /** @throws YtError 1 when the bytes are no batch of a known version */
  static decode(bytes: Buffer): WriteBatch {
    if (bytes.length < headerBytes || bytes.readUInt8(0) !== formatVersion) {
      throw new YtError("Write batch has an unknown version", {
        attributes: { version: BigInt(bytes[0] ?? 0), supported_version: BigInt(formatVersion) },
      });
    }
    const batch = new WriteBatch();
    batch.sequenceNumber = bytes.readBigUInt64BE(1);
    const count = bytes.readUInt32BE(9);
    let position = headerBytes;
    const take = (length: number): Buffer => {
      if (position + length > bytes.length) {
        throw new YtError("Write batch is cut short", {
          attributes: { length: BigInt(bytes.length) },
        });
      }
      position += length;
      return bytes.subarray(position - length, position);
    };
    for (let i = 0; i < count; ++i) {
      const key = take(take(2).readUInt16BE(0));
      const valueLength = take(4).readUInt32BE(0);
      checkKey(key);
      if (valueLength === removalMark) {
        batch.#set(key, new OwnedEntry(Buffer.from(key), key.length, 0));
      } else {
        checkValue(valueLength);
        batch.#set(key, new OwnedEntry(Buffer.concat([key, take(valueLength)]), key.length, key.length));
      }
    }
    if (position !== bytes.length) {
      throw new YtError("Write batch has bytes after its end");
    }
    batch.#isSealed = true;
    return batch;
  }

  #set(key: Uint8Array, entry: OwnedEntry): void {
    const name = mapKey(key);
    const old = this.#entries.get(name);
    if (old !== undefined) {
      this.#byteSize -= old.byteSize;
      this.#entries.delete(name);
    }
    this.#byteSize += entry.byteSize;
    this.#entries.set(name, entry);
  }

  /** Small entries share slabs: LMDB asks for the address of each buffer's memory once. */
  #allocate(length: number): Buffer {
    let slab = this.#slab;
    if (slab === undefined || this.#slabUsed + length > slab.length) {
      // Few large slabs instead of one for each block: the garbage collector pays for every one.
      const next = slab === undefined ? firstSlabBytes : Math.min(maxSlabBytes, 4 * slab.length);
      slab =
        next <= firstSlabBytes && length <= firstSlabBytes
          ? Buffer.allocUnsafe(firstSlabBytes)
          : Buffer.allocUnsafeSlow(Math.max(length, next, secondSlabBytes));
      this.#slab = slab;
      this.#slabUsed = 0;
    }
    const start = this.#slabUsed;
    this.#slabUsed += length;
    return slab.subarray(start, start + length);
  }

  #checkOpen(): void {
    if (this.#isSealed) {
      throw new YtError("Write batch is already committed");
    }
  }
}

/** CRC-32 over key and value: a record that turns up under another key is damage too. */
export function recordChecksum(key: Uint8Array, value: Uint8Array): number {
  return crc32(value, crc32(key));
}

function mapKey(key: Uint8Array): string {
  const bytes = Buffer.isBuffer(key) ? key : Buffer.from(key.buffer, key.byteOffset, key.length);
  return bytes.toString("latin1");
}

function checkKey(key: Uint8Array): void {
  if (key.length === 0 || key.length > limits.maxStoreKeyBytes) {
    throw new YtError(
      key.length === 0
        ? "Store key is empty"
        : `Store key is too long: ${key.length} bytes, limit ${limits.maxStoreKeyBytes} bytes`,
      {
        code: "MaxKeyLengthViolation",
        attributes: { length: BigInt(key.length), limit: BigInt(limits.maxStoreKeyBytes) },
      },
    );
  }
}

function checkValue(length: number): void {
  if (length > limits.maxStoreValueBytes) {
    throw new YtError(
      `Store value is too long: ${length} bytes with its checksum, limit ${limits.maxStoreValueBytes} bytes`,
      { attributes: { length: BigInt(length), limit: BigInt(limits.maxStoreValueBytes) } },
    );
  }
}
