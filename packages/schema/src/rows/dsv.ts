/**
 * `dsv` and `schemaful_dsv`: tab-separated text, both ways.
 * Specified in: yt/yt/library/formats/dsv_*.cpp, schemaful_dsv_*.cpp, escape.cpp; yt/yt/client/formats/config.cpp.
 */
import { Attributed, bare, isList, isMap, toYtError, Uint64, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, stringToBytes } from "@qyt/yson";
import { ChunkedInput } from "./chunked-input.ts";
import { viewOf } from "./row-output.ts";
import type { RowSink } from "./row-sink.ts";
import {
  escapeField,
  type FieldOptions,
  flag,
  separator,
  text,
  unescapedIndex,
  unescapeField,
} from "./text-fields.ts";
import type { TreeFormat } from "./tree-row-writer.ts";
import { formatDouble } from "./type-conversion.ts";
import { checkControlAttribute } from "./yson-row-parser.ts";

interface DsvOptions extends FieldOptions {
  readonly keyValueSeparator: number;
  readonly linePrefix: string | undefined;
  readonly skipUnsupportedTypes: boolean;
  /** The field that says which table a row is from; undefined: there is none. */
  readonly tableIndexField: string | undefined;
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
    tableIndexField: flag(attributes, "enable_table_index", false)
      ? (text(attributes, "table_index_column") ?? "@table_index")
      : undefined,
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
    columns: uniqueNames(names),
    missingMode: mode,
    sentinel: text(attributes, "missing_value_sentinel") ?? "",
    hasHeader: flag(attributes, "enable_column_names_header", false),
  };
}

function uniqueNames(names: readonly string[]): readonly string[] {
  const repeated = names.find((name, index) => names.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new YtError(`Duplicate column name "${repeated}" in schemaful DSV config`, {
      code: "InvalidFormat",
    });
  }
  return names;
}

