/**
 * Tokens of YSON, text and binary mixed, out of a buffer that may break off anywhere (then `needMoreInput` is thrown).
 * Nothing is allocated for a token: its payload is in the fields of the lexer.
 * Specified in: yt/yt/core/yson/lexer_detail.h, library/cpp/yt/yson.
 */
import { needMoreInput } from "./chunked-input.ts";
import { ysonSyntax } from "./row-errors.ts";
import { RowOutput, viewOf } from "./row-output.ts";
import { parseDouble } from "./type-conversion.ts";
import { unescapeYson } from "./yson-escapes.ts";

export const token = {
  endOfStream: 0,
  string: 1,
  int64: 2,
  uint64: 3,
  double: 4,
  true: 5,
  false: 6,
  entity: 7,
  beginList: 8,
  endList: 9,
  beginMap: 10,
  endMap: 11,
  beginAttributes: 12,
  endAttributes: 13,
  equals: 14,
  semicolon: 15,
} as const;

/** 1 for the characters an unquoted string or a number goes on with. */
const wordCharacter = new Uint8Array(256);
for (const character of "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.%+-") {
  wordCharacter[character.charCodeAt(0)] = 1;
}

/** Past any position. */
const noBackslash = 0x3fff_ffff;
const two32 = 0x1_0000_0000;

export class YsonLexer {
  bytes: Buffer = Buffer.alloc(0);
  view: DataView = viewOf(this.bytes);
  end = 0;
  /** No more input follows `end`. */
  isLast = false;
  /** For error positions: the place of `bytes[0]` in the stream. */
  streamOffset = 0;

  // Payload of the last token.
  kind: number = token.endOfStream;
  low = 0;
  high = 0;
  double = 0;
  stringBytes: Buffer = this.bytes;
  stringView: DataView = this.view;
  stringStart = 0;
  stringEnd = 0;

  /** Where the next backslash is, so that strings without one need not be searched for it. */
  #nextBackslash = -1;
  readonly #unescaped = new RowOutput(256);

  reset(bytes: Buffer, view: DataView, end: number, isLast: boolean, streamOffset: number): void {
    this.bytes = bytes;
    this.view = view;
    this.end = end;
    this.isLast = isLast;
    this.streamOffset = streamOffset;
    this.#nextBackslash = -1;
  }

  fail(reason: string, position: number): never {
    throw ysonSyntax(reason, this.streamOffset + position);
  }

  /** The input ends here: wait for more, or complain if there is none. */
  endReached(): never {
    if (this.isLast) {
      this.fail("Premature end of stream", this.end);
    }
    throw needMoreInput;
  }

  /** The position of the next byte that is no whitespace, possibly `end`. */
  skipSpace(position: number): number {
    const bytes = this.bytes;
    const end = this.end;
    let next = position;
    while (next < end) {
      const byte = bytes[next] ?? 0;
      if (byte !== 32 && (byte < 9 || byte > 13)) {
        break;
      }
      next++;
    }
    return next;
  }

  /** Reads the token at or after `position`; gives the position after it. Throws at the end of the input. */
  next(position: number): number {
    const at = this.skipSpace(position);
    if (at >= this.end) {
      this.endReached();
    }
    const byte = this.bytes[at] ?? 0;
    switch (byte) {
      case 0x22:
        return this.quotedString(at + 1);
      case 0x01:
        return this.binaryString(at + 1);
      case 0x02:
        this.kind = token.int64;
        return this.#binaryInt64(at + 1);
      case 0x03:
        if (at + 9 > this.end) {
          this.endReached();
        }
        this.kind = token.double;
        this.double = this.view.getFloat64(at + 1, true);
        return at + 9;
      case 0x04:
        this.kind = token.false;
        return at + 1;
      case 0x05:
        this.kind = token.true;
        return at + 1;
      case 0x06:
        this.kind = token.uint64;
        return this.#varint64(at + 1);
      case 0x23:
        this.kind = token.entity;
        return at + 1;
      case 0x3b:
        this.kind = token.semicolon;
        return at + 1;
      case 0x3d:
        this.kind = token.equals;
        return at + 1;
      case 0x5b:
        this.kind = token.beginList;
        return at + 1;
      case 0x5d:
        this.kind = token.endList;
        return at + 1;
      case 0x7b:
        this.kind = token.beginMap;
        return at + 1;
      case 0x7d:
        this.kind = token.endMap;
        return at + 1;
      case 0x3c:
        this.kind = token.beginAttributes;
        return at + 1;
      case 0x3e:
        this.kind = token.endAttributes;
        return at + 1;
      case 0x25:
        return this.#percentLiteral(at);
      default:
        return this.#word(at, byte);
    }
  }

