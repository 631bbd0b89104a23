/** Queries over several tables: which rows they give, what they read, what they refuse. */
import { column, type RowValue, TableSchema } from "@qyt/schema";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { joinRows } from "./join-rows.ts";
import type { KeyRange } from "./key-ranges.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery, tablesOf } from "./plan.ts";
import { MemoryTable, type PlainValue, runQuery, select, toRowValue } from "./testing/memory-source.ts";
import { failure } from "./testing/tables.ts";

const key = { sortOrder: "ascending" } as const;

function table(columns: readonly ReturnType<typeof column>[], rows: readonly PlainValue[][]): MemoryTable {
  return new MemoryTable(
    new TableSchema(columns),
    rows.map((row) => row.map(toRowValue)),
  );
}

const orders = table(
  [column("id", "int64", key), column("who", "int64"), column("sum", "int64")],
  [
    [1n, 10n, 100n],
    [2n, 20n, 200n],
    [3n, 10n, 300n],
    [4n, null, 400n],
    [5n, 99n, 500n],
  ],
);
const people = table(
  [column("who", "int64", key), column("name", "string")],
  [
    [null, "nobody"],
    [10n, "ann"],
    [20n, "bob"],
    [30n, "cay"],
  ],
);
const visits = table(
  [column("who", "int64", key), column("day", "int64", key), column("place", "string")],
  [
    [10n, 1n, "a"],
    [10n, 2n, "b"],
    [20n, 1n, "c"],
  ],
);
const tables = { "//o": orders, "//p": people, "//v": visits };

/** Remembers what was asked for. */
function watched(source: MemoryTable): { scanned: (readonly KeyRange[])[]; table: MemoryTable } {
  const scanned: (readonly KeyRange[])[] = [];
  const copy = new MemoryTable(source.schema, source.rows);
  const scan = copy.scan.bind(copy);
  copy.scan = (ranges, columns) => {
    scanned.push(ranges);
    return scan(ranges, columns);
  };
  return { scanned, table: copy };
}

