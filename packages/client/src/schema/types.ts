/** The types of columns, and what their values are in TypeScript. */
import type { YsonValue } from "@qyt/base";
import type { PlainValue } from "@qyt/yson";

/**
 * Types of YTsaurus by their names, and `bytes`: a `string` column whose values are byte arrays here.
 * `date`, `datetime`, `timestamp` and `interval` are days, seconds, microseconds and microseconds.
 */
export type ColumnType =
  | "int64"
  | "int32"
  | "int16"
  | "int8"
  | "uint64"
  | "uint32"
  | "uint16"
  | "uint8"
  | "double"
  | "float"
  | "boolean"
  | "string"
  | "bytes"
  | "utf8"
  | "json"
  | "uuid"
  | "any"
  | "date"
  | "datetime"
  | "timestamp"
  | "interval";

/** Integers of 64 bits are `bigint`; those that fit are `number`. */
export interface ValueOf {
  int64: bigint;
  int32: number;
  int16: number;
  int8: number;
  uint64: bigint;
  uint32: number;
  uint16: number;
  uint8: number;
  double: number;
  float: number;
  boolean: boolean;
  string: string;
  bytes: Uint8Array;
  utf8: string;
  json: string;
  uuid: string;
  any: PlainValue;
  date: number;
  datetime: number;
  timestamp: bigint;
  interval: bigint;
}

/** What may be given for a value: integers as numbers, too, where they are safe; for `any` plain data. */
export type InputOf<T extends ColumnType> = T extends "any"
  ? unknown
  : ValueOf[T] extends bigint
    ? bigint | number
    : ValueOf[T];

/** A column with more than a type. */
export interface ColumnSpec {
  readonly type: ColumnType;
  /** A key column; key columns come first. */
  readonly sortOrder?: "ascending" | "descending";
  /** Never null. */
  readonly required?: boolean;
  /** A computed key column: not to be written. */
  readonly expression?: string;
  /** The function by which values are merged (`sum`, `max`, …). */
  readonly aggregate?: string;
  /** The name of its lock group. */
  readonly lock?: string;
  /** The name of the group that it is stored with. */
  readonly group?: string;
  /** Longer values are stored apart, in bytes. */
  readonly maxInlineHunkSize?: number;
  /** The full type where it is a composite one; `type` is `any` then. */
  readonly typeV3?: YsonValue;
}

export type Columns = Readonly<Record<string, ColumnType | ColumnSpec>>;

type TypeOf<C> = C extends ColumnType
  ? C
  : C extends { readonly type: infer T extends ColumnType }
    ? T
    : never;
type IsRequired<C> = C extends { readonly required: true } ? true : false;
type IsKey<C> = C extends { readonly sortOrder: string } ? true : false;
type IsComputed<C> = C extends { readonly expression: string } ? true : false;

type Flat<T> = { [K in keyof T]: T[K] };

/** A row as it is read. */
export type ReadRow<C extends Columns> = {
  [K in keyof C]: IsRequired<C[K]> extends true ? ValueOf[TypeOf<C[K]>] : ValueOf[TypeOf<C[K]>] | null;
};

/** Columns that the cluster fills. */
type Filled<C extends Columns> = {
  [K in keyof C]: IsComputed<C[K]> extends true ? K : K extends `$${string}` ? K : never;
}[keyof C];

type Needed<C extends Columns> = {
  [K in keyof C]: IsRequired<C[K]> extends true ? K : IsKey<C[K]> extends true ? K : never;
}[keyof C];

/** A row to write: required and key columns have to be there; others are null when they are not. */
export type WriteRow<C extends Columns> = Flat<
  {
    readonly [K in Exclude<Needed<C>, Filled<C>>]: IsRequired<C[K]> extends true
      ? InputOf<TypeOf<C[K]>>
      : InputOf<TypeOf<C[K]>> | null;
  } & {
    readonly [K in Exclude<keyof C, Needed<C> | Filled<C>>]?: InputOf<TypeOf<C[K]>> | null | undefined;
  }
>;

/** The key of a row: its key columns, but for computed ones. */
export type KeyRow<C extends Columns> = {
  readonly [K in keyof C as IsKey<C[K]> extends true ? (IsComputed<C[K]> extends true ? never : K) : never]:
    | InputOf<TypeOf<C[K]>>
    | (IsRequired<C[K]> extends true ? never : null);
};

/** What a row of a queue may say beside its columns: its partition, and its number in a producer session. */
interface QueueControls {
  readonly $tablet_index?: bigint | number;
  readonly $sequence_number?: bigint | number;
}

/** A row of a queue to write; without a schema any plain object. */
export type QueueRow<C extends Columns> = (string extends keyof C
  ? Readonly<Record<string, unknown>>
  : WriteRow<C>) &
  QueueControls;

/** A row as it is pulled from a queue. */
export type PulledRow<C extends Columns> = ReadRow<C> & {
  readonly $tablet_index: bigint;
  readonly $row_index: bigint;
};
