/**
 * Rows from a YSON list fragment, text and binary freely mixed, into a sink.
 * Specified in: yt/yt/client/table_client/table_consumer.cpp.
 */
import { toYtError, YtError } from "@qyt/base";
import { bytesToString } from "@qyt/yson";
import { ChunkedInput, needMoreInput } from "./chunked-input.ts";
import { mapExpected, tooDeep, topLevelAttributes } from "./row-errors.ts";
import type { RowSink } from "./row-sink.ts";
import { isIdentifierByte, token, YsonLexer } from "./yson-lexer.ts";

export class YsonRowParser extends ChunkedInput {
  readonly #sink: RowSink;
  readonly #lexer = new YsonLexer();
  readonly #maxDepth: number;
  #isAfterItem = false;
  #isEnded = false;

  constructor(sink: RowSink, options: { readonly maxRowBytes: number; readonly maxDepth: number }) {
    super(options.maxRowBytes);
    this.#sink = sink;
    this.#maxDepth = options.maxDepth;
  }

  protected override parse(isLast: boolean): void {
    const lexer = this.#lexer;
    const bytes = this.bytes;
    lexer.reset(bytes, this.view, this.end, isLast, this.streamOffset);
    let start = 0;
    try {
      for (;;) {
        start = lexer.skipSpace(start);
        if (this.#isEnded || start >= this.end) {
          start = this.end;
          break;
        }
        const byte = bytes[start] ?? 0;
        if (byte === 0) {
          this.#isEnded = true; // A NUL outside of strings ends the input.
        } else if (this.#isAfterItem) {
          if (byte !== 0x3b) {
            lexer.fail(`Expected ";" between rows`, start);
          }
          this.#isAfterItem = false;
          start++;
        } else if (byte === 0x7b) {
          start = this.#row(start + 1);
          this.#isAfterItem = true;
        } else {
          start = this.#controlItem(start);
          this.#isAfterItem = true;
        }
      }
    } catch (thrown) {
      this.#sink.dropRow();
      if (thrown !== needMoreInput) {
        throw toYtError(thrown).withAttributes({ row_index: BigInt(this.#sink.rowIndex) });
      }
    }
    this.position = start;
  }

  /** The row whose brace was before `start`; gives the position after its closing brace. */
  #row(start: number): number {
    const lexer = this.#lexer;
    const sink = this.#sink;
    const bytes = this.bytes;
    const end = this.end;
    sink.beginRow();
    let at = start;
    for (;;) {
      at = lexer.skipSpace(at);
      if (at >= end) {
        lexer.endReached();
      }
      const byte = bytes[at] ?? 0;
      if (byte === 0x7d) {
        break;
      }
      at = this.#key(at, byte);
      if (bytes[at] !== 0x3d || at >= end) {
        at = lexer.skipSpace(at);
        if (at >= end) {
          lexer.endReached();
        }
        if (bytes[at] !== 0x3d) {
          lexer.fail(`Expected "=" after a column name`, at);
        }
      }
      at = this.#value(at + 1);
      at = lexer.skipSpace(at);
      if (at >= end) {
        lexer.endReached();
      }
      if (bytes[at] === 0x3b) {
        at++;
      } else if (bytes[at] !== 0x7d) {
        lexer.fail(`Expected ";" or "}" after a value`, at);
      }
    }
    sink.endRow();
    return at + 1;
  }

  #key(at: number, byte: number): number {
    const lexer = this.#lexer;
    const sink = this.#sink;
    if (byte === 0x22) {
      const next = sink.matchColumn(this.bytes, at + 1, this.end, 0x22);
      if (next >= 0) {
        sink.selectMatched();
        return next;
      }
    } else if (byte === 0x01) {
      const next = sink.matchColumn(this.bytes, at + 2, this.end, 0x3d) - 1;
      if (next >= 0 && this.bytes[at + 1] === (next - at - 2) * 2) {
        sink.selectMatched();
        return next;
      }
    } else if (!isIdentifierByte(byte)) {
      lexer.fail("Expected a column name", at);
    }
    const next = lexer.next(at);
    if (!lexer.is(token.string)) {
      lexer.fail("Expected a column name", at);
    }
    sink.selectColumn(lexer.stringBytes, lexer.stringStart, lexer.stringEnd);
    return next;
  }

  #value(start: number): number {
    const lexer = this.#lexer;
    const sink = this.#sink;
    const bytes = this.bytes;
    if (start < this.end && bytes[start] === 0x22) {
      const quote = lexer.plainStringEnd(start + 1);
      if (quote >= 0) {
        sink.putString(bytes, this.view, start + 1, quote);
        return quote + 1;
      }
    }
    const next = lexer.next(start);
    switch (lexer.kind) {
      case token.string:
        sink.putString(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd);
        return next;
      case token.int64:
        sink.putInt64(lexer.low, lexer.high);
        return next;
      case token.uint64:
        sink.putUint64(lexer.low, lexer.high);
        return next;
      case token.double:
        sink.putDouble(lexer.double);
        return next;
      case token.true:
        sink.putBoolean(true);
        return next;
      case token.false:
        sink.putBoolean(false);
        return next;
      case token.entity:
        sink.putNull();
        return next;
      case token.beginList:
      case token.beginMap: {
        sink.beginAny();
        const after = this.#composite(next, lexer.kind, 2);
        sink.endAny();
        return after;
      }
      case token.beginAttributes: {
        // An empty attribute map is none.
        const after = lexer.next(next);
        if (!lexer.is(token.endAttributes)) {
          throw topLevelAttributes();
        }
        const value = lexer.skipSpace(after);
        if (value < this.end && this.bytes[value] === 0x3c) {
          lexer.fail("Repeated attributes", value);
        }
        return this.#value(after);
      }
      default:
        return lexer.fail("Expected a value", start);
    }
  }

