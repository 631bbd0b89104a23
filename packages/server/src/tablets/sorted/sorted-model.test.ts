/**
 * Random writes, updates, deletions, increments, compactions, failures of the disk and restarts, compared
 * with a map that remembers every state of every row.
 */
import { defined, type Random } from "@qyt/base";
import { decodeCell, type RowValue } from "@qyt/schema";
import { between, chance, pick, testRandom } from "@qyt/testing";
import { expect, it } from "vitest";
import { WriteBatch } from "../../cell/index.ts";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture } from "../transactions/engine-fixture.ts";
import type { TabletTransaction } from "../transactions/index.ts";

/** A value with the time of the write that it comes from. */
interface Stamped<T> {
  readonly value: T;
  readonly at: bigint;
}

interface ModelRow {
  readonly v: Stamped<string> | null;
  readonly w: Stamped<string> | null;
  readonly n: Stamped<bigint> | null;
}

/** Every state of every row, newest last. */
class Model {
  readonly #states = new Map<number, { readonly timestamp: bigint; readonly row: ModelRow | undefined }[]>();

  set(key: number, timestamp: bigint, row: ModelRow | undefined): void {
    const states = this.#states.get(key) ?? [];
    states.push({ timestamp, row });
    this.#states.set(key, states);
  }

  get(key: number, timestamp: bigint): ModelRow | undefined {
    return this.#states.get(key)?.findLast((state) => state.timestamp <= timestamp)?.row;
  }

