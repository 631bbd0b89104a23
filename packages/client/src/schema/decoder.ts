/** Rows in YSON straight to objects, by the types of their columns. */
import { Uint64, type YsonValue, YtError } from "@qyt/base";
import { fromYson, parseAttributes, parseNode, stringToBytes, YsonScanner } from "@qyt/yson";
import type { ColumnSpec, ColumnType } from "./types.ts";

type Row = Record<string, unknown>;

const mapStart = 0x7b;
const mapEnd = 0x7d;
const attributesStart = 0x3c;
const equals = 0x3d;

/** Types whose values are whole numbers that always fit into a `number`. */
const smallIntegers: ReadonlySet<ColumnType> = new Set<ColumnType>([
  "int32",
  "int16",
  "int8",
  "uint32",
  "uint16",
  "uint8",
  "date",
  "datetime",
]);

export class RowDecoder {
  readonly #types: ReadonlyMap<string, ColumnType>;
  /** All columns in order, null: rows have one shape. */
  readonly #empty: Row;

  constructor(specs: readonly (readonly [string, ColumnSpec])[]) {
    this.#types = new Map(specs.map(([name, { type }]) => [name, type]));
    this.#empty = Object.fromEntries(specs.map(([name]) => [name, null]));
  }

  /** The rows of a list fragment; `null` where a row is missing. Columns that a row has not are null. */
  decode(bytes: Uint8Array): (Row | null)[] {
    const scanner = new YsonScanner(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
    const rows: (Row | null)[] = [];
    for (let byte = scanner.skipSpace(); byte >= 0; byte = scanner.skipSpace()) {
      if (byte === attributesStart) {
        // `<row_index=5>#` tells about the rows behind it.
        parseAttributes(scanner, 1);
        parseNode(scanner, 1);
      } else {
        rows.push(this.#row(scanner, byte));
      }
      if (!scanner.skipSeparator(-1)) {
        break;
      }
    }
    return rows;
  }

  #row(scanner: YsonScanner, byte: number): Row | null {
    if (byte !== mapStart) {
      if (parseNode(scanner, 0) === null) {
        return null;
      }
      throw new YtError("The proxy sent a row that is not a map");
    }
    const row: Row = { ...this.#empty };
    scanner.position++;
    for (let next = scanner.skipSpace(); next !== mapEnd; next = scanner.skipSpace()) {
      scanner.scanString(next);
      const name = scanner.keyValue();
      if (scanner.skipSpace() !== equals) {
        scanner.unexpected(scanner.skipSpace(), '"="');
      }
      scanner.position++;
      row[name] = this.#value(scanner, this.#types.get(name));
      if (!scanner.skipSeparator(mapEnd)) {
        break;
      }
    }
    scanner.position++;
    return row;
  }

  #value(scanner: YsonScanner, type: ColumnType | undefined): unknown {
    const byte = scanner.skipSpace();
    if (type === "bytes" && (byte === 0x01 || byte === 0x22)) {
      return bytesOf(scanner, byte);
    }
    const value: YsonValue = parseNode(scanner, 1);
    if (typeof value === "bigint") {
      if (type === undefined || !smallIntegers.has(type)) {
        return type === "double" || type === "float" ? Number(value) : value;
      }
      return Number(value);
    }
    if (value instanceof Uint64) {
      return type !== undefined && smallIntegers.has(type) ? Number(value.value) : value.value;
    }
    return typeof value === "object" && value !== null ? fromYson(value) : value;
  }
}

function bytesOf(scanner: YsonScanner, byte: number): Uint8Array {
  scanner.scanString(byte);
  return scanner.stringEscaped
    ? stringToBytes(scanner.stringValue())
    : new Uint8Array(scanner.buffer.subarray(scanner.stringStart, scanner.stringEnd));
}
