/**
 * How keys and values come out of LMDB's library: as buffers of their own, or, while a record is visited, straight
 * into the visitor's memory. The library reads into memory that it uses again and calls these with it.
 */
import type { RecordBuffer } from "./record-buffer.ts";

const noBytes = Buffer.alloc(0);
const { slice } = Uint8Array.prototype;

export class LmdbCodec {
  /** Where the record that is being read goes. */
  #target: RecordBuffer | undefined;
  #keySource: Uint8Array | undefined;
  #keyView: DataView = new DataView(new ArrayBuffer(0));
  #valueSource: Uint8Array | undefined;
  #valueView: DataView = new DataView(new ArrayBuffer(0));

  /** The options of the library. They leave the file as `keyEncoding: "binary"` and `encoding: "binary"` make it. */
  readonly options = {
    keyEncoder: {
      writeKey: (key: Buffer, target: Uint8Array, start: number): number => {
        target.set(key, start);
        return start + key.length;
      },
      readKey: (source: Uint8Array, start: number, end: number): Uint8Array =>
        this.#readKey(source, start, end),
    },
    encoder: {
      encode: (value: Buffer): Buffer => value,
      decode: (source: Uint8Array): Uint8Array => this.#readValue(source),
    },
  };

  /** Calls `read`, and what it reads goes into the record instead of into buffers. */
  readInto<T>(record: RecordBuffer, read: () => T): T {
    this.#target = record;
    try {
      return read();
    } finally {
      this.#target = undefined;
    }
  }

  #readKey(source: Uint8Array, start: number, end: number): Uint8Array {
    const target = this.#target;
    if (target === undefined) {
      return slice.call(source, start, end);
    }
    if (source !== this.#keySource) {
      this.#keySource = source;
      this.#keyView = new DataView(source.buffer, source.byteOffset, source.byteLength);
    }
    target.addKey(source, this.#keyView, start, end);
    return noBytes;
  }

  /** The library sets `length` of its memory to that of the value. */
  #readValue(source: Uint8Array): Uint8Array {
    const target = this.#target;
    if (target === undefined) {
      return slice.call(source, 0, source.length);
    }
    if (source !== this.#valueSource) {
      this.#valueSource = source;
      this.#valueView = new DataView(source.buffer, source.byteOffset, source.byteLength);
    }
    target.addValue(source, this.#valueView, source.length);
    return noBytes;
  }
}
