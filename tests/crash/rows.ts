/** Rows of the crash tests: each says which batch it belongs to, and all of it can be checked from that. */
import type { RowObject } from "@qyt/client";

/** In YSON. */
export const rowSchema =
  "<strict=%true>[{name=batch;type=string};{name=place;type=int64};{name=size;type=int64};{name=pad;type=string};" +
  '{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';

export interface CrashRow {
  readonly batch: string;
  readonly place: number;
  readonly size: number;
}

/** Null, short, or now and then longer than a stored value may be. */
function padOf({ batch, place }: CrashRow): string {
  let hash = place * 2_654_435_761;
  for (let i = 0; i < batch.length; ++i) {
    hash = Math.imul(hash ^ batch.charCodeAt(i), 16_777_619);
  }
  const kind = hash >>> 0;
  return "x".repeat(kind % 499 === 0 ? 20_000 : kind % 61);
}

export function toRow(row: CrashRow): RowObject {
  return { batch: row.batch, place: BigInt(row.place), size: BigInt(row.size), pad: padOf(row) };
}

/** The rows of a batch, as they are sent. */
export function rowsOfBatch(batch: string, size: number): RowObject[] {
  return Array.from({ length: size }, (_, place) => toRow({ batch, place, size }));
}

/** What the row adds to `$cumulative_data_weight`: two integers and the two system columns are 8 bytes each. */
export function weightOf(row: CrashRow): number {
  return 1 + row.batch.length + 8 + 8 + padOf(row).length + 8 + 8;
}

/** @throws Error when a column is not what it must be */
export function parseRow(row: Readonly<Record<string, unknown>>): CrashRow {
  const { batch, place, size, pad } = row;
  if (typeof batch !== "string" || typeof place !== "bigint" || typeof size !== "bigint") {
    throw new Error(`Not a row that was written: ${describe(row)}`);
  }
  const parsed = { batch, place: Number(place), size: Number(size) };
  if (pad !== padOf(parsed)) {
    throw new Error(`The row was not written so: ${describe(row)}`);
  }
  return parsed;
}

/** An integer column, signed or unsigned. */
export function integerOf(row: Readonly<Record<string, unknown>>, column: string): bigint {
  const value = row[column];
  if (typeof value !== "bigint") {
    throw new Error(`Column ${column} is no integer: ${describe(row)}`);
  }
  return value;
}

function describe(row: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value)).slice(0, 300);
}
