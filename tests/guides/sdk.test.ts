/** Runs every snippet of docs/sdk.md, in order, against a cluster, and compares what it prints. */
import { join } from "node:path";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe } from "vitest";
import { GuideRun, readGuide, startArguments, testSnippets } from "./guide.ts";

const guide = readGuide("sdk.md");

describe("docs/sdk.md", () => {
  let run: GuideRun;
  let cluster: ProgramProcess | undefined;
  beforeAll(async () => {
    run = await GuideRun.prepare(guide, [8001]);
  });
  afterAll(async () => {
    await cluster?.stop();
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
      cluster = await startProcess({ args: ["--data-dir", join(run.folder.path, "data"), ...args] });
      return true;
    },
  );
});
