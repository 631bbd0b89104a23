/** Plain JS data to values and back, and equality of values. */
import {
  Attributed,
  type BareYsonValue,
  bare,
  isMap,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { bytesToString } from "./bytes.ts";

const maxDepth = 1024;
const maxInt64 = (1n << 63n) - 1n;

/** What a value looks like as plain JS data: int64 and uint64 are `bigint`, maps are objects without a prototype. */
export type PlainValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | PlainValue[]
  | { [key: string]: PlainValue };

/**
 * Plain JS data as a value. Integer numbers up to 2^53 and `bigint` become int64, other numbers double; objects and
 * `Map`s maps, bytes strings, `undefined` null (as a field: left out); values of the model stay what they are.
 *
 * @throws YtError for what has no image (functions, symbols, a `bigint` beyond int64) or is nested deeper than 1024
 */
export function toYson(plain: unknown): YsonValue {
  return convert(plain, 0);
}

function convert(plain: unknown, depth: number): YsonValue {
  switch (typeof plain) {
    case "string":
    case "boolean":
      return plain;
    case "number":
      return Number.isSafeInteger(plain) && !Object.is(plain, -0) ? BigInt(plain) : plain;
    case "bigint":
      if (plain > maxInt64 || plain < -maxInt64 - 1n) {
        throw new YtError(`Value ${plain} is out of range for int64; use Uint64 for unsigned values`);
      }
      return plain;
    case "undefined":
      return null;
    case "object":
      return convertObject(plain, depth + 1);
    default:
      throw new YtError(`Cannot represent a ${typeof plain} in YSON`);
  }
}

function convertObject(plain: object | null, depth: number): YsonValue {
  if (plain === null || plain instanceof Uint64) {
    return plain;
  }
  if (depth > maxDepth) {
    throw new YtError("Depth limit exceeded", {
      code: "DepthLimitExceeded",
      attributes: { limit: BigInt(maxDepth) },
    });
  }
  if (plain instanceof Uint8Array) {
    return bytesToString(plain);
  }
  if (Array.isArray(plain)) {
    return plain.map((item: unknown) => convert(item, depth));
  }
  if (plain instanceof Attributed) {
    return new Attributed(convertPairs(plain.attributes, depth), bare(convert(plain.value, depth)));
  }
  return convertPairs(plain instanceof Map ? plain : Object.entries(plain), depth);
}

function convertPairs(pairs: Iterable<[unknown, unknown]>, depth: number): YsonMap {
  const map = new Map<string, YsonValue>();
  for (const [key, value] of pairs) {
    if (value !== undefined) {
      map.set(String(key), convert(value, depth));
    }
  }
  return map;
}

/** A value as plain JS data. A value with attributes becomes `{$attributes, $value}`, as in JSON. */
export function fromYson(value: YsonValue): PlainValue {
  if (value instanceof Attributed) {
    const result: Record<string, PlainValue> = Object.create(null);
    result.$attributes = plainMap(value.attributes);
    result.$value = fromBare(value.value);
    return result;
  }
  return fromBare(value);
}

function fromBare(value: BareYsonValue): PlainValue {
  if (value instanceof Uint64) {
    return value.value;
  }
  if (isMap(value)) {
    return plainMap(value);
  }
  return typeof value === "object" && value !== null ? value.map(fromYson) : value;
}

function plainMap(map: YsonMap): Record<string, PlainValue> {
  const result: Record<string, PlainValue> = Object.create(null);
  for (const [key, item] of map) {
    result[key] = fromYson(item);
  }
  return result;
}

/** Same type, same bits (NaN equals NaN, -0 is not 0), same attributes; the order of map keys does not matter. */
export function deepEqual(left: YsonValue, right: YsonValue): boolean {
  if (Object.is(left, right)) {
    return true;
  }
  if (left instanceof Attributed || right instanceof Attributed) {
    return (
      left instanceof Attributed &&
      right instanceof Attributed &&
      equalMaps(left.attributes, right.attributes) &&
      deepEqual(left.value, right.value)
    );
  }
  if (left instanceof Uint64) {
    return right instanceof Uint64 && left.value === right.value;
  }
  if (isMap(left)) {
    return isMap(right) && equalMaps(left, right);
  }
  if (Array.isArray(left)) {
    const items: readonly YsonValue[] = left;
    return (
      Array.isArray(right) &&
      items.length === right.length &&
      items.every((item, index) => deepEqual(item, right[index]))
    );
  }
  return false;
}

function equalMaps(left: YsonMap, right: YsonMap): boolean {
  if (left.size !== right.size) {
    return false;
  }
  for (const [key, item] of left) {
    const other = right.get(key);
    if (other === undefined || !deepEqual(item, other)) {
      return false;
    }
  }
  return true;
}
