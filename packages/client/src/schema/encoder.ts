/** Rows straight to binary YSON, by the types of their columns. */
import { Uint64, YtError } from "@qyt/base";
import { ByteWriter, toYson, writeYsonTo } from "@qyt/yson";
import type { ColumnSpec, ColumnType } from "./types.ts";

type ValueWriter = (writer: ByteWriter, value: unknown) => void;

interface EncodedColumn {
  readonly name: string;
  /** The name with the `=` behind it. */
  readonly prefix: Uint8Array;
  readonly write: ValueWriter;
}

const open = 0x7b;
const close = 0x7d;
const separator = 0x3b;
const entity = 0x23;

/** Columns of queues that are written and in no schema. */
const controlColumns = ["$tablet_index", "$sequence_number"];

export class RowEncoder {
  readonly #columns: readonly EncodedColumn[];

  constructor(specs: readonly (readonly [string, ColumnSpec])[]) {
    const columns = specs.map(([name, { type }]) => encodedColumn(name, type));
    const controls = controlColumns
      .filter((name) => !specs.some(([known]) => known === name))
      .map((name) => encodedColumn(name, "int64"));
    this.#columns = [...columns, ...controls];
  }

  /** A list fragment of the rows. @throws YtError 307 */
  encode(rows: Iterable<object>): Buffer {
    const writer = new ByteWriter(4096);
    for (const row of rows) {
      this.encodeTo(writer, row);
    }
    return writer.take();
  }

  /** One row with its separator, behind what the writer has. @throws YtError 307 */
  encodeTo(writer: ByteWriter, row: object): void {
    const values = fieldsOf(row);
    let written = 0;
    writer.writeByte(open);
    for (const { name, prefix, write } of this.#columns) {
      const value = values[name];
      if (value === undefined) {
        written += name in values ? 1 : 0;
        continue;
      }
      written++;
      writer.writeBytes(prefix);
      if (value === null) {
        writer.writeByte(entity);
      } else {
        write(writer, value);
      }
      writer.writeByte(separator);
    }
    let given = 0;
    for (const _ in values) {
      given++;
    }
    if (written !== given) {
      throw this.#unknownColumn(values);
    }
    writer.writeByte(close);
    writer.writeByte(separator);
  }

  #unknownColumn(values: Readonly<Record<string, unknown>>): YtError {
    const known = new Set(this.#columns.map(({ name }) => name));
    const name = Object.keys(values).find((key) => !known.has(key)) ?? "";
    return new YtError(`The schema has no column "${name}"; it has ${[...known].slice(0, 20).join(", ")}`, {
      code: "SchemaViolation",
    });
  }
}

/** A row by its names. */
function fieldsOf(row: object): Readonly<Record<string, unknown>> {
  return isRecord(row) ? row : {};
}

function isRecord(row: object): row is Readonly<Record<string, unknown>> {
  return !Array.isArray(row);
}

function encodedColumn(name: string, type: ColumnType): EncodedColumn {
  const writer = new ByteWriter();
  writeYsonTo(writer, name, "binary");
  writer.writeByte(0x3d);
  return { name, prefix: Uint8Array.from(writer.take()), write: valueWriter(name, type) };
}

function valueWriter(name: string, type: ColumnType): ValueWriter {
  const range = integerRanges[type];
  if (range !== undefined) {
    const [low, high] = range;
    return (writer, value) => {
      const integer = typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value;
      if (typeof integer !== "bigint" || integer < low || integer > high) {
        throw unfit(name, type, value);
      }
      if (low < 0n) {
        writer.writeByte(0x02);
        writer.writeZigzag64(integer);
      } else {
        writeYsonTo(writer, new Uint64(integer), "binary");
      }
    };
  }
  switch (type) {
    case "double":
    case "float":
      return (writer, value) => {
        if (typeof value !== "number") {
          throw unfit(name, type, value);
        }
        writer.writeByte(0x03);
        writer.writeDouble(value);
      };
    case "boolean":
      return (writer, value) => {
        if (typeof value !== "boolean") {
          throw unfit(name, type, value);
        }
        writer.writeByte(value ? 0x05 : 0x04);
      };
    case "bytes":
      return (writer, value) => {
        if (!(value instanceof Uint8Array)) {
          throw unfit(name, type, value);
        }
        writer.writeByte(0x01);
        writer.writeZigzagLength(value.length);
        writer.writeBytes(value);
      };
    case "any":
      return (writer, value) => writeYsonTo(writer, toYson(value), "binary");
    default:
      return (writer, value) => {
        if (typeof value !== "string") {
          throw unfit(name, type, value);
        }
        writeYsonTo(writer, value, "binary");
      };
  }
}

function signed(bits: bigint): readonly [bigint, bigint] {
  return [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n];
}

function unsigned(bits: bigint): readonly [bigint, bigint] {
  return [0n, (1n << bits) - 1n];
}

/** Limits of integers; types without an entry are none. What exactly a date may be is checked by the cluster. */
const integerRanges: Partial<Readonly<Record<ColumnType, readonly [bigint, bigint]>>> = {
  int64: signed(64n),
  int32: signed(32n),
  int16: signed(16n),
  int8: signed(8n),
  interval: signed(64n),
  uint64: unsigned(64n),
  uint32: unsigned(32n),
  uint16: unsigned(16n),
  uint8: unsigned(8n),
  date: unsigned(16n),
  datetime: unsigned(32n),
  timestamp: unsigned(64n),
};

function unfit(name: string, type: ColumnType, value: unknown): YtError {
  const told = typeof value === "bigint" || typeof value === "number" ? String(value) : typeof value;
  return new YtError(`Column "${name}" is of type ${type} and cannot have the value ${told}`, {
    code: "SchemaViolation",
  });
}
