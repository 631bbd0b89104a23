/**
 * LZ4, the block format: sequences of a token, literals, and a copy.
 * Specified in: lz4/lz4 doc/lz4_Block_format.md. Written here because the codec is small and the packages for it are
 * native, or not looked after.
 */
const hashBits = 14;
const minMatch = 4;
const maxOffset = 0xffff;
/** The last bytes of a block are literals, and no copy begins in the last twelve. */
const lastLiterals = 5;
const matchLimit = 12;

/** The content compressed. It may be larger than the content by a little. */
export function lz4Compress(content: Buffer): Buffer {
  const output = Buffer.allocUnsafe(16 + content.length + Math.ceil(content.length / 255));
  const table = new Int32Array(1 << hashBits).fill(-1);
  let out = 0;
  let literalStart = 0;
  let at = 0;
  while (at + matchLimit <= content.length) {
    const word = content.readUInt32LE(at);
    const slot = Math.imul(word, 0x9e3779b1) >>> (32 - hashBits);
    const candidate = table[slot] ?? -1;
    table[slot] = at;
    if (candidate < 0 || at - candidate > maxOffset || content.readUInt32LE(candidate) !== word) {
      // What does not compress is passed over ever faster.
      at += 1 + ((at - literalStart) >> 6);
      continue;
    }
    let end = at + minMatch;
    const limit = content.length - lastLiterals;
    for (let from = candidate + minMatch; end < limit && content[from] === content[end]; from++) {
      end++;
    }
    out = writeSequence(output, out, content.subarray(literalStart, at), end - at - minMatch);
    out = output.writeUInt16LE(at - candidate, out);
    out = writeLength(output, out, end - at - minMatch);
    at = end;
    literalStart = end;
  }
  out = writeSequence(output, out, content.subarray(literalStart), 0);
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
    const size = lengthOf(token & 15) + minMatch;
    if (offset === 0 || offset > out || out + size > contentLength) {
      throw new RangeError("LZ4 copy is out of range");
    }
    for (let end = out + size; out < end; out++) {
      output[out] = output[out - offset] ?? 0;
    }
  }
  if (out !== contentLength) {
    throw new RangeError(`LZ4 block has ${out} bytes of content instead of ${contentLength}`);
  }
  return output;
}
