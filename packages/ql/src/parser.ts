/**
 * Query text → parsed query: the clauses and their order.
 *
 * Specified in: yt/yt/library/query/base/parser.ypp.
 */
import { depthExceeded } from "./errors.ts";
import { ExpressionParser } from "./expression-parser.ts";
import { parseJoins, parseTable, parseTableAlias } from "./join-parser.ts";
import { tokenize } from "./lexer.ts";
import type { Node, OrderItem, ParsedQuery } from "./nodes.ts";
import { type QueryOptions, queryLimits, resolveOptions } from "./options.ts";
import { TokenStream } from "./token-stream.ts";

/**
 * Parses a query.
 *
 * @throws YtError `Error while parsing query: …` with attributes `position` and `query`; 1711 when nested too
 * deep; `Alias "…" has been already used`; `Placeholder was not found`
 */
export function parseQuery(text: string, options: QueryOptions = {}): ParsedQuery {
  const stream = new TokenStream(text, tokenize(text, resolveOptions(options)));
  const query = parseClauses(stream, 0);
  if (stream.peek().kind !== "end") {
    throw stream.unexpected();
  }
  return query;
}

/** @param depth number of queries around this one */
function parseClauses(stream: TokenStream, depth: number): ParsedQuery {
  if (depth > queryLimits.maxSubqueryDepth) {
    throw depthExceeded();
  }
  const expressions = new ExpressionParser(stream);
  stream.takeKeyword("select");
  const select = parseSelect(stream, expressions);
  stream.expectKeyword("from");
  const from = parseFrom(stream, depth);
  const joins = parseJoins(stream, expressions);
  const where = stream.takeKeyword("where") ? expressions.parse() : undefined;
  const grouping = parseGroupBy(stream, expressions);
  const orderBy = parseOrderBy(stream, expressions);
  const offset = stream.takeKeyword("offset") ? parseCount(stream) : undefined;
  const limit = stream.takeKeyword("limit") ? parseCount(stream) : undefined;
  const { aliases } = expressions;
  return { text: stream.text, ...from, joins, select, where, ...grouping, orderBy, offset, limit, aliases };
}

/** `table [AS alias]` or `(query) [AS alias]` */
function parseFrom(
  stream: TokenStream,
  depth: number,
): Pick<ParsedQuery, "tablePath" | "tableAlias" | "subquery"> {
  if (!stream.takeSymbol("(")) {
    return { ...parseTable(stream), subquery: undefined };
  }
  const subquery = parseClauses(stream, depth + 1);
  stream.expectSymbol(")");
  return { tablePath: "", tableAlias: parseTableAlias(stream), subquery };
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

function parseGroupBy(
  stream: TokenStream,
  expressions: ExpressionParser,
): Pick<ParsedQuery, "groupBy" | "having" | "totals"> {
  if (!stream.takeKeyword("group by")) {
    return { groupBy: undefined, having: undefined, totals: "none" };
  }
  const groupBy = flatten(expressions.parseList());
  const before = stream.takeKeyword("with totals");
  const having = stream.takeKeyword("having") ? expressions.parse() : undefined;
  if (before) {
    return { groupBy, having, totals: "before having" };
  }
  const after = having !== undefined && stream.takeKeyword("with totals");
  return { groupBy, having, totals: after ? "after having" : "none" };
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
