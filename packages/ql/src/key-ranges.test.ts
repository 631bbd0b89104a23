import { column, type LogicalType, type RowValue, TableSchema } from "@qyt/schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isInRange, type KeyRange } from "./key-ranges.ts";
import type { QueryOptions } from "./options.ts";
import { parseQuery } from "./parser.ts";
import { prepareQuery } from "./plan.ts";
import { MemoryTable, runQuery } from "./testing/memory-source.ts";

const queue = new MemoryTable(new TableSchema([column("value", "int64")]), []);

function keyed(...types: readonly LogicalType[]): TableSchema {
  return new TableSchema([
    ...types.map((type, index) => column(`k${index}`, type, { sortOrder: "ascending" })),
    column("v", "int64"),
  ]);
}

function rangesOf(where: string, schema = queue.schema, options: QueryOptions = {}): readonly KeyRange[] {
  return prepareQuery(parseQuery(`* from [//t] where ${where}`), schema, options).ranges;
}

/** `[1, 2]..(3)` and the like. */
function describeRanges(where: string, schema = queue.schema, options: QueryOptions = {}): string[] {
  const values = (items: readonly RowValue[]): string =>
    items
      .map((item) => (item instanceof Uint8Array ? `"${Buffer.from(item).toString()}"` : String(item)))
      .join(" ");
  return rangesOf(where, schema, options).map(
    ({ lower, upper }) =>
      `${lower.inclusive ? "[" : "("}${values(lower.values)}..${values(upper.values)}${upper.inclusive ? "]" : ")"}`,
  );
}

const T = "[$tablet_index]";
const R = "[$row_index]";

