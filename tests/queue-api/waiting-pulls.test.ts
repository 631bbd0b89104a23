/** Pulls with `wait_timeout`: what they wait for, and everything that ends the wait. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, responseParametersOf, startClusters, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let remote: TestCluster;

/** Long enough that a test which waits for it fails. */
const forever = 600_000n;

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

interface WaitingPull {
  readonly rows: Promise<string[]>;
  cancel(): void;
}

/** Starts a pull whose answer is the column `data`. */
function startPull(
  cluster: TestCluster,
  queue: string,
  parameters: Readonly<Record<string, bigint | string | null>>,
): WaitingPull {
  const controller = new AbortController();
  const command = "consumer_path" in parameters ? "pull_queue_consumer" : "pull_queue";
  const read = async (): Promise<string[]> => {
    const rows: string[] = [];
    let text = "";
    const stream = cluster.root.streamRows(
      command,
      { queue_path: queue, partition_index: 0n, output_format: "json", ...parameters },
      { signal: controller.signal },
    );
    for await (const chunk of stream) {
      text += chunk.toString();
    }
    for (const line of text.split("\n").filter((item) => item !== "")) {
      const row: unknown = JSON.parse(line);
      rows.push(typeof row === "object" && row !== null && "data" in row ? String(row.data) : "");
    }
    return rows;
  };
  return { rows: read(), cancel: () => controller.abort() };
}

/** Resolves when so many pulls wait on the cluster. */
async function untilWaiting(cluster: TestCluster, count: number): Promise<void> {
  const { waits } = cluster.cluster.services.queues;
  while (waits.count !== count) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
}

describe("a pull that waits", () => {
  it("answers at once when there are rows, or when it is not asked to wait", async () => {
    await primary.createQueue("//tmp/at-once");
    expect(await startPull(primary, "//tmp/at-once", { offset: 0n }).rows).toEqual([]);
    expect(await startPull(primary, "//tmp/at-once", { offset: 0n, wait_timeout: 0n }).rows).toEqual([]);
    await primary.root.insertRows("//tmp/at-once", [{ data: "a" }]);
    const pull = startPull(primary, "//tmp/at-once", { offset: 0n, wait_timeout: forever });
    expect(await pull.rows).toEqual(["a"]);
  });

  it("is woken by the row it waits for, not by an earlier one", async () => {
    await primary.createQueue("//tmp/woken");
    const pulls = [0n, 0n, 2n].map((offset) =>
      startPull(primary, "//tmp/woken", { offset, wait_timeout: forever }),
    );
    await untilWaiting(primary, 3);
    await primary.root.insertRows("//tmp/woken", [{ data: "a" }]);
    expect(await pulls[0]?.rows).toEqual(["a"]);
    expect(await pulls[1]?.rows).toEqual(["a"]);
    await untilWaiting(primary, 1);
    await primary.root.insertRows("//tmp/woken", [{ data: "b" }, { data: "c" }]);
    expect(await pulls[2]?.rows).toEqual(["c"]);
    await untilWaiting(primary, 0);
  });

  it("waits for rows after a trim that took all", async () => {
    await primary.createQueue("//tmp/trimmed");
    await primary.root.insertRows("//tmp/trimmed", [{ data: "a" }, { data: "b" }]);
    await primary.root.trimRows("//tmp/trimmed", 0, 2n);
    const pull = startPull(primary, "//tmp/trimmed", { offset: 0n, wait_timeout: forever });
    await untilWaiting(primary, 1);
    await primary.root.insertRows("//tmp/trimmed", [{ data: "c" }]);
    expect(await pull.rows).toEqual(["c"]);
  });

  it("is not woken by rows that are not committed", async () => {
    await primary.createQueue("//tmp/uncommitted");
    const pull = startPull(primary, "//tmp/uncommitted", { offset: 0n, wait_timeout: forever });
    await untilWaiting(primary, 1);
    const transactionId = await primary.root.startTransaction({ type: "tablet" });
    await primary.root.insertRows("//tmp/uncommitted", [{ data: "a" }], { transactionId });
    expect(primary.cluster.services.queues.waits.count).toBe(1);
    await primary.root.commitTransaction(transactionId);
    expect(await pull.rows).toEqual(["a"]);
  });

  it("answers with nothing when its time is over", async () => {
    await primary.createQueue("//tmp/in-vain");
    const pull = startPull(primary, "//tmp/in-vain", { offset: 0n, wait_timeout: "20ms" });
    expect(await pull.rows).toEqual([]);
    expect(primary.cluster.services.queues.waits.count).toBe(0);
    const failure = await failureOf(
      startPull(primary, "//tmp/in-vain", { offset: 0n, wait_timeout: -1n }).rows,
    );
    expect(failure.text).toContain("wait_timeout");
  });

  it("ends when its client goes away", async () => {
    await primary.createQueue("//tmp/gone");
    const pull = startPull(primary, "//tmp/gone", { offset: 0n, wait_timeout: forever });
    await untilWaiting(primary, 1);
    pull.cancel();
    expect((await failureOf(pull.rows)).error.has("Canceled")).toBe(true);
    await untilWaiting(primary, 0);
  });

  it("ends with the tablet: unmounted or removed", async () => {
    await primary.createQueue("//tmp/unmounted");
    const unmounted = failureOf(
      startPull(primary, "//tmp/unmounted", { offset: 0n, wait_timeout: forever }).rows,
    );
    await untilWaiting(primary, 1);
    await primary.root.unmountTable("//tmp/unmounted");
    expect((await unmounted).codes).toContain(1702);
    await primary.createQueue("//tmp/removed");
    const removed = failureOf(
      startPull(primary, "//tmp/removed", { offset: 0n, wait_timeout: forever }).rows,
    );
    await untilWaiting(primary, 1);
    await primary.root.remove("//tmp/removed");
    expect((await removed).codes).toContain(500);
  });

  it("waits by the hundred", async () => {
    await primary.createQueue("//tmp/hundred");
    const client = primary.client();
    const pulls = Array.from({ length: 100 }, async () => {
      const rows: Buffer[] = [];
      const stream = client.streamRows("pull_queue", {
        queue_path: "//tmp/hundred",
        partition_index: 0n,
        wait_timeout: forever,
        output_format: "json",
      });
      for await (const chunk of stream) {
        rows.push(chunk);
      }
      return Buffer.concat(rows).toString();
    });
    // The client keeps 64 connections.
    await untilWaiting(primary, 64);
    await primary.root.insertRows("//tmp/hundred", [{ data: "all" }]);
    for (const text of await Promise.all(pulls)) {
      expect(JSON.parse(text)).toMatchObject({ data: "all" });
    }
  });
});

