/**
 * Aggregate columns: how a stored value and an increment become one.
 * Specified in: YTsaurus documentation "Sorted dynamic tables", aggregation columns.
 */
import { YtError } from "@qyt/base";
import { compareRowValues, type PhysicalType, type RowValue } from "@qyt/schema";

const supported = new Set(["sum", "min", "max", "first"]);

/** @throws YtError for a function that rows cannot be folded with here */
export function requireAggregate(name: string): void {
  if (!supported.has(name)) {
    throw new YtError(`Aggregate function "${name}" is not supported`);
  }
}

/** Folds `increment` into `base`; null is the neutral element. @throws YtError for an unknown function */
export function aggregate(name: string, base: RowValue, increment: RowValue, type: PhysicalType): RowValue {
  if (increment === null) {
    return base;
  }
  if (base === null) {
    return increment;
  }
  switch (name) {
    case "sum":
      return sum(base, increment, type);
    case "min":
      return compareRowValues(increment, base, type) < 0 ? increment : base;
    case "max":
      return compareRowValues(increment, base, type) > 0 ? increment : base;
    case "first":
      return base;
    default:
      requireAggregate(name);
      return increment;
  }
}

function sum(base: RowValue, increment: RowValue, type: PhysicalType): RowValue {
  if (typeof base === "bigint" && typeof increment === "bigint") {
    return type === "uint64" ? BigInt.asUintN(64, base + increment) : BigInt.asIntN(64, base + increment);
  }
  if (typeof base === "number" && typeof increment === "number") {
    return base + increment;
  }
  throw new YtError(`Cannot sum values of type "${type}"`);
}
