/**
 * Arithmetic of 64-bit integers and doubles. Overflow wraps, division truncates, null gives null before
 * anything else is looked at.
 *
 * Specified in: dyn-query-language.md; yt/yt/library/query/engine (expression code generation).
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { ArithmeticOperator } from "./nodes.ts";
import { asBigint, asBytes, asNumber } from "./values.ts";

/** Both operands are known not to be null. */
export type BinaryBody = (left: RowValue, right: RowValue) => RowValue;

/** The operation for operands of a type. */
export function arithmeticBody(operator: ArithmeticOperator, type: PhysicalType): BinaryBody {
  if (operator === "||") {
    return (left, right) => Buffer.concat([asBytes(left), asBytes(right)]);
  }
  if (type === "double") {
    const apply = doubleOperation(operator);
    return (left, right) => apply(asNumber(left), asNumber(right));
  }
  const apply = integerOperation(operator);
  const wrap = wrapFor(type);
  return (left, right) => wrap(apply(asBigint(left), asBigint(right)));
}

/** Wraps an integer into the range of int64 or uint64. */
export function wrapFor(type: PhysicalType): (value: bigint) => bigint {
  return type === "uint64" ? (value) => BigInt.asUintN(64, value) : (value) => BigInt.asIntN(64, value);
}

/** `+x`, `-x` and `~x`; null stays null. */
export function unaryBody(operator: "+" | "-" | "~", type: PhysicalType): (value: RowValue) => RowValue {
  if (operator === "+") {
    return (value) => value;
  }
  if (type === "double") {
    return (value) => (value === null ? null : -asNumber(value));
  }
  const wrap = wrapFor(type);
  return operator === "-"
    ? (value) => (value === null ? null : wrap(-asBigint(value)))
    : (value) => (value === null ? null : wrap(~asBigint(value)));
}

function doubleOperation(operator: ArithmeticOperator): (left: number, right: number) => number {
  switch (operator) {
    case "+":
      return (left, right) => left + right;
    case "-":
      return (left, right) => left - right;
    case "*":
      return (left, right) => left * right;
    default:
      return (left, right) => left / right;
  }
}

function integerOperation(operator: ArithmeticOperator): (left: bigint, right: bigint) => bigint {
  switch (operator) {
    case "+":
      return (left, right) => left + right;
    case "-":
      return (left, right) => left - right;
    case "*":
      return (left, right) => left * right;
    case "/":
      return (left, right) => left / checkDivisor(right);
    case "%":
      return (left, right) => left % checkDivisor(right);
    // Only the low six bits of the distance count, as in the machine's own shifts.
    case "<<":
      return (left, right) => left << (right & 63n);
    case ">>":
      return (left, right) => left >> (right & 63n);
    case "|":
      return (left, right) => left | right;
    default:
      return (left, right) => left & right;
  }
}

function checkDivisor(right: bigint): bigint {
  if (right === 0n) {
    throw new YtError("Division by zero");
  }
  return right;
}
