import { spawnSync } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { temporaryDirectory } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { qyt } from "./qyt.ts";

describe("qyt", () => {
  it("says what to do when it is not built", async () => {
    const folder = await temporaryDirectory("unbuilt");
    await mkdir(join(folder.path, "bin"));
    await writeFile(join(folder.path, "package.json"), '{"type":"module"}');
    await cp(new URL("../../packages/cli/bin/qyt.js", import.meta.url), join(folder.path, "bin", "qyt.js"));
    const outcome = spawnSync(process.execPath, [join(folder.path, "bin", "qyt.js"), "up"], {
      encoding: "utf8",
    });
    await folder.remove();
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toMatch(/^qyt is not built yet: run `npm run build`.*\n$/);
  });

  it("prints its version", async () => {
    const { version } = JSON.parse(
      await readFile(new URL("../../packages/cli/package.json", import.meta.url), "utf8"),
    ) as { version: string };
    expect(await qyt(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  });

  it("shows its commands with an example", async () => {
    const { code, stdout } = await qyt(["--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^ {2}up /m);
    expect(stdout).toMatch(/^ {2}check /m);
    expect(stdout).toMatch(/^ {2}queue-agent /m);
    expect(stdout).toContain("qyt up --cluster pythia --cluster freud");
  });

  it("shows the options of up with examples", async () => {
    const { code, stdout } = await qyt(["up", "--help"]);
    expect(code).toBe(0);
    for (const option of [
      "--data-dir <dir>",
      "--cluster <name[=host:port]>",
      "--config <file>",
      "--log-level <level>",
    ]) {
      expect(stdout).toContain(option);
    }
    expect(stdout).toContain("qyt up --config qyt.yson");
  });

  it("shows the options of queue-agent with an example", async () => {
    const { code, stdout } = await qyt(["queue-agent", "--help"]);
    expect(code).toBe(0);
    for (const option of ["--config <file>", "--proxy <address>", "--stage <name>", "--listen <host:port>"]) {
      expect(stdout).toContain(option);
    }
    expect(stdout).toContain("qyt queue-agent --config agent.yson");
  });

  it("answers a command line that it cannot read with exit code 2", async () => {
    expect(await qyt(["down"])).toMatchObject({ code: 2, stdout: "" });
    const { code, stderr } = await qyt(["lisst", "//tmp"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: "qyt: error: unknown command 'lisst'\n(Did you mean list?)\n(qyt --help shows what it takes)\n",
    });
  });

  it.each([
    [["up", "--claster", "a"], /unknown option '--claster'\n\(Did you mean --cluster\?\)/],
    [["up", "--cluster", "a=0.0.0.0:8000"], /^qyt: Cluster a cannot listen on 0\.0\.0\.0:8000: .*\n$/],
    [["up", "--log-level", "loud"], /^qyt: "loud" is not a log level: .*\n$/],
    [["queue-agent"], /^qyt: No cluster is named: use --proxy, or --config with a file that has a proxy\n$/],
    [["queue-agent", "--config", "/nowhere/a.yson"], /^qyt: Cannot read the configuration file: .*\n$/],
    [["queue-agent", "--proxy", "a:1", "--listen", "a"], /^qyt: "a" is not an address to listen on: .*\n$/],
    [["up", "--config", "/nowhere/qyt.yson"], /^qyt: Cannot read the configuration file: .*\n$/],
    [["check", "/nowhere"], /^qyt: There is no data directory of a cluster at "\/nowhere"\n$/],
  ])("qyt %j: says what is wrong on stderr and exits with 1", async (args, message) => {
    const { code, stdout, stderr } = await qyt(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(message);
  });
});
