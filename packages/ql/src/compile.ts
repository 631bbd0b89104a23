/**
 * Checked expressions → closures over a row.
 *
 * Specified in: dyn-query-language.md (null rules); yt/yt/library/query/engine.
 */
import { defined } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import { arithmeticBody, unaryBody } from "./arithmetic.ts";
import { type Comparator, comparatorFor, compareTuples } from "./compare.ts";
import type { Expression, ExpressionOf, ValueTuple } from "./expressions.ts";
import { compileLike, type TextMatcher } from "./like.ts";
import type { RelationOperator } from "./nodes.ts";
import { compileRegex } from "./regex.ts";
import { asText } from "./values.ts";

/** Gives the value of an expression for a row. */
export type Evaluator = (row: readonly RowValue[]) => RowValue;

export interface CompileOptions {
  readonly useCanonicalNullRelations: boolean;
  /** Where in a row the column of that index stands. */
  readonly positionOf: (index: number) => number;
}

export function compileExpression(expression: Expression, options: CompileOptions): Evaluator {
  switch (expression.kind) {
    case "literal": {
      const { value } = expression;
      return () => value;
    }
    case "column": {
      const position = options.positionOf(expression.index);
      return (row) => row[position] ?? null;
    }
    case "unary":
      return compileUnary(expression, options);
    case "arithmetic":
      return compileArithmetic(expression, options);
    case "relation":
      return compileRelation(expression, options);
    case "logical":
      return compileLogical(expression, options);
    case "call":
      return compileCall(expression, options);
    case "in":
      return compileIn(expression, options);
    case "between":
      return compileBetween(expression, options);
    case "transform":
      return compileTransform(expression, options);
    case "case":
      return compileCase(expression, options);
    case "match":
      return compileMatch(expression, options);
  }
}

function compileUnary(expression: ExpressionOf<"unary">, options: CompileOptions): Evaluator {
  const operand = compileExpression(expression.operand, options);
  if (expression.operator === "NOT") {
    return (row) => {
      const value = operand(row);
      return value === null ? null : value !== true;
    };
  }
  const apply = unaryBody(expression.operator, expression.type);
  return (row) => apply(operand(row));
}

function compileArithmetic(expression: ExpressionOf<"arithmetic">, options: CompileOptions): Evaluator {
  const left = compileExpression(expression.left, options);
  const right = compileExpression(expression.right, options);
  const apply = arithmeticBody(expression.operator, expression.type);
  return (row) => {
    const leftValue = left(row);
    const rightValue = right(row);
    return leftValue === null || rightValue === null ? null : apply(leftValue, rightValue);
  };
}

function compileRelation(expression: ExpressionOf<"relation">, options: CompileOptions): Evaluator {
  const left = compileExpression(expression.left, options);
  const right = compileExpression(expression.right, options);
  const compare = relationBody(
    expression.operator,
    comparatorFor(expression.left.type, expression.right.type),
    expression.left.type === "double",
  );
  if (!options.useCanonicalNullRelations) {
    return (row) => compare(left(row), right(row));
  }
  return (row) => {
    const leftValue = left(row);
    const rightValue = right(row);
    return leftValue === null || rightValue === null ? null : compare(leftValue, rightValue);
  };
}

function relationBody(
  operator: RelationOperator,
  compare: Comparator,
  mayBeNaN: boolean,
): (left: RowValue, right: RowValue) => boolean {
  if (mayBeNaN) {
    const plain = relationBody(operator, compare, false);
    // NaN is equal to nothing and in no order with anything.
    return (left, right) => (isNaNValue(left) || isNaNValue(right) ? operator === "!=" : plain(left, right));
  }
  switch (operator) {
    case "=":
      return (left, right) => compare(left, right) === 0;
    case "!=":
      return (left, right) => compare(left, right) !== 0;
    case "<":
      return (left, right) => compare(left, right) < 0;
    case "<=":
      return (left, right) => compare(left, right) <= 0;
    case ">":
      return (left, right) => compare(left, right) > 0;
    case ">=":
      return (left, right) => compare(left, right) >= 0;
  }
}

function isNaNValue(value: RowValue): boolean {
  return typeof value === "number" && Number.isNaN(value);
}

/** Three-valued: one deciding operand decides, else one null makes null. */
function compileLogical(expression: ExpressionOf<"logical">, options: CompileOptions): Evaluator {
  const items = expression.items.map((item) => compileExpression(item, options));
  const deciding = expression.operator === "OR";
  return (row) => {
    let sawNull = false;
    for (const item of items) {
      const value = item(row);
      if (value === deciding) {
        return deciding;
      }
      sawNull ||= value === null;
    }
    return sawNull ? null : !deciding;
  };
}

