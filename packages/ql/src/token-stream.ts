/** A cursor over the tokens of a query, with the small moves every part of the parser needs. */
import { defined } from "@qyt/base";
import { unexpectedToken } from "./errors.ts";
import type { Token } from "./tokens.ts";

export class TokenStream {
  readonly text: string;
  readonly #tokens: readonly Token[];
  #position = 0;
  #lastEnd = 0;

  /** `tokens` end with the end token. */
  constructor(text: string, tokens: readonly Token[]) {
    this.text = text;
    this.#tokens = tokens;
  }

  /** The next token; the end token again and again at the end. */
  peek(offset = 0): Token {
    const index = Math.min(this.#position + offset, this.#tokens.length - 1);
    return defined(this.#tokens[index], "token");
  }

  next(): Token {
    const token = this.peek();
    this.#position += 1;
    this.#lastEnd = token.end;
    return token;
  }

  /** Where the last token taken ends in the text. */
  get lastEnd(): number {
    return this.#lastEnd;
  }

  isKeyword(text: string, offset = 0): boolean {
    const token = this.peek(offset);
    return token.kind === "keyword" && token.text === text;
  }

  isSymbol(text: string, offset = 0): boolean {
    const token = this.peek(offset);
    return token.kind === "symbol" && token.text === text;
  }

  /** Whether the next token is this unquoted word, which is no keyword. */
  isWord(text: string, offset = 0): boolean {
    const token = this.peek(offset);
    return token.kind === "name" && !token.quoted && token.text.toLowerCase() === text;
  }

  takeKeyword(text: string): boolean {
    return this.isKeyword(text) && this.#skip();
  }

  takeSymbol(text: string): boolean {
    return this.isSymbol(text) && this.#skip();
  }

  expectKeyword(text: string): void {
    if (!this.takeKeyword(text)) {
      throw this.unexpected(`keyword \`${text.toUpperCase()}\``);
    }
  }

  expectSymbol(text: string): void {
    if (!this.takeSymbol(text)) {
      throw this.unexpected(`\`${text}\``);
    }
  }

  expectName(): string {
    const token = this.peek();
    if (token.kind !== "name") {
      throw this.unexpected("identifier");
    }
    this.next();
    return token.text;
  }

  unexpected(expected?: string): Error {
    return unexpectedToken(this.peek(), this.text, expected);
  }

  #skip(): true {
    this.next();
    return true;
  }
}
