/**
 * farm_hash: the hash behind the query function, computed key columns and the routing of queue rows, and
 * the fingerprint of byte strings it is built on (FarmHash 64, flavour "na").
 *
 * A 64-bit word is two int32 here. A step that yields words leaves them in the registers below, which
 * keeps the loop free of allocation and of bigint.
 *
 * Specified in: library/cpp/yt/farmhash/farm_hash.h, the FarmHash paper code (farmhashna, Fingerprint),
 * yt/yt/client/table_client/unversioned_value.cpp.
 */
import { YtError } from "@qyt/base";
import { type RowValue, YsonAny } from "./value-type.ts";

// Constants as high and low halves.
const k0h = 0xc3a5c85c | 0;
const k0l = 0x97cb3127 | 0;
const k1h = 0xb492b66f | 0;
const k1l = 0xbe98f273 | 0;
const k2h = 0x9ae16a3b | 0;
const k2l = 0x2f90404f | 0;
const kMulh = 0x9ddfea08 | 0;
const kMull = 0xeb382d69 | 0;

/** The result of the last step; `h2`, `l2` hold the second word of a pair. */
let h = 0;
let l = 0;
let h2 = 0;
let l2 = 0;

/**
 * The fingerprint of a byte string, or of a part of it.
 * @returns uint64
 */
export function farmHashBytes(bytes: Uint8Array, start = 0, end = bytes.length): bigint {
  fingerprintBytes(bytes, start, end);
  return toBigInt();
}

/**
 * The fingerprint of one value. Integers count by their 64 bits, whatever their type.
 * @returns uint64
 * @throws YtError 304 for a value of type `any`
 */
export function farmFingerprint(value: RowValue): bigint {
  fingerprintValue(value);
  return toBigInt();
}

/**
 * `farm_hash(v1, …, vn)`.
 * @returns uint64
 * @throws YtError 304 when a value is of type `any`
 */
export function farmHash(values: readonly RowValue[]): bigint {
  let resultH = 0;
  let resultL = 0xdeadc0de | 0;
  for (const value of values) {
    fingerprintValue(value);
    fingerprintPair(resultH, resultL, h, l);
    resultH = h;
    resultL = l;
  }
  h = resultH;
  l = resultL ^ values.length;
  return toBigInt();
}

function toBigInt(): bigint {
  return (BigInt(h >>> 0) << 32n) | BigInt(l >>> 0);
}

const doubleBits = new DataView(new ArrayBuffer(8));

function fingerprintValue(value: RowValue): void {
  if (value === null || typeof value === "boolean") {
    fingerprintWord(0, value === true ? 1 : 0);
  } else if (typeof value === "bigint") {
    fingerprintWord(Number((value >> 32n) & 0xffff_ffffn) | 0, Number(value & 0xffff_ffffn) | 0);
  } else if (typeof value === "number") {
    doubleBits.setFloat64(0, value);
    fingerprintWord(doubleBits.getInt32(0), doubleBits.getInt32(4));
  } else if (value instanceof YsonAny) {
    throw new YtError(`Cannot hash values of type "any"; only scalar types are allowed for key columns`, {
      code: "UnhashableType",
    });
  } else {
    fingerprintBytes(value, 0, value.length);
  }
}

/** F1: the fingerprint of one 64-bit word. */
function fingerprintWord(xh: number, xl: number): void {
  multiply(xh, xl, kMulh, kMull);
  multiply(h, l ^ (h >>> 12), kMulh, kMull);
  multiply(h, l ^ (h >>> 9), kMulh, kMull);
}

/** F2: the fingerprint of a pair of words. */
function fingerprintPair(lowH: number, lowL: number, highH: number, highL: number): void {
  multiply(lowH ^ highH, lowL ^ highL, kMulh, kMull);
  multiply(highH ^ h, highL ^ l ^ (h >>> 15), kMulh, kMull);
  multiply(h, l ^ (h >>> 12), kMulh, kMull);
  multiply(h, l ^ (h >>> 9), kMulh, kMull);
}

/** FS: the fingerprint of a byte string. */
function fingerprintBytes(s: Uint8Array, start: number, end: number): void {
  const length = end - start;
  if (length <= 16) {
    fingerprintTo16(s, start, length);
  } else if (length <= 64) {
    fingerprint17To64(s, start, length);
  } else {
    fingerprintLong(s, start, length);
  }
}

