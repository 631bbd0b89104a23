/**
 * `dsv` and `schemaful_dsv`: tab-separated text, both ways.
 * Specified in: yt/yt/library/formats/dsv_*.cpp, schemaful_dsv_*.cpp, escape.cpp; yt/yt/client/formats/config.cpp.
 */
import { bare, isList, toYtError, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, stringToBytes } from "@qyt/yson";
import { ChunkedInput } from "./chunked-input.ts";
import { viewOf } from "./row-output.ts";
import type { RowSink } from "./row-sink.ts";
import type { TreeFormat } from "./tree-row-writer.ts";
import { formatDouble } from "./type-conversion.ts";

interface DsvOptions {
  readonly recordSeparator: number;
  readonly fieldSeparator: number;
  readonly keyValueSeparator: number;
  readonly linePrefix: string | undefined;
  readonly isEscaping: boolean;
  readonly escapingSymbol: number;
  readonly skipUnsupportedTypes: boolean;
}

interface SchemafulDsvOptions extends DsvOptions {
  readonly columns: readonly string[];
  readonly missingMode: "fail" | "skip_row" | "print_sentinel";
  readonly sentinel: string;
  readonly hasHeader: boolean;
}

/** @throws YtError 2800 for a bad attribute */
export function dsvOptionsOf(format: DataFormat): DsvOptions {
  const { attributes } = format;
  return {
    recordSeparator: separator(attributes, "record_separator", "\n"),
    fieldSeparator: separator(attributes, "field_separator", "\t"),
    keyValueSeparator: separator(attributes, "key_value_separator", "="),
    linePrefix: text(attributes, "line_prefix"),
    isEscaping: flag(attributes, "enable_escaping", true),
    escapingSymbol: separator(attributes, "escaping_symbol", "\\"),
    skipUnsupportedTypes: flag(attributes, "skip_unsupported_types", false),
  };
}

/** @param columns what `columns` is when the format does not say it; undefined: it must. @throws YtError 2800 */
export function schemafulDsvOptionsOf(
  format: DataFormat,
  columns: readonly string[] | undefined,
): SchemafulDsvOptions {
  const { attributes } = format;
  const given = bare(attributes.get("columns") ?? null);
  const names = isList(given) ? given.map((name) => String(bare(name))) : columns;
  if (names === undefined) {
    throw new YtError('Missing "columns" attribute in schemaful DSV format', { code: "InvalidFormat" });
  }
  const mode = text(attributes, "missing_value_mode") ?? "fail";
  if (mode !== "fail" && mode !== "skip_row" && mode !== "print_sentinel") {
    throw new YtError(`Invalid missing value mode "${mode}"`, { code: "InvalidFormat" });
  }
  return {
    ...dsvOptionsOf(format),
    columns: names,
    missingMode: mode,
    sentinel: text(attributes, "missing_value_sentinel") ?? "",
    hasHeader: flag(attributes, "enable_column_names_header", false),
  };
}

export function dsvTreeFormat(options: DsvOptions): TreeFormat {
  return {
    row(row) {
      const fields: Buffer[] = options.linePrefix === undefined ? [] : [stringToBytes(options.linePrefix)];
      for (const [name, value] of row) {
        if (value === null || name === "$row_index" || name === "$range_index") {
          continue;
        }
        const bytes = scalarText(name, value, options.skipUnsupportedTypes);
        if (bytes !== undefined) {
          fields.push(
            Buffer.concat([
              escapeField(stringToBytes(name), options, true),
              Buffer.from([options.keyValueSeparator]),
              escapeField(bytes, options, false),
            ]),
          );
        }
      }
      return joinRecord(fields, options);
    },
    missing: () => Buffer.from([options.recordSeparator]),
    control: () => Buffer.alloc(0),
    head: () => Buffer.alloc(0),
    tail: () => Buffer.alloc(0),
  };
}