  /** The closing quote of the string that begins at `start`, if it is there and no escape before it; else -1. */
  plainStringEnd(start: number): number {
    const quote = this.bytes.indexOf(0x22, start);
    if (this.#nextBackslash < start) {
      const found = this.bytes.indexOf(0x5c, start);
      this.#nextBackslash = found < 0 ? noBackslash : found;
    }
    return quote < this.#nextBackslash ? quote : -1;
  }

  is(kind: number): boolean {
    return this.kind === kind;
  }

  /** A quoted string whose first character is at `start`. */
  quotedString(start: number): number {
    const quote = this.plainStringEnd(start);
    if (quote < 0) {
      return this.#escapedString(start);
    }
    this.#setString(this.bytes, this.view, start, quote);
    return quote + 1;
  }

  /** A binary string whose length begins at `start`. */
  binaryString(start: number): number {
    const bytes = this.bytes;
    let at = start;
    if (at >= this.end) {
      this.endReached();
    }
    let length = bytes[at++] ?? 0;
    if (length >= 0x80) {
      length &= 0x7f;
      let scale = 0x80;
      for (;;) {
        if (at >= this.end) {
          this.endReached();
        }
        const byte = bytes[at++] ?? 0;
        length += (byte & 0x7f) * scale;
        if (byte < 0x80) {
          break;
        }
        scale *= 0x80;
        if (scale > 0x1000_0000) {
          this.fail("Error parsing binary string: length is too long", start);
        }
      }
    }
    if ((length & 1) !== 0 || length >= two32) {
      this.fail("Negative binary string literal length", start);
    }
    const stringEnd = at + length / 2;
    if (stringEnd > this.end) {
      this.endReached();
    }
    this.#setString(bytes, this.view, at, stringEnd);
    return stringEnd;
  }