describe("JOIN", () => {
  test("using a column that both tables have, which shows once in *", async () => {
    expect(await select(tables, "* from [//o] join [//p] using who where id < 4")).toEqual([
      { id: 1n, who: 10n, sum: 100n, name: "ann" },
      { id: 2n, who: 20n, sum: 200n, name: "bob" },
      { id: 3n, who: 10n, sum: 300n, name: "ann" },
    ]);
  });

  test("on an equation, with aliases: columns are named by them", async () => {
    const text = "o.id, p.name as name from [//o] as o join [//p] as p on o.who = p.who where p.name = 'ann'";
    expect(await select(tables, text)).toEqual([
      { "o.id": 1n, name: "ann" },
      { "o.id": 3n, name: "ann" },
    ]);
    const all = await select(tables, "* from [//o] o join [//p] p on o.who = p.who where o.id = 2");
    expect(all).toEqual([{ "o.id": 2n, "o.who": 20n, "o.sum": 200n, "p.who": 20n, "p.name": "bob" }]);
  });

  test("LEFT JOIN keeps rows that have no partner, with nulls; AND narrows the other table", async () => {
    const text = "o.id as id, p.name as name from [//o] as o left join [//p] as p on o.who = p.who";
    expect(await select(tables, text)).toEqual([
      { id: 1n, name: "ann" },
      { id: 2n, name: "bob" },
      { id: 3n, name: "ann" },
      { id: 4n, name: "nobody" },
      { id: 5n, name: null },
    ]);
    expect(await select(tables, `${text} and p.name != 'ann' where o.id <= 2`)).toEqual([
      { id: 1n, name: null },
      { id: 2n, name: "bob" },
    ]);
    expect(await select(tables, `${text} where is_null(p.name)`)).toEqual([{ id: 5n, name: null }]);
  });

  test("null is equal to null, unless null relations are canonical", async () => {
    const text = "id, name from [//o] join [//p] using who where id = 4";
    expect(await select(tables, text)).toEqual([{ id: 4n, name: "nobody" }]);
    expect(await select(tables, text, { useCanonicalNullRelations: true })).toEqual([]);
  });

  test("several rows for one, several tables, tuples and expressions", async () => {
    const text =
      "o.id as id, v.place as place, p.name as name from [//o] as o " +
      "join [//v] as v on o.who = v.who left join [//p] as p on v.day * 10 = p.who";
    expect(await select(tables, text)).toEqual([
      { id: 1n, place: "a", name: "ann" },
      { id: 1n, place: "b", name: "bob" },
      { id: 2n, place: "c", name: "ann" },
      { id: 3n, place: "a", name: "ann" },
      { id: 3n, place: "b", name: "bob" },
    ]);
    const tuple = "o.id as id from [//o] as o join [//v] as v on (o.who, o.id) = (v.who, v.day)";
    expect(await select(tables, tuple)).toEqual([{ id: 1n }]);
  });

  test("grouping and order over joined rows", async () => {
    const text =
      "p.name as name, sum(o.sum) as total from [//o] as o join [//p] as p on o.who = p.who " +
      "group by p.name order by total desc limit 2";
    expect(await select(tables, text)).toEqual([
      { name: "ann", total: 400n },
      { name: "nobody", total: 400n },
    ]);
  });

  test("reads of the other table the wanted keys only, each once, and of each the columns it needs", async () => {
    const other = watched(people);
    const { plan, statistics } = await runQuery(
      { "//o": orders, "//p": other.table },
      "id, name from [//o] join [//p] using who where id in (1, 3)",
    );
    expect(other.scanned).toEqual([
      [{ lower: { values: [10n], inclusive: true }, upper: { values: [10n], inclusive: true } }],
    ]);
    expect(statistics.rowsRead).toBe(3);
    expect(tablesOf(plan).map(({ tablePath, readColumns }) => [tablePath, readColumns])).toEqual([
      ["//o", [0, 1]],
      ["//p", [0, 1]],
    ]);
    const narrow = prepareQuery(
      parseQuery("o.id from [//o] as o join [//p] as p on o.who = p.who"),
      (path) => (path === "//o" ? orders : people).schema,
    );
    expect(tablesOf(narrow).map(({ readColumns }) => readColumns)).toEqual([[0, 1], [0]]);
  });

  test("a computed key column is reckoned from the others", async () => {
    const hashed = table(
      [
        column("hash", "int64", { ...key, expression: "who % 7" }),
        column("who", "int64", key),
        column("name", "string"),
      ],
      [
        [3n, 10n, "ann"],
        [6n, 20n, "bob"],
      ],
    );
    const other = watched(hashed);
    const rows = await select(
      { "//o": orders, "//h": other.table },
      "o.id as id, h.name as name from [//o] as o join [//h] as h on o.who = h.who where o.id <= 2",
    );
    expect(rows).toEqual([
      { id: 1n, name: "ann" },
      { id: 2n, name: "bob" },
    ]);
    expect(other.scanned.flat().map(({ lower }) => lower.values)).toEqual([
      [3n, 10n],
      [6n, 20n],
    ]);
  });

  test("without a key of the other table only where that is allowed", async () => {
    const text = "o.id as id, v.place as place from [//o] as o join [//v] as v on o.id = v.day";
    const error = await failure(select(tables, text));
    expect(error.message).toBe("Foreign table key is not used in the join clause");
    expect(error.attributes.get("table")).toBe("//v");
    expect(await select(tables, text, { allowJoinWithoutIndex: true })).toEqual([
      { id: 1n, place: "a" },
      { id: 1n, place: "c" },
      { id: 2n, place: "b" },
    ]);
  });

  test.each([
    ["* from [//o] as o join [//p] as o on o.who = o.who", 'Alias "o" has been already used'],
    ["* from [//o] join [//p] on who = name", 'Types mismatch in join equation "who = name"'],
    ["* from [//o] join [//p] on who = sum", 'Undefined reference "sum"'],
    ["* from [//o] join [//p] using name", 'Undefined reference "name"'],
    ["* from [//o] join [//p] on (id, who) = who", "Tuples of same size are expected"],
    ["* from [//o] as o join [//p] as p on o.who = p.who where q.id = 1", 'Undefined reference "q.id"'],
    ["who from [//o] as o join [//p] as p on o.who = p.who", 'Column "who" is in more than one table'],
    ["* from [//o] join [//p]", "Error while parsing query"],
    [`* from [//o] as o ${"join [//p] using who ".repeat(17)}`, "A query can join at most 16 tables"],
  ])("%s is refused", async (text, message) => {
    expect((await failure(select(tables, text))).message).toContain(message);
  });

  test("both tables count towards the input limit", async () => {
    const text = "id, name from [//o] join [//p] using who";
    expect((await failure(select(tables, text, { inputRowLimit: 7 }))).code).toBe(1709);
    const cut = await runQuery(tables, text, { inputRowLimit: 7, failOnIncompleteResult: false });
    expect(cut.statistics.incompleteInput).toBe(true);
    expect(cut.statistics.rowsRead).toBe(7);
    expect(await select(tables, text, { inputRowLimit: 8 })).toHaveLength(4);
  });

  test("LIMIT ends the reading", async () => {
    const many = new MemoryTable(
      orders.schema,
      Array.from({ length: 5_000 }, (_, index) => [BigInt(index), 10n, 1n]),
    );
    const { rows, statistics } = await runQuery(
      { ...tables, "//o": many },
      "id, name from [//o] join [//p] using who limit 3",
    );
    expect(rows).toHaveLength(3);
    expect(statistics.rowsRead).toBeLessThan(300);
  });
});

