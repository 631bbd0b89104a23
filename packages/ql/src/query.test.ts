import { YtError } from "@qyt/base";
import { column, type RowValue, TableSchema } from "@qyt/schema";
import { describe, expect, test } from "vitest";
import { executeQuery } from "./execute.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery } from "./plan.ts";
import { statisticsToYson } from "./statistics.ts";
import { MemoryTable, runQuery, select, toRowValue } from "./testing/memory-source.ts";

const queueSchema = new TableSchema([column("key", "int64"), column("value", "string")]);
const pairSchema = new TableSchema([
  column("a", "int64", { sortOrder: "ascending" }),
  column("b", "int64"),
]);
const mixedSchema = new TableSchema([
  column("k", "int64", { sortOrder: "ascending" }),
  column("i", "int64"),
  column("u", "uint64"),
  column("d", "double"),
  column("f", "boolean"),
  column("s", "string"),
  column("x", "any"),
]);

/** `rowCount` rows in each tablet; key 100 · tablet + row. */
function queue(tabletCount: number, rowCount: number): MemoryTable {
  const rows: RowValue[][] = [];
  for (let tablet = 0; tablet < tabletCount; tablet += 1) {
    for (let row = 0; row < rowCount; row += 1) {
      rows.push([BigInt(tablet), BigInt(row), BigInt(100 * tablet + row), Buffer.from(`v${row}`)]);
    }
  }
  return new MemoryTable(queueSchema, rows);
}

/** a = 0…9, b = 10 · a: what the upstream grouping tests use. */
function pairs(): MemoryTable {
  return new MemoryTable(
    pairSchema,
    Array.from({ length: 10 }, (_, index) => [BigInt(index), BigInt(10 * index)]),
  );
}

const one = new MemoryTable(mixedSchema, [
  [1n, -5n, 7n, 2.5, true, Buffer.from("foo"), toRowValue({ any: '{a={b=3;c="t"};l=[1;2u;"z"]}' })],
]);
const nulls = new MemoryTable(mixedSchema, [[1n, null, null, null, null, null, null]]);

async function value(expression: string, table = one, options = {}): Promise<unknown> {
  const rows = await select(table, `${expression} as r from [//t]`, options);
  return rows[0]?.["r"];
}

