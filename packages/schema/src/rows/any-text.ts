/**
 * Stored values of type any (binary YSON) as text YSON and as JSON, token by token: no tree is built, so that whatever
 * could be stored can be read, repeated keys too.
 */
import { YtError } from "@qyt/base";
import { doubleToText } from "@qyt/yson";
import { writeDecimal64 } from "./cell-row-writer.ts";
import { writeJsonString } from "./json-strings.ts";
import { tooDeep } from "./row-errors.ts";
import type { RowOutput } from "./row-output.ts";
import { writeQuotedYson } from "./yson-escapes.ts";
import { token, YsonLexer } from "./yson-lexer.ts";

const maxDepth = 1024;

/** Appends the node in `bytes[start, end)` as text YSON. @throws YtError 4000 when it is none */
export class YsonAnyToText {
  readonly #lexer = new YsonLexer();

  write(bytes: Buffer, view: DataView, start: number, end: number, output: RowOutput): void {
    this.#lexer.reset(bytes, view, end, true, 0);
    this.#node(start, output, 0);
  }

  #node(start: number, output: RowOutput, depth: number): number {
    const lexer = this.#lexer;
    const next = lexer.next(start);
    switch (lexer.kind) {
      case token.string:
        writeQuotedYson(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd, output);
        return next;
      case token.int64:
        writeDecimal64(lexer.low, lexer.high, false, output);
        return next;
      case token.uint64:
        writeDecimal64(lexer.low, lexer.high, true, output);
        output.byte(0x75);
        return next;
      case token.double:
        output.ascii(doubleToText(lexer.double));
        return next;
      case token.true:
        output.ascii("%true");
        return next;
      case token.false:
        output.ascii("%false");
        return next;
      case token.entity:
        output.byte(0x23);
        return next;
      case token.beginList:
        return this.#items(next, token.endList, 0x5b, 0x5d, output, depth + 1);
      case token.beginMap:
        return this.#items(next, token.endMap, 0x7b, 0x7d, output, depth + 1);
      case token.beginAttributes:
        return this.#node(
          this.#items(next, token.endAttributes, 0x3c, 0x3e, output, depth + 1),
          output,
          depth,
        );
      default:
        return lexer.fail("Expected a value", start);
    }
  }

  #items(
    start: number,
    closing: number,
    open: number,
    close: number,
    output: RowOutput,
    depth: number,
  ): number {
    const lexer = this.#lexer;
    if (depth > maxDepth) {
      throw tooDeep(maxDepth);
    }
    output.byte(open);
    let at = start;
    for (;;) {
      const next = lexer.next(at);
      if (lexer.is(closing)) {
        output.byte(close);
        return next;
      }
      if (closing !== token.endList) {
        if (!lexer.is(token.string)) {
          lexer.fail("Expected a key", at);
        }
        writeQuotedYson(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd, output);
        at = lexer.next(next);
        if (!lexer.is(token.equals)) {
          lexer.fail(`Expected "="`, next);
        }
        output.byte(0x3d);
      }
      at = endOfItem(lexer, this.#node(at, output, depth), closing);
      output.byte(0x3b);
    }
  }
}

/** Appends the node in `bytes[start, end)` as JSON. @throws YtError 4000 when it is none, and what JSON cannot carry */
export class YsonAnyToJson {
  readonly #lexer = new YsonLexer();
  readonly #encodeUtf8: boolean;
  readonly #isPlain: boolean;
  readonly #dropsAttributes: boolean;

  /** @param isPlain attributes are dropped and keys are left as they are */
  constructor(encodeUtf8: boolean, isPlain: boolean, dropsAttributes: boolean) {
    this.#encodeUtf8 = encodeUtf8;
    this.#isPlain = isPlain;
    this.#dropsAttributes = isPlain || dropsAttributes;
  }

  write(bytes: Buffer, view: DataView, start: number, end: number, output: RowOutput): void {
    this.#lexer.reset(bytes, view, end, true, 0);
    this.#node(start, output, 0);
  }

