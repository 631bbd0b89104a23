import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Attributed,
  bytesToString,
  type JsonOptions,
  jsonOptionsFromAttributes,
  mapOf,
  parseJson,
  parseJsonStream,
  parseYson,
  Uint64,
  writeJson,
  type YsonValue,
} from "./index.ts";
import { valueArbitrary } from "./testing/arbitraries.ts";
import { errorOf } from "./testing/errors.ts";

const json = (value: YsonValue, options?: JsonOptions) => writeJson(value, options).toString("utf8");
const yson = (text: string) => parseYson(text);

describe("writeJson", () => {
  test("maps every type", () => {
    expect(json(yson("{a=1;b=2u;c=1.;d=%true;e=#;f=[x;y];g={};h=[];i=1.5;j=1e30;k=-0.}"))).toBe(
      '{"a":1,"b":2,"c":1.0,"d":true,"e":null,"f":["x","y"],"g":{},"h":[],"i":1.5,"j":1e+30,"k":-0.0}',
    );
  });

  test("prints 64-bit integers exactly", () => {
    expect(json(yson("[9223372036854775807;-9223372036854775808;18446744073709551615u]"))).toBe(
      "[9223372036854775807,-9223372036854775808,18446744073709551615]",
    );
  });

  test("wraps values with attributes, by mode", () => {
    const value = yson("[<type=table>t;{a=<x=<y=1>2>3}]");
    expect(json(value)).toBe(
      '[{"$attributes":{"type":"table"},"$value":"t"},{"a":{"$attributes":{"x":{"$attributes":{"y":1},"$value":2}},"$value":3}}]',
    );
    expect(json(value, { attributesMode: "never" })).toBe('["t",{"a":3}]');
    expect(json(value, { plain: true })).toBe('["t",{"a":3}]');
    expect(json(yson("[1]"), { attributesMode: "always" })).toBe(
      '{"$attributes":{},"$value":[{"$attributes":{},"$value":1}]}',
    );
  });

  test("doubles the $ of keys", () => {
    const value = mapOf({ $value: 1n, $a: 2n, $$b: 3n, c$: 4n });
    expect(json(value)).toBe('{"$$value":1,"$$a":2,"$$$b":3,"c$":4}');
    expect(json(value, { plain: true })).toBe('{"$value":1,"$a":2,"$$b":3,"c$":4}');
  });

  test("writes bytes as characters or as UTF-8", () => {
    const latin1 = writeJson("п", {}).toString("utf8");
    expect(latin1).toBe('"Ð¿"');
    expect(json("п", { encodeUtf8: false })).toBe('"п"');
    expect(json(mapOf({ п: 1n }))).toBe('{"Ð¿":1}');
    expect(errorOf(() => json("\udcff", { encodeUtf8: false })).message).toBe("Invalid UTF-8 string in JSON");
    expect(json("\udcff")).toBe('"ÿ"');
    expect(json("п", { escapeNonAscii: true })).toBe('"\\u00D0\\u00BF"');
    expect(json("п", { escapeNonAscii: true, encodeUtf8: false })).toBe('"\\u043F"');
  });

  test("escapes what JSON requires, and no slash", () => {
    expect(json('"\\/\b\f\n\r\t\u0001\u001f\u007f')).toBe('"\\"\\\\/\\b\\f\\n\\r\\t\\u0001\\u001F\u007f"');
  });

  test("[http 118] stringify and annotate_with_types", () => {
    const both = { stringify: true, annotateWithTypes: true };
    expect(json(mapOf({ value: 1n }), both)).toBe('{"value":{"$type":"int64","$value":"1"}}');
    expect(json(yson("[1;2u;1.5;%true;x;#]"), { annotateWithTypes: true })).toBe(
      '[{"$type":"int64","$value":1},{"$type":"uint64","$value":2},{"$type":"double","$value":1.5},' +
        '{"$type":"boolean","$value":true},{"$type":"string","$value":"x"},null]',
    );
    expect(json(yson("[1;2u;1.5;%true;x;#]"), { stringify: true })).toBe('["1","2","1.5","true","x",null]');
    expect(json(yson("<a=1>#"), both)).toBe(
      '{"$attributes":{"a":{"$type":"int64","$value":"1"}},"$value":null}',
    );
  });

  test("cuts long strings and says so", () => {
    const options = { stringLengthLimit: 3 };
    expect(json("abc", options)).toBe('"abc"');
    expect(json("abcd", options)).toBe('{"$incomplete":true,"$value":"abc"}');
    expect(json("abcd", { ...options, annotateWithTypes: true })).toBe(
      '{"$incomplete":true,"$type":"string","$value":"abc"}',
    );
    expect(json(new Attributed(mapOf({ a: 1n }), "abcd"), options)).toBe(
      '{"$attributes":{"a":1},"$incomplete":true,"$value":"abc"}',
    );
    expect(json("пп", { ...options, encodeUtf8: false })).toBe('{"$incomplete":true,"$value":"п"}');
    expect(json("яя", { stringLengthLimit: 4, encodeUtf8: false })).toBe('"яя"');
    expect(json("a\udcffbcd", { ...options })).toBe('{"$incomplete":true,"$value":"aÿb"}');
    expect(errorOf(() => json("a\udcffbcd", { ...options, encodeUtf8: false })).code).toBe(1);
  });

  test("NaN and infinities need permission", () => {
    for (const value of [Number.NaN, Infinity, -Infinity]) {
      expect(errorOf(() => json(value)).code).toBe(1);
    }
    expect(json([Infinity, -Infinity], { supportInfinity: true })).toBe("[inf,-inf]");
    expect(errorOf(() => json(Number.NaN, { supportInfinity: true })).code).toBe(1);
    expect(json([Number.NaN, Infinity, -Infinity], { stringifyNanAndInfinity: true })).toBe(
      '["nan","inf","-inf"]',
    );
  });

  test("web_json keeps integers that a browser would round", () => {
    const value = yson("[9007199254740991;9007199254740993;-9007199254740992;9007199254740993u;1]");
    expect(json(value, { webJson: true, encodeUtf8: false })).toBe(
      '[9007199254740991,{"$type":"int64","$value":"9007199254740993"},{"$type":"int64","$value":"-9007199254740992"},' +
        '{"$type":"uint64","$value":"9007199254740993"},1]',
    );
  });

  test("pretty form", () => {
    expect(json(yson("{a=[1;2];b={};c=<x=1>#}"), { format: "pretty" })).toBe(
      '{\n    "a": [\n        1,\n        2\n    ],\n    "b": {},\n    "c": {\n        "$attributes": {\n            "x": 1\n        },\n        "$value": null\n    }\n}',
    );
  });
});

