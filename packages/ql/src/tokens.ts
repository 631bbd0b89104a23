/**
 * The words of the query language.
 *
 * Specified in: yt/yt/library/query/base/lexer.rl6.
 */

/** Words that cannot be names unless quoted. Compared in lower case. */
export const keywords: ReadonlySet<string> = new Set([
  "select",
  "from",
  "where",
  "having",
  "offset",
  "limit",
  "join",
  "using",
  "asc",
  "desc",
  "left",
  "as",
  "on",
  "and",
  "or",
  "is",
  "not",
  "null",
  "between",
  "in",
  "transform",
  "case",
  "when",
  "then",
  "else",
  "end",
  "like",
  "ilike",
  "rlike",
  "regexp",
  "escape",
  "false",
  "true",
]);

/** Keywords of two words: only the pair is reserved, each word alone is a name. */
export const keywordPairs: ReadonlyMap<string, readonly string[]> = new Map([
  ["group", ["by"]],
  ["order", ["by"]],
  ["with", ["index", "totals"]],
]);

/** A literal as written. Integers keep their text's value, which may exceed int64. */
export type LiteralValue =
  | { readonly kind: "null" }
  | { readonly kind: "int64"; readonly value: bigint }
  | { readonly kind: "uint64"; readonly value: bigint }
  | { readonly kind: "double"; readonly value: number }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "string"; readonly value: Uint8Array };

/** `start` and `end` are offsets in the query text. */
export type Token = { readonly start: number; readonly end: number } & (
  | { readonly kind: "keyword"; readonly text: string }
  | { readonly kind: "name"; readonly text: string; readonly quoted: boolean }
  | { readonly kind: "literal"; readonly value: LiteralValue }
  | { readonly kind: "symbol"; readonly text: string }
  | { readonly kind: "end" }
);

/** A token as named in a syntax error. */
export function describeToken(token: Token): string {
  switch (token.kind) {
    case "keyword":
      return `keyword \`${token.text.toUpperCase()}\``;
    case "name":
      return "identifier";
    case "literal":
      return `${token.value.kind} literal`;
    case "symbol":
      return `\`${token.text}\``;
    case "end":
      return "end of stream";
  }
}