  /** Rewrites the node at `start` as binary YSON. */
  #node(start: number, depth: number): number {
    const lexer = this.#lexer;
    const output = this.#sink.output;
    const next = lexer.next(start);
    switch (lexer.kind) {
      case token.string:
        this.#writeString();
        return next;
      case token.int64:
        output.byte(0x02);
        output.zigzag64(lexer.low, lexer.high);
        return next;
      case token.uint64:
        output.byte(0x06);
        output.varint64(lexer.low, lexer.high);
        return next;
      case token.double:
        output.byte(0x03);
        output.double(lexer.double);
        return next;
      case token.true:
        output.byte(0x05);
        return next;
      case token.false:
        output.byte(0x04);
        return next;
      case token.entity:
        output.byte(0x23);
        return next;
      case token.beginList:
      case token.beginMap:
        return this.#composite(next, lexer.kind, depth + 1);
      case token.beginAttributes: {
        const before = output.length;
        const after = this.#composite(next, token.beginAttributes, depth + 1);
        if (output.length === before + 2) {
          output.length = before; // An empty attribute map is none.
        }
        const value = lexer.skipSpace(after);
        if (value < this.end && this.bytes[value] === 0x3c) {
          lexer.fail("Repeated attributes", value);
        }
        return this.#node(after, depth);
      }
      default:
        return lexer.fail("Expected a value", start);
    }
  }

  #writeString(): void {
    const lexer = this.#lexer;
    const output = this.#sink.output;
    output.string(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd);
  }

  /** A list, map or attribute map whose opening bracket was before `start`. */
  #composite(start: number, opening: number, depth: number): number {
    const lexer = this.#lexer;
    const output = this.#sink.output;
    if (depth > this.#maxDepth) {
      throw tooDeep(this.#maxDepth);
    }
    const isList = opening === token.beginList;
    const closing = isList ? token.endList : opening === token.beginMap ? token.endMap : token.endAttributes;
    const closingByte = isList ? 0x5d : opening === token.beginMap ? 0x7d : 0x3e;
    output.byte(isList ? 0x5b : opening === token.beginMap ? 0x7b : 0x3c);
    let at = start;
    for (;;) {
      at = lexer.skipSpace(at);
      if (at >= this.end) {
        lexer.endReached();
      }
      if (this.bytes[at] === closingByte) {
        break;
      }
      if (!isList) {
        at = lexer.next(at);
        if (!lexer.is(token.string)) {
          lexer.fail("Expected a key", at);
        }
        this.#writeString();
        at = lexer.next(at);
        if (!lexer.is(token.equals)) {
          lexer.fail(`Expected "=" after a key`, at);
        }
        output.byte(0x3d);
      }
      at = this.#node(at, depth);
      output.byte(0x3b);
      const next = lexer.next(at);
      if (lexer.is(token.semicolon)) {
        at = next;
      } else if (!lexer.is(closing)) {
        lexer.fail("Expected a separator or the end of a list or map", at);
      }
    }
    output.byte(closingByte);
    return at + 1;
  }

  /** An item that is no map: `<table_index=0>#` is allowed, everything else is an error. */
  #controlItem(start: number): number {
    const lexer = this.#lexer;
    let at = lexer.next(start);
    if (lexer.is(token.endList) || lexer.is(token.endMap) || lexer.kind >= token.endAttributes) {
      lexer.fail("Expected a row", start);
    }
    if (!lexer.is(token.beginAttributes)) {
      throw mapExpected();
    }
    at = lexer.next(at);
    if (lexer.is(token.endAttributes)) {
      throw new YtError("Too few control attributes per record: at least one attribute is required");
    }
    while (!lexer.is(token.endAttributes)) {
      if (!lexer.is(token.string)) {
        lexer.fail("Expected a control attribute", at);
      }
      const name = bytesToString(lexer.stringBytes, lexer.stringStart, lexer.stringEnd);
      at = lexer.next(at);
      if (!lexer.is(token.equals)) {
        lexer.fail(`Expected "=" after a control attribute`, at);
      }
      at = lexer.next(at);
      checkControlAttribute(name, lexer.is(token.int64) && lexer.low === 0 && lexer.high === 0);
      at = lexer.next(at);
      if (lexer.is(token.semicolon)) {
        at = lexer.next(at);
      } else if (!lexer.is(token.endAttributes)) {
        lexer.fail("Expected the end of the control attributes", at);
      }
    }
    at = lexer.next(at);
    if (!lexer.is(token.entity)) {
      throw new YtError("Invalid control attributes syntax, entity expected");
    }
    return at;
  }

  /** Ends the input. */
  finishInput(): void {
    this.endOfInput();
  }
}

/** @throws YtError unless the control attribute is the index of the only table */
export function checkControlAttribute(name: string, isZero: boolean): void {
  if (name !== "table_index") {
    throw new YtError(`Control attribute "${name}" is not supported`);
  }
  if (!isZero) {
    throw new YtError("Invalid table index, expected 0");
  }
}
