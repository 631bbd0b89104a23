/** Escapes of quoted YSON strings. Specified in: util/string/escape.cpp (the C dialect), library/cpp/yt/yson_string. */
import type { ByteWriter } from "./byte-writer.ts";
import { stringToBytes } from "./bytes.ts";

const simpleEscapes = new Map<number, number>([
  [0x6e, 10],
  [0x74, 9],
  [0x72, 13],
  [0x61, 7],
  [0x62, 8],
  [0x66, 12],
  [0x76, 11],
]);

/** The bytes that the inside of a quoted string, `source[start, end)`, stands for. */
export function unescapeString(source: Uint8Array, start: number, end: number): Buffer {
  const result = Buffer.allocUnsafe(end - start);
  let length = 0;
  let index = start;
  while (index < end) {
    const byte = source[index++] ?? 0;
    if (byte !== 0x5c || index >= end) {
      result[length++] = byte;
      continue;
    }
    const escaped = source[index++] ?? 0;
    if (escaped === 0x78 && hexDigit(source, index, end) >= 0) {
      let value = hexDigit(source, index++, end);
      const second = hexDigit(source, index, end);
      if (second >= 0) {
        value = value * 16 + second;
        index++;
      }
      result[length++] = value;
    } else if (isOctal(escaped)) {
      let value = escaped - 48;
      // Three digits only when the first is at most 3, as in C: the value must fit into a byte.
      const most = escaped <= 0x33 ? 2 : 1;
      for (let more = 0; more < most && index < end && isOctal(source[index] ?? 0); more++) {
        value = value * 8 + (source[index++] ?? 48) - 48;
      }
      result[length++] = value;
    } else {
      result[length++] = simpleEscapes.get(escaped) ?? escaped;
    }
  }
  return result.subarray(0, length);
}

/** Writes `"…"` with the escapes that YTsaurus writes; the output is pure ASCII. */
export function writeQuoted(writer: ByteWriter, text: string): void {
  const count = text.length;
  writer.ensure(count + 2);
  const target = writer.buffer;
  const start = writer.length;
  let at = start;
  target[at++] = 0x22;
  for (let index = 0; index < count; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x20 || unit > 0x7e || unit === 0x22 || unit === 0x5c) {
      writeEscaped(writer, stringToBytes(text));
      return;
    }
    target[at++] = unit;
  }
  target[at++] = 0x22;
  writer.length = at;
}

function writeEscaped(writer: ByteWriter, bytes: Uint8Array): void {
  writer.ensure(bytes.length * 4 + 2);
  const target = writer.buffer;
  let at = writer.length;
  target[at++] = 0x22;
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    if (byte >= 0x20 && byte <= 0x7e) {
      if (byte === 0x22 || byte === 0x5c) {
        target[at++] = 0x5c;
      }
      target[at++] = byte;
      continue;
    }
    target[at++] = 0x5c;
    if (byte === 10 || byte === 13 || byte === 9) {
      target[at++] = byte === 10 ? 0x6e : byte === 13 ? 0x72 : 0x74;
    } else if (byte < 8 && !isOctal(bytes[index + 1] ?? 0)) {
      target[at++] = 48 + byte;
    } else if (hexDigit(bytes, index + 1, bytes.length) < 0) {
      target[at++] = 0x78;
      target[at++] = upperHex(byte >> 4);
      target[at++] = upperHex(byte & 15);
    } else {
      target[at++] = 48 + (byte >> 6);
      target[at++] = 48 + ((byte >> 3) & 7);
      target[at++] = 48 + (byte & 7);
    }
  }
  target[at++] = 0x22;
  writer.length = at;
}

function isOctal(byte: number): boolean {
  return byte >= 48 && byte <= 55;
}

function upperHex(digit: number): number {
  return digit < 10 ? 48 + digit : 55 + digit;
}

/** Value of the hex digit at `index`, -1 if there is none. */
export function hexDigit(source: Uint8Array, index: number, end: number): number {
  const byte = index < end ? (source[index] ?? 0) : 0;
  if (byte >= 48 && byte <= 57) {
    return byte - 48;
  }
  const lower = byte | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
