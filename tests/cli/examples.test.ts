/** The examples do what they say. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startProcess, temporaryDirectory } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { readConfig } from "../../packages/cli/src/up/config.ts";

function example(name: string): string {
  return fileURLToPath(new URL(`../../examples/${name}`, import.meta.url));
}

describe("examples", () => {
  it("two-clusters.yson is a configuration file", async () => {
    const { clusters } = await readConfig(example("two-clusters.yson"));
    expect(Object.keys(clusters ?? {})).toEqual(["pythia", "freud"]);
  });

  it("produce-and-consume.mjs counts each word once, however often it runs", async () => {
    const folder = await temporaryDirectory("examples");
    const program = await startProcess({ args: ["--data-dir", folder.path, "--cluster", "a=127.0.0.1:0"] });
    try {
      const proxy = /http:\S+/.exec(program.output)?.[0] ?? "";
      const run = async (): Promise<string> => {
        const { stdout } = await promisify(execFile)(process.execPath, [example("produce-and-consume.mjs")], {
          env: { ...process.env, YT_PROXY: proxy },
        });
        return stdout;
      };
      const counts = "be: 2\nis: 1\nnot: 1\nor: 1\nquestion: 1\nthat: 1\nthe: 1\nto: 2\n";
      expect(await run()).toBe(`sent 10 words, of which 0 were there already\n${counts}`);
      expect(await run()).toBe(`sent 10 words, of which 10 were there already\n${counts}`);
    } finally {
      await program.stop();
      await folder.remove();
    }
  });
});
