/** Pulls that wait for rows while their user loses what he came in by. */
import { mapOf } from "@qyt/base";
import { toYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bearer, GuardedCluster, type Reply, sha256 } from "./guarded-cluster.ts";

let cluster: GuardedCluster;

beforeAll(async () => {
  cluster = await GuardedCluster.start();
  await cluster.root.create("table", "//tmp/queue", {
    attributes: mapOf({ dynamic: true, schema: toYson([{ name: "data", type: "string" }]) }),
  });
  await cluster.root.mountTable("//tmp/queue");
  await cluster.root.create("queue_consumer", "//tmp/consumer");
  await cluster.root.registerQueueConsumer("//tmp/queue", "//tmp/consumer", { vital: false });
});

afterAll(() => cluster.close());

/** What a pull is answered that waits while `meanwhile` is done and a row is written. */
async function pullDuring(
  command: "pull_queue" | "pull_queue_consumer",
  token: string,
  meanwhile: () => Promise<unknown>,
): Promise<Reply> {
  const { waits } = cluster.cluster.services.queues;
  const offset = BigInt((await cluster.root.selectRows("* from [//tmp/queue]")).length);
  const reply = cluster.call(
    command,
    {
      queue_path: "//tmp/queue",
      ...(command === "pull_queue" ? {} : { consumer_path: "//tmp/consumer" }),
      partition_index: 0n,
      offset,
      wait_timeout: 600_000n,
    },
    { headers: [bearer(token)] },
  );
  while (waits.count === 0) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await meanwhile();
  await cluster.root.insertRows("//tmp/queue", [{ data: "row" }]);
  return reply;
}

describe.each(["pull_queue", "pull_queue_consumer"] as const)("%s that waits", (command) => {
  it("gets its rows when nothing has changed", async () => {
    const token = await cluster.user(`stays-${command}`);
    const reply = await pullDuring(command, token, async () => {});
    expect(reply.status).toBe(200);
    expect(reply.text).toContain("row");
  });

  it("is refused as a new request when its token is revoked, though the user has another", async () => {
    const user = `revoked-${command}`;
    const token = await cluster.user(user);
    await cluster.issueToken(user);
    const reply = await pullDuring(command, token, () =>
      cluster.root.execute("revoke_token", { user, token_sha256: sha256(token) }),
    );
    expect(reply).toMatchObject({ status: 401, code: 900 });
    expect(reply.text).not.toContain("row");
  });

  it("is refused when its user is banned or gone", async () => {
    const banned = await cluster.user(`banned-${command}`);
    const ban = () => cluster.set(`//sys/users/banned-${command}/@banned`, true);
    expect(await pullDuring(command, banned, ban)).toMatchObject({ status: 403, code: 903 });
    const removed = await cluster.user(`removed-${command}`);
    const remove = () => cluster.root.remove(`//sys/users/removed-${command}`);
    expect(await pullDuring(command, removed, remove)).toMatchObject({ status: 401, code: 900 });
  });
});