function fingerprintTo16(s: Uint8Array, p: number, n: number): void {
  if (n === 0) {
    h = k2h;
    l = k2l;
    return;
  }
  if (n <= 3) {
    const y = byteAt(s, p) + (byteAt(s, p + (n >>> 1)) << 8);
    const z = n + (byteAt(s, p + n - 1) << 2);
    multiply(0, z, k0h, k0l);
    const zh = h;
    const zl = l;
    multiply(0, y, k2h, k2l);
    const xh = h ^ zh;
    const xl = l ^ zl;
    multiply(xh, xl ^ (xh >>> 15), k2h, k2l);
    return;
  }
  add(k2h, k2l, 0, 2 * n);
  const mh = h;
  const ml = l;
  if (n < 8) {
    const first = wordAt(s, p);
    add(first >>> 29, first << 3, 0, n);
    mix(h, l, 0, wordAt(s, p + n - 4), mh, ml);
    return;
  }
  const bl = wordAt(s, p + n - 8);
  const bh = wordAt(s, p + n - 4);
  add(wordAt(s, p + 4), wordAt(s, p), k2h, k2l);
  const ah = h;
  const al = l;
  rotate(bh, bl, 37);
  multiply(h, l, mh, ml);
  add(h, l, ah, al);
  const ch = h;
  const cl = l;
  rotate(ah, al, 25);
  add(h, l, bh, bl);
  multiply(h, l, mh, ml);
  mix(ch, cl, h, l, mh, ml);
}

function fingerprint17To64(s: Uint8Array, p: number, n: number): void {
  add(k2h, k2l, 0, 2 * n);
  const mh = h;
  const ml = l;
  // The first word is multiplied by another constant in each of the two cases.
  const short = n <= 32;
  multiply(wordAt(s, p + 4), wordAt(s, p), short ? k1h : k2h, short ? k1l : k2l);
  const ah = h;
  const al = l;
  const bl = wordAt(s, p + 8);
  const bh = wordAt(s, p + 12);
  multiply(wordAt(s, p + n - 4), wordAt(s, p + n - 8), mh, ml);
  const ch = h;
  const cl = l;
  multiply(wordAt(s, p + n - 12), wordAt(s, p + n - 16), k2h, k2l);
  sumOfRotations(ah, al, bh, bl, ch, cl, h, l);
  const yh = h;
  const yl = l;
  add(bh, bl, k2h, k2l);
  offsetRotation(ah, al, h, l, ch, cl);
  mix(yh, yl, h, l, mh, ml);
  if (short) {
    return;
  }
  const zh = h;
  const zl = l;
  multiply(wordAt(s, p + 20), wordAt(s, p + 16), mh, ml);
  const gh = h;
  const gl = l;
  const fl = wordAt(s, p + 24);
  const fh = wordAt(s, p + 28);
  add(yh, yl, wordAt(s, p + n - 28), wordAt(s, p + n - 32));
  multiply(h, l, mh, ml);
  const ih = h;
  const il = l;
  add(zh, zl, wordAt(s, p + n - 20), wordAt(s, p + n - 24));
  multiply(h, l, mh, ml);
  sumOfRotations(gh, gl, fh, fl, ih, il, h, l);
  const uh = h;
  const ul = l;
  add(fh, fl, ah, al);
  offsetRotation(gh, gl, h, l, ih, il);
  mix(uh, ul, h, l, mh, ml);
}

/** rot(a + b, 43) + rot(c, 30) + d */
function sumOfRotations(
  ah: number,
  al: number,
  bh: number,
  bl: number,
  ch: number,
  cl: number,
  dh: number,
  dl: number,
): void {
  rotate(ch, cl, 30);
  add(h, l, dh, dl);
  const th = h;
  const tl = l;
  add(ah, al, bh, bl);
  rotate(h, l, 43);
  add(h, l, th, tl);
}

/** a + rot(b, 18) + c */
function offsetRotation(ah: number, al: number, bh: number, bl: number, ch: number, cl: number): void {
  rotate(bh, bl, 18);
  add(h, l, ah, al);
  add(h, l, ch, cl);
}

