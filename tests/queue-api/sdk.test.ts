/** Round trips of queues, consumers and producers through `@qyt/client`, as the SDKs' own suites make them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startClusters, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let remote: TestCluster;

beforeAll(async () => {
  const [first, second] = await startClusters("primary", "remote_0");
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  primary = first;
  remote = second;
});

afterAll(async () => {
  await remote?.close();
  await primary?.close();
});

describe("a producer from its first row to its last", () => {
  const q = "//tmp/sdk/q";
  const p = "//tmp/sdk/p";
  const row = (data: string, number: bigint) => ({ data, $sequence_number: number });

  beforeAll(async () => {
    await primary.createQueue(q);
    await primary.createProducer(p);
    await primary.root.createQueueProducerSession(p, q, "session");
  });

  it("[queue-api 116] pushes, and pushes again with one row more", async () => {
    const first = await primary.root.pushQueueProducer(p, q, "session", 0n, [row("foo", 0n)]);
    expect(first).toEqual({ lastSequenceNumber: 0n, skippedRowCount: 0n });
    const second = await primary.root.pushQueueProducer(p, q, "session", 0n, [
      row("foo", 0n),
      row("bar", 2n),
    ]);
    expect(second).toEqual({ lastSequenceNumber: 2n, skippedRowCount: 1n });
    expect(await primary.dataOf(q)).toEqual(["foo", "bar"]);
  });

  it("[queue-api 117] pushes in a tablet transaction", async () => {
    const transactionId = await primary.root.startTransaction({ type: "tablet" });
    const rows = [row("bar", 2n), row("baz", 3n)];
    const pushed = await primary.root.pushQueueProducer(p, q, "session", 0n, rows, { transactionId });
    expect(pushed).toEqual({ lastSequenceNumber: 3n, skippedRowCount: 1n });
    expect(await primary.dataOf(q)).toEqual(["foo", "bar"]);
    await primary.root.commitTransaction(transactionId);
    expect(await primary.dataOf(q)).toEqual(["foo", "bar", "baz"]);
  });

  it("[queue-api 118] goes on after it was taken over", async () => {
    const session = await primary.root.createQueueProducerSession(p, q, "session");
    expect(session).toMatchObject({ epoch: 1n, sequenceNumber: 3n });
    const zombie = primary.root.pushQueueProducer(p, q, "session", 0n, [row("zombie", 4n)]);
    expect((await failureOf(zombie)).codes).toContain(3102);
    const pushed = await primary.root.pushQueueProducer(p, q, "session", 1n, [row("last", 4n)]);
    expect(pushed.lastSequenceNumber).toBe(4n);
    expect(await primary.dataOf(q)).toEqual(["foo", "bar", "baz", "last"]);
  });

  it("[queue-api 119] ends", async () => {
    await primary.root.removeQueueProducerSession(p, q, "session");
    const push = primary.root.pushQueueProducer(p, q, "session", 1n, [row("late", 5n)]);
    expect((await failureOf(push)).text).toContain('Unknown queue producer session "session"');
  });
});

describe("a registration from its making to its end", () => {
  const q = "//tmp/registered/q";
  const c = "//tmp/registered/c";

  async function listedEveryWay() {
    return Promise.all(
      [{}, { queue: q }, { consumer: c }, { queue: q, consumer: c }].map((filter) => primary.listed(filter)),
    );
  }

  beforeAll(async () => {
    await primary.createQueue(q);
    await primary.createConsumer(c);
  });

  it("[queue-api 125] [queue-api 126] [queue-api 127] is what the table and every list say", async () => {
    for (const [vital, partitions] of [
      [true, undefined],
      [false, [1n, 5n, 4n, 3n]],
    ] as const) {
      await primary.root.registerQueueConsumer(q, c, {
        vital,
        ...(partitions === undefined ? {} : { partitions }),
      });
      const item = [`primary:${q}`, `primary:${c}`, vital, partitions ?? null];
      expect(await listedEveryWay()).toEqual([[item], [item], [item], [item]]);
      expect(await primary.storedRegistrations()).toEqual([
        {
          queue_cluster: "primary",
          queue_path: q,
          consumer_cluster: "primary",
          consumer_path: c,
          vital,
          partitions: partitions ?? null,
        },
      ]);
      await primary.root.unregisterQueueConsumer(q, c);
      expect(await listedEveryWay()).toEqual([[], [], [], []]);
      expect(await primary.storedRegistrations()).toEqual([]);
    }
  });

  it("[queue-api 131] every filter finds exactly its registrations, before and after a swap", async () => {
    for (const name of ["a", "b"]) {
      await primary.createQueue(`//tmp/swap/q-${name}`);
      await remote.createConsumer(`//tmp/swap/c-${name}`);
    }
    const pair = (queue: string, consumer: string) =>
      [`primary://tmp/swap/q-${queue}`, `remote_0://tmp/swap/c-${consumer}`] as const;
    const expected = async (pairs: readonly (readonly [string, string])[]) => {
      const all = pairs.map((item) => [...item, true, null]);
      for (const cluster of [primary, remote]) {
        expect(await cluster.listed()).toEqual(all);
        for (const name of ["a", "b"]) {
          const queue = `primary://tmp/swap/q-${name}`;
          const consumer = `remote_0://tmp/swap/c-${name}`;
          expect(await cluster.listed({ queue })).toEqual(all.filter(([item]) => item === queue));
          expect(await cluster.listed({ consumer })).toEqual(all.filter(([, item]) => item === consumer));
          expect(await cluster.listed({ queue, consumer })).toEqual(
            all.filter(([first, second]) => first === queue && second === consumer),
          );
        }
      }
    };
    for (const item of [pair("a", "a"), pair("b", "b")]) {
      await primary.root.registerQueueConsumer(...item, { vital: true });
    }
    await expected([pair("a", "a"), pair("b", "b")]);
    for (const item of [pair("a", "a"), pair("b", "b")]) {
      await remote.root.unregisterQueueConsumer(...item);
    }
    await expected([]);
    for (const item of [pair("a", "b"), pair("b", "a")]) {
      await remote.root.registerQueueConsumer(...item, { vital: true });
    }
    await expected([pair("a", "b"), pair("b", "a")]);
  });
});

describe("descriptors", () => {
  it("queue commands are there in version 4 only, with their types", async () => {
    const describeCommand = (
      name: string,
      input: string,
      output: string,
      volatile: boolean,
      heavy: boolean,
    ) => ({
      name,
      input_type: input,
      output_type: output,
      is_volatile: volatile,
      is_heavy: heavy,
    });
    const wanted = [
      describeCommand("register_queue_consumer", "null", "structured", true, false),
      describeCommand("unregister_queue_consumer", "null", "structured", true, false),
      describeCommand("list_queue_consumer_registrations", "null", "structured", false, false),
      describeCommand("pull_queue", "null", "tabular", false, true),
      describeCommand("pull_queue_consumer", "null", "tabular", false, true),
      describeCommand("pull_consumer", "null", "tabular", false, true),
      describeCommand("advance_queue_consumer", "null", "structured", true, false),
      describeCommand("advance_consumer", "null", "structured", true, false),
      describeCommand("create_queue_producer_session", "null", "structured", true, false),
      describeCommand("remove_queue_producer_session", "null", "structured", true, false),
      describeCommand("push_queue_producer", "tabular", "structured", true, false),
    ];
    const at = async (version: string) => {
      const response = await fetch(`http://${primary.cluster.address}/api/${version}`);
      const list: unknown = await response.json();
      const names = wanted.map(({ name }) => name);
      return Array.isArray(list) ? list.filter((item) => names.includes(item.name)) : [];
    };
    const found = await at("v4");
    expect(found).toHaveLength(wanted.length);
    expect(found).toEqual(expect.arrayContaining(wanted.map((item) => expect.objectContaining(item))));
    expect(await at("v3")).toEqual([]);
    const response = await fetch(`http://${primary.cluster.address}/api/v3/pull_queue`);
    expect(response.status).toBe(404);
    expect(await response.text()).toContain('Command \\"pull_queue\\" is not registered');
  });
});
