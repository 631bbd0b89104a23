/** MurmurHash2, 32 bits: block codecs are numbered by the hash of their name (library/cpp/blockcodecs). */

const multiplier = 0x5bd1e995;

/** The hash of `bytes` as an unsigned 32-bit integer. */
export function murmurHash2(bytes: Buffer, seed: number): number {
  let hash = (seed ^ bytes.length) >>> 0;
  let position = 0;
  for (; bytes.length - position >= 4; position += 4) {
    let word = Math.imul(bytes.readUInt32LE(position), multiplier);
    word ^= word >>> 24;
    hash = Math.imul(hash, multiplier) ^ Math.imul(word, multiplier);
  }
  const rest = bytes.length - position;
  if (rest > 0) {
    hash = Math.imul(hash ^ bytes.readUIntLE(position, rest), multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return (hash ^ (hash >>> 15)) >>> 0;
}
