/**
 * `yamr`: rows of two or three strings, `key`, `subkey` and `value`, as lines or with lengths in front (`lenval`).
 * Specified in: yt/yt/library/formats/yamr_{parser,writer,parser_base}.cpp; yt/yt/client/formats/config.cpp.
 */
import { isMap, toYtError, Uint64, type YsonValue, YtError } from "@qyt/base";
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
import { checkControlAttribute } from "./yson-row-parser.ts";

interface YamrOptions extends FieldOptions {
  /** The columns in the order of the fields; the middle one only with a subkey. */
  readonly columns: readonly string[];
  readonly hasSubkey: boolean;
  readonly isLenval: boolean;
  readonly hasTableIndex: boolean;
  /** Whether `lenval` ends with the number of rows. */
  readonly hasEndOfMessage: boolean;
}

/** Values of a length that mean something else. */
const tableSwitch = 0xffff_ffff;
const rangeSwitch = 0xffff_fffd;
const rowSwitch = 0xffff_fffc;
const endOfMessage = 0xffff_fffb;

/** @throws YtError 2800 for a bad attribute */
export function yamrOptionsOf(format: DataFormat): YamrOptions {
  const { attributes } = format;
  const hasSubkey = flag(attributes, "has_subkey", false);
  const name = (attribute: string): string => text(attributes, attribute) ?? attribute;
  const isLenval = flag(attributes, "lenval", false);
  const hasEndOfMessage = flag(attributes, "enable_eom", false);
  if (hasEndOfMessage && !isLenval) {
    throw new YtError("EOM marker is not supported in YAMR text mode", { code: "InvalidFormat" });
  }
  return {
    recordSeparator: separator(attributes, "rs", "\n"),
    fieldSeparator: separator(attributes, "fs", "\t"),
    keyValueSeparator: undefined,
    isEscaping: flag(attributes, "enable_escaping", false),
    escapingSymbol: separator(attributes, "escaping_symbol", "\\"),
    columns: hasSubkey ? [name("key"), name("subkey"), name("value")] : [name("key"), name("value")],
    hasSubkey,
    isLenval,
    hasTableIndex: flag(attributes, "enable_table_index", false),
    hasEndOfMessage,
  };
}

/** @throws YtError from `row` for a row without key or value, and for values that are no strings */
export function yamrTreeFormat(options: YamrOptions): TreeFormat {
  let rowCount = 0n;
  return {
    row(row) {
      rowCount++;
      const fields = options.columns.map((name, index) =>
        fieldOf(name, row.get(name) ?? null, options.hasSubkey && index === 1),
      );
      return options.isLenval ? lenvalRow(fields) : textRow(fields, options);
    },
    missing: () => Buffer.alloc(0),
    control: (attribute, value) => controlRecord(attribute, value, options),
    head: () => Buffer.alloc(0),
    tail: () =>
      options.hasEndOfMessage ? Buffer.concat([uint32(endOfMessage), uint64(rowCount)]) : Buffer.alloc(0),
  };
}

function fieldOf(name: string, value: YsonValue, mayBeMissing: boolean): Buffer {
  if (typeof value === "string") {
    return stringToBytes(value);
  }
  if (value !== null) {
    throw new YtError(
      `Wrong type "${typeName(value)}" of column "${name}" in YAMR record: the format has strings only`,
      { code: "FormatCannotRepresentRow" },
    );
  }
  if (!mayBeMissing) {
    throw new YtError(`Missing column "${name}" in YAMR record`, { code: "FormatCannotRepresentRow" });
  }
  return Buffer.alloc(0);
}

function typeName(value: YsonValue): string {
  if (typeof value === "bigint") {
    return "int64";
  }
  if (value instanceof Uint64) {
    return "uint64";
  }
  if (typeof value === "number") {
    return "double";
  }
  return typeof value === "boolean" ? "boolean" : isMap(value) ? "map" : "any";
}

function lenvalRow(fields: readonly Buffer[]): Buffer {
  return Buffer.concat(fields.flatMap((field) => [uint32(field.length), field]));
}

function textRow(fields: readonly Buffer[], options: YamrOptions): Buffer {
  const parts: Buffer[] = [];
  for (const [index, field] of fields.entries()) {
    const isValue = index === fields.length - 1;
    // The value goes on to the end of the record, separators of fields and all.
    parts.push(escapeField(field, isValue ? valueOptions(options) : options, false));
    parts.push(Buffer.from([isValue ? options.recordSeparator : options.fieldSeparator]));
  }
  return Buffer.concat(parts);
}

function valueOptions(options: YamrOptions): FieldOptions {
  return { ...options, fieldSeparator: options.recordSeparator };
}

function controlRecord(attribute: string, value: bigint, options: YamrOptions): Buffer {
  switch (attribute) {
    case "table_index":
      if (!options.hasTableIndex) {
        return Buffer.alloc(0);
      }
      return options.isLenval
        ? Buffer.concat([uint32(tableSwitch), uint32(Number(value))])
        : indexLine(value, options);
    case "row_index":
      return options.isLenval ? Buffer.concat([uint32(rowSwitch), uint64(value)]) : indexLine(value, options);
    case "range_index":
      if (options.isLenval) {
        return Buffer.concat([uint32(rangeSwitch), uint32(Number(value))]);
      }
      throw new YtError("Range indices are not supported in text YAMR format");
    default:
      throw new YtError(`Control attribute "${attribute}" is not supported in YAMR format`);
  }
}

