/**
 * Copies of what came before, which LZ4 and Snappy write in different ways: how they are found, and how they are
 * made again. A copy is found by a table of where four bytes were seen last.
 */
const hashBits = 14;
/** The shortest copy. */
export const minCopyLength = 4;
const maxOffset = 0xffff;

/** Literals, and the copy behind them: `length` bytes from `offset` before its own beginning. */
export type EmitCopy = (literals: Buffer, offset: number, length: number) => void;

/**
 * Cuts the content into literals and copies.
 * @param searchBytes in so many last bytes no copy begins, at least `minCopyLength`
 * @param literalBytes so many last bytes are literals
 * @returns the literals behind the last copy
 */
export function findCopies(
  content: Buffer,
  { searchBytes, literalBytes }: { readonly searchBytes: number; readonly literalBytes: number },
  emit: EmitCopy,
): Buffer {
  const table = new Int32Array(1 << hashBits).fill(-1);
  const lastStart = content.length - searchBytes;
  const limit = content.length - literalBytes;
  let literalStart = 0;
  let at = 0;
  while (at <= lastStart) {
    const word = content.readUInt32LE(at);
    const slot = Math.imul(word, 0x9e3779b1) >>> (32 - hashBits);
    const candidate = table[slot] ?? -1;
    table[slot] = at;
    if (candidate < 0 || at - candidate > maxOffset || content.readUInt32LE(candidate) !== word) {
      // What does not compress is passed over ever faster.
      at += 1 + ((at - literalStart) >> 6);
      continue;
    }
    let end = at + minCopyLength;
    for (let from = candidate + minCopyLength; end < limit && content[from] === content[end]; from++) {
      end++;
    }
    emit(content.subarray(literalStart, at), at - candidate, end - at);
    at = end;
    literalStart = end;
  }
  return content.subarray(literalStart);
}

/** Makes a copy, byte by byte: one that is longer than its offset goes on with its own beginning. */
export function repeatBytes(output: Buffer, position: number, offset: number, length: number): void {
  const end = position + length;
  for (let at = position; at < end; at++) {
    output[at] = output[at - offset] ?? 0;
  }
}
