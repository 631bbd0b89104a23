/** Runs every step of docs/clusters.md in two processes, one for each configuration file of the page. */
import { join } from "node:path";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment } from "../clients/real-yt.ts";
import { GuideRun, masked, readGuide, startArguments } from "../guides/guide.ts";

const guide = readGuide("clusters.md");

describe.skipIf(!hasEnvironment("full"))("docs/clusters.md", () => {
  let run: GuideRun;
  const processes = new Map<string, ProgramProcess>();
  beforeAll(async () => {
    run = await GuideRun.prepare(guide, [8001, 8002]);
  });
  afterAll(async () => {
    await Promise.all([...processes.values()].map((program) => program.stop()));
    await run?.folder.remove();
  });

  /** Starts a process with the file; one that runs is ended by Ctrl-C first. */
  async function start(config: string): Promise<void> {
    const running = processes.get(config);
    if (running !== undefined) {
      expect(await running.stop("SIGINT")).toEqual({ code: 0, signal: null });
    }
    processes.set(config, await startProcess({ args: ["--config", join(run.folder.path, config)] }));
  }

  it("two configuration files, for two processes", () => {
    expect(guide.files.map(({ name }) => name)).toEqual(["pythia.yson", "freud.yson"]);
  });

  // Each builds on what those before it have made.
  let failed = false;
  it.each(guide.snippets)("line $line, $language", { timeout: 90_000 }, async (snippet) => {
    if (failed) {
      throw new Error("An earlier step failed");
    }
    failed = true;
    const config = startArguments(snippet)?.[1];
    if (config !== undefined) {
      await start(config);
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
