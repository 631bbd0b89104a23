import { column, TableSchema } from "@qyt/schema";
import { describe, expect, test } from "vitest";
import { executeQuery } from "./execute.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery } from "./plan.ts";
import { statisticsToYson } from "./statistics.ts";
import { MemoryTable, runQuery, select } from "./testing/memory-source.ts";
import { failure, one, pairSchema, pairs, queue } from "./testing/tables.ts";

async function value(expression: string, table = one, options = {}): Promise<unknown> {
  const rows = await select(table, `${expression} as r from [//t]`, options);
  return rows[0]?.r;
}

describe("ordered tables", () => {
  test("[tables 116] a tablet and row indexes between bounds", async () => {
    const rows = await select(
      queue(3, 50),
      "* from [//q] where [$tablet_index] = 1 and [$row_index] between 10 and 19",
    );
    expect(rows).toHaveLength(10);
    expect(rows[0]).toEqual({ $tablet_index: 1n, $row_index: 10n, key: 110n, value: "v10" });
    expect(rows.map((row) => row.$row_index)).toEqual(
      Array.from({ length: 10 }, (_, index) => BigInt(10 + index)),
    );
  });

  test.each([
    ["[$row_index] < 3", [0, 1, 2]],
    ["[$row_index] <= 3", [0, 1, 2, 3]],
    ["[$row_index] > 7", [8, 9]],
    ["[$row_index] >= 7", [7, 8, 9]],
    ["[$row_index] > 2 and [$row_index] <= 4", [3, 4]],
    ["[$row_index] >= 2 and [$row_index] < 4", [2, 3]],
    ["2 < [$row_index] and 5 > [$row_index]", [3, 4]],
  ])("[tables 117] slices by %s in each tablet, and by a limit", async (condition, expected) => {
    for (const tablet of [0n, 1n]) {
      const table = queue(2, 10);
      const text = `[$row_index] as i from [//q] where [$tablet_index] = ${tablet} and ${condition}`;
      const result = await runQuery(table, text);
      expect(result.rows.map((row) => Number(row.i))).toEqual(expected);
      expect(result.statistics.rowsRead).toBe(expected.length);
      expect((await select(table, `${text} limit 2`)).map((row) => Number(row.i))).toEqual(
        expected.slice(0, 2),
      );
    }
  });

  test("[tables 118] tablets that are not there; >= null is everything", async () => {
    const table = queue(2, 3);
    expect(await select(table, "* from [//q] where [$tablet_index] in (-10, 20)")).toEqual([]);
    expect(await select(table, "* from [//q] where [$tablet_index] >= null")).toHaveLength(6);
  });

  test("[tables 119] only the columns asked for, in query order", async () => {
    const { rows, plan } = await runQuery(queue(1, 2), "value, [$row_index] from [//q]");
    expect(plan.outputColumns).toEqual([
      { name: "value", type: "string" },
      { name: "$row_index", type: "int64" },
    ]);
    expect(plan.readColumns).toEqual([1, 3]);
    expect(rows.map((row) => Object.values(row))).toEqual([
      ["v0", 0n],
      ["v1", 1n],
    ]);
    expect(await select(queue(1, 2), "[$row_index] from [//q]")).toEqual([
      { $row_index: 0n },
      { $row_index: 1n },
    ]);
    expect(await select(queue(1, 1), "value from [//q]")).toEqual([{ value: "v0" }]);
  });
});

