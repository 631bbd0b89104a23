/** `@queue_status` and `@queue_partitions` as the agent sees real queues. */
import { mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AgentWorld, failureOf, queueSchema, reference } from "./agent-fixture.ts";
import {
  asMap,
  codesOf,
  fields,
  messagesOf,
  objectPath,
  plainQueue,
  WatchingAgent,
} from "./watching-fixture.ts";

const epoch = "1970-01-01T00:00:00.000000Z";
const schemaWithoutWeights = parseYson('[{name=data;type=string};{name="$timestamp";type=uint64}]');
const rateNames = ["current", "1m_raw", "1m", "1h", "1d"];

let world: AgentWorld;
let agent: WatchingAgent;
let queueCount = 0;

beforeAll(async () => {
  world = await AgentWorld.start({ clusters: ["primary", "remote"] });
  agent = await WatchingAgent.start(world);
});
afterAll(() => world.stop());

async function newQueue(options: Parameters<AgentWorld["createQueue"]>[1] = {}) {
  const queue = reference(`primary://tmp/queue-${++queueCount}`);
  await world.createQueue(queue, options);
  await agent.putQueue(queue);
  return queue;
}

function rate(map: YsonMap | undefined, field: string, name: string): number {
  return Number(asMap(map?.get(field)).get(name));
}

describe("a row that no controller can follow", () => {
  async function errorOf(columns: Readonly<Record<string, YsonValue>>): Promise<string> {
    const queue = reference("primary://tmp/row-only");
    await agent.putQueue(queue, columns);
    await agent.passes();
    const status = await agent.queueStatus(queue);
    expect([...status.keys()].sort()).toEqual(["alerts", "error", "exports", "queue_agent_host"]);
    expect(await agent.queuePartitions(queue)).toEqual([]);
    return messagesOf(status.get("error"));
  }

  const nothing = {
    row_revision: null,
    revision: null,
    object_type: null,
    dynamic: null,
    sorted: null,
  };

  test("[queue-agent 6] with a key and a stage alone it is not in sync yet", async () => {
    expect(await errorOf(nothing)).toBe("Queue is not in-sync yet");
  });

  test("[queue-agent 7] of another type it is no queue", async () => {
    expect(await errorOf({ ...nothing, row_revision: new Uint64(1n) })).toBe("Object type is not known yet");
    expect(await errorOf({ ...nothing, row_revision: new Uint64(1n), object_type: "map_node" })).toBe(
      'Invalid queue object type "map_node"',
    );
  });

  test("[queue-agent 8] sorted or static it is no queue, also when it was one before", async () => {
    expect(await errorOf({ ...plainQueue, sorted: true })).toMatch(
      /^Only ordered dynamic tables are supported as queues, /,
    );
    const queue = await newQueue();
    await agent.passes();
    expect((await agent.queueStatus(queue)).get("family")).toBe("ordered_dynamic_table");
    await agent.putQueue(queue, { ...plainQueue, dynamic: false });
    await agent.passes();
    const status = await agent.queueStatus(queue);
    expect(status.has("family")).toBe(false);
    expect(messagesOf(status.get("error"))).toMatch(/^Only ordered dynamic tables/);
  });

  test("a replicated one is not looked at, whether it has a status or is to have none", async () => {
    const row = { ...plainQueue, object_type: "replicated_table" };
    expect(await errorOf(row)).toMatch(/: this queue agent does not follow replicated queues; /);
    const config = agent.config;
    agent.config = { ...config, agent: { ...config.agent, handleReplicatedObjects: false } };
    await agent.passes();
    const failure = await failureOf(agent.queueStatus(reference("primary://tmp/row-only")));
    agent.config = config;
    expect(failure.message).toMatch(/is a replicated table, .*"handle_replicated_objects" is off/);
    // What is missing for a moment has this code, and is asked for again.
    expect(failure.has("QueueAgentRetriableError")).toBe(false);
  });

  test("an error of the synchronizer is shown inside", async () => {
    const error = mapOf({ code: 500n, message: "it is gone", attributes: mapOf({}) });
    expect(await errorOf({ ...plainQueue, synchronization_error: error })).toBe(
      "Queue synchronization error\nit is gone",
    );
  });

  test("[queue-agent 9] a path that is not there has a controller, whose error is a resolve error", async () => {
    const queue = reference("primary://tmp/nowhere");
    await agent.putQueue(queue);
    await agent.passes();
    await agent.passes();
    expect(codesOf((await agent.queueStatus(queue)).get("error"))).toContain(500n);
    expect(await agent.get(objectPath("queues", queue, "/pass_index"))).toBeGreaterThanOrEqual(1n);
  });

  test("a sorted table whose row says that it is a queue is none", async () => {
    const consumer = reference("primary://tmp/sorted");
    await world.createConsumer(consumer);
    await agent.putQueue(consumer);
    await agent.passes();
    expect(messagesOf((await agent.queueStatus(consumer)).get("error"))).toMatch(/^Invalid queue schema/);
    await agent.removeObject("queues", consumer);
  });
});