function indexLine(value: bigint, options: YamrOptions): Buffer {
  return Buffer.concat([Buffer.from(value.toString()), Buffer.from([options.recordSeparator])]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4);
  bytes.writeUInt32LE(value, 0);
  return bytes;
}

function uint64(value: bigint): Buffer {
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigUInt64LE(value, 0);
  return bytes;
}

/** Rows of `yamr`, in lines or with lengths. */
export class YamrRowParser extends ChunkedInput {
  readonly #sink: RowSink;
  readonly #options: YamrOptions;
  readonly #names: readonly Buffer[];
  readonly #maxRowBytes: number;
  #isAtEnd = false;

  constructor(sink: RowSink, options: YamrOptions, maxRowBytes: number) {
    super(maxRowBytes);
    this.#sink = sink;
    this.#options = options;
    this.#names = options.columns.map(stringToBytes);
    this.#maxRowBytes = maxRowBytes;
  }

  /** Ends the input. */
  finishInput(): void {
    this.endOfInput();
  }

  protected override parse(isLast: boolean): void {
    try {
      if (this.#options.isLenval) {
        this.#parseLenval(isLast);
      } else {
        this.#parseText(isLast);
      }
    } catch (thrown) {
      this.#sink.dropRow();
      throw toYtError(thrown).withAttributes({ row_index: BigInt(this.#sink.rowIndex) });
    }
  }

  #parseText(isLast: boolean): void {
    for (;;) {
      const end = this.bytes.indexOf(this.#options.recordSeparator, this.position);
      if (end < 0) {
        break;
      }
      this.#line(this.bytes.subarray(this.position, end));
      this.position = end + 1;
    }
    if (isLast && this.position < this.end) {
      this.#line(this.bytes.subarray(this.position, this.end));
      this.position = this.end;
    }
  }

  #line(line: Buffer): void {
    const options = this.#options;
    const fields: Buffer[] = [];
    let rest = line;
    while (fields.length < options.columns.length - 1) {
      const at = unescapedIndex(rest, options.fieldSeparator, options);
      if (at < 0) {
        break;
      }
      fields.push(rest.subarray(0, at));
      rest = rest.subarray(at + 1);
    }
    fields.push(rest);
    if (fields.length === 1) {
      this.#tableSwitch(line.toString("latin1"));
      return;
    }
    // A record that ends after its subkey has an empty value.
    this.#row(options.columns.map((_, index) => unescapeField(fields[index] ?? Buffer.alloc(0), options)));
  }

  #tableSwitch(line: string): void {
    if (!/^\d{1,10}$/.test(line)) {
      throw new YtError(
        `YAMR line "${line.slice(0, 100)}" cannot be parsed as a table switch; did you forget a field separator?`,
      );
    }
    checkControlAttribute("table_index", Number(line) === 0);
  }

  #parseLenval(isLast: boolean): void {
    while (this.position < this.end) {
      const next = this.#lenvalRecord();
      if (next === undefined) {
        if (isLast) {
          throw new YtError("Unexpected end of input in a YAMR record with lengths");
        }
        return;
      }
      this.position = next;
    }
    if (isLast && this.#options.hasEndOfMessage && !this.#isAtEnd) {
      throw new YtError("Missing EOM marker in the end of the message");
    }
  }

  /** One record from `position`. Returns where the next one begins; undefined when there is not enough input. */
  #lenvalRecord(): number | undefined {
    if (this.#isAtEnd) {
      throw new YtError("Garbage after EOM marker");
    }
    let at = this.position;
    const fields: Buffer[] = [];
    for (const name of this.#options.columns) {
      if (this.end - at < 4) {
        return undefined;
      }
      const length = this.view.getUint32(at, true);
      at += 4;
      if (fields.length === 0 && length >= endOfMessage) {
        return this.#marker(length, at);
      }
      if (length > this.#maxRowBytes) {
        throw new YtError(
          `Length of YAMR field "${name}" is too large: ${length} bytes, limit ${this.#maxRowBytes}`,
        );
      }
      if (this.end - at < length) {
        return undefined;
      }
      fields.push(this.bytes.subarray(at, at + length));
      at += length;
    }
    this.#row(fields);
    return at;
  }

  #marker(marker: number, at: number): number | undefined {
    if (marker === tableSwitch) {
      if (this.end - at < 4) {
        return undefined;
      }
      checkControlAttribute("table_index", this.view.getUint32(at, true) === 0);
      return at + 4;
    }
    if (marker !== endOfMessage || !this.#options.hasEndOfMessage) {
      throw new YtError(
        "Unexpected marker in YAMR input with lengths: only switches to table 0 are supported",
      );
    }
    if (this.end - at < 8) {
      return undefined;
    }
    const expected = this.view.getBigUint64(at, true);
    if (expected !== BigInt(this.#sink.rowIndex)) {
      throw new YtError(`Row count mismatch: expected ${expected}, got ${this.#sink.rowIndex}`);
    }
    this.#isAtEnd = true;
    return at + 8;
  }

  #row(fields: readonly Buffer[]): void {
    this.#sink.beginRow();
    for (const [index, name] of this.#names.entries()) {
      const field = fields[index] ?? Buffer.alloc(0);
      this.#sink.selectColumn(name, 0, name.length);
      this.#sink.putString(field, viewOf(field), 0, field.length);
    }
    this.#sink.endRow();
  }
}
