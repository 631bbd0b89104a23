import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Attributed,
  emptyMap,
  escapeYPathLiteral,
  mapOf,
  parseRichPath,
  parseYson,
  richPathToYson,
  tokenizeYPath,
  writeJson,
  type YPathStep,
  type YsonValue,
} from "./index.ts";
import { byteStringArbitrary } from "./testing/arbitraries.ts";
import { errorOf } from "./testing/errors.ts";

const child = (name: string): YPathStep => ({ kind: "child", name });
const attribute = (name?: string): YPathStep => ({ kind: "attribute", name });

describe("tokenizeYPath", () => {
  test.each<[string, YPathStep[]]>([
    ["/", []],
    ["//tmp/a", [child("tmp"), child("a")]],
    ["//@", [attribute()]],
    ["//a/@x/b/@c", [child("a"), attribute("x"), child("b"), attribute("c")]],
    ["//a/@", [child("a"), attribute()]],
    ["//a/*", [child("a"), { kind: "all" }]],
    ["//a/@*", [child("a"), { kind: "allAttributes" }]],
    ["//a/link&/@type", [child("a"), child("link"), { kind: "ampersand" }, attribute("type")]],
    ["/&", [{ kind: "ampersand" }]],
    ["//l/-1/before:1", [child("l"), child("-1"), child("before:1")]],
    ["//a b/ä", [child("a b"), child("ä")]],
  ])("%s", (path, steps) => {
    expect(tokenizeYPath(path)).toEqual({ root: { kind: "root" }, steps });
  });

  test("an object id is a root", () => {
    expect(tokenizeYPath("#1-2-12f-3/@name")).toEqual({
      root: { kind: "object", id: "1-2-12f-3" },
      steps: [attribute("name")],
    });
    expect(errorOf(() => tokenizeYPath("#x/@name")).message).toBe('Error parsing object id "x"');
  });

  test("[tables 54] escapes inside names", () => {
    expect(tokenizeYPath("//tmp/a\\/b").steps).toEqual([child("tmp"), child("a/b")]);
    expect(tokenizeYPath("//\\\\\\@\\&\\*\\[\\{\\x41\\xd0\\xbf").steps).toEqual([child("\\@&*[{Aп")]);
    expect(escapeYPathLiteral("a/b")).toBe("a\\/b");
    expect(escapeYPathLiteral("п")).toBe("\\xd0\\xbf");
    fc.assert(
      fc.property(
        byteStringArbitrary.filter((name) => name !== ""),
        (name) => {
          expect(tokenizeYPath(`//tmp/${escapeYPathLiteral(name)}/@x`).steps).toEqual([
            child("tmp"),
            child(name),
            attribute("x"),
          ]);
        },
      ),
    );
  });

  test.each([
    ["a", 'Path "a" does not start with a valid root-designator'],
    ["", "YPath cannot be empty"],
    ["//tmp//x", 'Unexpected "slash" token "/" in YPath'],
    ["//tmp/", 'Unexpected end-of-string in YPath; please note that YPath cannot normally end with "/"'],
    ["//", 'Unexpected end-of-string in YPath; please note that YPath cannot normally end with "/"'],
    ["/@", 'Expected "slash" in YPath but found "at" token "@"'],
    ["/tmp", 'Expected "slash" in YPath but found "literal" token "tmp"'],
    ["//a/@@", 'Expected "literal" in YPath but found "at" token "@"'],
    ["//a/@/b", 'Expected "literal" in YPath but found "slash" token "/"'],
    ["//a&&", 'Expected "slash" in YPath but found "ampersand" token "&"'],
    ["//a/@x&", 'Expected "slash" in YPath but found "ampersand" token "&"'],
    ["//a@b", 'Expected "slash" in YPath but found "at" token "@"'],
    ["//a/&", 'Unexpected "ampersand" token "&" in YPath'],
    ["//a[#1]", 'Expected "slash" in YPath but found "range" token "[#1]"'],
    ["//a\\q", 'Malformed escape sequence "\\q" in YPath'],
    ["//a\\x4", 'Malformed escape sequence "\\x4" in YPath'],
    ["//a\\", "Unexpected end-of-string in YPath while parsing escape sequence"],
  ])("[tables 55] refuses %j", (path, message) => {
    const error = errorOf(() => tokenizeYPath(path));
    expect([error.message, error.code]).toEqual([message, 1]);
  });

  test("has a length limit", () => {
    expect(tokenizeYPath(`//${"a".repeat(65_534)}`).steps).toHaveLength(1);
    expect(errorOf(() => tokenizeYPath(`//${"a".repeat(65_535)}`)).message).toBe("YPath is too long");
  });
});

