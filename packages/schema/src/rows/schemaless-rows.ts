/**
 * Rows of tables without a strict schema: columns are whatever each row has. Such a row is encoded as one cell of type
 * any, the binary YSON map of its values, so that blocks store both kinds alike.
 */
import { bare, isMap, limits, type YsonMap, YtError } from "@qyt/base";
import { bytesToString, type DataFormat, jsonOptionsFromAttributes, parseYson } from "@qyt/yson";
import type { TableSchema } from "../table-schema.ts";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import { YsonAnyToJson, YsonAnyToText } from "./any-text.ts";
import { needsTree, treeFormatOf, ysonForm } from "./create-row-writer.ts";
import {
  cellKind,
  cellWeight,
  type EncodedRows,
  noTabletIndex,
  payloadStart,
  writeCell,
} from "./encoded-rows.ts";
import { RowBatch } from "./row-batch.ts";
import type { RowBlock } from "./row-block.ts";
import { invalidType, requiredColumn, rowTooLarge, tooManyValues, valueTooLong } from "./row-errors.ts";
import { RowOutput, viewOf, wordsToInt64, wordsToUint64 } from "./row-output.ts";
import { type PlannedColumn, planColumn, undeclaredColumn } from "./row-plan.ts";
import type { RowLimits, RowSink } from "./row-sink.ts";
import type { RowWriter } from "./row-writer.ts";
import { TreeRowWriter } from "./tree-row-writer.ts";
import type { TypeConversion } from "./type-conversion.ts";
import { checkValue } from "./value-checks.ts";

/** Columns that are positions of a row and never its data. */
const serviceColumns = new Set(["$table_index", "$range_index", "$row_index", "$tablet_index"]);

/** The sink for rows without a strict schema. */
export class SchemalessRowSink implements RowSink {
  readonly output = new RowOutput(1024);
  rowIndex = 0;

  readonly #declared = new Map<string, PlannedColumn>();
  readonly #conversion: TypeConversion;
  readonly #limits: RowLimits;
  readonly #batch = new RowBatch();
  readonly #seen = new Set<string>();
  #rowStart = 0;
  #weight = 1;
  #column: PlannedColumn | undefined;
  #name = "";
  #anyStart = 0;

  constructor(schema: TableSchema | undefined, conversion: TypeConversion, rowLimits: RowLimits) {
    for (const column of schema?.columns ?? []) {
      this.#declared.set(column.name, planColumn(column, 0, column.sortOrder !== undefined));
    }
    this.#conversion = conversion;
    this.#limits = rowLimits;
  }

  beginRow(): void {
    this.#rowStart = this.output.length;
    this.#weight = 1;
    this.#seen.clear();
    this.output.byte(cellKind.any);
    this.output.byte(0);
    this.output.byte(0x7b);
  }

  dropRow(): void {
    this.output.length = this.#rowStart;
  }

