/**
 * Writes rows of blocks in a row format. Rows stored in the table's present form are copied as bytes;
 * rows of an older form (before an alter) go value by value.
 */
import {
  createRowWriter,
  decodeCells,
  type OutputColumn,
  type PhysicalType,
  type RowValue,
  type RowWriter,
  systemColumns,
  type TableSchema,
} from "@qyt/schema";
import type { DataFormat } from "@qyt/yson";
import type { RowFormat } from "../chunks/chunk.ts";
import type { RowSlice } from "../chunks/store-reader.ts";
import { rowFormatOf } from "./row-format.ts";

/** How the columns of a schema, system columns included, are found in rows of a stored form. */
export function outputColumns(
  schema: TableSchema,
  format: RowFormat,
  names: readonly string[],
): OutputColumn[] {
  return names.map((name): OutputColumn => {
    switch (name) {
      case systemColumns.tabletIndex:
        return { name, source: { kind: "tablet_index" } };
      case systemColumns.rowIndex:
        return { name, source: { kind: "row_index" } };
      case systemColumns.timestamp:
        return { name, source: { kind: "timestamp" } };
      case systemColumns.cumulativeDataWeight:
        return { name, source: { kind: "cumulative_data_weight" } };
      default: {
        const index = format.columns?.indexOf(name) ?? -1;
        return { name, source: { kind: "column", index: index < 0 ? schema.columns.length : index } };
      }
    }
  });
}

/** Rows written in the older form are read by the newer one too: cells were only added behind. */
export function isReadableAs(stored: RowFormat, present: RowFormat): boolean {
  if (stored === present) {
    return true;
  }
  const columns = stored.columns;
  return (
    columns !== undefined &&
    stored.hasTimestamp === present.hasTimestamp &&
    stored.hasCumulativeDataWeight === present.hasCumulativeDataWeight &&
    columns.every((name, index) => present.columns?.[index] === name)
  );
}

export class SliceWriter {
  readonly writer: RowWriter;
  readonly #names: readonly string[];
  readonly #types: readonly PhysicalType[];
  readonly #present: RowFormat;
  readonly #schema: TableSchema;
  readonly #readable = new WeakMap<RowFormat, boolean>();

  /**
   * @param querySchema the columns to write, in order
   * @param schema of the table
   */
  constructor(
    format: DataFormat,
    schema: TableSchema,
    querySchema: TableSchema,
    options: { readonly isSchemaful: boolean; readonly columns?: readonly string[] },
  ) {
    const columns = querySchema.columns.filter(({ name }) => options.columns?.includes(name) ?? true);
    this.#schema = schema;
    this.#present = rowFormatOf(schema);
    this.#names = columns.map(({ name }) => name);
    this.#types = columns.map(({ physical }) => physical);
    this.writer = createRowWriter(format, outputColumns(schema, this.#present, this.#names), {
      isSchemaful: options.isSchemaful,
    });
  }

  write(slice: RowSlice, tabletIndex: number): void {
    let isReadable = this.#readable.get(slice.format);
    if (isReadable === undefined) {
      isReadable = isReadableAs(slice.format, this.#present);
      this.#readable.set(slice.format, isReadable);
    }
    if (isReadable) {
      this.writer.writeBlockRows(slice.block, slice.from, slice.to, tabletIndex);
      return;
    }
    const columns = outputColumns(this.#schema, slice.format, this.#names);
    for (let row = slice.from; row < slice.to; row++) {
      this.writer.writeValues(rowValues(slice, row, columns, tabletIndex), this.#types);
    }
  }
}

/** The values of one row of a block, in the order of the columns. */
export function rowValues(
  slice: RowSlice,
  row: number,
  columns: readonly OutputColumn[],
  tabletIndex: number,
): RowValue[] {
  const cells = decodeCells(slice.block.bytes, slice.block.rowStart(row), slice.block.rowEnd(row));
  return columns.map(({ source }) => rowValue(slice, row, cells, source, tabletIndex));
}

function rowValue(
  { block, format }: RowSlice,
  row: number,
  cells: readonly (RowValue | undefined)[],
  source: OutputColumn["source"],
  tabletIndex: number,
): RowValue {
  switch (source.kind) {
    case "column":
      return cells[source.index] ?? null;
    case "tablet_index":
      return BigInt(tabletIndex);
    case "row_index":
      return BigInt(block.firstRowIndex + row);
    case "timestamp":
      return format.hasTimestamp ? block.timestampAt(row) : null;
    case "cumulative_data_weight":
      return format.hasCumulativeDataWeight ? BigInt(block.cumulativeWeightAt(row)) : null;
  }
}
