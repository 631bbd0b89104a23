/** The tables that tests of queries share. */
import { YtError } from "@qyt/base";
import { column, type RowValue, TableSchema } from "@qyt/schema";
import { MemoryTable, toRowValue } from "./memory-source.ts";

const queueSchema = new TableSchema([column("key", "int64"), column("value", "string")]);
export const pairSchema: TableSchema = new TableSchema([
  column("a", "int64", { sortOrder: "ascending" }),
  column("b", "int64"),
]);
export const mixedSchema: TableSchema = new TableSchema([
  column("k", "int64", { sortOrder: "ascending" }),
  column("i", "int64"),
  column("u", "uint64"),
  column("d", "double"),
  column("f", "boolean"),
  column("s", "string"),
  column("x", "any"),
]);

/** `rowCount` rows in each tablet; key 100 · tablet + row. */
export function queue(tabletCount: number, rowCount: number): MemoryTable {
  const rows: RowValue[][] = [];
  for (let tablet = 0; tablet < tabletCount; tablet += 1) {
    for (let row = 0; row < rowCount; row += 1) {
      rows.push([BigInt(tablet), BigInt(row), BigInt(100 * tablet + row), Buffer.from(`v${row}`)]);
    }
  }
  return new MemoryTable(queueSchema, rows);
}

/** a = 0…9, b = 10 · a: what the upstream grouping tests use. */
export function pairs(): MemoryTable {
  const rows = Array.from({ length: 10 }, (_, index) => [BigInt(index), BigInt(10 * index)]);
  return new MemoryTable(pairSchema, rows);
}

/** One row with a value of every type. */
export const one: MemoryTable = new MemoryTable(mixedSchema, [
  [1n, -5n, 7n, 2.5, true, Buffer.from("foo"), toRowValue({ any: '{a={b=3;c="t"};l=[1;2u;"z"]}' })],
]);

/** One row of nulls. */
export const nulls: MemoryTable = new MemoryTable(mixedSchema, [[1n, null, null, null, null, null, null]]);

/** The `YtError` that a promise is rejected with; any other outcome is an error of the test. */
export async function failure(promise: Promise<unknown>): Promise<YtError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof YtError) {
      return error;
    }
    throw error;
  }
  throw new Error("Nothing was thrown");
}