  scan(timestamp: bigint): string[] {
    return [...this.#states.keys()]
      .sort((a, b) => a - b)
      .flatMap((key) => {
        const row = this.get(key, timestamp);
        const cells = row === undefined ? [] : [row.v, row.w, row.n];
        return row === undefined
          ? []
          : [
              `${key}:${cells.map((cell) => cell?.value ?? "#").join(":")}`,
              `at ${cells.map((cell) => cell?.at ?? "#").join(":")}`,
            ];
      });
  }
}

const schema =
  "[{name=k;type=int64;sort_order=ascending};{name=v;type=string};{name=w;type=string};{name=n;type=int64;aggregate=sum}]";
const keyCount = 12;

/** One change of one row: applied to the transaction, and how it changes the model's row. */
type Change = (row: ModelRow | undefined, at: bigint) => ModelRow | undefined;

function stamped<T>(value: T | undefined, at: bigint): Stamped<T> | null {
  return value === undefined ? null : { value, at };
}

async function randomChange(
  random: Random,
  engine: EngineFixture,
  table: DynamicTableHandle,
  transaction: TabletTransaction,
  key: number,
): Promise<Change> {
  const value = (): string =>
    chance(random, 0.05) ? "x".repeat(between(random, 8_000, 30_000)) : `r${random.below(1_000)}`;
  const v = chance(random, 0.7) ? value() : undefined;
  const n = chance(random, 0.5) ? BigInt(random.below(100)) : undefined;
  // An update has to name a column.
  const w = chance(random, 0.5) || (v ?? n) === undefined ? value() : undefined;
  const text = `{k=${key}${v === undefined ? "" : `;v=${v}`}${w === undefined ? "" : `;w=${w}`}${n === undefined ? "" : `;n=${n}`}}`;
  const kind = pick(random, ["write", "update", "increment", "aggregate", "delete"]);
  switch (kind) {
    case "write":
      engine.insert(transaction, table, text);
      return (_, at) => ({ v: stamped(v, at), w: stamped(w, at), n: stamped(n, at) });
    case "update":
      engine.insert(transaction, table, text, { update: true });
      return (row, at) => ({
        v: stamped(v, at) ?? row?.v ?? null,
        w: stamped(w, at) ?? row?.w ?? null,
        n: stamped(n, at) ?? row?.n ?? null,
      });
    case "increment":
      engine.insert(transaction, table, text, { update: true, aggregate: true });
      return (row, at) => ({
        v: stamped(v, at) ?? row?.v ?? null,
        w: stamped(w, at) ?? row?.w ?? null,
        n: sum(row?.n, n, at),
      });
    case "aggregate":
      engine.insert(transaction, table, text, { aggregate: true });
      return (row, at) => ({ v: stamped(v, at), w: stamped(w, at), n: sum(row?.n, n, at) });
    default:
      await engine.delete(transaction, table, `{k=${key}}`);
      return () => undefined;
  }
}

function sum(
  base: Stamped<bigint> | null | undefined,
  increment: bigint | undefined,
  at: bigint,
): Stamped<bigint> | null {
  return increment === undefined ? (base ?? null) : { value: (base?.value ?? 0n) + increment, at };
}

/** All rows with the times of their values, as the model tells them. */
function scanAll(table: DynamicTableHandle, timestamp: bigint, limit = 1_000): string[] {
  const result: string[] = [];
  for (let from: Buffer | undefined = Buffer.alloc(0); from !== undefined; ) {
    const { rows, next }: ReturnType<DynamicTableHandle["rows"]["scan"]> = table.rows.scan(
      from,
      undefined,
      timestamp,
      limit,
      { withTimestamps: true },
    );
    for (const row of rows) {
      const cells = row.map(textOf);
      result.push(cells.slice(0, 4).join(":"), `at ${cells.slice(4).join(":")}`);
    }
    from = next;
  }
  return result;
}

/** The same without the times, of some columns in some order. */
function scanColumns(
  table: DynamicTableHandle,
  timestamp: bigint,
  limit: number,
  columns: readonly number[],
): string[] {
  const result: string[] = [];
  for (let from: Buffer | undefined = Buffer.alloc(0); from !== undefined; ) {
    const { rows, next }: ReturnType<DynamicTableHandle["rows"]["scan"]> = table.rows.scan(
      from,
      undefined,
      timestamp,
      limit,
      { columns },
    );
    result.push(...rows.map((row) => row.map(textOf).join(":")));
    from = next;
  }
  return result;
}

/** All rows looked up one by one, as cells where they can be. */
function readCells(table: DynamicTableHandle, timestamp: bigint, columns: readonly number[]): string[] {
  const { rows } = table;
  const reader = rows.cellReader(timestamp, columns);
  return Array.from({ length: keyCount }).flatMap((_, key) => {
    const encoded = rows.encodeKey([BigInt(key)]);
    const found = reader.read(encoded);
    if (found === "row") {
      const { bytes } = reader.record;
      return [...reader.starts]
        .map((start, index) => {
          const end = reader.ends[index] ?? 0;
          return textOf(start === end ? null : (decodeCell(bytes, start, end) ?? null));
        })
        .join(":");
    }
    const row = rows.lookup(encoded, timestamp);
    expect(found === "none" ? row : undefined).toBeUndefined();
    return row === undefined ? [] : columns.map((column) => textOf(row[column] ?? null)).join(":");
  });
}

function textOf(cell: RowValue): string {
  return cell instanceof Uint8Array ? Buffer.from(cell).toString() : String(cell ?? "#");
}

it.each([1, 2, 3])(
  "rows are what a map says at every time that somebody reads (%i)",
  { timeout: 120_000 },
  async (run) => {
    const random = testRandom(`sorted rows, run ${run}`);
    let engine = await EngineFixture.open();
    let table = await engine.createTable("//tmp/t", schema);
    const model = new Model();
    let readers: TabletTransaction[] = [];

    const commitSome = async (): Promise<void> => {
      const transaction = engine.begin({ isBlind: chance(random, 0.5) });
      const changes = new Map<number, Change>();
      for (let count = between(random, 1, 5); count > 0; count--) {
        const key = random.below(keyCount);
        const before = changes.get(key) ?? ((row: ModelRow | undefined) => row);
        const change = await randomChange(random, engine, table, transaction, key);
        changes.set(key, (row, at) => change(before(row, at), at));
      }
      if (chance(random, 0.1)) {
        engine.store.failAt(1);
      }
      let timestamp: bigint;
      try {
        timestamp = await transaction.commit();
      } catch {
        // The refusal lasts until everybody in flight has heard of the failure.
        await new Promise((resolve) => setImmediate(resolve));
        return;
      }
      for (const [key, change] of changes) {
        model.set(key, timestamp, change(model.get(key, timestamp), timestamp));
      }
    };
    const compactSome = async (): Promise<void> => {
      const batch = new WriteBatch();
      table.rows.compact(batch, engine.transactions.horizon, between(random, 1, 60));
      if (chance(random, 0.1)) {
        engine.store.failAt(1);
      }
      try {
        await engine.cell.commit({ batch });
      } catch {
        table.rows.compactionFailed();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };

    for (let step = 0; step < 600; step++) {
      const kind = random.below(100);
      if (kind < 55) {
        await commitSome();
      } else if (kind < 80) {
        await compactSome();
      } else if (kind < 88) {
        readers.push(engine.begin());
      } else if (kind < 95 && readers.length > 0) {
        defined(readers.splice(random.below(readers.length), 1)[0], "reader").abort();
      } else if (kind < 97) {
        engine = await engine.reopen();
        table = engine.table("//tmp/t");
        readers = [];
      }
      const now = engine.transactions.visibleTimestamp;
      const expected = model.scan(now);
      expect(scanAll(table, now, between(random, 1, 6)), `step ${step}`).toEqual(expected);
      const columns = pick(random, [[0, 1, 2, 3], [2], [3, 1], [1, 0, 1], []]);
      const picked = expected
        .filter((line) => !line.startsWith("at "))
        .map((line) => line.split(":"))
        .map((cells) => columns.map((column) => cells[column]).join(":"));
      expect(scanColumns(table, now, between(random, 1, 6), columns), `step ${step}`).toEqual(picked);
      expect(readCells(table, now, columns), `step ${step}, by key`).toEqual(picked);
      for (const { startTimestamp } of readers) {
        expect(scanAll(table, startTimestamp), `step ${step} in the past`).toEqual(
          model.scan(startTimestamp),
        );
      }
    }

    for (const reader of readers) {
      reader.abort();
    }
    for (let rest = 0; rest < 3; rest++) {
      for (let isDone = false; !isDone; ) {
        const batch = new WriteBatch();
        isDone = table.rows.compact(batch, engine.transactions.horizon, 50);
        await engine.cell.commit({ batch });
      }
    }
    const left = model.scan(engine.transactions.visibleTimestamp);
    expect(scanAll(table, engine.transactions.visibleTimestamp)).toEqual(left);
    // One record a row, and one more for each 8 KB of long values.
    const records = left
      .filter((line) => !line.startsWith("at "))
      .reduce((count, row) => count + Math.ceil((row.length + 60) / 8_100), 0);
    expect(engine.recordCount(table)).toBeLessThanOrEqual(records);
    await engine.close();
  },
);
