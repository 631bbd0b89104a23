/** The cluster that keeps the state is killed under its agent and comes back: the agent goes on by itself. */
import { join } from "node:path";
import { mapOf } from "@qyt/base";
import { createClient, type YtClient } from "@qyt/client";
import {
  freePort,
  ProgramProcess,
  startAgentProcess,
  startProcess,
  type TemporaryDirectory,
  temporaryDirectory,
} from "@qyt/testing";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually, queueSchema } from "./agent-fixture.ts";

let folder: TemporaryDirectory;
let server: ProgramProcess;
let agent: ProgramProcess;
let client: YtClient;

beforeAll(async () => {
  folder = await temporaryDirectory("agent-restart");
  const address = `127.0.0.1:${await freePort()}`;
  server = await startProcess({
    args: ["--data-dir", folder.path, "--cluster", `pythia=${address}`, "--no-queue-agent"],
  });
  client = createClient({ proxy: address, retries: false });
  agent = await startAgentProcess({ args: ["--proxy", address] });
});
afterAll(async () => {
  await agent?.kill();
  await server?.kill();
  await client?.close();
  await folder?.remove();
});

async function createQueue(path: string): Promise<void> {
  await client.create("table", path, { attributes: mapOf({ dynamic: true, schema: queueSchema }) });
  await client.mountTable(path);
}

async function partitionCount(path: string): Promise<unknown> {
  return Object(fromYson(await client.get(`${path}/@queue_status`))).partition_count;
}

it("serves the statuses of old and new queues after the cluster was killed", async () => {
  await createQueue("//tmp/old");
  await eventually(async () => {
    expect(await partitionCount("//tmp/old")).toBe(1n);
  });
  server = await server.restart("SIGKILL");
  await createQueue("//tmp/new");
  await eventually(async () => {
    expect(await partitionCount("//tmp/old")).toBe(1n);
    expect(await partitionCount("//tmp/new")).toBe(1n);
  }, 30_000);
  await eventually(async () => {
    const instances = Object.keys(Object(fromYson(await client.get("//sys/queue_agents/instances"))));
    expect(instances).toHaveLength(1);
    const alerts = await client.get(`//sys/queue_agents/instances/${instances[0]}/orchid/alerts`);
    expect(fromYson(alerts)).toEqual({});
  });
}, 90_000);

it("waits for a cluster that starts after it", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const early = ProgramProcess.spawn({ args: ["queue-agent", "--proxy", address] });
  try {
    await early.waitForOutput("trying again");
    const late = await startProcess({
      args: ["--data-dir", join(folder.path, "late"), "--cluster", `late=${address}`, "--no-queue-agent"],
    });
    try {
      await early.waitForOutput("qyt queue-agent is ready");
      expect(await early.stop("SIGTERM")).toEqual({ code: 0, signal: null });
    } finally {
      await late.kill();
    }
  } finally {
    await early.kill();
  }
}, 90_000);

it("ends at once when it is stopped while it waits", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const waiting = ProgramProcess.spawn({ args: ["queue-agent", "--proxy", address] });
  await waiting.waitForOutput("trying again");
  expect(await waiting.stop("SIGTERM")).toEqual({ code: 0, signal: null });
});