/** The state of strings longer than 64 bytes: x, y, z and the pairs v, w. */
interface State {
  xh: number;
  xl: number;
  yh: number;
  yl: number;
  zh: number;
  zl: number;
  v1h: number;
  v1l: number;
  v2h: number;
  v2l: number;
  w1h: number;
  w1l: number;
  w2h: number;
  w2l: number;
}

const state: State = {
  xh: 0,
  xl: 0,
  yh: 0,
  yl: 0,
  zh: 0,
  zl: 0,
  v1h: 0,
  v1l: 0,
  v2h: 0,
  v2l: 0,
  w1h: 0,
  w1l: 0,
  w2h: 0,
  w2l: 0,
};

function fingerprintLong(s: Uint8Array, start: number, n: number): void {
  initialize(s, start);
  const blocksEnd = start + ((n - 1) & ~63);
  for (let p = start; p < blocksEnd; p += 64) {
    round(s, p, k1h, k1l, 1);
  }
  const rest = (n - 1) & 63;
  add(k1h, k1l, 0, (state.zl & 255) << 1);
  const mh = h;
  const ml = l;
  add(state.w1h, state.w1l, 0, rest);
  const wh = h;
  const wl = l;
  add(state.v1h, state.v1l, wh, wl);
  state.v1h = h;
  state.v1l = l;
  add(wh, wl, h, l);
  state.w1h = h;
  state.w1l = l;
  round(s, blocksEnd + rest - 63, mh, ml, 9);
  finish(mh, ml);
}

function initialize(s: Uint8Array, start: number): void {
  multiply(0, 81, k1h, k1l);
  add(h, l, 0, 113);
  state.yh = h;
  state.yl = l;
  multiply(h, l, k2h, k2l);
  add(h, l, 0, 113);
  multiply(h, l ^ (h >>> 15), k2h, k2l);
  state.zh = h;
  state.zl = l;
  multiply(0, 81, k2h, k2l);
  add(h, l, wordAt(s, start + 4), wordAt(s, start));
  state.xh = h;
  state.xl = l;
  state.v1h = 0;
  state.v1l = 0;
  state.v2h = 0;
  state.v2l = 0;
  state.w1h = 0;
  state.w1l = 0;
  state.w2h = 0;
  state.w2l = 0;
}

/** One block of 64 bytes at p; `factor` is 1 inside of the string and 9 for its last 64 bytes. */
function round(s: Uint8Array, p: number, mh: number, ml: number, factor: number): void {
  const t = state;
  // x = rot(x + y + v.1 + q(8), 37) · m
  add(t.xh, t.xl, t.yh, t.yl);
  add(h, l, t.v1h, t.v1l);
  add(h, l, wordAt(s, p + 12), wordAt(s, p + 8));
  rotate(h, l, 37);
  multiply(h, l, mh, ml);
  let xh = h;
  let xl = l;
  // y = rot(y + v.2 + q(48), 42) · m
  add(t.yh, t.yl, t.v2h, t.v2l);
  add(h, l, wordAt(s, p + 52), wordAt(s, p + 48));
  rotate(h, l, 42);
  multiply(h, l, mh, ml);
  const yh = h;
  const yl = l;
  // x ^= factor · w.2
  multiply(t.w2h, t.w2l, 0, factor);
  xh ^= h;
  xl ^= l;
  // y += factor · v.1 + q(40)
  multiply(t.v1h, t.v1l, 0, factor);
  add(h, l, yh, yl);
  add(h, l, wordAt(s, p + 44), wordAt(s, p + 40));
  t.yh = h;
  t.yl = l;
  // z = rot(z + w.1, 33) · m
  add(t.zh, t.zl, t.w1h, t.w1l);
  rotate(h, l, 33);
  multiply(h, l, mh, ml);
  const zh = h;
  const zl = l;
  // v = W(p, v.2 · m, x + w.1)
  add(xh, xl, t.w1h, t.w1l);
  const vh = h;
  const vl = l;
  multiply(t.v2h, t.v2l, mh, ml);
  absorb(s, p, h, l, vh, vl);
  t.v1h = h;
  t.v1l = l;
  t.v2h = h2;
  t.v2l = l2;
  // w = W(p + 32, z + w.2, y + q(16))
  add(t.yh, t.yl, wordAt(s, p + 20), wordAt(s, p + 16));
  const wh = h;
  const wl = l;
  add(zh, zl, t.w2h, t.w2l);
  absorb(s, p + 32, h, l, wh, wl);
  t.w1h = h;
  t.w1l = l;
  t.w2h = h2;
  t.w2l = l2;
  // x and z change places
  t.xh = zh;
  t.xl = zl;
  t.zh = xh;
  t.zl = xl;
}

