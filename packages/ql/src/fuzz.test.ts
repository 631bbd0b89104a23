import { YtError } from "@qyt/base";
import type { PhysicalType } from "@qyt/schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryTable, runQuery, toRowValue } from "./testing/memory-source.ts";
import { mixedSchema } from "./testing/tables.ts";

const table = new MemoryTable(mixedSchema, [
  [null, null, null, null, null, null, null],
  [
    0n,
    -(1n << 63n),
    0n,
    Number.NaN,
    false,
    Buffer.of(0xff, 0, 0x25),
    toRowValue({ any: "{a=1;b=[1;2.5;#]}" }),
  ],
  [1n, (1n << 63n) - 1n, (1n << 64n) - 1n, Infinity, true, Buffer.from("a%b_\\"), toRowValue({ any: "#" })],
  [2n, -7n, 5n, -0, true, Buffer.from(""), toRowValue({ any: "<a=1>[1;2u;x]" })],
]);

type Kind = Exclude<PhysicalType, "null">;
type Part = fc.Arbitrary<string>;

const literals: Record<Kind, string> = {
  int64: "0 1 -1 9223372036854775807 -9223372036854775808 null",
  uint64: "0u 7u 18446744073709551615u null",
  double: "0.0 -1.5 1e300 null",
  boolean: "true false null",
  string: "'' 'a' '/a' '%Y' 'a%' '\\xff' 'Europe/Moscow' null",
  any: "null",
};
const columns: Record<Kind, string> = {
  int64: "i",
  uint64: "u",
  double: "d",
  boolean: "f",
  string: "s",
  any: "x",
};

/** What makes a value of a type, with the types of its operands in braces. */
const forms: Record<Kind, string[]> = {
  int64: [
    ...["+", "-", "*", "/", "%", "<<", ">>", "|", "&"].map((operator) => `({int64} ${operator} {int64})`),
    ..."-({int64})|~({int64})|int64({uint64})|int64({double})|int64({any})|length({string})|parse_int64({string})".split(
      "|",
    ),
    ..."abs({int64})|greatest({int64}, {int64})|yson_length({any})|get_int64({any}, {string})".split("|"),
    ..."try_get_int64({any}, {string})|timestamp_floor_week({int64})|timestamp_floor_month_tz({int64}, {string})".split(
      "|",
    ),
    "transform({string}, ('a', ''), (1, -2), {int64})",
  ],
  uint64: [
    ...["+", "-", "*", "/", "%", ">>", "&"].map((operator) => `({uint64} ${operator} {uint64})`),
    ..."farm_hash({int64}, {string}, {boolean})|uint64({int64})|uint64({double})|parse_uint64({string})".split(
      "|",
    ),
  ],
  double: [
    ...["+", "-", "*", "/"].map((operator) => `({double} ${operator} {double})`),
    ..."double({int64})|double({any})|parse_double({string})|abs({double})|floor({double})|try_get_double({any}, {string})".split(
      "|",
    ),
  ],
  boolean: [
    ...(["int64", "uint64", "double", "boolean", "string", "any"] as const).flatMap((type) =>
      ["=", "!=", "<", ">="].map((operator) => `({${type}} ${operator} {${type}})`),
    ),
    ..."({boolean} and {boolean})|({boolean} or {boolean})|(not {boolean})|is_null({any})|({any} = {int64})|({string} < {any})".split(
      "|",
    ),
    ..."({int64} in (1, -7, null))|(({int64} + 0, {string} || '') in ((1, 'a'), (-7, null)))|({double} between -1 and 2.5)".split(
      "|",
    ),
    ..."({string} like {string})|({string} not ilike 'A%')|({string} like {string} escape {string})|({string} rlike {string})".split(
      "|",
    ),
    ..."is_prefix({string}, {string})|is_substr({string}, {string})|regex_full_match({string}, {string})".split(
      "|",
    ),
    ..."is_nan({double})|is_finite({double})|list_contains({any}, {string})|list_has_intersection({any}, {any})".split(
      "|",
    ),
  ],
  string: [
    ..."({string} || {string})|lower({string})|upper({string})|concat({string}, {string})|numeric_to_string({double})".split(
      "|",
    ),
    ..."regex_replace_all({string}, {string}, {string})|regex_extract({string}, {string}, {string})|regex_escape({string})".split(
      "|",
    ),
    ..."any_to_yson_string({any})|format_timestamp({int64}, {string})|format_guid({uint64}, {uint64})|string({any})".split(
      "|",
    ),
  ],
  any: [
    ..."to_any({int64})|make_list({string}, {any}, {double})|make_map({string}, {uint64})|get_any({any}, {string})".split(
      "|",
    ),
    ..."try_get_any({any}, '/b')|make_entity()|yson_string_to_any({string})".split("|"),
  ],
};
const kinds = Object.keys(forms) as Kind[];
const aggregates: Record<Kind, string[]> = {
  int64: ["sum({int64})", "min({int64})", "argmax({int64}, {string})", "first({int64})"],
  uint64: ["cardinality({string})", "cardinality({double})", "max({uint64})"],
  double: ["avg({int64})", "avg({double})", "max({double})"],
  boolean: ["max({boolean})"],
  string: ["argmin({string}, {double})", "min({string})"],
  any: ["array_agg({any}, true)", "array_agg({uint64}, false)", "first({any})"],
};