  endRow(): void {
    for (const column of this.#declared.values()) {
      if (column.required && !this.#seen.has(column.name)) {
        throw requiredColumn(column.name);
      }
    }
    if (this.#weight > this.#limits.maxRowWeightBytes) {
      throw rowTooLarge(this.#weight, this.#limits.maxRowWeightBytes);
    }
    this.output.byte(0x7d);
    const content = this.output.bytes.subarray(this.#rowStart + 2, this.output.length);
    if (content.length < 0x80) {
      this.output.bytes[this.#rowStart + 1] = content.length;
    } else {
      const copy = Buffer.from(content);
      this.output.length = this.#rowStart + 1;
      this.output.varint(copy.length);
      this.output.copy(copy, viewOf(copy), 0, copy.length);
    }
    this.#batch.add(this.output.length, this.#weight, noTabletIndex);
    this.rowIndex++;
    this.#rowStart = this.output.length;
    if (this.output.length > this.#limits.maxEncodedBytes) {
      throw new YtError(`Rows take too much memory: limit ${this.#limits.maxEncodedBytes} bytes`, {
        code: "MemoryLimitExceeded",
      });
    }
  }

  /** The rows since the last call. */
  take(): EncodedRows {
    this.output.length = this.#rowStart;
    this.#rowStart = 0;
    return this.#batch.take(this.output.take(1024));
  }

  matchColumn(): number {
    return -1;
  }

  selectMatched(): void {}

  selectColumn(bytes: Uint8Array, start: number, end: number): void {
    const name = bytesToString(bytes, start, end);
    if (end - start > limits.maxColumnNameBytes) {
      throw new YtError(
        `Column name is too long: length ${end - start}, limit ${limits.maxColumnNameBytes}`,
        { code: "SchemaViolation" },
      );
    }
    if (this.#seen.has(name)) {
      throw new YtError(`Duplicate column "${name}"`, { code: "SchemaViolation" });
    }
    if (this.#seen.size >= this.#limits.maxValuesPerRow) {
      throw tooManyValues(this.#seen.size + 1, this.#limits.maxValuesPerRow);
    }
    this.#seen.add(name);
    this.#name = name;
    this.#column = this.#declared.get(name);
    this.output.string(bytes, viewOf(bytes), start, end);
    this.output.byte(0x3d);
  }

  putNull(): void {
    this.#put(null, "null");
  }

  putBoolean(value: boolean): void {
    this.#put(value, "boolean");
  }

  putInt64(low: number, high: number): void {
    this.#put(wordsToInt64(low, high), "int64");
  }

  putUint64(low: number, high: number): void {
    this.#put(wordsToUint64(low, high), "uint64");
  }

  putDouble(value: number): void {
    this.#put(value, "double");
  }

  putString(bytes: Uint8Array, _view: DataView, start: number, end: number): void {
    this.#put(bytes.subarray(start, end), "string");
  }

  beginAny(): void {
    const column = this.#column ?? undeclaredColumn(this.#name);
    if (column.physical !== "any") {
      throw invalidType(column.name, column.typeName, "any");
    }
    this.#anyStart = this.output.length;
  }

  endAny(): void {
    this.#endValue(this.output.length - this.#anyStart, "any");
  }

  #put(value: RowValue, type: PhysicalType): void {
    const column = this.#column;
    const checked = column === undefined ? value : checkValue(column, value, type, this.#conversion);
    const start = this.output.length;
    if (checked instanceof YsonAny) {
      this.output.copy(checked.bytes, viewOf(checked.bytes), 0, checked.bytes.length);
      this.#endValue(checked.bytes.length, "any");
    } else {
      const written = column === undefined ? type : column.physical;
      writeCell(this.output, checked, written === "uint64");
      this.#endValue(cellWeight(this.output.bytes, start, this.output.length), written);
    }
  }

  #endValue(weight: number, type: string): void {
    if (weight > this.#limits.maxStringValueBytes) {
      throw valueTooLong(type, weight, this.#limits.maxStringValueBytes);
    }
    this.output.byte(0x3b);
    this.#weight += weight;
  }
}

/** The values of a row made by `SchemalessRowSink`. @throws YtError 4000 when it is damaged */
export function schemalessRowToYson(bytes: Buffer, start: number, end: number): YsonMap {
  const row = bare(parseYson(bytes.subarray(payloadStart(bytes, start), end)));
  if (!isMap(row)) {
    throw new YtError("A row without a schema is no map", { code: "ParseError" });
  }
  return row;
}

export interface SchemalessRowWriterOptions {
  /** Only these columns; all by default. */
  readonly columns?: readonly string[];
  readonly skipNullValues?: boolean;
}

/**
 * A writer of rows made by a schemaless reader.
 * @throws YtError when the format cannot carry rows; 2800 for bad attributes
 */
export function createSchemalessRowWriter(
  format: DataFormat,
  options: SchemalessRowWriterOptions = {},
): SchemalessRowWriter {
  return new SchemalessRowWriter(format, options);
}

export class SchemalessRowWriter implements Pick<RowWriter, "writeControl" | "take" | "finish" | "length"> {
  readonly #tree: TreeRowWriter;
  readonly #columns: ReadonlySet<string> | undefined;
  readonly #skipNulls: boolean;
  /** Puts out a whole row as it is stored; undefined where the format needs a tree. */
  readonly #direct: ((bytes: Buffer, view: DataView, start: number, end: number) => void) | undefined;
  readonly #output = new RowOutput(4096);

  constructor(format: DataFormat, options: SchemalessRowWriterOptions) {
    this.#columns = options.columns === undefined ? undefined : new Set(options.columns);
    this.#skipNulls =
      options.skipNullValues ?? bare(format.attributes.get("skip_null_values") ?? null) === true;
    this.#tree = new TreeRowWriter([], treeFormatOf(format, undefined), this.#skipNulls);
    this.#direct = this.#skipNulls || this.#columns !== undefined ? undefined : this.#directWriter(format);
  }

  get length(): number {
    return this.#output.length + this.#tree.length;
  }

  /** Rows `[from, to)` of the block. */
  writeBlockRows(block: RowBlock, from: number, to: number): void {
    for (let row = from; row < to; row++) {
      const start = block.rowStart(row);
      const end = block.rowEnd(row);
      if (this.#direct !== undefined) {
        this.#direct(block.bytes, block.view, payloadStart(block.bytes, start), end);
      } else {
        this.#tree.writeTree(this.#filter(schemalessRowToYson(block.bytes, start, end)));
      }
    }
  }

  writeControl(attribute: string, value: bigint): void {
    this.#tree.writeControl(attribute, value);
    this.#moveTree(this.#tree.take());
  }

  take(): Buffer {
    this.#moveTree(this.#tree.take());
    return this.#output.take(4096);
  }

  finish(): Buffer {
    this.#moveTree(this.#tree.finish());
    return this.#output.take();
  }

  #moveTree(bytes: Buffer): void {
    this.#output.copy(bytes, viewOf(bytes), 0, bytes.length);
  }

  #filter(row: YsonMap): YsonMap {
    const result = new Map(row);
    for (const [name, value] of row) {
      const isHidden = serviceColumns.has(name) || (this.#columns !== undefined && !this.#columns.has(name));
      if (isHidden || (this.#skipNulls && value === null)) {
        result.delete(name);
      }
    }
    return result;
  }

  #directWriter(
    format: DataFormat,
  ): ((bytes: Buffer, view: DataView, start: number, end: number) => void) | undefined {
    const output = this.#output;
    if (format.name === "yson" && ysonForm(format) === "binary") {
      return (bytes, view, start, end) => {
        output.copy(bytes, view, start, end);
        output.byte(0x3b);
      };
    }
    if (format.name === "yson" && ysonForm(format) === "text") {
      const any = new YsonAnyToText();
      return (bytes, view, start, end) => {
        any.write(bytes, view, start, end, output);
        output.ascii(";\n");
      };
    }
    if (format.name !== "json") {
      return undefined;
    }
    const json = jsonOptionsFromAttributes(format.attributes);
    if (needsTree(json)) {
      return undefined;
    }
    const any = new YsonAnyToJson(
      json.encodeUtf8 ?? true,
      json.plain === true,
      json.attributesMode === "never",
    );
    return (bytes, view, start, end) => {
      any.write(bytes, view, start, end, output);
      output.byte(0x0a);
    };
  }
}
