/** A table in memory to run queries over, and the shortest way to run one. For tests only. */
import { type RowValue, type TableSchema, toQuerySchema, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson, writeYson, writeYsonText } from "@qyt/yson";
import { compareTuples } from "../compare.ts";
import { executeQuery } from "../execute.ts";
import { isInRange, type KeyRange } from "../key-ranges.ts";
import type { QueryOptions } from "../options.ts";
import { parseQuery } from "../parser.ts";
import { type Plan, prepareQuery } from "../plan.ts";
import type { RowSource } from "../row-source.ts";
import type { QueryStatistics } from "../statistics.ts";

/** A row of plain values: text for strings, `any` as YSON text in an object. */
export type PlainValue = null | boolean | bigint | number | string | { readonly any: string };

export class MemoryTable implements RowSource {
  readonly schema: TableSchema;
  readonly rows: readonly (readonly RowValue[])[];
  /** Batches pulled by queries so far, and whether the last scan was closed or ended. */
  pulledBatches = 0;
  closed = false;
  readonly #batchSize: number;

  /** Columns of the rows stand as in the query schema. */
  constructor(schema: TableSchema, rows: readonly (readonly RowValue[])[], batchSize = 3) {
    this.schema = toQuerySchema(schema);
    const types = this.schema.columns.map((column) => column.physical).slice(0, this.schema.keyColumnCount);
    this.rows = [...rows].sort((left, right) => compareTuples(left.slice(0, types.length), right, types));
    this.#batchSize = batchSize;
  }

  async *scan(
    ranges: readonly KeyRange[],
    columns: readonly number[],
  ): AsyncGenerator<readonly (readonly RowValue[])[]> {
    const types = this.schema.columns.map((column) => column.physical);
    const keyCount = this.schema.keyColumnCount;
    this.closed = false;
    let batch: (readonly RowValue[])[] = [];
    try {
      for (const range of ranges) {
        for (const row of this.rows) {
          if (!isInRange(row.slice(0, keyCount), range, types)) {
            continue;
          }
          batch.push(columns.map((column) => row[column] ?? null));
          if (batch.length === this.#batchSize) {
            this.pulledBatches += 1;
            yield batch;
            batch = [];
          }
        }
      }
      if (batch.length > 0) {
        this.pulledBatches += 1;
        yield batch;
      }
    } finally {
      this.closed = true;
    }
  }
}

export function toRowValue(value: PlainValue): RowValue {
  if (typeof value === "string") {
    return Buffer.from(value, "utf8");
  }
  return value !== null && typeof value === "object" ? new YsonAny(encodeAny(value.any)) : value;
}

export function toPlain(value: RowValue): PlainValue {
  if (value instanceof YsonAny) {
    return { any: writeYsonText(parseYson(value.bytes)) };
  }
  return value instanceof Uint8Array ? bytesToString(value) : value;
}

function encodeAny(text: string): Uint8Array {
  return writeYson(parseYson(text), "binary");
}

export interface QueryResult {
  readonly rows: Record<string, PlainValue>[];
  readonly plan: Plan;
  readonly statistics: QueryStatistics;
}

/** @param tables the only one, or one by each path */
export async function runQuery(
  tables: MemoryTable | Readonly<Record<string, MemoryTable>>,
  text: string,
  options: QueryOptions = {},
): Promise<QueryResult> {
  const tableOf = (path: string): MemoryTable => {
    const table = tables instanceof MemoryTable ? tables : tables[path];
    if (table === undefined) {
      throw new Error(`There is no table ${path}`);
    }
    return table;
  };
  const plan = prepareQuery(parseQuery(text, options), (path) => tableOf(path).schema, options);
  const rows: Record<string, PlainValue>[] = [];
  const statistics = await executeQuery(plan, tableOf, (row) => {
    rows.push(
      Object.fromEntries(
        plan.outputColumns.map((column, index) => [column.name, toPlain(row[index] ?? null)]),
      ),
    );
  });
  return { rows, plan, statistics };
}

/** Only the rows. */
export async function select(
  table: MemoryTable | Readonly<Record<string, MemoryTable>>,
  text: string,
  options: QueryOptions = {},
) {
  return (await runQuery(table, text, options)).rows;
}
