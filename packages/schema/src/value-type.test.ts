import { expect, test } from "vitest";
import {
  integerRangeOf,
  isLogicalType,
  logicalTypeFromV3Name,
  logicalTypeToV3Name,
  physicalTypeOf,
} from "./value-type.ts";

test("narrow integers are stored as 64 bits and keep their range", () => {
  expect(physicalTypeOf("int8")).toBe("int64");
  expect(integerRangeOf("int8")).toEqual({ min: -128n, max: 127n });
  expect(physicalTypeOf("uint32")).toBe("uint64");
  expect(integerRangeOf("uint32")).toEqual({ min: 0n, max: (1n << 32n) - 1n });
  expect(integerRangeOf("int64")).toEqual({ min: -(1n << 63n), max: (1n << 63n) - 1n });
  expect(integerRangeOf("uint64")).toEqual({ min: 0n, max: (1n << 64n) - 1n });
});

test("types of dates have the range of the calendar", () => {
  expect(integerRangeOf("date")).toEqual({ min: 0n, max: 49_672n });
  expect(integerRangeOf("datetime")).toEqual({ min: 0n, max: 49_673n * 86_400n - 1n });
  expect(integerRangeOf("interval")?.min).toBe(-(integerRangeOf("interval")?.max ?? 0n));
  expect(integerRangeOf("date32")).toEqual({ min: -53_375_809n, max: 53_375_807n });
  expect(integerRangeOf("string")).toBeUndefined();
});

test("names of version 3 differ in two places", () => {
  expect(logicalTypeToV3Name("boolean")).toBe("bool");
  expect(logicalTypeToV3Name("any")).toBe("yson");
  expect(logicalTypeToV3Name("utf8")).toBe("utf8");
  expect(logicalTypeFromV3Name("bool")).toBe("boolean");
  expect(logicalTypeFromV3Name("yson")).toBe("any");
  expect(logicalTypeFromV3Name("boolean")).toBeUndefined();
  expect(logicalTypeFromV3Name("any")).toBeUndefined();
});

test("names that objects inherit are no types", () => {
  expect(isLogicalType("toString")).toBe(false);
  expect(isLogicalType("tz_timestamp64")).toBe(true);
});
