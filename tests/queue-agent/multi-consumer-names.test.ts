/** The state table `multi_consumer_names`, as an agent keeps it from the tables of multi-consumers. */
import { isMap, mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import type { QueueAgent } from "@qyt/queue-agent";
import { multiConsumerSchema } from "@qyt/schema";
import { fromYson, writeYsonList, writeYsonText } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentWorld, eventually, failureOf } from "./agent-fixture.ts";
import { asList, asMap, messagesOf, objectPath } from "./watching-fixture.ts";

const table = "//sys/queue_agents/multi_consumer_names";

let world: AgentWorld;
let agent: QueueAgent;
let count = 0;

beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent();
});
afterAll(() => world.stop());

async function newConsumer(stage = "production"): Promise<string> {
  count += 1;
  const path = `//tmp/multi-${count}`;
  const attributes = mapOf({
    dynamic: true,
    treat_as_queue_consumer: true,
    schema: multiConsumerSchema.toYson(),
    queue_agent_stage: stage,
  });
  await world.client().create("table", path, { attributes });
  await world.mount(path);
  return path;
}

const keyOf = (name: string): Record<string, YsonValue> => ({
  queue_consumer_name: name,
  queue_cluster: "primary",
  queue_path: "//tmp/any_queue",
  partition_index: new Uint64(0n),
});

const body = (row: Record<string, YsonValue>): { body: Buffer; format: string } => ({
  body: writeYsonList([mapOf(row)], "binary"),
  format: "yson",
});

async function addNames(path: string, ...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await world.client().insertRows(path, body({ ...keyOf(name), offset: new Uint64(0n) }));
  }
}

/** Name → stage, as the state table has them. */
async function namesOf(path: string): Promise<Record<string, unknown>> {
  const rows = await world
    .client()
    .selectRows(
      `[name], [queue_agent_stage] from [${table}] where [cluster] = "primary" and [path] = "${path}"`,
    );
  return Object.fromEntries(rows.map((row) => [String(row["name"]), row["queue_agent_stage"]]));
}

/** Waits until the table says this. */
const saysOf = (path: string, expected: Record<string, unknown>): Promise<void> =>
  eventually(async () => expect(await namesOf(path)).toEqual(expected));

async function status(path: string): Promise<YsonMap> {
  const value = await world.orchid(
    agent,
    objectPath("multi_consumers", { cluster: "primary", path }, "/status"),
  );
  return isMap(value) ? value : new Map();
}

/** Several poll passes from now, each of which writes what it finds. */
async function morePasses(passes = 3): Promise<void> {
  const index = async (): Promise<bigint> =>
    BigInt(String(await world.orchid(agent, "/queue_agent/pass_index")));
  const end = (await index()) + BigInt(passes);
  await world.waitUntil(async () => (await index()) > end, "poll passes");
}

test("[queue-api 137] names are copied with the stage, also those without a registration", async () => {
  const path = await newConsumer();
  await addNames(path, "my_1", "my_2", "my_3");
  const all = { my_1: "production", my_2: "production", my_3: "production" };
  await saysOf(path, all);
  expect((await status(path)).has("error")).toBe(false);

  // A row that no table has, and one of another stage.
  await world.client().insertRows(table, body({ cluster: "primary", path, name: "stale_name" }));
  await world
    .client()
    .insertRows(table, body({ cluster: "primary", path, name: "my_2", queue_agent_stage: "testing" }));
  await saysOf(path, all);

  await world.client().deleteRows(path, body(keyOf("my_2")));
  await saysOf(path, { my_1: "production", my_3: "production" });
  for (const name of ["my_1", "my_3"]) {
    await world.client().deleteRows(path, body(keyOf(name)));
  }
  await saysOf(path, {});
});

test("[queue-api 137] the names of a consumer that is gone are removed", async () => {
  const path = await newConsumer();
  await addNames(path, "my_1", "my_2");
  await saysOf(path, { my_1: "production", my_2: "production" });
  await world.client().remove(path);
  await saysOf(path, {});
});

