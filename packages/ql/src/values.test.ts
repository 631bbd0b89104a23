import { describe, expect, test } from "vitest";
import { select } from "./testing/memory-source.ts";
import { failure, nulls, one, queue } from "./testing/tables.ts";

async function value(expression: string, table = one, options = {}): Promise<unknown> {
  const rows = await select(table, `${expression} as r from [//t]`, options);
  return rows[0]?.r;
}

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
    for (const text of [
      "u = -1",
      "u + -1",
      "u in (-1)",
      "i + 1.5",
      "s + 1",
      "f + f",
      "i and f",
      "not i",
      "-s",
      "1 || 's'",
    ]) {
      await failure(value(text));
    }
    expect((await failure(select(one, "k from [//t] where i"))).message).toMatch(
      /^Type mismatch in expression/,
    );
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
      ["transform(i, (1), (2), 9)", 9n],
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
    expect((await failure(select(one, "i as z, u as z from [//t]"))).message).toBe(
      'Alias "z" has been already used',
    );
    expect((await failure(select(one, "q.i from [//t] as t"))).message).toBe('Undefined reference "q.i"');
  });

  test("aliases are known everywhere", async () => {
    expect(await select(one, "(i as n) + 1 as m, m * 2 as o from [//t] where n < 0")).toEqual([
      { m: -4n, o: -8n },
    ]);
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
