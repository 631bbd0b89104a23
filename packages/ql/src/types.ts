/**
 * Sets of types that an expression may still have, and the checked casts of constants. An integer literal is
 * int64, uint64 or double until its neighbours decide; a column has one type from the start.
 *
 * Specified in: yt/yt/library/query/base/functions.h (TTypeSet), query_common.cpp (CastValueWithCheck).
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { LiteralValue } from "./tokens.ts";

/** In the order in which an undecided expression takes its type. */
const order: readonly PhysicalType[] = ["null", "int64", "uint64", "double", "boolean", "string", "any"];

/** An immutable set of types. */
export class TypeSet {
  readonly #bits: number;

  private constructor(bits: number) {
    this.#bits = bits;
  }

  static of(...types: readonly PhysicalType[]): TypeSet {
    return new TypeSet(types.reduce((bits, type) => bits | (1 << order.indexOf(type)), 0));
  }

  intersect(other: TypeSet): TypeSet {
    return new TypeSet(this.#bits & other.#bits);
  }

  has(type: PhysicalType): boolean {
    return (this.#bits & (1 << order.indexOf(type))) !== 0;
  }

  get isEmpty(): boolean {
    return this.#bits === 0;
  }

  get types(): readonly PhysicalType[] {
    return order.filter((type) => this.has(type));
  }

  /** The type to take when nothing else decides. */
  get first(): PhysicalType {
    return this.types[0] ?? "null";
  }

  toString(): string {
    return this.types.join(", ");
  }
}

export const numericTypes: TypeSet = TypeSet.of("int64", "uint64", "double");
export const integerTypes: TypeSet = TypeSet.of("int64", "uint64");
export const comparableTypes: TypeSet = TypeSet.of("int64", "uint64", "double", "boolean", "string");
/** What has a total order without looking into it. */
export const orderableTypes: TypeSet = TypeSet.of("null", ...comparableTypes.types);
export const valueTypes: TypeSet = TypeSet.of("int64", "uint64", "double", "boolean", "string", "any");
export const allTypes: TypeSet = TypeSet.of("null", "int64", "uint64", "double", "boolean", "string", "any");
export const booleanType: TypeSet = TypeSet.of("boolean");
export const stringType: TypeSet = TypeSet.of("string");

/** The types that a literal may take. */
export function typesOfLiteral(kind: LiteralValue["kind"]): TypeSet {
  switch (kind) {
    case "null":
      return allTypes;
    case "int64":
      return numericTypes;
    case "uint64":
      return TypeSet.of("uint64", "double");
    case "double":
    case "boolean":
    case "string":
      return TypeSet.of(kind);
  }
}

/** The value of a literal in its own type. */
export function literalToRowValue(literal: LiteralValue): RowValue {
  return literal.kind === "null" ? null : literal.value;
}

/**
 * A constant in another numeric type.
 *
 * @throws YtError when the value has no exact image there
 */
export function castConstant(value: RowValue, from: PhysicalType, to: PhysicalType): RowValue {
  if (value === null || from === to) {
    return value;
  }
  if (typeof value === "bigint") {
    return castInteger(value, from, to);
  }
  if (typeof value === "number" && (to === "int64" || to === "uint64")) {
    if (!Number.isInteger(value) || !fitsInteger(BigInt(value), to)) {
      throw castError(String(value), to, "inaccurate conversion");
    }
    return BigInt(value);
  }
  throw new YtError("Types mismatch in tuple", { attributes: { actual_type: from, expected_type: to } });
}

function castInteger(value: bigint, from: PhysicalType, to: PhysicalType): RowValue {
  const text = from === "uint64" ? `${value}u` : value.toString();
  switch (to) {
    case "double": {
      const double = Number(value);
      if (BigInt(double) !== value) {
        throw castError(text, to, "inaccurate conversion");
      }
      return double;
    }
    case "int64":
      if (!fitsInteger(value, to)) {
        throw castError(text, to, "value is greater than maximum");
      }
      return value;
    case "uint64":
      if (!fitsInteger(value, to)) {
        throw castError(text, to, "value is less than minimum");
      }
      return value;
    default:
      throw new YtError("Types mismatch in tuple", { attributes: { actual_type: from, expected_type: to } });
  }
}

function fitsInteger(value: bigint, type: "int64" | "uint64"): boolean {
  return value === (type === "int64" ? BigInt.asIntN(64, value) : BigInt.asUintN(64, value));
}

function castError(value: string, to: PhysicalType, reason: string): YtError {
  return new YtError(`Failed to cast ${value} to ${to}: ${reason}`);
}
