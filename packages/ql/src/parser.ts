/**
 * Query text → parsed query: the clauses and their order. Joins, subqueries and the like are recognised to
 * be refused by name.
 *
 * Specified in: yt/yt/library/query/base/parser.ypp.
 */
import { unsupported } from "./errors.ts";
import { ExpressionParser } from "./expression-parser.ts";
import { tokenize } from "./lexer.ts";
import type { Node, OrderItem, ParsedQuery } from "./nodes.ts";
import { type QueryOptions, resolveOptions } from "./options.ts";
import { TokenStream } from "./token-stream.ts";

/**
 * Parses a query.
 *
 * @throws YtError `Error while parsing query: …` with attributes `position` and `query`; 1711 when nested too
 * deep; `Alias "…" has been already used`; `Placeholder was not found`
 */
export function parseQuery(text: string, options: QueryOptions = {}): ParsedQuery {
  const stream = new TokenStream(text, tokenize(text, resolveOptions(options)));
  const expressions = new ExpressionParser(stream);
  stream.takeKeyword("select");
  const select = parseSelect(stream, expressions);
  stream.expectKeyword("from");
  const { tablePath, tableAlias } = parseTable(stream);
  refuseJoins(stream);
  const where = stream.takeKeyword("where") ? expressions.parse() : undefined;
  const { groupBy, having } = parseGroupBy(stream, expressions);
  const orderBy = parseOrderBy(stream, expressions);
  const offset = stream.takeKeyword("offset") ? parseCount(stream) : undefined;
  const limit = stream.takeKeyword("limit") ? parseCount(stream) : undefined;
  if (stream.peek().kind !== "end") {
    throw stream.unexpected();
  }
  const { aliases } = expressions;
  return { text, tablePath, tableAlias, select, where, groupBy, having, orderBy, offset, limit, aliases };
}

/** Parses a lone expression, as computed columns and routing expressions are written. */
export function parseExpression(
  text: string,
  options: QueryOptions = {},
): { readonly node: Node; readonly aliases: ReadonlyMap<string, Node> } {
  const stream = new TokenStream(text, tokenize(text, resolveOptions(options)));
  const expressions = new ExpressionParser(stream);
  const node = expressions.parseAliased();
  if (stream.peek().kind !== "end") {
    throw stream.unexpected();
  }
  return { node, aliases: expressions.aliases };
}

function parseSelect(stream: TokenStream, expressions: ExpressionParser): Node[] | undefined {
  return stream.takeSymbol("*") ? undefined : flatten(expressions.parseList());
}

/** Upstream a parenthesised list among the items is just more items. */
function flatten(nodes: readonly Node[]): Node[] {
  return nodes.flatMap((node) => (node.kind === "tuple" ? flatten(node.items) : [node]));
}

function parseTable(stream: TokenStream): { tablePath: string; tableAlias: string | undefined } {
  if (stream.isSymbol("(")) {
    throw unsupported("A subquery");
  }
  const tablePath = stream.expectName();
  let tableAlias: string | undefined;
  if (stream.takeKeyword("as") || (stream.peek().kind === "name" && !isArrayJoin(stream))) {
    tableAlias = stream.expectName();
  }
  return { tablePath, tableAlias };
}

function isArrayJoin(stream: TokenStream): boolean {
  return stream.isWord("array") && stream.isKeyword("join", 1);
}

function refuseJoins(stream: TokenStream): void {
  if (stream.isKeyword("with index")) {
    throw unsupported("WITH INDEX");
  }
  const offset = stream.isKeyword("left") ? 1 : 0;
  if (stream.isKeyword("join", offset)) {
    throw unsupported("JOIN");
  }
  if (stream.isWord("array", offset) && stream.isKeyword("join", offset + 1)) {
    throw unsupported("ARRAY JOIN");
  }
}

function parseGroupBy(
  stream: TokenStream,
  expressions: ExpressionParser,
): { groupBy: Node[] | undefined; having: Node | undefined } {
  if (!stream.takeKeyword("group by")) {
    return { groupBy: undefined, having: undefined };
  }
  const groupBy = flatten(expressions.parseList());
  refuseTotals(stream);
  const having = stream.takeKeyword("having") ? expressions.parse() : undefined;
  refuseTotals(stream);
  return { groupBy, having };
}

function refuseTotals(stream: TokenStream): void {
  if (stream.isKeyword("with totals")) {
    throw unsupported("WITH TOTALS");
  }
}

function parseOrderBy(stream: TokenStream, expressions: ExpressionParser): OrderItem[] {
  const items: OrderItem[] = [];
  if (!stream.takeKeyword("order by")) {
    return items;
  }
  do {
    const expression = expressions.parseAliased();
    const descending = stream.takeKeyword("desc") || (stream.takeKeyword("asc") && false);
    for (const item of flatten([expression])) {
      items.push({ expression: item, descending });
    }
  } while (stream.takeSymbol(","));
  return items;
}

function parseCount(stream: TokenStream): bigint {
  const token = stream.peek();
  if (token.kind !== "literal" || token.value.kind !== "int64") {
    throw stream.unexpected("int64 literal");
  }
  stream.next();
  return token.value.value;
}
