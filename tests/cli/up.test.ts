/** `qyt up` as a process: what it prints, what it refuses, how it stops. */

import { mkdir, open, readdir, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { mapOf } from "@qyt/base";
import { createClient } from "@qyt/client";
import { type ProgramProcess, startProcess, type TemporaryDirectory, temporaryDirectory } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { dataFormatVersion, openLmdbStore, WriteBatch } from "../../packages/server/src/cell/index.ts";
import { writeFormat } from "../../packages/server/src/cell/meta.ts";
import { qyt } from "./qyt.ts";

let folder: TemporaryDirectory;
const running: ProgramProcess[] = [];

beforeEach(async () => {
  folder = await temporaryDirectory("cli");
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((program) => program.kill()));
  await folder.remove();
});

async function up(...args: readonly string[]): Promise<ProgramProcess> {
  const program = await startProcess({ args: ["--data-dir", folder.path, ...args] });
  running.push(program);
  return program;
}

/** The URL that the process printed for a cluster. */
function urlOf(program: ProgramProcess, cluster: string): string {
  const url = new RegExp(`^cluster ${cluster} +(http://\\S+)`, "m").exec(program.output)?.[1];
  if (url === undefined) {
    throw new Error(`No address of ${cluster} in:\n${program.output}`);
  }
  return url;
}

const anyPort = "a=127.0.0.1:0";

describe("qyt up", () => {
  it("prints the addresses, the line to paste, and that it is ready; nothing on stderr", async () => {
    const outcome = await qyt(
      ["up", "--data-dir", folder.path, "--cluster", anyPort, "--cluster", "b=[::1]:0"],
      {
        stopAfter: "qyt is ready",
      },
    );
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(/^cluster a {2}http:\/\/127\.0\.0\.1:\d+ {2}data in \/.*\/a$/m);
    expect(outcome.stdout).toMatch(
      /^export YT_PROXY_URL_ALIASING_CONFIG='\{a="http:\/\/127\.0\.0\.1:\d+"; b="http:\/\/\[::1\]:\d+"\}'$/m,
    );
    expect(outcome.stdout).toMatch(/^queue agent {2}http:\/\/127\.0\.0\.1:\d+$/m);
    expect(outcome.stdout.endsWith("\nqyt is ready\n")).toBe(true);
  });

  it("starts no queue agent when told so", async () => {
    const { code, stdout } = await qyt(
      ["up", "--data-dir", folder.path, "--cluster", anyPort, "--no-queue-agent"],
      { stopAfter: "qyt is ready" },
    );
    expect({ code, hasAgent: stdout.includes("queue agent") }).toEqual({ code: 0, hasAgent: false });
  });

  it("logs JSON lines on stderr when asked to", async () => {
    const { stderr } = await qyt(
      ["up", "--data-dir", folder.path, "--cluster", anyPort, "--log-level", "info"],
      {
        stopAfter: "qyt is ready",
      },
    );
    const lines = stderr.trimEnd().split("\n");
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        level: expect.any(Number),
        cluster: "a",
        msg: expect.any(String),
      });
    }
  });

  it("keeps the data under ./qyt-data/NAME by default", async () => {
    await qyt(["up", "--cluster", anyPort], { cwd: folder.path, stopAfter: "qyt is ready" });
    expect(await readdir(join(folder.path, "qyt-data", "a"))).toContain("data.mdb");
  });

  it("starts what a configuration file says", async () => {
    const file = join(folder.path, "qyt.yson");
    await writeFile(
      file,
      '{clusters={p={address="127.0.0.1:0"};q={address="127.0.0.1:0"}};data_directory=here}',
    );
    const outcome = await qyt(["up", "--config", file], { stopAfter: "qyt is ready" });
    expect(outcome.code).toBe(0);
    expect((await readdir(join(folder.path, "here"))).sort()).toEqual(["p", "q"]);
  });

  it("lets the clusters know each other", async () => {
    const program = await up("--cluster", "a=127.0.0.1:0", "--cluster", "b=127.0.0.1:0");
    for (const name of ["a", "b"]) {
      const client = createClient({ proxy: urlOf(program, name), retries: false });
      expect(await client.get("//sys/@cluster_name")).toBe(name);
      expect([...((await client.list("//sys/clusters")) as string[])].sort()).toEqual(["a", "b"]);
      await client.close();
    }
  });
});

