/** Keys repeat from row to row: a small table of those seen last spares the call that makes a string of bytes. */
import { bytesToString } from "./bytes.ts";

const longestKey = 32;
const slotCount = 1024;
const slots: string[] = new Array<string>(slotCount).fill("");

/** The JS image of `buffer[start, end)`, as `bytesToString` gives it. */
export function keyToString(buffer: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > longestKey || length === 0) {
    return bytesToString(buffer, start, end);
  }
  let hash = length;
  for (let index = start; index < end; index++) {
    hash = (Math.imul(hash, 31) + (buffer[index] ?? 0)) | 0;
  }
  const slot = (hash ^ (hash >>> 15)) & (slotCount - 1);
  const cached = slots[slot] ?? "";
  if (cached.length === length && matches(cached, buffer, start)) {
    return cached;
  }
  const key = bytesToString(buffer, start, end);
  if (key.length === length && isAsciiRange(buffer, start, end)) {
    slots[slot] = key;
  }
  return key;
}

function matches(cached: string, buffer: Buffer, start: number): boolean {
  for (let index = 0; index < cached.length; index++) {
    if (cached.charCodeAt(index) !== buffer[start + index]) {
      return false;
    }
  }
  return true;
}

function isAsciiRange(buffer: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    if ((buffer[index] ?? 0) > 0x7f) {
      return false;
    }
  }
  return true;
}
