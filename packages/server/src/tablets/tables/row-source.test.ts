/** Queries over tables: ranges of keys become ranges of tablets and rows, and nothing else is read. */
import { bare, isList, type YsonValue } from "@qyt/base";
import { executeQuery, type KeyRange, parseQuery, prepareQuery, unboundedRange } from "@qyt/ql";
import { EncodedRows, type RowValue } from "@qyt/schema";
import { parseYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Entry, MemoryStore, type RangeOptions } from "../../cell/index.ts";
import { EngineFixture } from "../transactions/engine-fixture.ts";
import type { DynamicTableHandle } from "./dynamic-table-handle.ts";
import { orderedSource, sortedSource, tabletRanges } from "./row-source.ts";

/** Counts the records that are read. */
class CountingStore extends MemoryStore {
  reads = 0;

  override get(key: Uint8Array): Buffer | undefined {
    this.reads++;
    return super.get(key);
  }

  override *range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    for (const entry of super.range(from, to, options)) {
      this.reads++;
      yield entry;
    }
  }
}

let engine: EngineFixture;
const store = new CountingStore();
beforeAll(async () => {
  engine = await EngineFixture.open({ durable: store });
});
afterAll(() => engine.close());

/** The whole path of `select_rows` below the command. */
async function select(table: DynamicTableHandle, text: string): Promise<RowValue[][]> {
  const parsed = parseQuery(`${text.replace("from t", "from [//tmp/t]")}`);
  const plan = prepareQuery(parsed, table.querySchema);
  const source = table.sorted
    ? sortedSource(table, engine.transactions.visibleTimestamp)
    : orderedSource(table);
  const rows: RowValue[][] = [];
  await executeQuery(
    plan,
    source,
    (row) => {
      rows.push([...row]);
      return undefined;
    },
    new AbortController().signal,
  );
  return rows;
}

describe("a queue of ten million rows", () => {
  const rowCount = 10_000_000;
  const rowsPerAppend = 100_000;
  let queue: DynamicTableHandle;
  beforeAll(async () => {
    queue = await engine.createTable("//tmp/large", "[{name=v;type=boolean}]");
    const rows = new EncodedRows({
      rowCount: rowsPerAppend,
      bytes: Buffer.alloc(rowsPerAppend, 0x05),
      ends: Uint32Array.from({ length: rowsPerAppend }, (_, row) => row + 1),
      weights: new Uint32Array(rowsPerAppend).fill(2),
    });
    for (let first = 0; first < rowCount; first += rowsPerAppend) {
      const transaction = engine.begin({ isBlind: true });
      transaction.insertRows(queue, rows);
      await transaction.commit();
      if (first % 3_000_000 === 2_000_000) {
        await engine.unmount("//tmp/large");
        await engine.mount("//tmp/large");
      }
    }
  }, 60_000);

  it.each([0, 1_234_567, 2_099_995, 5_000_000, 9_999_990])(
    "ten rows from row %i on cost at most twelve records",
    async (from) => {
      expect(queue.readableTablet(0).info().totalRowCount).toBe(rowCount);
      const expected = Array.from({ length: 10 }, (_, index) => [BigInt(from + index), true]);
      for (const condition of [
        `[$row_index] between ${from} and ${from + 9}`,
        `[$row_index] >= ${from} and [$row_index] < ${from + 10}`,
        `[$row_index] >= ${from} limit 10`,
      ]) {
        const before = store.reads;
        const rows = await select(queue, `[$row_index], v from t where [$tablet_index] = 0 and ${condition}`);
        const reads = store.reads - before;
        expect(rows, condition).toEqual(expected);
        expect(reads, condition).toBeLessThanOrEqual(12);
        expect(reads, condition).toBeGreaterThan(0);
      }
    },
  );

  it("rows that cannot be there cost nothing", async () => {
    const before = store.reads;
    expect(await select(queue, "* from t where [$tablet_index] = 7")).toEqual([]);
    expect(await select(queue, "* from t where [$tablet_index] = 0 and [$row_index] >= 10000000")).toEqual(
      [],
    );
    expect(store.reads - before).toBe(0);
  });
});

