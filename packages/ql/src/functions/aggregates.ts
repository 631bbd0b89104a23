/**
 * Aggregate functions. Each group has one state per aggregate; nulls are passed over, and a state that saw
 * nothing gives null.
 *
 * Specified in: yt/yt/library/query/base/builtin_function_registry.cpp; yt/yt/library/query/engine/udf.
 */
import type { YsonValue } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import { arithmeticBody } from "../arithmetic.ts";
import { comparatorFor } from "../compare.ts";
import { booleanType, comparableTypes, numericTypes, valueTypes } from "../types.ts";
import { detach } from "../values.ts";
import { encode, toYson } from "./any.ts";
import { DistinctCounter } from "./distinct-counter.ts";
import { type Signature, signature, type TypeVariable } from "./signature.ts";

/** The state of one aggregate in one group. Values passed in must be copied to be kept. */
export interface AggregateState {
  update(values: readonly RowValue[]): void;
  /** Takes in what another state of the same aggregate has seen, behind its own. */
  merge(other: AggregateState): void;
  result(): RowValue;
}

export interface AggregateDefinition {
  readonly signature: Signature;
  readonly create: (types: readonly PhysicalType[], result: PhysicalType) => () => AggregateState;
}

const number: TypeVariable = { name: "T", types: numericTypes };
const comparable: TypeVariable = { name: "T", types: comparableTypes };
const value: TypeVariable = { name: "V", types: valueTypes };

const aggregates: ReadonlyMap<string, AggregateDefinition> = new Map<string, AggregateDefinition>([
  ["sum", { signature: signature([number], number), create: (_types, result) => () => new Sum(result) }],
  [
    "min",
    { signature: signature([comparable], comparable), create: (types) => () => new Extreme(types, -1) },
  ],
  ["max", { signature: signature([comparable], comparable), create: (types) => () => new Extreme(types, 1) }],
  [
    "argmin",
    { signature: signature([value, comparable], value), create: (types) => () => new ExtremeBy(types, -1) },
  ],
  [
    "argmax",
    { signature: signature([value, comparable], value), create: (types) => () => new ExtremeBy(types, 1) },
  ],
  ["avg", { signature: signature([numericTypes], "double"), create: () => () => new Average() }],
  ["first", { signature: signature([value], value), create: () => () => new First() }],
  [
    "cardinality",
    { signature: signature([comparableTypes], "uint64"), create: () => () => new DistinctCounter() },
  ],
  [
    "array_agg",
    { signature: signature([valueTypes, booleanType], "any"), create: (types) => () => new ArrayOf(types) },
  ],
]);

/** The aggregate of a lower-case name. */
export function findAggregate(name: string): AggregateDefinition | undefined {
  return aggregates.get(name);
}

class Sum implements AggregateState {
  readonly #add: (left: RowValue, right: RowValue) => RowValue;
  #total: RowValue = null;

  constructor(type: PhysicalType) {
    this.#add = arithmeticBody("+", type);
  }

  update([item = null]: readonly RowValue[]): void {
    if (item !== null) {
      this.#total = this.#total === null ? item : this.#add(this.#total, item);
    }
  }

  merge(other: AggregateState): void {
    this.update([other.result()]);
  }

  result(): RowValue {
    return this.#total;
  }
}

class Average implements AggregateState {
  #total = 0;
  #count = 0;

  update([item = null]: readonly RowValue[]): void {
    if (item !== null) {
      this.#total += Number(item);
      this.#count += 1;
    }
  }

  merge(other: AggregateState): void {
    if (other instanceof Average) {
      this.#total += other.#total;
      this.#count += other.#count;
    }
  }

  result(): RowValue {
    return this.#count === 0 ? null : this.#total / this.#count;
  }
}

class First implements AggregateState {
  #value: RowValue = null;

  update([item = null]: readonly RowValue[]): void {
    this.#value ??= detach(item);
  }

  merge(other: AggregateState): void {
    this.update([other.result()]);
  }

  result(): RowValue {
    return this.#value;
  }
}

class Extreme implements AggregateState {
  readonly #compare: (left: RowValue, right: RowValue) => number;
  readonly #sign: number;
  #best: RowValue = null;

  constructor([type = "null"]: readonly PhysicalType[], sign: number) {
    this.#compare = comparatorFor(type, type);
    this.#sign = sign;
  }

  update([item = null]: readonly RowValue[]): void {
    if (item !== null && (this.#best === null || this.#compare(item, this.#best) * this.#sign > 0)) {
      this.#best = detach(item);
    }
  }

  merge(other: AggregateState): void {
    this.update([other.result()]);
  }

  result(): RowValue {
    return this.#best;
  }
}

class ExtremeBy implements AggregateState {
  readonly #compare: (left: RowValue, right: RowValue) => number;
  readonly #sign: number;
  #key: RowValue = null;
  #value: RowValue = null;

  constructor([, type = "null"]: readonly PhysicalType[], sign: number) {
    this.#compare = comparatorFor(type, type);
    this.#sign = sign;
  }

  update([item = null, key = null]: readonly RowValue[]): void {
    if (item === null || key === null) {
      return;
    }
    if (this.#key === null || this.#compare(key, this.#key) * this.#sign > 0) {
      this.#key = detach(key);
      this.#value = detach(item);
    }
  }

  merge(other: AggregateState): void {
    if (other instanceof ExtremeBy) {
      this.update([other.#value, other.#key]);
    }
  }

  result(): RowValue {
    return this.#value;
  }
}

class ArrayOf implements AggregateState {
  readonly #type: PhysicalType;
  readonly #items: YsonValue[] = [];
  #filled = false;

  constructor([type = "any"]: readonly PhysicalType[]) {
    this.#type = type;
  }

  update([item = null, ignoreNulls = null]: readonly RowValue[]): void {
    if (item !== null || ignoreNulls !== true) {
      this.#filled = true;
      this.#items.push(toYson(item, this.#type));
    }
  }

  merge(other: AggregateState): void {
    if (other instanceof ArrayOf) {
      this.#filled ||= other.#filled;
      for (const item of other.#items) {
        this.#items.push(item);
      }
    }
  }

  result(): RowValue {
    return this.#filled ? encode(this.#items) : null;
  }
}