test("[queue-api 137] nothing is written while there is nothing new", async () => {
  const path = await newConsumer();
  await addNames(path, "my_1");
  await saysOf(path, { my_1: "production" });
  const lastWrite = async (): Promise<unknown> => {
    const tablets = await world.client().getTabletInfos(table, [0]);
    return asMap(asList(tablets)[0]).get("last_write_timestamp");
  };
  await morePasses();
  const before = await lastWrite();
  await morePasses();
  expect(await lastWrite()).toEqual(before);
});

test("a table of names that cannot be read is an alert, and troubles nothing else", async () => {
  const alerts = async (): Promise<string> => writeYsonText(await world.orchid(agent, "/alerts"));
  const path = await newConsumer();
  await world.unmount(table);
  try {
    await eventually(async () => expect(await alerts()).toMatch(/multi_consumer_names/));
    expect(fromYson(await world.orchid(agent, "/queue_agent/pass_error"))).toEqual({ code: 0n, message: "" });
    await addNames(path, "my_1");
  } finally {
    await world.mount(table);
  }
  await saysOf(path, { my_1: "production" });
  await eventually(async () => expect(await alerts()).not.toMatch(/multi_consumer_names/));
});

test("the Orchid lists multi-consumers apart", async () => {
  const path = await newConsumer();
  await world.client().create("queue_consumer", "//tmp/single");
  await eventually(async () => {
    const list = async (kind: string) =>
      Object(
        await world.client().list(`//sys/queue_agents/instances/${agent.agentId}/orchid/queue_agent/${kind}`),
      );
    expect(await list("consumers")).toContain("primary://tmp/single");
    expect(await list("multi_consumers")).toContain(`primary:${path}`);
    expect(await list("multi_consumers")).not.toContain("primary://tmp/single");
    expect(await list("owned_multi_consumers")).toContain(`primary:${path}`);
  });
});

describe("[queue-api 138] nothing is copied from a consumer", () => {
  test("that is not mounted, until it is; names copied before stay", async () => {
    const path = await newConsumer();
    await addNames(path, "my_1");
    await saysOf(path, { my_1: "production" });
    await world.unmount(path);
    await eventually(async () => {
      expect(messagesOf((await status(path)).get("error"))).toMatch(/mounted/);
    });
    await morePasses();
    expect(await namesOf(path)).toEqual({ my_1: "production" });

    await world.mount(path);
    await addNames(path, "my_2");
    await saysOf(path, { my_1: "production", my_2: "production" });
    expect((await status(path)).has("error")).toBe(false);
  });

  test("of another stage, until it is of the agent's", async () => {
    const path = await newConsumer("testing");
    await addNames(path, "my_1");
    await eventually(async () => {
      expect(await world.client().selectRows(`[path] from [//sys/queue_agents/consumers]`)).toContainEqual({
        path,
      });
    });
    await morePasses();
    expect(await namesOf(path)).toEqual({});
    expect((await failureOf(status(path))).has("QueueAgentObjectIsNotMapped")).toBe(true);

    await world.set(`${path}/@queue_agent_stage`, "production");
    await saysOf(path, { my_1: "production" });
    await world.set(`${path}/@queue_agent_stage`, "testing");
    await eventually(async () =>
      expect((await failureOf(status(path))).has("QueueAgentObjectIsNotMapped")).toBe(true),
    );
    await addNames(path, "my_2");
    await morePasses();
    expect(await namesOf(path)).toEqual({ my_1: "production" });
  });

  test("that is banned, until it is not; names copied before stay", async () => {
    const path = await newConsumer();
    await addNames(path, "my_1");
    await saysOf(path, { my_1: "production" });
    await world.set(`${path}/@queue_agent_banned`, "%true");
    await eventually(async () => expect(messagesOf((await status(path)).get("error"))).toMatch(/banned/));
    await addNames(path, "my_2");
    await morePasses();
    expect(await namesOf(path)).toEqual({ my_1: "production" });

    await world.client().remove(`${path}/@queue_agent_banned`);
    await saysOf(path, { my_1: "production", my_2: "production" });
    await eventually(async () => expect((await status(path)).has("error")).toBe(false));
  });
});