describe("key ranges", () => {
  test.each([
    ["true", ["[..]"]],
    ["false", []],
    ["null", []],
    ["value = 1", ["[..]"]],
    [`${T} = 1 and ${R} between 10 and 19`, ["[1 10..1 19]"]],
    [`${T} = 1 and ${R} >= 10 and ${R} < 20 and value > 3`, ["[1 10..1 19]"]],
    [`(${T}, ${R}) >= (0, 5)`, ["[0 5..]"]],
    [`(${T}, ${R}) > (0, 5) and (${T}, ${R}) <= (2, 7)`, ["[0 6..2 7]"]],
    [`(${T}, ${R}) between (0, 5) and (2)`, ["[0 5..2]"]],
    [`${T} in (3, 1, 5)`, ["[1..1]", "[3..3]", "[5..5]"]],
    [`${T} in (1, 2, 3)`, ["[1..3]"]],
    [`${T} in (1, 3) and ${R} in (7, 8)`, ["[1 7..1 8]", "[3 7..3 8]"]],
    [`${T} in (1, 2) and ${R} = 7`, ["[1 7..1 7]", "[2 7..2 7]"]],
    [`(${T}, ${R}) in ((1, 5), (0, 3), (1, 6))`, ["[0 3..0 3]", "[1 5..1 6]"]],
    [`(${R}, ${T}) in ((5, 1), (3, 0))`, ["[0 3..0 3]", "[1 5..1 5]"]],
    [`(${T}, value) in ((1, 5), (1, 6))`, ["[1..1]"]],
    [`${T} in (-10, 20)`, ["[-10..-10]", "[20..20]"]],
    [`${T} >= null`, ["[..]"]],
    [`${T} > null`, ["[-9223372036854775808..]"]],
    [`${T} is null`, ["[..null]"]],
    [`${T} is not null`, ["[-9223372036854775808..]"]],
    [`${T} = 1 and ${T} = 2`, []],
    [`${T} > 1 and ${T} < 2`, []],
    [`${T} = 1 and ${R} > 5 and ${R} < 5`, []],
    [`${T} = 1 or ${T} = 2`, ["[1..2]"]],
    [`${T} = 1 or value = 5`, ["[..]"]],
    [`not (${T} < 1 or ${T} >= 3)`, ["[1..2]"]],
    [`not (${T} = 1 and value = 2)`, ["[..]"]],
    [`${T} != 1`, ["[..0]", "[2..]"]],
    [`${T} not in (1, 3)`, ["[..0]", "[2..2]", "[4..]"]],
    [`${T} = 1 and ${R} not between 3 and 5`, ["[1..1 2]", "[1 6..1]"]],
    [`${T} between 0 and 1 and ${R} < 2`, ["[0..0 1]", "[1..1 1]"]],
    [`${T} >= 1 and ${R} = 2`, ["[1..]"]],
    [`${R} = 2`, ["[..]"]],
    [`5 > ${T} and 3 <= ${T}`, ["[3..4]"]],
    [`${T} < 9223372036854775807 + 0`, ["[..9223372036854775806]"]],
    [`${T} <= 9223372036854775807`, ["[..]"]],
    [`${T} = 1 and (${R} < 3 or ${R} > 7)`, ["[1..1 2]", "[1 8..1]"]],
    [`(${T} = 1 and ${R} < 3) or (${T} = 2 and ${R} > 7)`, ["[1..1 2]", "[2 8..2]"]],
  ])("%s", (where, expected) => {
    expect(describeRanges(where)).toEqual(expected);
  });

  test("strings, doubles, unsigned integers and booleans", () => {
    const schema = keyed("string", "uint64");
    expect(describeRanges("k0 = 'ab' and k1 > 3", schema)).toEqual(['["ab" 4.."ab"]']);
    expect(describeRanges("is_prefix('ab', k0)", schema)).toEqual(['["ab".."ac")']);
    expect(describeRanges("k0 > 'a' and k0 <= 'b'", schema)).toEqual(['["a\0".."b"]']);
    expect(describeRanges("k0 = 'a' and k1 < 0", schema)).toEqual(['["a".."a" null]']);
    expect(describeRanges("k0 > 1.5 and k0 <= 2", keyed("double"))).toEqual(["(1.5..2]"]);
    expect(describeRanges("k0", keyed("boolean"))).toEqual(["[true..]"]);
    expect(describeRanges("not k0 and k1 = 1", keyed("boolean", "int64"))).toEqual(["[false 1..false 1]"]);
  });

  test("too many ranges get coarser, never fewer keys", () => {
    const where = `${T} in (1, 3, 5) and ${R} in (1, 3, 5)`;
    expect(rangesOf(where)).toHaveLength(9);
    expect(describeRanges(where, queue.schema, { rangeExpansionLimit: 8 })).toEqual([
      "[1..1]",
      "[3..3]",
      "[5..5]",
    ]);
    expect(describeRanges(where, queue.schema, { rangeExpansionLimit: 2 })).toEqual(["[..]"]);
  });

  test("a long OR of points is as good as IN", () => {
    const points = Array.from({ length: 20_000 }, (_, index) => `${T} = ${(index * 7919) % 20_000}`);
    expect(describeRanges(points.join(" or "))).toEqual(["[0..19999]"]);
    expect(rangesOf(points.slice(0, 500).join(" or "))).toHaveLength(500);
  });

  test("an entangled condition falls back to a scan in bounded time", () => {
    const schema = keyed("int64", "int64", "int64", "int64", "int64");
    const clauses = Array.from({ length: 60 }, (_, index) =>
      [0, 1, 2, 3, 4]
        .map((key) => `k${key} > ${(index * 7 + key * 3) % 50} and k${key} < ${60 + ((index * 11) % 50)}`)
        .join(" or "),
    );
    expect(rangesOf(clauses.map((clause) => `(${clause})`).join(" and "), schema).length).toBeGreaterThan(0);
  });

  test("a limit hint is given only when the ranges say everything", () => {
    const hint = (text: string): number | undefined => prepareQuery(parseQuery(text), queue.schema).limitHint;
    expect(hint(`* from [//t] where ${T} = 1 and ${R} >= 5 offset 2 limit 3`)).toBe(5);
    expect(hint(`* from [//t] where ${T} = 1 and value >= 5 limit 3`)).toBeUndefined();
    expect(hint(`* from [//t] where ${R} >= 5 limit 3`)).toBeUndefined();
    expect(hint("* from [//t] order by value limit 3")).toBeUndefined();
    expect(hint("* from [//t]")).toBeUndefined();
  });
});

