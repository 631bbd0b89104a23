/** The import rules are worth something only while breaking one is seen: each kind is planted and must be found. */
import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { temporaryDirectory } from "@qyt/testing";
import { expect, it } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** Runs the rules over a tree of these files and gives the names of the rules that were broken. */
async function brokenRules(files: Readonly<Record<string, string>>): Promise<string[]> {
  const directory = await temporaryDirectory("rules");
  try {
    for (const [path, text] of Object.entries({ "tsconfig.base.json": "{}", ...files })) {
      await mkdir(dirname(join(directory.path, path)), { recursive: true });
      await writeFile(join(directory.path, path), text);
    }
    const result = spawnSync(
      process.execPath,
      [
        join(root, "node_modules/dependency-cruiser/bin/dependency-cruise.mjs"),
        "--config",
        join(root, ".dependency-cruiser.cjs"),
        "--output-type",
        "json",
        "packages",
      ],
      { cwd: directory.path, encoding: "utf8" },
    );
    const report: { summary: { violations: { rule: { name: string } }[]; totalCruised: number } } =
      JSON.parse(result.stdout);
    expect(report.summary.totalCruised, result.stderr).toBeGreaterThan(0);
    return report.summary.violations.map(({ rule }) => rule.name);
  } finally {
    await directory.remove();
  }
}

it("lets an allowed import pass", async () => {
  const rules = await brokenRules({
    "packages/base/src/index.ts": "export const one: number = 1;\n",
    "packages/yson/src/index.ts":
      'import { one } from "../../base/src/index.ts";\nexport const two: number = one + 1;\n',
  });
  expect(rules).toEqual([]);
});

it("finds a package that imports upwards", async () => {
  const rules = await brokenRules({
    "packages/server/src/index.ts": "export const one: number = 1;\n",
    "packages/client/src/index.ts":
      'import { one } from "../../server/src/index.ts";\nexport const two: number = one;\n',
  });
  expect(rules).toContain("package-client");
});

it("finds a room that imports upwards, types included", async () => {
  const rules = await brokenRules({
    "packages/server/src/http/index.ts": "export interface Request { readonly path: string }\n",
    "packages/server/src/cell/index.ts":
      'import type { Request } from "../http/index.ts";\nexport type Key = Request["path"];\n',
  });
  expect(rules).toContain("room-cell");
});

it("finds a cycle", async () => {
  const rules = await brokenRules({
    "packages/base/src/a.ts": 'import { b } from "./b.ts";\nexport const a: number = b;\n',
    "packages/base/src/b.ts": 'import { a } from "./a.ts";\nexport const b: number = a;\n',
  });
  expect(rules).toContain("no-cycles");
});
