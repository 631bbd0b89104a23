/**
 * The part of the Queue API document that shows statuses: two clusters, a queue here, its consumer there, one
 * agent with all its parts. What is shown is compared by its keys and types, as the document prints it.
 */
import { isList, isMap, type YsonValue } from "@qyt/base";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentWorld, eventually, failureOf, reference } from "./agent-fixture.ts";
import { asList, asMap, codesOf, fields, messagesOf } from "./watching-fixture.ts";

const queue = reference("pythia://tmp/bob-test-queue");
const consumer = reference("freud://tmp/bob-test-consumer");
const queueName = "pythia://tmp/bob-test-queue";

const rate = { "1d": "number", "1h": "number", "1m": "number", "1m_raw": "number", current: "number" };
const registrations = [{ consumer: "string", queue: "string", vital: "boolean" }];

/** Keys and types: maps as objects, lists by their items, everything else by the name of its type. */
function shapeOf(value: YsonValue): unknown {
  if (isMap(value)) {
    return Object.fromEntries([...value].map(([key, item]) => [key, shapeOf(item)]));
  }
  return isList(value) ? value.map(shapeOf) : value === null ? "entity" : typeof value;
}

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start({ clusters: ["pythia", "freud"] });
  await world.startAgent();
  await world.createQueue(queue, { mount: false });
  const client = world.client(consumer.cluster);
  await client.create("queue_consumer", consumer.path);
  await world.unmount(consumer.path, consumer.cluster);
  await world.register(queue, consumer, { vital: true });
});
afterAll(() => world.stop());

const queueAttribute = (path: string): Promise<YsonValue> => world.get(`${queue.path}/@${path}`, "pythia");
const consumerAttribute = (path: string): Promise<YsonValue> =>
  world.get(`${consumer.path}/@${path}`, "freud");

describe("before the tables are mounted", () => {
  test("the queue has its status", async () => {
    await eventually(async () => {
      expect(shapeOf(await queueAttribute("queue_status"))).toEqual({
        alerts: {},
        exports: { progress: {} },
        family: "string",
        has_cumulative_data_weight_column: "boolean",
        has_timestamp_column: "boolean",
        partition_count: "bigint",
        queue_agent_host: "string",
        registrations,
        write_data_weight_rate: rate,
        write_row_count_rate: rate,
      });
    });
  });

  test("its partition is in error, of code 1, and says in which state the tablet is", async () => {
    await eventually(async () => {
      const [partition] = asList(await queueAttribute("queue_partitions"));
      const error = asMap(asMap(partition).get("error"));
      expect(messagesOf(error)).toMatch(/^Tablet [\da-f-]+ is not mounted or frozen$/);
      expect(shapeOf(error)).toEqual({
        attributes: {
          datetime: "string",
          fid: "object",
          host: "string",
          pid: "bigint",
          span_id: "object",
          state: "string",
          thread: "string",
          tid: "object",
          trace_id: "string",
        },
        code: "bigint",
        message: "string",
      });
    });
    const [partition] = asList(await queueAttribute("queue_partitions"));
    expect(codesOf(asMap(partition).get("error"))).toEqual([1n]);
  });

  test("the consumer shows an error of code 1 for the queue", async () => {
    await eventually(async () => {
      const status = asMap(await consumerAttribute("queue_consumer_status"));
      expect([...status.keys()].sort()).toEqual(["queue_agent_host", "queues", "registrations"]);
      expect(shapeOf(status.get("registrations") ?? null)).toEqual(registrations);
      const sub = asMap(asMap(status.get("queues")).get(queueName));
      expect([...sub.keys()]).toEqual(["error"]);
      expect(asMap(sub.get("error")).get("code")).toBe(1n);
    });
  });
});

