/**
 * Reads JSON of the YTsaurus dialect. An own parser, because `JSON.parse` loses 64-bit integers and the difference
 * between `1` and `1.0`. Specified in: yt/yt/core/json/json_parser.cpp, json_callbacks.cpp.
 */
import { isUtf8 } from "node:buffer";
import { type ErrorCodeName, Uint64, type YsonValue, YtError } from "@qyt/base";
import { asBuffer, bytesToString, stringToBytes } from "./bytes.ts";
import { depthLimit, type JsonOptions } from "./json-options.ts";
import { joinSpecial, type SpecialKeys } from "./json-special-keys.ts";
import { keyToString } from "./key-cache.ts";
import { Pace } from "./pace.ts";
import { contextAttributes, parseError } from "./parse-error.ts";
import { hexDigit } from "./string-escapes.ts";

const maxInt64 = (1n << 63n) - 1n;
const maxUint64 = (1n << 64n) - 1n;

/** One document. @throws YtError code 1 `Error parsing JSON` with the place in its attributes and the cause inside */
export function parseJson(bytes: Uint8Array | string, options: JsonOptions = {}): YsonValue {
  const parser = new JsonParser(toBuffer(bytes), options);
  const value = parser.parseNext();
  parser.expectEnd();
  return value;
}

/** One document; yields now and then. Value and errors as those of `parseJson`. */
export function* parseJsonInSlices(
  bytes: Uint8Array,
  options: JsonOptions = {},
): Generator<void, YsonValue, void> {
  const parser = new JsonParser(toBuffer(bytes), options);
  const value = yield* parser.nextInSlices();
  parser.expectEnd();
  return value;
}

/** Documents one after another, any whitespace between them. Errors as in `parseJson`. */
export function parseJsonStream(bytes: Uint8Array | string, options: JsonOptions = {}): YsonValue[] {
  const parser = new JsonParser(toBuffer(bytes), options);
  const values: YsonValue[] = [];
  while (!parser.atEnd()) {
    values.push(parser.parseNext());
  }
  return values;
}

function toBuffer(bytes: Uint8Array | string): Buffer {
  return typeof bytes === "string" ? stringToBytes(bytes) : asBuffer(bytes);
}

class JsonParser {
  private readonly buffer: Buffer;
  private readonly end: number;
  private position = 0;
  private readonly maxDepth: number;
  private readonly plain: boolean;
  private readonly encodeUtf8: boolean;
  private readonly supportInfinity: boolean;

  constructor(buffer: Buffer, options: JsonOptions) {
    this.buffer = buffer;
    this.end = buffer.length;
    this.maxDepth = depthLimit(options);
    this.plain = options.plain ?? false;
    this.encodeUtf8 = options.encodeUtf8 ?? true;
    this.supportInfinity = options.supportInfinity ?? false;
  }

  atEnd(): boolean {
    return this.skipSpace() < 0;
  }

  expectEnd(): void {
    const byte = this.skipSpace();
    if (byte >= 0) {
      this.unexpected(byte, "the end of the document");
    }
  }

  parseNext(): YsonValue {
    return this.parseNode(0);
  }

  nextInSlices(): Generator<void, YsonValue, void> {
    return this.nodeInSlices(0, new Pace());
  }

  private *nodeInSlices(depth: number, pace: Pace): Generator<void, YsonValue, void> {
    const byte = this.skipSpace();
    if (byte !== 0x7b && byte !== 0x5b) {
      return this.parseNode(depth);
    }
    this.checkDepth(depth + 1);
    const builder = byte === 0x7b ? new ObjectBuilder(this.plain) : undefined;
    const items: YsonValue[] = [];
    const start = this.position++;
    const close = byte === 0x7b ? 0x7d : 0x5d;
    if (this.skipSpace() === close) {
      this.position++;
      return builder?.map ?? items;
    }
    do {
      if (builder === undefined) {
        items.push(yield* this.nodeInSlices(depth + 1, pace));
      } else {
        const key = this.parseKey();
        this.putMember(builder, key, yield* this.nodeInSlices(depth + 1, pace));
      }
      if (pace.isDue(this.position)) {
        yield;
      }
    } while (this.nextItem(close));
    return builder === undefined ? items : this.finishObject(builder, start);
  }

  // The call depth is bounded by `maxDepth`.
  private parseNode(depth: number): YsonValue {
    const byte = this.skipSpace();
    switch (byte) {
      case 0x7b:
        return this.parseObject(depth + 1);
      case 0x5b:
        return this.parseArray(depth + 1);
      case 0x22:
        return this.parseString();
      case 0x74:
        return this.parseWord("true", true);
      case 0x66:
        return this.parseWord("false", false);
      case 0x6e:
        return this.supportInfinity && this.buffer[this.position + 1] === 0x61
          ? this.parseWord("nan", Number.NaN)
          : this.parseWord("null", null);
      case 0x69:
        return this.supportInfinity
          ? this.parseWord("inf", Number.POSITIVE_INFINITY)
          : this.unexpected(byte, "a value");
      default:
        return byte === 0x2d || isDigit(byte) ? this.parseNumber() : this.unexpected(byte, "a value");
    }
  }

