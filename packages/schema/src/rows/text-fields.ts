/**
 * What the formats made of separated text fields (`dsv`, `schemaful_dsv`, `yamr`) have in common: escapes, and the
 * attributes of a format node. Specified in: yt/yt/library/formats/escape.cpp; yt/yt/client/formats/config.cpp.
 */
import { bare, type YsonMap, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";

/** How fields are told apart. Separators are single bytes. */
export interface FieldOptions {
  readonly recordSeparator: number;
  readonly fieldSeparator: number;
  /** Escaped in keys; undefined where keys do not stand beside values. */
  readonly keyValueSeparator: number | undefined;
  readonly isEscaping: boolean;
  readonly escapingSymbol: number;
}

const escapeLetters = new Map([
  [0x00, 0x30],
  [0x0a, 0x6e],
  [0x0d, 0x72],
  [0x09, 0x74],
]);
const letterEscapes = new Map([...escapeLetters].map(([byte, letter]) => [letter, byte]));

/** The field as it is written. `isKey`: the separator of keys and values is escaped too. */
export function escapeField(bytes: Buffer, options: FieldOptions, isKey: boolean): Buffer {
  if (!options.isEscaping) {
    return bytes;
  }
  const result: number[] = [];
  for (const byte of bytes) {
    const isSpecial =
      byte === options.recordSeparator ||
      byte === options.fieldSeparator ||
      byte === options.escapingSymbol ||
      byte === 0 ||
      byte === 0x0d ||
      (isKey && byte === options.keyValueSeparator);
    if (isSpecial) {
      result.push(options.escapingSymbol, escapeLetters.get(byte) ?? byte);
    } else {
      result.push(byte);
    }
  }
  return Buffer.from(result);
}

/** The field as it is meant. */
export function unescapeField(bytes: Buffer, options: FieldOptions): Buffer {
  if (!options.isEscaping || !bytes.includes(options.escapingSymbol)) {
    return bytes;
  }
  const result: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const next = bytes[at + 1];
    if (byte === options.escapingSymbol && next !== undefined) {
      result.push(letterEscapes.get(next) ?? next);
      at++;
    } else {
      result.push(byte);
    }
  }
  return Buffer.from(result);
}

/** The first place of a byte that no escape stands before, or -1. */
export function unescapedIndex(bytes: Buffer, wanted: number, options: FieldOptions): number {
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === wanted) {
      return at;
    }
    if (options.isEscaping && bytes[at] === options.escapingSymbol) {
      at++;
    }
  }
  return -1;
}

/** A one-byte attribute. @throws YtError 2800 */
export function separator(attributes: YsonMap, name: string, byDefault: string): number {
  const bytes = stringToBytes(text(attributes, name) ?? byDefault);
  if (bytes.length !== 1) {
    throw new YtError(`Format attribute "${name}" must be one character`, { code: "InvalidFormat" });
  }
  return bytes[0] ?? 0;
}

/** A string attribute. @throws YtError 2800 */
export function text(attributes: YsonMap, name: string): string | undefined {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return undefined;
  }
  if (typeof value !== "string") {
    throw new YtError(`Format attribute "${name}" must be a string`, { code: "InvalidFormat" });
  }
  return value;
}

/** A boolean attribute, `"true"` and `"false"` too. @throws YtError 2800 */
export function flag(attributes: YsonMap, name: string, byDefault: boolean): boolean {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return byDefault;
  }
  if (value === true || value === "true") {
    return true;
  }
  if (value === false || value === "false") {
    return false;
  }
  throw new YtError(`Format attribute "${name}" must be a boolean`, { code: "InvalidFormat" });
}