  #setString(bytes: Buffer, view: DataView, start: number, end: number): void {
    this.kind = token.string;
    this.stringBytes = bytes;
    this.stringView = view;
    this.stringStart = start;
    this.stringEnd = end;
  }

  #escapedString(start: number): number {
    const output = this.#unescaped;
    output.length = 0;
    const next = unescapeYson(this.bytes, this.view, start, this.end, output);
    if (next < 0) {
      this.endReached();
    }
    this.#setString(output.bytes, output.view, 0, output.length);
    return next;
  }

  #varint64(start: number): number {
    const bytes = this.bytes;
    let low = 0;
    let high = 0;
    let shift = 0;
    let at = start;
    for (;;) {
      if (at >= this.end) {
        this.endReached();
      }
      const byte = bytes[at++] ?? 0;
      const bits = byte & 0x7f;
      if (shift < 28) {
        low |= bits << shift;
      } else if (shift === 28) {
        low |= bits << 28;
        high |= bits >>> 4;
      } else {
        high |= bits << (shift - 32);
      }
      if (byte < 0x80) {
        if (shift === 63 && bits > 1) {
          break;
        }
        this.low = low;
        this.high = high;
        return at;
      }
      shift += 7;
      if (shift > 63) {
        break;
      }
    }
    return this.fail("Error parsing varint: value is too long", start);
  }

  #binaryInt64(start: number): number {
    const next = this.#varint64(start);
    const low = this.low;
    const high = this.high;
    const sign = -(low & 1);
    this.low = ((low >>> 1) | (high << 31)) ^ sign;
    this.high = (high >>> 1) ^ sign;
    return next;
  }

  #percentLiteral(at: number): number {
    const bytes = this.bytes;
    if (at + 6 < this.end) {
      // Words that cannot be the beginning of a longer one.
      if (
        bytes[at + 1] === 0x74 &&
        bytes[at + 2] === 0x72 &&
        bytes[at + 3] === 0x75 &&
        bytes[at + 4] === 0x65
      ) {
        if (wordCharacter[bytes[at + 5] ?? 0] === 0) {
          this.kind = token.true;
          return at + 5;
        }
      } else if (
        bytes[at + 1] === 0x66 &&
        bytes[at + 2] === 0x61 &&
        bytes[at + 3] === 0x6c &&
        bytes[at + 4] === 0x73 &&
        bytes[at + 5] === 0x65 &&
        wordCharacter[bytes[at + 6] ?? 0] === 0
      ) {
        this.kind = token.false;
        return at + 6;
      }
    }
    const next = this.#wordEnd(at + 1);
    switch (this.bytes.latin1Slice(at + 1, next)) {
      case "true":
        this.kind = token.true;
        return next;
      case "false":
        this.kind = token.false;
        return next;
      case "nan":
        this.double = Number.NaN;
        break;
      case "inf":
      case "+inf":
        this.double = Number.POSITIVE_INFINITY;
        break;
      case "-inf":
        this.double = Number.NEGATIVE_INFINITY;
        break;
      default:
        this.fail(`Error parsing literal "${this.bytes.latin1Slice(at, next).slice(0, 32)}"`, at);
    }
    this.kind = token.double;
    return next;
  }

  /** An unquoted string or a number. */
  #word(at: number, first: number): number {
    if ((first >= 0x41 && first <= 0x5a) || (first >= 0x61 && first <= 0x7a) || first === 0x5f) {
      const bytes = this.bytes;
      let next = at + 1;
      while (next < this.end && isIdentifierByte(bytes[next] ?? 0)) {
        next++;
      }
      if (next >= this.end && !this.isLast) {
        this.endReached();
      }
      this.#setString(bytes, this.view, at, next);
      return next;
    }
    if ((first >= 0x30 && first <= 0x39) || first === 0x2d || first === 0x2b || first === 0x2e) {
      return this.#number(at, first);
    }
    return this.fail(`Unexpected byte 0x${first.toString(16).padStart(2, "0")}`, at);
  }

  #number(at: number, first: number): number {
    const bytes = this.bytes;
    const end = this.end;
    let next = first === 0x2d || first === 0x2b ? at + 1 : at;
    const digitsStart = next;
    let byte = next < end ? (bytes[next] ?? 0) : 0;
    // Nine digits fit small integer arithmetic.
    const smallEnd = next + 9;
    let small = 0;
    while (byte >= 0x30 && byte <= 0x39 && next < smallEnd) {
      small = small * 10 + (byte - 0x30);
      next++;
      byte = next < end ? (bytes[next] ?? 0) : 0;
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
      next++;
      byte = next < end ? (bytes[next] ?? 0) : 0;
    }
    if (next >= end && !this.isLast) {
      this.endReached();
    }
    const digits = next - digitsStart;
    if (digits > 0 && (byte === 0x75 || wordCharacter[byte] === 0)) {
      return this.#integer(at, next, first === 0x2d, byte === 0x75, low, high, digits);
    }
    const wordEnd = this.#wordEnd(at);
    const value = parseDouble(bytes.latin1Slice(at, wordEnd));
    if (value === undefined || !Number.isFinite(value)) {
      this.fail(`Error parsing number "${bytes.latin1Slice(at, Math.min(wordEnd, at + 40))}"`, at);
    }
    this.kind = token.double;
    this.double = value;
    return wordEnd;
  }

  #integer(
    at: number,
    digitsEnd: number,
    isNegative: boolean,
    isUnsigned: boolean,
    low: number,
    high: number,
    digits: number,
  ): number {
    let next = digitsEnd;
    if (isUnsigned) {
      next++;
      if (next >= this.end && !this.isLast) {
        this.endReached();
      }
      if (isNegative || (next < this.end && wordCharacter[this.bytes[next] ?? 0] === 1)) {
        this.fail(`Error parsing number "${this.bytes.latin1Slice(at, Math.min(next, at + 40))}"`, at);
      }
    }
    // Twenty digits may hide leading zeros; past that the words are no longer exact.
    const limit = isUnsigned ? two32 : isNegative && high === 0x8000_0000 && low === 0 ? two32 : 0x8000_0000;
    if (high >= limit || digits > 40) {
      const kind = isUnsigned ? "uint64" : "int64";
      this.fail(
        `Integer "${this.bytes.latin1Slice(at, Math.min(next, at + 40))}" is out of range of ${kind}`,
        at,
      );
    }
    this.kind = isUnsigned ? token.uint64 : token.int64;
    this.low = low | 0;
    this.high = high | 0;
    if (isNegative) {
      this.low = -this.low | 0;
      this.high = (~this.high + (this.low === 0 ? 1 : 0)) | 0;
    }
    return next;
  }

  #wordEnd(at: number): number {
    let next = at;
    while (next < this.end && wordCharacter[this.bytes[next] ?? 0] === 1) {
      next++;
    }
    if (next >= this.end && !this.isLast) {
      this.endReached();
    }
    return next;
  }
}

export function isIdentifierByte(byte: number): boolean {
  return wordCharacter[byte] === 1 && byte !== 0x2b;
}