  private parseArray(depth: number): YsonValue[] {
    this.checkDepth(depth);
    const items: YsonValue[] = [];
    this.position++;
    if (this.skipSpace() === 0x5d) {
      this.position++;
      return items;
    }
    do {
      items.push(this.parseNode(depth));
    } while (this.nextItem(0x5d));
    return items;
  }

  private parseObject(depth: number): YsonValue {
    this.checkDepth(depth);
    const start = this.position;
    const builder = new ObjectBuilder(this.plain);
    this.position++;
    if (this.skipSpace() === 0x7d) {
      this.position++;
      return builder.map;
    }
    do {
      const key = this.parseKey();
      this.putMember(builder, key, this.parseNode(depth));
    } while (this.nextItem(0x7d));
    return this.finishObject(builder, start);
  }

  /** A key and the colon behind it. */
  private parseKey(): string {
    const byte = this.skipSpace();
    if (byte !== 0x22) {
      this.unexpected(byte, "a key");
    }
    const key = this.parseString(true);
    const colon = this.skipSpace();
    if (colon !== 0x3a) {
      this.unexpected(colon, '":"');
    }
    this.position++;
    return key;
  }

  private putMember(builder: ObjectBuilder, key: string, value: YsonValue): void {
    if (!builder.put(key, value)) {
      this.fail(`Duplicate key "${key}"`);
    }
  }

  private finishObject({ map, special }: ObjectBuilder, start: number): YsonValue {
    return special === undefined ? map : this.joinSpecial(special, start);
  }

  private joinSpecial(special: SpecialKeys, start: number): YsonValue {
    const joined = joinSpecial(special);
    if (joined.error !== undefined) {
      this.position = start;
      return this.fail(joined.error);
    }
    return joined.value;
  }

  /** Goes past `,`; false past the closing bracket. */
  private nextItem(close: number): boolean {
    const byte = this.skipSpace();
    if (byte !== 0x2c && byte !== close) {
      this.unexpected(byte, `"," or "${String.fromCharCode(close)}"`);
    }
    this.position++;
    return byte === 0x2c;
  }

  private parseWord<T>(word: string, value: T): T {
    for (let index = 0; index < word.length; index++) {
      if (
        this.position + index >= this.end ||
        this.buffer[this.position + index] !== word.charCodeAt(index)
      ) {
        this.fail("Invalid literal");
      }
    }
    this.position += word.length;
    return value;
  }

  private parseNumber(): YsonValue {
    const { buffer, end } = this;
    const start = this.position;
    const negative = buffer[start] === 0x2d;
    const first = negative ? start + 1 : start;
    if (negative && this.supportInfinity && buffer[first] === 0x69) {
      this.position = first;
      return this.parseWord("inf", Number.NEGATIVE_INFINITY);
    }
    let position = this.digits(first);
    if (position === first || (buffer[first] === 0x30 && position > first + 1)) {
      this.fail("Malformed number");
    }
    let integral = true;
    if (position < end && buffer[position] === 0x2e) {
      integral = false;
      const fraction = position + 1;
      position = this.digits(fraction);
      if (position === fraction) {
        this.fail("Malformed number");
      }
    }
    if (position < end && ((buffer[position] ?? 0) | 0x20) === 0x65) {
      integral = false;
      const sign = buffer[position + 1];
      const exponent = sign === 0x2b || sign === 0x2d ? position + 2 : position + 1;
      position = this.digits(exponent);
      if (position === exponent) {
        this.fail("Malformed number");
      }
    }
    if (!integral) {
      const value = Number(buffer.latin1Slice(start, position));
      if (!Number.isFinite(value)) {
        this.fail("Floating point number is out of range");
      }
      this.position = position;
      return value;
    }
    return this.toInteger(first, position, negative);
  }

  private toInteger(first: number, end: number, negative: boolean): bigint | Uint64 {
    const count = end - first;
    if (count <= 20) {
      const magnitude = BigInt(this.buffer.latin1Slice(first, end));
      if (magnitude <= maxInt64 || (negative && magnitude === maxInt64 + 1n)) {
        this.position = end;
        return negative ? -magnitude : magnitude;
      }
      if (!negative && magnitude <= maxUint64) {
        this.position = end;
        return new Uint64(magnitude);
      }
    }
    return this.fail("Integer is out of range");
  }

  private digits(from: number): number {
    let position = from;
    while (position < this.end && isDigit(this.buffer[position] ?? 0)) {
      position++;
    }
    return position;
  }

