import { YtError } from "@qyt/base";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareKeys,
  compareRowValues,
  decodeKey,
  encodeKey,
  encodeKeyPrefix,
  keyRangeFrom,
  keyRangeTo,
} from "./key-codec.ts";
import { type PhysicalType, type RowValue, YsonAny } from "./value-type.ts";

const keyTypes = ["int64", "uint64", "double", "boolean", "string"] as const;

const edgeIntegers = [
  0n,
  1n,
  -1n,
  (1n << 53n) - 1n,
  1n << 53n,
  (1n << 53n) + 1n,
  (1n << 63n) - 1n,
  -(1n << 63n),
];
const edgeUnsigned = [0n, 1n, 1n << 53n, (1n << 53n) + 1n, 1n << 63n, (1n << 64n) - 1n];

const valuesOf: Record<(typeof keyTypes)[number], fc.Arbitrary<RowValue>> = {
  int64: fc.oneof(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), fc.constantFrom(...edgeIntegers)),
  uint64: fc.oneof(fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }), fc.constantFrom(...edgeUnsigned)),
  double: fc.double({ noNaN: true }),
  boolean: fc.boolean(),
  // Few different bytes, so that zeros, escapes and common beginnings are frequent.
  string: fc.oneof(
    fc.array(fc.constantFrom(0, 1, 0xfe, 0xff), { maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  ),
};

function keyOf(types: readonly (typeof keyTypes)[number][]): fc.Arbitrary<RowValue[]> {
  return fc.tuple(...types.map((type) => fc.option(valuesOf[type], { freq: 5 })));
}

const typesArbitrary = fc.array(fc.constantFrom(...keyTypes), { minLength: 1, maxLength: 4 });
const twoKeys = typesArbitrary.chain((types) =>
  fc.record({ types: fc.constant(types), left: keyOf(types), right: keyOf(types) }),
);

describe("key codec", () => {
  test("bytes compare as the keys do", () => {
    fc.assert(
      fc.property(twoKeys, ({ types, left, right }) => {
        const byBytes = Buffer.compare(encodeKey(left, types), encodeKey(right, types));
        expect(byBytes).toBe(Math.sign(compareKeys(left, right, types)));
      }),
      { numRuns: 2000 },
    );
  });

  test("one column: bytes compare as the values do", () => {
    const pairs = fc
      .constantFrom(...keyTypes)
      .chain((type) => fc.record({ type: fc.constant(type), left: valuesOf[type], right: valuesOf[type] }));
    fc.assert(
      fc.property(pairs, ({ type, left, right }) => {
        const byBytes = Buffer.compare(encodeKey([left], [type]), encodeKey([right], [type]));
        expect(byBytes).toBe(Math.sign(compareRowValues(left, right, type)));
      }),
      { numRuns: 2000 },
    );
  });

  test("decoding gives the values back", () => {
    const keys = typesArbitrary.chain((types) =>
      fc.record({ types: fc.constant(types), values: keyOf(types) }),
    );
    fc.assert(
      fc.property(keys, ({ types, values }) => {
        const expected = values.map((value) => (Object.is(value, -0) ? 0 : value));
        expect(decodeKey(encodeKey(values, types), types)).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });

  test("no key begins with the bytes of another", () => {
    fc.assert(
      fc.property(twoKeys, ({ types, left, right }) => {
        const leftBytes = encodeKey(left, types);
        const rightBytes = encodeKey(right, types);
        const isPrefix = rightBytes.subarray(0, leftBytes.length).equals(leftBytes);
        expect(isPrefix).toBe(compareKeys(left, right, types) === 0);
      }),
      { numRuns: 1000 },
    );
  });

  test("a range of a prefix holds exactly the keys that begin with it", () => {
    fc.assert(
      fc.property(twoKeys, fc.nat(4), ({ types, left, right }, width) => {
        const prefix = left.slice(0, width);
        const bytes = encodeKey(right, types);
        const inRange =
          Buffer.compare(bytes, keyRangeFrom(prefix, types)) >= 0 &&
          Buffer.compare(bytes, keyRangeTo(prefix, types)) < 0;
        expect(inRange).toBe(compareKeys(right.slice(0, prefix.length), prefix, types) === 0);
      }),
      { numRuns: 1000 },
    );
  });

  test("the order of edge values", () => {
    const sorted: readonly (readonly [PhysicalType, readonly RowValue[]])[] = [
      ["int64", [null, -(1n << 63n), -1n, 0n, 1n, (1n << 63n) - 1n]],
      ["uint64", [null, 0n, 1n, 1n << 63n, (1n << 64n) - 1n]],
      ["double", [null, -Infinity, -1.5, -5e-324, 0, 5e-324, 1.5, Infinity]],
      ["boolean", [null, false, true]],
      [
        "string",
        [null, "", "\0", "\0\0", "\0a", "a", "a\0", "a\0b", "aa", "b"].map((text) =>
          text === null ? null : Buffer.from(text),
        ),
      ],
    ];
    for (const [type, values] of sorted) {
      const encoded = values.map((value) => encodeKey([value], [type]));
      expect(encoded.toSorted(Buffer.compare)).toEqual(encoded);
      expect(new Set(encoded.map((bytes) => bytes.toString("hex"))).size).toBe(values.length);
    }
  });

  test("both zeros are one key", () => {
    expect(encodeKey([-0], ["double"])).toEqual(encodeKey([0], ["double"]));
    expect(compareRowValues(-0, 0, "double")).toBe(0);
  });

  test("[tables 157] NaN is no key", () => {
    expect(() => encodeKey([Number.NaN], ["double"])).toThrow(expect.objectContaining({ code: 325 }));
    expect(() => compareRowValues(1, Number.NaN, "double")).toThrow(expect.objectContaining({ code: 325 }));
  });

  test("values of type any compare by the bytes of their YSON, as keys of pipelines' tables", () => {
    const small = new YsonAny(Buffer.from([1, 0, 2]));
    const large = new YsonAny(Buffer.from([1, 1]));
    expect(Buffer.compare(encodeKey([small], ["any"]), encodeKey([large], ["any"]))).toBe(-1);
    expect(compareRowValues(small, large, "any")).toBe(-1);
    expect(decodeKey(encodeKey([small, 7n], ["any", "int64"]), ["any", "int64"])).toEqual([small, 7n]);
  });

  test("a prefix is decoded to as many values as it has", () => {
    const types = ["string", "int64"] as const;
    expect(decodeKey(encodeKeyPrefix([Buffer.from("a")], types), types)).toEqual([Buffer.from("a")]);
  });

  test("damaged bytes are refused", () => {
    const types = ["string", "int64"] as const;
    const whole = encodeKey([Buffer.from("a\0b"), 7n], types);
    const borders = [0, 7, whole.length];
    for (let length = 0; length < whole.length; length += 1) {
      if (!borders.includes(length)) {
        expect(() => decodeKey(whole.subarray(0, length), types), `length ${length}`).toThrow(YtError);
      }
    }
    expect(() => decodeKey(Buffer.concat([whole, Buffer.from([2])]), types)).toThrow(YtError);
    expect(() => decodeKey(whole, ["int64", "int64"])).toThrow(YtError);
    expect(() => decodeKey(Buffer.from([7, 0, 5, 0, 0]), ["string"])).toThrow(YtError);
  });
});