/** Fills the braces of a form. */
function fill(form: string, part: (kind: Kind) => Part): Part {
  const wanted = [...form.matchAll(/\{(\w+)\}/g)].map((match) =>
    part(kinds.find((kind) => kind === match[1]) ?? "any"),
  );
  return fc.tuple(...wanted).map((parts) => {
    let index = 0;
    return form.replace(/\{\w+\}/g, () => parts[index++] ?? "");
  });
}

const typed = fc.letrec<Record<Kind, string>>(
  (tie) =>
    Object.fromEntries(
      kinds.map((kind) => {
        const common = [
          `if({boolean}, {${kind}}, {${kind}})`,
          `if_null({${kind}}, {${kind}})`,
          `case when {boolean} then {${kind}} end`,
        ];
        const atom = fc.constantFrom(...literals[kind].split(" "), columns[kind], columns[kind]);
        const deeper = [...forms[kind], ...common].map((form) => fill(form, tie));
        return [
          kind,
          fc.oneof({ maxDepth: 4, depthIdentifier: "e" }, { arbitrary: atom, weight: 8 }, ...deeper),
        ];
      }),
    ) as never,
);
const part = (kind: Kind): Part => typed[kind];
const any = fc.oneof(...kinds.map(part));
const aggregate = fc.oneof(...kinds.flatMap((kind) => aggregates[kind].map((form) => fill(form, part))));
const where = fc.oneof(
  fc.constant(""),
  typed.boolean.map((text) => ` where ${text}`),
);
const plain = fc
  .tuple(any, any, where, fc.oneof(typed.int64, typed.string), fc.constantFrom("", " desc"))
  .map(
    ([first, second, filter, key, direction]) =>
      `${first} as p, ${second} from [//t]${filter} order by ${key}${direction} limit 3`,
  );
const grouped = fc
  .tuple(any, aggregate, aggregate, where)
  .map(
    ([key, first, second, filter]) =>
      `g, ${first} as p, ${second} from [//t]${filter} group by ${key} as g having is_null(p) or true`,
  );

test("a well-typed query of random parts gives an answer or a YtError", async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(plain, grouped), fc.boolean(), async (text, useCanonicalNullRelations) => {
      try {
        await runQuery(table, text, { useCanonicalNullRelations });
        answered += 1;
      } catch (error) {
        if (!(error instanceof YtError)) {
          throw error;
        }
      }
    }),
    { numRuns: 1000 },
  );
  expect(answered).toBeGreaterThan(100);
});
