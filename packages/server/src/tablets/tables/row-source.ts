/**
 * Tables as sources of rows for the query language: ranges of keys become ranges of tablets and rows, so
 * that a query for ten rows reads blocks and not the table.
 */
import { turn } from "@qyt/base";
import type { KeyRange, RowSource } from "@qyt/ql";
import type { RowValue } from "@qyt/schema";
import type { RowSlice } from "../chunks/store-reader.ts";
import { firstRowKey, type RowReadOptions, rowKeyAfter, type ScannedRows } from "../sorted/index.ts";
import type { DynamicTableHandle } from "./dynamic-table-handle.ts";
import { outputColumns, rowValues } from "./slice-writer.ts";

/** Few at first, as a query may want no more. */
const maxRowsPerBatch = { first: 200, scanned: 1_000 } as const;

/** Rows of an ordered table in (`$tablet_index`, `$row_index`) order. */
export function orderedSource(table: DynamicTableHandle): RowSource {
  return {
    async *scan(ranges: readonly KeyRange[], columns: readonly number[]) {
      const { schema, querySchema } = table;
      const names = columns.map((position) => querySchema.columns[position]?.name ?? "");
      for (const range of ranges) {
        for (const { tabletIndex, fromRow, toRow } of tabletRanges(range, table.tabletCount)) {
          let batch: RowValue[][] = [];
          for (const slice of table.readableTablet(tabletIndex).read(fromRow, { toRow })) {
            const sources = outputColumns(schema, slice.format, names);
            appendRows(batch, slice, sources, tabletIndex);
            if (batch.length >= maxRowsPerBatch.first) {
              yield batch;
              batch = [];
              await turn();
            }
          }
          if (batch.length > 0) {
            yield batch;
          }
        }
      }
    },
  };
}

function appendRows(
  batch: RowValue[][],
  slice: RowSlice,
  sources: ReturnType<typeof outputColumns>,
  tabletIndex: number,
): void {
  for (let row = slice.from; row < slice.to; row++) {
    batch.push(rowValues(slice, row, sources, tabletIndex));
  }
}

/** Rows [fromRow, toRow) of each tablet that a range of keys reaches. */
export function tabletRanges(
  range: KeyRange,
  tabletCount: number,
): { readonly tabletIndex: number; readonly fromRow: number; readonly toRow: number }[] {
  const result: { tabletIndex: number; fromRow: number; toRow: number }[] = [];
  for (let tabletIndex = 0; tabletIndex < tabletCount; tabletIndex++) {
    const fromRow = lowerRow(range.lower, tabletIndex);
    const toRow = upperRow(range.upper, tabletIndex);
    if (fromRow < toRow) {
      result.push({ tabletIndex, fromRow, toRow });
    }
  }
  return result;
}

type Bound = KeyRange["lower"];

const allRows = Number.MAX_SAFE_INTEGER;

/** First row of the tablet within the bound; `allRows` when there is none. */
function lowerRow(bound: Bound, tabletIndex: number): number {
  const [tablet, row] = bound.values;
  if (tablet === undefined || tablet === null) {
    return bound.inclusive || tablet === null ? 0 : allRows;
  }
  const wanted = toIndex(tablet);
  if (tabletIndex !== wanted) {
    return tabletIndex > wanted ? 0 : allRows;
  }
  if (row === undefined) {
    return bound.inclusive ? 0 : allRows;
  }
  if (row === null) {
    return 0;
  }
  const index = toIndex(row);
  return Math.max(0, bound.inclusive ? index : index + 1);
}

/** First row of the tablet beyond the bound; 0 when none is within. */
function upperRow(bound: Bound, tabletIndex: number): number {
  const [tablet, row] = bound.values;
  if (tablet === undefined) {
    return allRows;
  }
  if (tablet === null) {
    return 0;
  }
  const wanted = toIndex(tablet);
  if (tabletIndex !== wanted) {
    return tabletIndex < wanted ? allRows : 0;
  }
  if (row === undefined) {
    return bound.inclusive ? allRows : 0;
  }
  if (row === null) {
    return 0;
  }
  const index = toIndex(row);
  return Math.max(0, bound.inclusive ? index + 1 : index);
}

/** An int64 as an index; what no index can be is moved to the ends. */
function toIndex(value: RowValue): number {
  if (typeof value !== "bigint") {
    return 0;
  }
  const limit = BigInt(allRows - 1);
  return Number(value > limit ? limit : value < -limit ? -limit : value);
}

/** Rows of a sorted table in key order, as of a timestamp. */
export function sortedSource(
  table: DynamicTableHandle,
  timestamp: bigint,
  options: RowReadOptions = {},
): RowSource {
  return {
    async *scan(ranges: readonly KeyRange[], columns: readonly number[]) {
      requireReadableRanges(table, ranges);
      const { rows } = table;
      let maxRows: number = maxRowsPerBatch.first;
      for (const range of ranges) {
        const to = upperKey(range.upper, rows.keyTypes);
        let from: Buffer | undefined = lowerKey(range.lower, rows.keyTypes);
        while (from !== undefined) {
          const found: ScannedRows = rows.scan(from, to, timestamp, maxRows, { ...options, columns });
          if (found.rows.length > 0) {
            yield found.rows;
          }
          from = found.next;
          maxRows = maxRowsPerBatch.scanned;
          if (from !== undefined) {
            await turn();
          }
        }
      }
    },
  };
}

/**
 * Only tablets that a query reads have to be there, as in the real system; all without ranges.
 * @throws YtError 1702
 */
export function requireReadableRanges(
  table: DynamicTableHandle,
  ranges: readonly KeyRange[] | undefined,
): void {
  if (ranges === undefined) {
    table.requireReadable();
    return;
  }
  for (const range of ranges) {
    if (table.sorted) {
      const { keyTypes } = table.rows;
      table.requireReadableKeys(lowerKey(range.lower, keyTypes), upperKey(range.upper, keyTypes));
    } else {
      for (const { tabletIndex } of tabletRanges(range, table.tabletCount)) {
        table.readableTablet(tabletIndex);
      }
    }
  }
}

type KeyTypes = DynamicTableHandle["rows"]["keyTypes"];

function lowerKey(bound: Bound, types: KeyTypes): Buffer {
  return bound.inclusive || bound.values.length === 0
    ? firstRowKey(bound.values, types)
    : rowKeyAfter(bound.values, types);
}

function upperKey(bound: Bound, types: KeyTypes): Buffer | undefined {
  if (bound.values.length === 0) {
    return undefined;
  }
  return bound.inclusive ? rowKeyAfter(bound.values, types) : firstRowKey(bound.values, types);
}
