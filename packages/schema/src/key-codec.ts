/**
 * Keys of sorted tables as bytes: the bytes of two keys compare as the keys do, and no key's bytes begin
 * with those of another of the same width, so keys can stand in front of other data in a store's key.
 *
 * Each value is a tag, in the order of types, and a body:
 *
 * | value   | tag    | body                                                              |
 * | ------- | ------ | ----------------------------------------------------------------- |
 * | null    | `02`   | —                                                                 |
 * | int64   | `03`   | 8 bytes, big-endian, the sign bit flipped                          |
 * | uint64  | `04`   | 8 bytes, big-endian                                                |
 * | double  | `05`   | 8 bytes, big-endian; positive: sign flipped, negative: all flipped |
 * | boolean | `06`   | `00` or `01`                                                       |
 * | string  | `07`   | the bytes, `00` as `00 ff`, then `00 00`                           |
 * | any     | `08`   | as a string, of its binary YSON; only tables of pipelines have it  |
 *
 * The order of types and values is that of yt/yt/client/table_client/unversioned_row.cpp.
 */
import { assert, YtError } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "./value-type.ts";

const tags = { null: 2, int64: 3, uint64: 4, double: 5, boolean: 6, string: 7, any: 8 } as const;

/** Above every tag: closes a range of keys. */
const aboveAllTags = 0xff;

const signBit = 1n << 63n;
const allBits = (1n << 64n) - 1n;

/**
 * Encodes a whole key: one value for each type.
 * @throws YtError 325 on NaN
 */
export function encodeKey(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  assert(values.length === types.length, "a key has a value for every key column");
  return encodeKeyPrefix(values, types);
}

/**
 * Encodes the first values of a key. The bytes are a prefix of those of every key that begins with them.
 * @param room bytes that are left free behind them
 * @throws YtError 325 on NaN
 */
export function encodeKeyPrefix(
  values: readonly RowValue[],
  types: readonly PhysicalType[],
  room = 0,
): Buffer {
  let size = room;
  for (const value of values) {
    size += encodedSize(value);
  }
  const target = Buffer.allocUnsafe(size);
  let position = 0;
  for (let index = 0; index < values.length; index += 1) {
    const type = types[index];
    assert(type !== undefined, "a key has no more values than key columns");
    position = writeValue(target, position, values[index] ?? null, type);
  }
  return target;
}

/** The inclusive lower bound of all keys that begin with these values. With no values: of all keys. */
export function keyRangeFrom(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  return encodeKeyPrefix(values, types);
}

/** The exclusive upper bound of all keys that begin with these values. With no values: of all keys. */
export function keyRangeTo(values: readonly RowValue[], types: readonly PhysicalType[]): Buffer {
  return Buffer.concat([encodeKeyPrefix(values, types), Buffer.from([aboveAllTags])]);
}

/** Data weight of the values of an encoded key, without decoding them. @param end where the key ends in the bytes */
export function encodedKeyWeight(key: Uint8Array, end = key.length): number {
  let weight = 0;
  let position = 0;
  while (position < end) {
    switch (key[position++]) {
      case tags.null:
        break;
      case tags.boolean:
        weight += 1;
        position += 1;
        break;
      case tags.string:
        while (position < end && (key[position] !== 0 || key[position + 1] === 0xff)) {
          position += key[position] === 0 ? 2 : 1;
          weight += 1;
        }
        position += 2;
        break;
      default:
        weight += 8;
        position += 8;
    }
  }
  return weight;
}

/**
 * Decodes a key, or the beginning of one when there are fewer bytes. A double of −0 comes back as +0.
 * @throws YtError 1 when the bytes are no key of these types
 */
export function decodeKey(bytes: Uint8Array, types: readonly PhysicalType[]): RowValue[] {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: RowValue[] = [];
  let position = 0;
  for (const type of types) {
    if (position === source.length) {
      break;
    }
    const tag = source[position];
    position += 1;
    if (tag === tags.null) {
      values.push(null);
      continue;
    }
    if (type === "null" || tag !== tags[type]) {
      throw damaged();
    }
    if (type === "string" || type === "any") {
      const end = endOfString(source, position);
      const bytes = unescaped(source, position, end);
      values.push(type === "any" ? new YsonAny(bytes) : bytes);
      position = end + 2;
    } else {
      const width = type === "boolean" ? 1 : 8;
      if (position + width > source.length) {
        throw damaged();
      }
      values.push(readFixed(source, position, type));
      position += width;
    }
  }
  if (position !== source.length) {
    throw damaged();
  }
  return values;
}

/**
 * The order of two values of one column: null first, then by value; strings by bytes, false before true.
 * @returns negative, zero or positive
 * @throws YtError 303 for values of type `any`, 325 on NaN
 */
