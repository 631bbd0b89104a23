/**
 * CRC-32 as `node:zlib` has it, over a part of a buffer. For records of a hundred bytes a call into native code,
 * and the views that it needs, cost more than the sum itself; long ones go there all the same.
 */
import { crc32 } from "node:zlib";

const polynomial = 0xedb8_8320;
const tableCount = 8;
/** From here on native code is faster. */
const nativeBytes = 512;

/** Eight tables of 256 one behind the other: eight bytes are taken at once. */
const tables = makeTables();

function makeTables(): Int32Array {
  const made = new Int32Array(tableCount * 256);
  for (let byte = 0; byte < 256; byte++) {
    let sum = byte;
    for (let bit = 0; bit < 8; bit++) {
      sum = (sum & 1) === 0 ? sum >>> 1 : (sum >>> 1) ^ polynomial;
    }
    made[byte] = sum;
  }
  for (let at = 256; at < made.length; at++) {
    const before = made[at - 256] ?? 0;
    made[at] = (before >>> 8) ^ (made[before & 0xff] ?? 0);
  }
  return made;
}

/**
 * The sum of `bytes[start, end)`, unsigned.
 * @param view of the same memory
 * @param before the sum of what stands in front of them
 */
export function crc32Of(bytes: Buffer, view: DataView, start: number, end: number, before = 0): number {
  if (end - start >= nativeBytes) {
    return crc32(bytes.subarray(start, end), before);
  }
  let sum = ~before;
  let at = start;
  for (const last = end - 8; at <= last; at += 8) {
    const low = sum ^ view.getInt32(at, true);
    const high = view.getInt32(at + 4, true);
    sum =
      (tables[0x700 + (low & 0xff)] ?? 0) ^
      (tables[0x600 + ((low >>> 8) & 0xff)] ?? 0) ^
      (tables[0x500 + ((low >>> 16) & 0xff)] ?? 0) ^
      (tables[0x400 + (low >>> 24)] ?? 0) ^
      (tables[0x300 + (high & 0xff)] ?? 0) ^
      (tables[0x200 + ((high >>> 8) & 0xff)] ?? 0) ^
      (tables[0x100 + ((high >>> 16) & 0xff)] ?? 0) ^
      (tables[high >>> 24] ?? 0);
  }
  for (; at < end; at++) {
    sum = (sum >>> 8) ^ (tables[(sum ^ (bytes[at] ?? 0)) & 0xff] ?? 0);
  }
  return ~sum >>> 0;
}