/** @throws YtError from `control` for what DSV cannot say between rows */
export function dsvTreeFormat(options: DsvOptions): TreeFormat {
  let tableIndex: bigint | undefined;
  return {
    row(row) {
      const fields: Buffer[] = options.linePrefix === undefined ? [] : [stringToBytes(options.linePrefix)];
      for (const [name, value] of row) {
        if (value === null || isServiceColumn(name)) {
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
      if (tableIndex !== undefined && options.tableIndexField !== undefined) {
        fields.push(
          Buffer.concat([
            escapeField(stringToBytes(options.tableIndexField), options, true),
            Buffer.from([options.keyValueSeparator]),
            Buffer.from(tableIndex.toString()),
          ]),
        );
      }
      return joinRecord(fields, options);
    },
    missing: () => Buffer.from([options.recordSeparator]),
    control(attribute, value) {
      checkControl(attribute, "DSV");
      tableIndex = value;
      return Buffer.alloc(0);
    },
    head: () => Buffer.alloc(0),
    tail: () => Buffer.alloc(0),
  };
}

/** @throws YtError from `control` for what schemaful DSV cannot say between rows */
export function schemafulDsvTreeFormat(options: SchemafulDsvOptions): TreeFormat {
  let tableIndex: bigint | undefined;
  return {
    row(row) {
      const isIndexed = tableIndex !== undefined && options.tableIndexField !== undefined;
      const fields: Buffer[] = isIndexed ? [Buffer.from(String(tableIndex))] : [];
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
    missing() {
      throw new YtError("Empty rows are not supported by schemaful dsv writer");
    },
    control(attribute, value) {
      checkControl(attribute, "schemaful DSV");
      tableIndex = value;
      return Buffer.alloc(0);
    },
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

/**
 * A document in `dsv`: a scalar, a map of scalars, or a list of those, one a line.
 * @throws YtError code 1 for anything nested deeper, entities as values of a map, and attributes; 2800
 */
export function writeDsvDocument(value: YsonValue, format: DataFormat): Buffer {
  const options = dsvOptionsOf(format);
  if (!isList(value)) {
    return documentItem(value, options);
  }
  const lines = value.flatMap((item) => [
    item === null ? Buffer.alloc(0) : documentItem(item, options),
    Buffer.from([options.recordSeparator]),
  ]);
  return Buffer.concat(lines);
}

function documentItem(value: YsonValue, options: DsvOptions): Buffer {
  if (!isMap(value)) {
    return escapeField(documentScalar(value), options, false);
  }
  const fields = [...value].map(([key, item]) =>
    Buffer.concat([
      escapeField(stringToBytes(key), options, true),
      Buffer.from([options.keyValueSeparator]),
      escapeField(documentScalar(item), options, false),
    ]),
  );
  const parts = fields.flatMap((field) => [Buffer.from([options.fieldSeparator]), field]);
  return Buffer.concat(parts.slice(1));
}

function documentScalar(value: YsonValue): Buffer {
  if (value instanceof Attributed) {
    throw new YtError("Embedded attributes are not supported by DSV; ask for yson or json");
  }
  if (value === null) {
    throw new YtError("Entities are not supported by DSV; ask for yson or json");
  }
  if (isList(value) || isMap(value)) {
    throw new YtError("Nested values are not supported by DSV; ask for yson or json");
  }
  return scalarText("", value, false) ?? Buffer.alloc(0);
}

/** Control records of the table reader that have no place in the format. */
const unsupportedControls = new Map([
  ["key_switch", "Key switches"],
  ["range_index", "Range indices"],
  ["row_index", "Row indices"],
  ["tablet_index", "Tablet indices"],
  ["end_of_stream", "End of stream control attribute"],
]);

function checkControl(attribute: string, format: string): void {
  const name = unsupportedControls.get(attribute);
  if (name !== undefined) {
    throw new YtError(`${name} are not supported in ${format} format`);
  }
}

/** Rows of `dsv`, or of `schemaful_dsv` when the options name columns. All values are strings. */
export class DsvRowParser extends ChunkedInput {
  readonly #sink: RowSink;
  readonly #options: DsvOptions;
  readonly #schemaful: SchemafulDsvOptions | undefined;
  readonly #names: readonly Buffer[];

  constructor(sink: RowSink, options: DsvOptions | SchemafulDsvOptions, maxRowBytes: number) {
    super(maxRowBytes);
    this.#sink = sink;
    this.#options = options;
    this.#schemaful = "columns" in options ? options : undefined;
    this.#names = this.#schemaful?.columns.map(stringToBytes) ?? [];
    if (this.#schemaful?.hasHeader === true) {
      throw new YtError('Format attribute "enable_column_names_header" is not supported for input', {
        code: "InvalidFormat",
      });
    }
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
    const fields = split(this.bytes.subarray(start, end), this.#options.fieldSeparator);
    this.#sink.beginRow();
    if (this.#schemaful === undefined) {
      if (this.#options.isEscaping && this.bytes.subarray(start, end).includes(0)) {
        throw new YtError("Unescaped \\0 in a DSV record: write it as a backslash and a zero");
      }
      this.#dsvFields(fields);
    } else {
      this.#takeTableIndex(fields);
      this.#schemafulFields(fields, this.#schemaful);
    }
    this.#sink.endRow();
  }

  #dsvFields(fields: Buffer[]): void {
    const { linePrefix, keyValueSeparator } = this.#options;
    if (linePrefix !== undefined) {
      const prefix = fields.shift();
      if (prefix === undefined || !unescapeField(prefix, this.#options).equals(stringToBytes(linePrefix))) {
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

  #takeTableIndex(fields: Buffer[]): void {
    if (this.#options.tableIndexField !== undefined) {
      checkControlAttribute("table_index", fields.shift()?.toString("latin1") === "0");
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

/** Columns that say where a row is from. */
function isServiceColumn(name: string): boolean {
  return (
    name === "$row_index" || name === "$range_index" || name === "$table_index" || name === "$tablet_index"
  );
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
