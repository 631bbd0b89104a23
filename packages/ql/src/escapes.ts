/**
 * C escapes in quoted strings and names, and the reverse for printing.
 *
 * Specified in: util/string/escape (UnescapeC, EscapeC).
 */
import { bytesToString, stringToBytes } from "@qyt/yson";

const escapePattern = /\\(?:x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S])?)/g;

const letters: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
};

/** The bytes that an escaped text stands for. */
export function unescapeBytes(text: string): Uint8Array {
  if (!text.includes("\\")) {
    return stringToBytes(text);
  }
  const parts: Uint8Array[] = [];
  let plainStart = 0;
  for (const match of text.matchAll(escapePattern)) {
    parts.push(stringToBytes(text.slice(plainStart, match.index)), escapeBytes(match));
    plainStart = match.index + match[0].length;
  }
  parts.push(stringToBytes(text.slice(plainStart)));
  return Buffer.concat(parts);
}

/** The same as text. */
export function unescapeText(text: string): string {
  return text.includes("\\") ? bytesToString(unescapeBytes(text)) : text;
}

function escapeBytes(match: RegExpMatchArray): Uint8Array {
  const [, hex, octal, short, long, other] = match;
  if (hex !== undefined) {
    return Buffer.of(Number.parseInt(hex, 16));
  }
  if (octal !== undefined) {
    return Buffer.of(Number.parseInt(octal, 8) & 0xff);
  }
  const unicode = short ?? long;
  if (unicode !== undefined) {
    const code = Number.parseInt(unicode, 16);
    return Buffer.from(String.fromCodePoint(code > 0x10ffff ? 0xfffd : code), "utf8");
  }
  if (other === undefined) {
    return Buffer.of(0x5c);
  }
  const letter = letters[other];
  return letter === undefined ? stringToBytes(other) : Buffer.of(letter);
}

const printable: ReadonlyMap<number, string> = new Map([
  [0x0a, "\\n"],
  [0x0d, "\\r"],
  [0x09, "\\t"],
  [0x22, '\\"'],
  [0x5c, "\\\\"],
]);

/** A byte string as it would be written between double quotes; ASCII only. */
export function escapeBytesForDisplay(bytes: Uint8Array): string {
  let result = "";
  for (const byte of bytes) {
    const known = printable.get(byte);
    if (known !== undefined) {
      result += known;
    } else if (byte >= 0x20 && byte < 0x7f) {
      result += String.fromCharCode(byte);
    } else {
      result += `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`;
    }
  }
  return result;
}
