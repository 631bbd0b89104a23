/**
 * Typing of operators.
 *
 * Specified in: yt/yt/library/query/base/expr_builder_v1.cpp (operator typers), query_preparer.cpp (folding).
 */
import { unreachable, YtError } from "@qyt/base";
import type { PhysicalType } from "@qyt/schema";
import type { CheckContext } from "./check-context.ts";
import { compileExpression } from "./compile.ts";
import type { Expression } from "./expressions.ts";
import type { ArithmeticOperator, Node, NodeOf, RelationOperator } from "./nodes.ts";
import {
  booleanType,
  comparableTypes,
  integerTypes,
  numericTypes,
  stringType,
  type TypeSet,
  valueTypes,
} from "./types.ts";
import { typed, type Untyped, untypedConstant } from "./untyped.ts";

export function checkUnary(checker: CheckContext, node: NodeOf<"unary">): Untyped {
  const { operator } = node;
  const operand = checker.visit(node.operand);
  const allowed = operator === "NOT" ? booleanType : operator === "~" ? integerTypes : numericTypes;
  const types = allowed.intersect(operand.types);
  if (types.isEmpty) {
    throw new YtError(
      `Type mismatch in expression "${checker.source(node)}": expected "${allowed}", got "${operand.types}"`,
      { attributes: { op_source: checker.source(node.operand) } },
    );
  }
  if (operand.constant !== undefined) {
    // Folded in the literal's own type, so that -1 is minus one whatever it is compared with.
    const own = operand.constant.value === null ? types.first : operand.constant.type;
    if (operator === "-" && operand.constant.value === 1n << 63n) {
      return untypedConstant(-(1n << 63n), "int64", numericTypes);
    }
    const folded = evaluate({ kind: "unary", type: own, operator, operand: operand.build(own) });
    return untypedConstant(folded, own, types);
  }
  return {
    types,
    constant: undefined,
    build: (type) => ({ kind: "unary", type, operator, operand: operand.build(type) }),
  };
}

export function checkArithmetic(checker: CheckContext, node: NodeOf<"arithmetic">): Untyped {
  const { operator } = node;
  const left = checker.visit(scalar(checker, node.items[0]));
  const right = checker.visit(scalar(checker, node.items[1]));
  const types = unify(checker, node, arithmeticTypes(operator), left, right);
  const build = (type: PhysicalType): Expression => ({
    kind: "arithmetic",
    type,
    operator,
    left: left.build(type),
    right: right.build(type),
  });
  if (left.constant !== undefined && right.constant !== undefined) {
    const type = types.first;
    return untypedConstant(evaluate(build(type)), type, types);
  }
  return { types, constant: undefined, build };
}

export function checkLogical(checker: CheckContext, node: NodeOf<"logical">): Untyped {
  const items = node.items.map((item) => {
    const untyped = checker.visit(scalar(checker, item));
    if (!untyped.types.has("boolean")) {
      throw mismatch(checker, node, booleanType, untyped.types, node.items[0] ?? node, item);
    }
    return untyped.build("boolean");
  });
  return typed(booleanType, { kind: "logical", type: "boolean", operator: node.operator, items });
}

/** A comparison; of tuples it becomes comparisons of their items, the first difference deciding. */
export function checkRelation(checker: CheckContext, node: NodeOf<"relation">): Untyped {
  const [leftNode, rightNode] = node.items;
  const left = itemsOf(leftNode);
  const right = itemsOf(rightNode);
  if (left.length !== right.length) {
    throw new YtError(`Tuples of same size are expected but got ${left.length} vs ${right.length}`, {
      attributes: { source: checker.source(node) },
    });
  }
  const pairs = left.map((item, index) => checkPair(checker, node, item, right[index] ?? item));
  return typed(booleanType, compareTuples(node.operator, pairs));
}

/** The items of a tuple; of any other expression the expression alone. */
export function itemsOf(node: Node): readonly Node[] {
  return node.kind === "tuple" ? node.items : [node];
}

