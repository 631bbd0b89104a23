/**
 * The syntax tree of a query. Every node knows its place in the text and its depth; a tree deeper than
 * allowed cannot be built, so the steps behind the parser may recurse.
 *
 * Specified in: yt/yt/library/query/base/ast.h.
 */
import { depthExceeded } from "./errors.ts";
import { queryLimits } from "./options.ts";
import type { LiteralValue } from "./tokens.ts";

export type UnaryOperator = "+" | "-" | "~" | "NOT";
export type RelationOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%" | "<<" | ">>" | "|" | "&" | "||";
export type LogicalOperator = "AND" | "OR";
export type MatchOperator = "LIKE" | "ILIKE" | "REGEX";

/** A row of constants, as in `IN ((1, "x"), …)`; one constant is a row of one. */
export type ConstantTuple = readonly LiteralValue[];

export interface ConstantRange {
  readonly lower: ConstantTuple;
  readonly upper: ConstantTuple;
}

export type NodeBody =
  | { readonly kind: "literal"; readonly value: LiteralValue }
  | { readonly kind: "reference"; readonly table: string | undefined; readonly name: string }
  | { readonly kind: "alias"; readonly name: string; readonly operand: Node }
  | { readonly kind: "tuple"; readonly items: readonly Node[] }
  | { readonly kind: "call"; readonly name: string; readonly items: readonly Node[] }
  | { readonly kind: "unary"; readonly operator: UnaryOperator; readonly operand: Node }
  | {
      readonly kind: "arithmetic";
      readonly operator: ArithmeticOperator;
      readonly items: readonly [Node, Node];
    }
  | { readonly kind: "relation"; readonly operator: RelationOperator; readonly items: readonly [Node, Node] }
  | { readonly kind: "logical"; readonly operator: LogicalOperator; readonly items: readonly Node[] }
  | { readonly kind: "in"; readonly operand: Node; readonly values: readonly ConstantTuple[] }
  | { readonly kind: "between"; readonly operand: Node; readonly ranges: readonly ConstantRange[] }
  | {
      readonly kind: "transform";
      readonly operand: Node;
      readonly from: readonly ConstantTuple[];
      readonly to: readonly ConstantTuple[];
      readonly otherwise: Node | undefined;
    }
  | {
      readonly kind: "case";
      readonly operand: Node | undefined;
      readonly branches: readonly { readonly when: Node; readonly result: Node }[];
      readonly otherwise: Node | undefined;
    }
  | {
      readonly kind: "match";
      readonly operator: MatchOperator;
      readonly text: Node;
      readonly pattern: Node;
      readonly escape: Node | undefined;
    };

export type Node = NodeBody & { readonly start: number; readonly end: number; readonly depth: number };
export type NodeOf<Kind extends NodeBody["kind"]> = Extract<Node, { readonly kind: Kind }>;

export interface OrderItem {
  readonly expression: Node;
  readonly descending: boolean;
}

/** `[LEFT] JOIN table [AS alias] (USING … | ON … = …) [AND predicate]` */
export interface JoinClause {
  readonly isLeft: boolean;
  readonly tablePath: string;
  readonly tableAlias: string | undefined;
  /** Left sides of the equations: over the tables in front of this one. */
  readonly selfKeys: readonly Node[];
  /** Right sides, as many: over this table. */
  readonly foreignKeys: readonly Node[];
  /** Over this table. */
  readonly predicate: Node | undefined;
}

/** Whether the row of totals counts all groups, or those that pass HAVING. */
export type TotalsMode = "none" | "before having" | "after having";

/** A parsed query. */
export interface ParsedQuery {
  readonly text: string;
  /** The rich path text of FROM; empty over a subquery. */
  readonly tablePath: string;
  readonly tableAlias: string | undefined;
  /** `FROM (SELECT …)` */
  readonly subquery: ParsedQuery | undefined;
  readonly joins: readonly JoinClause[];
  /** undefined for `*` */
  readonly select: readonly Node[] | undefined;
  readonly where: Node | undefined;
  readonly groupBy: readonly Node[] | undefined;
  readonly having: Node | undefined;
  readonly totals: TotalsMode;
  readonly orderBy: readonly OrderItem[];
  readonly offset: bigint | undefined;
  readonly limit: bigint | undefined;
  /** Every `expr AS name` of the query, by name. */
  readonly aliases: ReadonlyMap<string, Node>;
}

/** The sub-expressions of a node, in order. */
export function childrenOf(node: NodeBody): readonly Node[] {
  switch (node.kind) {
    case "literal":
    case "reference":
      return [];
    case "alias":
    case "unary":
    case "in":
    case "between":
      return [node.operand];
    case "tuple":
    case "call":
    case "arithmetic":
    case "relation":
    case "logical":
      return node.items;
    case "transform":
      return present(node.operand, node.otherwise);
    case "case":
      return [
        ...present(node.operand),
        ...node.branches.flatMap((branch) => [branch.when, branch.result]),
        ...present(node.otherwise),
      ];
    case "match":
      return present(node.text, node.pattern, node.escape);
  }
}

/** @throws YtError 1711 when the tree gets too deep */
export function makeNode(body: NodeBody, start: number, end: number): Node {
  let depth = 0;
  for (const child of childrenOf(body)) {
    depth = Math.max(depth, child.depth);
  }
  // A tuple is no operation of its own.
  const own = body.kind === "tuple" || body.kind === "alias" ? 0 : 1;
  if (depth + own > queryLimits.maxExpressionDepth) {
    throw depthExceeded();
  }
  return { ...body, start, end, depth: depth + own };
}

function present(...nodes: readonly (Node | undefined)[]): Node[] {
  return nodes.filter((node) => node !== undefined);
}
