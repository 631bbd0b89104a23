/** The page of limits says what the table says: every limit, its value and its unit, and none besides. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { limits } from "./limits.ts";

interface DocumentedLimit {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
}

function documentedLimits(): DocumentedLimit[] {
  const page = readFileSync(new URL("../../../docs/limits.md", import.meta.url), "utf8");
  return [...page.matchAll(/^\| `(\w+)` \| ([\d,]+) \| (\w+) \| .+ \|$/gm)].map(([, name, value, unit]) => ({
    name: name ?? "",
    value: Number(value?.replaceAll(",", "")),
    unit: unit ?? "",
  }));
}

/** Bytes and milliseconds stand at the end of a name; anything else is a count. */
function isUnitOf(unit: string, name: string): boolean {
  if (name.endsWith("Bytes")) {
    return unit === "bytes";
  }
  return name.endsWith("Ms") ? unit === "milliseconds" : unit !== "bytes" && unit !== "milliseconds";
}

test("docs/limits.md has every limit with its value, in the same order, and no other", () => {
  expect(documentedLimits().map(({ name, value }) => [name, value])).toEqual(Object.entries(limits));
});

test("units are those of the names", () => {
  const documented = documentedLimits();
  expect(documented.length).toBeGreaterThan(0);
  expect(documented.filter(({ name, unit }) => !isUnitOf(unit, name))).toEqual([]);
});
