/** The line of a producer is cut at every byte of an exchange, in both directions: each row is there once. */
import { createClient, queueSchema, undiciTransport, type YtClient } from "@qyt/client";
import type { Cluster } from "@qyt/server";
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";
import { CuttingLine, type Direction } from "./cutting-line.ts";

const queuePath = "//tmp/q";
const producerPath = "//tmp/p";
const events = queueSchema({ data: "string" });

let cluster: Cluster;
let plain: YtClient;
let line: CuttingLine;
let client: YtClient;
let clock: FakeClock;

beforeAll(async () => {
  cluster = await startTestCluster();
  plain = createClient({ proxy: cluster.address });
  await plain.create("queue_producer", producerPath);
  await plain.table(queuePath, events).create();
  await plain.mountTable(queuePath, { waitTimeoutMs: 10_000 });
  line = await CuttingLine.start(cluster.address);
  clock = new FakeClock();
  const transport = undiciTransport({ connections: 1 });
  client = createClient({ proxy: line.address, transport, clock });
});

afterAll(async () => {
  await plain.close();
  await line.stop();
  await cluster.close(0);
});

/** Opens the session, then writes two rows over the line as it is from then on. */
async function pushTwo(rows: readonly string[], whenOpen: () => void): Promise<void> {
  const producer = await client.producer({ producerPath, queuePath, sessionId: "s", schema: events });
  whenOpen();
  await producer.writeAll(rows.map((data) => ({ data })));
  await producer.close();
}

/** The pauses before further attempts are on the test's clock; the network is not. */
async function passed(work: Promise<void>): Promise<void> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  await clock.advanceUntil(() => isOver, 200);
  await over;
}

it("writes each row once, in order, wherever the connection ends", async () => {
  const written: string[] = [];
  const write = (name: string, whenOpen: () => void): Promise<void> => {
    const rows = [`${name}, first`, `${name}, second`];
    written.push(...rows);
    return passed(pushTwo(rows, whenOpen));
  };
  await write("uncut", () => line.takePassed());
  const lengths = line.takePassed();
  for (const direction of ["to the proxy", "to the client"] satisfies Direction[]) {
    expect(lengths[direction]).toBeGreaterThan(100);
    for (let bytes = 1; bytes <= lengths[direction]; bytes++) {
      await write(`${bytes} ${direction}`, () => line.cutAfter(bytes, direction));
      expect(line.isCut).toBe(true);
    }
  }
  const found: unknown[] = [];
  for (let offset = 0n; found.length < written.length; offset = BigInt(found.length)) {
    const rows = await plain.pullQueue(queuePath, offset, 0, { maxRowCount: 1_000n });
    expect(rows.length).toBeGreaterThan(0);
    found.push(...rows.map((row) => row["data"]));
  }
  expect(found).toEqual(written);
  expect(await plain.pullQueue(queuePath, BigInt(written.length), 0)).toEqual([]);
}, 120_000);