test("[queue-agent 1] the Orchid shows the status of a queue", async () => {
  const queue = await newQueue();
  await agent.passes();
  expect(await agent.get(objectPath("queues", queue, "/status/partition_count"))).toBe(1n);
});

test("[queue-agent 16] the status names family, partitions and registrations", async () => {
  const queue = await newQueue({ tabletCount: 2 });
  const consumer = reference("remote://tmp/reader");
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: false });
  await agent.passes();
  const status = await agent.queueStatus(queue);
  expect([...status.keys()].sort()).toEqual([
    "alerts",
    "exports",
    "family",
    "has_cumulative_data_weight_column",
    "has_timestamp_column",
    "partition_count",
    "queue_agent_host",
    "registrations",
    "write_data_weight_rate",
    "write_row_count_rate",
  ]);
  expect(fields(status)).toMatchObject({
    family: "ordered_dynamic_table",
    partition_count: 2n,
    registrations: [mapOf({ queue: `primary:${queue.path}`, consumer: "remote://tmp/reader", vital: false })],
    alerts: mapOf({}),
    exports: mapOf({ progress: mapOf({}) }),
    has_timestamp_column: true,
    has_cumulative_data_weight_column: true,
  });
});

test("[queue-agent 17] [queue-agent 33] an empty partition has no rows and no commit time", async () => {
  const queue = await newQueue();
  await agent.passes();
  const [partition] = await agent.queuePartitions(queue);
  expect(fields(partition)).toMatchObject({
    lower_row_index: 0n,
    upper_row_index: 0n,
    available_row_count: 0n,
    last_row_commit_time: epoch,
    cumulative_data_weight: null,
    trimmed_data_weight: null,
    available_data_weight: null,
    meta: mapOf({ cell_id: expect.any(String), host: world.address() }),
  });
  expect(partition?.get("commit_idle_time")).toBeGreaterThan(1_700_000_000_000n);
});

