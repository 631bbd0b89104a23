/**
 * The tables of a query: names behind FROM and JOIN, and what ties them together. ARRAY JOIN and WITH INDEX
 * are recognised to be refused by name.
 *
 * Specified in: yt/yt/library/query/base/parser.ypp.
 */
import { YtError } from "@qyt/base";
import { unsupported } from "./errors.ts";
import type { ExpressionParser } from "./expression-parser.ts";
import type { JoinClause, Node } from "./nodes.ts";
import { queryLimits } from "./options.ts";
import type { TokenStream } from "./token-stream.ts";

export interface TableReference {
  readonly tablePath: string;
  readonly tableAlias: string | undefined;
}

/** `[path] [AS alias]` */
export function parseTable(stream: TokenStream): TableReference {
  const tablePath = stream.expectName();
  const tableAlias = parseTableAlias(stream);
  if (stream.isKeyword("with index")) {
    throw unsupported("WITH INDEX");
  }
  return { tablePath, tableAlias };
}

/** `[AS] alias`, if there is one. */
export function parseTableAlias(stream: TokenStream): string | undefined {
  return stream.takeKeyword("as") || (stream.peek().kind === "name" && !isArrayJoin(stream, 0))
    ? stream.expectName()
    : undefined;
}

function isArrayJoin(stream: TokenStream, offset: number): boolean {
  return stream.isWord("array", offset) && stream.isKeyword("join", offset + 1);
}

/** All JOINs of one query. @throws YtError for too many of them, and as `parseQuery` does */
export function parseJoins(stream: TokenStream, expressions: ExpressionParser): JoinClause[] {
  const joins: JoinClause[] = [];
  for (;;) {
    const isLeft = stream.isKeyword("left");
    const offset = isLeft ? 1 : 0;
    if (isArrayJoin(stream, offset)) {
      throw unsupported("ARRAY JOIN");
    }
    if (!stream.isKeyword("join", offset)) {
      return joins;
    }
    if (joins.length >= queryLimits.maxJoins) {
      throw new YtError(`A query can join at most ${queryLimits.maxJoins} tables; split it into several`, {
        attributes: { maximum: BigInt(queryLimits.maxJoins) },
      });
    }
    if (isLeft) {
      stream.next();
    }
    stream.next();
    joins.push(parseJoin(stream, expressions, isLeft));
  }
}

function parseJoin(stream: TokenStream, expressions: ExpressionParser, isLeft: boolean): JoinClause {
  if (stream.isSymbol("(")) {
    throw unsupported("A subquery in a JOIN");
  }
  const table = parseTable(stream);
  const keys = stream.takeKeyword("using") ? parseUsing(stream, expressions) : parseOn(stream, expressions);
  const predicate = stream.takeKeyword("and") ? expressions.parse() : undefined;
  return { isLeft, ...table, ...keys, predicate };
}

type Keys = Pick<JoinClause, "selfKeys" | "foreignKeys">;

function parseUsing(stream: TokenStream, expressions: ExpressionParser): Keys {
  const keys = [expressions.parseReference()];
  while (stream.takeSymbol(",")) {
    keys.push(expressions.parseReference());
  }
  return { selfKeys: keys, foreignKeys: keys };
}

function parseOn(stream: TokenStream, expressions: ExpressionParser): Keys {
  stream.expectKeyword("on");
  const selfKeys = itemsOf(expressions.parseSide());
  stream.expectSymbol("=");
  const foreignKeys = itemsOf(expressions.parseSide());
  if (selfKeys.length !== foreignKeys.length) {
    throw new YtError("Tuples of same size are expected but got different sizes in the ON clause of a JOIN", {
      attributes: { left: BigInt(selfKeys.length), right: BigInt(foreignKeys.length) },
    });
  }
  return { selfKeys, foreignKeys };
}

function itemsOf(node: Node): readonly Node[] {
  return node.kind === "tuple" ? node.items : [node];
}
