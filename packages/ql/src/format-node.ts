/**
 * The name of a result that has no alias: its source, printed in one fixed way.
 *
 * Specified in: InferColumnName of yt/yt/library/query/base/ast.cpp.
 */
import { escapeBytesForDisplay } from "./escapes.ts";
import type { ConstantTuple, Node } from "./nodes.ts";
import { keywords, type LiteralValue } from "./tokens.ts";

/** The column name that the expression gets as a result: of an alias the alias, of a reference the name. */
export function inferColumnName(node: Node): string {
  if (node.kind === "alias") {
    return node.name;
  }
  if (node.kind === "reference") {
    return node.table === undefined ? node.name : `${node.table}.${node.name}`;
  }
  return formatNode(node);
}

/** A literal as it could be written in a query. */
export function formatLiteral(literal: LiteralValue): string {
  switch (literal.kind) {
    case "null":
      return "null";
    case "int64":
      return literal.value.toString();
    case "uint64":
      return `${literal.value}u`;
    case "double":
      return String(literal.value);
    case "boolean":
      return String(literal.value);
    case "string":
      return `"${escapeBytesForDisplay(literal.value)}"`;
  }
}

function formatName(name: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !keywords.has(name.toLowerCase())) {
    return name;
  }
  return /[[\]]/.test(name) ? `\`${name}\`` : `[${name}]`;
}

function formatTuples(tuples: readonly ConstantTuple[]): string {
  return tuples.map(formatTuple).join(", ");
}

function formatTuple(tuple: ConstantTuple): string {
  const items = tuple.map(formatLiteral).join(", ");
  return tuple.length > 1 ? `(${items})` : items;
}

/** A tuple without its parentheses; any other expression as it is. */
function formatItems(node: Node): string {
  return node.kind === "tuple" ? node.items.map(formatNode).join(", ") : formatNode(node);
}

function formatNode(node: Node): string {
  switch (node.kind) {
    case "literal":
      return formatLiteral(node.value);
    case "reference":
      return node.table === undefined ? formatName(node.name) : `${node.table}.${formatName(node.name)}`;
    case "alias":
      return formatName(node.name);
    case "tuple":
      return `(${formatItems(node)})`;
    case "call":
      return `${node.name}(${node.items.map(formatNode).join(", ")})`;
    case "unary":
      return `${node.operator}(${formatItems(node.operand)})`;
    case "arithmetic":
    case "relation":
      return `(${formatItems(node.items[0])})${node.operator}(${formatItems(node.items[1])})`;
    case "logical":
      return node.items.map(formatItems).reduce((left, right) => `(${left})${node.operator}(${right})`);
    case "in":
      return `(${formatItems(node.operand)}) IN (${formatTuples(node.values)})`;
    case "between":
      return `(${formatItems(node.operand)}) BETWEEN (${node.ranges
        .map((range) => `${formatTuple(range.lower)} AND ${formatTuple(range.upper)}`)
        .join(", ")})`;
    case "transform": {
      const rest = node.otherwise === undefined ? "" : `, ${formatNode(node.otherwise)}`;
      const operand = formatNode(node.operand);
      return `TRANSFORM(${operand}, (${formatTuples(node.from)}), (${formatTuples(node.to)})${rest})`;
    }
    case "case": {
      const operand = node.operand === undefined ? "" : ` ${formatNode(node.operand)}`;
      const branches = node.branches.map(
        (branch) => ` WHEN ${formatNode(branch.when)} THEN ${formatNode(branch.result)}`,
      );
      const otherwise = node.otherwise === undefined ? "" : ` ELSE ${formatNode(node.otherwise)}`;
      return `CASE${operand}${branches.join("")}${otherwise} END`;
    }
    case "match": {
      const escapeCharacter = node.escape === undefined ? "" : ` ESCAPE ${formatNode(node.escape)}`;
      return `${formatNode(node.text)} ${node.operator} ${formatNode(node.pattern)}${escapeCharacter}`;
    }
  }
}
