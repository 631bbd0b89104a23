/**
 * Query text → tokens. Placeholders are replaced here by the tokens of their values.
 *
 * Specified in: yt/yt/library/query/base/lexer.rl6.
 */
import { YtError } from "@qyt/base";
import { parseError } from "./errors.ts";
import { unescapeBytes, unescapeText } from "./escapes.ts";
import type { ResolvedQueryOptions } from "./options.ts";
import { placeholderTokens } from "./placeholders.ts";
import { keywordPairs, keywords, type LiteralValue, type Token } from "./tokens.ts";

const spacePattern = /[ \t\r\n\v\f]*/y;
const namePattern = /[A-Za-z_][A-Za-z0-9_]*/y;
const integerPattern = /[0-9]+u?/y;
const doublePattern = /(?:[0-9]*\.[0-9]+|[0-9]+\.[0-9]*|[0-9]+(?=[eE][+-]?[0-9]))(?:[eE][+-]?[0-9]+)?/y;
const placeholderPattern = /\{([A-Za-z_][A-Za-z0-9_]*)\}/y;
const ysonBooleanPattern = /%(true|false)(?![A-Za-z0-9_])/iy;
const symbolPattern = /<=|>=|!=|<>|<<|>>|\|\||[()*,<=>+\-/%.|&~]/y;
const maxUint64 = (1n << 64n) - 1n;
const maxInt64 = (1n << 63n) - 1n;

/** @throws YtError `Error while parsing query: …`; `Placeholder was not found` */
export function tokenize(text: string, options: ResolvedQueryOptions): Token[] {
  return new Lexer(text, options).run();
}

class Lexer {
  readonly #text: string;
  readonly #options: ResolvedQueryOptions;
  readonly #tokens: Token[] = [];
  #position = 0;

  constructor(text: string, options: ResolvedQueryOptions) {
    this.#text = text;
    this.#options = options;
  }

  run(): Token[] {
    for (;;) {
      this.#take(spacePattern);
      if (this.#position >= this.#text.length) {
        this.#tokens.push({ kind: "end", start: this.#text.length, end: this.#text.length });
        return this.#tokens;
      }
      this.#next();
    }
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#position;
    const match = pattern.exec(this.#text);
    if (match === null) {
      return undefined;
    }
    this.#position = pattern.lastIndex;
    return match;
  }

  #next(): void {
    const start = this.#position;
    const first = this.#text.charAt(start);
    if (/[A-Za-z_]/.test(first)) {
      this.#word(start);
    } else if (first === '"' || first === "'") {
      const value = unescapeBytes(this.#quoted(first));
      this.#literal(start, { kind: "string", value });
    } else if (first === "`") {
      const name = unescapeText(this.#quoted(first));
      this.#tokens.push({ kind: "name", text: name, quoted: true, start, end: this.#position });
    } else if (first === "[") {
      this.#bracket(start);
    } else if (first === "{") {
      this.#placeholder(start);
    } else if (first === "#") {
      this.#position += 1;
      this.#literal(start, { kind: "null" });
    } else if (/[0-9.]/.test(first)) {
      this.#number(start);
    } else {
      this.#symbol(start);
    }
  }

  #literal(start: number, value: LiteralValue): void {
    this.#tokens.push({ kind: "literal", value, start, end: this.#position });
  }

  #word(start: number): void {
    const word = this.#take(namePattern)?.[0] ?? "";
    const lower = word.toLowerCase();
    if (lower === "null") {
      this.#literal(start, { kind: "null" });
      return;
    }
    if (lower === "true" || lower === "false") {
      this.#literal(start, { kind: "boolean", value: lower === "true" });
      return;
    }
    const seconds = keywordPairs.get(lower);
    if (seconds !== undefined) {
      const afterFirst = this.#position;
      const space = this.#take(spacePattern)?.[0] ?? "";
      const second = this.#take(namePattern)?.[0].toLowerCase();
      if (space !== "" && second !== undefined && seconds.includes(second)) {
        this.#tokens.push({ kind: "keyword", text: `${lower} ${second}`, start, end: this.#position });
        return;
      }
      this.#position = afterFirst;
    }
    if (keywords.has(lower)) {
      this.#tokens.push({ kind: "keyword", text: lower, start, end: this.#position });
      return;
    }
    this.#tokens.push({ kind: "name", text: word, quoted: false, start, end: this.#position });
  }

