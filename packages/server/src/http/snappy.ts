/**
 * Snappy, the raw block format: a varint with the length of the content, then literals and copies.
 * Specified in: google/snappy format_description.txt. Written here because the codec is small and the packages
 * for it are native, or not looked after.
 */
import { findCopies, minCopyLength, repeatBytes } from "./copies.ts";

const maxCopyLength = 64;
/** Copies begin and end anywhere. */
const frameEnd = { searchBytes: minCopyLength, literalBytes: 0 } as const;

/** The content compressed. It may be larger than the content by a little. */
export function snappyCompress(content: Buffer): Buffer {
  const output = Buffer.allocUnsafe(32 + content.length + Math.ceil(content.length / 6));
  let out = writeVarint(output, content.length);
  const rest = findCopies(content, frameEnd, (literals, offset, length) => {
    out = writeLiteral(output, out, literals);
    out = writeCopies(output, out, { offset, length });
  });
  out = writeLiteral(output, out, rest);
  return output.subarray(0, out);
}

function writeVarint(output: Buffer, value: number): number {
  let at = 0;
  let rest = value;
  while (rest >= 0x80) {
    output[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  output[at++] = rest;
  return at;
}

function writeLiteral(output: Buffer, position: number, literal: Buffer): number {
  if (literal.length === 0) {
    return position;
  }
  let at = position;
  const last = literal.length - 1;
  if (last < 60) {
    output[at++] = last << 2;
  } else {
    const count = last < 0x100 ? 1 : last < 0x10000 ? 2 : last < 0x1000000 ? 3 : 4;
    output[at++] = (59 + count) << 2;
    at = output.writeUIntLE(last, at, count);
  }
  output.set(literal, at);
  return at + literal.length;
}

function writeCopies(
  output: Buffer,
  position: number,
  { offset, length }: { readonly offset: number; readonly length: number },
): number {
  let at = position;
  for (let rest = length; rest > 0; ) {
    const piece = Math.min(rest, maxCopyLength);
    output[at++] = ((piece - 1) << 2) | 2;
    at = output.writeUInt16LE(offset, at);
    rest -= piece;
  }
  return at;
}

/** The length of the content, as the frame declares it. @throws RangeError when it does not */
export function snappyContentLength(frame: Uint8Array): number {
  return readVarint(frame).value;
}

function readVarint(frame: Uint8Array): { value: number; next: number } {
  let value = 0;
  for (let at = 0; at < 5; at++) {
    const byte = frame[at];
    if (byte === undefined) {
      break;
    }
    value += (byte & 0x7f) * 2 ** (7 * at);
    if (byte < 0x80) {
      if (value > 0xffff_ffff) {
        break;
      }
      return { value, next: at + 1 };
    }
  }
  throw new RangeError("Snappy frame without the length of its content");
}

/** The content of a frame. @throws RangeError for a damaged frame; nothing beyond the declared length is written */
export function snappyDecompress(frame: Uint8Array): Buffer {
  const { value: length, next } = readVarint(frame);
  const output = Buffer.allocUnsafe(length);
  let at = next;
  let out = 0;
  const byteAt = (position: number): number => {
    const byte = frame[position];
    if (byte === undefined) {
      throw new RangeError("Snappy frame ends too early");
    }
    return byte;
  };
  const numberAt = (position: number, count: number): number => {
    let number = 0;
    for (let index = 0; index < count; index++) {
      number += byteAt(position + index) * 2 ** (8 * index);
    }
    return number;
  };
  while (at < frame.length) {
    const tag = byteAt(at++);
    const kind = tag & 3;
    if (kind === 0) {
      let size = (tag >> 2) + 1;
      if (size > 60) {
        const count = size - 60;
        size = numberAt(at, count) + 1;
        at += count;
      }
      if (at + size > frame.length || out + size > length) {
        throw new RangeError("Snappy literal is too long");
      }
      output.set(frame.subarray(at, at + size), out);
      at += size;
      out += size;
      continue;
    }
    const size = kind === 1 ? ((tag >> 2) & 7) + 4 : (tag >> 2) + 1;
    const offset = kind === 1 ? ((tag >> 5) << 8) + byteAt(at) : numberAt(at, kind === 2 ? 2 : 4);
    at += kind === 1 ? 1 : kind === 2 ? 2 : 4;
    if (offset === 0 || offset > out || out + size > length) {
      throw new RangeError("Snappy copy is out of range");
    }
    repeatBytes(output, out, offset, size);
    out += size;
  }
  if (out !== length) {
    throw new RangeError(`Snappy frame has ${out} bytes of content instead of ${length}`);
  }
  return output;
}
