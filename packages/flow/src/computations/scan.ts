/** Reads all rows of a part of a sorted table, page by page. */
import type { RowValue } from "@qyt/schema";
import type { FlowCluster, RangeOptions } from "../cluster/flow-cluster.ts";

const pageSize = 2_000;

type Pairs = RangeOptions["prefix"];

export interface ScanOptions {
  /** Key columns behind the prefix, in the table's order; they come first in `columns`. */
  readonly keyColumns: readonly string[];
  readonly columns: readonly string[];
  readonly prefix: Pairs;
  /** Rows from this value of the first of `keyColumns` on. */
  readonly from?: RowValue;
  /** Ends the scan before the first row for which it says so. */
  readonly isEnd?: (row: readonly RowValue[]) => boolean;
}

/** All rows in key order. Continues behind the last row of a page, column by column of the key. */
export async function scanRows(
  cluster: FlowCluster,
  path: string,
  options: ScanOptions,
): Promise<(readonly RowValue[])[]> {
  const { keyColumns, columns, prefix, isEnd } = options;
  const result: (readonly RowValue[])[] = [];
  const [firstKey] = keyColumns;
  /** What is left to read, the nearest first. */
  let ranges: Pick<RangeOptions, "prefix" | "from">[] = [
    {
      prefix,
      ...(options.from === undefined || firstKey === undefined
        ? {}
        : { from: { column: firstKey, value: options.from, isInclusive: true } }),
    },
  ];
  for (let range = ranges[0]; range !== undefined; range = ranges[0]) {
    const rows = await cluster.selectRange(path, { columns, limit: pageSize, ...range });
    for (const row of rows) {
      if (isEnd?.(row) === true) {
        return result;
      }
      result.push(row);
    }
    const last = rows.at(-1);
    ranges =
      rows.length < pageSize || last === undefined
        ? ranges.slice(1)
        : [...behind(keyColumns, prefix, last, range.prefix.length - prefix.length), ...ranges.slice(1)];
  }
  return result;
}

/** The ranges behind a row, inside of a range that has fixed the first `fixed` key columns. */
function behind(
  keyColumns: readonly string[],
  prefix: Pairs,
  row: readonly RowValue[],
  fixed: number,
): Pick<RangeOptions, "prefix" | "from">[] {
  const ranges: Pick<RangeOptions, "prefix" | "from">[] = [];
  for (let depth = keyColumns.length - 1; depth >= fixed; --depth) {
    const column = keyColumns[depth];
    if (column === undefined) {
      continue;
    }
    const same = keyColumns.slice(0, depth).map((name, index) => [name, row[index] ?? null] as const);
    ranges.push({
      prefix: [...prefix, ...same],
      from: { column, value: row[depth] ?? null, isInclusive: false },
    });
  }
  return ranges;
}
