/** Runs every snippet of docs/queues.md, in order, against two clusters, and compares what it prints. */
import { join } from "node:path";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment } from "../clients/real-yt.ts";
import { GuideRun, masked, readGuide, startArguments } from "./guide.ts";

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

  // Each builds on what those before it have made.
  let failed = false;
  it.each(guide.snippets)("line $line, $language", { timeout: 90_000 }, async (snippet) => {
    if (failed) {
      throw new Error("An earlier snippet failed");
    }
    failed = true;
    const args = startArguments(snippet);
    if (args !== undefined) {
      const real = args.map((arg) => run.toReal(arg));
      clusters = await startProcess({ args: ["--data-dir", join(run.folder.path, "data"), ...real] });
    } else {
      const { exit, stdout, stderr } = await run.run(snippet);
      expect({ exit, stderr, stdout: masked(stdout) }).toEqual({
        exit: 0,
        stderr: "",
        stdout: masked(snippet.output ?? ""),
      });
    }
    failed = false;
  });
});
