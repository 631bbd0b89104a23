/**
 * The token level of YSON over a Buffer: whitespace, scalars in text and binary notation, and skipping a whole value
 * without building it. No regular expressions, no allocation per byte.
 * Specified in: yt/yt/core/yson/lexer_detail.h, token.cpp.
 */
import { limits, Uint64, type YsonScalar, YtError } from "@qyt/base";
import { classes, digitClass, numberPart, spaceClass, wordPart, wordStart } from "./byte-classes.ts";
import { bytesToString } from "./bytes.ts";
import { keyToString } from "./key-cache.ts";
import { type BadLiteral, doubleLiteral, integerLiteral } from "./number-literals.ts";
import { contextAttributes, parseError } from "./parse-error.ts";
import { unescapeString } from "./string-escapes.ts";

export interface YsonParseOptions {
  /** Brackets that may be open at once, attributes included. Default `limits.maxYsonDepth`; never above 1024. */
  readonly maxDepth?: number;
  /** Longest string in bytes; default: no limit. */
  readonly maxStringBytes?: number;
}

const depthCeiling = 1024;

// Two 32-bit words read as one 64-bit integer (little-endian, as on every platform Node supports).
const words = new Uint32Array(2);
const signedPair = new BigInt64Array(words.buffer);
const unsignedPair = new BigUint64Array(words.buffer);

/** Reads one document part. The fields may be set freely: `buffer`, and the unread part `[position, end)`. */
export class YsonScanner {
  buffer: Buffer;
  position: number;
  end: number;
  readonly maxDepth: number;
  readonly maxStringBytes: number;
  /** Bounds of the last string token inside `buffer`, and whether it has escapes. */
  stringStart = 0;
  stringEnd = 0;
  stringEscaped = false;
  private low = 0;
  private high = 0;

