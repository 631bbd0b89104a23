/**
 * `get_table_columnar_statistics`: how much each column of a stretch of rows weighs. There are no statistics
 * in the chunks, so the rows are read.
 * Specified in: yt/yt/client/driver/table_commands.cpp (TGetTableColumnarStatisticsCommand).
 */
import { bare, isList, isMap, mapOf, turn, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { cellWeight, schemalessRowToYson, skipCell, systemColumns, valueWeight } from "@qyt/schema";
import { type RichPath, writeYson } from "@qyt/yson";
import type { RowSlice } from "../chunks/index.ts";
import type { TableContext, TableManager } from "../tables/manager.ts";
import type { TabletTransactions } from "../transactions/index.ts";
import { openForReading } from "./read-table.ts";
import { partOfYson } from "./row-keys.ts";

const piecesPerTurn = 8;

/**
 * @returns `column_data_weights` and the counts around them
 * @throws YtError 500, 901; when the path names no columns
 */
export async function columnarStatistics(
  tables: TableManager,
  transactions: TabletTransactions,
  context: TableContext,
  path: RichPath,
): Promise<YsonMap> {
  if (!isList(bare(path.attributes.get("columns") ?? null))) {
    throw new YtError(
      `It is required to specify column selectors in YPath for getting columnar statistics, but path ${path.path} does not have any`,
    );
  }
  const { source, columns, state } = openForReading(tables, transactions, context, path, false);
  const weights = new Map([...(columns.wanted ?? [])].map((name) => [name, 0]));
  let rowCount = 0;
  let pieces = 0;
  try {
    for await (const piece of source.pieces()) {
      if (piece.kind === "slice") {
        weighSlice(piece.slice, weights);
        rowCount += piece.slice.to - piece.slice.from;
      } else {
        for (const row of piece.rows) {
          for (const [index, { name }] of state.schema.columns.entries()) {
            add(weights, name, valueWeight(row[index] ?? null));
          }
          rowCount++;
        }
      }
      if (++pieces % piecesPerTurn === 0) {
        await turn();
      }
    }
  } finally {
    source.release();
  }
  return mapOf({
    column_data_weights: new Map([...weights].map(([name, weight]) => [name, BigInt(weight)])),
    legacy_chunk_data_weight: 0n,
    chunk_row_count: BigInt(rowCount),
    legacy_chunk_row_count: 0n,
  });
}

function add(weights: Map<string, number>, name: string, weight: number): void {
  const before = weights.get(name);
  if (before !== undefined) {
    weights.set(name, before + weight);
  }
}

function weighSlice(slice: RowSlice, weights: Map<string, number>): void {
  const { block, format } = slice;
  for (let row = slice.from; row < slice.to; row++) {
    const start = block.rowStart(row);
    const end = block.rowEnd(row);
    if (format.columns === undefined) {
      for (const [name, value] of schemalessRowToYson(block.bytes, start, end)) {
        add(weights, name, weightOfYson(value));
      }
    } else {
      weighCells(block.bytes, start, end, format.columns, weights);
    }
  }
  const systemWeight = 8 * (slice.to - slice.from);
  if (format.hasTimestamp) {
    add(weights, systemColumns.timestamp, systemWeight);
  }
  if (format.hasCumulativeDataWeight) {
    add(weights, systemColumns.cumulativeDataWeight, systemWeight);
  }
}

function weighCells(
  bytes: Buffer,
  start: number,
  end: number,
  columns: readonly string[],
  weights: Map<string, number>,
): void {
  let position = start;
  for (let cell = 0; position < end; cell++) {
    const next = skipCell(bytes, position, end);
    add(weights, columns[cell] ?? "", cellWeight(bytes, position, next));
    position = next;
  }
}

function weightOfYson(value: YsonValue): number {
  const plain = bare(value);
  if (isMap(plain) || isList(plain)) {
    return writeYson(value, "binary").length;
  }
  const part = partOfYson(value).value;
  return part instanceof Uint8Array ? part.length : part === null ? 0 : typeof part === "boolean" ? 1 : 8;
}