describe("parseJson", () => {
  test("keeps kinds and every bit of numbers", () => {
    expect(
      parseJson(
        "[1,-1,1.0,1e2,9223372036854775807,9223372036854775808,18446744073709551615,-9223372036854775808,0,-0,-0.0]",
      ),
    ).toEqual([
      1n,
      -1n,
      1,
      100,
      2n ** 63n - 1n,
      new Uint64(2n ** 63n),
      new Uint64(2n ** 64n - 1n),
      -(2n ** 63n),
      0n,
      0n,
      -0,
    ]);
  });

  test("understands the special keys", () => {
    expect(parseJson('{"$attributes":{"a":1},"$value":{"$$x":2}}')).toEqual(
      new Attributed(mapOf({ a: 1n }), mapOf({ $x: 2n })),
    );
    expect(parseJson('{"$value":1,"$attributes":{}}')).toBe(1n);
    expect(parseJson('{"$value":"ab","$incomplete":true}')).toBe("ab");
    expect(parseJson('{"$type":"uint64","$value":"18446744073709551615"}')).toEqual(
      new Uint64(2n ** 64n - 1n),
    );
    expect(parseJson('{"$type":"uint64","$value":5}')).toEqual(new Uint64(5n));
    expect(parseJson('{"$type":"int64","$value":"-5"}')).toBe(-5n);
    expect(parseJson('{"$type":"double","$value":1}')).toBe(1);
    expect(parseJson('{"$type":"double","$value":"-1.5e3"}')).toBe(-1500);
    expect(parseJson('{"$type":"double","$value":"nan"}')).toBeNaN();
    expect(parseJson('{"$type":"boolean","$value":"true"}')).toBe(true);
    expect(parseJson('{"$type":"string","$value":"1"}')).toBe("1");
    expect(parseJson('{"$value":1,"$x":2}', { plain: true })).toEqual(mapOf({ $value: 1n, $x: 2n }));
  });

  test("reads characters as bytes or as text", () => {
    expect(parseJson('"Ð¿"')).toBe("п");
    expect(parseJson('"\\u00d0\\u00bf"')).toBe("п");
    expect(parseJson('"ÿ"')).toBe("\udcff");
    expect(parseJson('"п"', { encodeUtf8: false })).toBe("п");
    expect(parseJson('"\\u043f\\ud83d\\ude00"', { encodeUtf8: false })).toBe("п😀");
    expect(parseJson('{"Ð¿":1}')).toEqual(mapOf({ п: 1n }));
    expect(errorOf(() => parseJson('"п"')).innerErrors[0]?.message).toContain("greater than 255");
  });

  test.each([
    "",
    "{",
    "[",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "[1,]",
    "[1 2]",
    "{a:1}",
    "01",
    "1.",
    ".5",
    "+1",
    "-",
    "1e",
    "tru",
    "nul",
    "nan",
    "inf",
    '"a',
    '"\\q"',
    '"\\u12"',
    '"\n"',
    "1 2",
    "18446744073709551616",
    "-9223372036854775809",
    "1e999",
    '{"a":1,"a":2}',
    '{"$a":1}',
    '{"$attributes":{}}',
    '{"$type":"int64"}',
    '{"$attributes":1,"$value":1}',
    '{"$type":"x","$value":1}',
    '{"$type":1,"$value":1}',
    '{"$type":"int64","$value":1.5}',
    '{"$type":"int64","$value":"9223372036854775808"}',
    '{"$type":"uint64","$value":-1}',
    '{"$type":"string","$value":1}',
    '{"$type":"boolean","$value":"yes"}',
    '{"$attributes":{"a":1},"$value":{"$attributes":{"b":1},"$value":2}}',
    "\u0000",
    "]",
  ])("refuses %j with the place", (text) => {
    const error = errorOf(() => parseJson(text));
    expect([error.message, error.code]).toEqual(["Error parsing JSON", 1]);
    expect(typeof error.attributes.get("offset")).toBe("bigint");
    expect(error.innerErrors).toHaveLength(1);
  });

  test("refuses text that is not UTF-8", () => {
    for (const encodeUtf8 of [true, false]) {
      expect(errorOf(() => parseJson(Buffer.from([0x22, 0xff, 0x22]), { encodeUtf8 })).code).toBe(1);
    }
    expect(errorOf(() => parseJson('"\\ud800"', { encodeUtf8: false })).code).toBe(1);
  });

  test("has a depth limit of 512", () => {
    expect(parseJson("[".repeat(512) + "]".repeat(512))).toHaveLength(1);
    const error = errorOf(() => parseJson("[".repeat(513)));
    expect([error.code, error.innerErrors[0]?.code]).toEqual([1, 4002]);
    expect(errorOf(() => parseJson('{"a":'.repeat(1_000_000), { nestingLevelLimit: 1e9 })).code).toBe(1);
  });

  test("reads infinities where they are allowed", () => {
    expect(parseJson("[inf,-inf,nan]", { supportInfinity: true })).toEqual([Infinity, -Infinity, Number.NaN]);
  });

  test("a stream is documents with any whitespace between", () => {
    expect(parseJsonStream('{"a":1}\n{"a"\n:2} 3\r\n')).toEqual([mapOf({ a: 1n }), mapOf({ a: 2n }), 3n]);
    expect(parseJsonStream(" \n")).toEqual([]);
  });
});