test("however few rows of the other table may be kept, the joined rows are the same, in order", async () => {
  const plan = prepareQuery(
    parseQuery("o.id, v.day from [//o] as o left join [//v] as v on o.who = v.who"),
    (path) => (path === "//o" ? orders : visits).schema,
  );
  const [join] = plan.joins;
  const rows = orders.rows.map((row) => plan.readColumns.map((index) => row[index] ?? null));
  for (const bound of [1, 2, 3, 1_000]) {
    const found: RowValue[][] = [];
    let kept = 0;
    const run = {
      source: visits,
      count: () => {
        kept += 1;
        return true;
      },
      checkAborted: () => undefined,
      nullsMatch: true,
      bounds: { rows: bound, bytes: 1_000_000 },
    };
    for await (const chunk of joinRows(join ?? expect.fail("one join"), rows, run)) {
      found.push(...chunk.map((row) => [...row]));
    }
    expect(found.map((row) => [row[0], row[row.length - 1]])).toEqual([
      [1n, 1n],
      [1n, 2n],
      [2n, 1n],
      [3n, 1n],
      [3n, 2n],
      [4n, null],
      [5n, null],
    ]);
    expect(kept).toBeGreaterThanOrEqual(3);
  }
});

test("random joins give what two nested loops give", async () => {
  const small = fc.option(fc.bigInt({ min: 0n, max: 4n }), { freq: 5 });
  const left = fc.uniqueArray(fc.tuple(fc.bigInt({ min: 0n, max: 30n }), small), { selector: ([k]) => k });
  const right = fc.uniqueArray(fc.tuple(small, fc.bigInt({ min: 0n, max: 3n }), small), {
    selector: ([k, n]) => `${k} ${n}`,
  });
  await fc.assert(
    fc.asyncProperty(
      left,
      right,
      fc.boolean(),
      fc.constantFrom("a", "b", "n"),
      async (ls, rs, isLeft, by) => {
        const l = new MemoryTable(new TableSchema([column("k", "int64", key), column("x", "int64")]), ls);
        const r = new MemoryTable(
          new TableSchema([column("a", "int64", key), column("n", "int64", key), column("b", "int64")]),
          rs,
        );
        const at = { a: 0, n: 1, b: 2 }[by] ?? 0;
        const text = `l.k as k, r.a as a, r.n as n from [//l] as l ${isLeft ? "left " : ""}join [//r] as r on l.x = r.${by}`;
        const expected = l.rows.flatMap(([k = null, x = null]) => {
          const partners = r.rows.filter((row) => row[at] === x);
          const none = isLeft && partners.length === 0;
          return (none ? [[null, null]] : partners).map(([a = null, n = null]) => ({ k, a, n }));
        });
        const options = { allowJoinWithoutIndex: true };
        expect(await select({ "//l": l, "//r": r }, text, options)).toEqual(expected);
      },
    ),
    { numRuns: 300 },
  );
});
