/** Writes values as JSON of the YTsaurus dialect. Specified in: yt/yt/core/json/json_writer.cpp. */
import { isUtf8 } from "node:buffer";
import { Attributed, isMap, Uint64, type YsonMap, type YsonScalar, type YsonValue, YtError } from "@qyt/base";
import { ByteWriter } from "./byte-writer.ts";
import { sequenceLength, stringToBytes } from "./bytes.ts";
import type { JsonOptions } from "./json-options.ts";
import { Pace, sliceBytes } from "./pace.ts";

const indentation = 4;
const maxWriteDepth = 1024;
const maxSafe = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * One document, without a newline at the end.
 *
 * @throws YtError code 1 for NaN and infinities (unless allowed) and, with `encodeUtf8: false`, for a string that is
 * not UTF-8; 4002 when nested deeper than 1024
 */
export function writeJson(value: YsonValue, options: JsonOptions = {}): Buffer {
  const writer = new ByteWriter();
  writeJsonTo(writer, value, options);
  return writer.take();
}

/** Appends one document. */
export function writeJsonTo(writer: ByteWriter, value: YsonValue, options: JsonOptions = {}): void {
  new JsonWriter(writer, options).writeNode(value, 0);
}

/** One document; yields now and then. Bytes and errors as those of `writeJson`. */
export function* writeJsonInSlices(
  value: YsonValue,
  options: JsonOptions = {},
): Generator<void, Buffer, void> {
  const writer = new ByteWriter(2 * sliceBytes);
  yield* new JsonWriter(writer, options).nodeInSlices(value, 0, new Pace());
  return writer.take();
}

class JsonWriter {
  private readonly out: ByteWriter;
  private readonly options: JsonOptions;
  private readonly pretty: boolean;
  private readonly plain: boolean;
  private readonly attributesMode: "never" | "on_demand" | "always";

  constructor(out: ByteWriter, options: JsonOptions) {
    this.out = out;
    this.options = options;
    this.pretty = options.format === "pretty";
    this.plain = options.plain ?? false;
    this.attributesMode = this.plain ? "never" : (options.attributesMode ?? "on_demand");
  }

  writeNode(value: YsonValue, depth: number): void {
    const attributes = value instanceof Attributed ? value.attributes : undefined;
    const content = value instanceof Attributed ? value.value : value;
    const wrapped =
      this.attributesMode === "always" ||
      (this.attributesMode === "on_demand" && attributes !== undefined && attributes.size > 0);
    checkDepth(depth);
    const scalar = isScalar(content);
    const incomplete = typeof content === "string" && this.isTooLong(content);
    const type = scalar && !this.plain ? this.annotation(content) : undefined;
    if (!wrapped && type === undefined && (this.plain || !incomplete)) {
      this.writeContent(content, depth, incomplete, false);
      return;
    }
    this.out.writeByte(0x7b);
    let first = true;
    const key = (name: string): void => {
      this.separate(first, depth + 1);
      first = false;
      this.writeKey(name);
    };
    if (wrapped) {
      key("$attributes");
      this.writeMap(attributes ?? new Map(), depth + 1);
    }
    if (incomplete) {
      key("$incomplete");
      this.out.writeLatin1("true");
    }
    if (type !== undefined) {
      key("$type");
      this.writeText(type);
    }
    key("$value");
    this.writeContent(
      content,
      depth + 1,
      incomplete,
      type !== undefined && this.options.annotateWithTypes !== true,
    );
    this.close(0x7d, depth);
  }

  /** What `writeNode` does, stopping on the way. */
  *nodeInSlices(value: YsonValue, depth: number, pace: Pace): Generator<void, void, void> {
    const attributes = value instanceof Attributed ? value.attributes : undefined;
    const content = value instanceof Attributed ? value.value : value;
    if (isScalar(content)) {
      this.writeNode(value, depth);
      return;
    }
    checkDepth(depth);
    const wrapped =
      this.attributesMode === "always" ||
      (this.attributesMode === "on_demand" && attributes !== undefined && attributes.size > 0);
    if (!wrapped) {
      yield* this.contentInSlices(content, depth, pace);
      return;
    }
    this.out.writeByte(0x7b);
    this.separate(true, depth + 1);
    this.writeKey("$attributes");
    yield* this.contentInSlices(attributes ?? new Map(), depth + 1, pace);
    this.separate(false, depth + 1);
    this.writeKey("$value");
    yield* this.contentInSlices(content, depth + 1, pace);
    this.close(0x7d, depth);
  }

