/** Queries over queries, rows of totals, and how queries explain themselves. */
import type { YsonValue } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { describe, expect, test } from "vitest";
import { explainQuery } from "./explain.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery } from "./plan.ts";
import { MemoryTable, runQuery, select } from "./testing/memory-source.ts";
import { failure, pairSchema, pairs, queue } from "./testing/tables.ts";

describe("FROM (SELECT …)", () => {
  test("takes the inner results as rows: filters, groups and orders them", async () => {
    const text = "x from (select a * 2 as x from [//t] where a < 5) where x > 2 order by x desc limit 2";
    expect(await select(pairs(), text)).toEqual([{ x: 8n }, { x: 6n }]);
    const groups = "max(s) as top from (select a % 3 as k, sum(b) as s from [//t] group by k) group by 1";
    expect(await select(pairs(), groups)).toEqual([{ top: 180n }]);
  });

  test("keeps the names and types of the inner columns; an alias names them all", async () => {
    const { plan, rows } = await runQuery(
      pairs(),
      "* from (select a, b + 1 as c from [//t] order by b desc limit 1) as t",
    );
    expect(rows).toEqual([{ "t.a": 9n, "t.c": 91n }]);
    expect(plan.outputColumns).toEqual([
      { name: "t.a", type: "int64" },
      { name: "t.c", type: "int64" },
    ]);
    const error = await failure(select(pairs(), "b from (select a from [//t])"));
    expect(error.message).toBe('Undefined reference "b"');
  });

  test("uses the key of the inner table for the inner condition", async () => {
    const { statistics } = await runQuery(pairs(), "a from (select a from [//t] where a = 3)");
    expect(statistics.rowsRead).toBe(1);
    expect(
      (await failure(select(pairs(), "a from (select a from [//t])", { allowFullScan: false }))).message,
    ).toMatch("full scan");
  });

  test("an outer LIMIT ends the inner reading", async () => {
    const table = queue(1, 1_000);
    const { rows, statistics } = await runQuery(table, "* from (select key from [//q]) limit 2");
    expect(rows).toEqual([{ key: 0n }, { key: 1n }]);
    expect(statistics.rowsRead).toBeLessThan(5);
    expect(table.closed).toBe(true);
  });

  test("rows between the queries count towards no output limit", async () => {
    const text = "sum(1) as n from (select a from [//t]) group by 1";
    expect(await select(pairs(), text, { outputRowLimit: 1 })).toEqual([{ n: 10n }]);
    expect((await failure(select(pairs(), "a from (select a from [//t])", { outputRowLimit: 3 }))).code).toBe(
      1710,
    );
  });

  test("joins other tables", async () => {
    const text =
      "q.s as s, t.b as b from (select a % 2 as k, sum(b) as s from [//t] group by k) as q join [//t] as t on q.k = t.a";
    expect(await select(pairs(), text)).toEqual([
      { s: 200n, b: 0n },
      { s: 250n, b: 10n },
    ]);
  });

  test("too many of them inside one another are error 1711", async () => {
    const deep = `${"* from (select ".repeat(30)}a from [//t]${")".repeat(30)}`;
    expect((await failure(select(pairs(), deep))).code).toBe(1711);
  });
});

describe("WITH TOTALS", () => {
  test("adds one row over all groups, its group items null", async () => {
    expect(await select(pairs(), "k, sum(b) as s from [//t] group by a % 2 as k with totals")).toEqual([
      { k: 0n, s: 200n },
      { k: 1n, s: 250n },
      { k: null, s: 450n },
    ]);
  });

  test("before HAVING counts all groups, behind it those that pass", async () => {
    const grouped = "k, sum(b) as s from [//t] group by a % 2 as k";
    expect(await select(pairs(), `${grouped} with totals having s > 200`)).toEqual([
      { k: 1n, s: 250n },
      { k: null, s: 450n },
    ]);
    expect(await select(pairs(), `${grouped} having s > 200 with totals`)).toEqual([
      { k: 1n, s: 250n },
      { k: null, s: 250n },
    ]);
    expect(await select(pairs(), `${grouped} having s < 0 with totals`)).toEqual([]);
  });

  test("nothing grouped has no totals", async () => {
    expect(
      await select(new MemoryTable(pairSchema, []), "sum(b) as s from [//t] group by a with totals"),
    ).toEqual([]);
  });

  test("every aggregate is taken over all rows, not over the groups' results", async () => {
    const text =
      "avg(b) as avg, min(a) as lo, max(a) as hi, first(b) as f, argmax(a, b) as am, cardinality(a) as c, " +
      "array_agg(a, true) as l from [//t] where a < 4 group by a % 3 with totals";
    const rows = await select(pairs(), text);
    expect(rows).toHaveLength(4);
    expect(rows[3]).toEqual({
      avg: 15,
      lo: 0n,
      hi: 3n,
      f: 0n,
      am: 3n,
      c: 4n,
      l: { any: "[0;3;1;2;]" },
    });
  });

  test("counts many distinct values of many groups", async () => {
    const table = new MemoryTable(
      pairSchema,
      Array.from({ length: 12_000 }, (_, index) => [BigInt(index), BigInt(index % 6_000)]),
      1_000,
    );
    const rows = await select(table, "cardinality(b) as c from [//t] group by a % 2 as k with totals");
    expect(Number(rows[2]?.c)).toBeGreaterThan(5_800);
    expect(Number(rows[2]?.c)).toBeLessThan(6_200);
  });

  test("comes last whatever the order, and LIMIT leaves it", async () => {
    const text = "k, sum(b) as s from [//t] group by a % 3 as k with totals order by s desc limit 1";
    expect(await select(pairs(), text)).toEqual([
      { k: 0n, s: 180n },
      { k: null, s: 450n },
    ]);
    expect(
      await select(pairs(), "k, sum(b) as s from [//t] group by a % 3 as k with totals limit 1"),
    ).toEqual([
      { k: 0n, s: 180n },
      { k: null, s: 450n },
    ]);
  });
});

function expectYson(value: YsonValue, text: string): void {
  expect(value).toEqual(parseYson(text));
}

describe("explainQuery", () => {
  function explain(text: string, options = {}): YsonValue {
    const parsed = parseQuery(text, options);
    return explainQuery(parsed, prepareQuery(parsed, pairSchema, options));
  }

  test("names the condition, the ranges it reads, and whether the scan ends with LIMIT", () => {
    expectYson(
      explain("a from [//t] where a >= 2 and a < 5 or a = 7 limit 3"),
      '{query={where_expression="(((a)>=(2))AND((a)<(5)))OR((a)=(7))";is_ordered_scan=%true;joins=[];' +
        'ranges=[["[0#2]";"[0#4, 1#<Max>]"];["[0#7]";"[0#7, 1#<Max>]"]]};subqueries=[];top_query={is_ordered_scan=%true}}',
    );
  });

  test("tells how each join finds rows, and what of the key is grouped", () => {
    const text =
      "sum(1) from [//t] as l join [//t] as r on l.a = r.a join [//t] as q on l.b = q.b group by l.a";
    expectYson(
      explain(text, { allowJoinWithoutIndex: true }),
      '{query={where_expression="true";is_ordered_scan=%false;joins=[' +
        '[{lookup_type="source ranges";common_key_prefix=1u;foreign_key_prefix=1u}];' +
        '[{lookup_type="IN clause";common_key_prefix=0u;foreign_key_prefix=0u}]];' +
        'common_prefix_with_primary_key=1u;ranges=[["[0#<Min>]";"[0#<Max>]"]]};subqueries=[];top_query={is_ordered_scan=%false}}',
    );
  });
});