test("[queue-agent 18] [queue-agent 19] [queue-agent 20] [queue-agent 21] [queue-agent 22] rows come, get weights, and are trimmed", async () => {
  const queue = await newQueue({ tabletCount: 2, schema: schemaWithoutWeights });
  const client = world.client();
  await agent.passes();

  await world.push(queue, ["foo"]);
  await agent.passes();
  let [first, second] = await agent.queuePartitions(queue);
  expect(fields(first)).toMatchObject({ lower_row_index: 0n, upper_row_index: 1n, available_row_count: 1n });
  expect(first?.get("last_row_commit_time")).not.toBe(epoch);
  expect(first?.get("commit_idle_time")).toBeGreaterThan(0n);
  expect(fields(second)).toMatchObject({ upper_row_index: 0n, last_row_commit_time: epoch });
  expect((await agent.queueStatus(queue)).get("has_cumulative_data_weight_column")).toBe(false);

  await client.unmountTable(queue.path);
  await world.waitUntil(async () => (await client.get(`${queue.path}/@tablet_state`)) === "unmounted");
  await client.execute("alter_table", { path: queue.path, schema: queueSchema });
  await client.mountTable(queue.path);
  await agent.passes();
  [first, second] = await agent.queuePartitions(queue);
  expect(fields(first)).toMatchObject({ upper_row_index: 1n, cumulative_data_weight: null });
  expect((await agent.queueStatus(queue)).get("has_cumulative_data_weight_column")).toBe(true);

  await client.trimRows(queue.path, 0, 1n);
  await agent.passes();
  [first] = await agent.queuePartitions(queue);
  expect(fields(first)).toMatchObject({ lower_row_index: 1n, upper_row_index: 1n, available_row_count: 0n });
  expect(first?.get("last_row_commit_time")).not.toBe(epoch);

  await world.push(
    queue,
    Array.from({ length: 100 }, () => "foo"),
  );
  await agent.passes();
  [first] = await agent.queuePartitions(queue);
  expect(fields(first)).toMatchObject({
    lower_row_index: 1n,
    upper_row_index: 101n,
    cumulative_data_weight: 2012n,
  });
  expect(first?.get("trimmed_data_weight")).toBeLessThanOrEqual(40n);

  await client.trimRows(queue.path, 0, 91n);
  await agent.passes();
  [first] = await agent.queuePartitions(queue);
  expect(fields(first)).toMatchObject({
    lower_row_index: 91n,
    upper_row_index: 101n,
    cumulative_data_weight: 2012n,
  });
  expect(first?.get("trimmed_data_weight")).toBeGreaterThanOrEqual(89n * 20n);
  expect(first?.get("trimmed_data_weight")).toBeLessThanOrEqual(92n * 20n);
  expect(first?.get("available_data_weight")).toBeGreaterThanOrEqual(9n * 20n);
  expect(first?.get("available_data_weight")).toBeLessThanOrEqual(11n * 20n);
});

test("[queue-agent 29] [queue-agent 30] rates are 0 at first, then as the rows", async () => {
  const queue = await newQueue({ tabletCount: 2 });
  const rows = "write_row_count_rate";
  const weight = "write_data_weight_rate";
  await agent.passes();
  for (const map of [await agent.queueStatus(queue), ...(await agent.queuePartitions(queue))]) {
    for (const name of rateNames) {
      expect(rate(map, rows, name)).toBe(0);
      expect(rate(map, weight, name)).toBe(0);
    }
  }
  await world.push(queue, ["foo", "foo"], 0);
  await world.push(queue, ["foo"], 1);
  await agent.passes();
  const status = await agent.queueStatus(queue);
  const [first, second] = await agent.queuePartitions(queue);
  for (const field of [rows, weight]) {
    const unit = rate(second, field, "1m_raw");
    expect(unit).toBeGreaterThan(0);
    expect(rate(first, field, "1m_raw")).toBeCloseTo(2 * unit, 9);
    expect(rate(status, field, "1m_raw")).toBeCloseTo(3 * unit, 9);
  }
  expect(rate(first, rows, "current")).toBeCloseTo(2, 9);
  // Nothing comes any more: the current rate ends, the averages fall by time alone.
  await agent.passes();
  await agent.passes();
  const [later] = await agent.queuePartitions(queue);
  expect(rate(later, rows, "current")).toBe(0);
  const firstAverage = rate(first, rows, "1m_raw");
  expect(rate(later, rows, "1m_raw")).toBeCloseTo(firstAverage * Math.exp(-2 / 30), 9);
  expect(rate(await agent.queueStatus(queue), rows, "1m_raw")).toBeCloseTo(
    1.5 * firstAverage * Math.exp(-2 / 30),
    9,
  );
  // And the next row counts from the pass before it, not from the one that last saw a change.
  await agent.passes();
  await world.push(queue, ["foo"], 0);
  await agent.passes();
  const [again] = await agent.queuePartitions(queue);
  expect(rate(again, rows, "current")).toBeCloseTo(1, 9);
});