  constructor(buffer: Buffer = emptyBuffer, options: YsonParseOptions = {}) {
    this.buffer = buffer;
    this.position = 0;
    this.end = buffer.length;
    this.maxDepth = Math.min(options.maxDepth ?? limits.maxYsonDepth, depthCeiling);
    this.maxStringBytes = options.maxStringBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Goes to the next token; its first byte, or -1 at the end (a NUL byte ends the input, too). */
  skipSpace(): number {
    const { buffer, end } = this;
    let position = this.position;
    while (position < end) {
      const byte = buffer[position] ?? 0;
      if ((classes[byte] ?? 0) & spaceClass) {
        position++;
        continue;
      }
      this.position = position;
      if (byte === 0) {
        this.end = position;
        return -1;
      }
      return byte;
    }
    this.position = position;
    return -1;
  }

  /** Skips the value that begins at `position` (spaces before it allowed); the position behind its last byte. */
  skipValue(buffer: Buffer, position: number, end: number): number {
    this.buffer = buffer;
    this.position = position;
    this.end = end;
    this.skipNode(0);
    return this.position;
  }

  /** Any scalar that begins with `byte`, the byte at the current position. */
  readScalar(byte: number): YsonScalar {
    switch (byte) {
      case 0x22:
      case 0x01:
        this.scanString(byte);
        return this.stringValue();
      case 0x02:
        this.position++;
        return this.readZigzag();
      case 0x03:
        return this.readBinaryDouble();
      case 0x04:
      case 0x05:
        this.position++;
        return byte === 0x05;
      case 0x06:
        this.position++;
        this.readVarint();
        words[0] = this.low;
        words[1] = this.high;
        return new Uint64(unsignedPair[0] ?? 0n);
      case 0x23:
        this.position++;
        return null;
      case 0x25:
        return this.readPercent();
      default: {
        const kind = classes[byte] ?? 0;
        if (kind & wordStart) {
          this.scanString(byte);
          return this.stringValue();
        }
        if (kind & numberPart && byte !== 69 && byte !== 101) {
          return this.readNumber();
        }
        return this.unexpected(byte, "a value");
      }
    }
  }

  /** Finds the bounds of the string token that begins with `byte`; the position goes behind it. */
  scanString(byte: number): void {
    const { buffer, end } = this;
    let position = this.position;
    this.stringEscaped = false;
    if (byte === 0x01) {
      this.position++;
      const length = this.readLength();
      this.stringStart = this.position;
      if (length > end - this.position) {
        this.fail("Premature end of stream in a binary string");
      }
      this.stringEnd = this.stringStart + length;
      this.position = this.stringEnd;
    } else if (byte === 0x22) {
      position++;
      this.stringStart = position;
      for (;;) {
        if (position >= end) {
          this.position = end;
          this.fail("Premature end of stream in a quoted string");
        }
        const current = buffer[position] ?? 0;
        if (current === 0x22) {
          break;
        }
        if (current === 0x5c) {
          this.stringEscaped = true;
          position++;
        }
        position++;
      }
      this.stringEnd = position;
      this.position = position + 1;
    } else if ((classes[byte] ?? 0) & wordStart) {
      this.stringStart = position;
      position++;
      while (position < end && (classes[buffer[position] ?? 0] ?? 0) & wordPart) {
        position++;
      }
      this.stringEnd = position;
      this.position = position;
    } else {
      this.unexpected(byte, "a string");
    }
    if (this.stringEnd - this.stringStart > this.maxStringBytes) {
      this.checkStringLength();
    }
  }

  /** The string token found last. */
  stringValue(): string {
    if (this.stringEscaped) {
      const bytes = unescapeString(this.buffer, this.stringStart, this.stringEnd);
      return bytesToString(bytes);
    }
    return bytesToString(this.buffer, this.stringStart, this.stringEnd);
  }

  /** The same for a key of a map: cheaper when keys repeat. */
  keyValue(): string {
    return this.stringEscaped
      ? this.stringValue()
      : keyToString(this.buffer, this.stringStart, this.stringEnd);
  }

  /** @throws YtError 4002 when `depth` brackets are more than allowed */
  checkDepth(depth: number): void {
    if (depth > this.maxDepth) {
      throw new YtError("Depth limit exceeded while parsing YSON", {
        code: "DepthLimitExceeded",
        attributes: {
          limit: BigInt(this.maxDepth),
          ...contextAttributes(this.buffer, this.position, this.end),
        },
      });
    }
  }

  /** @throws YtError 4000 always */
  fail(detail: string): never {
    throw parseError(
      "Error occurred while parsing YSON",
      "ParseError",
      detail,
      contextAttributes(this.buffer, this.position, this.end),
    );
  }

  /** Fails on `byte` (or the end of the input, -1) where something else had to stand. */
  unexpected(byte: number, expected: string): never {
    if (byte < 0) {
      this.fail(`Premature end of stream, expected ${expected}`);
    }
    const shown =
      byte > 32 && byte < 127 && byte !== 0x22
        ? String.fromCharCode(byte)
        : `\\x${byte.toString(16).padStart(2, "0")}`;
    this.fail(`Unexpected character "${shown}", expected ${expected}`);
  }

  private checkStringLength(): void {
    const length = this.stringEscaped
      ? unescapeString(this.buffer, this.stringStart, this.stringEnd).length
      : this.stringEnd - this.stringStart;
    if (length > this.maxStringBytes) {
      throw new YtError("String length limit exceeded while parsing YSON", {
        code: "MemoryLimitExceeded",
        attributes: {
          limit: BigInt(this.maxStringBytes),
          length: BigInt(length),
          ...contextAttributes(this.buffer, this.position, this.end),
        },
      });
    }
  }

  // The call depth is bounded by `maxDepth`.
  private skipNode(depth: number): void {
    let byte = this.skipSpace();
    if (byte === 0x3c) {
      this.skipPairs(depth + 1, 0x3e);
      byte = this.skipSpace();
      if (byte === 0x3c) {
        this.fail("Value cannot have several attribute maps");
      }
    }
    if (byte === 0x7b) {
      this.skipPairs(depth + 1, 0x7d);
    } else if (byte === 0x5b) {
      this.skipItems(depth + 1);
    } else if (byte === 0x22 || byte === 0x01 || (classes[byte] ?? 0) & wordStart) {
      this.scanString(byte);
    } else if (!this.skipShortInteger()) {
      this.readScalar(byte);
    }
  }

  /** Goes past an integer that is surely in range; false, without a move, for anything else. */
  private skipShortInteger(): boolean {
    const { buffer, end } = this;
    const start = this.position;
    let position = buffer[start] === 0x2d ? start + 1 : start;
    const digits = position;
    while (position < end && (classes[buffer[position] ?? 0] ?? 0) & digitClass) {
      position++;
    }
    if (position === digits || position - digits > 15) {
      return false;
    }
    if (position < end && (classes[buffer[position] ?? 0] ?? 0) & (wordPart | numberPart)) {
      return false;
    }
    this.position = position;
    return true;
  }

  private skipPairs(depth: number, close: number): void {
    this.checkDepth(depth);
    this.position++;
    for (;;) {
      let byte = this.skipSpace();
      if (byte === close) {
        break;
      }
      this.scanString(byte);
      byte = this.skipSpace();
      if (byte !== 0x3d) {
        this.unexpected(byte, '"="');
      }
      this.position++;
      this.skipNode(depth);
      if (!this.skipSeparator(close)) {
        break;
      }
    }
    this.position++;
  }

  private skipItems(depth: number): void {
    this.checkDepth(depth);
    this.position++;
    while (this.skipSpace() !== 0x5d) {
      this.skipNode(depth);
      if (!this.skipSeparator(0x5d)) {
        break;
      }
    }
    this.position++;
  }

  /** Goes past `;`; false when the closing bracket (or, for -1, the end) stands here instead. */
  skipSeparator(close: number): boolean {
    const byte = this.skipSpace();
    if (byte === 0x3b) {
      this.position++;
      return true;
    }
    if (byte === close) {
      return false;
    }
    return this.unexpected(byte, close < 0 ? '";"' : `";" or "${String.fromCharCode(close)}"`);
  }

  private readLength(): number {
    this.readVarint();
    if (this.high !== 0) {
      this.fail("Varint is too long for a string length");
    }
    if (this.low & 1) {
      this.fail("Negative binary string literal length");
    }
    return this.low >>> 1;
  }

  private readZigzag(): bigint {
    this.readVarint();
    const { low, high } = this;
    const sign = -(low & 1);
    words[0] = ((low >>> 1) | (high << 31)) ^ sign;
    words[1] = (high >>> 1) ^ sign;
    return signedPair[0] ?? 0n;
  }

  private readVarint(): void {
    let low = 0;
    let high = 0;
    let shift = 0;
    for (;;) {
      if (this.position >= this.end) {
        this.fail("Premature end of stream in a varint");
      }
      const byte = this.buffer[this.position++] ?? 0;
      const bits = byte & 0x7f;
      if (shift < 28) {
        low |= bits << shift;
      } else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) {
        high |= bits << (shift - 32);
      } else if (byte > 1) {
        this.fail("Varint is too long");
      } else {
        high |= bits << 31;
      }
      if (byte < 0x80) {
        break;
      }
      shift += 7;
    }
    this.low = low >>> 0;
    this.high = high >>> 0;
  }

