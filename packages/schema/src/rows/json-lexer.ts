/**
 * Strings and numbers of JSON out of a buffer that may break off anywhere. Results are in the fields of the lexer.
 * Specified in: yt/yt/core/json/json_parser.cpp (yajl underneath).
 */
import { isUtf8 } from "node:buffer";
import { YtError } from "@qyt/base";
import { needMoreInput } from "./chunked-input.ts";
import { jsonSyntax } from "./row-errors.ts";
import { RowOutput, viewOf } from "./row-output.ts";

const two32 = 0x1_0000_0000;

export class JsonLexer {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = viewOf(this.bytes);
  end = 0;
  isLast = false;
  streamOffset = 0;

  stringBytes: Buffer = this.bytes;
  stringView: DataView = this.view;
  stringStart = 0;
  stringEnd = 0;

  /** Of the last number. */
  isDouble = false;
  isUnsigned = false;
  low = 0;
  high = 0;
  double = 0;

  readonly #encodeUtf8: boolean;
  readonly #unescaped = new RowOutput(256);

  /** @param encodeUtf8 each character U+0000…U+00FF stands for one byte */
  constructor(encodeUtf8: boolean) {
    this.#encodeUtf8 = encodeUtf8;
  }

  reset(bytes: Buffer, view: DataView, end: number, isLast: boolean, streamOffset: number): void {
    this.bytes = bytes;
    this.view = view;
    this.end = end;
    this.isLast = isLast;
    this.streamOffset = streamOffset;
  }

  fail(reason: string, position: number): never {
    throw jsonSyntax(reason, this.streamOffset + position);
  }

  endReached(): never {
    if (this.isLast) {
      this.fail("Premature end of input", this.end);
    }
    throw needMoreInput;
  }