test("options come from the attributes of a format", () => {
  const parsed = jsonOptionsFromAttributes(
    mapOf({ encode_utf8: false, string_length_limit: 5n, plain: "true", other: 1n }),
  );
  expect(parsed).toEqual({ encodeUtf8: false, stringLengthLimit: 5, plain: true });
  for (const bad of [
    { encode_utf8: 1n },
    { attributes_mode: "x" },
    { support_infinity: true, stringify_nan_and_infinity: true },
  ]) {
    expect(errorOf(() => jsonOptionsFromAttributes(mapOf(bad))).code).toBe(2800);
  }
});

describe("what is written reads back the same", () => {
  const check = (value: YsonValue, options: JsonOptions) =>
    expect(parseJson(writeJson(value, options), options)).toStrictEqual(value);

  test("with type annotations: everything", () => {
    fc.assert(
      fc.property(
        valueArbitrary({ finite: true }),
        fc.constantFrom("text", "pretty"),
        fc.boolean(),
        (value, format, stringify) => {
          check(value, { annotateWithTypes: true, format: format === "text" ? "text" : "pretty", stringify });
        },
      ),
      { numRuns: 400 },
    );
  });

  test("with stringified specials: NaN and infinities, too", () => {
    fc.assert(
      fc.property(valueArbitrary(), (value) => {
        check(value, { annotateWithTypes: true, stringifyNanAndInfinity: true, attributesMode: "always" });
      }),
    );
  });

  test("without annotations: all but the kind of small uint64", () => {
    fc.assert(
      fc.property(valueArbitrary({ finite: true }), fc.boolean(), (value, escapeNonAscii) => {
        const once = parseJson(writeJson(value, { escapeNonAscii }));
        check(once, { escapeNonAscii });
      }),
    );
  });

  test("as UTF-8 text", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const value = bytesToString(Buffer.from(text, "utf8"));
        check([value, mapOf({ [`k${value}`]: value })], { encodeUtf8: false });
        expect(JSON.parse(writeJson(value, { encodeUtf8: false }).toString("utf8"))).toBe(value);
      }),
    );
  });
});