describe("after they are mounted", () => {
  beforeAll(async () => {
    await world.mount(queue.path, "pythia");
    await world.mount(consumer.path, "freud");
  });

  test("the queue's partition is empty", async () => {
    await eventually(async () => {
      expect(shapeOf(await queueAttribute("queue_partitions"))).toEqual([
        {
          available_data_weight: "entity",
          available_row_count: "bigint",
          commit_idle_time: "bigint",
          cumulative_data_weight: "entity",
          last_row_commit_time: "string",
          lower_row_index: "bigint",
          meta: { cell_id: "string", host: "string" },
          trimmed_data_weight: "entity",
          upper_row_index: "bigint",
          write_data_weight_rate: rate,
          write_row_count_rate: rate,
        },
      ]);
    });
  });

  test("the consumer has its rates", async () => {
    await eventually(async () => {
      expect(shapeOf(await consumerAttribute("queue_consumer_status"))).toEqual({
        queue_agent_host: "string",
        queues: {
          [queueName]: {
            partition_count: "bigint",
            read_data_weight_rate: rate,
            read_row_count_rate: rate,
          },
        },
        registrations,
      });
    });
  });

  test("writes show in the rates, at any depth of the path", async () => {
    for (let portion = 0; portion < 20; portion++) {
      await world.push(queue, ["foo", "bar", "foobar", "megafoo", "megabar"]);
    }
    await eventually(async () => {
      expect(await queueAttribute("queue_status/write_row_count_rate/1m_raw")).toBeGreaterThan(0);
      expect(await queueAttribute("queue_partitions/0/upper_row_index")).toBe(100n);
    });
    const client = world.client("pythia");
    expect(await client.exists(`${queue.path}/@queue_status/write_row_count_rate/1m`)).toBe(true);
    expect(await client.exists(`${queue.path}/@queue_status/write_row_count_rate/2m`)).toBe(false);
    expect(asList(await client.list(`${queue.path}/@queue_status/write_row_count_rate`))).toHaveLength(5);
    const error = await failureOf(queueAttribute("queue_partitions/1"));
    expect(error.has("ResolveError")).toBe(true);
  });

  test("an advance shows in the consumer's partition, and the rows before it are trimmed", async () => {
    await world.set(`${queue.path}/@auto_trim_config`, "{enable=%true}", "pythia");
    await world.advance(consumer, queue, 0, 42n);
    await eventually(async () => {
      const [partition] = asList(asMap(await consumerAttribute("queue_consumer_partitions")).get(queueName));
      expect(fields(partition)).toMatchObject({
        next_row_index: 42n,
        unread_row_count: 58n,
        readable_row_count: 58n,
        disposition: "pending_consumption",
      });
      expect(await queueAttribute("queue_partitions/0/lower_row_index")).toBe(42n);
    });
    const rows = await world.client("pythia").pullQueue(queue.path, 0n, 0, { maxRowCount: 1n });
    expect(rows[0]?.["$row_index"]).toBe(42n);
  });
});

describe("another cluster that is down", () => {
  test("is an error of the queues there, and of what a consumer here reads of them", async () => {
    const local = reference("freud://tmp/local-queue");
    await world.createQueue(local);
    await world.register(local, consumer);
    await eventually(async () => {
      expect(await world.get(`${local.path}/@queue_status/partition_count`, "freud")).toBe(1n);
    });
    await world.client("pythia").remove("//sys/clusters/freud");
    await eventually(async () => {
      const orchid = asList(await world.client("pythia").list("//sys/queue_agents/instances"));
      const path = `//sys/queue_agents/instances/${String(orchid[0])}/orchid/queue_agent/queues`;
      const status = asMap(await world.get(`${path}/freud:\\/\\/tmp\\/local-queue/status`, "pythia"));
      expect(messagesOf(status.get("error"))).toContain('Cluster "freud" is not known');
      const own = asMap(await world.get(`${path}/pythia:\\/\\/tmp\\/bob-test-queue/status`, "pythia"));
      expect(own.has("error")).toBe(false);
    });
  });
});
