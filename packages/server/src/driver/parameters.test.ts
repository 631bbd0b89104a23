import { Attributed, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import { optional, parameter, readParameters, transactionId, withDefault } from "./parameters.ts";

const schema = z.object({
  path: parameter.string,
  count: optional(parameter.int64),
  force: withDefault(parameter.boolean, false),
  transaction_id: transactionId,
});

describe("readParameters", () => {
  it("takes absent keys and # alike for what is optional", () => {
    const expected = { path: "//tmp", count: undefined, force: false, transaction_id: undefined };
    expect(readParameters(schema, mapOf({ path: "//tmp" }))).toEqual(expected);
    expect(
      readParameters(schema, mapOf({ path: "//tmp", count: null, force: null, transaction_id: null })),
    ).toEqual(expected);
  });

  it("names a required parameter that is missing", () => {
    expect(() => readParameters(schema, mapOf({}))).toThrow("Missing required parameter /path");
    expect(() => readParameters(schema, mapOf({ path: null }))).toThrow("Missing required parameter /path");
  });

  it("names a parameter that cannot be read, with the reason inside", () => {
    expect(() => readParameters(schema, mapOf({ path: "//tmp", count: "x" }))).toThrow(
      "Error reading parameter /count",
    );
  });
});

/** One required parameter `x`, read from a value. */
function read<T>(type: z.ZodType<T>, value: YsonValue): T {
  return readParameters(z.object({ x: type }), mapOf({ x: value })).x;
}

/** The reason inside of the error about the parameter. */
function refusal<T>(type: z.ZodType<T>, value: YsonValue): string {
  try {
    read(type, value);
  } catch (error) {
    if (error instanceof YtError) {
      expect(error.message).toBe("Error reading parameter /x");
      expect(error.attributes.get("parameter")).toBe("x");
      return error.innerErrors[0]?.message ?? "";
    }
  }
  throw new Error("The value was expected to be refused");
}

describe("coercions", () => {
  it("booleans come as booleans, texts and the numbers 0 and 1", () => {
    for (const value of [true, "true", 1n, new Uint64(1n)]) {
      expect(read(parameter.boolean, value)).toBe(true);
    }
    for (const value of [false, "false", 0n, new Uint64(0n)]) {
      expect(read(parameter.boolean, value)).toBe(false);
    }
    expect(refusal(parameter.boolean, "yes")).toBe('Cannot parse boolean value from "yes"');
    expect(refusal(parameter.boolean, 2n)).toBe('Cannot parse boolean value from "2"');
  });

  it("integers keep all their bits and their ranges", () => {
    expect(read(parameter.int64, (1n << 63n) - 1n)).toBe((1n << 63n) - 1n);
    expect(read(parameter.int64, new Uint64(5n))).toBe(5n);
    expect(refusal(parameter.int64, new Uint64(1n << 63n))).toContain('Cannot parse "int64" value');
    expect(refusal(parameter.int64, 1.5)).toContain('Cannot parse "int64" value');
    expect(refusal(parameter.int64, "5")).toContain('Cannot parse "int64" value');
    expect(read(parameter.uint64, (1n << 62n) - 1n)).toBe((1n << 62n) - 1n);
    expect(read(parameter.uint64, new Uint64((1n << 64n) - 1n))).toBe((1n << 64n) - 1n);
    expect(refusal(parameter.uint64, -1n)).toContain('Cannot parse "uint64" value');
    expect(read(parameter.int32, -(1n << 31n))).toBe(-2_147_483_648);
    expect(refusal(parameter.int32, 1n << 31n)).toContain("out of expected range");
    expect(read(parameter.double, 3n)).toBe(3);
    expect(refusal(parameter.double, "3")).toContain('Cannot parse "double" value');
  });

  it("durations are milliseconds or texts with a unit", () => {
    for (const [value, ms] of [
      [1_500n, 1_500],
      [new Uint64(5n), 5],
      ["250ms", 250],
      ["5s", 5_000],
      ["1.5m", 90_000],
      ["36h", 129_600_000],
      ["2d", 172_800_000],
      ["1w", 604_800_000],
      ["700us", 0.7],
      ["1000", 1_000],
    ] as const) {
      expect(read(parameter.duration, value)).toBeCloseTo(ms);
    }
    for (const value of ["5x", "-5s", "s", ""]) {
      expect(refusal(parameter.duration, value)).toContain("Cannot parse duration");
    }
  });

  it("moments are milliseconds or ISO texts", () => {
    expect(read(parameter.instant, 1_737_640_800_000n)).toBe(1_737_640_800_000);
    expect(read(parameter.instant, "2025-01-23T14:00:00Z")).toBe(1_737_640_800_000);
    expect(refusal(parameter.instant, "yesterday")).toContain("Cannot parse instant");
  });

  it("ids, texts, paths, lists, maps and names", () => {
    expect(read(parameter.guid, "1-a-10001-ffffffff")).toBe("1-a-10001-ffffffff");
    for (const value of ["1-2-3", "1-2-3-4-5", "g-1-1-1", "123456789-1-1-1"]) {
      expect(refusal(parameter.guid, value)).toContain("Error parsing GUID");
    }
    expect(refusal(parameter.string, 1n)).toContain('Cannot parse "string" value from "1"');
    expect(refusal(parameter.string, new Map())).toContain("from a map");
    expect(read(parameter.path, "<append=%true>//tmp/t{a}").attributes.has("append")).toBe(true);
    expect(refusal(parameter.path, "tmp")).not.toBe("");
    expect(read(parameter.list(parameter.int32), [1n, 2n])).toEqual([1, 2]);
    expect(refusal(parameter.list(parameter.int32), [1n, "x"])).toContain("Error reading list item 1");
    expect(refusal(parameter.list(parameter.int32), "x")).toContain('Cannot parse "list" value');
    expect(refusal(parameter.map, [])).toContain('Cannot parse "map" value from a list');
    const mode = parameter.oneOf("EMode", ["a", "b"]);
    expect(read(mode, "b")).toBe("b");
    expect(refusal(mode, "c")).toBe('Error parsing EMode value "c"');
  });

  it("attributes of a value do not matter, the null transaction is none", () => {
    const withAttributes = new Attributed(mapOf({ a: 1n }), "true");
    expect(read(parameter.boolean, withAttributes)).toBe(true);
    expect(read(transactionId, "0-0-0-0")).toBeUndefined();
    expect(read(optional(parameter.int64), new Attributed(mapOf({ a: 1n }), null))).toBeUndefined();
  });

  it("long values are cut short in texts", () => {
    expect(refusal(parameter.int64, "x".repeat(1_000)).length).toBeLessThan(120);
  });

  it("the code of the reason is that of the error", () => {
    try {
      read(parameter.path, "tmp");
    } catch (error) {
      expect(error instanceof YtError && error.code).toBe(
        error instanceof YtError ? error.innerErrors[0]?.code : -1,
      );
      return;
    }
    expect.unreachable();
  });
});
