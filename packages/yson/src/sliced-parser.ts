/** Reads large YSON documents in slices: what `parseYson` does, stopping on the way. */
import { Attributed, type BareYsonValue, type YsonMap, type YsonValue } from "@qyt/base";
import { Pace } from "./pace.ts";
import { putPair, scannerOf } from "./parser.ts";
import type { YsonParseOptions, YsonScanner } from "./scanner.ts";

/** One document; yields now and then. Value and errors as those of `parseYson`. */
export function* parseYsonInSlices(
  bytes: Uint8Array,
  options?: YsonParseOptions,
): Generator<void, YsonValue, void> {
  const scanner = scannerOf(bytes, options);
  const value = yield* nodeInSlices(scanner, 0, new Pace());
  const rest = scanner.skipSpace();
  if (rest >= 0) {
    scanner.unexpected(rest, "the end of the document");
  }
  return value;
}

function* nodeInSlices(scanner: YsonScanner, depth: number, pace: Pace): Generator<void, YsonValue, void> {
  const byte = scanner.skipSpace();
  if (byte !== 0x3c) {
    return isBracket(byte) ? yield* compositeInSlices(scanner, byte, depth, pace) : scanner.readScalar(byte);
  }
  scanner.checkDepth(depth + 1);
  scanner.position++;
  const attributes: YsonMap = yield* pairsInSlices(scanner, depth + 1, 0x3e, pace);
  scanner.position++;
  const next = scanner.skipSpace();
  if (next === 0x3c) {
    scanner.fail("Value cannot have several attribute maps");
  }
  const value = isBracket(next)
    ? yield* compositeInSlices(scanner, next, depth, pace)
    : scanner.readScalar(next);
  return attributes.size === 0 ? value : new Attributed(attributes, value);
}

function isBracket(byte: number): boolean {
  return byte === 0x7b || byte === 0x5b;
}

/** A map or a list. The call depth is bounded by the depth limit of the scanner. */
function* compositeInSlices(
  scanner: YsonScanner,
  byte: number,
  depth: number,
  pace: Pace,
): Generator<void, BareYsonValue, void> {
  scanner.checkDepth(depth + 1);
  scanner.position++;
  if (byte === 0x7b) {
    const map = yield* pairsInSlices(scanner, depth + 1, 0x7d, pace);
    scanner.position++;
    return map;
  }
  const items: YsonValue[] = [];
  for (let first = scanner.skipSpace(); first !== 0x5d; first = scanner.skipSpace()) {
    const isScalar = !isBracket(first) && first !== 0x3c;
    items.push(isScalar ? scanner.readScalar(first) : yield* nodeInSlices(scanner, depth + 1, pace));
    if (pace.isDue(scanner.position)) {
      yield;
    }
    if (!scanner.skipSeparator(0x5d)) {
      break;
    }
  }
  scanner.position++;
  return items;
}

function* pairsInSlices(
  scanner: YsonScanner,
  depth: number,
  close: number,
  pace: Pace,
): Generator<void, Map<string, YsonValue>, void> {
  const map = new Map<string, YsonValue>();
  for (let first = scanner.skipSpace(); first !== close; first = scanner.skipSpace()) {
    scanner.scanString(first);
    const keyStart = scanner.stringStart;
    const key = scanner.keyValue();
    const equals = scanner.skipSpace();
    if (equals !== 0x3d) {
      scanner.unexpected(equals, '"="');
    }
    scanner.position++;
    const next = scanner.skipSpace();
    const isScalar = !isBracket(next) && next !== 0x3c;
    const value = isScalar ? scanner.readScalar(next) : yield* nodeInSlices(scanner, depth, pace);
    putPair(scanner, map, { key, keyStart, value });
    if (pace.isDue(scanner.position)) {
      yield;
    }
    if (!scanner.skipSeparator(close)) {
      break;
    }
  }
  return map;
}