describe("ranges of tablets and rows", () => {
  const all = Number.MAX_SAFE_INTEGER;
  const range = (
    lower: [readonly (number | null)[], boolean],
    upper: [readonly (number | null)[], boolean],
  ): KeyRange => {
    const bound = ([values, inclusive]: [readonly (number | null)[], boolean]) => ({
      values: values.map((value) => (value === null ? null : BigInt(value))),
      inclusive,
    });
    return { lower: bound(lower), upper: bound(upper) };
  };
  const text = (of: KeyRange, tablets = 3): string[] =>
    tabletRanges(of, tablets).map(
      ({ tabletIndex, fromRow, toRow }) => `${tabletIndex}:${fromRow}-${toRow === all ? "" : toRow}`,
    );

  it("everything", () => {
    expect(text(unboundedRange)).toEqual(["0:0-", "1:0-", "2:0-"]);
  });

  it("whole tablets", () => {
    expect(text(range([[1], true], [[1], true]))).toEqual(["1:0-"]);
    expect(text(range([[0], false], [[2], true]))).toEqual(["1:0-", "2:0-"]);
    expect(text(range([[0], true], [[2], false]))).toEqual(["0:0-", "1:0-"]);
    expect(text(range([[-5], true], [[-1], true]))).toEqual([]);
    expect(text(range([[3], true], [[10], true]))).toEqual([]);
  });

  it("rows of one tablet and of several", () => {
    expect(text(range([[1, 5], true], [[1, 9], true]))).toEqual(["1:5-10"]);
    expect(text(range([[1, 5], false], [[1, 9], false]))).toEqual(["1:6-9"]);
    expect(text(range([[0, 5], true], [[2, 3], false]))).toEqual(["0:5-", "1:0-", "2:0-3"]);
    expect(text(range([[1, -5], true], [[1, -1], true]))).toEqual([]);
    expect(text(range([[1, 9], true], [[1, 5], true]))).toEqual([]);
  });

  it("null is below every index", () => {
    expect(text(range([[null], true], [[null], true]))).toEqual([]);
    expect(text(range([[null], false], [[0], true]))).toEqual(["0:0-"]);
    expect(text(range([[1, null], true], [[1, 2], true]))).toEqual(["1:0-3"]);
    expect(text(range([[1, null], false], [[1, null], true]))).toEqual([]);
  });
});

describe("sorted tables", () => {
  let table: DynamicTableHandle;
  const keys: [bigint | null, string | null][] = [];
  beforeAll(async () => {
    table = await engine.createTable(
      "//tmp/sorted",
      "[{name=a;type=int64;sort_order=ascending};{name=b;type=string;sort_order=ascending};{name=v;type=int64}]",
    );
    const rows: string[] = [];
    for (const a of [null, -1n, 0n, 1n, 2n]) {
      for (const b of [null, "", "x", "xy", "y"]) {
        keys.push([a, b]);
        rows.push(`{a=${a ?? "#"};b=${b === null ? "#" : `"${b}"`};v=${keys.length}}`);
      }
    }
    await engine.write(table, rows.join(";"));
  });

  it.each([
    "a = 1",
    "a = 1 and b = null",
    "a = 1 and b > null",
    "a = 1 and b >= null",
    'a = 1 and b < "x"',
    'a = 1 and b <= "x"',
    "a < 1",
    "a <= 1",
    "a > 1",
    "a >= 1",
    "a = null",
    "a > null and a < 1",
    "a < null",
    'a in (0, 2) and b in ("", "xy")',
    '(a, b) > (0, "x")',
    "(a, b) <= (0, null)",
    "(a, b) < (1, null)",
    "(a, b) > (1, null)",
    'is_prefix("x", b) and a = 2',
    'b = "y"',
    "true",
  ])("where %s", async (condition) => {
    // The same condition over values that no range can be read off.
    const found = await select(table, `v from t where ${condition}`);
    const plain = condition.replaceAll(/\ba\b/g, "(a + 0)");
    expect(found).toEqual(await select(table, `v from t where ${plain}`));
    expect(found.every(([v]) => typeof v === "bigint" && v >= 1n && v <= 25n)).toBe(true);
  });

  it("[tables 163] limit takes the first rows by key", async () => {
    expect(await select(table, "v from t limit 5")).toEqual([1n, 2n, 3n, 4n, 5n].map((v) => [v]));
  });

  it("one key is read, not the table", async () => {
    const before = store.reads;
    expect(await select(table, 'v from t where a = 1 and b = "xy"')).toEqual([[19n]]);
    expect(store.reads - before).toBeLessThanOrEqual(2);
  });
});

it("shows pivot keys that end in null as given, without the null", async () => {
  await engine.createTable(
    "//tmp/pivots",
    "[{name=a;type=int64;sort_order=ascending};{name=b;type=string;sort_order=ascending};{name=v;type=int64}]",
    "pivot_keys=[[];[1;#];[1;x]]",
  );
  const pivots: YsonValue = await engine.cypress.get({ user: "root" }, { path: "//tmp/pivots/@pivot_keys" });
  expect(pivots).toEqual(parseYson("[[];[1];[1;x]]"));
  expect(isList(bare(pivots))).toBe(true);
});