  #node(start: number, output: RowOutput, depth: number): number {
    const lexer = this.#lexer;
    const next = lexer.next(start);
    switch (lexer.kind) {
      case token.string:
        this.#string(output, lexer.stringStart);
        return next;
      case token.int64:
      case token.uint64:
        writeDecimal64(lexer.low, lexer.high, lexer.is(token.uint64), output);
        return next;
      case token.double:
        writeJsonDouble(lexer.double, output);
        return next;
      case token.true:
        output.ascii("true");
        return next;
      case token.false:
        output.ascii("false");
        return next;
      case token.entity:
        output.ascii("null");
        return next;
      case token.beginList:
        return this.#items(next, token.endList, 0x5b, 0x5d, output, depth + 1);
      case token.beginMap:
        return this.#items(next, token.endMap, 0x7b, 0x7d, output, depth + 1);
      case token.beginAttributes:
        return this.#attributed(next, output, depth);
      default:
        return lexer.fail("Expected a value", start);
    }
  }

  #attributed(start: number, output: RowOutput, depth: number): number {
    const before = output.length;
    output.ascii(`{"$attributes":`);
    const after = this.#items(start, token.endAttributes, 0x7b, 0x7d, output, depth + 1);
    if (this.#dropsAttributes) {
      output.length = before;
      return this.#node(after, output, depth);
    }
    output.ascii(`,"$value":`);
    const next = this.#node(after, output, depth);
    output.byte(0x7d);
    return next;
  }

  #items(
    start: number,
    closing: number,
    open: number,
    close: number,
    output: RowOutput,
    depth: number,
  ): number {
    const lexer = this.#lexer;
    if (depth > maxDepth) {
      throw tooDeep(maxDepth);
    }
    output.byte(open);
    let at = start;
    for (let isFirst = true; ; isFirst = false) {
      const next = lexer.next(at);
      if (lexer.is(closing)) {
        output.byte(close);
        return next;
      }
      if (!isFirst) {
        output.byte(0x2c);
      }
      if (closing !== token.endList) {
        if (!lexer.is(token.string)) {
          lexer.fail("Expected a key", at);
        }
        this.#key(output);
        at = lexer.next(next);
        if (!lexer.is(token.equals)) {
          lexer.fail(`Expected "="`, next);
        }
        output.byte(0x3a);
      }
      at = endOfItem(lexer, this.#node(at, output, depth), closing);
    }
  }

  #key(output: RowOutput): void {
    const lexer = this.#lexer;
    const isSpecial = lexer.stringStart < lexer.stringEnd && lexer.stringBytes[lexer.stringStart] === 0x24;
    const before = output.length;
    this.#string(output, lexer.stringStart);
    if (isSpecial && !this.#isPlain) {
      output.byte(0);
      output.bytes.copyWithin(before + 2, before + 1, output.length - 1);
      output.bytes[before + 1] = 0x24;
    }
  }

  #string(output: RowOutput, start: number): void {
    const lexer = this.#lexer;
    writeJsonString(lexer.stringBytes, lexer.stringView, start, lexer.stringEnd, this.#encodeUtf8, output);
  }
}

/** Appends a double with a point or an exponent. @throws YtError for NaN and infinities */
export function writeJsonDouble(value: number, output: RowOutput): void {
  if (!Number.isFinite(value)) {
    throw new YtError(
      "Unexpected NaN or infinity encountered during JSON writing; consider using `stringify_nan_and_infinity` option",
    );
  }
  const text = Object.is(value, -0) ? "-0" : String(value);
  output.ascii(/[.e]/.test(text) ? text : `${text}.0`);
}

/** The position after the separator that follows an item, if one does. */
function endOfItem(lexer: YsonLexer, at: number, closing: number): number {
  const next = lexer.next(at);
  if (lexer.is(token.semicolon)) {
    return next;
  }
  if (!lexer.is(closing)) {
    lexer.fail("Expected a separator", at);
  }
  return at;
}
