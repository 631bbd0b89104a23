/**
 * Rowsets as binary YSON list fragments and back, without an object for each row.
 * Specified in: yt/yt/client/formats/yson_parser.cpp; YTsaurus documentation, "Formats".
 */
import { YtError } from "@qyt/base";
import { type PhysicalType, type RowValue, type TableSchema, YsonAny } from "@qyt/schema";
import { ByteWriter, parseAttributes, parseNode, stringToBytes, YsonScanner } from "@qyt/yson";
import type { Rowset } from "./flow-cluster.ts";

const largestInt64 = (1n << 63n) - 1n;
const signs = {
  string: 0x01,
  int64: 0x02,
  double: 0x03,
  false: 0x04,
  true: 0x05,
  uint64: 0x06,
  entity: 0x23,
  quote: 0x22,
  separator: 0x3b,
  equals: 0x3d,
  mapStart: 0x7b,
  mapEnd: 0x7d,
  attributesStart: 0x3c,
} as const;

/** The body of a command that takes rows. A missing value is null. */
export function encodeRowset(rowset: Rowset): Buffer {
  const writer = new ByteWriter(4_096);
  const keys = rowset.columns.map((name) => {
    const key = new ByteWriter(name.length + 8);
    writeString(key, stringToBytes(name));
    key.writeByte(signs.equals);
    return key.take();
  });
  for (const row of rowset.rows) {
    writer.writeByte(signs.mapStart);
    for (const [index, key] of keys.entries()) {
      writer.writeBytes(key);
      writeValue(writer, row[index] ?? null);
      writer.writeByte(signs.separator);
    }
    writer.writeByte(signs.mapEnd);
    writer.writeByte(signs.separator);
  }
  return writer.take();
}

function writeValue(writer: ByteWriter, value: RowValue): void {
  if (value === null) {
    writer.writeByte(signs.entity);
  } else if (typeof value === "bigint") {
    // The cluster converts between the integer types by the column; only what is too large needs the unsigned one.
    const isLarge = value > largestInt64;
    writer.writeByte(isLarge ? signs.uint64 : signs.int64);
    if (isLarge) {
      writer.writeVarint64(value);
    } else {
      writer.writeZigzag64(value);
    }
  } else if (typeof value === "number") {
    writer.writeByte(signs.double);
    writer.writeDouble(value);
  } else if (typeof value === "boolean") {
    writer.writeByte(value ? signs.true : signs.false);
  } else if (value instanceof YsonAny) {
    writer.writeBytes(value.bytes);
  } else {
    writeString(writer, value);
  }
}

function writeString(writer: ByteWriter, bytes: Uint8Array): void {
  writer.writeByte(signs.string);
  writer.writeZigzagLength(bytes.length);
  writer.writeBytes(bytes);
}

/** The rows have a column that is not in the schema they were to be read by: it has changed. */
export class UnknownColumn extends YtError {}

/**
 * The rows of an answer, values in the order of the schema's columns, `null` for a row that is missing. Strings
 * are views of `bytes`.
 * @throws UnknownColumn
 * @throws YtError 4000 when it is no YSON
 */
export function decodeRowset(bytes: Uint8Array, schema: TableSchema): (RowValue[] | null)[] {
  const scanner = new YsonScanner(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const rows: (RowValue[] | null)[] = [];
  for (let byte = scanner.skipSpace(); byte >= 0; byte = scanner.skipSpace()) {
    if (byte === signs.attributesStart) {
      // `<row_index=5>#` tells about the rows behind it.
      parseAttributes(scanner, 1);
      parseNode(scanner, 1);
    } else if (byte === signs.mapStart) {
      rows.push(readRow(scanner, schema));
    } else if (parseNode(scanner, 0) === null) {
      rows.push(null);
    } else {
      throw new YtError("The proxy sent a row that is not a map");
    }
    if (!scanner.skipSeparator(-1)) {
      break;
    }
  }
  return rows;
}

function readRow(scanner: YsonScanner, schema: TableSchema): RowValue[] {
  const row = new Array<RowValue>(schema.columns.length).fill(null);
  scanner.position++;
  for (let next = scanner.skipSpace(); next !== signs.mapEnd; next = scanner.skipSpace()) {
    scanner.scanString(next);
    const name = scanner.keyValue();
    const index = schema.indexOf(name);
    const column = schema.columns[index];
    if (column === undefined) {
      throw new UnknownColumn(`The rows have a column "${name}" that is not in the schema of the table`);
    }
    if (scanner.skipSpace() !== signs.equals) {
      scanner.unexpected(scanner.skipSpace(), '"="');
    }
    scanner.position++;
    row[index] = readValue(scanner, column.physical);
    if (!scanner.skipSeparator(signs.mapEnd)) {
      break;
    }
  }
  scanner.position++;
  return row;
}

function readValue(scanner: YsonScanner, type: PhysicalType): RowValue {
  const byte = scanner.skipSpace();
  if (byte === signs.entity) {
    scanner.position++;
    return null;
  }
  if (type === "any") {
    const { buffer, end, position: start } = scanner;
    return new YsonAny(buffer.subarray(start, scanner.skipValue(buffer, start, end)));
  }
  if (byte === signs.string || byte === signs.quote) {
    scanner.scanString(byte);
    return scanner.stringEscaped
      ? stringToBytes(scanner.stringValue())
      : scanner.buffer.subarray(scanner.stringStart, scanner.stringEnd);
  }
  const value = scanner.readScalar(byte);
  if (typeof value === "string") {
    return stringToBytes(value);
  }
  const plain = typeof value === "object" && value !== null ? value.value : value;
  return type === "double" && typeof plain === "bigint" ? Number(plain) : plain;
}
