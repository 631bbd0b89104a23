/**
 * CityHash128 of version 1.0, which the key of the de-duplication table is made with.
 * Specified in: util/digest/city.cpp of the real system; the paper code CityHash 1.0 of Google.
 */
const k0 = 0xc3a5c85c97cb3127n;
const k1 = 0xb492b66fbe98f273n;
const k2 = 0x9ae16a3b2f90404fn;
const k3 = 0xc949d7c7509e6557n;
const kMul = 0x9ddfea08eb382d69n;

type Pair = readonly [bigint, bigint];

const wrap = (word: bigint): bigint => BigInt.asUintN(64, word);
const rotate = (word: bigint, shift: bigint): bigint => (word >> shift) | wrap(word << (64n - shift));
const shiftMix = (word: bigint): bigint => word ^ (word >> 47n);

/** The two halves, in the order they are written in. Each is a uint64. */
export function cityHash128(bytes: Buffer): Pair {
  const size = bytes.length;
  if (size >= 16) {
    const seed: Pair = [bytes.readBigUInt64LE(0) ^ k3, bytes.readBigUInt64LE(8)];
    return withSeed(bytes.subarray(16), seed);
  }
  if (size >= 8) {
    const length = BigInt(size);
    const seed: Pair = [bytes.readBigUInt64LE(0) ^ wrap(length * k0), bytes.readBigUInt64LE(size - 8) ^ k1];
    return withSeed(bytes.subarray(0, 0), seed);
  }
  return withSeed(bytes, [k0, k1]);
}

function withSeed(bytes: Buffer, seed: Pair): Pair {
  return bytes.length < 128 ? murmur(bytes, seed) : long(bytes, seed);
}

function hash16(low: bigint, high: bigint): bigint {
  const a = shiftMix(wrap((low ^ high) * kMul));
  return wrap(shiftMix(wrap((high ^ a) * kMul)) * kMul);
}

function hash0to16(bytes: Buffer): bigint {
  const size = bytes.length;
  const length = BigInt(size);
  if (size > 8) {
    const last = bytes.readBigUInt64LE(size - 8);
    return hash16(bytes.readBigUInt64LE(0), rotate(wrap(last + length), length)) ^ last;
  }
  if (size >= 4) {
    return hash16(length + (BigInt(bytes.readUInt32LE(0)) << 3n), BigInt(bytes.readUInt32LE(size - 4)));
  }
  if (size > 0) {
    const at = (index: number): number => bytes[index] ?? 0;
    const y = BigInt(at(0) + (at(size >> 1) << 8));
    const z = BigInt(size + (at(size - 1) << 2));
    return wrap(shiftMix(wrap(y * k2) ^ wrap(z * k3)) * k2);
  }
  return k2;
}

function murmur(bytes: Buffer, seed: Pair): Pair {
  const size = bytes.length;
  let [a, b] = seed;
  let c: bigint;
  let d: bigint;
  if (size <= 16) {
    a = wrap(shiftMix(wrap(a * k1)) * k1);
    c = wrap(b * k1 + hash0to16(bytes));
    d = shiftMix(wrap(a + (size >= 8 ? bytes.readBigUInt64LE(0) : c)));
  } else {
    c = hash16(wrap(bytes.readBigUInt64LE(size - 8) + k1), a);
    d = hash16(wrap(b + BigInt(size)), wrap(c + bytes.readBigUInt64LE(size - 16)));
    a = wrap(a + d);
    for (let position = 0; size - position > 16; position += 16) {
      a = wrap((a ^ wrap(shiftMix(wrap(bytes.readBigUInt64LE(position) * k1)) * k1)) * k1);
      b ^= a;
      c = wrap((c ^ wrap(shiftMix(wrap(bytes.readBigUInt64LE(position + 8) * k1)) * k1)) * k1);
      d ^= c;
    }
  }
  a = hash16(a, c);
  b = hash16(d, b);
  return [a ^ b, hash16(b, a)];
}

function weakHash32(bytes: Buffer, position: number, seedA: bigint, seedB: bigint): Pair {
  const word = (index: number): bigint => bytes.readBigUInt64LE(position + index * 8);
  const a = wrap(seedA + word(0));
  const b = rotate(wrap(seedB + a + word(3)), 21n);
  const mixed = wrap(a + word(1) + word(2));
  return [wrap(mixed + word(3)), wrap(b + rotate(mixed, 44n) + a)];
}

function long(bytes: Buffer, seed: Pair): Pair {
  const word = (position: number): bigint => bytes.readBigUInt64LE(position);
  let [x, y] = seed;
  let z = wrap(BigInt(bytes.length) * k1);
  const first = wrap(rotate(y ^ k1, 49n) * k1 + word(0));
  let v: Pair = [first, wrap(rotate(first, 42n) * k1 + word(8))];
  let w: Pair = [wrap(rotate(wrap(y + z), 35n) * k1 + x), wrap(rotate(wrap(x + word(88)), 53n) * k1)];
  let position = 0;
  const step = (): void => {
    x = wrap(rotate(wrap(x + y + v[0] + word(position + 16)), 37n) * k1) ^ w[1];
    y = wrap(rotate(wrap(y + v[1] + word(position + 48)), 42n) * k1) ^ v[0];
    z = rotate(z ^ w[0], 33n);
    v = weakHash32(bytes, position, wrap(v[1] * k1), wrap(x + w[0]));
    w = weakHash32(bytes, position + 32, wrap(z + w[1]), y);
    [x, z] = [z, x];
    position += 64;
  };
  while (bytes.length - position >= 128) {
    step();
    step();
  }
  const rest = bytes.length - position;
  y = wrap(y + rotate(w[0], 37n) * k0 + z);
  x = wrap(x + rotate(wrap(v[0] + z), 49n) * k0);
  for (let done = 32; done < rest + 32; done += 32) {
    const start = position + rest - done;
    y = wrap(rotate(wrap(y - x), 42n) * k0 + v[1]);
    w = [wrap(w[0] + word(start + 16)), w[1]];
    x = wrap(rotate(x, 49n) * k0 + w[0]);
    w = [wrap(w[0] + v[0]), w[1]];
    v = weakHash32(bytes, start, v[0], v[1]);
  }
  x = hash16(x, v[0]);
  y = hash16(y, w[0]);
  return [wrap(hash16(wrap(x + v[1]), w[1]) + y), hash16(wrap(x + w[1]), wrap(y + v[1]))];
}
