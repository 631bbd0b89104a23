/** Builds values from YSON in any notation. Specified in: yt/yt/core/yson/parser.h, yt/yt/core/ytree/tree_builder.cpp. */
import { Attributed, type BareYsonValue, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { asBuffer, stringToBytes } from "./bytes.ts";
import { contextAttributes } from "./parse-error.ts";
import { type YsonParseOptions, YsonScanner } from "./scanner.ts";

/**
 * One document.
 *
 * @throws YtError 4000 with `context`, `context_pos`; 4002 too deep; 4001 string beyond `maxStringBytes`
 */
export function parseYson(bytes: Uint8Array | string, options?: YsonParseOptions): YsonValue {
  const scanner = scannerOf(bytes, options);
  const value = parseNode(scanner, 0);
  const rest = scanner.skipSpace();
  if (rest >= 0) {
    scanner.unexpected(rest, "the end of the document");
  }
  return value;
}

/** A list fragment: values separated by `;`, no brackets. Errors as in `parseYson`. */
export function parseYsonList(bytes: Uint8Array | string, options?: YsonParseOptions): YsonValue[] {
  const scanner = scannerOf(bytes, options);
  const items: YsonValue[] = [];
  while (scanner.skipSpace() >= 0) {
    items.push(parseNode(scanner, 0));
    if (!scanner.skipSeparator(-1)) {
      break;
    }
  }
  return items;
}

/** A map fragment: `k=v` pairs separated by `;`, no braces. Errors as in `parseYson`. */
export function parseYsonMap(bytes: Uint8Array | string, options?: YsonParseOptions): Map<string, YsonValue> {
  return parsePairs(scannerOf(bytes, options), 0, -1);
}

/** One node of a longer text, from the position of the scanner, which then is behind the node. */
export function parseNode(scanner: YsonScanner, depth: number): YsonValue {
  const byte = scanner.skipSpace();
  if (byte !== 0x3c) {
    return parseBare(scanner, byte, depth);
  }
  const attributes = parseAttributes(scanner, depth);
  const next = scanner.skipSpace();
  if (next === 0x3c) {
    scanner.fail("Value cannot have several attribute maps");
  }
  const value = parseBare(scanner, next, depth);
  return attributes.size === 0 ? value : new Attributed(attributes, value);
}

/** The attributes at the position of the scanner, brackets included. */
export function parseAttributes(scanner: YsonScanner, depth: number): YsonMap {
  scanner.checkDepth(depth + 1);
  scanner.position++;
  const attributes = parsePairs(scanner, depth + 1, 0x3e);
  scanner.position++;
  return attributes;
}

// The call depth is bounded by the depth limit of the scanner.
function parseBare(scanner: YsonScanner, byte: number, depth: number): BareYsonValue {
  if (byte === 0x7b) {
    scanner.checkDepth(depth + 1);
    scanner.position++;
    const map = parsePairs(scanner, depth + 1, 0x7d);
    scanner.position++;
    return map;
  }
  if (byte === 0x5b) {
    scanner.checkDepth(depth + 1);
    scanner.position++;
    const items: YsonValue[] = [];
    while (scanner.skipSpace() !== 0x5d) {
      items.push(parseNode(scanner, depth + 1));
      if (!scanner.skipSeparator(0x5d)) {
        break;
      }
    }
    scanner.position++;
    return items;
  }
  return scanner.readScalar(byte);
}

/** Pairs up to the closing bracket, which stays unread; `close` -1 means the end of the input. */
function parsePairs(scanner: YsonScanner, depth: number, close: number): Map<string, YsonValue> {
  const map = new Map<string, YsonValue>();
  for (;;) {
    const first = scanner.skipSpace();
    if (first === close) {
      return map;
    }
    scanner.scanString(first);
    const keyStart = scanner.stringStart;
    const key = scanner.keyValue();
    const equals = scanner.skipSpace();
    if (equals !== 0x3d) {
      scanner.unexpected(equals, '"="');
    }
    scanner.position++;
    putPair(scanner, map, { key, keyStart, value: parseNode(scanner, depth) });
    if (!scanner.skipSeparator(close)) {
      return map;
    }
  }
}

/** Puts a pair into a map being read. @throws YtError 4000 when the key is there already */
export function putPair(
  scanner: YsonScanner,
  map: Map<string, YsonValue>,
  { key, keyStart, value }: { readonly key: string; readonly keyStart: number; readonly value: YsonValue },
): void {
  const size = map.size;
  map.set(key, value);
  if (map.size === size) {
    throw new YtError(`Duplicate key "${key}"`, {
      code: "ParseError",
      attributes: contextAttributes(scanner.buffer, keyStart, scanner.end),
    });
  }
}

/** A scanner at the beginning of a text. */
export function scannerOf(bytes: Uint8Array | string, options: YsonParseOptions | undefined): YsonScanner {
  return new YsonScanner(typeof bytes === "string" ? stringToBytes(bytes) : asBuffer(bytes), options);
}
