/** What clients read of queues, consumers and producers through Cypress while queue agents run, and while none does. */
import { mapOf, type YsonValue } from "@qyt/base";
import { fromYson, toYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startClusters, type TestCluster } from "../queue-api/fixture.ts";
import { FakeAgent } from "./fake-agent.ts";

const status = {
  family: "ordered_dynamic_table",
  partition_count: 1,
  write_row_count_rate: { current: 1.5, "1m": 2.5 },
};
const partitions = [{ available_row_count: 0, upper_row_index: 0 }];

let primary: TestCluster;
let remote: TestCluster;
let agent: FakeAgent;

beforeAll(async () => {
  [primary, remote] = (await startClusters("primary", "remote")) as [TestCluster, TestCluster];
  agent = await FakeAgent.start();
  await agent.join(primary, "production");
  await primary.createQueue("//tmp/q");
  await primary.createQueue("//tmp/fresh");
  await primary.createConsumer("//tmp/c");
  await primary.createProducer("//tmp/p");
  agent.knows("queues", "primary://tmp/q", { status, partitions });
  agent.knows("consumers", "primary://tmp/c", {
    status: { queues: { "primary://tmp/q": { partition_count: 1 } } },
    partitions: { "primary://tmp/q": [{ next_row_index: 0 }] },
  });
});

afterAll(async () => {
  await agent?.stop();
  await remote?.close();
  await primary?.close();
});

async function get(path: string, cluster = primary): Promise<unknown> {
  return fromYson(await cluster.root.get(path));
}

async function attributesOf(path: string): Promise<Map<string, YsonValue>> {
  return (await primary.root.get(`${path}/@`)) as Map<string, YsonValue>;
}

describe("the status of a queue", () => {
  it("[queue-agent 32] is a resolve error until the agent has seen the queue", async () => {
    const { codes, text } = await failureOf(get("//tmp/fresh/@queue_status"));
    expect(codes[0]).toBe(500);
    expect(text).toMatch(/The queue agent has not seen queue \/\/tmp\/fresh yet: it exists for \d+\.\d s/);
    expect(text).toContain("Object primary://tmp/fresh is not mapped to any queue agent");
    expect(codes).toContain(3105);
    agent.knows("queues", "primary://tmp/fresh", { status, partitions });
    expect(await get("//tmp/fresh/@queue_status/partition_count")).toBe(1n);
  });

  it("is the same resolve error while the queue is given to another agent", async () => {
    agent.moving.add("queues/primary://tmp/q");
    const { codes, text } = await failureOf(get("//tmp/q/@queue_status"));
    expect(codes[0]).toBe(500);
    expect(text).toContain("The queue agent has not seen queue //tmp/q yet");
    expect(text).toContain("Object primary://tmp/q is missing");
    agent.moving.clear();
  });

  it("[queue-agent 33] comes with its partitions", async () => {
    expect(await get("//tmp/q/@queue_status")).toEqual(fromYson(toYson(status)));
    expect(await get("//tmp/q/@queue_partitions")).toEqual([
      { available_row_count: 0n, upper_row_index: 0n },
    ]);
  });

  it("is asked for by paths of any depth, with every reading command", async () => {
    agent.questions.length = 0;
    const rate = "//tmp/q/@queue_status/write_row_count_rate";
    expect(await get(`${rate}/1m`)).toBe(2.5);
    expect(await get("//tmp/q/@queue_partitions/0/available_row_count")).toBe(0n);
    expect(await primary.root.list(rate)).toEqual(["current", "1m"]);
    expect(await primary.root.exists(`${rate}/1m`)).toBe(true);
    expect(await primary.root.exists(`${rate}/1y`)).toBe(false);
    const queue = "/queue_agent/queues/primary:\\/\\/tmp\\/q";
    expect(agent.questions).toEqual([
      `get ${queue}/status/write_row_count_rate/1m`,
      `get ${queue}/partitions/0/available_row_count`,
      `list ${queue}/status/write_row_count_rate`,
      `exists ${queue}/status/write_row_count_rate/1m`,
      `exists ${queue}/status/write_row_count_rate/1y`,
    ]);
    const { codes, text } = await failureOf(get(`${rate}/1y`));
    expect(codes).toEqual([500, 500]);
    expect(text).toContain(`Error resolving path ${rate}/1y`);
  });

  it("is there as an attribute whoever answers, and is not asked for by that", async () => {
    agent.questions.length = 0;
    expect(await primary.root.exists("//tmp/q/@queue_status")).toBe(true);
    expect(await primary.root.list("//tmp/q/@")).toContain("queue_status");
    expect(agent.questions).toEqual([]);
  });

  it("[queue-agent 34] is opaque, and asked for when an attribute filter names it", async () => {
    agent.questions.length = 0;
    const all = await attributesOf("//tmp/q");
    expect(all.get("queue_status")).toBe(null);
    expect(all.get("queue_partitions")).toBe(null);
    expect(agent.questions).toEqual([]);
    const named = ["queue_status", "queue_partitions", "dynamic"];
    expect(fromYson(await primary.root.get("//tmp/q/@", { attributes: named }))).toMatchObject({
      queue_status: { partition_count: 1n },
      queue_partitions: [{ available_row_count: 0n }],
      dynamic: true,
    });
    const listed = (await primary.root.execute(
      "list",
      { path: "//tmp", attributes: mapOf({ keys: ["type"], paths: ["/queue_status/partition_count"] }) },
      { method: "GET" },
    )) as ReadonlyMap<string, YsonValue>;
    const items = listed.get("value") as { value: string; attributes: YsonValue }[];
    const queue = items.find(({ value }) => value === "q");
    expect(fromYson(queue?.attributes ?? null)).toEqual({
      type: "table",
      queue_status: { partition_count: 1n },
    });
  });

  it("goes through links and in a batch", async () => {
    await primary.link("//tmp/q", "//tmp/link");
    const answer = (await primary.root.execute("execute_batch", {
      requests: [
        mapOf({ command: "get", parameters: mapOf({ path: "//tmp/link/@queue_status/partition_count" }) }),
        mapOf({ command: "exists", parameters: mapOf({ path: "//tmp/q/@queue_status/none" }) }),
      ],
    })) as ReadonlyMap<string, YsonValue>;
    expect(fromYson(answer.get("results") ?? null)).toEqual([
      { output: { value: 1n } },
      { output: { value: false } },
    ]);
  });

  it("cannot be set", async () => {
    const { text } = await failureOf(primary.set("//tmp/q/@queue_status/partition_count", 2));
    expect(text).toContain('Attribute "queue_status" cannot be set');
  });
});

