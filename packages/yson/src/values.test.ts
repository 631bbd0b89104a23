import { YtError } from "@qyt/base";
import { expect, test } from "vitest";
import {
  Attributed,
  deepEqual,
  errorFromYson,
  errorToYson,
  fromYson,
  mapOf,
  parseFormat,
  parseStructured,
  parseYson,
  toYson,
  Uint64,
  writeStructured,
  writeYsonText,
  type YsonValue,
} from "./index.ts";
import { errorOf } from "./testing/errors.ts";

const text = (value: YsonValue) => writeYsonText(value);

test("plain data becomes values", () => {
  const plain = {
    i: 1,
    d: 1.5,
    big: 2n ** 60n,
    wide: 2 ** 60,
    z: -0,
    u: new Uint64(1n),
    s: "x",
    b: Buffer.from([0xff]),
    l: [1, undefined],
    m: new Map([["k", null]]),
    no: undefined,
  };
  expect(text(toYson(plain))).toBe(
    '{"i"=1;"d"=1.5;"big"=1152921504606846976;"wide"=1152921504606847000.;"z"=-0.;"u"=1u;"s"="x";"b"="\\xFF";"l"=[1;#;];"m"={"k"=#;};}',
  );
  expect(text(toYson(new Attributed(mapOf({ a: 1n }), [2n])))).toBe('<"a"=1;>[2;]');
  expect(errorOf(() => toYson(2n ** 63n)).code).toBe(1);
  expect(errorOf(() => toYson(() => 1)).code).toBe(1);
  const cycle: unknown[] = [];
  cycle.push(cycle);
  expect(errorOf(() => toYson(cycle)).code).toBe(4002);
});

test("values become plain data", () => {
  const plain = fromYson(parseYson("{a=1;b=2u;c=[1.5;<x=1>#];__proto__=1}"));
  expect(Object.getPrototypeOf(plain)).toBe(null);
  expect(JSON.stringify(plain, (_, item: unknown) => (typeof item === "bigint" ? Number(item) : item))).toBe(
    '{"a":1,"b":2,"c":[1.5,{"$attributes":{"x":1},"$value":null}],"__proto__":1}',
  );
});

test("deepEqual tells kinds apart and ignores the order of keys", () => {
  const equal = (left: string, right: string) => deepEqual(parseYson(left), parseYson(right));
  expect(equal("{a=1;b=[2;#]}", "{b=[2;#];a=1}")).toBe(true);
  expect(equal("<x=1>%nan", "<x=1>%nan")).toBe(true);
  expect(equal("5u", "5u")).toBe(true);
  for (const [left, right] of [
    ["1", "1u"],
    ["1", "1."],
    ["0.", "-0."],
    ["[1]", "[1;2]"],
    ["{a=1}", "{b=1}"],
    ["<a=1>1", "1"],
    ["#", "{}"],
    ["[]", "{}"],
  ]) {
    expect(equal(left ?? "", right ?? "")).toBe(false);
  }
});

test("errors survive as values", () => {
  const inner = new YtError("inner", { code: 500 });
  const error = new YtError("outer", { code: 1, attributes: { path: "//t" }, inner: [inner] });
  const encoded = errorToYson(error);
  expect(text(encoded)).toBe(
    '{"code"=1;"message"="outer";"attributes"={"path"="//t";};"inner_errors"=[{"code"=500;"message"="inner";"attributes"={};};];}',
  );
  const decoded = errorFromYson(encoded);
  expect([
    decoded.message,
    decoded.code,
    decoded.attributes.get("path"),
    decoded.innerErrors[0]?.code,
  ]).toEqual(["outer", 1, "//t", 500]);
  expect(errorFromYson(parseYson("{code=5u}")).code).toBe(5);
  expect(errorFromYson(parseYson("[1]")).message).toBe("Malformed error");
});

test("errors nested too deep are listed flat", () => {
  let error = new YtError("0");
  for (let level = 1; level < 5000; level++) {
    error = new YtError(String(level), { inner: [error] });
  }
  let decoded = errorFromYson(errorToYson(error));
  for (let depth = 1; depth < 16; depth++) {
    decoded = decoded.innerErrors[0] ?? decoded;
  }
  expect(decoded.innerErrors).toHaveLength(5000 - 16);
  expect(decoded.innerErrors[0]?.attributes.get("original_error_depth")).toBe(17n);
});

test("format nodes", () => {
  const format = (node: string) => parseFormat(parseYson(node));
  const value = mapOf({ value: "map_node" });
  expect(writeStructured(value, format("yson")).toString("hex")).toBe(
    "7b010a76616c75653d01106d61705f6e6f64653b7d",
  );
  expect(writeStructured(value, format("<format=text>yson")).toString()).toBe('{"value"="map_node";}');
  expect(writeStructured(value, format("json")).toString()).toBe('{"value":"map_node"}');
  expect(writeStructured("п", format("<encode_utf8=%false>json")).toString()).toBe('"п"');
  expect(writeStructured([2n ** 60n], format("web_json")).toString()).toBe(
    '[{"$type":"int64","$value":"1152921504606846976"}]',
  );
  expect(parseStructured(Buffer.from('{"a":1}'), format("json"))).toEqual(mapOf({ a: 1n }));
  expect(parseStructured(Buffer.from("{a=1}"), format("yson"))).toEqual(mapOf({ a: 1n }));
  expect(errorOf(() => format("5")).code).toBe(2800);
  expect(errorOf(() => format("nope")).message).toBe('Invalid format name "nope"');
  expect(errorOf(() => writeStructured(1n, format("<format=x>yson"))).code).toBe(2800);
  expect(errorOf(() => writeStructured(1n, format("dsv"))).message).toContain(
    'Unsupported output format "dsv": ',
  );
  expect(errorOf(() => parseStructured(Buffer.alloc(0), format("skiff"))).message).toContain(
    'Unsupported input format "skiff"',
  );
  expect(
    errorOf(() => parseStructured(Buffer.from("[[[1]]]"), format("json"), { maxDepth: 2 })).find(4002),
  ).toBeDefined();
});
