import { expect, test } from "vitest";
import { fixedWeightOf, rowValuesWeight, valueWeight } from "./data-weight.ts";
import { YsonAny } from "./value-type.ts";

test("[tables 22] an integer, a double and a string of eight bytes weigh 25", () => {
  const row = [1n, 1.5, Buffer.from("12345678")];
  expect(rowValuesWeight(row)).toBe(25);
  expect(Array.from({ length: 10 }, () => rowValuesWeight(row)).reduce((sum, weight) => sum + weight)).toBe(
    250,
  );
});

test("the values of one row", () => {
  expect(valueWeight(null)).toBe(0);
  expect(valueWeight(true)).toBe(1);
  expect(valueWeight(2n ** 64n - 1n)).toBe(8);
  expect(valueWeight(0)).toBe(8);
  expect(valueWeight(Buffer.from("ёж"))).toBe(4);
  expect(valueWeight(new YsonAny(Buffer.from("[]")))).toBe(2);
  expect(rowValuesWeight([])).toBe(1);
  expect(rowValuesWeight([8n, Buffer.alloc(70), null])).toBe(79);
});

test("types whose values all weigh the same", () => {
  expect(fixedWeightOf("uint64")).toBe(8);
  expect(fixedWeightOf("boolean")).toBe(1);
  expect(fixedWeightOf("null")).toBe(0);
  expect(fixedWeightOf("string")).toBeUndefined();
});