it("[queue-agent 35] a consumer's status and partitions tell of its queues, and are opaque", async () => {
  expect(await get("//tmp/c/@queue_consumer_status/queues")).toEqual({
    "primary://tmp/q": { partition_count: 1n },
  });
  expect(await get("//tmp/c/@queue_consumer_partitions")).toEqual({
    "primary://tmp/q": [{ next_row_index: 0n }],
  });
  const all = await attributesOf("//tmp/c");
  expect(all.get("queue_consumer_status")).toBe(null);
  expect(all.get("queue_consumer_partitions")).toBe(null);
});

it("[queue-agent 36] agents know nothing of producers", async () => {
  for (const name of ["queue_producer_status", "queue_producer_partitions"]) {
    const { text } = await failureOf(get(`//tmp/p/@${name}`));
    expect(text).toContain('Node /queue_agent has no child with key "producers"');
    expect((await attributesOf("//tmp/p")).get(name)).toBe(null);
  }
});

describe("the stage", () => {
  it("[queue-agent 37] is the default of the cluster unless the object has its own", async () => {
    const setting = "//sys/@config/queue_agent_server/default_queue_agent_stage";
    const stage = "//tmp/q/@queue_agent_stage";
    expect(await get(setting)).toBe("production");
    expect(await get(stage)).toBe("production");
    await primary.set(setting, "another");
    expect(await get(stage)).toBe("another");
    await primary.set(stage, "mine");
    expect(await get(stage)).toBe("mine");
    await primary.root.remove(stage);
    expect(await get(stage)).toBe("another");
    await primary.set(setting, "production");
    expect(await get("//tmp/c/@queue_agent_stage")).toBe("production");
  });

  it("[queue-agent 38] without an agent is an error that says what to do", async () => {
    await primary.set("//tmp/q/@queue_agent_stage", "testing");
    const { text } = await failureOf(get("//tmp/q/@queue_status"));
    expect(text).toContain('Queue agent stage "testing" is not found');
    expect(text).toContain("qyt queue-agent --config");
    await primary.root.remove("//tmp/q/@queue_agent_stage");
  });

  it("[queue-agent 39] cannot be changed in a transaction", async () => {
    const transactionId = await primary.root.startTransaction({ timeoutMs: 30_000 });
    const refused = "Operation cannot be performed in transaction";
    const path = "//tmp/q/@queue_agent_stage";
    const set = primary.root.set(path, Buffer.from("testing"), { transactionId });
    expect((await failureOf(set)).text).toContain(refused);
    await primary.set(path, "production");
    expect((await failureOf(primary.root.remove(path, { transactionId }))).text).toContain(refused);
    await primary.root.abortTransaction(transactionId);
    await primary.root.remove(path);
  });

  it("[queue-agent 40] is of dynamic tables only, and the status of queues only", async () => {
    const column = { name: "data", type: "string" };
    const key = { name: "key", type: "string", sort_order: "ascending" };
    await primary.root.create("table", "//tmp/static", { attributes: mapOf({ schema: toYson([column]) }) });
    await primary.root.create("table", "//tmp/sorted", {
      attributes: mapOf({ dynamic: true, schema: toYson([key, column]) }),
    });
    for (const path of ["//tmp/static", "//tmp/sorted"]) {
      const all = await attributesOf(path);
      for (const name of [
        "queue_status",
        "queue_partitions",
        "queue_consumer_status",
        "queue_producer_status",
      ]) {
        expect(await primary.root.exists(`${path}/@${name}`)).toBe(false);
        expect(all.has(name)).toBe(false);
      }
    }
    expect(await primary.root.exists("//tmp/static/@queue_agent_stage")).toBe(false);
    expect(await primary.root.exists("//tmp/sorted/@queue_agent_stage")).toBe(true);
    const { text } = await failureOf(primary.set("//tmp/static/@queue_agent_stage", "production"));
    expect(text).toContain('Builtin attribute "queue_agent_stage" cannot be set');
  });

  it("[queue-agent 41] and the flag change @attribute_revision, as do the agent's settings", async () => {
    const changes: [path: string, value: unknown][] = [
      ["//tmp/q/@queue_agent_stage", "production"],
      ["//tmp/c/@queue_agent_stage", "production"],
      ["//tmp/c/@treat_as_queue_consumer", true],
      ["//tmp/q/@auto_trim_config", { enable: true, some_unrecognized_option: 1 }],
      ["//tmp/q/@auto_trim_config/enable", "whatever"],
      ["//tmp/q/@static_export_config", { default: { export_period: 1500 } }],
      ["//tmp/q/@queue_agent_banned", "whatever"],
      ["//tmp/q/@queue_profiling_tag", "tag"],
      ["//tmp/c/@queue_consumer_profiling_tag", "tag"],
    ];
    for (const [path, value] of changes) {
      const revision = `${path.slice(0, path.indexOf("/@"))}/@attribute_revision`;
      const before = await get(revision);
      await primary.set(path, value);
      expect(Number(await get(revision)), path).toBeGreaterThan(Number(before));
    }
  });
});

