/** The transaction of an export task: kept while the task runs, gone soon when its agent is. */
import { YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { FakeClock } from "@qyt/testing";
import { expect, test } from "vitest";
import { FakeCluster, type Fate } from "../testing/fake-cluster.ts";
import { exportTransactionTimeoutMs, inTransaction } from "./export-transaction.ts";

const directory = "//tmp/export";

class LockWorld {
  readonly clock = new FakeClock();
  readonly cluster = new FakeCluster(this.clock);
  readonly #stop = new AbortController();

  constructor() {
    this.cluster.createDirectory(directory, "1-2-3-4");
  }

  /** A task that holds the directory's lock until it is told to end. */
  async start(client: YtClient): Promise<{ end: () => void; ended: Promise<unknown> }> {
    let end = (): void => {};
    const work = new Promise<void>((resolve) => {
      end = resolve;
    });
    const ended = inTransaction(client, this.clock, this.#stop.signal, "test", async (transactionId) => {
      await lock(client, transactionId);
      await work;
    }).catch((thrown: unknown) => thrown);
    await this.clock.advance(0);
    return { end, ended };
  }

  /** Whether another instance gets the lock now. */
  async isFree(): Promise<boolean> {
    const client = this.cluster.client();
    const transactionId = await client.startTransaction({});
    const isFree = await lock(client, transactionId).then(
      () => true,
      () => false,
    );
    await client.abortTransaction(transactionId);
    return isFree;
  }
}

function lock(client: YtClient, transactionId: string): Promise<unknown> {
  return client.execute("lock", {
    path: directory,
    mode: "shared",
    attribute_key: "queue_static_exporter",
    transaction_id: transactionId,
  });
}

test("is kept as long as the task runs, and goes with it", async () => {
  const world = new LockWorld();
  const { end, ended } = await world.start(world.cluster.client());
  await world.clock.advance(20 * exportTransactionTimeoutMs);
  expect(await world.isFree()).toBe(false);
  end();
  expect(await ended).toBeUndefined();
  expect(await world.isFree()).toBe(true);
});

test("leaves the directory to others within ten seconds when its agent is killed", async () => {
  const world = new LockWorld();
  let fate: Fate = "deliver";
  await world.start(world.cluster.client(() => fate));
  fate = "hang";
  await world.clock.advance(9_000);
  expect(await world.isFree()).toBe(false);
  await world.clock.advance(1_000);
  expect(await world.isFree()).toBe(true);
});

test("outlives pings that are lost, or whose answers are", async () => {
  const world = new LockWorld();
  const fates: readonly Fate[] = ["deliver", "lose request", "lose request", "lose answer"];
  const { end, ended } = await world.start(
    world.cluster.client((command, index) =>
      command === "ping_transaction" ? (fates[index % fates.length] ?? "deliver") : "deliver",
    ),
  );
  await world.clock.advance(20 * exportTransactionTimeoutMs);
  end();
  expect(await ended).not.toBeInstanceOf(YtError);
});
