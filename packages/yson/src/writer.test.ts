import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  Attributed,
  bytesToString,
  mapOf,
  parseYson,
  parseYsonList,
  stringToBytes,
  Uint64,
  writeYson,
  writeYsonList,
  writeYsonText,
  YsonScanner,
} from "./index.ts";
import { valueArbitrary } from "./testing/arbitraries.ts";

const node = mapOf({ value: "map_node" });

describe("writeYson", () => {
  test("text and pretty have the exact forms", () => {
    expect(writeYsonText(node)).toBe('{"value"="map_node";}');
    expect(writeYson(node, "pretty").toString()).toBe('{\n    "value" = "map_node";\n}');
    const deep = mapOf({
      a: [1n, new Uint64(2n)],
      e: [],
      m: new Map(),
      n: new Attributed(mapOf({ x: true }), null),
    });
    expect(writeYsonText(deep)).toBe('{"a"=[1;2u;];"e"=[];"m"={};"n"=<"x"=%true;>#;}');
    expect(writeYson(deep, "pretty").toString()).toBe(
      '{\n    "a" = [\n        1;\n        2u;\n    ];\n    "e" = [];\n    "m" = {};\n    "n" = <\n        "x" = %true;\n    > #;\n}',
    );
  });

  test("[http 26] binary form of a map", () => {
    expect(writeYson(node, "binary").toString("hex")).toBe("7b010a76616c75653d01106d61705f6e6f64653b7d");
  });

  test("doubles are recognisable", () => {
    const forms = [1, -0, 0.1, 1e21, 1e-7, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    expect(forms.map((value) => writeYsonText(value))).toEqual([
      "1.",
      "-0.",
      "0.1",
      "1e+21",
      "1e-7",
      "%nan",
      "%inf",
      "%-inf",
    ]);
  });

  test("escapes by the byte that follows", () => {
    const escaped = (hex: string) => writeYsonText(bytesToString(Buffer.from(hex, "hex")));
    expect(escaped("ff017a0a")).toBe('"\\xFF\\1z\\n"');
    expect(escaped("0137")).toBe('"\\0017"');
    expect(escaped("0138")).toBe('"\\18"');
    expect(escaped("ff41")).toBe('"\\377A"');
    expect(escaped("ff")).toBe('"\\xFF"');
    expect(escaped("08")).toBe('"\\x08"');
    expect(escaped("225c0d09")).toBe('"\\"\\\\\\r\\t"');
    expect(writeYsonText("п")).toBe('"\\xD0\\xBF"');
  });

  test("list fragments separate their items", () => {
    expect(writeYsonList([1n, "a"], "text").toString()).toBe('1;\n"a";\n');
    expect(writeYsonList([node], "pretty").toString()).toBe('{\n    "value" = "map_node";\n};\n');
    expect(writeYsonList([null, true], "binary").toString("hex")).toBe("233b053b");
  });
});

test.each(["text", "pretty", "binary"] as const)("what is written as %s reads back the same", (format) => {
  fc.assert(
    fc.property(valueArbitrary(), (value) => {
      const bytes = writeYson(value, format);
      expect(parseYson(bytes)).toStrictEqual(value);
      expect(new YsonScanner().skipValue(bytes, 0, bytes.length)).toBe(bytes.length);
      expect(parseYsonList(writeYsonList([value, value], format))).toStrictEqual([value, value]);
    }),
    { numRuns: 400 },
  );
});

test("every byte string has exactly one image", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      expect(Buffer.compare(stringToBytes(bytesToString(bytes)), bytes)).toBe(0);
    }),
    { numRuns: 3000 },
  );
  for (let first = 0; first < 256; first++) {
    for (const rest of [
      [],
      [0x80],
      [0xbf, 0x80],
      [0x9f, 0xbf, 0x80],
      [0x90, 0x80, 0x80, 0x41],
      [0xa0, 0x80],
    ]) {
      const bytes = Uint8Array.from([first, ...rest]);
      expect([...stringToBytes(bytesToString(bytes))]).toEqual([...bytes]);
    }
  }
});