describe("partitions that cannot be read", () => {
  test("an unmounted tablet is the error of its partition alone, with its state; a frozen one is read", async () => {
    const queue = await newQueue({ tabletCount: 3 });
    const client = world.client();
    await world.push(queue, ["foo"], 1);
    await world.push(queue, ["foo"], 2);
    await agent.passes();
    await client.execute("unmount_table", {
      path: queue.path,
      first_tablet_index: 0n,
      last_tablet_index: 0n,
    });
    await client.execute("freeze_table", { path: queue.path, first_tablet_index: 1n, last_tablet_index: 1n });
    await world.waitUntil(async () => (await client.get(`${queue.path}/@tablets/0/state`)) === "unmounted");
    await world.waitUntil(async () => (await client.get(`${queue.path}/@tablets/1/state`)) === "frozen");
    await agent.passes();
    const [first, second, third] = await agent.queuePartitions(queue);
    expect([...(first?.keys() ?? [])]).toEqual(["error"]);
    const error = asMap(first?.get("error"));
    const id = await client.get(`${queue.path}/@tablets/0/tablet_id`);
    expect(error.get("code")).toBe(1n);
    expect(error.get("message")).toBe(`Tablet ${String(id)} is not mounted or frozen`);
    expect([...asMap(error.get("attributes")).keys()].sort()).toEqual([
      "datetime",
      "fid",
      "host",
      "pid",
      "span_id",
      "state",
      "thread",
      "tid",
      "trace_id",
    ]);
    expect(asMap(error.get("attributes")).get("state")).toBe("unmounted");
    expect(fields(second)).toMatchObject({ upper_row_index: 1n });
    expect(fields(third)).toMatchObject({ upper_row_index: 1n });
    expect(agent.pass.registry.queue(queue)?.partitions[1]?.tabletState).toBe("frozen");
    expect((await agent.queueStatus(queue)).get("partition_count")).toBe(3n);
  });

  test("a queue that was never mounted has its status, and partitions in error of code 1", async () => {
    const queue = await newQueue({ mount: false });
    await agent.passes();
    expect((await agent.queueStatus(queue)).get("partition_count")).toBe(1n);
    const [partition] = await agent.queuePartitions(queue);
    expect(codesOf(partition?.get("error"))).toEqual([1n]);
    await world.client().mountTable(queue.path);
    await agent.passes();
    expect((await agent.queuePartitions(queue))[0]?.get("upper_row_index")).toBe(0n);
  });

  test("a queue that is made anew, or resharded, is read anew", async () => {
    const queue = await newQueue();
    await world.push(queue, ["foo", "foo"]);
    await agent.passes();
    await world.client().remove(queue.path);
    await world.createQueue(queue, { tabletCount: 2 });
    await agent.passes();
    const partitions = await agent.queuePartitions(queue);
    expect(partitions.map((partition) => partition.get("upper_row_index"))).toEqual([0n, 0n]);
    // A count that fell is no negative rate.
    expect(rate(partitions[0], "write_row_count_rate", "current")).toBe(0);
  });

  test("a cluster that nobody knows is an error of its objects alone", async () => {
    const queue = reference("elsewhere://tmp/queue");
    const healthy = await newQueue();
    await agent.putQueue(queue);
    await agent.passes();
    expect(messagesOf((await agent.queueStatus(queue)).get("error"))).toMatch(
      /Cluster "elsewhere" is not known/,
    );
    expect((await agent.queueStatus(healthy)).has("error")).toBe(false);
  });
});
