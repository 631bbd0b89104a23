/**
 * Null handling, choice, hashes, casts and plain mathematics.
 *
 * Specified in: yt/yt/library/query/base/builtin_function_registry.cpp, functions.cpp.
 */
import { bare, isMap, Uint64, YtError } from "@qyt/base";
import { farmHash, type PhysicalType, type RowValue } from "@qyt/schema";
import { parseYson, stringToBytes } from "@qyt/yson";
import { wrapFor } from "../arithmetic.ts";
import { comparatorFor } from "../compare.ts";
import { allTypes, comparableTypes, numericTypes, TypeSet } from "../types.ts";
import { asAny, asBigint, asBytes, asNumber } from "../values.ts";
import { type FunctionBody, type FunctionDefinition, signature, type TypeVariable } from "./signature.ts";

const anyType: TypeVariable = { name: "T", types: allTypes };
const comparable: TypeVariable = { name: "T", types: comparableTypes };
const hashable = TypeSet.of("int64", "uint64", "boolean", "string");
const castable = TypeSet.of("int64", "uint64", "double", "any");

export const generalFunctions: Readonly<Record<string, FunctionDefinition>> = {
  is_null: {
    signature: signature([allTypes], "boolean"),
    takesNulls: true,
    prepare: () => (values) => values[0] === null,
  },
  if: {
    signature: signature(["boolean", anyType, anyType], anyType),
    takesNulls: true,
    prepare: () => (values) =>
      values[0] === null ? null : ((values[0] === true ? values[1] : values[2]) ?? null),
  },
  if_null: {
    signature: signature([anyType, anyType], anyType),
    takesNulls: true,
    prepare: () => (values) => values[0] ?? values[1] ?? null,
  },
  coalesce: {
    signature: signature([], anyType, { slot: anyType, each: false }),
    takesNulls: true,
    prepare: () => (values) => values.find((value) => value !== null) ?? null,
  },
  greatest: {
    signature: signature([comparable], comparable, { slot: comparable, each: false }),
    takesNulls: true,
    prepare: (_types, result) => {
      const compare = comparatorFor(result, result);
      return (values) => values.reduce((best, value) => (compare(value, best) > 0 ? value : best));
    },
  },
  farm_hash: {
    signature: signature([], "uint64", { slot: hashable, each: true }),
    takesNulls: true,
    prepare: () => (values) => farmHash(values),
  },
  format_guid: {
    signature: signature(["uint64", "uint64"], "string"),
    prepare: () => (values) => formatGuid(asBigint(values[0]), asBigint(values[1])),
  },
  int64: { signature: signature([castable], "int64"), prepare: castBody },
  uint64: { signature: signature([castable], "uint64"), prepare: castBody },
  double: { signature: signature([castable], "double"), prepare: castBody },
  boolean: { signature: signature([TypeSet.of("boolean", "any")], "boolean"), prepare: castBody },
  string: { signature: signature([TypeSet.of("string", "any")], "string"), prepare: castBody },
  is_finite: {
    signature: signature(["double"], "boolean"),
    prepare: () => (values) => Number.isFinite(asNumber(values[0])),
  },
  is_nan: {
    signature: signature(["double"], "boolean"),
    prepare: () => (values) => Number.isNaN(asNumber(values[0])),
  },
  abs: {
    signature: signature([{ name: "T", types: numericTypes }], { name: "T", types: numericTypes }),
    prepare: (_types, result) => {
      const wrap = wrapFor(result);
      return (values) => {
        const [value] = values;
        if (typeof value === "number") {
          return Math.abs(value);
        }
        const integer = asBigint(value);
        return wrap(integer < 0n ? -integer : integer);
      };
    },
  },
  ceil: mathFunction(Math.ceil),
  floor: mathFunction(Math.floor),
  round: mathFunction(roundHalfAway),
  sqrt: mathFunction(Math.sqrt),
  exp: mathFunction(Math.exp),
  log: mathFunction(Math.log),
};

function mathFunction(apply: (value: number) => number): FunctionDefinition {
  return {
    signature: signature(["double"], "double"),
    prepare: () => (values) => apply(asNumber(values[0])),
  };
}

/** As `std::round` does. */
function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}

/** Four words of a guid, the most significant first. Specified in: library/cpp/yt/misc/guid. */
function formatGuid(low: bigint, high: bigint): Uint8Array {
  const words = [high >> 32n, high & 0xffff_ffffn, low >> 32n, low & 0xffff_ffffn];
  return Buffer.from(words.map((word) => word.toString(16)).join("-"), "latin1");
}

function castBody([from = "any"]: readonly PhysicalType[], to: PhysicalType): FunctionBody {
  return (values) => {
    const value = from === "any" ? openAny(asAny(values[0]).bytes) : (values[0] ?? null);
    return castValue(value, to, from);
  };
}

/** The scalar inside a value of type `any`; what is no scalar comes back as it is. */
function openAny(bytes: Uint8Array): RowValue | "composite" {
  const value = bare(parseYson(bytes));
  if (Array.isArray(value) || isMap(value)) {
    return "composite";
  }
  if (typeof value === "string") {
    return stringToBytes(value);
  }
  return value instanceof Uint64 ? value.value : scalarOrComposite(value);
}

function scalarOrComposite(value: unknown): RowValue | "composite" {
  const scalar =
    value === null || typeof value === "bigint" || typeof value === "number" || typeof value === "boolean";
  return scalar ? value : "composite";
}

/**
 * A scalar as another type. Integers keep their low 64 bits, doubles lose their fraction.
 *
 * @throws YtError for a string as a number and the like
 */
function castValue(value: RowValue | "composite", to: PhysicalType, from: PhysicalType): RowValue {
  if (value === null) {
    return null;
  }
  if (to === "double" && (typeof value === "bigint" || typeof value === "number")) {
    return Number(value);
  }
  if (to === "int64" || to === "uint64") {
    if (typeof value === "bigint") {
      return wrapFor(to)(value);
    }
    if (typeof value === "number") {
      return truncate(value, to);
    }
  }
  if (to === "boolean" && typeof value === "boolean") {
    return value;
  }
  if (to === "string" && value instanceof Uint8Array) {
    return asBytes(value);
  }
  throw new YtError(`Cannot convert value of type "${from}" to "${to}"`);
}

/** Out of range the machine's conversion is taken as a guide: the smallest int64, the largest uint64. */
function truncate(value: number, to: "int64" | "uint64"): bigint {
  if (to === "int64") {
    return value >= -(2 ** 63) && value < 2 ** 63 ? BigInt(Math.trunc(value)) : -(1n << 63n);
  }
  if (Number.isNaN(value)) {
    return 0n;
  }
  return value < 2 ** 64
    ? BigInt.asUintN(64, value > -(2 ** 63) ? BigInt(Math.trunc(value)) : 0n)
    : (1n << 64n) - 1n;
}