describe("a pull through a consumer that waits", () => {
  it.each(["primary", "remote_0"])("for rows of %s at its offset", async (name) => {
    const owner = name === "primary" ? primary : remote;
    const consumer = `//tmp/consumer-of-${name}`;
    await owner.createQueue("//tmp/through");
    await owner.root.insertRows("//tmp/through", [{ data: "a" }]);
    await primary.createConsumer(consumer);
    const queue = `${name}://tmp/through`;
    await primary.root.registerQueueConsumer(queue, consumer, { vital: false });
    await primary.root.advanceQueueConsumer(consumer, queue, 0, { oldOffset: 0n, newOffset: 1n });
    const start = (wait: bigint) =>
      startPull(primary, queue, { consumer_path: consumer, offset: null, wait_timeout: wait });
    const pull = start(forever);
    await untilWaiting(owner, 1);
    await owner.root.insertRows("//tmp/through", [{ data: "b" }]);
    expect(await pull.rows).toEqual(["b"]);
    await primary.root.advanceQueueConsumer(consumer, queue, 0, { oldOffset: 1n, newOffset: 2n });
    expect(await start(20n).rows).toEqual([]);
    const canceled = start(forever);
    await untilWaiting(owner, 1);
    canceled.cancel();
    await failureOf(canceled.rows);
    await untilWaiting(owner, 0);
    await untilWaiting(primary, 0);
  });

  it("names rows that were trimmed, also on another cluster", async () => {
    await remote.createQueue("//tmp/skipped");
    await remote.root.insertRows("//tmp/skipped", [{ data: "a" }, { data: "b" }, { data: "c" }]);
    await remote.root.trimRows("//tmp/skipped", 0, 2n);
    await primary.createConsumer("//tmp/skipped-consumer");
    const queue = "remote_0://tmp/skipped";
    await primary.root.registerQueueConsumer(queue, "//tmp/skipped-consumer", { vital: false });
    const response = await primary.root.requester.send({
      command: "pull_queue_consumer",
      method: "GET",
      isVolatile: false,
      parameters: { consumer_path: "//tmp/skipped-consumer", queue_path: queue, partition_index: 0n },
    });
    for await (const _ of response.body) {
      // Only the headers are of interest.
    }
    expect(responseParametersOf(response.headers.get("x-yt-response-parameters"))).toMatchObject({
      start_offset: 2n,
      start_row_index: 2n,
      skipped_row_count: 2n,
    });
  });
});

describe("a cluster that stops", () => {
  it("lets go of the pulls that wait, on itself and on others", async () => {
    const [keeper, stopping] = await startClusters("keeper", "stopping");
    if (keeper === undefined || stopping === undefined) {
      throw new Error("Two clusters are needed");
    }
    await stopping.createQueue("//tmp/q");
    await keeper.createQueue("//tmp/q");
    await stopping.createConsumer("//tmp/c");
    await stopping.root.registerQueueConsumer("keeper://tmp/q", "//tmp/c", { vital: false });
    const local = startPull(stopping, "//tmp/q", { offset: 0n, wait_timeout: forever });
    const across = startPull(stopping, "keeper://tmp/q", { consumer_path: "//tmp/c", wait_timeout: forever });
    const failure = failureOf(across.rows);
    await untilWaiting(stopping, 2);
    await untilWaiting(keeper, 1);
    await Promise.all([stopping.cluster.close(60_000), local.rows.then((rows) => expect(rows).toEqual([]))]);
    expect((await failure).error.has("Unavailable")).toBe(true);
    await untilWaiting(keeper, 0);
    await stopping.root.close();
    await keeper.close();
  });
});
