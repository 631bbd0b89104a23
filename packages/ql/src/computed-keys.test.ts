import { column, type LogicalType, type RowValue, TableSchema } from "@qyt/schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prepareExpression } from "./expression.ts";
import type { QueryOptions } from "./options.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery } from "./plan.ts";
import { MemoryTable, runQuery } from "./testing/memory-source.ts";

/** A key column: its type, or what it is computed by with it. */
type Key = Readonly<Record<string, LogicalType | readonly [LogicalType, string]>>;

/** A table over every combination of the values given for its plain key columns. */
class ComputedTable {
  readonly table: MemoryTable;
  /** The same rows in a table whose schema does not say that columns are computed. */
  readonly plain: MemoryTable;

  constructor(key: Key, values: Readonly<Record<string, readonly RowValue[]>>) {
    const schemaOf = (isComputed: boolean): TableSchema =>
      new TableSchema([
        ...Object.entries(key).map(([name, type]) =>
          typeof type === "string"
            ? column(name, type, { sortOrder: "ascending" })
            : column(name, type[0], {
                sortOrder: "ascending",
                ...(isComputed ? { expression: type[1] } : {}),
              }),
        ),
        column("v", "int64"),
      ]);
    const schema = schemaOf(true);
    let rows: RowValue[][] = [[]];
    for (const name of Object.keys(key)) {
      rows = rows.flatMap((row) => (values[name] ?? [null]).map((value) => [...row, value]));
    }
    for (const [index, item] of schema.columns.entries()) {
      if (item.expression !== undefined) {
        const { evaluate } = prepareExpression(item.expression, schema, item.physical);
        for (const row of rows) {
          row[index] = evaluate(row);
        }
      }
    }
    this.table = new MemoryTable(
      schema,
      rows.map((row, index) => [...row, BigInt(index % 3)]),
      50,
    );
    this.plain = new MemoryTable(schemaOf(false), this.table.rows, 50);
  }

  rangeCount(where: string, options: QueryOptions = {}): number {
    return prepareQuery(parseQuery(`* from [//t] where ${where}`), this.table.schema, options).ranges.length;
  }

  async rowsRead(where: string): Promise<number> {
    return (await runQuery(this.table, `* from [//t] where ${where}`)).statistics.rowsRead;
  }
}

function numbers(from: number, to: number): bigint[] {
  return Array.from({ length: to - from + 1 }, (_, index) => BigInt(from + index));
}

const hashed = new ComputedTable(
  { h: ["uint64", "farm_hash(k)"], k: "int64" },
  { k: [null, ...numbers(1, 999)] },
);
const shards = new ComputedTable(
  { h: ["uint64", "farm_hash(k) % 16"], k: "int64" },
  { k: numbers(-500, 499) },
);
const tens = new ComputedTable({ d: ["int64", "k / 10"], k: "int64" }, { k: [null, ...numbers(-500, 498)] });
const pairs = new ComputedTable(
  { h: ["uint64", "farm_hash(a, b)"], a: "int64", b: "string" },
  { a: numbers(0, 99), b: ["x", "y", "z"].map((text) => Buffer.from(text)) },
);

const tables = { hashed, shards, tens, pairs } as const;