  private parseString(isKey = false): string {
    const { buffer, end } = this;
    const start = this.position + 1;
    let position = start;
    for (; position < end; position++) {
      const byte = buffer[position] ?? 0;
      if (byte === 0x22) {
        this.position = position + 1;
        return isKey ? keyToString(buffer, start, position) : buffer.latin1Slice(start, position);
      }
      if (byte === 0x5c || byte >= 0x80 || byte < 0x20) {
        break;
      }
    }
    return this.decodeText(this.parseText(start, position));
  }

  /** The rest of a string that has escapes or characters beyond ASCII, as UTF-16. */
  private parseText(start: number, from: number): string {
    const { buffer, end } = this;
    let text = "";
    let plainStart = start;
    let position = from;
    for (; position < end; position++) {
      const byte = buffer[position] ?? 0;
      if (byte === 0x22) {
        text += this.utf8(plainStart, position);
        this.position = position + 1;
        return text;
      }
      if (byte < 0x20) {
        this.position = position;
        this.fail("Invalid character inside string");
      }
      if (byte === 0x5c) {
        text += this.utf8(plainStart, position);
        this.position = position + 1;
        text += this.parseEscape();
        plainStart = this.position;
        position = plainStart - 1;
      }
    }
    this.position = end;
    return this.fail("Premature end of stream in a string");
  }

  private parseEscape(): string {
    const byte = this.position < this.end ? (this.buffer[this.position++] ?? 0) : 0;
    if (byte !== 0x75) {
      return simpleEscapes.get(byte) ?? this.fail("Invalid escape sequence inside string");
    }
    let unit = 0;
    for (let count = 0; count < 4; count++) {
      const digit = hexDigit(this.buffer, this.position++, this.end);
      if (digit < 0) {
        this.fail("Invalid escape sequence inside string");
      }
      unit = unit * 16 + digit;
    }
    return String.fromCharCode(unit);
  }

  private utf8(start: number, end: number): string {
    const text = this.buffer.utf8Slice(start, end);
    if (text.includes("\ufffd") && !isUtf8(this.buffer.subarray(start, end))) {
      this.position = start;
      this.fail("Invalid UTF-8 string in JSON");
    }
    return text;
  }

  private decodeText(text: string): string {
    if (!this.encodeUtf8) {
      return text.isWellFormed() ? text : this.fail("Unpaired surrogate inside string");
    }
    for (let index = 0; index < text.length; index++) {
      if (text.charCodeAt(index) > 0xff) {
        this.fail(
          "Unicode symbols with codes greater than 255 are not supported; consider the format attribute encode_utf8=%false",
        );
      }
    }
    return bytesToString(Buffer.from(text, "latin1"));
  }

  private skipSpace(): number {
    const { buffer, end } = this;
    let position = this.position;
    while (position < end) {
      const byte = buffer[position] ?? 0;
      if (byte !== 32 && byte !== 10 && byte !== 13 && byte !== 9) {
        this.position = position;
        return byte;
      }
      position++;
    }
    this.position = position;
    return -1;
  }

  private checkDepth(depth: number): void {
    if (depth > this.maxDepth) {
      this.fail(`Nesting level limit exceeded: the limit is ${this.maxDepth}`, "DepthLimitExceeded");
    }
  }

  private unexpected(byte: number, expected: string): never {
    if (byte < 0) {
      this.fail(`Premature end of stream, expected ${expected}`);
    }
    const shown =
      byte > 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
    this.fail(`Unexpected character "${shown}", expected ${expected}`);
  }

  private fail(detail: string, code: ErrorCodeName = "Generic"): never {
    const attributes = contextAttributes(this.buffer, this.position, this.end);
    const error = parseError("Error parsing JSON", "Generic", detail, attributes);
    if (code === "Generic") {
      throw error;
    }
    throw new YtError(error.message, { attributes, inner: [new YtError(detail, { code })] });
  }
}

/** The members of an object being read, those with a single `$` by themselves. */
class ObjectBuilder {
  readonly map = new Map<string, YsonValue>();
  special: SpecialKeys | undefined;
  private readonly plain: boolean;

  constructor(plain: boolean) {
    this.plain = plain;
  }

  /** False when the key is there already. */
  put(key: string, value: YsonValue): boolean {
    let target: Map<string, YsonValue> = this.map;
    let name = key;
    if (!this.plain && key.charCodeAt(0) === 0x24) {
      if (key.charCodeAt(1) === 0x24) {
        name = key.slice(1);
      } else {
        this.special ??= new Map();
        target = this.special;
      }
    }
    const size = target.size;
    target.set(name, value);
    return target.size !== size;
  }
}

function isDigit(byte: number): boolean {
  return byte >= 48 && byte <= 57;
}

const simpleEscapes = new Map<number, string>([
  [0x22, '"'],
  [0x5c, "\\"],
  [0x2f, "/"],
  [0x62, "\b"],
  [0x66, "\f"],
  [0x6e, "\n"],
  [0x72, "\r"],
  [0x74, "\t"],
]);