describe("parseRichPath", () => {
  const normal = (value: YsonValue) =>
    writeJson(richPathToYson(parseRichPath(value)), { encodeUtf8: false }).toString();
  const ranges = (text: string) => parseRichPath(`//t${text}`).attributes.get("ranges");

  test("[http 47] attributes, columns and row ranges", () => {
    expect(normal("<append=%true>//tmp/t{a,b}[#1:#5]")).toBe(
      '{"$attributes":{"append":true,"columns":["a","b"],"ranges":[{"lower_limit":{"row_index":1},"upper_limit":{"row_index":5}}]},"$value":"//tmp/t"}',
    );
  });

  test("[http 48] a cluster in front", () => {
    expect(normal("pythia://tmp/q")).toBe('{"$attributes":{"cluster":"pythia"},"$value":"//tmp/q"}');
    expect(normal("<a=1>my-cluster_1:#1-2-3-4/@x")).toBe(
      '{"$attributes":{"a":1,"cluster":"my-cluster_1"},"$value":"#1-2-3-4/@x"}',
    );
  });

  test.each(["tmp/q", ":/x", "a b://x", "a:b", "@x", " //x"])("[http 49] %j has no root", (path) => {
    expect(errorOf(() => parseRichPath(path)).message).toBe(
      `Path "${path}" does not start with a valid root-designator`,
    );
  });

  test("a plain path has no attributes", () => {
    expect(parseRichPath("//tmp/t")).toEqual({ path: "//tmp/t", attributes: emptyMap });
    expect(normal("//tmp/t")).toBe('"//tmp/t"');
    expect(parseRichPath("//tmp/a\\[b\\{").path).toBe("//tmp/a\\[b\\{");
  });

  test("empty paths and values of other types are errors", () => {
    expect(errorOf(() => parseRichPath("")).message).toBe("YPath cannot be empty");
    expect(errorOf(() => parseRichPath("<a=1> ")).message).toBe("YPath cannot be empty");
    expect(errorOf(() => parseRichPath(5n)).message).toBe('YPath can only be parsed from "string"');
  });

  test("attributes of the node win over those in the text", () => {
    const value = new Attributed(mapOf({ append: false, x: 1n }), "<append=%true>//t{a}");
    expect(parseRichPath(value)).toEqual({
      path: "//t",
      attributes: mapOf({ append: false, columns: ["a"], x: 1n }),
    });
    expect(normal(' < append = %true ; sorted_by=["<"] > //t')).toBe(
      '{"$attributes":{"append":true,"sorted_by":["<"]},"$value":"//t"}',
    );
  });

  test("key limits, exact limits, open ends", () => {
    expect(ranges("[#3]")).toEqual(parseYson("[{exact={row_index=3}}]"));
    expect(ranges("[a:b]")).toEqual(parseYson("[{lower_limit={key=[a]};upper_limit={key=[b]}}]"));
    expect(ranges('[("a",1):]')).toEqual(parseYson("[{lower_limit={key=[a;1]}}]"));
    expect(ranges("[:#7, 5u, (1.5, %true, #, -3)]")).toEqual(
      parseYson("[{upper_limit={row_index=7}};{exact={key=[5u]}};{exact={key=[1.5;%true;#;-3]}}]"),
    );
    expect(ranges("[]")).toEqual([emptyMap]);
    expect(ranges("[:]")).toEqual([emptyMap]);
    expect(ranges("[()]")).toEqual(parseYson("[{exact={key=[]}}]"));
    expect(ranges("[(a,<type=min>#):(a,<type=max>#)]")).toEqual(
      parseYson("[{lower_limit={key=[a;<type=min>#]};upper_limit={key=[a;<type=max>#]}}]"),
    );
    expect(parseRichPath('//t{"a b", c,}').attributes.get("columns")).toEqual(["a b", "c"]);
    expect(parseRichPath("//t{}[]").attributes.get("columns")).toEqual([]);
  });

  test.each([
    "{",
    "{a",
    "{a b}",
    "{1}",
    "[",
    "[#]",
    "[#a]",
    "[a:b:c]",
    "[a;b]",
    "[(a]",
    "[a]]",
    "[a]{b}",
    "{a}x",
    "[{a=1}]",
    "[<a=1>b]",
  ])("refuses the selector %j", (text) => {
    errorOf(() => parseRichPath(`//t${text}`));
  });

  test("exact excludes the other limits", () => {
    const value = parseYson('<ranges=[{exact={row_index=1};lower_limit={row_index=1}}]>"//t"');
    expect(errorOf(() => parseRichPath(value)).message).toContain("Exact limit cannot be specified");
    expect(errorOf(() => parseRichPath(parseYson('<ranges=1>"//t"'))).code).toBe(1);
  });
});
