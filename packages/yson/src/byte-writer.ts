/** A growing output buffer for the binary and text codecs, with the varints of YSON. */
import { stringToBytes } from "./bytes.ts";

const shortString = 24;

export class ByteWriter {
  /** The memory behind; valid up to `length`. It is replaced when it grows, so never keep it across a write. */
  buffer: Buffer;
  length = 0;

  /** @param capacity bytes to begin with */
  constructor(capacity = 256) {
    this.buffer = Buffer.allocUnsafe(Math.max(16, capacity));
  }

  /** Makes room for `count` more bytes. */
  ensure(count: number): void {
    const needed = this.length + count;
    if (needed <= this.buffer.length) {
      return;
    }
    const grown = Buffer.allocUnsafe(Math.max(needed, this.buffer.length * 2));
    this.buffer.copy(grown, 0, 0, this.length);
    this.buffer = grown;
  }

  writeByte(byte: number): void {
    if (this.length === this.buffer.length) {
      this.ensure(1);
    }
    this.buffer[this.length++] = byte;
  }

  /** Appends `source[start, end)`. */
  writeBytes(source: Uint8Array, start = 0, end: number = source.length): void {
    const count = end - start;
    this.ensure(count);
    if (count <= 32) {
      const target = this.buffer;
      let at = this.length;
      for (let index = start; index < end; index++) {
        target[at++] = source[index] ?? 0;
      }
    } else {
      this.buffer.set(source.subarray(start, end), this.length);
    }
    this.length += count;
  }

  /** Appends a string whose characters are all below 256, one byte each. */
  writeLatin1(text: string): void {
    const count = text.length;
    this.ensure(count);
    if (count <= shortString) {
      const target = this.buffer;
      const at = this.length;
      for (let index = 0; index < count; index++) {
        target[at + index] = text.charCodeAt(index);
      }
    } else {
      this.buffer.latin1Write(text, this.length);
    }
    this.length += count;
  }

  /** Appends the bytes behind a JS image (see bytes.ts). */
  writeString(text: string): void {
    if (isAscii(text)) {
      this.writeLatin1(text);
    } else {
      this.writeBytes(stringToBytes(text));
    }
  }

  /** Unsigned base-128 varint of `value`, 0 ≤ value < 2^53. */
  writeVarint32(value: number): void {
    this.ensure(8);
    let rest = value;
    while (rest >= 0x80) {
      this.buffer[this.length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.buffer[this.length++] = rest;
  }

  /** Unsigned base-128 varint of the low 64 bits. */
  writeVarint64(value: bigint): void {
    const low = Number(value & 0xffffffffn);
    const high = Number((value >> 32n) & 0xffffffffn);
    this.writeVarintWords(low, high);
  }

  /** int64 as zigzag varint. */
  writeZigzag64(value: bigint): void {
    if (value >= -0x3fffffffn && value <= 0x3fffffffn) {
      const small = Number(value);
      this.writeVarintWords(((small << 1) ^ (small >> 31)) >>> 0, 0);
      return;
    }
    this.writeVarint64(BigInt.asUintN(64, (value << 1n) ^ (value >> 63n)));
  }

  /** Zigzag varint of a length, as YSON writes string lengths. */
  writeZigzagLength(length: number): void {
    this.writeVarint32(length * 2);
  }

  writeDouble(value: number): void {
    this.ensure(8);
    this.length = this.buffer.writeDoubleLE(value, this.length);
  }

  /** The bytes written so far; the writer begins anew with fresh memory. */
  take(): Buffer {
    const result = this.buffer.subarray(0, this.length);
    this.buffer = Buffer.allocUnsafe(Math.max(16, Math.min(this.buffer.length, 65_536)));
    this.length = 0;
    return result;
  }

  private writeVarintWords(lowWord: number, highWord: number): void {
    this.ensure(10);
    const target = this.buffer;
    let at = this.length;
    let low = lowWord;
    let high = highWord;
    while (high !== 0 || low >= 0x80) {
      target[at++] = (low & 0x7f) | 0x80;
      low = ((low >>> 7) | (high << 25)) >>> 0;
      high >>>= 7;
    }
    target[at++] = low;
    this.length = at;
  }
}

export function isAscii(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) > 0x7f) {
      return false;
    }
  }
  return true;
}