async function failure(promise: Promise<unknown>): Promise<YtError> {
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

describe("ordered tables", () => {
  test("[tables 116] a tablet and row indexes between bounds", async () => {
    const rows = await select(queue(3, 50), "* from [//q] where [$tablet_index] = 1 and [$row_index] between 10 and 19");
    expect(rows).toHaveLength(10);
    expect(rows[0]).toEqual({ $tablet_index: 1n, $row_index: 10n, key: 110n, value: "v10" });
    expect(rows.map((row) => row["$row_index"])).toEqual(Array.from({ length: 10 }, (_, index) => BigInt(10 + index)));
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
      expect(result.rows.map((row) => Number(row["i"]))).toEqual(expected);
      expect(result.statistics.rowsRead).toBe(expected.length);
      expect((await select(table, `${text} limit 2`)).map((row) => Number(row["i"]))).toEqual(expected.slice(0, 2));
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
    expect(await select(queue(1, 2), "[$row_index] from [//q]")).toEqual([{ $row_index: 0n }, { $row_index: 1n }]);
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
      ["a, sum(b) as s from [//t] group by a having s > 1 offset 1 limit 2", "HAVING with OFFSET is not allowed"],
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
    expect(result.map((row) => row["v"])).toEqual(Array.from({ length: 10 }, (_, index) => BigInt(79 - index)));
    const ties = await select(table, "a from [//t] order by a % 2, a / 50 desc limit 3");
    expect(ties.map((row) => row["a"])).toEqual([50n, 52n, 54n]);
  });

  test("nulls come first in an order", async () => {
    const table = new MemoryTable(pairSchema, [[1n, 5n], [2n, null], [3n, -1n]]);
    expect((await select(table, "a from [//t] order by b limit 3")).map((row) => row["a"])).toEqual([2n, 3n, 1n]);
    expect((await select(table, "a from [//t] order by b desc limit 3")).map((row) => row["a"])).toEqual([1n, 3n, 2n]);
  });

  test("[tables 163] a limit without order takes the first rows by key and stops pulling", async () => {
    const table = queue(2, 50);
    const result = await runQuery(table, "key from [//q] limit 5");
    expect(result.rows.map((row) => row["key"])).toEqual([0n, 1n, 2n, 3n, 4n]);
    expect(table.pulledBatches).toBe(2);
    expect(table.closed).toBe(true);
    expect(result.plan.limitHint).toBe(5);
    expect(result.statistics.incompleteOutput).toBe(false);
    const none = queue(2, 50);
    expect(await select(none, "key from [//q] limit 0")).toEqual([]);
    expect(none.pulledBatches).toBe(0);
  });

  test("aggregates pass nulls over; nothing but nulls gives null", async () => {
    const table = new MemoryTable(pairSchema, [[1n, null], [2n, 3n], [3n, 1n], [4n, null], [5n, 3n]]);
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
    const schema = new TableSchema([column("k", "int64", { sortOrder: "ascending" }), column("s", "string"), column("d", "double")]);
    const table = new MemoryTable(schema, [
      [1n, Buffer.from("a"), 1],
      [2n, null, 1],
      [3n, Buffer.from("a"), null],
      [4n, Buffer.from(""), -0],
      [5n, Buffer.from(""), 0],
      [6n, null, 1],
    ]);
    const rows = await select(table, "s, d, sum(1) as c from [//t] group by s, d");
    expect(rows.map((row) => row["c"])).toEqual([1n, 2n, 1n, 2n]);
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
    const table = new MemoryTable(pairSchema, [[1n, max], [2n, 1n]]);
    expect(await select(table, "sum(b) as s from [//t] group by 1")).toEqual([{ s: -max - 1n }]);
  });

  test("cardinality is exact while small and close when large", async () => {
    const table = new MemoryTable(
      pairSchema,
      Array.from({ length: 20_000 }, (_, index) => [BigInt(index), BigInt(index % 15_000)]),
      1000,
    );
    const [small] = await select(table, "cardinality(b % 1000) as n from [//t] group by 1");
    expect(small?.["n"]).toBe(1000n);
    const [large] = await select(table, "cardinality(b) as n from [//t] group by 1");
    expect(Math.abs(Number(large?.["n"]) - 15_000)).toBeLessThan(750);
  });
});

describe("values", () => {
  test("[tables 164] null rules", async () => {
    expect(await value("null = null")).toBe(true);
    expect(await value("null < 1")).toBe(true);
    expect(await value("i + null")).toBe(null);
    expect(await value("i % 0", nulls)).toBe(null);
    expect((await failure(value("1 / 0"))).message).toBe("Division by zero");
    expect((await failure(value("i / 0"))).message).toBe("Division by zero");
    expect(await value("d / 0")).toBe(Infinity);
  });

  test("canonical null relations", async () => {
    const options = { useCanonicalNullRelations: true };
    expect(await value("i = null", nulls, options)).toBe(null);
    expect(await value("i < 1", nulls, options)).toBe(null);
    expect(await value("not (i < 1)", nulls, options)).toBe(null);
    expect(await value("is_null(i)", nulls, options)).toBe(true);
    expect(await select(nulls, "k from [//t] where i < 1", options)).toEqual([]);
    expect(await select(nulls, "k from [//t] where i < 1")).toEqual([{ k: 1n }]);
  });

  test("three-valued AND and OR", async () => {
    expect(await value("f and null")).toBe(null);
    expect(await value("not f and null")).toBe(false);
    expect(await value("f or null")).toBe(true);
    expect(await value("not f or null")).toBe(null);
    expect(await select(one, "k from [//t] where f and null")).toEqual([]);
  });

  test("[tables 165] the remainder has the sign of the dividend", async () => {
    expect(await value("-17 % 5")).toBe(-2n);
    expect(await value("17 % -5")).toBe(2n);
    expect(await value("-17 / 5")).toBe(-3n);
    expect(await value("(i - 12) % 5")).toBe(-2n);
  });

  test("integers wrap at 64 bits", async () => {
    expect(await value("i - 9223372036854775807")).toBe(9223372036854775804n);
    expect(await value("u * 18446744073709551615u")).toBe(18446744073709551609n);
    expect(await value("-9223372036854775808")).toBe(-9223372036854775808n);
    expect(await value("i - i + 9223372036854775807 + 1")).toBe(-9223372036854775808n);
    expect(await value("-u")).toBe(18446744073709551609n);
    expect(await value("~i")).toBe(4n);
    expect(await value("u << 62")).toBe(13835058055282163712n);
    expect(await value("i >> 1")).toBe(-3n);
    expect(await value("u & 3 | 8")).toBe(11n);
  });

  test("[tables 166] numeric types do not mix, literals fit in", async () => {
    const error = await failure(value("i + u"));
    expect(error.message).toBe('Type mismatch in expression "i + u": expected "int64", got "uint64"');
    expect(error.attributes.get("lhs_source")).toBe("i");
    expect(error.attributes.get("rhs_source")).toBe("u");
    expect((await failure(value("i = u"))).attributes.get("rhs_source")).toBe("u");
    expect(await value("u + 1")).toBe(8n);
    expect(await value("d + 1")).toBe(3.5);
    expect(await value("u = 7")).toBe(true);
    expect(await value("int64(u) + i")).toBe(2n);
    for (const text of ["u = -1", "u + -1", "u in (-1)", "i + 1.5", "s + 1", "f + f", "i and f", "not i", "-s", "1 || 's'"]) {
      await failure(value(text));
    }
    expect((await failure(select(one, "k from [//t] where i"))).message).toMatch(/^Type mismatch in expression/);
  });

  test("[tables 167] IN, BETWEEN, LIKE, CASE, TRANSFORM", async () => {
    const cases: [string, unknown][] = [
      ['(k, s) in ((1, "foo"), (2, "y"))', true],
      ['(k, s) in ((1, "x"), (2, "foo"))', false],
      ["i in (1, -5)", true],
      ["i not in (1, -5)", false],
      ["u in (7)", true],
      ["i between -5 and 0", true],
      ["i not between -5 and 0", false],
      ["(k, i) between (1) and (1, -6)", false],
      ["(k, i) between (1, -5) and (1)", true],
      ["i between (-10 and -6, -5 and 3)", true],
      ["(k, i) > (1, -6)", true],
      ["(k, i) <= (1, -6)", false],
      ["(k, i) != (1, -5)", false],
      ["s like 'f%'", true],
      ["s like '%o'", true],
      ["s like 'f__'", true],
      ["s like 'f_'", false],
      ["s like '%'", true],
      ["s not like 'F%'", true],
      ["s ilike 'F%O'", true],
      ["'50%' like '50\\\\%'", true],
      ["'50x' like '50\\\\%'", false],
      ["'50%' like '50!%' escape '!'", true],
      ["'50x' like '50!%' escape '!'", false],
      ["s rlike 'o+$'", true],
      ["s regexp '^o'", false],
      ["case when i > 0 then 'p' when i < 0 then 'n' else 'z' end", "n"],
      ["case s when 'bar' then 1 when 'foo' then 2 end", 2n],
      ["case s when 'bar' then 1 end", null],
      ['transform(s, ("bar", "foo"), (1, 2))', 2n],
      ['transform(i, (1), (2), 9)', 9n],
      ['transform((k, s), ((1, "foo")), ("yes"))', "yes"],
      ["s || '-' || s", "foo-foo"],
    ];
    for (const [text, expected] of cases) {
      expect([text, await value(text)]).toEqual([text, expected]);
    }
    expect((await failure(value("x = 1"))).code).toBe(324);
    expect((await failure(value("s like 'a!' escape '!'"))).message).toMatch(/Incomplete escape/);
    expect((await failure(value("(k, s) in ((1, 2))"))).message).toBe("Types mismatch in tuple");
    expect((await failure(value("(k, s) in (1)"))).message).toBe("Arguments size mismatch in tuple");
    expect((await failure(value("s rlike '('"))).message).toMatch(/regular expression/);
  });

  test("[tables 168] bounds out of order and overlapping ranges", async () => {
    const table = queue(1, 1);
    expect((await failure(select(table, "* from [//q] where [$row_index] between 5 and 3"))).message).toBe(
      "Lower bound is greater than upper",
    );
    expect((await failure(select(table, "* from [//q] where key between (1 and 3, 2 and 5)"))).message).toBe(
      "Ranges are not disjoint",
    );
  });

  test("[tables 169] unknown columns and functions, aliases used twice", async () => {
    expect((await failure(value("nope"))).message).toBe('Undefined reference "nope"');
    expect((await failure(value("nope(1)"))).message).toBe('Undefined function "nope"');
    expect((await failure(select(one, "i as z, u as z from [//t]"))).message).toBe('Alias "z" has been already used');
    expect((await failure(select(one, "q.i from [//t] as t"))).message).toBe('Undefined reference "q.i"');
  });

  test("aliases are known everywhere", async () => {
    expect(await select(one, "(i as n) + 1 as m, m * 2 as o from [//t] where n < 0")).toEqual([{ m: -4n, o: -8n }]);
    expect(await select(one, "i + 1 as i from [//t]")).toEqual([{ i: -4n }]);
    expect(await select(one, "t.i from [//t] as t")).toEqual([{ "t.i": -5n }]);
    const cyclic = await failure(select(one, "p + 1 as q, q + 1 as p from [//t]"));
    expect(cyclic.message).toBe('Undefined reference "q"');
  });

  test("aliases cannot make a small query huge", async () => {
    const items = Array.from({ length: 40 }, (_, index) => `a${index} + a${index} as a${index + 1}`);
    const error = await failure(select(one, `i as a0, ${items.join(", ")} from [//t]`));
    expect(error.code).toBe(1711);
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
    const { statistics } = await runQuery(queue(1, 4), "value from [//q] where [$tablet_index] = 0 and [$row_index] >= 2");
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
