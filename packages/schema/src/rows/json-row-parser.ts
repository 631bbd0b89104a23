/**
 * Rows from a sequence of JSON objects into a sink. What has `$value`, `$attributes` or `$type` in it goes the slow way,
 * over a tree.
 * Specified in: yt/yt/core/json/json_parser.cpp, json_callbacks.cpp.
 */
import {
  Attributed,
  isMap,
  limits,
  toYtError,
  Uint64,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type JsonOptions, parseJson, stringToBytes, writeYson } from "@qyt/yson";
import { ChunkedInput, needMoreInput } from "./chunked-input.ts";
import { JsonLexer } from "./json-lexer.ts";
import { writeJsonString } from "./json-strings.ts";
import { mapExpected, tooDeep, topLevelAttributes } from "./row-errors.ts";
import { highWord, lowWord, RowOutput, viewOf } from "./row-output.ts";
import type { RowSink } from "./row-sink.ts";
import { checkControlAttribute } from "./yson-row-parser.ts";

/** Thrown, always the same object, where a key begins with a single `$`. */
class SpecialKey extends Error {
  override readonly name = "SpecialKey";
}

const specialKey = new SpecialKey("A key begins with a single $");

/** How a column's name stands between the quotes of a JSON key. */
export function spellJsonName(options: JsonOptions): (name: Buffer) => Buffer {
  return (name) => {
    const spelled =
      name[0] === 0x24 && options.plain !== true ? Buffer.concat([Buffer.from("$"), name]) : name;
    const output = new RowOutput(spelled.length * 2 + 8);
    try {
      writeJsonString(spelled, viewOf(spelled), 0, spelled.length, options.encodeUtf8 ?? true, output);
    } catch {
      return name; // A name that is no UTF-8 cannot be spelled; it is never matched either.
    }
    return output.take().subarray(1, -1);
  };
}

export class JsonRowParser extends ChunkedInput {
  readonly #sink: RowSink;
  readonly #options: JsonOptions;
  readonly #isPlain: boolean;
  readonly #lexer: JsonLexer;
  readonly #maxDepth: number;