describe("qyt up refuses in one sentence, with exit code 1", () => {
  it("a data directory that another process has", async () => {
    const first = await up("--cluster", anyPort);
    const outcome = await qyt(["up", "--data-dir", folder.path, "--cluster", anyPort]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(
      /^qyt: Cluster a cannot start: Data directory ".*" is in use by another process.*\n$/,
    );
    const client = createClient({ proxy: urlOf(first, "a"), retries: false });
    expect(await client.exists("//tmp")).toBe(true);
    await client.close();
  });

  it("a port that is in use, and closes its other clusters", async () => {
    const server = createServer();
    const port = await new Promise<number>((resolve) => {
      server.listen(0, "127.0.0.1", () => {
        const address = server.address();
        resolve(typeof address === "object" && address !== null ? address.port : 0);
      });
    });
    const outcome = await qyt([
      "up",
      "--data-dir",
      folder.path,
      "--cluster",
      anyPort,
      "--cluster",
      `b=127.0.0.1:${port}`,
    ]);
    server.close();
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(
      new RegExp(`^qyt: Cluster b cannot start: .*127\\.0\\.0\\.1:${port}.*\\n$`),
    );
    expect(outcome.stderr).toMatch(/in use/);
    await up("--cluster", anyPort);
  });

  it("a data directory of a newer version", async () => {
    const store = await openLmdbStore(join(folder.path, "a"));
    const batch = new WriteBatch();
    writeFormat(batch, dataFormatVersion + 1);
    batch.seal();
    await store.commit(batch);
    await store.close();
    const outcome = await qyt(["up", "--data-dir", folder.path, "--cluster", anyPort]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^qyt: Cluster a cannot start: .*newer version of qyt.*\n$/);
  });

  it("a data directory that is a file", async () => {
    await writeFile(join(folder.path, "a"), "");
    const outcome = await qyt(["up", "--data-dir", folder.path, "--cluster", anyPort]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^qyt: Cluster a cannot start: .*\n$/);
  });

  it("a data directory where none can be made", async () => {
    // Where there is no /proc the root of the file system is asked for a name that it cannot have.
    const directory = process.platform === "linux" ? "/proc/qyt/data" : join(folder.path, "\0");
    const outcome = await qyt(["up", "--data-dir", directory, "--cluster", anyPort]);
    expect(outcome).toMatchObject({ code: 1, stdout: "" });
    expect(outcome.stderr).toMatch(/^qyt: .*\n$/);
  });
});

/** A request whose body has not come to its end. */
class HalfSentInsert {
  readonly status: Promise<number>;
  readonly #finish: () => void;

  constructor(url: string, path: string) {
    const { hostname, port } = new URL(url);
    const outgoing = request({
      host: hostname,
      port,
      method: "PUT",
      path: "/api/v4/insert_rows",
      headers: {
        "x-yt-header-format": "<format=text>yson",
        "x-yt-parameters": `{path="${path}";input_format=yson}`,
      },
    });
    this.status = new Promise((resolve, reject) => {
      outgoing.once("error", reject);
      outgoing.once("response", (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
    });
    outgoing.write("{data=first};");
    this.#finish = () => outgoing.end("{data=second};");
  }

  finish(): void {
    this.#finish();
  }
}

async function queueOn(url: string, path: string): Promise<void> {
  const client = createClient({ proxy: url, retries: false });
  await client.create("table", path, {
    attributes: mapOf({ dynamic: true, schema: [mapOf({ name: "data", type: "string" })] }),
  });
  await client.mountTable(path);
  while ((await client.get(`${path}/@tablet_state`)) !== "mounted") {
    // The next answer may differ.
  }
  await client.close();
}

/** Resolves when the server refuses connections, as it does once it is stopping. */
async function refusesConnections(url: string): Promise<void> {
  for (let tries = 0; tries < 10_000; ++tries) {
    const isOpen = await fetch(`${url}/ping`, { headers: { connection: "close" } }).then(
      (response) => response.status !== 503,
      () => false,
    );
    if (!isOpen) {
      return;
    }
  }
  throw new Error(`${url} still takes requests`);
}

describe("stopping qyt up", () => {
  it.each(["SIGTERM", "SIGINT"] as const)("%s: exits with 0", async (signal) => {
    const program = await up("--cluster", anyPort);
    expect(await program.stop(signal)).toEqual({ code: 0, signal: null });
  });

  it("finishes what is under way first", async () => {
    const program = await up("--cluster", anyPort);
    const url = urlOf(program, "a");
    await queueOn(url, "//tmp/q");
    const insert = new HalfSentInsert(url, "//tmp/q");
    // The server has the request once it answers a later one.
    await fetch(`${url}/ping`);
    const exit = program.stop("SIGTERM");
    await refusesConnections(url);
    insert.finish();
    expect(await insert.status).toBe(200);
    expect(await exit).toEqual({ code: 0, signal: null });

    const again = await up("--cluster", anyPort);
    const client = createClient({ proxy: urlOf(again, "a"), retries: false });
    expect((await client.pullQueue("//tmp/q", 0n, 0)).map((row) => row.data)).toEqual(["first", "second"]);
    await client.close();
  });

  it("ends at once at a second Ctrl-C", async () => {
    const program = await up("--cluster", anyPort);
    const url = urlOf(program, "a");
    await queueOn(url, "//tmp/q");
    const insert = new HalfSentInsert(url, "//tmp/q");
    const status = insert.status.catch(() => 0);
    await fetch(`${url}/ping`);
    const before = performance.now();
    // One that follows at once is taken for the same one: npm hands on what the terminal has sent.
    const again = setInterval(() => void program.stop("SIGINT"), 20);
    expect(await program.stop("SIGINT")).toEqual({ code: 130, signal: null });
    clearInterval(again);
    expect(performance.now() - before).toBeLessThan(5000);
    expect(await status).toBe(0);
  });

  it("leaves nothing locked when it is killed", async () => {
    let program = await up("--cluster", anyPort);
    for (let i = 0; i < 3; ++i) {
      expect(await program.kill()).toEqual({ code: null, signal: "SIGKILL" });
      program = await up("--cluster", anyPort);
    }
  });
});

describe("qyt check", () => {
  it("finds nothing wrong with sound data", async () => {
    const program = await up("--cluster", anyPort);
    expect((await qyt(["check", join(folder.path, "a")])).stderr).toMatch(/in use by another process/);
    await program.stop();
    const outcome = await qyt(["check", folder.path]);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
    expect(outcome.stdout).toMatch(/\/a: no damage in \d+ records/);
  });

  it("finds flipped bits and exits with 1", async () => {
    const program = await up("--cluster", anyPort);
    await queueOn(urlOf(program, "a"), "//tmp/q");
    const client = createClient({ proxy: urlOf(program, "a"), retries: false });
    const text = "a text that is easily found again";
    await client.insertRows("//tmp/q", [{ data: text }]);
    await client.close();
    await program.stop();
    await flipBit(join(folder.path, "a", "data.mdb"), text);
    const outcome = await qyt(["check", join(folder.path, "a")]);
    expect(outcome.code).toBe(1);
    expect(outcome.stdout).toMatch(/\/a: damaged/);
    expect(outcome.stdout).toMatch(/1 damaged records?/);
  });

  it("says that there is nothing to check", async () => {
    await mkdir(join(folder.path, "empty"));
    const outcome = await qyt(["check", join(folder.path, "empty")]);
    expect(outcome.code).toBe(1);
    expect(outcome.stderr).toMatch(/^qyt: There is no data directory/);
  });
});

/** Changes one bit wherever the text is in the file. */
async function flipBit(file: string, text: string): Promise<void> {
  const handle = await open(file, "r+");
  try {
    const bytes = await handle.readFile();
    const places: number[] = [];
    for (let at = bytes.indexOf(text); at !== -1; at = bytes.indexOf(text, at + 1)) {
      places.push(at);
    }
    expect(places.length).toBeGreaterThan(0);
    for (const at of places) {
      await handle.write(Buffer.of((bytes[at] ?? 0) ^ 1), 0, 1, at);
    }
  } finally {
    await handle.close();
  }
}
