/** Escapes of YSON text strings, both ways. Specified in: yt/yt/core/yson and util/string/escape.cpp. */
import { plainRunEnd } from "./byte-scan.ts";
import type { RowOutput } from "./row-output.ts";

const hexDigits = "0123456789ABCDEF";

/**
 * Appends the string that begins at `start` without its escapes.
 * @returns the position after the closing quote, or -1 when the input ends first
 */
export function unescapeYson(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  output: RowOutput,
): number {
  let at = start;
  let plain = start;
  while (at < end) {
    const byte = bytes[at] ?? 0;
    if (byte === 0x22) {
      output.copy(bytes, view, plain, at);
      return at + 1;
    }
    if (byte !== 0x5c) {
      at++;
      continue;
    }
    output.copy(bytes, view, plain, at);
    // The longest escape has four bytes, and the closing quote follows in any case.
    at = unescapeOne(bytes, at + 1, end, output);
    plain = at;
  }
  return -1;
}

function unescapeOne(bytes: Uint8Array, start: number, end: number, output: RowOutput): number {
  const byte = start < end ? (bytes[start] ?? 0) : 0;
  let at = start + 1;
  switch (byte) {
    case 0x6e:
      output.byte(0x0a);
      return at;
    case 0x74:
      output.byte(0x09);
      return at;
    case 0x72:
      output.byte(0x0d);
      return at;
    case 0x61:
      output.byte(0x07);
      return at;
    case 0x62:
      output.byte(0x08);
      return at;
    case 0x66:
      output.byte(0x0c);
      return at;
    case 0x76:
      output.byte(0x0b);
      return at;
    case 0x78: {
      let value = -1;
      for (let count = 0; count < 2 && at < end; count++, at++) {
        const digit = hexValue(bytes[at] ?? 0);
        if (digit < 0) {
          break;
        }
        value = value < 0 ? digit : value * 16 + digit;
      }
      output.byte(value < 0 ? 0x78 : value);
      return at;
    }
    default:
      if (!isOctal(byte)) {
        output.byte(byte);
        return at;
      }
  }
  let value = byte - 0x30;
  for (let count = 0; count < 2 && at < end && isOctal(bytes[at] ?? 0); count++, at++) {
    const next = value * 8 + ((bytes[at] ?? 0) - 0x30);
    if (next > 0xff) {
      break;
    }
    value = next;
  }
  output.byte(value);
  return at;
}

/** Appends `bytes[start, end)` as a quoted string of pure ASCII. */
export function writeQuotedYson(
  bytes: Uint8Array,
  view: DataView,
  start: number,
  end: number,
  output: RowOutput,
): void {
  output.byte(0x22);
  let plain = start;
  for (let at = plainRunEnd(view, start, end); at < end; at++) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c) {
      continue;
    }
    output.copy(bytes, view, plain, at);
    writeEscape(byte, at + 1 < end ? (bytes[at + 1] ?? 0) : -1, output);
    plain = at + 1;
  }
  output.copy(bytes, view, plain, end);
  output.byte(0x22);
}

function writeEscape(byte: number, next: number, output: RowOutput): void {
  output.byte(0x5c);
  switch (byte) {
    case 0x22:
    case 0x5c:
      output.byte(byte);
      return;
    case 0x0a:
      output.byte(0x6e);
      return;
    case 0x0d:
      output.byte(0x72);
      return;
    case 0x09:
      output.byte(0x74);
      return;
    default:
  }
  if (byte < 8 && !isOctal(next)) {
    output.byte(0x30 + byte);
  } else if (hexValue(next) < 0) {
    output.ascii(`x${hexDigits[byte >> 4]}${hexDigits[byte & 15]}`);
  } else {
    output.ascii(byte.toString(8).padStart(3, "0"));
  }
}

function isOctal(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x37;
}

function hexValue(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) {
    return byte - 0x30;
  }
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}
