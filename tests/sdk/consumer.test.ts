/** The SDK's consumer with one process: batches, commits, transactions, start, trimming, pauses, close. */
import { YtError } from "@qyt/base";
import { eventually } from "@qyt/testing";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { startOne, type TestCluster } from "../queue-api/fixture.ts";
import { ConsumedQueue, nextOf, textsOf } from "./consumer-fixture.ts";

let cluster: TestCluster;
const opened: ConsumedQueue[] = [];

beforeAll(async () => {
  cluster = await startOne();
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

afterAll(async () => {
  await cluster?.close();
});

async function consumed(partitions = 1): Promise<ConsumedQueue> {
  const made = await ConsumedQueue.create(cluster, partitions);
  opened.push(made);
  return made;
}

it.each([{ group: undefined }, { group: false as const }])(
  "hands out rows in order and stores how far it came (group: $group)",
  async ({ group }) => {
    const q = await consumed();
    await q.write(0, "a", "b", "c");
    const consumer = q.open({ batchRows: 2, ...(group === undefined ? {} : { group }) });
    const seen: string[] = [];
    for await (const batch of consumer) {
      seen.push(...textsOf(batch));
      await batch.commit();
      if (seen.length === 3) {
        await q.write(0, "d");
      } else if (seen.length === 4) {
        break;
      }
    }
    expect(seen).toEqual(["a", "b", "c", "d"]);
    expect(await q.offsets()).toEqual({ "0": 4n });
  },
);

it("advances in the user's transaction: with its commit, or not at all", async () => {
  const q = await consumed();
  const other = await consumed();
  await q.write(0, "a");
  const batches = q.open()[Symbol.asyncIterator]();
  const first = await nextOf(batches);
  const failing = cluster.root.transaction(
    async (tx) => {
      await tx.insertRows(other.queue, [{ data: "out" }]);
      await first.commit(tx);
      throw new Error("no");
    },
    { type: "tablet" },
  );
  await expect(failing).rejects.toThrow("no");
  const again = await nextOf(batches);
  expect(textsOf(again)).toEqual(["a"]);
  await cluster.root.transaction(
    async (tx) => {
      await tx.insertRows(other.queue, [{ data: "out" }]);
      await again.commit(tx);
    },
    { type: "tablet" },
  );
  expect(await q.offsets()).toEqual({ "0": 1n });
  expect(await cluster.dataOf(other.queue)).toEqual(["out"]);
});

it("runs a handler on several partitions at a time, each in order, in a transaction with the offset", async () => {
  const q = await consumed(4);
  const results = await consumed();
  const texts = Array.from({ length: 30 }, (_, index) => `${index}`);
  for (const partition of [0, 1, 2, 3]) {
    await q.write(partition, ...texts);
  }
  const consumer = q.open({ batchRows: 4 });
  let running = 0;
  let most = 0;
  const done = consumer.run(
    async (batch, tx) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 2));
      await tx.insertRows(
        results.queue,
        textsOf(batch).map((text) => ({ data: `${batch.partition}:${text}` })),
      );
      running--;
    },
    { concurrency: 3 },
  );
  await q.hasOffsets({ "0": 30n, "1": 30n, "2": 30n, "3": 30n });
  await consumer.close();
  await done;
  expect(most).toBe(3);
  const stored = (await cluster.dataOf(results.queue)).map(String);
  for (const partition of [0, 1, 2, 3]) {
    const own = stored.filter((text) => text.startsWith(`${partition}:`));
    expect(own).toEqual(texts.map((text) => `${partition}:${text}`));
  }
});

it("refuses a consumer that is not registered, and says what to do", async () => {
  const q = await consumed();
  await cluster.root.unregisterQueueConsumer(q.queue, q.consumer);
  const failure = await q
    .open()
    .open()
    .catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(YtError);
  expect(failure instanceof YtError && failure.has(901)).toBe(true);
  expect(String(failure)).toContain("registerQueueConsumer");
});

it("begins behind the last row, and reads from the first one what comes later", async () => {
  const q = await consumed(2);
  await q.write(0, "old");
  const batches = q.open({ start: "end" })[Symbol.asyncIterator]();
  const next = nextOf(batches);
  await q.hasOffsets({ "0": 1n, "1": 0n });
  await q.write(0, "new");
  expect(textsOf(await next)).toEqual(["new"]);
});