export function compareRowValues(left: RowValue, right: RowValue, type: PhysicalType): number {
  if (left === null || right === null) {
    return (left === null ? 0 : 1) - (right === null ? 0 : 1);
  }
  if (typeof left === "bigint" && typeof right === "bigint") {
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (typeof left === "boolean" && typeof right === "boolean") {
    return Number(left) - Number(right);
  }
  if (typeof left === "number" && typeof right === "number") {
    refuseNaN(left);
    refuseNaN(right);
    return left < right ? -1 : left > right ? 1 : 0;
  }
  if (left instanceof Uint8Array && right instanceof Uint8Array) {
    return Buffer.compare(left, right);
  }
  if (left instanceof YsonAny && right instanceof YsonAny) {
    return Buffer.compare(left.bytes, right.bytes);
  }
  throw new YtError(`Values of type "${type}" cannot be compared`, { code: "IncomparableTypes" });
}

/** The order of two keys of the same types, or of beginnings of keys: the shorter first. */
export function compareKeys(
  left: readonly RowValue[],
  right: readonly RowValue[],
  types: readonly PhysicalType[],
): number {
  const common = Math.min(left.length, right.length);
  for (let index = 0; index < common; index += 1) {
    const order = compareRowValues(left[index] ?? null, right[index] ?? null, types[index] ?? "null");
    if (order !== 0) {
      return order;
    }
  }
  return left.length - right.length;
}

function encodedSize(value: RowValue): number {
  if (value === null) {
    return 1;
  }
  if (typeof value === "boolean") {
    return 2;
  }
  const bytes = value instanceof YsonAny ? value.bytes : value;
  if (bytes instanceof Uint8Array) {
    let size = bytes.length + 3;
    for (let index = 0; index < bytes.length; index += 1) {
      size += bytes[index] === 0 ? 1 : 0;
    }
    return size;
  }
  return 9;
}

function writeValue(target: Buffer, position: number, value: RowValue, type: PhysicalType): number {
  if (value === null) {
    target[position] = tags.null;
    return position + 1;
  }
  if (type === "null") {
    throw new YtError(`Value of type "${type}" cannot be a part of a key`, { code: "IncomparableTypes" });
  }
  target[position] = tags[type];
  const body = position + 1;
  if (type === "any") {
    assert(value instanceof YsonAny, "a column of type any has YSON");
    return writeString(target, body, value.bytes);
  }
  if (type === "string") {
    assert(value instanceof Uint8Array, "a string column has bytes");
    return writeString(target, body, value);
  }
  if (type === "boolean") {
    assert(typeof value === "boolean", "a boolean column has booleans");
    target[body] = value ? 1 : 0;
    return body + 1;
  }
  if (type === "double") {
    assert(typeof value === "number", "a double column has numbers");
    return writeDouble(target, body, value);
  }
  assert(typeof value === "bigint", "an integer column has bigints");
  return target.writeBigUInt64BE(type === "int64" ? BigInt.asUintN(64, value ^ signBit) : value, body);
}

function writeString(target: Buffer, position: number, value: Uint8Array): number {
  // Byte by byte: keys are short, and a call into native code costs more than the loop.
  let to = position;
  for (let index = 0; index < value.length; index += 1) {
    const byte = value[index] ?? 0;
    target[to++] = byte;
    if (byte === 0) {
      target[to++] = 0xff;
    }
  }
  target[to++] = 0;
  target[to++] = 0;
  return to;
}

function writeDouble(target: Buffer, position: number, value: number): number {
  refuseNaN(value);
  // Both zeros are one key; adding +0 turns −0 into it.
  target.writeDoubleBE(value + 0, position);
  const bits = target.readBigUInt64BE(position);
  return target.writeBigUInt64BE((bits & signBit) === 0n ? bits | signBit : bits ^ allBits, position);
}

function readFixed(
  source: Buffer,
  position: number,
  type: "int64" | "uint64" | "double" | "boolean",
): RowValue {
  if (type === "boolean") {
    return source[position] === 1;
  }
  const bits = source.readBigUInt64BE(position);
  if (type === "uint64") {
    return bits;
  }
  if (type === "int64") {
    return BigInt.asIntN(64, bits ^ signBit);
  }
  const scratch = Buffer.allocUnsafe(8);
  scratch.writeBigUInt64BE((bits & signBit) === 0n ? bits ^ allBits : bits ^ signBit);
  return scratch.readDoubleBE(0);
}

/** Where the terminator of a string begins. */
function endOfString(source: Buffer, start: number): number {
  for (let at = source.indexOf(0, start); at >= 0; at = source.indexOf(0, at + 2)) {
    const next = source[at + 1];
    if (next === 0) {
      return at;
    }
    if (next !== 0xff) {
      break;
    }
  }
  throw damaged();
}

function unescaped(source: Buffer, start: number, end: number): Buffer {
  const target = Buffer.allocUnsafe(end - start);
  let size = 0;
  for (let from = start; from < end; ) {
    const zero = source.indexOf(0, from);
    const to = zero < 0 || zero >= end ? end : zero + 1;
    size += source.copy(target, size, from, to);
    from = to === end ? end : to + 1;
  }
  return target.subarray(0, size);
}

function refuseNaN(value: number): void {
  if (Number.isNaN(value)) {
    throw new YtError(`Key of type "double" cannot be NaN`, { code: "KeyCannotBeNaN" });
  }
}

function damaged(): YtError {
  return new YtError("Stored key is damaged");
}
