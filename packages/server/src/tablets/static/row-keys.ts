/**
 * Keys of stored rows of any type, and their order. Unlike the keys of dynamic tables, those of static ones
 * may have values of several types in one column, and columns may descend.
 * Specified in: yt/yt/client/table_client/unversioned_row.cpp (CompareRowValues), comparator.cpp.
 */
import {
  Attributed,
  attributesOf,
  bare,
  isList,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import {
  cellKind,
  decodeCell,
  type RowValue,
  schemalessRowToYson,
  skipCell,
  type TableSchema,
} from "@qyt/schema";
import { stringToBytes } from "@qyt/yson";
import type { RowFormat } from "../chunks/index.ts";

/** The order of types. */
export const typeRank = {
  min: 0,
  null: 2,
  int64: 3,
  uint64: 4,
  double: 5,
  boolean: 6,
  string: 16,
  any: 17,
  max: 239,
} as const;

/** One value of a key with its type. */
export interface KeyPart {
  readonly rank: number;
  readonly value: RowValue;
}

export type RowKey = readonly KeyPart[];

const nullPart: KeyPart = { rank: typeRank.null, value: null };

/** Negative, zero or positive. @throws YtError 303 for values of type `any` */
export function compareParts(left: KeyPart, right: KeyPart): number {
  if (left.rank !== right.rank) {
    return left.rank - right.rank;
  }
  const { value: a } = left;
  const { value: b } = right;
  if (typeof a === "bigint" && typeof b === "bigint") {
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (typeof a === "number" && typeof b === "number") {
    return a < b ? -1 : a > b ? 1 : 0;
  }
  if (typeof a === "boolean" && typeof b === "boolean") {
    return Number(a) - Number(b);
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    return Buffer.compare(a, b);
  }
  if (left.rank === typeRank.any) {
    throw new YtError('Values of type "any" cannot be compared', { code: "IncomparableTypes" });
  }
  return 0;
}

/** The key columns of a table: their names, places and directions. */
export class KeyColumns {
  readonly names: readonly string[];
  readonly #descends: readonly boolean[];

  constructor(schema: TableSchema) {
    const columns = schema.columns.slice(0, schema.keyColumnCount);
    this.names = columns.map(({ name }) => name);
    this.#descends = columns.map(({ sortOrder }) => sortOrder === "descending");
  }

  get count(): number {
    return this.names.length;
  }

  /** The order of two keys by their first `count` values. */
  comparePrefix(left: RowKey, right: RowKey, count: number): number {
    for (let index = 0; index < count; index++) {
      const order = compareParts(left[index] ?? nullPart, right[index] ?? nullPart);
      if (order !== 0) {
        return this.#descends[index] === true ? -order : order;
      }
    }
    return 0;
  }

  /** The order of two keys; of two that begin alike the shorter comes first. */
  compare(left: RowKey, right: RowKey): number {
    const order = this.comparePrefix(left, right, Math.min(left.length, right.length));
    return order === 0 ? left.length - right.length : order;
  }

  /** The key of the row whose cells are `[start, end)`. */
  read(format: RowFormat, bytes: Buffer, start: number, end: number): RowKey {
    return format.columns === undefined
      ? this.#readMap(schemalessRowToYson(bytes, start, end))
      : this.#readCells(format.columns, bytes, start, end);
  }

  #readMap(row: YsonMap): RowKey {
    return this.names.map((name) => partOfYson(row.get(name) ?? null));
  }

  #readCells(columns: readonly string[], bytes: Buffer, start: number, end: number): RowKey {
    const parts: KeyPart[] = new Array<KeyPart>(this.names.length).fill(nullPart);
    let left = this.names.length;
    let position = start;
    for (let cell = 0; position < end && left > 0; cell++) {
      const next = skipCell(bytes, position, end);
      const index = this.names[cell] === columns[cell] ? cell : this.names.indexOf(columns[cell] ?? "");
      if (index >= 0 && index < parts.length) {
        parts[index] = partOfCell(bytes, position, next);
        left--;
      }
      position = next;
    }
    return parts;
  }
}

function partOfCell(bytes: Buffer, start: number, end: number): KeyPart {
  return { rank: rankOfCell(bytes[start] ?? cellKind.null), value: decodeCell(bytes, start, end) ?? null };
}

function rankOfCell(kind: number): number {
  switch (kind) {
    case cellKind.int64:
      return typeRank.int64;
    case cellKind.uint64:
      return typeRank.uint64;
    case cellKind.double:
      return typeRank.double;
    case cellKind.true:
    case cellKind.false:
      return typeRank.boolean;
    case cellKind.string:
      return typeRank.string;
    case cellKind.any:
      return typeRank.any;
    default:
      return typeRank.null;
  }
}

/** A value of a key as YSON has it; `<type=min>#` and `<type=max>#` are below and above all others. */
export function partOfYson(value: YsonValue): KeyPart {
  const plain = bare(value);
  switch (typeof plain) {
    case "bigint":
      return { rank: typeRank.int64, value: plain };
    case "number":
      return { rank: typeRank.double, value: plain };
    case "boolean":
      return { rank: typeRank.boolean, value: plain };
    case "string":
      return { rank: typeRank.string, value: stringToBytes(plain) };
    default:
      break;
  }
  if (plain instanceof Uint64) {
    return { rank: typeRank.uint64, value: plain.value };
  }
  if (plain !== null) {
    return { rank: typeRank.any, value: null };
  }
  const sentinel = value instanceof Attributed ? attributesOf(value).get("type") : undefined;
  return sentinel === "min" || sentinel === "max" ? { rank: typeRank[sentinel], value: null } : nullPart;
}

/** @throws YtError unless the value is a list */
export function keyOfYson(value: YsonValue): RowKey {
  const list = bare(value);
  if (!isList(list)) {
    throw new YtError("A key in a read limit must be a list", { code: "InvalidReadRange" });
  }
  return list.map(partOfYson);
}
