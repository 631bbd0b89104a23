/** Several consumers in one table, told apart by the attribute `queue_consumer_name` of the path. */
import { multiConsumerSchema, multiConsumerSchemaWithoutMeta } from "@qyt/schema";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, type Row, startClusters, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let remote: TestCluster;

beforeAll(async () => {
  // The registrations are kept on the other cluster, so that names go both ways of storing them.
  const [first, second] = await startClusters("remote_0", "primary");
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  remote = first;
  primary = second;
});

afterAll(async () => {
  await primary?.close();
  await remote?.close();
});

const q = "//tmp/q";
const named = (name: string, path = "//tmp/multi") => `<queue_consumer_name="${name}">${path}`;

function pull(consumer: string, offset: bigint | null = null, queue = q): Promise<Row[]> {
  return primary.root.pullQueueConsumer(consumer, queue, offset, 0);
}

function advance(consumer: string, oldOffset: bigint | null, newOffset: bigint, options = {}): Promise<void> {
  return primary.root.advanceQueueConsumer(consumer, q, 0, { oldOffset, newOffset }, options);
}

async function dataOf(consumer: string): Promise<unknown[]> {
  return (await pull(consumer)).map((row) => row["data"]);
}

beforeAll(async () => {
  await primary.createQueue(q, { attributes: { tablet_count: 2n } });
  const rows = ["a", "b", "c"].map((data) => ({ data, $tablet_index: 0n }));
  await primary.root.insertRows(q, rows);
  await primary.createConsumer("//tmp/multi", multiConsumerSchema);
  await primary.createConsumer("//tmp/single");
});

describe("a table of several consumers", () => {
  it("[queue-api 132] is a table with the flag and the schema with names", async () => {
    expect(await primary.root.get("//tmp/multi/@type")).toBe("table");
    expect(await primary.root.get("//tmp/multi/@treat_as_queue_consumer")).toBe(true);
    expect(await primary.root.get("//tmp/multi/@schema")).toEqual(multiConsumerSchema.toYson());
  });

  it("[queue-api 133] registers name by name", async () => {
    for (const name of ["my_1", "my_2"]) {
      const failure = await failureOf(pull(named(name)));
      expect(failure.codes).toContain(901);
      expect(failure.text).toContain(`<queue_consumer_name="${name}">primary://tmp/multi is not registered`);
    }
    await primary.root.registerQueueConsumer(q, named("my_1"), { vital: true });
    expect(await dataOf(named("my_1"))).toEqual(["a", "b", "c"]);
    for (const offset of [null, 0n]) {
      expect((await failureOf(pull(named("my_2"), offset))).codes).toContain(901);
      expect((await failureOf(pull("//tmp/multi", offset))).codes).toContain(901);
    }
    expect((await failureOf(advance(named("my_2"), null, 1n))).codes).toContain(901);
  });

  it("[queue-api 134] keeps offsets by name and partition", async () => {
    await primary.root.registerQueueConsumer(q, named("my_2"), { vital: false, partitions: [1n] });
    await advance(named("my_1"), 0n, 2n);
    await primary.root.advanceQueueConsumer(named("my_1"), q, 1, { oldOffset: 0n, newOffset: 7n });
    expect(await dataOf(named("my_1"))).toEqual(["c"]);
    expect(await dataOf(named("my_2"))).toEqual(["a", "b", "c"]);
    await advance(named("my_2"), 0n, 1n);
    const conflict = await failureOf(advance(named("my_2"), 2n, 3n));
    expect(conflict.codes).toContain(3100);
    expect(conflict.text).toContain("found offset 1");
    const rows = await primary.root.selectRows(
      "queue_consumer_name, queue_cluster, queue_path, partition_index, [offset] from [//tmp/multi]",
    );
    const place = { queue_cluster: "primary", queue_path: q };
    expect(rows).toEqual([
      { queue_consumer_name: "my_1", ...place, partition_index: 0n, offset: 2n },
      { queue_consumer_name: "my_1", ...place, partition_index: 1n, offset: 7n },
      { queue_consumer_name: "my_2", ...place, partition_index: 0n, offset: 1n },
    ]);
    const [meta] = await primary.root.selectRows("meta from [//tmp/multi] where partition_index = 0u");
    expect(meta).toMatchObject({ meta: { cumulative_data_weight: 36n } });
  });

  it("lists names with their paths, all of a table or one", async () => {
    const one = ["primary://tmp/q", "primary://tmp/multi#my_1", true, null];
    const two = ["primary://tmp/q", "primary://tmp/multi#my_2", false, [1n]];
    for (const cluster of [primary, remote]) {
      expect(await cluster.listed({ consumer: "primary://tmp/multi" })).toEqual([one, two]);
      expect(
        await cluster.listed({ consumer: `<cluster=primary;queue_consumer_name=my_2>//tmp/multi` }),
      ).toEqual([two]);
      expect(await cluster.listed({ queue: "primary://tmp/q" })).toEqual([one, two]);
    }
  });

  it("[queue-api 135] wants a name, though it registers without one", async () => {
    await primary.root.registerQueueConsumer(q, "//tmp/multi", { vital: false });
    for (const call of [pull("//tmp/multi"), advance("//tmp/multi", null, 1n)]) {
      expect((await failureOf(call)).text).toContain(
        "Queue consumer name is required for multi-consumer schema",
      );
    }
    const clientSide = await failureOf(advance("//tmp/multi", null, 1n, { clientSide: true }));
    expect(clientSide.text).toContain("Queue consumer name is required for multi-consumer schema");
    expect(await pull("//tmp/multi", 1n)).toHaveLength(2);
  });

  it("[queue-api 136] a table of one consumer has no names, though it registers with one", async () => {
    const consumer = named("my_1", "//tmp/single");
    await primary.root.registerQueueConsumer(q, consumer, { vital: false });
    for (const call of [pull(consumer), advance(consumer, null, 1n)]) {
      expect((await failureOf(call)).text).toContain(
        "Queue consumer name is not supported for consumer schema",
      );
    }
    expect(await pull(consumer, 1n)).toHaveLength(2);
    expect((await failureOf(pull("//tmp/single"))).codes).toContain(901);
  });

  it("unregisters one name, and leaves the others", async () => {
    await primary.root.unregisterQueueConsumer(q, named("my_1"));
    expect((await failureOf(pull(named("my_1")))).codes).toContain(901);
    expect(await dataOf(named("my_2"))).toEqual(["b", "c"]);
    await primary.root.unregisterQueueConsumer(q, "//tmp/multi");
    expect(await primary.listed({ consumer: "//tmp/multi" })).toHaveLength(1);
  });

  it("takes any text as a name, and nothing else", async () => {
    const name = 'odd "name"; with <marks> and é';
    const path = `<queue_consumer_name=${JSON.stringify(name)}>//tmp/multi`;
    await primary.root.registerQueueConsumer(q, path, { vital: false });
    await advance(path, 0n, 2n);
    expect(await dataOf(path)).toEqual(["c"]);
    for (const wrong of ["5", '""', "[]"]) {
      const failure = await failureOf(pull(`<queue_consumer_name=${wrong}>//tmp/multi`));
      expect(failure.text).toContain('"queue_consumer_name"');
    }
  });

  it("works without the column meta", async () => {
    await primary.createConsumer("//tmp/multi-plain", multiConsumerSchemaWithoutMeta);
    const consumer = named("x", "//tmp/multi-plain");
    await primary.root.registerQueueConsumer(q, consumer, { vital: false });
    await advance(consumer, 0n, 1n);
    expect(await dataOf(consumer)).toEqual(["b", "c"]);
  });
});