describe("the agents of a stage", () => {
  it("[queue-agent 42] are looked for in the own cluster and then in the others", async () => {
    const path = "//tmp/q/@queue_status/partition_count";
    await primary.set("//tmp/q/@queue_agent_stage", "testing");
    expect((await failureOf(get(path))).text).toContain('Queue agent stage "testing" is not found');
    // Written down in the connection of the own cluster.
    const connection = "//sys/@cluster_connection";
    const usual = await primary.root.get(connection);
    const stages = { queue_agent: { stages: { testing: { addresses: [agent.address] } } } };
    await primary.set(connection, stages);
    expect(await get(path)).toBe(1n);
    await primary.set(connection, fromYson(usual));
    expect((await failureOf(get(path))).text).toContain('Queue agent stage "testing" is not found');
    // In that of the other cluster.
    const theirs = await remote.root.get(connection);
    await remote.set(connection, stages);
    await expect.poll(() => get(path).catch(() => undefined), { timeout: 10_000 }).toBe(1n);
    await remote.set(connection, fromYson(theirs));
    await expect.poll(() => get(path).catch(() => undefined), { timeout: 10_000 }).toBe(undefined);
    // In what the own cluster knows of the other one.
    await primary.set("//sys/clusters/remote/queue_agent", stages.queue_agent);
    await expect.poll(() => get(path).catch(() => undefined), { timeout: 10_000 }).toBe(1n);
    await primary.root.remove("//sys/clusters/remote/queue_agent");
    await primary.root.remove("//tmp/q/@queue_agent_stage");
  });

  it("may live in another cluster", async () => {
    await remote.createQueue("//tmp/q");
    agent.knows("queues", "remote://tmp/q", { status, partitions });
    expect(await get("//tmp/q/@queue_status/partition_count", remote)).toBe(1n);
  });

  it("are gone with their lock", async () => {
    const other = await FakeAgent.start();
    const transactionId = await other.join(primary, "short");
    other.knows("queues", "primary://tmp/q", { status, partitions });
    await primary.set("//tmp/q/@queue_agent_stage", "short");
    expect(await get("//tmp/q/@queue_status/partition_count")).toBe(1n);
    await primary.root.abortTransaction(transactionId);
    const { text } = await failureOf(get("//tmp/q/@queue_status"));
    expect(text).toContain('Queue agent stage "short" is not found');
    await primary.root.remove("//tmp/q/@queue_agent_stage");
    await other.stop();
  });

  it("are asked one after the other until one answers", async () => {
    const [dead, alive] = [await FakeAgent.start(), await FakeAgent.start()];
    await dead.join(primary, "pair");
    await alive.join(primary, "pair");
    await dead.stop();
    alive.knows("queues", "primary://tmp/q", { status, partitions });
    await primary.set("//tmp/q/@queue_agent_stage", "pair");
    for (let repeat = 0; repeat < 8; repeat += 1) {
      expect(await get("//tmp/q/@queue_status/partition_count")).toBe(1n);
    }
    await alive.stop();
    const { text } = await failureOf(get("//tmp/q/@queue_status"));
    expect(text).toContain('None of the 2 queue agents of stage "pair" can answer now');
    expect(text).toContain(`Queue agent ${alive.address} did not answer`);
    expect(text).toContain(`${dead.address} cannot be reached`);
    await primary.root.remove("//tmp/q/@queue_agent_stage");
  });
});

