/** Runs every snippet of docs/cli.md, in order, against two clusters, and compares what it prints. */
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { GuideRun, readGuide, startArguments, testSnippets } from "./guide.ts";

const guide = readGuide("cli.md");
const script = fileURLToPath(new URL("../../packages/cli/bin/qyt.js", import.meta.url));

describe("docs/cli.md", () => {
  let run: GuideRun;
  let clusters: ProgramProcess | undefined;
  beforeAll(async () => {
    run = await GuideRun.prepare(guide, [8001, 8002]);
    // As an installed package would have it.
    const bin = join(run.folder.path, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "qyt"), `#!/bin/sh\nexec '${process.execPath}' '${script}' "$@"\n`);
    await chmod(join(bin, "qyt"), 0o755);
  });
  afterAll(async () => {
    await clusters?.stop();
    await run?.folder.remove();
  });

  testSnippets(
    guide,
    () => run,
    async (snippet) => {
      const args = startArguments(snippet)?.map((arg) => run.toReal(arg));
      if (args === undefined) {
        return false;
      }
      clusters = await startProcess({ args: ["--data-dir", join(run.folder.path, "data"), ...args] });
      return true;
    },
  );
});
