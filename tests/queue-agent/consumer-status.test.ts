/** `@queue_consumer_status` and `@queue_consumer_partitions` as the agent sees real consumers. */
import { isMap, mapOf, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { consumerSchemaWithoutMeta, multiConsumerSchema, type TableSchema } from "@qyt/schema";
import { parseYson, writeYsonList } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { AgentWorld, reference, referenceToString } from "./agent-fixture.ts";
import { asMap, codesOf, fields, messagesOf, objectPath, WatchingAgent } from "./watching-fixture.ts";

const epoch = "1970-01-01T00:00:00.000000Z";

let world: AgentWorld;
let agent: WatchingAgent;
let pairCount = 0;

beforeAll(async () => {
  world = await AgentWorld.start({ clusters: ["primary", "remote"] });
  agent = await WatchingAgent.start(world);
});
afterAll(() => world.stop());

interface Pair {
  readonly queue: ObjectReference;
  readonly consumer: ObjectReference;
}

/** A queue, and a consumer of it on another cluster; both are led by the agent. */
async function newPair(
  options: {
    readonly tabletCount?: number;
    readonly queueSchema?: YsonValue;
    readonly consumerSchema?: TableSchema;
  } = {},
): Promise<Pair> {
  pairCount += 1;
  const queue = reference(`primary://tmp/queue-${pairCount}`);
  const consumer = reference(`remote://tmp/consumer-${pairCount}`);
  const { tabletCount = 1, queueSchema, consumerSchema } = options;
  await world.createQueue(queue, {
    tabletCount,
    ...(queueSchema === undefined ? {} : { schema: queueSchema }),
  });
  await (consumerSchema === undefined
    ? world.createConsumer(consumer)
    : createTable(consumer, consumerSchema.toYson()));
  await world.register(queue, consumer, { vital: true });
  await agent.putQueue(queue);
  await agent.putConsumer(consumer);
  return { queue, consumer };
}

async function createTable({ cluster, path }: ObjectReference, schema: YsonValue): Promise<void> {
  const client = world.client(cluster);
  await client.create("table", path, {
    attributes: mapOf({ dynamic: true, treat_as_queue_consumer: true, schema }),
  });
  await client.mountTable(path);
}

/** Writes rows of the consumer's table as they are. */
async function putRows({ cluster, path }: ObjectReference, rows: readonly YsonMap[]): Promise<void> {
  await world.client(cluster).insertRows(path, { body: writeYsonList(rows, "binary"), format: "yson" });
}

function offsetRow({ queue }: Pair, partition: bigint, offset: bigint): YsonMap {
  return mapOf({
    queue_cluster: queue.cluster,
    queue_path: queue.path,
    partition_index: new Uint64(partition),
    offset: new Uint64(offset),
  });
}

async function partitionsOf({ queue, consumer }: Pair): Promise<readonly YsonMap[]> {
  return agent.consumerPartitions(consumer, queue);
}

async function firstOf(pair: Pair): Promise<YsonMap> {
  await agent.passes();
  return asMap((await partitionsOf(pair))[0]);
}

/** The second of the row's commit, in the form of a status. */
async function commitTime({ queue }: Pair, row: number): Promise<string> {
  const rows = await world.client(queue.cluster).selectRows(`[$timestamp] from [${queue.path}]`);
  const seconds = Number(BigInt(String(rows[row]?.["$timestamp"])) >> 30n);
  return new Date(seconds * 1000).toISOString().replace("Z", "000Z");
}

test("[queue-agent 35] the status names the queues, the partitions are listed by queue", async () => {
  const pair = await newPair();
  await agent.passes();
  const status = await agent.consumerStatus(pair.consumer);
  const queue = referenceToString(pair.queue);
  expect([...status.keys()].sort()).toEqual(["queue_agent_host", "queues", "registrations"]);
  expect(status.get("registrations")).toEqual([
    mapOf({ queue, consumer: referenceToString(pair.consumer), vital: true }),
  ]);
  const sub = asMap(asMap(status.get("queues")).get(queue));
  expect([...sub.keys()].sort()).toEqual(["partition_count", "read_data_weight_rate", "read_row_count_rate"]);
  expect(sub.get("partition_count")).toBe(1n);
  const [partition] = await partitionsOf(pair);
  expect([...(partition?.keys() ?? [])].sort()).toEqual([
    "consume_idle_time",
    "cumulative_data_weight",
    "disposition",
    "last_consume_time",
    "next_row_commit_time",
    "next_row_index",
    "processing_lag",
    "read_data_weight_rate",
    "read_row_count_rate",
    "readable_row_count",
    "unread_data_weight",
    "unread_row_count",
  ]);
});

describe("[queue-agent 23] [queue-agent 24] [queue-agent 25] two rows are read one after the other", () => {
  test.each([
    ["with meta", undefined],
    ["without meta", consumerSchemaWithoutMeta],
  ])("%s", async (_, consumerSchema) => {
    const pair = await newPair({
      tabletCount: 2,
      ...(consumerSchema === undefined ? {} : { consumerSchema }),
    });
    for (const partition of [0, 1]) {
      await world.push(pair.queue, ["foo"], partition);
      await world.push(pair.queue, ["bar"], partition);
    }
    expect(fields(await firstOf(pair))).toMatchObject({
      next_row_index: 0n,
      unread_row_count: 2n,
      readable_row_count: 2n,
      unread_data_weight: null,
      cumulative_data_weight: null,
      last_consume_time: epoch,
      next_row_commit_time: await commitTime(pair, 0),
      disposition: "pending_consumption",
    });
    expect((await partitionsOf(pair))[0]?.get("processing_lag")).toBeGreaterThan(0n);

    await world.advance(pair.consumer, pair.queue, 0, 1n);
    const afterOne = {
      next_row_index: 1n,
      unread_row_count: 1n,
      unread_data_weight: 20n,
      cumulative_data_weight: 20n,
      next_row_commit_time: await commitTime(pair, 1),
    };
    const partition = await firstOf(pair);
    expect(fields(partition)).toMatchObject(afterOne);
    expect(partition.get("last_consume_time")).not.toBe(epoch);
    expect(partition.get("consume_idle_time")).toBeGreaterThan(0n);
    await world.client().trimRows(pair.queue.path, 0, 1n);
    expect(fields(await firstOf(pair))).toMatchObject(afterOne);

    await world.advance(pair.consumer, pair.queue, 0, 2n);
    expect(fields(await firstOf(pair))).toMatchObject({
      unread_row_count: 0n,
      unread_data_weight: 0n,
      next_row_commit_time: null,
      processing_lag: 0n,
      disposition: "up_to_date",
    });
    expect((await partitionsOf(pair))[1]?.get("unread_row_count")).toBe(2n);
  });
});

test("[queue-agent 26] rows without timestamp and weight are no errors", async () => {
  const plain = parseYson("[{name=data;type=string}]");
  const pair = await newPair({ queueSchema: plain });
  const client = world.client();
  await world.push(pair.queue, ["foo", "bar"]);
  await client.unmountTable(pair.queue.path);
  await world.waitUntil(async () => (await client.get(`${pair.queue.path}/@tablet_state`)) === "unmounted");
  const schema = parseYson(
    '[{name=data;type=string};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]',
  );
  await client.execute("alter_table", { path: pair.queue.path, schema });
  await client.mountTable(pair.queue.path);
  await world.advance(pair.consumer, pair.queue, 0, 1n);
  const partition = await firstOf(pair);
  expect(fields(partition)).toMatchObject({
    unread_row_count: 1n,
    unread_data_weight: null,
    next_row_commit_time: null,
    processing_lag: 0n,
  });
  expect((await agent.queueStatus(pair.queue)).has("error")).toBe(false);
  expect((await agent.consumerStatus(pair.consumer)).has("error")).toBe(false);
  expect((await agent.queuePartitions(pair.queue))[0]?.has("error")).toBe(false);
});

test("[queue-agent 27] where the offset stands: behind, in, at and past the rows", async () => {
  const pair = await newPair();
  await world.push(pair.queue, ["a", "b", "c"]);
  await world.client().trimRows(pair.queue.path, 0, 1n);
  const seen: (readonly unknown[])[] = [];
  for (let offset = 0n; offset <= 4n; offset += 1n) {
    await putRows(pair.consumer, [offsetRow(pair, 0n, offset)]);
    const partition = await firstOf(pair);
    seen.push(["disposition", "unread_row_count", "readable_row_count"].map((field) => partition.get(field)));
    const lag = partition.get("processing_lag");
    // Of an expired offset it is the lag of the first row that can still be read.
    expect(offset <= 2n ? lag : "none").toSatisfy((value) => value === "none" || value > 0n);
    expect(partition.get("next_row_commit_time") === null).toBe(offset > 2n);
  }
  expect(seen).toEqual([
    ["expired", 3n, 2n],
    ["pending_consumption", 2n, 2n],
    ["pending_consumption", 1n, 1n],
    ["up_to_date", 0n, 0n],
    ["ahead", -1n, 0n],
  ]);
});

test("[queue-agent 28] rows of partitions that the queue does not have are ignored", async () => {
  const pair = await newPair({ tabletCount: 2 });
  await putRows(pair.consumer, [
    offsetRow(pair, 1n, 0n),
    offsetRow(pair, (1n << 63n) - 1n, 5n),
    offsetRow(pair, (1n << 64n) - 1n, 5n),
  ]);
  await agent.passes();
  expect(await partitionsOf(pair)).toHaveLength(2);
});

test("[queue-agent 31] read rates are 0 at first, then as the offsets", async () => {
  const pair = await newPair({ tabletCount: 2 });
  await world.push(pair.queue, ["foo", "foo", "foo"], 0);
  await world.push(pair.queue, ["foo", "foo"], 1);
  await agent.passes();
  await agent.passes();
  const rateOf = (map: YsonMap | undefined, field: string): number =>
    Number(asMap(map?.get(field)).get("1m_raw"));
  const total = async (): Promise<YsonMap> =>
    asMap(
      asMap((await agent.consumerStatus(pair.consumer)).get("queues")).get(referenceToString(pair.queue)),
    );
  const names = ["read_row_count_rate", "read_data_weight_rate"];
  for (const map of [await total(), ...(await partitionsOf(pair))]) {
    expect(names.map((field) => rateOf(map, field))).toEqual([0, 0]);
  }
  await world.advance(pair.consumer, pair.queue, 0, 2n);
  await world.advance(pair.consumer, pair.queue, 1, 1n);
  await agent.passes();
  const [first, second] = await partitionsOf(pair);
  for (const field of names) {
    const unit = rateOf(second, field);
    expect(unit).toBeGreaterThan(0);
    expect(rateOf(first, field)).toBeCloseTo(2 * unit, 9);
    expect(rateOf(await total(), field)).toBeCloseTo(3 * unit, 9);
  }
});

test("the time of the last advance is that of the row's write", async () => {
  const pair = await newPair();
  await world.push(pair.queue, ["foo", "bar"]);
  await world.advance(pair.consumer, pair.queue, 0, 1n);
  await agent.passes();
  const { consumer } = pair;
  const [row] = await world
    .client(consumer.cluster)
    .selectRows(`[$timestamp:offset] from [${consumer.path}]`, {
      parameters: { versioned_read_options: mapOf({ read_mode: "latest_timestamp" }) },
    });
  const snapshot = agent.pass.registry.consumer(consumer)?.queues.get(referenceToString(pair.queue));
  expect(snapshot?.partitions[0]?.lastConsumeTimestamp).toBe(row?.["$timestamp:offset"]);
});

describe("a consumer that cannot be followed", () => {
  test("[queue-agent 11] with a key and a stage alone it is not in sync yet", async () => {
    const consumer = reference("primary://tmp/row-only");
    await agent.putConsumer(consumer, {});
    await agent.passes();
    const status = await agent.consumerStatus(consumer);
    expect([...status.keys()].sort()).toEqual(["error", "queue_agent_host"]);
    expect(messagesOf(status.get("error"))).toBe("Consumer is not in-sync yet");
    expect(await agent.get(objectPath("consumers", consumer, "/partitions"))).toEqual([]);
  });

  test.each([
    [{ row_revision: new Uint64(1n) }, "Consumer object type is not known yet"],
    [{ row_revision: new Uint64(1n), object_type: "table" }, "Consumer schema is not known yet"],
    [
      { row_revision: new Uint64(1n), object_type: "replicated_table" },
      /^No replicated table mapping row is known for replicated consumer: .* does not trim queues where one is vital$/,
    ],
    [
      { row_revision: new Uint64(1n), object_type: "table", schema: [parseYson("[{name=a;type=int64}]")] },
      /^Consumer schema must have unique keys/,
    ],
    [
      {
        row_revision: new Uint64(1n),
        object_type: "table",
        schema: [
          parseYson("<unique_keys=%true>[{name=a;type=int64;sort_order=ascending};{name=b;type=int64}]"),
        ],
      },
      /^Table schema is not recognized as a valid consumer schema/,
    ],
  ])("whose row says too little or something else: %#", async (columns, message) => {
    const consumer = reference("primary://tmp/other-row");
    const config = { ...agent.config, agent: { ...agent.config.agent, handleReplicatedObjects: true } };
    agent.config = config;
    await agent.putConsumer(consumer, { object_type: null, schema: null, ...columns });
    await agent.passes();
    expect(messagesOf((await agent.consumerStatus(consumer)).get("error"))).toMatch(message);
    await agent.removeObject("consumers", consumer);
  });

  test("an unmounted table is an error of code 1 of each queue, until it is mounted", async () => {
    const pair = await newPair();
    const client = world.client(pair.consumer.cluster);
    await client.unmountTable(pair.consumer.path);
    await world.waitUntil(
      async () => (await client.get(`${pair.consumer.path}/@tablet_state`)) === "unmounted",
    );
    await agent.passes();
    const queues = asMap((await agent.consumerStatus(pair.consumer)).get("queues"));
    const error = asMap(asMap(queues.get(referenceToString(pair.queue))).get("error"));
    expect(error.get("code")).toBe(1n);
    expect(codesOf(error)).toContain(1702n);
    expect(await partitionsOf(pair)).toEqual([]);
    await client.mountTable(pair.consumer.path);
    expect((await firstOf(pair)).get("next_row_index")).toBe(0n);
  });
});

test("[queue-agent 14] a new revision in the row goes on with the same controller", async () => {
  const { consumer } = await newPair();
  await agent.passes();
  const index = await agent.get(objectPath("consumers", consumer, "/pass_index"));
  const schema = await world.client(consumer.cluster).get(`${consumer.path}/@schema`);
  await agent.putConsumer(consumer, {
    row_revision: new Uint64(2n),
    revision: new Uint64(200n),
    object_type: "table",
    treat_as_queue_consumer: true,
    schema: [schema],
  });
  await agent.passes();
  expect(await agent.get(objectPath("consumers", consumer, "/row/revision"))).toEqual(new Uint64(200n));
  expect(await agent.get(objectPath("consumers", consumer, "/pass_index"))).toBeGreaterThan(Number(index));
});

describe("the queue of a consumer", () => {
  test("that is unknown is a missing snapshot; one that is in error gives its error", async () => {
    const { queue, consumer } = await newPair();
    await agent.removeObject("queues", queue);
    await agent.passes();
    const subError = async (): Promise<YsonValue | undefined> => {
      const queues = asMap((await agent.consumerStatus(consumer)).get("queues"));
      return asMap(queues.get(referenceToString(queue))).get("error");
    };
    expect(messagesOf(await subError())).toBe(`Queue "${referenceToString(queue)}" snapshot is missing`);
    expect([...asMap(asMap(await subError()).get("attributes")).keys()]).toContain("trace_id");
    await agent.putQueue(queue);
    await world.client().remove(queue.path);
    await agent.passes();
    await agent.passes();
    expect(codesOf(await subError())).toContain(500n);
  });

  test("with a partition that is not mounted shows offset and time there, and all of the others", async () => {
    const pair = await newPair({ tabletCount: 2 });
    const { queue, consumer } = pair;
    await world.push(queue, ["foo", "bar"], 0);
    await world.push(queue, ["foo"], 1);
    await world.advance(consumer, queue, 0, 1n);
    const client = world.client();
    await client.execute("unmount_table", {
      path: queue.path,
      first_tablet_index: 0n,
      last_tablet_index: 0n,
    });
    await world.waitUntil(async () => (await client.get(`${queue.path}/@tablets/0/state`)) === "unmounted");
    await agent.passes();
    const [first, second] = await partitionsOf(pair);
    expect([...(first?.keys() ?? [])].sort()).toEqual(["error", "last_consume_time", "next_row_index"]);
    expect(first?.get("next_row_index")).toBe(1n);
    expect(second?.get("unread_row_count")).toBe(1n);
  });
});

test("an offset that is no row index is an error of that queue, until it is set; noted weights that are none are ignored", async () => {
  const pair = await newPair();
  await world.push(pair.queue, ["foo", "bar"]);
  await putRows(pair.consumer, [offsetRow(pair, 0n, 2n ** 64n - 1n)]);
  await agent.passes();
  const queues = asMap((await agent.consumerStatus(pair.consumer)).get("queues"));
  const error = asMap(queues.get(referenceToString(pair.queue))).get("error");
  expect(messagesOf(error)).toContain("Offset 18446744073709551615 of consumer");
  expect(messagesOf(error)).toContain("set it with advance_queue_consumer");
  expect(await partitionsOf(pair)).toEqual([]);
  const meta = mapOf({ cumulative_data_weight: -(2n ** 63n), offset_timestamp: new Uint64(2n ** 64n - 1n) });
  await putRows(pair.consumer, [new Map([...offsetRow(pair, 0n, 1n), ["meta", meta]])]);
  expect((await firstOf(pair)).get("cumulative_data_weight")).toBe(20n);
  await world.advance(pair.consumer, pair.queue, 0, 2n);
  expect((await firstOf(pair)).get("next_row_index")).toBe(2n);
});

test("lag counts from the latest snapshots of both sides, at reading", async () => {
  const pair = await newPair();
  await world.push(pair.queue, ["foo"]);
  await agent.passes();
  const lag = (await partitionsOf(pair))[0]?.get("processing_lag");
  await agent.clock.advance(2_500);
  expect((await partitionsOf(pair))[0]?.get("processing_lag")).toBe(BigInt(String(lag)) + 2_500n);
  // The queue's pass alone tells of more rows.
  await world.push(pair.queue, ["bar"]);
  await agent.pass.registry.queues.get(referenceToString(pair.queue))?.pass();
  expect((await partitionsOf(pair))[0]?.get("unread_row_count")).toBe(2n);
  // A clock that lags behind the cluster's gives no negative lag.
  agent.clock.setNow(agent.clock.now() - 3_600_000);
  expect((await partitionsOf(pair))[0]?.get("processing_lag")).toBe(0n);
  agent.clock.setNow(agent.clock.now() + 3_600_000);
});

test("a consumer of the old kind keeps the last row read of its only queue", async () => {
  const queue = reference("primary://tmp/old-queue");
  const consumer = reference("primary://tmp/old-consumer");
  await world.createQueue(queue);
  await world.push(queue, ["a", "b", "c"]);
  const schema = parseYson(
    "<unique_keys=%true>[{name=ShardId;type=uint64;sort_order=ascending};{name=Offset;type=uint64}]",
  );
  await createTable(consumer, schema);
  await putRows(consumer, [mapOf({ ShardId: new Uint64(0n), Offset: new Uint64(1n) })]);
  await putRows(reference("primary://sys/queue_agents/consumer_registrations"), [
    mapOf({
      queue_cluster: queue.cluster,
      queue_path: queue.path,
      consumer_cluster: consumer.cluster,
      consumer_path: consumer.path,
      vital: false,
    }),
  ]);
  await agent.putQueue(queue);
  await agent.putConsumer(consumer);
  await agent.passes();
  const [partition] = await agent.consumerPartitions(consumer, queue);
  expect(fields(partition)).toMatchObject({ next_row_index: 2n, unread_row_count: 1n });
});

test("a table of several consumers shows each of them by name", async () => {
  const queue = reference("primary://tmp/shared-queue");
  const consumer = reference("primary://tmp/many");
  await world.createQueue(queue);
  await world.push(queue, ["a", "b", "c"]);
  await createTable(consumer, multiConsumerSchema.toYson());
  const client = world.client();
  for (const name of ["left", "right"]) {
    await client.registerQueueConsumer(queue.path, `<queue_consumer_name=${name}>${consumer.path}`, {
      vital: name === "left",
    });
  }
  await client.advanceQueueConsumer(`<queue_consumer_name=left>${consumer.path}`, queue.path, 0, {
    oldOffset: null,
    newOffset: 2n,
  });
  await agent.putQueue(queue);
  await agent.putConsumer(consumer, {
    row_revision: new Uint64(1n),
    object_type: "table",
    treat_as_queue_consumer: true,
    is_multi_consumer: true,
    schema: [multiConsumerSchema.toYson()],
  });
  await agent.passes();
  const status = await agent.consumerStatus(consumer);
  const consumers = asMap(status.get("consumers"));
  expect([...consumers.keys()].sort()).toEqual(["left", "right"]);
  expect(asMap(asMap(consumers.get("left")).get("queues")).has(referenceToString(queue))).toBe(true);
  const partitions = asMap(await agent.get(objectPath("consumers", consumer, "/partitions")));
  const next = [...partitions].map(([name, queues]) => {
    const list = isMap(queues) ? queues.get(referenceToString(queue)) : undefined;
    return [name, Array.isArray(list) && isMap(list[0]) ? list[0].get("next_row_index") : undefined];
  });
  expect(Object.fromEntries(next)).toEqual({ left: 2n, right: 0n });
});
