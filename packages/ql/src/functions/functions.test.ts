import { YtError } from "@qyt/base";
import { column, TableSchema } from "@qyt/schema";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { prepareExpression } from "../expression.ts";
import { compileLike } from "../like.ts";
import { type PlainValue, toPlain, toRowValue } from "../testing/memory-source.ts";

const schema = new TableSchema([
  column("i", "int64"),
  column("u", "uint64"),
  column("d", "double"),
  column("f", "boolean"),
  column("s", "string"),
  column("x", "any"),
  column("n", "string"),
]);
const row = [
  toRowValue(-7n),
  toRowValue(11n),
  toRowValue(2.5),
  toRowValue(true),
  toRowValue("xy"),
  toRowValue({ any: '<q=1>{a={b=3;c="t";l=[1;2u;"z";#]};u=5u;d=1.5;t=%true;e=#}' }),
  null,
];

function value(text: string): PlainValue {
  return toPlain(prepareExpression(text, schema).evaluate(row));
}

function check(cases: readonly (readonly [string, PlainValue])[]): void {
  for (const [text, expected] of cases) {
    expect([text, value(text)]).toEqual([text, expected]);
  }
}

function message(text: string): string {
  try {
    value(text);
  } catch (error) {
    expect(error).toBeInstanceOf(YtError);
    return error instanceof YtError ? error.message : "";
  }
  throw new Error(`Nothing was thrown by ${text}`);
}