/** W: folds 32 bytes at p into the pair (a, b); gives a pair. */
function absorb(s: Uint8Array, p: number, ah: number, al: number, bh: number, bl: number): void {
  const w3l = wordAt(s, p + 24);
  const w3h = wordAt(s, p + 28);
  add(ah, al, wordAt(s, p + 4), wordAt(s, p));
  const ch = h;
  const cl = l;
  add(bh, bl, h, l);
  add(h, l, w3h, w3l);
  rotate(h, l, 21);
  const dh = h;
  const dl = l;
  add(ch, cl, wordAt(s, p + 12), wordAt(s, p + 8));
  add(h, l, wordAt(s, p + 20), wordAt(s, p + 16));
  const eh = h;
  const el = l;
  rotate(eh, el, 44);
  add(h, l, dh, dl);
  add(h, l, ch, cl);
  h2 = h;
  l2 = l;
  add(eh, el, w3h, w3l);
}

/** H(H(v.1, w.1, m) + S(y) · k0 + z, H(v.2, w.2, m) + x, m) */
function finish(mh: number, ml: number): void {
  const t = state;
  multiply(t.yh, t.yl ^ (t.yh >>> 15), k0h, k0l);
  add(h, l, t.zh, t.zl);
  const yh = h;
  const yl = l;
  mix(t.v1h, t.v1l, t.w1h, t.w1l, mh, ml);
  add(h, l, yh, yl);
  const uh = h;
  const ul = l;
  mix(t.v2h, t.v2l, t.w2h, t.w2l, mh, ml);
  add(h, l, t.xh, t.xl);
  mix(uh, ul, h, l, mh, ml);
}

/** H: mixes two words with the multiplier m. */
function mix(uh: number, ul: number, vh: number, vl: number, mh: number, ml: number): void {
  multiply(uh ^ vh, ul ^ vl, mh, ml);
  multiply(vh ^ h, vl ^ l ^ (h >>> 15), mh, ml);
  multiply(h, l ^ (h >>> 15), mh, ml);
}

/** (h, l) = a + b */
function add(ah: number, al: number, bh: number, bl: number): void {
  l = (al + bl) | 0;
  h = (ah + bh + (l >>> 0 < al >>> 0 ? 1 : 0)) | 0;
}

/** (h, l) = a · b, the lower 64 bits: four products of 16 bits make that of the low halves. */
function multiply(ah: number, al: number, bh: number, bl: number): void {
  const a0 = al & 0xffff;
  const a1 = al >>> 16;
  const b0 = bl & 0xffff;
  const b1 = bl >>> 16;
  const p00 = Math.imul(a0, b0);
  const p01 = Math.imul(a0, b1);
  const p10 = Math.imul(a1, b0);
  const middle = (p00 >>> 16) + (p01 & 0xffff) + (p10 & 0xffff);
  h =
    (Math.imul(a1, b1) +
      (p01 >>> 16) +
      (p10 >>> 16) +
      (middle >>> 16) +
      Math.imul(ah, bl) +
      Math.imul(al, bh)) |
    0;
  l = (middle << 16) | (p00 & 0xffff);
}

/** (h, l) = a rotated to the right by `bits`, which is neither 0 nor 32 nor above 63. */
function rotate(ah: number, al: number, bits: number): void {
  if (bits < 32) {
    l = (al >>> bits) | (ah << (32 - bits));
    h = (ah >>> bits) | (al << (32 - bits));
  } else {
    l = (ah >>> (bits - 32)) | (al << (64 - bits));
    h = (al >>> (bits - 32)) | (ah << (64 - bits));
  }
}

function byteAt(s: Uint8Array, p: number): number {
  return s[p] ?? 0;
}

/** The 32 bits at p, little-endian, signed. */
function wordAt(s: Uint8Array, p: number): number {
  return byteAt(s, p) | (byteAt(s, p + 1) << 8) | (byteAt(s, p + 2) << 16) | (byteAt(s, p + 3) << 24);
}
