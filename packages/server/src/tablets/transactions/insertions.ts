/** Rows of a request as changes of the rows of a sorted table, and how many are made before others have a turn. */
import type { EncodedRows } from "@qyt/schema";
import type { DynamicTable } from "../dynamic-table.ts";
import { type RowChange, RowChanges, type WriteOptions } from "./row-buffer.ts";

/** Changes that are made one after the other. */
export interface Changes {
  readonly count: number;
  at(index: number): RowChange;
}

interface InsertionOptions extends Partial<Pick<WriteOptions, "update" | "aggregate">> {
  readonly lockType?: WriteOptions["lockMode"];
}

export function insertions(table: DynamicTable, rows: EncodedRows, options: InsertionOptions): Changes {
  const changes = new RowChanges(table);
  const write = {
    update: options.update === true,
    aggregate: options.aggregate === true,
    lockMode: options.lockType ?? "exclusive",
  };
  return {
    count: rows.rowCount,
    at: (index) => changes.write(table.completeRow(rows.decodeRow(index)), write),
  };
}

/** So many rows take a few milliseconds. */
export const rowsPerTurn = 100;

export function* slices<T>(items: Iterable<T>): Generator<T[]> {
  let slice: T[] = [];
  for (const item of items) {
    slice.push(item);
    if (slice.length >= rowsPerTurn) {
      yield slice;
      slice = [];
    }
  }
  if (slice.length > 0) {
    yield slice;
  }
}
