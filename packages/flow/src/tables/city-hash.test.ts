import { describe, expect, it } from "vitest";
import { cityHash128 } from "./city-hash.ts";

/** From the reference code of CityHash 1.0.2 (the Python package `clickhouse-cityhash`), as first·2^64 + second. */
const vectors: readonly (readonly [string, bigint])[] = [
  ["", 82332263323914296566372529678324145705n],
  ["a".repeat(3), 194018782984228649234954602432808528074n],
  ["a".repeat(5), 64160430893968061464119115484484446229n],
  ["a".repeat(8), 326493182693049857702467918350107102855n],
  ["a".repeat(10), 10535042027737545345524591441719602164n],
  ["a".repeat(20), 316355017388725193975755376156961717799n],
  ["a".repeat(100), 184859502885502024534767931419519228479n],
  ["a".repeat(160), 65496833644214050522607955006021409657n],
  ["a".repeat(300), 55378743551012408690175181900883983940n],
  ["19e492b50001a797-queue:05:00-out:00", 190269464726812378928862863855908502891n],
];

describe("CityHash128", () => {
  it.each(vectors)("%s", (text, expected) => {
    const [first, second] = cityHash128(Buffer.from(text));
    expect((first << 64n) | second).toBe(expected);
  });
});
