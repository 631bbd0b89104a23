import { type YsonValue, YtError } from "@qyt/base";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inferColumnName } from "./format-node.ts";
import { parseQuery } from "./parser.ts";

function names(text: string): string[] {
  return (parseQuery(text).select ?? []).map(inferColumnName);
}

describe("parseQuery", () => {
  test("[tables 173] keywords in any case, missing SELECT, brackets with $, both kinds of quotes", () => {
    for (const text of [
      "select [$tablet_index], value from [//home/q] where value = 'a\"b' limit 5",
      'SELECT [$tablet_index], value FROM [//home/q] WHERE value = "a\\"b" LIMIT 5',
      "[$tablet_index],value From[//home/q]Where value='a\"b'Limit 5",
    ]) {
      const parsed = parseQuery(text);
      expect(parsed.tablePath).toBe("//home/q");
      expect(parsed.select?.map(inferColumnName)).toEqual(["$tablet_index", "value"]);
      expect(parsed.limit).toBe(5n);
      expect(parsed.where).toMatchObject({
        kind: "relation",
        items: [{ name: "value" }, { value: { kind: "string", value: Buffer.from('a"b') } }],
      });
    }
  });

  test("a path may hold brackets, attributes and an id", () => {
    expect(parseQuery("* from [<a=[1;2]>//t/x[1]]").tablePath).toBe("<a=[1;2]>//t/x[1]");
    expect(parseQuery("* from [#1-2-3-4]").tablePath).toBe("#1-2-3-4");
    expect(parseQuery("* from `//t/a\\`b`", { syntaxVersion: 2 }).tablePath).toBe("//t/a`b");
  });

  test("all clauses", () => {
    const parsed = parseQuery(
      "a as x, sum(b) from [//t] as t where a > 1 group by a having sum(b) > 2 order by x desc, a offset 3 limit 4",
    );
    expect(parsed.tableAlias).toBe("t");
    expect(parsed.groupBy).toHaveLength(1);
    expect(parsed.having).toBeDefined();
    expect(parsed.orderBy.map((item) => item.descending)).toEqual([true, false]);
    expect([parsed.offset, parsed.limit]).toEqual([3n, 4n]);
    expect([...parsed.aliases.keys()]).toEqual(["x"]);
  });

  test("names of results without alias are their formatted source", () => {
    expect(
      names("a, t.b, sum( 1 ), a+b*2, -a, NOT a = 1, 1u, 2.5, 'x\\n', null, a % 2 as k from [//t] as t"),
    ).toEqual([
      "a",
      "t.b",
      "sum(1)",
      "(a)+((b)*(2))",
      "-(a)",
      "NOT((a)=(1))",
      "1u",
      "2.5",
      '"x\\n"',
      "null",
      "k",
    ]);
    expect(names("(a, b) in ((1, 2)), a between 1 and 2, a and b or c, a is not null from [//t]")).toEqual([
      "(a, b) IN ((1, 2))",
      "(a) BETWEEN (1 AND 2)",
      "((a)AND(b))OR(c)",
      "NOT(is_null(a))",
    ]);
  });

  test("precedence", () => {
    expect(names("1 | 2 & 3 << 4 + 5 * 6 from [//t]")).toEqual(["(1)|((2)&((3)<<((4)+((5)*(6)))))"]);
    expect(names("a < 1 = b from [//t]")).toEqual(["((a)<(1))=(b)"]);
    expect(names("not a = 1 and b from [//t]")).toEqual(["(NOT((a)=(1)))AND(b)"]);
    expect(names("a - b - c from [//t]")).toEqual(["((a)-(b))-(c)"]);
    expect(names("a + 1 not between 1 and 2 and b from [//t]")).toEqual([
      "(NOT(((a)+(1)) BETWEEN (1 AND 2)))AND(b)",
    ]);
  });

  test("syntax errors say where", () => {
    const error = thrown(() => parseQuery("select a, from [//t]"));
    expect(error.message).toBe("Error while parsing query: syntax error, unexpected keyword `FROM`");
    expect(error.attributes.get("position")).toBe("10-14");
    expect(error.attributes.get("query")).toBe("select a,  >>>>> from <<<<<  [//t]");
  });

  test.each([
    "",
    "*",
    "select",
    "* from",
    "* from [//t",
    "* from [//t] limit",
    "* from [//t] limit -1",
    "* from [//t] limit 1u",
    "a b c from [//t]",
    "'abc from [//t]",
    "a in () from [//t]",
    "a in (b) from [//t]",
    "a between b and 1 from [//t]",
    "* from [//t] where a not 5",
    "* from [//t] limit 1 limit 2",
    "* from [//t] having a",
    "case end from [//t]",
    "a.b.c from [//t]",
    "99999999999999999999999 from [//t]",
    "a ; b from [//t]",
    "a $ b from [//t]",
  ])("refuses %j", (text) => {
    expect(() => parseQuery(text)).toThrow(YtError);
  });

  test.each([
    ["* from [//a] array join x as y", "ARRAY JOIN is not supported yet"],
    ["* from [//a] left array join x as y", "ARRAY JOIN is not supported yet"],
    ["* from [//a] with index [//b]", "WITH INDEX is not supported yet"],
    ["* from [//a] join (select * from [//b]) as b using x", "A subquery in a JOIN is not supported yet"],
    ["(select a from [//a]) as x from [//b]", "A subquery is not supported yet"],
  ])("%s is refused by name", (text, message) => {
    expect(() => parseQuery(text)).toThrow(message);
  });

  test("[tables 169] an alias twice for different things", () => {
    expect(() => parseQuery("a as x, b as x from [//t]")).toThrow('Alias "x" has been already used');
    expect(() => parseQuery("a as x from [//t] group by a as x")).not.toThrow();
  });

  test("placeholders become values, never text", () => {
    const placeholderValues = new Map<string, YsonValue>([
      ["s", 'x" or 1=1'],
      ["l", [1n, -2n]],
    ]);
    const parsed = parseQuery("* from [//t] where a = {s} and b in {l}", { placeholderValues });
    expect(parsed.where).toMatchObject({
      items: [
        { items: [{}, { value: { kind: "string", value: Buffer.from('x" or 1=1') } }] },
        { kind: "in", values: [[{ value: 1n }], [{ value: -2n }]] },
      ],
    });
    expect(() => parseQuery("* from [//t] where a = {none}")).toThrow("Placeholder was not found");
  });

  test.each([
    ["parentheses", `${"(".repeat(100_000)}1${")".repeat(100_000)} from [//t]`],
    ["minus", `${"- ".repeat(100_000)}1 from [//t]`],
    ["not", `${"not ".repeat(100_000)}true from [//t]`],
    ["sums", `${"1+".repeat(100_000)}1 from [//t]`],
    ["calls", `${"f(".repeat(100_000)}1${")".repeat(100_000)} from [//t]`],
    ["cases", `${"case when true then ".repeat(10_000)}1${" end".repeat(10_000)} from [//t]`],
    ["right", `${"1 - (".repeat(10_000)}1${")".repeat(10_000)} from [//t]`],
  ])("deep nesting of %s is error 1711", (_name, text) => {
    expect(thrown(() => parseQuery(text)).code).toBe(1711);
  });

  test("unclosed brackets and signs of constants cannot exhaust the stack either", () => {
    expect(() => parseQuery(`${"[".repeat(100_000)}`)).toThrow(YtError);
    expect(() => parseQuery(`a in (${"-".repeat(100_000)}1) from [//t]`)).toThrow(YtError);
  });

  test("a long chain of OR is no deep tree", () => {
    const text = Array.from({ length: 20_000 }, (_, index) => `a = ${index}`).join(" or ");
    expect(parseQuery(`* from [//t] where ${text}`).where).toMatchObject({ kind: "logical" });
  });

  test("random tokens and random text throw nothing but YtError", () => {
    const token = fc.constantFrom(
      ..."select from where group by having order offset limit as and or not is null in between like ilike rlike escape".split(
        " ",
      ),
      ..."case when then else end transform ( ) , . * + - / % | & ~ < <= > >= = != <> << >> || # [ ] ` { } ' \"".split(
        " ",
      ),
      ...[
        "a",
        "b",
        "[$tablet_index]",
        "`x`",
        "1",
        "1u",
        "1.5",
        "'s'",
        '"t"',
        "[//t]",
        "sum",
        "true",
        "%false",
        "{p}",
        "\\",
      ],
    );
    const text = fc.oneof(
      fc.array(token, { maxLength: 30 }).map((items) => items.join(" ")),
      fc.string(),
    );
    fc.assert(
      fc.property(text, (query) => {
        try {
          parseQuery(query);
        } catch (error) {
          expect(error).toBeInstanceOf(YtError);
        }
      }),
      { numRuns: 3000 },
    );
  });
});

function thrown(action: () => unknown): YtError {
  try {
    action();
  } catch (error) {
    if (error instanceof YtError) {
      return error;
    }
    throw error;
  }
  throw new Error("Nothing was thrown");
}