it("begins at a time", async () => {
  const q = await consumed();
  for (const text of ["a", "b", "c", "d", "e"]) {
    await q.write(0, text);
  }
  const rows = await cluster.root.pullQueue(q.queue, 0n, 0);
  const timestamp = rows[3]?.["$timestamp"];
  if (typeof timestamp !== "bigint") {
    throw new Error("No timestamp");
  }
  const batches = q.open({ start: { time: timestamp } })[Symbol.asyncIterator]();
  expect(textsOf(await nextOf(batches))).toEqual(["d", "e"]);
});

it("tells which rows were trimmed before it read them", async () => {
  const q = await consumed();
  await q.write(0, "a", "b", "c");
  await cluster.root.trimRows(q.queue, 0, 2n);
  const batches = q.open()[Symbol.asyncIterator]();
  const batch = await nextOf(batches);
  expect(textsOf(batch)).toEqual(["c"]);
  expect(q.eventsOf("skipped")).toMatchObject([{ queue: q.queue, partition: 0, from: 0n, to: 2n }]);
  await batch.commit();
  expect(await q.offsets()).toEqual({ "0": 3n });
});

it("goes on where somebody else has moved the offset to", async () => {
  const q = await consumed();
  await q.write(0, "a", "b", "c");
  const batches = q.open()[Symbol.asyncIterator]();
  await (await nextOf(batches)).commit();
  const next = nextOf(batches);
  await cluster.root.advanceQueueConsumer(q.consumer, q.queue, 0, { oldOffset: 3n, newOffset: 1n });
  expect(textsOf(await next)).toEqual(["b", "c"]);
  expect(q.eventsOf("moved")).toMatchObject([{ partition: 0, from: 3n, to: 1n }]);
});

it("commits nothing of a batch when the offset was moved meanwhile", async () => {
  const q = await consumed();
  await q.write(0, "a", "b", "c");
  const batches = q.open({ batchRows: 1 })[Symbol.asyncIterator]();
  const batch = await nextOf(batches);
  await cluster.root.advanceQueueConsumer(q.consumer, q.queue, 0, { oldOffset: 0n, newOffset: 2n });
  const refused = await batch.commit().catch((thrown: unknown) => thrown);
  expect(refused instanceof YtError && refused.has(3100)).toBe(true);
  expect(textsOf(await nextOf(batches))).toEqual(["c"]);
});

it("hands out nothing of a paused partition until it is resumed", async () => {
  const q = await consumed(2);
  const consumer = q.open();
  await consumer.pause({ path: q.queue, partitions: [0] });
  await q.write(0, "a");
  await q.write(1, "b");
  const batches = consumer[Symbol.asyncIterator]();
  const first = await nextOf(batches);
  expect(textsOf(first)).toEqual(["b"]);
  await first.commit();
  await consumer.resume();
  expect(textsOf(await nextOf(batches))).toEqual(["a"]);
});

it("waits for the last handler when it is closed", async () => {
  const q = await consumed();
  await q.write(0, "a");
  const consumer = q.open();
  let finish: () => void = () => undefined;
  const isAtWork = new Promise<void>((atWork) => {
    void consumer.run(async () => {
      atWork();
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    });
  });
  await isAtWork;
  let isClosed = false;
  const closed = consumer.close().then(() => {
    isClosed = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isClosed).toBe(false);
  finish();
  await closed;
  expect(await q.offsets()).toEqual({ "0": 1n });
});

it("reads new partitions after a reshard when the rows before it are read", async () => {
  const q = await consumed(1);
  await q.write(0, "old-1", "old-2");
  const consumer = q.open({ batchRows: 1 });
  const batches = consumer[Symbol.asyncIterator]();
  const first = await nextOf(batches);
  await cluster.root.unmountTable(q.queue);
  await cluster.root.execute("reshard_table", { path: q.queue, tablet_count: 2n });
  await cluster.root.mountTable(q.queue);
  await q.write(1, "new");
  const table = `${q.consumer}-group`;
  const layout = async () =>
    (await cluster.root.selectRows(`state from [${table}] where kind = "layout"`))[0];
  await eventually(async () =>
    expect(await layout()).toMatchObject({ state: { count: 1n, pending: 2n, barrier: [2n] } }),
  );
  expect(q.eventsOf("assigned")).toHaveLength(1);
  await first.commit();
  const second = await nextOf(batches);
  expect(textsOf(second)).toEqual(["old-2"]);
  await second.commit();
  expect(textsOf(await nextOf(batches))).toEqual(["new"]);
});
