/**
 * LZ4, the block format: sequences of a token, literals, and a copy.
 * Specified in: lz4/lz4 doc/lz4_Block_format.md. Written here because the codec is small and the packages for it are
 * native, or not looked after.
 */
import { findCopies, minCopyLength, repeatBytes } from "./copies.ts";

/** The last bytes of a block are literals, and no copy begins in the last twelve. */
const blockEnd = { searchBytes: 12, literalBytes: 5 } as const;

/** The content compressed. It may be larger than the content by a little. */
export function lz4Compress(content: Buffer): Buffer {
  const output = Buffer.allocUnsafe(16 + content.length + Math.ceil(content.length / 255));
  let out = 0;
  const rest = findCopies(content, blockEnd, (literals, offset, length) => {
    const matchCode = length - minCopyLength;
    out = writeSequence(output, out, literals, matchCode);
    out = output.writeUInt16LE(offset, out);
    out = writeLength(output, out, matchCode);
  });
  out = writeSequence(output, out, rest, 0);
  return output.subarray(0, out);
}

/** The token, the rest of the literals' length, and the literals. */
function writeSequence(output: Buffer, position: number, literals: Buffer, matchCode: number): number {
  output[position] = (Math.min(literals.length, 15) << 4) | Math.min(matchCode, 15);
  const at = writeLength(output, position + 1, literals.length);
  output.set(literals, at);
  return at + literals.length;
}

/** What of a length does not fit into four bits. */
function writeLength(output: Buffer, position: number, length: number): number {
  let at = position;
  if (length >= 15) {
    let rest = length - 15;
    for (; rest >= 255; rest -= 255) {
      output[at++] = 255;
    }
    output[at++] = rest;
  }
  return at;
}

/** The content of a block, `contentLength` bytes. @throws RangeError for a damaged block; nothing beyond is written */
export function lz4Decompress(block: Uint8Array, contentLength: number): Buffer {
  const output = Buffer.allocUnsafe(contentLength);
  let at = 0;
  let out = 0;
  const byte = (): number => {
    const value = block[at++];
    if (value === undefined) {
      throw new RangeError("LZ4 block ends too early");
    }
    return value;
  };
  const lengthOf = (code: number): number => {
    let length = code;
    if (code === 15) {
      for (let more = 255; more === 255; length += more) {
        more = byte();
      }
    }
    return length;
  };
  for (;;) {
    const token = byte();
    const literals = lengthOf(token >> 4);
    if (at + literals > block.length || out + literals > contentLength) {
      throw new RangeError("LZ4 literals are too long");
    }
    output.set(block.subarray(at, at + literals), out);
    at += literals;
    out += literals;
    if (at === block.length) {
      break;
    }
    const low = byte();
    const offset = low + byte() * 256;
    const size = lengthOf(token & 15) + minCopyLength;
    if (offset === 0 || offset > out || out + size > contentLength) {
      throw new RangeError("LZ4 copy is out of range");
    }
    repeatBytes(output, out, offset, size);
    out += size;
  }
  if (out !== contentLength) {
    throw new RangeError(`LZ4 block has ${out} bytes of content instead of ${contentLength}`);
  }
  return output;
}