describe("functions", () => {
  test("[tables 6] farm_hash in a query", () => {
    check([
      ['farm_hash("foo")', 7945198393224481366n],
      ["farm_hash(i, u, f, s)", 0x5f90424776524127n],
      ["farm_hash(null)", 3315701238936582721n],
      ["farm_hash()", 0xdeadc0den],
      ["farm_hash(n, 7u)", 0xf03df45b1975b535n],
    ]);
    expect(prepareExpression("farm_hash(s)", schema).type).toBe("uint64");
  });

  test("[tables 7] farm_hash of a double is a type error that names the argument", () => {
    expect(message("farm_hash(s, d)")).toBe(
      'Wrong type for argument 2 to function "farm_hash": expected "int64, uint64, boolean, string", got "double"',
    );
    expect(message("farm_hash(x)")).toMatch(/^Wrong type for argument 1/);
  });

  test("[tables 170] nulls, choice, strings, casts and parsing", () => {
    check([
      ["is_null(n)", true],
      ["is_null(s)", false],
      ["n is null", true],
      ["s is not null", true],
      ["if(f, 1, 2)", 1n],
      ["if(not f, 1, 2)", 2n],
      ["if(i > 0, s, n)", null],
      ["if_null(n, s)", "xy"],
      ["if_null(s, 'z')", "xy"],
      ["coalesce(n, n, 'q')", "q"],
      ["length(s)", 2n],
      ["length('é')", 2n],
      ["length(n)", null],
      ["lower('AbÉ')", "abÉ"],
      ["upper(s)", "XY"],
      ["concat(s, '!')", "xy!"],
      ["concat(n, '!')", null],
      ["is_prefix('x', s)", true],
      ["is_prefix('xyz', s)", false],
      ["is_prefix(n, s)", null],
      ["is_substr('y', s)", true],
      ["is_substr('z', s)", false],
      ["int64(u)", 11n],
      ["int64(18446744073709551615u)", -1n],
      ["uint64(i)", 18446744073709551609n],
      ["int64(-2.9)", -2n],
      ["uint64(2.9)", 2n],
      ["double(i)", -7],
      ["int64(try_get_any(x, '/a/b'))", 3n],
      ["boolean(try_get_any(x, '/t'))", true],
      ["string(try_get_any(x, '/a/c'))", "t"],
      ["parse_int64('-12')", -12n],
      ["parse_uint64('12')", 12n],
      ["parse_double('1.5e2')", 150],
      ["parse_int64(n)", null],
      ["numeric_to_string(i)", "-7"],
      ["numeric_to_string(d)", "2.5"],
      ["greatest(1, i, 3)", 3n],
      ["abs(i)", 7n],
      ["abs(-2.5)", 2.5],
      ["is_nan(d)", false],
      ["is_finite(d / 0)", false],
      ["floor(d) + ceil(d) + round(d) + sqrt(4.0)", 10],
    ]);
    for (const text of [
      "parse_int64('x')",
      "parse_int64('9223372036854775808')",
      "parse_uint64('-1')",
      "parse_double('')",
      "int64(x)",
    ]) {
      message(text);
    }
    expect(message("length(s, s)")).toBe('Wrong number of arguments to function "length": expected 1, got 2');
    expect(message("length(i)")).toBe(
      'Wrong type for argument 1 to function "length": expected "string", got "int64"',
    );
    expect(message("if(f, 1, 's')")).toMatch(/^Wrong type for argument 3 to function "if"/);
  });

  test("[tables 172] getters by path", () => {
    check([
      ["try_get_int64(x, '/a/b')", 3n],
      ["try_get_int64(x, '/a/none')", null],
      ["try_get_int64(x, '/a/c')", null],
      ["try_get_int64(x, '/a/b/c')", null],
      ["get_int64(x, '/a/b')", 3n],
      ["get_uint64(x, '/u')", 5n],
      ["get_double(x, '/d')", 1.5],
      ["get_boolean(x, '/t')", true],
      ["get_string(x, '/a/c')", "t"],
      ["get_any(x, '/a/l')", { any: '[1;2u;"z";#;]' }],
      ["get_int64(x, '/a/l/0')", 1n],
      ["get_string(x, '/a/l/-2')", "z"],
      ["get_int64(x, '/@q')", 1n],
      ["try_get_any(x, '/a/l/9')", null],
      ["try_get_string(x, n)", null],
    ]);
    expect(message("get_int64(x, '/a/c')")).toMatch(/another type/);
    expect(message("get_int64(x, '/a/none')")).toMatch(/no value/);
    expect(message("get_int64(x, 'a')")).toMatch(/Invalid YPath/);
  });

  test("making and looking into any", () => {
    check([
      ["to_any(u)", { any: "11u" }],
      [
        "make_list(i, u, s, n, x)",
        {
          any: '[-7;11u;"xy";#;<"q"=1;>{"a"={"b"=3;"c"="t";"l"=[1;2u;"z";#;];};"u"=5u;"d"=1.5;"t"=%true;"e"=#;};]',
        },
      ],
      ["make_map('a', 1, 'b', make_list())", { any: '{"a"=1;"b"=[];}' }],
      ["make_entity()", { any: "#" }],
      ["yson_string_to_any('{a=1}')", { any: '{"a"=1;}' }],
      ["any_to_yson_string(make_list(1, 2u))", "[1;2u;]"],
      ["yson_length(make_list(1, 2))", 2n],
      ["list_contains(get_any(x, '/a/l'), 2)", true],
      ["list_contains(get_any(x, '/a/l'), 'z')", true],
      ["list_contains(get_any(x, '/a/l'), 7)", false],
      ["list_has_intersection(make_list(1, 'a'), make_list('a'))", true],
      ["list_has_intersection(make_list(1), make_list('1'))", false],
      ["get_any(x, '/u') = 5", true],
      ["get_any(x, '/a/c') < 'u'", true],
    ]);
    expect(message("make_map('a')")).toMatch(/even number/);
    expect(message("make_map(1, 2)")).toMatch(/Invalid type of key/);
  });

  test("regular expressions in linear time", () => {
    check([
      ["regex_full_match('x.', s)", true],
      ["regex_full_match('x', s)", false],
      ["regex_partial_match('y', s)", true],
      ["regex_replace_first('[a-z]', s, '<\\\\0>')", "<x>y"],
      ["regex_replace_all('([a-z])', s, '\\\\1-')", "x-y-"],
      ["regex_replace_all('b*', 'abbc', '.')", ".a.c."],
      ["regex_extract('(.)y', s, 'got \\\\1')", "got x"],
      ["regex_extract('(q)', s, '\\\\1')", ""],
      ["regex_escape('a.b')", "a\\.b"],
      ["regex_full_match(n, s)", null],
      [`regex_full_match('(a*)*b', '${"a".repeat(2000)}')`, false],
    ]);
    expect(message("regex_full_match('(', s)")).toMatch(/^Error parsing regular expression/);
    expect(message("regex_replace_all('a', s, '\\\\7')")).toMatch(/^Invalid rewrite/);
  });

  test("calendar", () => {
    const moment = "1700000000"; // Tuesday 2023-11-14 22:13:20 UTC
    check([
      [`timestamp_floor_hour(${moment})`, 1699999200n],
      [`timestamp_floor_day(${moment})`, 1699920000n],
      [`timestamp_floor_week(${moment})`, 1699833600n],
      [`timestamp_floor_month(${moment})`, 1698796800n],
      [`timestamp_floor_quarter(${moment})`, 1696118400n],
      [`timestamp_floor_year(${moment})`, 1672531200n],
      [`timestamp_floor_day_tz(${moment}, 'Europe/Moscow')`, 1699995600n],
      ["timestamp_floor_day(-1)", -86400n],
      [
        `format_timestamp(${moment}, '%Y-%m-%dT%H:%M:%S %a %j %s %%')`,
        "2023-11-14T22:13:20 Tue 318 1700000000 %",
      ],
      [`format_timestamp(${moment}, '%F %T %V %G')`, "2023-11-14 22:13:20 46 2023"],
      [`format_timestamp_tz(${moment}, '%H %z', 'Asia/Kolkata')`, "03 +0530"],
      ["format_timestamp(try_get_int64(x, '/none'), '%Y')", null],
    ]);
    expect(message(`timestamp_floor_day_tz(${moment}, 'Mars/Base')`)).toMatch(/Unknown time zone/);
    expect(message("timestamp_floor_day(9223372036854775807)")).toMatch(/out of range/);
  });

  test("format_guid", () => {
    check([["format_guid(4294967298u, 12884901892u)", "3-4-1-2"]]);
  });
});

