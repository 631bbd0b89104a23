/**
 * Typing of IN, BETWEEN, TRANSFORM, CASE and LIKE: the constants are cast to the types of the operands and
 * sorted.
 *
 * Specified in: yt/yt/library/query/base/expr_builder_v1.cpp, expr_builder_base.cpp.
 */
import { YtError } from "@qyt/base";
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { CheckContext } from "./check-context.ts";
import { evaluate, itemsOf } from "./check-operators.ts";
import { compareTuples } from "./compare.ts";
import type { Expression, ValueTuple } from "./expressions.ts";
import { compileLike } from "./like.ts";
import type { ConstantTuple, Node, NodeOf } from "./nodes.ts";
import { compileRegex } from "./regex.ts";
import {
  booleanType,
  castConstant,
  literalToRowValue,
  stringType,
  TypeSet,
  typesOfLiteral,
} from "./types.ts";
import { typed, type Untyped } from "./untyped.ts";
import { asText } from "./values.ts";

export function checkIn(checker: CheckContext, node: NodeOf<"in">): Untyped {
  const { items, types } = checkItems(checker, node, node.operand, "IN");
  const rows = node.values.map((tuple) => castTuple(checker, node, tuple, types, true));
  const values = rows.sort((left, right) => compareTuples(left, right, types));
  const distinct = values.filter((row, index) => {
    const previous = values[index - 1];
    return previous === undefined || compareTuples(previous, row, types) !== 0;
  });
  return typed(booleanType, { kind: "in", type: "boolean", items, values: distinct });
}

export function checkBetween(checker: CheckContext, node: NodeOf<"between">): Untyped {
  const { items, types } = checkItems(checker, node, node.operand, "BETWEEN");
  const ranges = node.ranges.map((range) => ({
    lower: castTuple(checker, node, range.lower, types, false),
    upper: castTuple(checker, node, range.upper, types, false),
  }));
  for (const { lower, upper } of ranges) {
    if (compareTuples(lower, upper, types) > 0) {
      throw new YtError("Lower bound is greater than upper", {
        attributes: { source: checker.source(node) },
      });
    }
  }
  ranges.sort((left, right) => compareTuples(left.lower, right.lower, types));
  for (const [index, range] of ranges.entries()) {
    const previous = ranges[index - 1];
    if (previous !== undefined && compareTuples(previous.upper, range.lower, types) >= 0) {
      throw new YtError("Ranges are not disjoint", { attributes: { source: checker.source(node) } });
    }
  }
  return typed(booleanType, { kind: "between", type: "boolean", items, ranges });
}

export function checkTransform(checker: CheckContext, node: NodeOf<"transform">): Untyped {
  const { items, types } = checkItems(checker, node, node.operand, "TRANSFORM");
  if (node.from.length !== node.to.length) {
    throw new YtError("Size mismatch for source and result arrays in TRANSFORM operator", {
      attributes: { source: checker.source(node) },
    });
  }
  let resultTypes = unionOf(checker, node, node.to);
  const otherwise = node.otherwise === undefined ? undefined : checker.visit(node.otherwise);
  if (otherwise !== undefined) {
    resultTypes = resultTypes.intersect(otherwise.types);
    if (resultTypes.isEmpty) {
      throw new YtError(
        `Type mismatch in TRANSFORM operator: expected "${unionOf(checker, node, node.to)}", got "${otherwise.types}"`,
        { attributes: { source: checker.source(node) } },
      );
    }
  }
  const rows = node.from.map((tuple, index) => ({
    from: castTuple(checker, node, tuple, types, true),
    to: node.to[index] ?? [],
  }));
  rows.sort((left, right) => compareTuples(left.from, right.from, types));
  return {
    types: resultTypes,
    constant: undefined,
    build: (type) => ({
      kind: "transform",
      type,
      items,
      from: rows.map((row) => row.from),
      to: rows.map((row) => castTuple(checker, node, row.to, [type], true)[0] ?? null),
      otherwise: otherwise?.build(type),
    }),
  };
}

export function checkCase(checker: CheckContext, node: NodeOf<"case">): Untyped {
  const operand = node.operand;
  const branches = node.branches.map((branch) => ({
    when:
      operand === undefined
        ? checker.check(branch.when, booleanType)
        : checkEquality(checker, operand, branch.when),
    result: checker.visit(branch.result),
  }));
  const otherwise = node.otherwise === undefined ? undefined : checker.visit(node.otherwise);
  const results = branches.map((branch) => branch.result);
  let types = results[0]?.types ?? TypeSet.of();
  for (const result of otherwise === undefined ? results : [...results, otherwise]) {
    const common = types.intersect(result.types);
    if (common.isEmpty) {
      throw new YtError(
        `Types mismatch in CASE WHEN expression: expected "${types}", got "${result.types}"`,
        {
          attributes: { source: checker.source(node) },
        },
      );
    }
    types = common;
  }
  return {
    types,
    constant: undefined,
    build: (type) => ({
      kind: "case",
      type,
      branches: branches.map((branch) => ({ when: branch.when, result: branch.result.build(type) })),
      otherwise: otherwise?.build(type),
    }),
  };
}