  constructor(
    sink: RowSink,
    json: JsonOptions,
    options: { readonly maxRowBytes: number; readonly maxDepth?: number },
  ) {
    super(options.maxRowBytes);
    this.#sink = sink;
    this.#options = json;
    this.#isPlain = json.plain === true;
    this.#lexer = new JsonLexer(json.encodeUtf8 ?? true);
    this.#maxDepth = Math.min(
      options.maxDepth ?? limits.maxYsonDepth,
      json.nestingLevelLimit ?? limits.maxJsonDepth,
    );
  }

  /** Ends the input. */
  finishInput(): void {
    this.endOfInput();
  }

  protected override parse(isLast: boolean): void {
    const lexer = this.#lexer;
    lexer.reset(this.bytes, this.view, this.end, isLast, this.streamOffset);
    let start = 0;
    try {
      for (;;) {
        start = lexer.skipSpace(start);
        if (start >= this.end) {
          break;
        }
        if (this.bytes[start] === 0x7b) {
          start = this.#row(start);
        } else {
          this.#checkNoRow(start);
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

  #row(start: number): number {
    try {
      return this.#fastRow(start + 1);
    } catch (thrown) {
      if (thrown !== specialKey) {
        throw thrown;
      }
    }
    this.#sink.dropRow();
    const end = this.#lexer.skipValue(start);
    this.#slowRow(parseJson(this.bytes.subarray(start, end), this.#options));
    return end;
  }

  #fastRow(start: number): number {
    const lexer = this.#lexer;
    const sink = this.#sink;
    const bytes = this.bytes;
    sink.beginRow();
    let at = lexer.required(start);
    if (bytes[at] === 0x7d) {
      sink.endRow();
      return at + 1;
    }
    for (;;) {
      if (bytes[at] !== 0x22) {
        lexer.fail("A key is expected", at);
      }
      const matched = sink.matchColumn(bytes, at + 1, this.end, 0x22);
      if (matched >= 0) {
        sink.selectMatched();
        at = matched;
      } else {
        at = lexer.string(at + 1);
        const keyStart = this.#keyStart();
        sink.selectColumn(lexer.stringBytes, keyStart, lexer.stringEnd);
      }
      at = lexer.required(at);
      if (bytes[at] !== 0x3a) {
        lexer.fail("A colon is expected after a key", at);
      }
      at = lexer.required(this.#value(lexer.required(at + 1)));
      const byte = bytes[at];
      if (byte === 0x7d) {
        sink.endRow();
        return at + 1;
      }
      if (byte !== 0x2c) {
        lexer.fail(`"," or "}" is expected after a value`, at);
      }
      at = lexer.required(at + 1);
    }
  }

  /** Start of the key the lexer has just read, without the `$` that was doubled. */
  #keyStart(): number {
    const { stringBytes, stringStart, stringEnd } = this.#lexer;
    if (this.#isPlain || stringStart === stringEnd || stringBytes[stringStart] !== 0x24) {
      return stringStart;
    }
    if (stringStart + 1 < stringEnd && stringBytes[stringStart + 1] === 0x24) {
      return stringStart + 1;
    }
    throw specialKey;
  }

  #value(start: number): number {
    const lexer = this.#lexer;
    const sink = this.#sink;
    const byte = this.bytes[start] ?? 0;
    switch (byte) {
      case 0x22: {
        const quote = lexer.plainStringEnd(start + 1);
        if (quote >= 0) {
          sink.putString(this.bytes, this.view, start + 1, quote);
          return quote + 1;
        }
        const next = lexer.string(start + 1);
        sink.putString(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd);
        return next;
      }
      case 0x74:
        lexer.literal(start, "true");
        sink.putBoolean(true);
        return start + 4;
      case 0x66:
        lexer.literal(start, "false");
        sink.putBoolean(false);
        return start + 5;
      case 0x6e:
        lexer.literal(start, "null");
        sink.putNull();
        return start + 4;
      case 0x7b:
      case 0x5b: {
        // The value may turn out to be a scalar in disguise, which only the slow way knows.
        if (byte === 0x7b && !this.#isPlain) {
          this.#checkFirstKey(start + 1);
        }
        sink.beginAny();
        const next = this.#composite(start, 2);
        sink.endAny();
        return next;
      }
      default: {
        const next = lexer.number(start);
        if (lexer.isDouble) {
          sink.putDouble(lexer.double);
        } else if (lexer.isUnsigned) {
          sink.putUint64(lexer.low, lexer.high);
        } else {
          sink.putInt64(lexer.low, lexer.high);
        }
        return next;
      }
    }
  }

  #checkFirstKey(start: number): void {
    const at = this.#lexer.required(start);
    if (this.bytes[at] === 0x22) {
      this.#lexer.string(at + 1);
      this.#keyStart();
    }
  }

  /** Rewrites the value at `start` as binary YSON. */
  #node(start: number, depth: number): number {
    const lexer = this.#lexer;
    const output = this.#sink.output;
    switch (this.bytes[start]) {
      case 0x22: {
        const next = lexer.string(start + 1);
        output.string(lexer.stringBytes, lexer.stringView, lexer.stringStart, lexer.stringEnd);
        return next;
      }
      case 0x74:
        output.byte(0x05);
        return lexer.literal(start, "true");
      case 0x66:
        output.byte(0x04);
        return lexer.literal(start, "false");
      case 0x6e:
        output.byte(0x23);
        return lexer.literal(start, "null");
      case 0x7b:
      case 0x5b:
        return this.#composite(start, depth + 1);
      default: {
        const next = lexer.number(start);
        if (lexer.isDouble) {
          output.byte(0x03);
          output.double(lexer.double);
        } else if (lexer.isUnsigned) {
          output.byte(0x06);
          output.varint64(lexer.low, lexer.high);
        } else {
          output.byte(0x02);
          output.zigzag64(lexer.low, lexer.high);
        }
        return next;
      }
    }
  }

  #composite(start: number, depth: number): number {
    const lexer = this.#lexer;
    const output = this.#sink.output;
    const bytes = this.bytes;
    if (depth > this.#maxDepth) {
      throw tooDeep(this.#maxDepth);
    }
    const isMap = bytes[start] === 0x7b;
    const closing = isMap ? 0x7d : 0x5d;
    output.byte(isMap ? 0x7b : 0x5b);
    let at = lexer.required(start + 1);
    if (bytes[at] === closing) {
      output.byte(closing);
      return at + 1;
    }
    for (;;) {
      if (isMap) {
        if (bytes[at] !== 0x22) {
          lexer.fail("A key is expected", at);
        }
        at = lexer.string(at + 1);
        output.string(lexer.stringBytes, lexer.stringView, this.#keyStart(), lexer.stringEnd);
        output.byte(0x3d);
        at = lexer.required(at);
        if (bytes[at] !== 0x3a) {
          lexer.fail("A colon is expected after a key", at);
        }
        at = lexer.required(at + 1);
      }
      at = lexer.required(this.#node(at, depth));
      output.byte(0x3b);
      if (bytes[at] === closing) {
        output.byte(closing);
        return at + 1;
      }
      if (bytes[at] !== 0x2c) {
        lexer.fail("A comma or the end of an array or object is expected", at);
      }
      at = lexer.required(at + 1);
    }
  }

  /** A row that needs a tree. */
  #slowRow(value: YsonValue): void {
    if (value instanceof Attributed) {
      if (value.value !== null) {
        throw new YtError("Invalid control attributes syntax, entity expected");
      }
      for (const [name, attribute] of value.attributes) {
        checkControlAttribute(name, attribute === 0n);
      }
      return;
    }
    if (!isMap(value)) {
      throw mapExpected();
    }
    putRow(this.#sink, value);
  }

  #checkNoRow(start: number): never {
    const byte = this.bytes[start] ?? 0;
    // What cannot start a value is a syntax error, everything else a row of a wrong kind.
    if (byte === 0x22 || byte === 0x5b || byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      throw mapExpected();
    }
    this.#lexer.literal(start, byte === 0x74 ? "true" : byte === 0x66 ? "false" : "null");
    throw mapExpected();
  }
}

/** Puts a row that is a tree into a sink. */
export function putRow(sink: RowSink, row: YsonMap): void {
  sink.beginRow();
  for (const [name, value] of row) {
    const bytes = stringToBytes(name);
    sink.selectColumn(bytes, 0, bytes.length);
    putNode(sink, value);
  }
  sink.endRow();
}

function putNode(sink: RowSink, value: YsonValue): void {
  if (value === null) {
    sink.putNull();
  } else if (typeof value === "boolean") {
    sink.putBoolean(value);
  } else if (typeof value === "bigint") {
    sink.putInt64(lowWord(value), highWord(value));
  } else if (value instanceof Uint64) {
    sink.putUint64(lowWord(value.value), highWord(value.value));
  } else if (typeof value === "number") {
    sink.putDouble(value);
  } else if (typeof value === "string") {
    const bytes = stringToBytes(value);
    sink.putString(bytes, viewOf(bytes), 0, bytes.length);
  } else if (value instanceof Attributed) {
    throw topLevelAttributes();
  } else {
    sink.beginAny();
    const bytes = writeYson(value, "binary");
    sink.output.copy(bytes, viewOf(bytes), 0, bytes.length);
    sink.endAny();
  }
}
