/** A producer against a cluster: batches, numbers, take-overs, failures, and what pushes back. */
import { mapOf } from "@qyt/base";
import { createClient, type Producer, ProducerFenced, queueSchema, type YtClient } from "@qyt/client";
import type { Cluster } from "@qyt/server";
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";
import { LossyLine } from "./lossy-line.ts";

let cluster: Cluster;
let plain: YtClient;
let line: LossyLine;
let client: YtClient;

const producerPath = "//tmp/p";
const events = queueSchema({ data: "string" });

beforeAll(async () => {
  cluster = await startTestCluster();
  plain = createClient({ proxy: cluster.address });
  line = new LossyLine();
  client = createClient({
    proxy: cluster.address,
    transport: line,
    retries: { attempts: 6, minDelayMs: 1, maxDelayMs: 4 },
  });
  await plain.create("queue_producer", producerPath);
});

afterAll(async () => {
  await line.close();
  await plain.close();
  await cluster.close(0);
});

let queuePath = "";
let queues = 0;
beforeEach(async () => {
  line.mend();
  queuePath = `//tmp/q${queues++}`;
  await plain.table(queuePath, events).create({ attributes: { tablet_count: 2n } });
  await plain.mountTable(queuePath, { waitTimeoutMs: 10_000 });
});

const session = () => ({ producerPath, queuePath, sessionId: "session", partition: () => 0 });

async function dataOf(partition = 0): Promise<unknown[]> {
  return (await plain.pullQueue(queuePath, 0n, partition)).map((row) => row["data"]);
}

async function writeNumbered(producer: Producer, from: number, to: number): Promise<void> {
  for (let n = from; n <= to; n++) {
    await producer.write({ data: `${n}` });
  }
}

const numbered = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, index) => `${from + index}`);

describe("numbers that the producer keeps", () => {
  it("go on where the session ended", async () => {
    const first = await client.producer({ ...session(), schema: events });
    expect(await first.write({ data: "0" })).toBe(0n);
    expect(await first.write({ data: "1" })).toBe(1n);
    await first.close();
    expect(first.acknowledged).toBe(1n);
    const second = await client.producer({ ...session(), schema: events });
    expect(second.session).toMatchObject({ epoch: 1n, sequenceNumber: 1n });
    expect(await second.write({ data: "2" })).toBe(2n);
    await second.close();
    expect(await dataOf()).toEqual(["0", "1", "2"]);
  });

  it("are in batches of the limits, and told when durable", async () => {
    const producer = await client.producer({ ...session(), maxBatchRows: 4 });
    const told: unknown[] = [];
    producer.onAcknowledged(({ sequenceNumber, rowCount }) => told.push([sequenceNumber, rowCount]));
    await writeNumbered(producer, 0, 9);
    await producer.close();
    expect(told).toEqual([
      [3n, 4],
      [7n, 4],
      [9n, 2],
    ]);
    expect(await dataOf()).toEqual(numbered(0, 9));
  });
});

describe("numbers that the user gives", () => {
  it("leave out rows that the session has, so that a source can be read again", async () => {
    const rows = [5n, 7n, 20n, 21n].map((number) => ({ data: `${number}`, $sequence_number: number }));
    const first = await client.producer({ ...session(), numbers: "user" });
    await first.writeAll(rows.slice(0, 2));
    await first.close();
    const second = await client.producer({ ...session(), numbers: "user" });
    await second.writeAll(rows);
    await second.close();
    expect(await dataOf()).toEqual(["5", "7", "20", "21"]);
    expect(second.acknowledged).toBe(21n);
  });

  it("increase", async () => {
    const producer = await client.producer({ ...session(), numbers: "user" });
    await producer.write({ data: "x", $sequence_number: 3n });
    await expect(producer.write({ data: "y", $sequence_number: 3n })).rejects.toMatchObject({ code: 3103 });
    await producer.close();
    expect(await dataOf()).toEqual(["x"]);
  });
});

