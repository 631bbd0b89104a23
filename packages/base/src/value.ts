/**
 * The value model shared by every package: what a YSON document is in memory.
 *
 * It lives in `base` because errors carry attributes of these types. Codecs are in `@qyt/yson`.
 *
 * | YSON    | here                                                             |
 * | ------- | ---------------------------------------------------------------- |
 * | entity  | `null`                                                           |
 * | boolean | `boolean`                                                        |
 * | int64   | `bigint`                                                         |
 * | uint64  | `Uint64`                                                         |
 * | double  | `number` (always a double, never an integer)                     |
 * | string  | `string`; bytes that are not UTF-8 are lone surrogates U+DC80…U+DCFF, one per byte, so every byte string has exactly one image |
 * | list    | readonly array                                                   |
 * | map     | `ReadonlyMap<string, YsonValue>`, in insertion order             |
 * | <a=1>x  | `Attributed`                                                     |
 *
 * Specified in: YTsaurus documentation, "YSON"; yt/yt/core/yson.
 */

const maxUint64 = (1n << 64n) - 1n;

/** An unsigned 64-bit integer, kept apart from int64 (`bigint`). Range 0 … 2^64 − 1. */
export class Uint64 {
  readonly value: bigint;

  /** @throws RangeError outside of 0 … 2^64 − 1 */
  constructor(value: bigint) {
    if (value < 0n || value > maxUint64) {
      throw new RangeError(`Value ${value} does not fit into uint64`);
    }
    this.value = value;
  }

  toString(): string {
    return this.value.toString();
  }
}

/** A value with a non-empty attribute map. */
export class Attributed {
  readonly attributes: YsonMap;
  readonly value: BareYsonValue;

  constructor(attributes: YsonMap, value: BareYsonValue) {
    this.attributes = attributes;
    this.value = value;
  }
}

export type YsonMap = ReadonlyMap<string, YsonValue>;
export type YsonList = readonly YsonValue[];
export type YsonScalar = null | boolean | bigint | Uint64 | number | string;
export type BareYsonValue = YsonScalar | YsonList | YsonMap;
export type YsonValue = BareYsonValue | Attributed;

export const emptyMap: YsonMap = new Map();

export function isList(value: YsonValue | undefined): value is YsonList {
  return Array.isArray(value);
}

export function isMap(value: YsonValue | undefined): value is YsonMap {
  return value instanceof Map;
}

/** The value without its attributes. */
export function bare(value: YsonValue): BareYsonValue {
  return value instanceof Attributed ? value.value : value;
}

/** The attributes of a value; an empty map if it has none. */
export function attributesOf(value: YsonValue): YsonMap {
  return value instanceof Attributed ? value.attributes : emptyMap;
}

/** Puts attributes on a bare value; an empty map gives the bare value back. */
export function withAttributes(value: BareYsonValue, attributes: YsonMap): YsonValue {
  return attributes.size === 0 ? value : new Attributed(attributes, value);
}

/** Builds a map from entries, leaving out those whose value is `undefined`. */
export function mapOf(entries: Readonly<Record<string, YsonValue | undefined>>): YsonMap {
  const map = new Map<string, YsonValue>();
  // Keys only: pairs would be an array for each, and answers are made of such maps.
  for (const key of Object.keys(entries)) {
    const value = entries[key];
    if (value !== undefined) {
      map.set(key, value);
    }
  }
  return map;
}
