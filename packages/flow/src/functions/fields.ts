/**
 * Types of columns as functions declare them: what a value is in TypeScript, and in a row and in a state.
 *
 * `int64` and `uint64` are `bigint`; `string` is text (bytes that are not UTF-8 keep their image, see the value
 * model); `bytes` are bytes; `any` is plain data. Without `optional` a null is an error.
 */
import { bare, Uint64, type YsonValue, YtError } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "@qyt/schema";
import {
  bytesToString,
  fromYson,
  type PlainValue,
  parseYson,
  stringToBytes,
  toYson,
  writeYson,
} from "@qyt/yson";

export interface Field<T> {
  readonly physical: PhysicalType;
  readonly isOptional: boolean;
  /** From a cell. */
  decode(value: RowValue): T;
  /** To a cell. */
  encode(value: T): RowValue;
  fromYson(value: YsonValue): T;
  toYson(value: T): YsonValue;
}

/** Columns by name. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

export type ValueOf<F> = F extends Field<infer T> ? T : never;

/** A row as functions read it: every column is there. */
export type RowOf<F extends Fields> = { readonly [Name in keyof F]: ValueOf<F[Name]> };

type OptionalName<F extends Fields> = {
  [Name in keyof F]: null extends ValueOf<F[Name]> ? Name : never;
}[keyof F];

/** A row as functions write it: optional columns may be left out. */
export type NewRowOf<F extends Fields> = {
  readonly [Name in Exclude<keyof F, OptionalName<F>>]: ValueOf<F[Name]>;
} & { readonly [Name in OptionalName<F>]?: ValueOf<F[Name]> | undefined };

interface Codec<T> {
  readonly decode: (value: RowValue) => T | undefined;
  readonly encode: (value: T) => RowValue;
  readonly fromYson: (value: YsonValue) => T | undefined;
  readonly toYson: (value: T) => YsonValue;
}

function field<T>(physical: PhysicalType, codec: Codec<T>): Field<T> {
  const checked = (value: T | undefined): T => {
    if (value === undefined) {
      throw new YtError(`A value of type "${physical}" is expected; if it may be null, declare it optional`);
    }
    return value;
  };
  return {
    physical,
    isOptional: false,
    decode: (value) => checked(codec.decode(value)),
    encode: codec.encode,
    fromYson: (value) => checked(codec.fromYson(bare(value))),
    toYson: codec.toYson,
  };
}

const isBigint = (value: unknown): bigint | undefined => (typeof value === "bigint" ? value : undefined);
const isNumber = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
const isBoolean = (value: unknown): boolean | undefined => (typeof value === "boolean" ? value : undefined);
const same = <T>(value: T): T => value;

const int64 = field<bigint>("int64", {
  decode: isBigint,
  encode: same,
  fromYson: isBigint,
  toYson: same,
});

const uint64 = field<bigint>("uint64", {
  decode: isBigint,
  encode: same,
  fromYson: (value) => (value instanceof Uint64 ? value.value : isBigint(value)),
  toYson: (value) => new Uint64(value),
});

const double = field<number>("double", {
  decode: isNumber,
  encode: same,
  fromYson: isNumber,
  toYson: same,
});

const boolean = field<boolean>("boolean", {
  decode: isBoolean,
  encode: same,
  fromYson: isBoolean,
  toYson: same,
});

const string = field<string>("string", {
  decode: (value) => (value instanceof Uint8Array ? bytesToString(value) : undefined),
  encode: (value) => stringToBytes(value),
  fromYson: (value) => (typeof value === "string" ? value : undefined),
  toYson: same,
});

const bytes = field<Uint8Array>("string", {
  decode: (value) => (value instanceof Uint8Array ? value : undefined),
  encode: same,
  fromYson: (value) => (typeof value === "string" ? stringToBytes(value) : undefined),
  toYson: (value) => bytesToString(value),
});

/** Plain data of any shape; what it is like is the function's promise. */
function any<T extends PlainValue = PlainValue>(): Field<T> {
  return field<T>("any", {
    decode: (value) => (value instanceof YsonAny ? (fromYson(parseYson(value.bytes)) as T) : undefined),
    encode: (value) => new YsonAny(writeYson(toYson(value), "binary")),
    fromYson: (value) => fromYson(value) as T,
    toYson: (value) => toYson(value),
  });
}

/** The same type, or null. */
function optional<T>(inner: Field<T>): Field<T | null> {
  return {
    physical: inner.physical,
    isOptional: true,
    decode: (value) => (value === null ? null : inner.decode(value)),
    encode: (value) => (value === null ? null : inner.encode(value)),
    fromYson: (value) => (bare(value) === null ? null : inner.fromYson(value)),
    toYson: (value) => (value === null ? null : inner.toYson(value)),
  };
}

/** The types of columns, keys and states. */
export const t = { int64, uint64, double, boolean, string, bytes, any, optional } as const;
