/** What is installed without the checkout: by the steps of the image, without a network, in an empty folder. */
import { execFile, spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { temporaryDirectory } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig } from "../../packages/cli/src/up/config.ts";

const run = promisify(execFile);
const checkout = fileURLToPath(new URL("../../", import.meta.url));
let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let installed = "";

beforeAll(async () => {
  folder = await temporaryDirectory("delivery");
  installed = join(folder.path, "qyt");
  // npm is told to be offline, with an empty cache: whatever the tarballs lack is missing.
  await run("sh", [join(checkout, "deploy/install.sh"), installed], { timeout: 120_000 });
}, 150_000);

afterAll(() => folder.remove());

describe("an installation from tarballs", () => {
  it("has the command, which serves a cluster and speaks to it", async () => {
    const qyt = join(installed, "bin/qyt");
    const { stdout: version } = await run(qyt, ["--version"]);
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
    const server = spawn(qyt, [
      "up",
      "--data-dir",
      join(folder.path, "data"),
      "--cluster",
      "pythia=127.0.0.1:0",
    ]);
    try {
      const proxy = await new Promise<string>((resolve, reject) => {
        let output = "";
        server.stdout.setEncoding("utf8").on("data", (text: string) => {
          output += text;
          if (output.includes("qyt is ready")) {
            resolve(/http:\/\/127\.0\.0\.1:\d+/.exec(output)?.[0] ?? "");
          }
        });
        server.once("exit", (code) => reject(new Error(`ended with ${code}: ${output}`)));
      });
      const env = { ...process.env, YT_PROXY: proxy };
      await run(qyt, ["queue", "create", "//tmp/q"], { env });
      const { stdout } = await run(qyt, ["get", "//tmp/q/@tablet_state"], { env });
      expect(stdout).toBe('"mounted"\n');
    } finally {
      server.removeAllListeners("exit");
      const ended = new Promise((resolve) => server.once("exit", resolve));
      server.kill("SIGTERM");
      await ended;
    }
  });

  it("has the SDK, which a program of one's own imports", async () => {
    const program =
      'import { createClient, schema } from "@qyt/client"; console.log(typeof createClient, typeof schema)';
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", program], {
      cwd: installed,
    });
    expect(stdout).toBe("function function\n");
  });
});

describe("files of the deployment", () => {
  it("the unit and the image run what the installation has", async () => {
    const unit = await readFile(join(checkout, "deploy/qyt.service"), "utf8");
    const image = await readFile(join(checkout, "deploy/Dockerfile"), "utf8");
    expect(unit).toMatch(/^ExecStart=\/opt\/qyt\/bin\/qyt up /m);
    expect(image).toContain("RUN sh deploy/install.sh /opt/qyt");
    expect(image).toContain("PATH=/opt/qyt/bin:$PATH");
  });

  it("the configurations of the image and of the compose file are such as qyt reads", async () => {
    const { clusters } = await readConfig(join(checkout, "deploy/qyt.yson"));
    expect(Object.keys(clusters ?? {})).toEqual(["primary"]);
    const compose = await readFile(join(checkout, "deploy/compose.yaml"), "utf8");
    const contents = [...compose.matchAll(/content: \|\n((?: {6}.*\n)+)/g)].map(([, text]) => text ?? "");
    expect(contents).toHaveLength(2);
    for (const [index, text] of contents.entries()) {
      const file = join(folder.path, `${index}.yson`);
      await writeFile(file, text);
      expect(Object.keys((await readConfig(file)).clusters ?? {})).toHaveLength(1);
    }
  });
});