function compileCall(expression: ExpressionOf<"call">, options: CompileOptions): Evaluator {
  const items = expression.items.map((item) => compileExpression(item, options));
  const { body } = expression;
  const values: RowValue[] = items.map(() => null);
  return (row) => {
    for (let index = 0; index < items.length; index += 1) {
      values[index] = items[index]?.(row) ?? null;
    }
    return body(values);
  };
}

/** The index of the tuple in a sorted list; -1 if it is not there. */
function search(
  tuples: readonly ValueTuple[],
  wanted: ValueTuple,
  types: readonly Expression["type"][],
): number {
  let low = 0;
  let high = tuples.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = compareTuples(tuples[middle] ?? [], wanted, types);
    if (order === 0) {
      return middle;
    }
    if (order < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return -1;
}

function compileTuple(
  items: readonly Expression[],
  options: CompileOptions,
): (row: readonly RowValue[]) => RowValue[] {
  const evaluators = items.map((item) => compileExpression(item, options));
  return (row) => evaluators.map((evaluator) => evaluator(row));
}

function compileIn(expression: ExpressionOf<"in">, options: CompileOptions): Evaluator {
  const { items, values } = expression;
  const types = items.map((item) => item.type);
  const tuple = compileTuple(items, options);
  return (row) => search(values, tuple(row), types) >= 0;
}

function compileBetween(expression: ExpressionOf<"between">, options: CompileOptions): Evaluator {
  const { items, ranges } = expression;
  const types = items.map((item) => item.type);
  const tuple = compileTuple(items, options);
  return (row) => {
    const values = tuple(row);
    if (options.useCanonicalNullRelations && values.includes(null)) {
      return null;
    }
    let low = 0;
    let high = ranges.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const range = defined(ranges[middle], "range");
      if (compareTuples(range.lower, values, types) > 0) {
        high = middle;
      } else if (compareTuples(range.upper, values, types) < 0) {
        low = middle + 1;
      } else {
        return true;
      }
    }
    return false;
  };
}

function compileTransform(expression: ExpressionOf<"transform">, options: CompileOptions): Evaluator {
  const { items, from, to } = expression;
  const types = items.map((item) => item.type);
  const tuple = compileTuple(items, options);
  const otherwise =
    expression.otherwise === undefined ? undefined : compileExpression(expression.otherwise, options);
  return (row) => {
    const index = search(from, tuple(row), types);
    return index >= 0 ? (to[index] ?? null) : (otherwise?.(row) ?? null);
  };
}

function compileCase(expression: ExpressionOf<"case">, options: CompileOptions): Evaluator {
  const branches = expression.branches.map((branch) => ({
    when: compileExpression(branch.when, options),
    result: compileExpression(branch.result, options),
  }));
  const otherwise =
    expression.otherwise === undefined ? undefined : compileExpression(expression.otherwise, options);
  return (row) => {
    for (const branch of branches) {
      if (branch.when(row) === true) {
        return branch.result(row);
      }
    }
    return otherwise?.(row) ?? null;
  };
}

function compileMatch(expression: ExpressionOf<"match">, options: CompileOptions): Evaluator {
  const text = compileExpression(expression.text, options);
  const pattern = compileExpression(expression.pattern, options);
  const escapeCharacter =
    expression.escape === undefined ? undefined : compileExpression(expression.escape, options);
  const { operator } = expression;
  let key: string | undefined;
  let matcher: TextMatcher = () => false;
  return (row) => {
    const textValue = text(row);
    const patternValue = pattern(row);
    const escapeValue = escapeCharacter?.(row);
    if (textValue === null || patternValue === null || escapeValue === null) {
      return null;
    }
    const patternText = asText(patternValue);
    const escapeText = escapeValue === undefined ? "\\" : asText(escapeValue);
    const newKey = `${escapeText.length} ${escapeText}${patternText}`;
    if (key !== newKey) {
      matcher = compileMatcher(operator, patternText, escapeText);
      key = newKey;
    }
    return matcher(asText(textValue));
  };
}

function compileMatcher(operator: string, pattern: string, escapeCharacter: string): TextMatcher {
  if (operator === "REGEX") {
    const regex = compileRegex(pattern);
    return (text) => regex.matchesPart(text);
  }
  return compileLike(pattern, escapeCharacter, operator === "ILIKE");
}