describe("grouping and order", () => {
  test("[tables 158] a sum over everything", async () => {
    expect(await select(pairs(), "sum(b) as s from [//t] group by 1")).toEqual([{ s: 450n }]);
    expect(await select(pairs(), "sum(1) as c from [//t] group by 1")).toEqual([{ c: 10n }]);
    const empty = new MemoryTable(pairSchema, []);
    expect(await select(empty, "sum(b) as s from [//t] group by 1")).toEqual([]);
  });

  test.each([
    "a % 2 as k, sum(b) as s from [//t] group by a % 2 as k",
    "k, sum(b) as s from [//t] group by a % 2 as k",
    "a % 2 as k, sum(b) as s from [//t] group by k",
    "a % 2 as k, sum(b) as s from [//t] group by a % 2",
  ])("[tables 159] sums by parity: %s", async (text) => {
    expect(await select(pairs(), text)).toEqual([
      { k: 0n, s: 200n },
      { k: 1n, s: 250n },
    ]);
  });

  test("[tables 160] having over an average, which is a double", async () => {
    const text = "a % 2 as x, avg(b) as y from [//t] group by x having y > ";
    expect(await select(pairs(), `${text}45.0`)).toEqual([{ x: 1n, y: 50 }]);
    expect(await select(pairs(), `${text}30.0`)).toHaveLength(2);
    expect(await select(pairs(), `${text}50`)).toEqual([]);
  });

  test("[tables 161] clauses that do not go together", async () => {
    const cases: [string, string][] = [
      ["* from [//t] order by a", "ORDER BY used without LIMIT"],
      ["* from [//t] offset 2", "OFFSET used without LIMIT"],
      ["a, sum(b) as s from [//t] group by a having s > 1 limit 2", "HAVING with LIMIT is not allowed"],
      [
        "a, sum(b) as s from [//t] group by a having s > 1 offset 1 limit 2",
        "HAVING with OFFSET is not allowed",
      ],
      ["* from [//t] limit 10000001", "Maximum LIMIT exceeded"],
      ["sum(b) from [//t]", 'Misuse of aggregate function "sum"'],
      ["a from [//t] where sum(b) > 1 group by a", 'Misuse of aggregate function "sum"'],
      ["sum(max(b)) from [//t] group by 1", 'Misuse of aggregate function "max"'],
      ["b from [//t] group by a", 'Undefined reference "b"'],
    ];
    for (const [text, message] of cases) {
      expect((await failure(select(pairs(), text))).message).toBe(message);
    }
    expect(
      await select(pairs(), "a, sum(b) as s from [//t] group by a having s > 1 order by s desc limit 1"),
    ).toEqual([{ a: 9n, s: 90n }]);
  });

  test("[tables 162] order, offset and limit", async () => {
    const rows = Array.from({ length: 100 }, (_, index) => [BigInt(index), BigInt((index * 37) % 100)]);
    const table = new MemoryTable(pairSchema, rows);
    const result = await select(table, "b as v from [//t] order by v desc offset 20 limit 10");
    expect(result.map((row) => row.v)).toEqual(Array.from({ length: 10 }, (_, index) => BigInt(79 - index)));
    const ties = await select(table, "a from [//t] order by a % 2, a / 50 desc limit 3");
    expect(ties.map((row) => row.a)).toEqual([50n, 52n, 54n]);
  });

  test("nulls come first in an order", async () => {
    const table = new MemoryTable(pairSchema, [
      [1n, 5n],
      [2n, null],
      [3n, -1n],
    ]);
    expect((await select(table, "a from [//t] order by b limit 3")).map((row) => row.a)).toEqual([
      2n,
      3n,
      1n,
    ]);
    expect((await select(table, "a from [//t] order by b desc limit 3")).map((row) => row.a)).toEqual([
      1n,
      3n,
      2n,
    ]);
  });

  test("[tables 163] a limit without order takes the first rows by key and stops pulling", async () => {
    const table = queue(2, 50);
    const result = await runQuery(table, "key from [//q] limit 5");
    expect(result.rows.map((row) => row.key)).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(table.pulledBatches).toBe(2);
    expect(table.closed).toBe(true);
    expect(result.plan.limitHint).toBe(5);
    expect(result.statistics.incompleteOutput).toBe(false);
    const none = queue(2, 50);
    expect(await select(none, "key from [//q] limit 0")).toEqual([]);
    expect(none.pulledBatches).toBe(0);
  });

  test("aggregates pass nulls over; nothing but nulls gives null", async () => {
    const table = new MemoryTable(pairSchema, [
      [1n, null],
      [2n, 3n],
      [3n, 1n],
      [4n, null],
      [5n, 3n],
    ]);
    const text = `min(b) as lo, max(b) as hi, avg(b) as mean, first(b) as f, argmin(a, b) as am, argmax(a, b) as ax,
      cardinality(b) as n, array_agg(b, true) as l, array_agg(b, false) as ln, sum(if(is_null(b), 1, 0)) as c
      from [//t] group by 1`;
    expect(await select(table, text)).toEqual([
      {
        lo: 1n,
        hi: 3n,
        mean: 7 / 3,
        f: 3n,
        am: 3n,
        ax: 2n,
        n: 2n,
        l: { any: "[3;1;3;]" },
        ln: { any: "[#;3;1;#;3;]" },
        c: 2n,
      },
    ]);
    const empty = new MemoryTable(pairSchema, [[1n, null]]);
    expect(await select(empty, "sum(b) as s, max(b) as m, avg(b) as v from [//t] group by 1")).toEqual([
      { s: null, m: null, v: null },
    ]);
  });

  test("group keys of every type are told apart, null among them", async () => {
    const schema = new TableSchema([
      column("k", "int64", { sortOrder: "ascending" }),
      column("s", "string"),
      column("d", "double"),
    ]);
    const table = new MemoryTable(schema, [
      [1n, Buffer.from("a"), 1],
      [2n, null, 1],
      [3n, Buffer.from("a"), null],
      [4n, Buffer.from(""), -0],
      [5n, Buffer.from(""), 0],
      [6n, null, 1],
    ]);
    const rows = await select(table, "s, d, sum(1) as c from [//t] group by s, d");
    expect(rows.map((row) => row.c)).toEqual([1n, 2n, 1n, 2n]);
  });

  test("group by with limit keeps the first groups and counts all their rows", async () => {
    const rows = await select(pairs(), "a % 3 as k, sum(1) as c from [//t] group by k limit 2");
    expect(rows).toEqual([
      { k: 0n, c: 4n },
      { k: 1n, c: 3n },
    ]);
  });

  test("sums wrap", async () => {
    const max = (1n << 63n) - 1n;
    const table = new MemoryTable(pairSchema, [
      [1n, max],
      [2n, 1n],
    ]);
    expect(await select(table, "sum(b) as s from [//t] group by 1")).toEqual([{ s: -max - 1n }]);
  });

  test("cardinality is exact while small and close when large", async () => {
    const table = new MemoryTable(
      pairSchema,
      Array.from({ length: 20_000 }, (_, index) => [BigInt(index), BigInt(index % 15_000)]),
      1000,
    );
    const [small] = await select(table, "cardinality(b % 1000) as n from [//t] group by 1");
    expect(small?.n).toBe(1000n);
    const [large] = await select(table, "cardinality(b) as n from [//t] group by 1");
    expect(Math.abs(Number(large?.n) - 15_000)).toBeLessThan(750);
  });
});