describe("LIKE", () => {
  test("agrees with the naive regular expression", () => {
    const alphabet = fc.constantFrom("a", "b", "A", "é", "%", "_", "\\", "\n", "😀");
    const word = fc.array(alphabet, { maxLength: 8 }).map((items) => items.join(""));
    fc.assert(
      fc.property(word, word, fc.boolean(), (pattern, text, caseInsensitive) => {
        const expected = naive(pattern, caseInsensitive);
        if (expected === undefined) {
          expect(() => compileLike(pattern, "\\", caseInsensitive)).toThrow(YtError);
        } else {
          expect(compileLike(pattern, "\\", caseInsensitive)(text)).toBe(expected.test(text));
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("a hostile pattern is fast", () => {
    const pattern = `${"%a".repeat(200)}%b`;
    expect(compileLike(pattern, "\\", false)("a".repeat(100_000))).toBe(false);
  });
});

/** The pattern as a JavaScript expression; undefined when it ends in the escape. */
function naive(pattern: string, caseInsensitive: boolean): RegExp | undefined {
  let source = "";
  const characters = [...pattern];
  for (let index = 0; index < characters.length; index += 1) {
    let character = characters[index] ?? "";
    if (character === "%" || character === "_") {
      source += character === "%" ? "[^]*" : "[^]";
      continue;
    }
    if (character === "\\") {
      index += 1;
      const next = characters[index];
      if (next === undefined) {
        return undefined;
      }
      character = next;
    }
    source += character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
  }
  return new RegExp(`^(?:${source})$`, caseInsensitive ? "iu" : "u");
}
