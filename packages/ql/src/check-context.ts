/**
 * What the typing of one kind of expression needs from the checker as a whole. It stands apart so that the
 * checker can know the kinds and the kinds need not know the checker.
 */
import type { PhysicalType } from "@qyt/schema";
import type { Expression } from "./expressions.ts";
import type { Node, NodeOf } from "./nodes.ts";
import type { TypeSet } from "./types.ts";
import type { Untyped } from "./untyped.ts";

export interface CheckContext {
  /** A part of an expression, its type still open. */
  visit(node: Node): Untyped;
  /** A whole expression; `types` are those it may have, its own first choice by default. */
  check(node: Node, types?: TypeSet): Expression;
  /** The text a node came from. */
  source(node: Node): string;
  /** Set behind GROUP BY, except in the arguments of aggregates. */
  readonly grouping: Grouping | undefined;
  /** Checks with the columns of the table in view, as the arguments of aggregates are. */
  beforeGrouping<T>(action: () => T): T;
}

export interface NamedColumn {
  readonly name: string;
  /** The alias of the column's table. */
  readonly table?: string | undefined;
  readonly type: PhysicalType;
}

/** Takes an aggregate call found behind GROUP BY; gives the column that will hold its result. */
export type AggregateSink = (node: NodeOf<"call">, context: CheckContext) => Untyped;

/** The state behind GROUP BY: only group items and aggregates can be named. */
export interface Grouping {
  readonly items: readonly NamedColumn[];
  readonly aggregate: AggregateSink;
}
