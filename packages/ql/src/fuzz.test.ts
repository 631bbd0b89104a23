import { YtError } from "@qyt/base";
import { column, TableSchema } from "@qyt/schema";
import fc from "fast-check";
import { expect, test } from "vitest";
import { MemoryTable, runQuery, toRowValue } from "./testing/memory-source.ts";

const schema = new TableSchema([
  column("k", "int64", { sortOrder: "ascending" }),
  column("i", "int64"),
  column("u", "uint64"),
  column("d", "double"),
  column("f", "boolean"),
  column("s", "string"),
  column("x", "any"),
]);

const table = new MemoryTable(schema, [
  [null, null, null, null, null, null, null],
  [0n, -(1n << 63n), 0n, Number.NaN, false, Buffer.of(0xff, 0, 0x25), toRowValue({ any: "{a=1;b=[1;2.5;#]}" })],
  [1n, (1n << 63n) - 1n, (1n << 64n) - 1n, Infinity, true, Buffer.from("a%b_\\"), toRowValue({ any: "#" })],
  [2n, -7n, 5n, -0, true, Buffer.from(""), toRowValue({ any: "<a=1>[1;2u;x]" })],
]);

const atom = fc.constantFrom(
  ..."k i u d f s x null true 0 1 -1 7u 1.5 'a' '' '/a' '%Y' 9223372036854775808 #".split(" "),
);
const names = fc.constantFrom(
  ...`is_null if if_null coalesce greatest farm_hash format_guid int64 uint64 double boolean string is_finite is_nan abs
  ceil floor round sqrt length lower upper concat is_prefix is_substr numeric_to_string parse_int64 parse_uint64
  parse_double regex_full_match regex_partial_match regex_replace_first regex_replace_all regex_extract regex_escape
  to_any yson_string_to_any any_to_yson_string yson_length list_contains list_has_intersection make_map make_list
  make_entity get_int64 try_get_int64 get_any try_get_string format_timestamp timestamp_floor_week
  timestamp_floor_month_tz sum min max avg first argmin argmax cardinality array_agg nonsense`.split(/\s+/),
);
const operators = fc.constantFrom(
  ..."+ - * / % << >> | & || = != < <= > >= and or like ilike rlike".split(" "),
);
const { expression } = fc.letrec<{ expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, depthIdentifier: "e" },
    atom,
    fc.tuple(tie("expression"), operators, tie("expression")).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(names, fc.array(tie("expression"), { maxLength: 3 })).map(([name, items]) => `${name}(${items.join(", ")})`),
    fc.tuple(fc.constantFrom("-", "~", "not "), tie("expression")).map(([op, a]) => `(${op}${a})`),
    fc.tuple(tie("expression"), fc.array(atom, { minLength: 1, maxLength: 3 })).map(([a, items]) => `(${a} in (${items.join(", ")}))`),
    fc.tuple(tie("expression"), atom, atom).map(([a, b, c]) => `(${a} between ${b} and ${c})`),
    fc.tuple(tie("expression"), tie("expression"), tie("expression")).map(([a, b, c]) => `case when ${a} then ${b} else ${c} end`),
    fc.tuple(tie("expression"), atom, atom).map(([a, b, c]) => `transform(${a}, (${b}), (${c}))`),
    fc.tuple(tie("expression"), fc.constantFrom("p", "q", "i")).map(([a, name]) => `(${a} as ${name})`),
  ),
}));
const optional = (keyword: string) => fc.option(expression, { nil: undefined }).map((text) => (text === undefined ? "" : ` ${keyword} ${text}`));
const query = fc
  .tuple(
    fc.oneof(fc.constant("*"), fc.array(expression, { minLength: 1, maxLength: 3 }).map((items) => items.join(", "))),
    optional("where"),
    fc.option(fc.tuple(expression, optional("having")), { nil: undefined }),
    optional("order by"),
    fc.constantFrom("", " limit 2", " offset 1 limit 2"),
  )
  .map(
    ([items, where, group, order, limit]) =>
      `${items} from [//t]${where}${group === undefined ? "" : ` group by ${group[0]}${group[1]}`}${order}${limit}`,
  );

test("a well-formed query of random parts gives an answer or a YtError", async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(query, fc.boolean(), async (text, useCanonicalNullRelations) => {
      try {
        await runQuery(table, text, { useCanonicalNullRelations });
        answered += 1;
      } catch (error) {
        if (!(error instanceof YtError)) {
          throw error;
        }
      }
    }),
    { numRuns: 4000 },
  );
  expect(answered).toBeGreaterThan(50);
});
