/** Runs every snippet of docs/queues.md, in order, against two clusters, and compares what it prints. */
import { join } from "node:path";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment } from "../clients/real-yt.ts";
import { GuideRun, readGuide, startArguments, testSnippets } from "./guide.ts";

const guide = readGuide("queues.md");

describe.skipIf(!hasEnvironment("full"))("docs/queues.md", () => {
  let run: GuideRun;
  let clusters: ProgramProcess | undefined;
  beforeAll(async () => {
    run = await GuideRun.prepare(guide, [8001, 8002]);
  });
  afterAll(async () => {
    await clusters?.stop();
    await run?.folder.remove();
  });

  it("has snippets in all four ways", () => {
    const languages = new Set(guide.snippets.map(({ language }) => language));
    expect([...languages].sort()).toEqual(["bash", "python", "typescript"]);
    expect(guide.snippets.some(({ text }) => text.includes("curl "))).toBe(true);
    expect(guide.snippets.some(({ text }) => text.includes("yt --proxy"))).toBe(true);
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