export function checkMatch(checker: CheckContext, node: NodeOf<"match">): Untyped {
  const { operator } = node;
  if (operator === "REGEX" && node.escape !== undefined) {
    throw new YtError("ESCAPE should not be used together with REGEXP (RLIKE)", {
      attributes: { source: checker.source(node) },
    });
  }
  const text = checker.check(node.text, stringType);
  const pattern = checker.check(node.pattern, stringType);
  const escapeCharacter = node.escape === undefined ? undefined : checker.check(node.escape, stringType);
  checkPattern(operator, pattern, escapeCharacter);
  return typed(booleanType, {
    kind: "match",
    type: "boolean",
    operator,
    text,
    pattern,
    escape: escapeCharacter,
  });
}

/** A constant pattern that cannot be compiled is an error before any row is read. */
function checkPattern(
  operator: NodeOf<"match">["operator"],
  pattern: Expression,
  escapeCharacter: Expression | undefined,
): void {
  const constantEscape =
    escapeCharacter === undefined || (escapeCharacter.kind === "literal" && escapeCharacter.value !== null);
  if (pattern.kind !== "literal" || pattern.value === null || !constantEscape) {
    return;
  }
  if (operator === "REGEX") {
    compileRegex(asText(pattern.value));
    return;
  }
  compileLike(
    asText(pattern.value),
    escapeCharacter === undefined ? "\\" : asText(evaluate(escapeCharacter)),
    operator === "ILIKE",
  );
}

/** `operand = when`, typed like the operator. */
function checkEquality(checker: CheckContext, operand: Node, when: Node): Expression {
  const { start, end, depth } = when;
  return checker.check({ kind: "relation", operator: "=", items: [operand, when], start, end, depth });
}

function checkItems(
  checker: CheckContext,
  node: Node,
  operand: Node,
  operator: string,
): { items: Expression[]; types: PhysicalType[] } {
  const items = itemsOf(operand).map((item) => checker.check(item));
  for (const item of items) {
    if (item.type === "any") {
      throw new YtError(`Cannot use expression of type "any" with ${operator} operator`, {
        attributes: { source: checker.source(node) },
      });
    }
  }
  const columns = items.filter((item) => item.kind === "column").map((item) => item.index);
  if (new Set(columns).size !== columns.length) {
    throw new YtError(`${operator} operator has multiple references to a column`, {
      attributes: { source: checker.source(node) },
    });
  }
  return { items, types: items.map((item) => item.type) };
}

/** @throws YtError when the shape or a type does not fit; `exact` forbids a shorter tuple */
function castTuple(
  checker: CheckContext,
  node: Node,
  tuple: ConstantTuple,
  types: readonly PhysicalType[],
  exact: boolean,
): ValueTuple {
  if (exact ? tuple.length !== types.length : tuple.length > types.length) {
    throw new YtError("Arguments size mismatch in tuple", { attributes: { source: checker.source(node) } });
  }
  return tuple.map((literal, index): RowValue => {
    const type = types[index] ?? "null";
    const literalType = literal.kind;
    if (literalType !== "null" && !isCastable(literalType, type)) {
      throw new YtError("Types mismatch in tuple", {
        attributes: { source: checker.source(node), actual_type: literalType, expected_type: type },
      });
    }
    return castConstant(literalToRowValue(literal), literalType, type);
  });
}

function isCastable(from: PhysicalType, to: PhysicalType): boolean {
  const numeric: readonly PhysicalType[] = ["int64", "uint64", "double"];
  return from === to || (numeric.includes(from) && numeric.includes(to));
}

/** The types that all result constants of TRANSFORM may take. */
function unionOf(checker: CheckContext, node: Node, tuples: readonly ConstantTuple[]): TypeSet {
  let types: TypeSet | undefined;
  for (const tuple of tuples) {
    const [literal] = tuple;
    if (literal === undefined || tuple.length !== 1) {
      throw new YtError("Arguments size mismatch in tuple", { attributes: { source: checker.source(node) } });
    }
    const own = typesOfLiteral(literal.kind);
    types = types === undefined ? own : types.intersect(own);
  }
  if (types === undefined || types.isEmpty) {
    throw new YtError("Types mismatch in tuple", { attributes: { source: checker.source(node) } });
  }
  return types;
}
