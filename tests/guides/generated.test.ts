/** The pages made from tables say what the tables of the sources say, and no code that can be raised is missing. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DescriptionTable, errorAreas, errorCodes, errorDescriptions } from "@qyt/base";
import { allCommands, type RegisteredCommand } from "@qyt/server";
import * as cli from "qyt/reference";
import { expect, it } from "vitest";

interface Generator {
  renderErrors(tables: {
    readonly errorCodes: Readonly<Record<string, number>>;
    readonly errorDescriptions: DescriptionTable;
    readonly errorAreas: typeof errorAreas;
  }): string;
  renderCommands(commands: readonly RegisteredCommand[]): string;
  renderCli(tables: typeof cli): string;
}

const root = new URL("../../", import.meta.url);
const generator: Generator = await import(new URL("scripts/generate-docs.mjs", root).href);
const remedy = "run `npm run build && node scripts/generate-docs.mjs`";

function page(name: string): string {
  return readFileSync(new URL(`docs/${name}`, root), "utf8");
}

/** Sources of all that can raise an error in a server or in a queue agent. */
function sources(): string[] {
  return ["base", "yson", "schema", "ql", "server", "queue-agent", "flow"].flatMap((name) => {
    const folder = fileURLToPath(new URL(`packages/${name}/src/`, root));
    return readdirSync(folder, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !/\.test\.ts$|codes\.ts$|error-description/.test(file))
      .map((file) => readFileSync(join(folder, file), "utf8"));
  });
}

/** Names of codes that stand in the sources as `"Name"` or `errorCodes.Name`. */
function usedCodes(): Set<string> {
  const used = new Set<string>();
  for (const text of sources()) {
    for (const [, quoted, property] of text.matchAll(/"([A-Z][A-Za-z]+)"|errorCodes\.([A-Za-z]+)/g)) {
      const name = quoted ?? property ?? "";
      if (Object.hasOwn(errorCodes, name)) {
        used.add(name);
      }
    }
  }
  return used;
}

it("docs/errors.md is what the table of codes gives", () => {
  expect(page("errors.md"), remedy).toBe(
    generator.renderErrors({ errorCodes, errorDescriptions, errorAreas }),
  );
});

it("every code that the sources name is described, and no other", () => {
  expect(Object.keys(errorDescriptions).sort()).toEqual([...usedCodes()].sort());
});

it("every code belongs to an area", () => {
  expect(Math.min(...Object.values(errorCodes))).toBeGreaterThanOrEqual(errorAreas[0]?.from ?? 0);
  const begins = errorAreas.map(({ from }) => from);
  expect(begins).toEqual(begins.toSorted((a, b) => a - b));
});

it("docs/commands.md is what the command table gives", () => {
  expect(page("commands.md"), remedy).toBe(generator.renderCommands(allCommands));
});

it("docs/cli-reference.md is what the tables of the command line give", () => {
  expect(page("cli-reference.md"), remedy).toBe(generator.renderCli(cli));
});