  private *contentInSlices(
    content: YsonMap | readonly YsonValue[],
    depth: number,
    pace: Pace,
  ): Generator<void, void, void> {
    const keys = isMap(content) ? content.keys() : undefined;
    const size = isMap(content) ? content.size : content.length;
    this.out.writeByte(keys === undefined ? 0x5b : 0x7b);
    let first = true;
    for (const item of content.values()) {
      this.separate(first, depth + 1);
      first = false;
      if (keys !== undefined) {
        this.writeMapKey(String(keys.next().value));
      }
      yield* this.nodeInSlices(item, depth + 1, pace);
      if (pace.isDue(this.out.length)) {
        yield;
      }
    }
    const close = keys === undefined ? 0x5d : 0x7d;
    if (size > 0) {
      this.close(close, depth);
    } else {
      this.out.writeByte(close);
    }
  }

  private isTooLong(text: string): boolean {
    const limit = this.options.stringLengthLimit;
    // A character has at most three bytes per unit, so most strings need no second look.
    return limit !== undefined && text.length * 3 > limit && stringToBytes(text).length > limit;
  }

  private annotation(value: YsonScalar): string | undefined {
    if (value === null) {
      return undefined;
    }
    const integer = typeof value === "bigint" ? value : value instanceof Uint64 ? value.value : undefined;
    const wide =
      this.options.webJson === true && integer !== undefined && (integer > maxSafe || integer < -maxSafe);
    if (this.options.annotateWithTypes !== true && !wide) {
      return undefined;
    }
    switch (typeof value) {
      case "bigint":
        return "int64";
      case "number":
        return "double";
      case "string":
        return "string";
      case "boolean":
        return "boolean";
      default:
        return "uint64";
    }
  }

  private writeContent(
    value: Exclude<YsonValue, Attributed>,
    depth: number,
    incomplete: boolean,
    forceString: boolean,
  ): void {
    if (typeof value === "string") {
      if (incomplete) {
        this.writeBytes(this.truncate(stringToBytes(value)));
      } else {
        this.writeText(value);
      }
    } else if (isMap(value)) {
      this.writeMap(value, depth);
    } else if (isScalar(value)) {
      this.writeScalar(value, this.options.stringify === true || forceString);
    } else {
      this.out.writeByte(0x5b);
      value.forEach((item, index) => {
        this.separate(index === 0, depth + 1);
        this.writeNode(item, depth + 1);
      });
      if (value.length > 0) {
        this.close(0x5d, depth);
      } else {
        this.out.writeByte(0x5d);
      }
    }
  }

  private writeMap(map: YsonMap, depth: number): void {
    this.out.writeByte(0x7b);
    let first = true;
    for (const [key, value] of map) {
      this.separate(first, depth + 1);
      first = false;
      this.writeMapKey(key);
      this.writeNode(value, depth + 1);
    }
    if (first) {
      this.out.writeByte(0x7d);
    } else {
      this.close(0x7d, depth);
    }
  }

  private writeMapKey(key: string): void {
    this.writeKey(!this.plain && key.startsWith("$") ? `$${key}` : key);
  }

  private writeKey(key: string): void {
    this.writeText(key);
    this.out.writeLatin1(this.pretty ? ": " : ":");
  }

  private separate(first: boolean, depth: number): void {
    if (!first) {
      this.out.writeByte(0x2c);
    }
    this.breakLine(depth);
  }

  private close(bracket: number, depth: number): void {
    this.breakLine(depth);
    this.out.writeByte(bracket);
  }

  private breakLine(depth: number): void {
    if (this.pretty) {
      this.out.writeLatin1(`\n${" ".repeat(depth * indentation)}`);
    }
  }

  private writeScalar(value: Exclude<YsonScalar, string>, asString: boolean): void {
    if (value === null) {
      this.out.writeLatin1("null");
      return;
    }
    const text = typeof value === "number" ? this.doubleText(value, asString) : String(value);
    this.out.writeLatin1(asString && !text.startsWith('"') ? `"${text}"` : text);
  }

