import { mapOf } from "@qyt/base";
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
