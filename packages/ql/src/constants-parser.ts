/**
 * Constants inside IN, BETWEEN and TRANSFORM, where the grammar allows nothing else.
 *
 * Specified in: const-value, const-tuple and const-range-list of yt/yt/library/query/base/parser.ypp.
 */
import { YtError } from "@qyt/base";
import type { ConstantRange, ConstantTuple } from "./nodes.ts";
import { queryLimits } from "./options.ts";
import type { TokenStream } from "./token-stream.ts";
import type { LiteralValue } from "./tokens.ts";

/** `(1, 2), (3, 4)` or `1, 2`, up to but without the closing parenthesis. */
export function parseTupleList(stream: TokenStream): ConstantTuple[] {
  const tuples = [parseTuple(stream)];
  while (stream.takeSymbol(",")) {
    tuples.push(parseTuple(stream));
  }
  return tuples;
}

/** What follows BETWEEN: `1 AND 2`, `(1, 2) AND (3, 4)` or `(1 AND 2, (3, 4) AND 5)`. */
export function parseRanges(stream: TokenStream): ConstantRange[] {
  if (!stream.isSymbol("(")) {
    return [parseRange(stream)];
  }
  stream.next();
  const first = parseTuple(stream);
  if (stream.isKeyword("and")) {
    const ranges = [finishRange(stream, first)];
    while (stream.takeSymbol(",")) {
      ranges.push(parseRange(stream));
    }
    stream.expectSymbol(")");
    return ranges;
  }
  const lower = [...first];
  while (stream.takeSymbol(",")) {
    lower.push(parseConstant(stream));
  }
  stream.expectSymbol(")");
  return [finishRange(stream, lower)];
}

function parseRange(stream: TokenStream): ConstantRange {
  return finishRange(stream, parseTuple(stream));
}

function finishRange(stream: TokenStream, lower: ConstantTuple): ConstantRange {
  stream.expectKeyword("and");
  return { lower, upper: parseTuple(stream) };
}

function parseTuple(stream: TokenStream): ConstantTuple {
  if (!stream.takeSymbol("(")) {
    return [parseConstant(stream)];
  }
  const values = [parseConstant(stream)];
  while (stream.takeSymbol(",")) {
    values.push(parseConstant(stream));
  }
  stream.expectSymbol(")");
  return values;
}

function parseConstant(stream: TokenStream): LiteralValue {
  const operators: string[] = [];
  for (;;) {
    const token = stream.peek();
    if (token.kind === "symbol" && (token.text === "-" || token.text === "+" || token.text === "~")) {
      operators.push(token.text);
      if (operators.length > queryLimits.maxExpressionDepth) {
        throw stream.unexpected("literal");
      }
      stream.next();
      continue;
    }
    if (token.kind !== "literal") {
      throw stream.unexpected("literal");
    }
    stream.next();
    return operators.reduceRight(applyUnary, token.value);
  }
}

/** A sign or `~` before a constant. @throws YtError for a type that has no such operation */
export function applyUnary(value: LiteralValue, operator: string): LiteralValue {
  if (operator === "+" || value.kind === "null") {
    return value;
  }
  if (operator === "-") {
    if (value.kind === "double") {
      return { kind: "double", value: -value.value };
    }
    if (value.kind === "int64") {
      return { kind: "int64", value: BigInt.asIntN(64, -value.value) };
    }
    if (value.kind === "uint64") {
      // -9223372036854775808 is written with a literal one too big for int64.
      return value.value === 1n << 63n
        ? { kind: "int64", value: -value.value }
        : { kind: "uint64", value: BigInt.asUintN(64, -value.value) };
    }
    throw new YtError("Negation of unsupported type");
  }
  if (value.kind === "int64") {
    return { kind: "int64", value: ~value.value };
  }
  if (value.kind === "uint64") {
    return { kind: "uint64", value: BigInt.asUintN(64, ~value.value) };
  }
  throw new YtError("Bitwise negation of unsupported type");
}