  private doubleText(value: number, asString: boolean): string {
    if (!Number.isFinite(value)) {
      const name = Number.isNaN(value) ? "nan" : value > 0 ? "inf" : "-inf";
      if (asString || this.options.stringifyNanAndInfinity === true) {
        return `"${name}"`;
      }
      if (this.options.supportInfinity === true && !Number.isNaN(value)) {
        return name;
      }
      throw new YtError(
        `Unexpected ${Number.isNaN(value) ? "NaN" : "infinity"} encountered during JSON writing; ` +
          'consider using the "stringify_nan_and_infinity" format attribute',
      );
    }
    const text = Object.is(value, -0) ? "-0" : String(value);
    return asString || text.includes(".") || text.includes("e") ? text : `${text}.0`;
  }

  private truncate(bytes: Buffer): Buffer {
    const limit = this.options.stringLengthLimit ?? bytes.length;
    let end = Math.min(limit, bytes.length);
    if (this.options.encodeUtf8 === false) {
      // Never cut a character in two: what remains has to be UTF-8.
      let start = end;
      while (start > 0 && end - start < 4 && ((bytes[start] ?? 0) & 0xc0) === 0x80) {
        start--;
      }
      if (start + sequenceLength(bytes, start, bytes.length) !== end) {
        end = start;
      }
    }
    return bytes.subarray(0, end);
  }

  private writeText(text: string): void {
    const { out } = this;
    const count = text.length;
    out.ensure(count + 2);
    const target = out.buffer;
    let at = out.length;
    target[at++] = 0x22;
    for (let index = 0; index < count; index++) {
      const unit = text.charCodeAt(index);
      if (unit < 0x20 || unit > 0x7f || unit === 0x22 || unit === 0x5c) {
        this.writeBytes(stringToBytes(text));
        return;
      }
      target[at++] = unit;
    }
    target[at++] = 0x22;
    out.length = at;
  }

  private writeBytes(bytes: Buffer): void {
    const characters = this.options.encodeUtf8 !== false;
    if (!characters && !isUtf8(bytes)) {
      throw new YtError("Invalid UTF-8 string in JSON");
    }
    if (this.options.escapeNonAscii === true) {
      this.writeUnits(bytes.toString(characters ? "latin1" : "utf8"));
      return;
    }
    const { out } = this;
    out.ensure(bytes.length * 6 + 2);
    const target = out.buffer;
    let at = out.length;
    target[at++] = 0x22;
    for (const byte of bytes) {
      const escaped = escapes[byte];
      if (escaped !== undefined) {
        for (let index = 0; index < escaped.length; index++) {
          target[at++] = escaped.charCodeAt(index);
        }
      } else if (byte < 0x80 || !characters) {
        target[at++] = byte;
      } else {
        target[at++] = 0xc0 | (byte >> 6);
        target[at++] = 0x80 | (byte & 0x3f);
      }
    }
    target[at++] = 0x22;
    out.length = at;
  }

  private writeUnits(text: string): void {
    let result = '"';
    for (let index = 0; index < text.length; index++) {
      const unit = text.charCodeAt(index);
      result += escapes[unit] ?? (unit < 0x7f ? text.charAt(index) : unicodeEscape(unit));
    }
    this.out.writeLatin1(`${result}"`);
  }
}

function checkDepth(depth: number): void {
  if (depth > maxWriteDepth) {
    throw new YtError("Depth limit exceeded while writing JSON", {
      code: "DepthLimitExceeded",
      attributes: { limit: BigInt(maxWriteDepth) },
    });
  }
}

function isScalar(value: Exclude<YsonValue, Attributed>): value is YsonScalar {
  return typeof value !== "object" || value === null || value instanceof Uint64;
}

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).toUpperCase().padStart(4, "0")}`;
}

const escapes: (string | undefined)[] = [];
for (let byte = 0; byte < 32; byte++) {
  escapes[byte] = unicodeEscape(byte);
}
escapes[0x22] = '\\"';
escapes[0x5c] = "\\\\";
escapes[8] = "\\b";
escapes[9] = "\\t";
escapes[10] = "\\n";
escapes[12] = "\\f";
escapes[13] = "\\r";