describe("key columns that are computed from what a condition says", () => {
  test.each([
    ["hashed", "k = 5", 1, 1],
    ["hashed", "k = 5 and v >= 0", 1, 1],
    ["hashed", "k is null", 1, 1],
    ["hashed", "k in (5, 700, 12)", 3, 3],
    ["hashed", "k in (1, 2, 3, 4)", 4, 4],
    ["hashed", "k = 5 or k = 700", 2, 2],
    ["hashed", "k between 10 and 19", 10, 10],
    ["hashed", "k = 5 and h = 1", 0, 0],
    ["hashed", "k = 5 or v = 1", 1, 1000],
    ["hashed", "k > 5", 1, 1000],
    ["tens", "k = 57", 1, 1],
    ["tens", "k in (57, -57, 571)", 3, 2],
    ["tens", "(k, v) in ((57, 1), (58, 1))", 1, 2],
    ["pairs", "a = 7", 1, 300],
    ["pairs", "a = 7 and b = 'y'", 1, 1],
    ["pairs", "(a, b) in ((7, 'y'), (8, 'x'), (500, 'x'))", 3, 2],
    ["pairs", "a in (7, 8) and b in ('x', 'z')", 4, 4],
    ["pairs", "(b, a) = ('x', 3)", 1, 1],
  ] as const)("%s: %s", async (name, where, ranges, rows) => {
    const table = tables[name];
    expect(table.rangeCount(where)).toBe(ranges);
    expect(await table.rowsRead(where)).toBe(rows);
  });

  test("a quotient is bounded by the bounds of what is divided", async () => {
    expect(await tens.rowsRead("k >= 100 and k < 300")).toBeLessThanOrEqual(200);
    expect(await tens.rowsRead("k > -30")).toBeLessThanOrEqual(539);
    expect(await tens.rowsRead("k < -480")).toBeLessThanOrEqual(31);
  });

  test("a remainder has few values: one range for each of them and for null", async () => {
    expect(shards.rangeCount("k >= 490")).toBe(17);
    expect(await shards.rowsRead("k >= 490")).toBe(10);
    expect(shards.rangeCount("v = 1")).toBe(1);
  });

  test("a limit hint is given, as the ranges say everything", () => {
    const hint = (text: string): number | undefined =>
      prepareQuery(parseQuery(text), hashed.table.schema).limitHint;
    expect(hint("* from [//t] where k = 5 limit 1")).toBe(1);
    expect(hint("* from [//t] where k = 5 and v = 1 limit 1")).toBeUndefined();
  });

  test("without a full scan a condition on the sources is enough", () => {
    expect(hashed.rangeCount("k = 5", { allowFullScan: false })).toBe(1);
    expect(() => hashed.rangeCount("k > 5", { allowFullScan: false })).toThrow("full scan");
  });

  test("a long list is inferred, and an interval of very many values is scanned", () => {
    const list = (count: number, step: number): string =>
      Array.from({ length: count }, (_, index) => index * step).join(", ");
    expect(tens.rangeCount(`k in (${list(5_000, 2)})`)).toBe(5_000);
    expect(hashed.rangeCount(`k in (${list(5_000, 1)})`)).toBe(5_000);
    expect(hashed.rangeCount("k between 1 and 900")).toBe(900);
    expect(hashed.rangeCount("k between 1 and 1000000")).toBe(1);
    expect(pairs.rangeCount("a between 1 and 900 and b in ('x', 'y', 'z')")).toBe(2_700);
  });

  test("what cannot be computed is no condition, and numbers that are equal but differ are no value", () => {
    const divided = new ComputedTable({ h: ["int64", "100 / k"], k: "int64" }, { k: numbers(1, 5) });
    expect(divided.rangeCount("k = 0")).toBe(1);
    const doubles = new ComputedTable({ h: ["double", "1.0 / k"], k: "double" }, { k: [-0, 0.5, 2] });
    expect(doubles.rangeCount("k = 0.0")).toBe(1);
    expect(doubles.rangeCount("k = 0.5", { allowFullScan: false })).toBe(1);
  });

  test("the condition of a joined table as well", async () => {
    const values = new TableSchema([column("q", "int64")]);
    const { rows, statistics } = await runQuery(
      { "//a": new MemoryTable(values, [[0n, 0n, 1n]]), "//t": hashed.table },
      "q, t.k from [//a] left join [//t] as t on q = t.v and t.k = 4",
      { allowJoinWithoutIndex: true },
    );
    expect(rows).toHaveLength(1);
    expect(statistics.rowsRead).toBe(2);
  });
});

describe("random conditions", () => {
  const literal = fc.oneof(
    fc.integer({ min: -12, max: 30 }).map(String),
    fc.constantFrom("null", "497", "-500"),
  );
  const operator = fc.constantFrom("=", "=", "=", "!=", "<", "<=", ">", ">=");
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.tuple(operator, literal).map(([op, value]) => `k ${op} ${value}`),
      fc.array(literal, { minLength: 1, maxLength: 5 }).map((values) => `k in (${values.join(", ")})`),
      fc
        .tuple(fc.integer({ min: -500, max: 499 }), fc.nat({ max: 20 }))
        .map(([lower, size]) => `k between ${lower} and ${lower + size}`),
      fc
        .array(fc.tuple(literal, fc.nat({ max: 2 })), { minLength: 1, maxLength: 3 })
        .map((rows) => `(k, v) in (${rows.map(([k, v]) => `(${k}, ${v})`).join(", ")})`),
      fc.tuple(operator, fc.nat({ max: 12 })).map(([op, value]) => `FIRST ${op} ${value}`),
      fc.constantFrom("v = 1", "is_null(k)"),
      fc
        .tuple(fc.constantFrom("and", "or"), fc.array(tie("condition"), { minLength: 2, maxLength: 3 }))
        .map(([op, items]) => `(${items.join(` ${op} `)})`),
      tie("condition").map((item) => `not (${item})`),
    ),
  }));

  test("a query answers the same whether the schema tells what is computed or not, and reads no more", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("hashed", "shards", "tens"),
        condition,
        fc.boolean(),
        fc.constantFrom(1, 5, 200_000),
        async (name, template, useCanonicalNullRelations, rangeExpansionLimit) => {
          const { table, plain } = tables[name];
          const first = table.schema.columns[0]?.name ?? "";
          const text = `* from [//t] where ${template.replaceAll("FIRST", first)}`;
          const options = { useCanonicalNullRelations, rangeExpansionLimit };
          const inferred = await runQuery(table, text, options);
          const scanned = await runQuery(plain, text, options);
          expect(inferred.rows).toEqual(scanned.rows);
          if (rangeExpansionLimit > 5) {
            expect(inferred.statistics.rowsRead).toBeLessThanOrEqual(scanned.statistics.rowsRead);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});
