/**
 * Writes rows of static and dynamic tables in a row format, whatever the form they are stored in. Rows with
 * cells go from their bytes as long as all columns are where the writer expects them; rows of older
 * schemas go value by value; rows of tables without a strict schema are maps.
 */
import {
  createRowWriter,
  createSchemalessRowReader,
  createSchemalessRowWriter,
  type OutputColumn,
  type OutputSource,
  type PhysicalType,
  packBlocks,
  RowBlock,
  type RowValue,
  type RowWriter,
  type SchemalessRowWriter,
  systemColumns,
  type TableSchema,
} from "@qyt/schema";
import type { DataFormat } from "@qyt/yson";
import type { RowFormat, RowSlice } from "../chunks/index.ts";
import { rowValues } from "../tables/slice-writer.ts";

export interface TableRowWriter {
  writeControl(attribute: string, value: bigint): void;
  writeSlice(slice: RowSlice, tabletIndex: number): void;
  /** A whole row by its values in schema order. */
  writeRow(values: readonly RowValue[]): void;
  readonly length: number;
  take(): Buffer;
  finish(): Buffer;
}

/**
 * @param columns those to write; undefined for all
 * @param formats of the stores that will be read
 * @throws YtError when the format cannot carry rows
 */
export function createTableRowWriter(
  format: DataFormat,
  schema: TableSchema,
  columns: ReadonlySet<string> | undefined,
  formats: readonly RowFormat[],
): TableRowWriter {
  const isSchemaless = !schema.strict || formats.some((stored) => stored.columns === undefined);
  return isSchemaless
    ? new MapRowWriter(format, columns)
    : new CellRowWriter(format, schema, columns, formats[0]);
}

/** Where a column is in rows of a stored form. One that is missing there is behind the last cell. */
function sourceOf(stored: RowFormat, name: string): OutputSource {
  const cells = stored.columns ?? [];
  const index = cells.indexOf(name);
  if (index >= 0) {
    return { kind: "column", index };
  }
  if (name === systemColumns.timestamp && stored.hasTimestamp) {
    return { kind: "timestamp" };
  }
  if (name === systemColumns.cumulativeDataWeight && stored.hasCumulativeDataWeight) {
    return { kind: "cumulative_data_weight" };
  }
  return { kind: "column", index: cells.length };
}

/** Whether the columns of one stored form are found in rows of the other as well. */
function areSameSources(stored: RowFormat, columns: readonly OutputColumn[]): boolean {
  const cellCount = stored.columns?.length ?? 0;
  return columns.every(({ name, source }) => {
    const other = sourceOf(stored, name);
    if (other.kind !== "column" || source.kind !== "column") {
      return other.kind === source.kind;
    }
    return other.index === source.index || (other.index === cellCount && source.index >= cellCount);
  });
}

class CellRowWriter implements TableRowWriter {
  readonly #writer: RowWriter;
  readonly #columns: readonly OutputColumn[];
  readonly #positions: readonly number[];
  readonly #types: readonly PhysicalType[];
  readonly #isDirect = new WeakMap<RowFormat, boolean>();

  constructor(
    format: DataFormat,
    schema: TableSchema,
    wanted: ReadonlySet<string> | undefined,
    stored: RowFormat | undefined,
  ) {
    const present: RowFormat = stored ?? {
      columns: schema.columns.map(({ name }) => name),
      hasTimestamp: false,
      hasCumulativeDataWeight: false,
    };
    const columns = schema.columns.filter(({ name }) => wanted?.has(name) ?? true);
    this.#columns = columns.map(({ name }) => ({ name, source: sourceOf(present, name) }));
    this.#positions = columns.map(({ name }) => schema.indexOf(name));
    this.#types = columns.map(({ physical }) => physical);
    this.#writer = createRowWriter(format, this.#columns);
  }

  get length(): number {
    return this.#writer.length;
  }

  writeControl(attribute: string, value: bigint): void {
    this.#writer.writeControl(attribute, value);
  }

  writeSlice(slice: RowSlice, tabletIndex: number): void {
    let isDirect = this.#isDirect.get(slice.format);
    if (isDirect === undefined) {
      isDirect = areSameSources(slice.format, this.#columns);
      this.#isDirect.set(slice.format, isDirect);
    }
    if (isDirect) {
      this.#writer.writeBlockRows(slice.block, slice.from, slice.to, tabletIndex);
      return;
    }
    const columns = this.#columns.map(({ name }) => ({ name, source: sourceOf(slice.format, name) }));
    for (let row = slice.from; row < slice.to; row++) {
      this.#writer.writeValues(rowValues(slice, row, columns, tabletIndex), this.#types);
    }
  }

  writeRow(values: readonly RowValue[]): void {
    this.#writer.writeValues(
      this.#positions.map((position) => values[position] ?? null),
      this.#types,
    );
  }

  take(): Buffer {
    return this.#writer.take();
  }

  finish(): Buffer {
    return this.#writer.finish();
  }
}

const binaryYson: DataFormat = { name: "yson", attributes: new Map() };

class MapRowWriter implements TableRowWriter {
  readonly #writer: SchemalessRowWriter;

  constructor(format: DataFormat, columns: ReadonlySet<string> | undefined) {
    this.#writer = createSchemalessRowWriter(format, columns === undefined ? {} : { columns: [...columns] });
  }

  get length(): number {
    return this.#writer.length;
  }

  writeControl(attribute: string, value: bigint): void {
    this.#writer.writeControl(attribute, value);
  }

  writeSlice(slice: RowSlice): void {
    if (slice.format.columns === undefined) {
      this.#writer.writeBlockRows(slice.block, slice.from, slice.to);
      return;
    }
    for (const block of asMaps(slice)) {
      this.#writer.writeBlockRows(block, 0, block.rowCount);
    }
  }

  writeRow(): void {
    throw new RangeError("Dynamic tables have strict schemas");
  }

  take(): Buffer {
    return this.#writer.take();
  }

  finish(): Buffer {
    return this.#writer.finish();
  }
}

/** Rows with cells as rows that are maps: a chunk of a table with a schema, concatenated into one without. */
function asMaps(slice: RowSlice): RowBlock[] {
  const { format } = slice;
  const names = [
    ...(format.columns ?? []),
    ...(format.hasTimestamp ? [systemColumns.timestamp] : []),
    ...(format.hasCumulativeDataWeight ? [systemColumns.cumulativeDataWeight] : []),
  ];
  const writer = createRowWriter(
    binaryYson,
    names.map((name) => ({ name, source: sourceOf(format, name) })),
    { skipNullValues: true },
  );
  writer.writeBlockRows(slice.block, slice.from, slice.to, -1);
  const reader = createSchemalessRowReader(binaryYson, undefined, { rowKind: "static" });
  reader.feed(writer.finish());
  const rows = reader.finish();
  return packBlocks(rows, 0, rows.rowCount, {
    firstRowIndex: 0,
    baseCumulativeWeight: 0,
    timestamp: 0n,
    countSystemWeight: 0,
  }).map((block) => RowBlock.parse(block.bytes));
}