  /** The raw text between quotes; the position ends behind the closing one. */
  #quoted(quote: string): string {
    const start = this.#position;
    let index = start + 1;
    while (index < this.#text.length) {
      const unit = this.#text.charAt(index);
      if (unit === "\\") {
        index += 2;
      } else if (unit === quote) {
        this.#position = index + 1;
        return this.#text.slice(start + 1, index);
      } else {
        index += 1;
      }
    }
    throw parseError("unterminated quotation", this.#text, start, this.#text.length);
  }

  #bracket(start: number): void {
    if (this.#options.syntaxVersion >= 2) {
      this.#position += 1;
      this.#tokens.push({ kind: "symbol", text: "[", start, end: this.#position });
      return;
    }
    let depth = 0;
    for (let index = start; index < this.#text.length; index += 1) {
      const unit = this.#text.charCodeAt(index);
      if (unit === 0x5b) {
        depth += 1;
      } else if (unit === 0x5d) {
        depth -= 1;
        if (depth === 0) {
          this.#position = index + 1;
          const name = this.#text.slice(start + 1, index);
          this.#tokens.push({ kind: "name", text: name, quoted: true, start, end: this.#position });
          return;
        }
      }
    }
    throw parseError("unterminated bracket", this.#text, start, this.#text.length);
  }

  #placeholder(start: number): void {
    const name = this.#take(placeholderPattern)?.[1];
    if (name === undefined) {
      throw parseError("syntax error, unexpected `{`", this.#text, start, start + 1);
    }
    const value = this.#options.placeholderValues.get(name);
    if (value === undefined) {
      throw new YtError("Placeholder was not found", { attributes: { name } });
    }
    for (const token of placeholderTokens(name, value)) {
      this.#tokens.push({ ...token, start, end: this.#position });
    }
  }

  #number(start: number): void {
    const double = this.#take(doublePattern);
    if (double !== undefined) {
      this.#literal(start, { kind: "double", value: Number(double[0]) });
      return;
    }
    const integer = this.#take(integerPattern)?.[0];
    if (integer === undefined) {
      this.#symbol(start);
      return;
    }
    const unsigned = integer.endsWith("u");
    const digits = unsigned ? integer.slice(0, -1) : integer;
    // A literal of more than 20 digits is not even converted: the text may be megabytes of them.
    const value = digits.replace(/^0+/, "").length > 20 ? maxUint64 + 1n : BigInt(digits);
    if (value > maxUint64) {
      throw parseError("integer literal is out of range", this.#text, start, this.#position);
    }
    this.#literal(start, { kind: unsigned || value > maxInt64 ? "uint64" : "int64", value });
  }

  #symbol(start: number): void {
    const boolean = this.#take(ysonBooleanPattern);
    if (boolean !== undefined) {
      this.#literal(start, { kind: "boolean", value: boolean[1]?.toLowerCase() === "true" });
      return;
    }
    const symbol = this.#take(symbolPattern)?.[0];
    if (symbol === undefined) {
      if (this.#options.syntaxVersion >= 2 && this.#text.charAt(start) === "]") {
        this.#position += 1;
        this.#tokens.push({ kind: "symbol", text: "]", start, end: this.#position });
        return;
      }
      throw parseError("syntax error, unexpected lexer failure", this.#text, start, start + 1);
    }
    this.#tokens.push({ kind: "symbol", text: symbol, start, end: this.#position });
  }
}
