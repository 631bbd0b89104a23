/** Documents read and written in slices are the same as those done at once, errors included. */
import { Attributed, atOnce, inSlices, mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isLargeValue,
  parseFormat,
  parseJson,
  parseStructured,
  parseStructuredInSlices,
  parseYson,
  writeJson,
  writeStructured,
  writeStructuredInSlices,
  writeYson,
} from "./index.ts";
import { jsonOptionsFromAttributes } from "./json-options.ts";
import { parseJsonInSlices } from "./json-parser.ts";
import { writeJsonInSlices } from "./json-writer.ts";
import { parseYsonInSlices } from "./sliced-parser.ts";
import { valueArbitrary } from "./testing/arbitraries.ts";
import { errorOf } from "./testing/errors.ts";
import { writeYsonInSlices } from "./writer.ts";

/** A document of many slices. */
const large: YsonValue = Array.from({ length: 5_000 }, (_, index) =>
  index % 3 === 0
    ? new Attributed(mapOf({ type: "map_node", locks: [1n, "two"] }), `node ${index}`)
    : mapOf({ key: BigInt(index), deep: [[mapOf({ $value: "dollar" })], null, 1.5] }),
);

const formats = [
  "yson",
  new Attributed(mapOf({ format: "text" }), "yson"),
  new Attributed(mapOf({ format: "pretty" }), "yson"),
  "json",
  new Attributed(mapOf({ stringify: true, annotate_with_types: true }), "json"),
  new Attributed(mapOf({ attributes_mode: "always", format: "pretty" }), "json"),
  "web_json",
].map(parseFormat);

function outcome(action: () => unknown): unknown {
  try {
    return action();
  } catch {
    const error = errorOf(action);
    return { code: error.code, message: error.message, attributes: [...error.attributes] };
  }
}

function countSlices(work: Generator<void, unknown, void>): number {
  let count = 1;
  while (work.next().done !== true) {
    count++;
  }
  return count;
}

/** Time goes by with every look at it. */
class SlowClock extends FakeClock {
  #nowMs = 0;

  override monotonic(): number {
    this.#nowMs += 2;
    return this.#nowMs;
  }
}

describe("slices", () => {
  it("write the same bytes", () => {
    for (const format of formats) {
      const whole = writeStructured(large, format);
      expect(atOnce(writeStructuredInSlices(large, format)).equals(whole)).toBe(true);
      expect(countSlices(writeStructuredInSlices(large, format))).toBeGreaterThan(10);
      expect(atOnce(parseStructuredInSlices(whole, format))).toEqual(parseStructured(whole, format));
    }
    const yson = writeYson(large, "binary");
    expect(countSlices(parseStructuredInSlices(yson, parseFormat("yson")))).toBeGreaterThan(10);
    expect(countSlices(parseJsonInSlices(writeJson(large)))).toBeGreaterThan(10);
  });

  it("write any value as it is written at once", () => {
    const json = jsonOptionsFromAttributes(mapOf({ string_length_limit: 5n, attributes_mode: "always" }));
    fc.assert(
      fc.property(valueArbitrary(), (value) => {
        for (const form of ["binary", "text", "pretty"] as const) {
          expect(atOnce(writeYsonInSlices(value, form)).equals(writeYson(value, form))).toBe(true);
        }
        for (const options of [{}, json, { plain: true }] as const) {
          expect(outcome(() => atOnce(writeJsonInSlices(value, options)))).toEqual(
            outcome(() => writeJson(value, options)),
          );
        }
      }),
    );
  });

  it("read any document as it is read at once, damaged ones too", () => {
    const damage = fc.record({ at: fc.nat(), byte: fc.nat(255) });
    fc.assert(
      fc.property(valueArbitrary({ finite: true }), fc.array(damage, { maxLength: 2 }), (value, damages) => {
        for (const bytes of [writeYson(value, "binary"), writeYson(value, "text")]) {
          for (const { at, byte } of damages) {
            bytes[at % bytes.length] = byte;
          }
          expect(outcome(() => atOnce(parseYsonInSlices(bytes)))).toEqual(outcome(() => parseYson(bytes)));
        }
        const json = writeJson(value);
        for (const { at, byte } of damages) {
          json[at % json.length] = byte;
        }
        expect(outcome(() => atOnce(parseJsonInSlices(json)))).toEqual(outcome(() => parseJson(json)));
      }),
    );
  });

  it("keep the limits of depth", () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    const options = { maxDepth: 128 };
    expect(errorOf(() => atOnce(parseYsonInSlices(Buffer.from(deep), options))).code).toBe(
      errorOf(() => parseYson(deep, options)).code,
    );
    expect(outcome(() => atOnce(parseJsonInSlices(Buffer.from(deep), { nestingLevelLimit: 128 })))).toEqual(
      outcome(() => parseJson(deep, { nestingLevelLimit: 128 })),
    );
  });

  it("let others have a turn when a slice took long", async () => {
    const slow = new SlowClock();
    const order: string[] = [];
    function* work(): Generator<void, string, void> {
      for (let slice = 0; slice < 4; slice++) {
        order.push(`slice ${slice}`);
        yield;
      }
      return "done";
    }
    setImmediate(() => order.push("others"));
    expect(await inSlices(work(), slow)).toBe("done");
    expect(order.indexOf("others")).toBeGreaterThan(0);
    expect(order.indexOf("others")).toBeLessThan(4);
  });

  it("are for large values only", () => {
    expect(isLargeValue(mapOf({ value: "x" }))).toBe(false);
    expect(isLargeValue("x".repeat(100_000))).toBe(true);
    expect(isLargeValue(large)).toBe(true);
    expect(isLargeValue(new Attributed(mapOf({ large }), null))).toBe(true);
  });
});
