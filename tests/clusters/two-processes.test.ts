/** Runs every step of docs/clusters.md in two processes, one for each configuration file of the page. */
import { join } from "node:path";
import { type ProgramProcess, startProcess } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasEnvironment } from "../clients/real-yt.ts";
import { GuideRun, readGuide, startArguments, testSnippets } from "../guides/guide.ts";

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

  testSnippets(
    guide,
    () => run,
    async (snippet) => {
      const config = startArguments(snippet)?.[1];
      if (config === undefined) {
        return false;
      }
      await start(config);
      return true;
    },
  );
});
