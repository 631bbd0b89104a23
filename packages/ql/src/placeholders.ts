/**
 * The tokens that a placeholder's value stands for. A value enters the query as tokens, never as text, so a
 * string cannot change the query's structure.
 *
 * Specified in: TLexer::SetPlaceholder of yt/yt/library/query/base/lexer.rl6.
 */
import { bare, isList, isMap, Uint64, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import type { LiteralValue, Token } from "./tokens.ts";

const maxNesting = 8;

/** @throws YtError for a map, an empty list or too deep a list */
export function placeholderTokens(name: string, value: YsonValue): Token[] {
  const tokens: Token[] = [];
  append(tokens, name, value, 0);
  return tokens;
}

function append(tokens: Token[], name: string, value: YsonValue, depth: number): void {
  const content = bare(value);
  if (isMap(content) || depth > maxNesting) {
    throw new YtError(`Value of placeholder "${name}" cannot be used in a query`, { attributes: { name } });
  }
  if (isList(content)) {
    if (content.length === 0) {
      throw new YtError("Placeholder should not be empty", { attributes: { name } });
    }
    tokens.push(symbol("("));
    for (const [index, item] of content.entries()) {
      if (index > 0) {
        tokens.push(symbol(","));
      }
      append(tokens, name, item, depth + 1);
    }
    tokens.push(symbol(")"));
    return;
  }
  if (content === null) {
    tokens.push(literal({ kind: "null" }));
  } else if (typeof content === "boolean") {
    tokens.push(literal({ kind: "boolean", value: content }));
  } else if (typeof content === "string") {
    tokens.push(literal({ kind: "string", value: stringToBytes(content) }));
  } else if (content instanceof Uint64) {
    tokens.push(literal({ kind: "uint64", value: content.value }));
  } else if (typeof content === "bigint") {
    if (content < 0n) {
      tokens.push(symbol("-"));
    }
    tokens.push(literal({ kind: "int64", value: content < 0n ? -content : content }));
  } else {
    if (content < 0) {
      tokens.push(symbol("-"));
    }
    tokens.push(literal({ kind: "double", value: Math.abs(content) }));
  }
}

function symbol(text: string): Token {
  return { kind: "symbol", text, start: 0, end: 0 };
}

function literal(value: LiteralValue): Token {
  return { kind: "literal", value, start: 0, end: 0 };
}
