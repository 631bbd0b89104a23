/**
 * Row writers for the formats that are not on the hot path: each row becomes a map of values first. The format says
 * what the bytes of a row are.
 */
import { Attributed, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { bytesToString, type JsonOptions, parseYson, writeJson, writeYson } from "@qyt/yson";
import { type PhysicalType, type RowValue, YsonAny } from "../value-type.ts";
import { cellKind, decodeCell } from "./encoded-rows.ts";
import type { RowBlock } from "./row-block.ts";
import { CellCursor, cellCountOf, type OutputColumn, type RowWriter } from "./row-writer.ts";

/** The bytes of one format. A row comes with its nulls; a column the row does not have is not in the map. */
export interface TreeFormat {
  row(row: YsonMap): Buffer;
  missing(): Buffer;
  /** A control record; empty where the format has none. */
  control(attribute: string, value: bigint): Buffer;
  /** Before the first row and after the last one. */
  head(): Buffer;
  tail(): Buffer;
}

export class TreeRowWriter implements RowWriter {
  readonly isReusable = false;
  readonly #columns: readonly OutputColumn[];
  readonly #format: TreeFormat;
  readonly #skipNulls: boolean;
  readonly #cursor: CellCursor;
  #parts: Buffer[] = [];
  #length = 0;
  #hasHead = false;

  constructor(columns: readonly OutputColumn[], format: TreeFormat, skipNulls: boolean) {
    this.#columns = columns;
    this.#format = format;
    this.#skipNulls = skipNulls;
    this.#cursor = new CellCursor(cellCountOf(columns));
  }

  get length(): number {
    return this.#length;
  }

  writeBlockRows(block: RowBlock, from: number, to: number, tabletIndex: number): void {
    for (let index = from; index < to; index++) {
      this.#cursor.moveTo(block.bytes, block.rowStart(index), block.rowEnd(index));
      const row = new Map<string, YsonValue>();
      for (const column of this.#columns) {
        this.#set(row, column.name, this.#valueOf(block, index, column, tabletIndex));
      }
      this.#push(this.#format.row(row));
    }
  }

  writeValues(values: readonly RowValue[], types: readonly PhysicalType[]): void {
    const row = new Map<string, YsonValue>();
    for (const [index, column] of this.#columns.entries()) {
      this.#set(row, column.name, rowValueToYson(values[index] ?? null, types[index] ?? "any"));
    }
    this.#push(this.#format.row(row));
  }

  writeCells(bytes: Buffer, _view: DataView, starts: Int32Array, ends: Int32Array): void {
    const row = new Map<string, YsonValue>();
    for (const [index, column] of this.#columns.entries()) {
      const start = starts[index] ?? 0;
      const end = ends[index] ?? 0;
      this.#set(row, column.name, start === end ? null : cellToYson(bytes, start, end));
    }
    this.#push(this.#format.row(row));
  }

  /** A row as it is. */
  writeTree(row: YsonMap): void {
    this.#push(this.#format.row(row));
  }

  writeMissing(): void {
    this.#push(this.#format.missing());
  }

  writeControl(attribute: string, value: bigint): void {
    this.#push(this.#format.control(attribute, value));
  }

  take(): Buffer {
    const result = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#length = 0;
    return result;
  }

  finish(): Buffer {
    this.#push(this.#format.tail());
    return this.take();
  }

  #set(row: Map<string, YsonValue>, name: string, value: YsonValue): void {
    if (value !== null || !this.#skipNulls) {
      row.set(name, value);
    }
  }

  #valueOf(block: RowBlock, row: number, column: OutputColumn, tabletIndex: number): YsonValue {
    switch (column.source.kind) {
      case "tablet_index":
        return BigInt(tabletIndex);
      case "row_index":
        return BigInt(block.firstRowIndex + row);
      case "timestamp":
        return new Uint64(block.timestampAt(row));
      case "cumulative_data_weight":
        return BigInt(block.cumulativeWeightAt(row));
      default: {
        const start = this.#cursor.starts[column.source.index] ?? 0;
        const end = this.#cursor.ends[column.source.index] ?? 0;
        return start === end ? null : cellToYson(block.bytes, start, end);
      }
    }
  }

  #push(bytes: Buffer): void {
    if (!this.#hasHead) {
      this.#hasHead = true;
      this.#push(this.#format.head());
    }
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }
}

/** The value of a cell as YSON; null for an absent one. @throws YtError 721 or 4000 when it is damaged */
export function cellToYson(bytes: Buffer, start: number, end: number): YsonValue {
  const type = bytes[start] === cellKind.uint64 ? "uint64" : "int64";
  return rowValueToYson(decodeCell(bytes, start, end) ?? null, type);
}

/** A row value as YSON; `type` tells int64 from uint64. */
export function rowValueToYson(value: RowValue, type: PhysicalType): YsonValue {
  if (typeof value === "bigint") {
    return type === "uint64" ? new Uint64(value) : value;
  }
  if (value instanceof YsonAny) {
    return parseYson(value.bytes);
  }
  return value instanceof Uint8Array ? bytesToString(value) : value;
}

const nothing = Buffer.alloc(0);

/** YSON in any form; writers of cells are faster for binary and text. */
export function ysonTreeFormat(form: "binary" | "text"): TreeFormat {
  const end = form === "binary" ? ";" : ";\n";
  return {
    row: (row) => Buffer.concat([writeYson(row, form), Buffer.from(end)]),
    missing: () => Buffer.from(`#${end}`),
    control: (attribute, value) =>
      Buffer.concat([writeYson(new Attributed(new Map([[attribute, value]]), null), form), Buffer.from(end)]),
    head: () => nothing,
    tail: () => nothing,
  };
}

/** Pretty YSON. */
export const ysonPrettyFormat: TreeFormat = {
  row: (row) => Buffer.concat([writeYson(row, "pretty"), Buffer.from(";\n")]),
  missing: () => Buffer.from("#;\n"),
  control: (attribute, value) =>
    Buffer.concat([
      writeYson(new Attributed(new Map([[attribute, value]]), null), "pretty"),
      Buffer.from(";\n"),
    ]),
  head: () => nothing,
  tail: () => nothing,
};

/** JSON lines with rare options: annotated, stringified, truncated, indented. */
export function jsonTreeFormat(options: JsonOptions): TreeFormat {
  return {
    row: (row) => Buffer.concat([writeJson(row, options), Buffer.from("\n")]),
    missing: () => Buffer.from("null\n"),
    control: (attribute, value) => Buffer.from(`{"$attributes":{"${attribute}":${value}},"$value":null}\n`),
    head: () => nothing,
    tail: () => nothing,
  };
}