describe("a producer whose session is taken over", () => {
  it("learns that it is a zombie, and who took over", async () => {
    const zombie = await client.producer({ ...session(), userMeta: mapOf({ host: "old" }) });
    await zombie.write({ data: "before" });
    await zombie.flush();
    const next = await client.producer({ ...session(), userMeta: mapOf({ host: "new" }) });
    await next.write({ data: "by the new one" });
    await next.flush();
    await zombie.write({ data: "by the zombie" });
    const error = await zombie.flush().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProducerFenced);
    expect(error).toMatchObject({ code: 3102, currentEpoch: 1n, userMeta: mapOf({ host: "new" }) });
    await expect(zombie.write({ data: "again" })).rejects.toBe(error);
    await expect(zombie.close()).rejects.toBe(error);
    await next.close();
    expect(await dataOf()).toEqual(["before", "by the new one"]);
  });
});

describe("a line that loses", () => {
  it.each(["loseRequests", "loseAnswers"] as const)("%s: each row once, in order", async (how) => {
    const producer = await client.producer({ ...session(), maxBatchRows: 3 });
    line[how]("push_queue_producer", 10);
    await writeNumbered(producer, 0, 10);
    await producer.close();
    expect(await dataOf()).toEqual(numbered(0, 10));
  });

  it("for longer than the delivery may take: the producer fails, and the session tells what is written", async () => {
    const producer = await client.producer({ ...session(), deliveryTimeoutMs: 30 });
    line.loseAnswers("push_queue_producer", 10_000);
    await producer.write({ data: "0" });
    await expect(producer.flush()).rejects.toMatchObject({ code: 3 });
    line.mend();
    const next = await client.producer(session());
    expect(next.session.sequenceNumber).toBe(0n);
    await next.close();
  });
});

describe("what pushes back", () => {
  it("is a buffer: write waits while it is full, and rows keep their order", async () => {
    const producer = await client.producer({ ...session(), maxBufferedBytes: 20, maxBatchRows: 1 });
    line.loseRequests("push_queue_producer", 1_000_000);
    let taken = 0;
    const writes = numbered(0, 9).map(async (data) => {
      await producer.write({ data });
      taken++;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(taken).toBe(1);
    line.mend();
    await Promise.all(writes);
    await producer.close();
    expect(await dataOf()).toEqual(numbered(0, 9));
  });
});

describe("close", () => {
  it("waits for rows that wait for room, and takes none after it", async () => {
    const producer = await client.producer({ ...session(), maxBufferedBytes: 1, maxBatchRows: 1 });
    const writes = numbered(0, 4).map((data) => producer.write({ data }));
    await producer.close();
    await Promise.all(writes);
    await expect(producer.write({ data: "late" })).rejects.toThrow("closed");
    expect(await dataOf()).toEqual(numbered(0, 4));
  });

  it("comes at once when the signal aborts", async () => {
    const controller = new AbortController();
    const producer = await client.producer({ ...session(), signal: controller.signal });
    line.loseRequests("push_queue_producer", 1_000_000);
    await producer.write({ data: "never" });
    const flushed = producer.flush();
    controller.abort(new Error("shutting down"));
    await expect(flushed).rejects.toThrow("shutting down");
    expect(await dataOf()).toEqual([]);
  });
});

it("sends a batch when its first row is as old as it may be", async () => {
  const clock = new FakeClock();
  const timed = createClient({ proxy: cluster.address, clock });
  const producer = await timed.producer({ ...session(), maxDelayMs: 1_000 });
  let sent = 0;
  producer.onAcknowledged(() => sent++);
  await producer.write({ data: "patient" });
  await clock.advance(999);
  expect(await dataOf()).toEqual([]);
  await clock.advance(1);
  await clock.advanceUntil(() => sent === 1, 1);
  expect(await dataOf()).toEqual(["patient"]);
  await producer.close();
  await timed.close();
});

it("chooses the partition of each row", async () => {
  const producer = await client.producer({
    ...session(),
    schema: events,
    partition: ({ data }) => Number(data) % 2,
  });
  await producer.writeAll(numbered(0, 5).map((data) => ({ data })));
  await producer.close();
  expect(await dataOf(0)).toEqual(["0", "2", "4"]);
  expect(await dataOf(1)).toEqual(["1", "3", "5"]);
});