describe("limits", () => {
  test("[tables 171] output and input row limits", async () => {
    const output = await failure(select(pairs(), "* from [//t]", { outputRowLimit: 3 }));
    expect([output.code, output.attributes.get("output_row_limit")]).toEqual([1710, 3n]);
    const cut = await runQuery(pairs(), "* from [//t]", { outputRowLimit: 3, failOnIncompleteResult: false });
    expect(cut.rows).toHaveLength(3);
    expect([cut.statistics.incompleteOutput, cut.statistics.incompleteInput]).toEqual([true, false]);
    const exact = await runQuery(pairs(), "* from [//t]", { outputRowLimit: 10, inputRowLimit: 10 });
    expect([exact.statistics.incompleteOutput, exact.statistics.incompleteInput]).toEqual([false, false]);
    const input = await failure(select(pairs(), "* from [//t]", { inputRowLimit: 9 }));
    expect([input.code, input.attributes.get("input_row_limit")]).toEqual([1709, 9n]);
    const short = await runQuery(pairs(), "sum(1) as c from [//t] group by 1", {
      inputRowLimit: 4,
      failOnIncompleteResult: false,
    });
    expect(short.rows).toEqual([{ c: 4n }]);
    expect(short.statistics.incompleteInput).toBe(true);
    const groups = await failure(select(pairs(), "a from [//t] group by a", { outputRowLimit: 3 }));
    expect(groups.code).toBe(1710);
    const ordered = await failure(select(pairs(), "a from [//t] order by a limit 5", { outputRowLimit: 3 }));
    expect(ordered.code).toBe(1710);
  });

  test("statistics count rows and weights", async () => {
    const { statistics } = await runQuery(
      queue(1, 4),
      "value from [//q] where [$tablet_index] = 0 and [$row_index] >= 2",
    );
    expect(statistics).toMatchObject({ rowsRead: 2, rowsWritten: 2, dataWeightRead: 2 * (1 + 8 + 8 + 2) });
    expect(statisticsToYson(statistics).get("rows_read")).toBe(2n);
  });

  test("full scans can be forbidden", async () => {
    const options = { allowFullScan: false };
    await failure(select(pairs(), "* from [//t] where b = 1", options));
    expect(await select(pairs(), "* from [//t] where a = 1", options)).toHaveLength(1);
  });

  test("expressions too deep are error 1711", async () => {
    expect((await failure(value(`${"i + ".repeat(60)}i`))).code).toBe(1711);
    expect(await value(`${"i + ".repeat(48)}i`)).toBe(-245n);
  });

  test("an aborted query stops", async () => {
    const table = queue(1, 50);
    const plan = prepareQuery(parseQuery("* from [//q]"), table.schema);
    const controller = new AbortController();
    const error = await failure(executeQuery(plan, table, () => controller.abort(), controller.signal));
    expect(error.code).toBe(2);
    expect(table.pulledBatches).toBe(2);
    expect(table.closed).toBe(true);
  });

  test("a sink holds the query back", async () => {
    const table = queue(1, 50);
    const plan = prepareQuery(parseQuery("key from [//q] limit 10"), table.schema);
    let running = 0;
    let count = 0;
    await executeQuery(plan, table, async () => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      running -= 1;
      count += 1;
    });
    expect(count).toBe(10);
  });
});
