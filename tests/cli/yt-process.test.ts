/** `qyt` as a client in a process: what it loads to start, and inputs and outputs that are not held whole. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import {
  type ProgramProcess,
  runProgram,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const script = fileURLToPath(new URL("../../packages/cli/bin/qyt.js", import.meta.url));
const hook = new URL("./loaded-modules.mjs", import.meta.url).href;

describe("qyt as a client", () => {
  let folder: TemporaryDirectory;
  let clusters: ProgramProcess;
  beforeAll(async () => {
    folder = await temporaryDirectory("yt-process");
    const data = join(folder.path, "data");
    clusters = await startProcess({
      args: ["--data-dir", data, "--cluster", "a=127.0.0.1:0", "--no-queue-agent"],
    });
  });
  afterAll(async () => {
    await clusters?.stop();
    await folder?.remove();
  });

  const bash = (line: string, stdin: Uint8Array = Buffer.alloc(0)) =>
    runProgram(
      "bash",
      ["-o", "pipefail", "-c", `qyt() { '${process.execPath}' '${script}' "$@"; }\n${line}`],
      {
        cwd: folder.path,
        timeoutMs: 60_000,
        stdin,
        env: {
          PATH: process.env["PATH"] ?? "",
          HOME: folder.path,
          YT_PROXY: /http:\S+/.exec(clusters.output)?.[0] ?? "",
        },
      },
    );

  const loadedBy = async (args: readonly string[], name: string): Promise<string> => {
    const file = join(folder.path, name);
    const env = { QYT_LOADED_MODULES: file, YT_PROXY: /http:\S+/.exec(clusters.output)?.[0] ?? "" };
    const options = { cwd: folder.path, timeoutMs: 30_000, env };
    expect(await runProgram(process.execPath, ["--import", hook, script, ...args], options)).toMatchObject({
      exit: 0,
    });
    return readFile(file, "utf8");
  };

  it("loads for help neither libraries nor the client, and for a command no server", async () => {
    const help = await loadedBy(["get", "--help"], "help");
    expect(help).toContain("/cli/dist/help.js");
    expect(help).not.toMatch(/commander|zod|undici|packages\/(base|client|server)\//);
    const command = await loadedBy(["exists", "//tmp"], "command");
    expect(command).toContain("/client/dist/core.js");
    expect(command).not.toMatch(/commander|zod|pino|undici|packages\/(server|queue-agent)\//);
  });

  it("passes on a file that is larger than what it keeps to repeat a request", async () => {
    const size = 24 * 1024 * 1024;
    const { stdout, stderr, exit } = await bash(
      `head -c ${size} /dev/urandom > big && qyt write-file //tmp/big < big && qyt read-file //tmp/big | cmp - big && wc -c < big`,
    );
    expect({ exit, stderr, stdout: stdout.trim() }).toEqual({ exit: 0, stderr: "", stdout: String(size) });
  });

  it("ends quietly when its reader has enough", async () => {
    const { stderr, stdout } = await bash("qyt read-file //tmp/big | head -c 1 | wc -c");
    expect({ stderr, stdout: stdout.trim() }).toEqual({ stderr: "", stdout: "1" });
  });

  it("leaves nothing behind when the rows of write-table are refused", async () => {
    const refused = await bash("qyt write-table //tmp/refused --format json", Buffer.from("{broken"));
    expect(refused).toMatchObject({ exit: 1, stdout: "" });
    expect(await bash("qyt exists //tmp/refused")).toMatchObject({ exit: 0, stdout: "false\n" });
  });

  it("sends a compressed stream as it is", async () => {
    const rows = gzipSync('{"a":7}\n');
    expect(await bash("qyt write-table //tmp/packed --format json --compressed", rows)).toMatchObject({
      exit: 0,
      stderr: "",
    });
    expect(await bash("qyt read-table //tmp/packed --format json")).toMatchObject({ stdout: '{"a":7}\n' });
  });

  it("prints completion that the shell can read", async () => {
    expect(await bash("qyt completion bash | bash -n && qyt completion tcsh")).toMatchObject({
      exit: 1,
      stderr: 'qyt: There is no completion for "tcsh": use bash, zsh, fish\n',
    });
    const { stdout } = await bash(
      "source <(qyt completion bash); COMP_WORDS=(qyt pull-queue --part); COMP_CWORD=2; _qyt; echo $COMPREPLY",
    );
    expect(stdout).toBe("--partition-index\n");
  });
});