export function schemafulDsvTreeFormat(options: SchemafulDsvOptions): TreeFormat {
  return {
    row(row) {
      const fields: Buffer[] = [];
      for (const name of options.columns) {
        const value = row.get(name) ?? null;
        if (value !== null) {
          const bytes = scalarText(name, value, options.skipUnsupportedTypes);
          fields.push(escapeField(bytes ?? Buffer.alloc(0), options, false));
        } else if (options.missingMode === "skip_row") {
          return Buffer.alloc(0);
        } else if (options.missingMode === "fail") {
          throw new YtError(`Column "${name}" is in schema but missing`);
        } else {
          fields.push(stringToBytes(options.sentinel));
        }
      }
      return joinRecord(fields, options);
    },
    missing: () => Buffer.alloc(0),
    control: () => Buffer.alloc(0),
    head: () =>
      options.hasHeader
        ? joinRecord(
            options.columns.map((name) => escapeField(stringToBytes(name), options, false)),
            options,
          )
        : Buffer.alloc(0),
    tail: () => Buffer.alloc(0),
  };
}

/** Rows of `dsv`, or of `schemaful_dsv` when the options name columns. All values are strings. */
export class DsvRowParser extends ChunkedInput {
  readonly #sink: RowSink;
  readonly #options: DsvOptions;
  readonly #schemaful: SchemafulDsvOptions | undefined;
  readonly #names: readonly Buffer[];
  #isHeaderSeen: boolean;

  constructor(sink: RowSink, options: DsvOptions | SchemafulDsvOptions, maxRowBytes: number) {
    super(maxRowBytes);
    this.#sink = sink;
    this.#options = options;
    this.#schemaful = "columns" in options ? options : undefined;
    this.#names = this.#schemaful?.columns.map(stringToBytes) ?? [];
    this.#isHeaderSeen = this.#schemaful?.hasHeader !== true;
  }

  /** Ends the input. */
  finishInput(): void {
    this.endOfInput();
  }