/** The value of an expression without columns. */
export function evaluate(expression: Expression): ReturnType<ReturnType<typeof compileExpression>> {
  return compileExpression(expression, { useCanonicalNullRelations: false, positionOf: (index) => index })(
    [],
  );
}

function scalar(checker: CheckContext, node: Node): Node {
  if (node.kind === "tuple") {
    throw new YtError("Expecting scalar expression", { attributes: { source: checker.source(node) } });
  }
  return node;
}

function arithmeticTypes(operator: ArithmeticOperator): TypeSet {
  switch (operator) {
    case "+":
    case "-":
    case "*":
    case "/":
      return numericTypes;
    case "%":
    case "<<":
    case ">>":
    case "|":
    case "&":
      return integerTypes;
    case "||":
      return stringType;
    default:
      return unreachable(operator);
  }
}

function unify(
  checker: CheckContext,
  node: NodeOf<"arithmetic">,
  allowed: TypeSet,
  left: Untyped,
  right: Untyped,
): TypeSet {
  const [leftNode, rightNode] = node.items;
  const fromLeft = allowed.intersect(left.types);
  if (fromLeft.isEmpty) {
    throw mismatch(checker, node, allowed, left.types, leftNode, rightNode);
  }
  const types = fromLeft.intersect(right.types);
  if (types.isEmpty) {
    throw mismatch(checker, node, fromLeft, right.types, leftNode, rightNode);
  }
  return types;
}

function mismatch(
  checker: CheckContext,
  node: Node,
  expected: TypeSet,
  actual: TypeSet,
  left: Node,
  right: Node,
): YtError {
  return new YtError(
    `Type mismatch in expression "${checker.source(node)}": expected "${expected}", got "${actual}"`,
    { attributes: { lhs_source: checker.source(left), rhs_source: checker.source(right) } },
  );
}

interface Pair {
  readonly left: Expression;
  readonly right: Expression;
}

function checkPair(checker: CheckContext, node: NodeOf<"relation">, leftNode: Node, rightNode: Node): Pair {
  const left = checker.visit(leftNode);
  const right = checker.visit(rightNode);
  const common = left.types.intersect(right.types).intersect(valueTypes);
  if (!common.isEmpty) {
    return { left: left.build(common.first), right: right.build(common.first) };
  }
  // A value of type `any` compares with any scalar, by what it holds.
  const leftFirst = left.types.first;
  const rightFirst = right.types.first;
  if (leftFirst === "any" && comparableTypes.has(rightFirst)) {
    return { left: left.build("any"), right: right.build(rightFirst) };
  }
  if (rightFirst === "any" && comparableTypes.has(leftFirst)) {
    return { left: left.build(leftFirst), right: right.build("any") };
  }
  if (leftFirst === "null" || rightFirst === "null") {
    // A column of type null: it has no value that could need another type.
    return { left: left.build(leftFirst), right: right.build(rightFirst) };
  }
  throw mismatch(checker, node, left.types, right.types, leftNode, rightNode);
}

function relation(operator: RelationOperator, { left, right }: Pair): Expression {
  return { kind: "relation", type: "boolean", operator, left, right };
}

function logical(operator: "AND" | "OR", ...items: readonly Expression[]): Expression {
  return { kind: "logical", type: "boolean", operator, items };
}

function compareTuples(operator: RelationOperator, pairs: readonly Pair[]): Expression {
  if (operator === "=" || operator === "!=") {
    const items = pairs.map((pair) => relation(operator, pair));
    const [only] = items;
    return items.length === 1 && only !== undefined
      ? only
      : logical(operator === "=" ? "AND" : "OR", ...items);
  }
  const strict = operator === "<=" ? "<" : operator === ">=" ? ">" : operator;
  return pairs
    .slice(0, -1)
    .reduceRight<Expression>(
      (rest, pair) => logical("OR", relation(strict, pair), logical("AND", relation("=", pair), rest)),
      relation(operator, pairs[pairs.length - 1] ?? unreachablePair()),
    );
}

function unreachablePair(): never {
  throw new YtError("Expecting scalar expression");
}
