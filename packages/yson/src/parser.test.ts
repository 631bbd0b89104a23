import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Attributed,
  parseYson,
  parseYsonList,
  parseYsonMap,
  Uint64,
  writeYsonText,
  YsonScanner,
} from "./index.ts";
import { errorOf } from "./testing/errors.ts";

describe("parseYson", () => {
  test("reads every scalar in text form", () => {
    const text =
      '[1; -5; +7; 1u; 18446744073709551615u; 1.; .5; 1e3; -2.5E-1; %true; %false; #; a.b-c%d; "q"; %nan; %inf; %+inf; %-inf; nan]';
    expect(parseYson(text)).toEqual([
      1n,
      -5n,
      7n,
      new Uint64(1n),
      new Uint64(2n ** 64n - 1n),
      1,
      0.5,
      1000,
      -0.25,
      true,
      false,
      null,
      "a.b-c%d",
      "q",
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      "nan",
    ]);
  });

  test("reads every scalar in binary form, mixed with text", () => {
    const hex =
      "5b 0202 3b 0201 3b 06 8001 3b 03 000000000000f03f 3b 05 3b 04 3b 010a68656c6c6f 3b 23 5d".replaceAll(
        " ",
        "",
      );
    expect(parseYson(Buffer.from(hex, "hex"))).toEqual([
      1n,
      -1n,
      new Uint64(128n),
      1,
      true,
      false,
      "hello",
      null,
    ]);
  });

  test("reads the extreme integers exactly", () => {
    expect(parseYson("9223372036854775807")).toBe(2n ** 63n - 1n);
    expect(parseYson("-9223372036854775808")).toBe(-(2n ** 63n));
    expect(parseYson("000000000000000000000000000000000005")).toBe(5n);
    expect(parseYson(Buffer.from("02ffffffffffffffffff01", "hex"))).toBe(-(2n ** 63n));
    expect(parseYson(Buffer.from("02feffffffffffffffff01", "hex"))).toBe(2n ** 63n - 1n);
  });

  test.each([
    "9223372036854775808",
    "-9223372036854775809",
    "18446744073709551616u",
    "-1u",
    "-",
    "+",
    "1a",
    "1-2",
    "1.e",
    "1e",
    "--1",
    ".",
    "1.5u",
    "1e999",
    "%tru",
    "%",
    "[1",
    "[1;;2]",
    "[;]",
    "{a}",
    "{a=}",
    "{=1}",
    "{1=2}",
    "<a=1>",
    "<a=1><b=2>c",
    '"abc',
    '"abc\\',
    "1 2",
    "",
    "   ",
    "]",
    "[1}",
    "e]",
    "\u0000 1",
  ])("refuses %j with code 4000 and the context", (text) => {
    const error = errorOf(() => parseYson(text));
    expect(error.code).toBe(4000);
    expect(error.message).toBe("Error occurred while parsing YSON");
    expect(typeof error.attributes.get("context")).toBe("string");
    expect(typeof error.attributes.get("context_pos")).toBe("bigint");
  });

  test.each(["0101", "01ffffffff1f", "010a6161", "02ff", "02ffffffffffffffffff02", "03000000", "06"])(
    "refuses broken binary %s",
    (hex) => {
      expect(errorOf(() => parseYson(Buffer.from(hex, "hex"))).code).toBe(4000);
    },
  );

  test("says that a number is out of range", () => {
    const error = errorOf(() => parseYson("9223372036854775808"));
    expect(error.innerErrors[0]?.message).toContain("out of range");
  });

  test("ends at a NUL byte outside of strings", () => {
    expect(parseYson("1 \u0000 garbage")).toBe(1n);
    expect(parseYsonList('a;"\u0000";b;\u0000;;;')).toEqual(["a", "\u0000", "b"]);
  });

  test("keeps the order of maps and refuses a second key", () => {
    expect([...parseYsonMap("z=1;a=2;m=3")]).toEqual([
      ["z", 1n],
      ["a", 2n],
      ["m", 3n],
    ]);
    const error = errorOf(() => parseYson('{k=1;"k"=2}'));
    expect(error.message).toBe('Duplicate key "k"');
    expect(error.code).toBe(4000);
  });

  test("takes attributes; empty ones equal none", () => {
    expect(parseYson("<a=1>#")).toEqual(new Attributed(new Map([["a", 1n]]), null));
    expect(parseYson("<>x")).toBe("x");
  });

  test("unescapes quoted strings", () => {
    expect(parseYson('"\\n\\t\\r\\"\\\\\\a\\b\\f\\v\\x41\\x4g\\101\\7\\q\n"')).toBe(
      '\n\t\r"\\\u0007\b\f\vA\u0004gA\u0007q\n',
    );
    expect(parseYson('"\\xD0\\xBF\\xff\\377"')).toBe("п\udcff\udcff");
  });

  test("has a depth limit with code 4002, attributes included", () => {
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    expect(writeYsonText(parseYson(nested(256)))).toContain("[[");
    const error = errorOf(() => parseYson(nested(257)));
    expect(error.code).toBe(4002);
    expect(error.attributes.get("limit")).toBe(256n);
    expect(errorOf(() => parseYson("[<a=1>x]", { maxDepth: 1 })).code).toBe(4002);
    expect(errorOf(() => parseYson("[".repeat(1_000_000), { maxDepth: 1e9 })).code).toBe(4002);
    expect(errorOf(() => new YsonScanner().skipValue(Buffer.from("{a=".repeat(9999)), 0, 29_997)).code).toBe(
      4002,
    );
  });

  test("has a limit on strings, counted in bytes after escapes", () => {
    expect(parseYson('"\\x41\\x41"', { maxStringBytes: 2 })).toBe("AA");
    expect(errorOf(() => parseYson('"aaa"', { maxStringBytes: 2 })).code).toBe(4001);
    expect(errorOf(() => parseYson("{aaa=1}", { maxStringBytes: 2 })).code).toBe(4001);
  });

  test("reads fragments with and without the last separator", () => {
    expect(parseYsonList("1;2;")).toEqual([1n, 2n]);
    expect(parseYsonList("1;2\n")).toEqual([1n, 2n]);
    expect(parseYsonList("")).toEqual([]);
    expect(parseYsonMap("").size).toBe(0);
    expect(errorOf(() => parseYsonList("1 2")).code).toBe(4000);
  });
});

test("skipValue ends behind the value", () => {
  const text = Buffer.from('  <a={b="]}"}>[1;{x=2.;y=[%true;#]};"\\"]"] ; rest');
  const end = new YsonScanner().skipValue(text, 0, text.length);
  expect(text.toString("latin1", end)).toBe(" ; rest");
});

test("doubles are read as exactly as JavaScript reads them", () => {
  fc.assert(
    fc.property(fc.integer(), fc.nat({ max: 999_999_999 }), fc.nat({ max: 9 }), (whole, fraction, zeros) => {
      for (const text of [
        `${whole}.${"0".repeat(zeros)}${fraction}`,
        `${whole}.`,
        `-0.${fraction}`,
        `.${fraction}`,
      ]) {
        expect(Object.is(parseYson(text), Number(text))).toBe(true);
      }
    }),
    { numRuns: 2000 },
  );
});

test("a value ends where the scanner is told to end", () => {
  const scanner = new YsonScanner();
  expect(scanner.skipValue(Buffer.from("123456"), 1, 3)).toBe(3);
  expect(errorOf(() => scanner.skipValue(Buffer.from('"abc"'), 0, 4)).code).toBe(4000);
  expect(errorOf(() => scanner.skipValue(Buffer.from("1-2"), 0, 3)).code).toBe(4000);
});
