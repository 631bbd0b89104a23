/** Query strings as parameters. */
import { Attributed, mapOf, YtError } from "@qyt/base";
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseQueryString } from "./query-string.ts";

test("brackets nest, empty ones append, numbers set", () => {
  expect(parseQueryString("a[b][c]=1&a[b][d]=x&l[]=x&l[]=y&s[2]=z&s[0][k]=v&=e&f")).toEqual(
    mapOf({
      a: mapOf({ b: mapOf({ c: 1n, d: "x" }) }),
      l: ["x", "y"],
      s: [mapOf({ k: "v" }), null, "z"],
      "": "e",
      f: "",
    }),
  );
});

test("numbers are int64 in range, text otherwise", () => {
  expect(parseQueryString("a=-5&b=9223372036854775807&c=9223372036854775808&d=1.5&e=%2B1&f=-")).toEqual(
    mapOf({ a: -5n, b: 9223372036854775807n, c: "9223372036854775808", d: "1.5", e: "+1", f: "-" }),
  );
});

test("$value and $attributes join at the top level", () => {
  expect(
    parseQueryString("output_format[$value]=json&output_format[$attributes][plain]=true&x[y][$value]=1"),
  ).toEqual(
    mapOf({
      output_format: new Attributed(mapOf({ plain: "true" }), "json"),
      x: mapOf({ y: mapOf({ $value: 1n }) }),
    }),
  );
});

test("gaps in lists are bounded over the whole request", () => {
  const query = Array.from({ length: 100 }, (_, i) => `a${i}[1024]=x`).join("&");
  expect(() => parseQueryString(query)).toThrow(YtError);
});

test("names from the prototype chain are ordinary names", () => {
  expect([...parseQueryString("__proto__[x]=1&constructor=2").keys()]).toEqual(["__proto__", "constructor"]);
});

test("any text is parameters or one kind of error", () => {
  const text = fc.array(
    fc.constantFrom("a", "b", "[", "]", "[]", "[1]", "[$value]", "=", "&", "%", "%41", "+", "é"),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(text, (parts) => {
      try {
        parseQueryString(parts.join(""));
      } catch (error) {
        expect(error).toBeInstanceOf(YtError);
      }
    }),
    { numRuns: 1000 },
  );
});