  private readBinaryDouble(): number {
    if (this.end - this.position < 9) {
      this.fail("Premature end of stream in a binary double");
    }
    const value = this.buffer.readDoubleLE(this.position + 1);
    this.position += 9;
    return value;
  }

  private readPercent(): boolean | number {
    const start = this.position + 1;
    let position = start;
    while (position < this.end && (this.isWord(position) || this.isSign(position, start))) {
      position++;
    }
    const word = this.buffer.latin1Slice(start, Math.min(position, start + 8));
    const value = percentLiterals.get(word);
    if (value === undefined) {
      this.fail(`Incorrect %-literal "%${word}"`);
    }
    this.position = position;
    return value;
  }

  private isWord(position: number): boolean {
    return ((classes[this.buffer[position] ?? 0] ?? 0) & wordPart) !== 0;
  }

  private isSign(position: number, start: number): boolean {
    return position === start && this.buffer[position] === 0x2b;
  }

  private readNumber(): bigint | Uint64 | number {
    const { buffer, end } = this;
    const start = this.position;
    let position = start;
    let integral = true;
    while (position < end) {
      const byte = buffer[position] ?? 0;
      const kind = classes[byte] ?? 0;
      if (!(kind & numberPart)) {
        break;
      }
      if (!(kind & digitClass) && !(position === start && (byte === 0x2d || byte === 0x2b))) {
        integral = false;
      }
      position++;
    }
    const unsigned = buffer[position] === 0x75 && position < end;
    const tail = unsigned ? position + 1 : position;
    if (tail < end && (classes[buffer[tail] ?? 0] ?? 0) & wordPart) {
      this.position = tail;
      this.fail(`Unexpected character "${String.fromCharCode(buffer[tail] ?? 0)}" in a number`);
    }
    if (!integral && unsigned) {
      this.badNumber("uint64", start, tail, "malformed");
    }
    const value = integral
      ? integerLiteral(buffer, start, position, unsigned)
      : doubleLiteral(buffer, start, position);
    if (typeof value === "string") {
      this.badNumber(!integral ? "double" : unsigned ? "uint64" : "int64", start, tail, value);
    }
    this.position = tail;
    return value;
  }

  private badNumber(type: string, start: number, end: number, reason: BadLiteral): never {
    const shown = this.buffer.latin1Slice(start, Math.min(end, start + 32)) + (end - start > 32 ? "..." : "");
    this.fail(
      `Error parsing ${type} literal "${shown}"${reason === "malformed" ? "" : `: value is ${reason}`}`,
    );
  }
}

const emptyBuffer = Buffer.alloc(0);

const percentLiterals = new Map<string, boolean | number>([
  ["true", true],
  ["false", false],
  ["nan", Number.NaN],
  ["inf", Number.POSITIVE_INFINITY],
  ["+inf", Number.POSITIVE_INFINITY],
  ["-inf", Number.NEGATIVE_INFINITY],
]);