  protected override parse(isLast: boolean): void {
    try {
      for (;;) {
        const end = this.bytes.indexOf(this.#options.recordSeparator, this.position);
        if (end < 0) {
          break;
        }
        this.#record(this.position, end);
        this.position = end + 1;
      }
      if (isLast && this.position < this.end) {
        throw new YtError("The last record is not terminated");
      }
    } catch (thrown) {
      this.#sink.dropRow();
      throw toYtError(thrown).withAttributes({ row_index: BigInt(this.#sink.rowIndex) });
    }
  }

  #record(start: number, end: number): void {
    if (!this.#isHeaderSeen) {
      this.#isHeaderSeen = true;
      return;
    }
    const fields = split(this.bytes.subarray(start, end), this.#options.fieldSeparator);
    this.#sink.beginRow();
    if (this.#schemaful === undefined) {
      this.#dsvFields(fields);
    } else {
      this.#schemafulFields(fields, this.#schemaful);
    }
    this.#sink.endRow();
  }

  #dsvFields(fields: Buffer[]): void {
    const { linePrefix, keyValueSeparator } = this.#options;
    if (linePrefix !== undefined) {
      const prefix = fields.shift();
      if (prefix === undefined || !prefix.equals(stringToBytes(linePrefix))) {
        throw new YtError(`Expected the line prefix "${linePrefix}" at the start of a record`);
      }
    }
    for (const field of fields) {
      const at = unescapedIndex(field, keyValueSeparator, this.#options);
      if (at >= 0) {
        const name = unescapeField(field.subarray(0, at), this.#options);
        this.#sink.selectColumn(name, 0, name.length);
        this.#put(unescapeField(field.subarray(at + 1), this.#options));
      }
    }
  }

  #schemafulFields(fields: readonly Buffer[], options: SchemafulDsvOptions): void {
    if (fields.length < this.#names.length) {
      throw new YtError(
        `Row ${this.#sink.rowIndex} is incomplete: expected ${this.#names.length} fields but found ${fields.length}`,
      );
    }
    if (fields.length > this.#names.length) {
      throw new YtError("Too many fields in row");
    }
    const sentinel = stringToBytes(options.sentinel);
    for (const [index, name] of this.#names.entries()) {
      const field = fields[index] ?? Buffer.alloc(0);
      this.#sink.selectColumn(name, 0, name.length);
      if (options.missingMode === "print_sentinel" && field.equals(sentinel)) {
        this.#sink.putNull();
      } else {
        this.#put(unescapeField(field, this.#options));
      }
    }
  }

  #put(value: Buffer): void {
    this.#sink.putString(value, viewOf(value), 0, value.length);
  }
}

function joinRecord(fields: readonly Buffer[], options: DsvOptions): Buffer {
  const parts: Buffer[] = [];
  for (const [index, field] of fields.entries()) {
    if (index > 0) {
      parts.push(Buffer.from([options.fieldSeparator]));
    }
    parts.push(field);
  }
  parts.push(Buffer.from([options.recordSeparator]));
  return Buffer.concat(parts);
}

function scalarText(name: string, value: YsonValue, skipsUnsupported: boolean): Buffer | undefined {
  if (typeof value === "string") {
    return stringToBytes(value);
  }
  if (typeof value === "number") {
    return Buffer.from(formatDouble(value));
  }
  if (typeof value === "bigint" || typeof value === "boolean" || value instanceof Uint64) {
    return Buffer.from(value.toString());
  }
  if (skipsUnsupported) {
    return undefined;
  }
  throw new YtError(`Values of type "any" are not supported by DSV format: column "${name}"`, {
    code: "FormatCannotRepresentRow",
  });
}

const escapeLetters = new Map([
  [0x00, 0x30],
  [0x0a, 0x6e],
  [0x0d, 0x72],
  [0x09, 0x74],
]);
const letterEscapes = new Map([...escapeLetters].map(([byte, letter]) => [letter, byte]));

function escapeField(bytes: Buffer, options: DsvOptions, isKey: boolean): Buffer {
  if (!options.isEscaping) {
    return bytes;
  }
  const result: number[] = [];
  for (const byte of bytes) {
    const isSpecial =
      byte === options.recordSeparator ||
      byte === options.fieldSeparator ||
      byte === options.escapingSymbol ||
      byte === 0 ||
      byte === 0x0d ||
      (isKey && byte === options.keyValueSeparator);
    if (isSpecial) {
      result.push(options.escapingSymbol, escapeLetters.get(byte) ?? byte);
    } else {
      result.push(byte);
    }
  }
  return Buffer.from(result);
}

function unescapeField(bytes: Buffer, options: DsvOptions): Buffer {
  if (!options.isEscaping || !bytes.includes(options.escapingSymbol)) {
    return bytes;
  }
  const result: number[] = [];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0;
    const next = bytes[at + 1];
    if (byte === options.escapingSymbol && next !== undefined) {
      result.push(letterEscapes.get(next) ?? next);
      at++;
    } else {
      result.push(byte);
    }
  }
  return Buffer.from(result);
}

/** The first place of a byte that no escape stands before, or -1. */
function unescapedIndex(bytes: Buffer, wanted: number, options: DsvOptions): number {
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] === wanted) {
      return at;
    }
    if (options.isEscaping && bytes[at] === options.escapingSymbol) {
      at++;
    }
  }
  return -1;
}

function split(record: Buffer, fieldSeparator: number): Buffer[] {
  const fields: Buffer[] = [];
  let start = 0;
  for (;;) {
    const at = record.indexOf(fieldSeparator, start);
    if (at < 0) {
      fields.push(record.subarray(start));
      return fields;
    }
    fields.push(record.subarray(start, at));
    start = at + 1;
  }
}

function separator(attributes: YsonMap, name: string, byDefault: string): number {
  const bytes = stringToBytes(text(attributes, name) ?? byDefault);
  if (bytes.length !== 1) {
    throw new YtError(`Format attribute "${name}" must be one character`, { code: "InvalidFormat" });
  }
  return bytes[0] ?? 0;
}

function text(attributes: YsonMap, name: string): string | undefined {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return undefined;
  }
  if (typeof value !== "string") {
    throw new YtError(`Format attribute "${name}" must be a string`, { code: "InvalidFormat" });
  }
  return value;
}

function flag(attributes: YsonMap, name: string, byDefault: boolean): boolean {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return byDefault;
  }
  if (value === true || value === "true") {
    return true;
  }
  if (value === false || value === "false") {
    return false;
  }
  throw new YtError(`Format attribute "${name}" must be a boolean`, { code: "InvalidFormat" });
}
