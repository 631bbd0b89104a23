/**
 * Byte strings and their JS image. Valid UTF-8 is itself; every byte that is not part of valid UTF-8 is one lone
 * surrogate U+DC80…U+DCFF ("surrogateescape"), so each byte string has exactly one image and the images compare and
 * hash like the bytes. A real surrogate pair always starts with a high surrogate, which no escaped byte is.
 */
import { isUtf8 } from "node:buffer";

declare global {
  // Node's own slices without the encoding argument: public on every Buffer, missing in its types.
  interface Buffer {
    latin1Slice(start: number, end: number): string;
    utf8Slice(start: number, end: number): string;
    utf8Write(text: string, offset: number): number;
    latin1Write(text: string, offset: number): number;
  }
}

const escapeBase = 0xdc00;

/** A Buffer over the same memory. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The JS image of `bytes[start, end)`. */
export function bytesToString(bytes: Uint8Array, start = 0, end: number = bytes.length): string {
  const buffer = asBuffer(bytes);
  // A short loop is cheaper than any call into the runtime.
  let index = start;
  while (index < end && (buffer[index] ?? 0) < 0x80) {
    index++;
  }
  if (index >= end) {
    return buffer.latin1Slice(start, end);
  }
  const text = buffer.utf8Slice(start, end);
  if (!text.includes("\ufffd") || isUtf8(buffer.subarray(start, end))) {
    return text;
  }
  return decodeEscaping(buffer, start, end);
}

/** The bytes of a JS image. A lone surrogate that stands for no byte becomes U+FFFD, as in any JS encoder. */
export function stringToBytes(s: string): Buffer {
  if (s.isWellFormed()) {
    return Buffer.from(s, "utf8");
  }
  const result = Buffer.allocUnsafe(s.length * 3);
  let length = 0;
  let plainStart = 0;
  for (let index = 0; index < s.length; index++) {
    const unit = s.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdfff) {
      continue;
    }
    if (unit < 0xdc00 && isLowSurrogate(s.charCodeAt(index + 1))) {
      index++;
      continue;
    }
    if (unit >= escapeBase + 0x80 && unit <= escapeBase + 0xff) {
      length += result.utf8Write(s.slice(plainStart, index), length);
      result[length++] = unit - escapeBase;
      plainStart = index + 1;
    }
  }
  length += result.utf8Write(s.slice(plainStart), length);
  return result.subarray(0, length);
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

function decodeEscaping(buffer: Buffer, start: number, end: number): string {
  let result = "";
  let plainStart = start;
  let index = start;
  while (index < end) {
    const length = sequenceLength(buffer, index, end);
    if (length > 0) {
      index += length;
      continue;
    }
    result += buffer.utf8Slice(plainStart, index) + String.fromCharCode(escapeBase + (buffer[index] ?? 0));
    index++;
    plainStart = index;
  }
  return result + buffer.utf8Slice(plainStart, end);
}

/** Length of the valid UTF-8 sequence at `index`, 0 if there is none (RFC 3629, table 3-7 of Unicode). */
export function sequenceLength(buffer: Uint8Array, index: number, end: number): number {
  const first = buffer[index] ?? 0;
  if (first < 0x80) {
    return 1;
  }
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || index + length > end) {
    return 0;
  }
  const second = buffer[index + 1] ?? 0;
  const low = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const high = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < low || second > high) {
    return 0;
  }
  for (let offset = 2; offset < length; offset++) {
    if (((buffer[index + offset] ?? 0) & 0xc0) !== 0x80) {
      return 0;
    }
  }
  return length;
}
