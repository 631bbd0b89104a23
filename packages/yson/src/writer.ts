/**
 * Writes values as YSON in its three forms, byte for byte as YTsaurus does.
 * Specified in: yt/yt/core/yson/writer.cpp.
 */
import { Attributed, isMap, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { ByteWriter, isAscii } from "./byte-writer.ts";
import { stringToBytes } from "./bytes.ts";
import { Pace, sliceBytes } from "./pace.ts";
import { writeQuoted } from "./string-escapes.ts";

export type YsonFormat = "binary" | "text" | "pretty";

const indentation = 4;
// Only a guard for the call stack: documents are limited where they are read.
const maxWriteDepth = 1024;

/** One document, without a newline at the end. @throws YtError 4002 when nested deeper than 1024 */
export function writeYson(value: YsonValue, format: YsonFormat): Buffer {
  const writer = new ByteWriter();
  writeYsonTo(writer, value, format);
  return writer.take();
}

/** The text form as a JS string; it is pure ASCII. */
export function writeYsonText(value: YsonValue): string {
  const bytes = writeYson(value, "text");
  return bytes.latin1Slice(0, bytes.length);
}

/** A list fragment: each item followed by `;`, in text and pretty form also by a newline. */
export function writeYsonList(values: Iterable<YsonValue>, format: YsonFormat): Buffer {
  const writer = new ByteWriter();
  for (const value of values) {
    writeYsonTo(writer, value, format);
    endFragmentItem(writer, format);
  }
  return writer.take();
}

/** A map fragment: pairs without braces, separated like the items of a list fragment. */
export function writeYsonMap(map: YsonMap, format: YsonFormat): Buffer {
  const writer = new ByteWriter();
  for (const [key, value] of map) {
    writeString(writer, key, format);
    writer.writeLatin1(format === "pretty" ? " = " : "=");
    writeYsonTo(writer, value, format);
    endFragmentItem(writer, format);
  }
  return writer.take();
}

/** One document; yields now and then. Bytes and errors as those of `writeYson`. */
export function* writeYsonInSlices(value: YsonValue, format: YsonFormat): Generator<void, Buffer, void> {
  const writer = new ByteWriter(2 * sliceBytes);
  yield* nodeInSlices(writer, value, format, { depth: 0, pace: new Pace() });
  return writer.take();
}

interface SliceState {
  readonly depth: number;
  readonly pace: Pace;
}

function* nodeInSlices(
  writer: ByteWriter,
  value: YsonValue,
  format: YsonFormat,
  { depth, pace }: SliceState,
): Generator<void, void, void> {
  if (typeof value !== "object" || value === null || value instanceof Uint64) {
    writeNode(writer, value, format, depth);
    return;
  }
  checkDepth(depth + 1);
  if (value instanceof Attributed) {
    if (value.attributes.size > 0) {
      yield* pairsInSlices(writer, value.attributes, format, { depth: depth + 1, pace }, "<>");
      if (format === "pretty") {
        writer.writeByte(0x20);
      }
    }
    yield* nodeInSlices(writer, value.value, format, { depth, pace });
  } else if (isMap(value)) {
    yield* pairsInSlices(writer, value, format, { depth: depth + 1, pace }, "{}");
  } else {
    writer.writeByte(0x5b);
    for (const item of value) {
      beginItem(writer, format, depth + 1);
      yield* nodeInSlices(writer, item, format, { depth: depth + 1, pace });
      writer.writeByte(0x3b);
      if (pace.isDue(writer.length)) {
        yield;
      }
    }
    if (value.length > 0) {
      beginItem(writer, format, depth);
    }
    writer.writeByte(0x5d);
  }
}

function* pairsInSlices(
  writer: ByteWriter,
  map: YsonMap,
  format: YsonFormat,
  { depth, pace }: SliceState,
  brackets: "<>" | "{}",
): Generator<void, void, void> {
  writer.writeByte(brackets.charCodeAt(0));
  for (const [key, value] of map) {
    beginItem(writer, format, depth);
    writeString(writer, key, format);
    writer.writeLatin1(format === "pretty" ? " = " : "=");
    yield* nodeInSlices(writer, value, format, { depth, pace });
    writer.writeByte(0x3b);
    if (pace.isDue(writer.length)) {
      yield;
    }
  }
  if (map.size > 0) {
    beginItem(writer, format, depth - 1);
  }
  writer.writeByte(brackets.charCodeAt(1));
}

/** Appends one document. */
export function writeYsonTo(writer: ByteWriter, value: YsonValue, format: YsonFormat): void {
  writeNode(writer, value, format, 0);
}

function endFragmentItem(writer: ByteWriter, format: YsonFormat): void {
  writer.writeByte(0x3b);
  if (format !== "binary") {
    writer.writeByte(0x0a);
  }
}

function writeNode(writer: ByteWriter, value: YsonValue, format: YsonFormat, depth: number): void {
  if (typeof value === "string") {
    writeString(writer, value, format);
  } else if (typeof value === "bigint") {
    if (format === "binary") {
      writer.writeByte(0x02);
      writer.writeZigzag64(value);
    } else {
      writer.writeLatin1(value.toString());
    }
  } else if (typeof value === "number") {
    if (format === "binary") {
      writer.writeByte(0x03);
      writer.writeDouble(value);
    } else {
      writer.writeLatin1(doubleToText(value));
    }
  } else if (value === null) {
    writer.writeByte(0x23);
  } else if (typeof value === "boolean") {
    if (format === "binary") {
      writer.writeByte(value ? 0x05 : 0x04);
    } else {
      writer.writeLatin1(value ? "%true" : "%false");
    }
  } else if (value instanceof Uint64) {
    if (format === "binary") {
      writer.writeByte(0x06);
      writer.writeVarint64(value.value);
    } else {
      writer.writeLatin1(`${value.value}u`);
    }
  } else {
    writeComposite(writer, value, format, depth + 1);
  }
}

function writeComposite(
  writer: ByteWriter,
  value: Attributed | readonly YsonValue[] | YsonMap,
  format: YsonFormat,
  depth: number,
): void {
  checkDepth(depth);
  if (value instanceof Attributed) {
    if (value.attributes.size > 0) {
      writePairs(writer, value.attributes, format, depth, 0x3c, 0x3e);
      if (format === "pretty") {
        writer.writeByte(0x20);
      }
    }
    writeNode(writer, value.value, format, depth - 1);
  } else if (value instanceof Map) {
    writePairs(writer, value, format, depth, 0x7b, 0x7d);
  } else {
    writer.writeByte(0x5b);
    const items = value as readonly YsonValue[];
    for (const item of items) {
      beginItem(writer, format, depth);
      writeNode(writer, item, format, depth);
      writer.writeByte(0x3b);
    }
    if (items.length > 0) {
      beginItem(writer, format, depth - 1);
    }
    writer.writeByte(0x5d);
  }
}

function checkDepth(depth: number): void {
  if (depth > maxWriteDepth) {
    throw new YtError("Depth limit exceeded while writing YSON", {
      code: "DepthLimitExceeded",
      attributes: { limit: BigInt(maxWriteDepth) },
    });
  }
}

function writePairs(
  writer: ByteWriter,
  map: YsonMap,
  format: YsonFormat,
  depth: number,
  open: number,
  close: number,
): void {
  writer.writeByte(open);
  for (const [key, value] of map) {
    beginItem(writer, format, depth);
    writeString(writer, key, format);
    writer.writeLatin1(format === "pretty" ? " = " : "=");
    writeNode(writer, value, format, depth);
    writer.writeByte(0x3b);
  }
  if (map.size > 0) {
    beginItem(writer, format, depth - 1);
  }
  writer.writeByte(close);
}

function beginItem(writer: ByteWriter, format: YsonFormat, depth: number): void {
  if (format === "pretty") {
    writer.writeByte(0x0a);
    for (let count = depth * indentation; count > 0; count--) {
      writer.writeByte(0x20);
    }
  }
}

function writeString(writer: ByteWriter, text: string, format: YsonFormat): void {
  if (format !== "binary") {
    writeQuoted(writer, text);
    return;
  }
  writer.writeByte(0x01);
  if (isAscii(text)) {
    writer.writeZigzagLength(text.length);
    writer.writeLatin1(text);
  } else {
    const bytes = stringToBytes(text);
    writer.writeZigzagLength(bytes.length);
    writer.writeBytes(bytes);
  }
}

/** The YSON text of a double: the shortest digits that read back the same, always recognisable as a double. */
export function doubleToText(value: number): string {
  if (Number.isFinite(value)) {
    const text = Object.is(value, -0) ? "-0" : String(value);
    return text.includes(".") || text.includes("e") ? text : `${text}.`;
  }
  return Number.isNaN(value) ? "%nan" : value > 0 ? "%inf" : "%-inf";
}