describe("the node `orchid`", () => {
  it("is a window into the process at its address", async () => {
    const orchid = `//sys/queue_agents/instances/${agent.address}/orchid`;
    expect(await get(`${orchid}/pass_index`)).toBe(7n);
    expect(await get(`${orchid}/queue_agent/queues/${"primary:\\/\\/tmp\\/q"}/status/partition_count`)).toBe(
      1n,
    );
    expect(await primary.root.list(`${orchid}/queue_agent/queues/${"primary:\\/\\/tmp\\/q"}`)).toEqual([
      "status",
      "partitions",
    ]);
    expect(await primary.root.exists(`${orchid}/queue_agent/nothing`)).toBe(false);
    expect(await get(`${orchid}/@remote_addresses`)).toEqual({ default: agent.address });
    // A look at the directory above asks nobody.
    agent.questions.length = 0;
    expect(await get(`//sys/queue_agents/instances/${agent.address}`)).toEqual({ orchid: null });
    expect(agent.questions).toEqual([]);
  });

  it("says which address cannot be reached", async () => {
    await primary.root.create("orchid", "//tmp/orchid", {
      attributes: mapOf({ remote_addresses: mapOf({ default: "127.0.0.1:1" }) }),
    });
    const { text } = await failureOf(get("//tmp/orchid/anything"));
    expect(text).toContain("127.0.0.1:1 cannot be reached");
    await primary.set("//tmp/orchid/@remote_addresses", {});
    expect((await failureOf(get("//tmp/orchid"))).text).toContain("Orchid //tmp/orchid has no address");
    expect((await failureOf(primary.set("//tmp/orchid/@remote_addresses", 5))).text).toContain(
      "remote_addresses",
    );
  });

  it("is made by superusers only, because the server sends requests to it", async () => {
    const user = await primary.user("u");
    const { codes } = await failureOf(user.create("orchid", "//tmp/theirs"));
    expect(codes).toContain(901);
  });
});
