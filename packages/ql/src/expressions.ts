/**
 * Checked expressions: every node has its type, every name is a position. This is what closures are made
 * from and what key ranges are read off.
 *
 * Specified in: yt/yt/library/query/base/query.h.
 */
import type { PhysicalType, RowValue } from "@qyt/schema";
import type { FunctionBody } from "./functions/signature.ts";
import type {
  ArithmeticOperator,
  LogicalOperator,
  MatchOperator,
  RelationOperator,
  UnaryOperator,
} from "./nodes.ts";

/** One row of constants, cast to the types of the operands it is compared with. */
export type ValueTuple = readonly RowValue[];

export interface ValueRange {
  readonly lower: ValueTuple;
  readonly upper: ValueTuple;
}

export type Expression = { readonly type: PhysicalType } & (
  | { readonly kind: "literal"; readonly value: RowValue }
  /** A column of the table, or behind GROUP BY a group item or an aggregate. */
  | { readonly kind: "column"; readonly index: number }
  | { readonly kind: "unary"; readonly operator: UnaryOperator; readonly operand: Expression }
  | {
      readonly kind: "arithmetic";
      readonly operator: ArithmeticOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: "relation";
      readonly operator: RelationOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly kind: "logical"; readonly operator: LogicalOperator; readonly items: readonly Expression[] }
  | {
      readonly kind: "call";
      readonly name: string;
      readonly body: FunctionBody;
      readonly items: readonly Expression[];
    }
  /** `values` are sorted and without repetition. */
  | { readonly kind: "in"; readonly items: readonly Expression[]; readonly values: readonly ValueTuple[] }
  /** `ranges` are sorted and disjoint. */
  | {
      readonly kind: "between";
      readonly items: readonly Expression[];
      readonly ranges: readonly ValueRange[];
    }
  /** `from` is sorted; `to` belongs to it one by one. */
  | {
      readonly kind: "transform";
      readonly items: readonly Expression[];
      readonly from: readonly ValueTuple[];
      readonly to: readonly RowValue[];
      readonly otherwise: Expression | undefined;
    }
  | {
      readonly kind: "case";
      readonly branches: readonly { readonly when: Expression; readonly result: Expression }[];
      readonly otherwise: Expression | undefined;
    }
  | {
      readonly kind: "match";
      readonly operator: MatchOperator;
      readonly text: Expression;
      readonly pattern: Expression;
      readonly escape: Expression | undefined;
    }
);

export type ExpressionOf<Kind extends Expression["kind"]> = Extract<Expression, { readonly kind: Kind }>;

/** Calls `visit` for every column the expression reads. */
export function visitColumns(expression: Expression, visit: (index: number) => void): void {
  if (expression.kind === "column") {
    visit(expression.index);
    return;
  }
  for (const child of operandsOf(expression)) {
    visitColumns(child, visit);
  }
}

function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "literal":
    case "column":
      return [];
    case "unary":
      return [expression.operand];
    case "arithmetic":
    case "relation":
      return [expression.left, expression.right];
    case "logical":
    case "call":
    case "in":
    case "between":
      return expression.items;
    case "transform":
      return expression.otherwise === undefined
        ? expression.items
        : [...expression.items, expression.otherwise];
    case "case": {
      const branches = expression.branches.flatMap((branch) => [branch.when, branch.result]);
      return expression.otherwise === undefined ? branches : [...branches, expression.otherwise];
    }
    case "match":
      return expression.escape === undefined
        ? [expression.text, expression.pattern]
        : [expression.text, expression.pattern, expression.escape];
  }
}