describe("random conditions", () => {
  const schema = keyed("int64", "string", "uint64");
  const types = schema.columns.map((item) => item.physical);
  const values: readonly (readonly RowValue[])[] = [
    [null, -1n, 0n, 1n, 2n],
    [null, Buffer.from(""), Buffer.from("a"), Buffer.from("ab"), Buffer.from("b")],
    [null, 0n, 1n, 2n],
  ];
  const rows = (values[0] ?? []).flatMap((a) =>
    (values[1] ?? []).flatMap((b) => (values[2] ?? []).flatMap((c) => [1n, null].map((v) => [a, b, c, v]))),
  );

  const literals = [
    fc.constantFrom("null", "-1", "0", "1", "2", "-9223372036854775808"),
    fc.constantFrom("null", "''", "'a'", "'ab'", "'b'", "'a\\0'"),
    fc.constantFrom("null", "0", "1u", "2", "18446744073709551615u"),
  ] as const;
  const key = fc.nat({ max: 2 });
  const operator = fc.constantFrom("=", "!=", "<", "<=", ">", ">=");
  const comparison = key.chain((index) =>
    fc
      .tuple(operator, literals[index] ?? literals[0], fc.boolean())
      .map(([op, literal, swapped]) =>
        swapped ? `${literal} ${op} k${index}` : `k${index} ${op} ${literal}`,
      ),
  );
  const tuple = fc.shuffledSubarray([0, 1, 2], { minLength: 2 }).chain((indexes) =>
    fc
      .tuple(
        operator,
        fc.constantFrom("", "not "),
        fc.array(fc.tuple(...indexes.map((index) => literals[index] ?? literals[0])), {
          minLength: 1,
          maxLength: 4,
        }),
      )
      .map(([op, not, rowsOfLiterals]) => {
        const left = `(${indexes.map((index) => `k${index}`).join(", ")})`;
        const right = rowsOfLiterals.map((items) => `(${items.join(", ")})`);
        return not === "" && rowsOfLiterals.length === 1
          ? `${left} ${op} ${right[0]}`
          : `${left} ${not}in (${right.join(", ")})`;
      }),
  );
  const between = fc
    .tuple(fc.constantFrom("", "not "), fc.integer({ min: -2, max: 2 }), fc.nat({ max: 3 }))
    .map(([not, lower, size]) => `k0 ${not}between ${lower} and ${lower + size}`);
  const other = fc.constantFrom(
    "v = 1",
    "is_null(v)",
    "k0 is null",
    "is_prefix('a', k1)",
    "k0 + 1 = 2",
    "true",
    "null",
    "k1 like 'a%'",
  );
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      comparison,
      tuple,
      between,
      other,
      fc
        .tuple(fc.constantFrom("and", "or"), fc.array(tie("condition"), { minLength: 2, maxLength: 3 }))
        .map(([op, items]) => `(${items.join(` ${op} `)})`),
      tie("condition").map((item) => `not (${item})`),
    ),
  }));

  test("filtering through ranges equals filtering a full scan", async () => {
    const table = new MemoryTable(schema, rows, 50);
    await fc.assert(
      fc.asyncProperty(
        condition,
        fc.boolean(),
        fc.constantFrom(1, 3, 200_000),
        async (where, canonical, limit) => {
          const options = { useCanonicalNullRelations: canonical, rangeExpansionLimit: limit };
          const text = `* from [//t] where ${where}`;
          const narrowed = await runQuery(table, text, options);
          const { program } = narrowed.plan;
          const expected = table.rows.filter((row) => program.where?.(row) === true);
          expect(narrowed.rows).toHaveLength(expected.length);
          for (const [index, range] of narrowed.plan.ranges.entries()) {
            const previous = narrowed.plan.ranges[index - 1];
            const touched = table.rows.filter((row) => isInRange(row.slice(0, 3), range, types));
            const overlap =
              previous === undefined
                ? []
                : touched.filter((row) => isInRange(row.slice(0, 3), previous, types));
            expect(overlap).toEqual([]);
          }
          const limited = await runQuery(table, `${text} limit 1000`, options);
          if (limited.plan.limitHint !== undefined) {
            expect(limited.statistics.rowsRead).toBe(limited.rows.length);
          }
        },
      ),
      { numRuns: 600 },
    );
  });
});