  /** The position of the next byte that is no whitespace, possibly `end`. */
  skipSpace(position: number): number {
    const bytes = this.bytes;
    let next = position;
    while (next < this.end) {
      const byte = bytes[next] ?? 0;
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) {
        break;
      }
      next++;
    }
    return next;
  }

  /** The next byte after whitespace; there must be one. */
  required(position: number): number {
    const next = this.skipSpace(position);
    if (next >= this.end) {
      this.endReached();
    }
    return next;
  }

  /** The closing quote of the string that begins at `start`, if only plain ASCII is before it; else -1. */
  plainStringEnd(start: number): number {
    const view = this.view;
    const end = this.end;
    const lastWord = end - 4;
    let at = start;
    while (at <= lastWord) {
      const word = view.getInt32(at, true);
      const quote = word ^ 0x2222_2222;
      const backslash = word ^ 0x5c5c_5c5c;
      // A byte is zero, below 0x20 or above 0x7f: false alarms only cost a look at each byte.
      const found = (quote - 0x0101_0101) | (backslash - 0x0101_0101) | (word - 0x2020_2020) | word;
      if ((found & 0x8080_8080) !== 0) {
        const special = this.#specialByte(at, at + 4);
        if (special >= 0) {
          return this.bytes[special] === 0x22 ? special : -1;
        }
      }
      at += 4;
    }
    const special = this.#specialByte(at, end);
    return special >= 0 && this.bytes[special] === 0x22 ? special : -1;
  }

  /** Reads the string that begins at `start`; gives the position after its closing quote. */
  string(start: number): number {
    const quote = this.plainStringEnd(start);
    if (quote >= 0) {
      this.stringBytes = this.bytes;
      this.stringView = this.view;
      this.stringStart = start;
      this.stringEnd = quote;
      return quote + 1;
    }
    const output = this.#unescaped;
    output.length = 0;
    const next = this.#decode(start, output);
    this.stringBytes = output.bytes;
    this.stringView = output.view;
    this.stringStart = 0;
    this.stringEnd = output.length;
    return next;
  }

  /** Reads the number that begins at `start`. */
  number(start: number): number {
    const bytes = this.bytes;
    const end = this.end;
    const isNegative = bytes[start] === 0x2d;
    const digitsStart = isNegative ? start + 1 : start;
    let at = digitsStart;
    let byte = at < end ? (bytes[at] ?? 0) : 0;
    // Nine digits fit small integer arithmetic.
    const smallEnd = at + 9;
    let small = 0;
    while (byte >= 0x30 && byte <= 0x39 && at < smallEnd) {
      small = small * 10 + (byte - 0x30);
      at++;
      byte = at < end ? (bytes[at] ?? 0) : 0;
    }
    let low = small;
    let high = 0;
    while (byte >= 0x30 && byte <= 0x39) {
      low = low * 10 + (byte - 0x30);
      if (low >= two32 || high !== 0) {
        const carry = Math.floor(low / two32);
        low -= carry * two32;
        high = high * 10 + carry;
      }
      at++;
      byte = at < end ? (bytes[at] ?? 0) : 0;
    }
    if (at >= end && !this.isLast) {
      this.endReached();
    }
    if (at === digitsStart || (bytes[digitsStart] === 0x30 && at > digitsStart + 1)) {
      this.fail("Malformed number", start);
    }
    if (byte === 0x2e || (byte | 0x20) === 0x65) {
      return this.#doubleNumber(start, at);
    }
    const limit = isNegative && high === 0x8000_0000 && low === 0 ? two32 : 0x8000_0000;
    this.isDouble = false;
    this.isUnsigned = !isNegative && high >= 0x8000_0000;
    if (isNegative ? high >= limit : high >= two32) {
      this.fail(`Integer "${bytes.latin1Slice(start, Math.min(at, start + 40))}" is out of range`, start);
    }
    this.low = low | 0;
    this.high = high | 0;
    if (isNegative) {
      this.low = -this.low | 0;
      this.high = (~this.high + (this.low === 0 ? 1 : 0)) | 0;
    }
    return at;
  }

  /** Whether the letters of `text` stand at `start`; waits for more when the input ends before that is known. */
  literal(start: number, text: string): number {
    for (let index = 0; index < text.length; index++) {
      if (start + index >= this.end) {
        this.endReached();
      }
      if (this.bytes[start + index] !== text.charCodeAt(index)) {
        this.fail("Unknown literal", start);
      }
    }
    return start + text.length;
  }

  /** The position after the value at `start`, whose strings are not looked into. */
  skipValue(start: number): number {
    let depth = 0;
    let at = this.required(start);
    for (;;) {
      if (at >= this.end) {
        this.endReached();
      }
      const byte = this.bytes[at] ?? 0;
      if (byte === 0x22) {
        at = this.#skipString(at + 1);
      } else {
        at++;
        if (byte === 0x7b || byte === 0x5b) {
          depth++;
        } else if (byte === 0x7d || byte === 0x5d) {
          depth--;
        }
      }
      if (depth <= 0) {
        return at;
      }
    }
  }

  #skipString(start: number): number {
    let at = start;
    while (at < this.end) {
      const byte = this.bytes[at];
      if (byte === 0x22) {
        return at + 1;
      }
      at += byte === 0x5c ? 2 : 1;
    }
    return this.endReached();
  }

  /** The first byte of `[start, end)` that ends a run of plain characters, or -1. */
  #specialByte(start: number, end: number): number {
    for (let at = start; at < end; at++) {
      const byte = this.bytes[at] ?? 0;
      if (byte === 0x22 || byte === 0x5c || byte < 0x20 || byte >= 0x80) {
        return at;
      }
    }
    return -1;
  }

  #doubleNumber(start: number, digitsEnd: number): number {
    let at = digitsEnd;
    while (at < this.end && isNumberByte(this.bytes[at] ?? 0)) {
      at++;
    }
    if (at >= this.end && !this.isLast) {
      this.endReached();
    }
    const text = this.bytes.latin1Slice(start, at);
    const value = Number(text);
    if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) || !Number.isFinite(value)) {
      this.fail("Malformed number", start);
    }
    this.isDouble = true;
    this.double = value;
    return at;
  }

  #decode(start: number, output: RowOutput): number {
    const bytes = this.bytes;
    let at = start;
    let plain = start;
    let isAscii = true;
    while (at < this.end) {
      const byte = bytes[at] ?? 0;
      if (byte === 0x22) {
        output.copy(bytes, this.view, plain, at);
        if (!isAscii && !this.#encodeUtf8 && !isUtf8(output.bytes.subarray(0, output.length))) {
          this.fail("Invalid UTF-8 in a string", start);
        }
        return at + 1;
      }
      if (byte < 0x20) {
        this.fail("Invalid character inside of a string", at);
      }
      if (byte === 0x5c) {
        output.copy(bytes, this.view, plain, at);
        at = this.#escape(at + 1, output);
        plain = at;
      } else if (byte >= 0x80 && this.#encodeUtf8) {
        output.copy(bytes, this.view, plain, at);
        at = this.#narrowCharacter(at, byte, output);
        plain = at;
      } else {
        isAscii &&= byte < 0x80;
        at++;
      }
    }
    return this.endReached();
  }

  /** A character U+0080…U+00FF, two bytes long, becomes one byte. */
  #narrowCharacter(at: number, byte: number, output: RowOutput): number {
    if (at + 1 >= this.end) {
      this.endReached();
    }
    const next = this.bytes[at + 1] ?? 0;
    if ((next & 0xc0) !== 0x80 || byte < 0xc2) {
      this.fail("Invalid UTF-8 in a string", at);
    }
    if (byte > 0xc3) {
      throw wideCharacter();
    }
    output.byte(((byte & 0x03) << 6) | (next & 0x3f));
    return at + 2;
  }

  #escape(at: number, output: RowOutput): number {
    if (at >= this.end) {
      this.endReached();
    }
    const byte = this.bytes[at] ?? 0;
    switch (byte) {
      case 0x22:
      case 0x5c:
      case 0x2f:
        output.byte(byte);
        return at + 1;
      case 0x62:
        output.byte(0x08);
        return at + 1;
      case 0x66:
        output.byte(0x0c);
        return at + 1;
      case 0x6e:
        output.byte(0x0a);
        return at + 1;
      case 0x72:
        output.byte(0x0d);
        return at + 1;
      case 0x74:
        output.byte(0x09);
        return at + 1;
      case 0x75:
        return this.#unicodeEscape(at, output);
      default:
        return this.fail("Invalid escape inside of a string", at);
    }
  }

  #unicodeEscape(at: number, output: RowOutput): number {
    let code = this.#hex(at + 1);
    let next = at + 5;
    if (code >= 0xd800 && code <= 0xdbff && this.#startsEscape(next)) {
      const low = this.#hex(next + 2);
      if (low >= 0xdc00 && low <= 0xdfff) {
        code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        next += 6;
      }
    }
    if (this.#encodeUtf8) {
      if (code > 0xff) {
        throw wideCharacter();
      }
      output.byte(code);
    } else {
      // A surrogate without its other half becomes U+FFFD.
      output.constant(Buffer.from(String.fromCodePoint(code)));
    }
    return next;
  }

  #startsEscape(at: number): boolean {
    if (at + 1 >= this.end) {
      this.endReached();
    }
    return this.bytes[at] === 0x5c && this.bytes[at + 1] === 0x75;
  }

  #hex(at: number): number {
    if (at + 4 > this.end) {
      this.endReached();
    }
    const text = this.bytes.latin1Slice(at, at + 4);
    if (!/^[0-9a-fA-F]{4}$/.test(text)) {
      this.fail("Invalid escape inside of a string", at);
    }
    return Number.parseInt(text, 16);
  }
}

function isNumberByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2e ||
    byte === 0x2b ||
    byte === 0x2d ||
    (byte | 0x20) === 0x65
  );
}

function wideCharacter(): YtError {
  return new YtError(
    "Unicode symbols with codes greater than 255 are not supported. Use encode_utf8=%false to pass UTF-8 strings as is",
  );
}
