/** The locks that queue agents live by: the queue for the leadership, their presence, and the exporters' locks. */
import { mapOf, type YsonValue } from "@qyt/base";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "../queue-api/fixture.ts";

const leaderLock = "//sys/queue_agents/leader_lock";

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startOne();
});

afterAll(() => cluster?.close());

/** A transaction of an agent, with its name in the attribute `host`. */
async function begin(host: string): Promise<string> {
  const answer = await cluster.root.execute("start_transaction", {
    timeout: 30_000n,
    attributes: mapOf({ host }),
  });
  return String((answer as ReadonlyMap<string, YsonValue>).get("transaction_id"));
}

async function lock(
  path: string,
  transactionId: string,
  more: Record<string, YsonValue> = {},
): Promise<void> {
  await cluster.root.execute("lock", { path, transaction_id: transactionId, mode: "exclusive", ...more });
}

/** Hosts by the state of their lock, in the order of the queue. */
async function queue(): Promise<{ acquired: unknown[]; pending: unknown[] }> {
  const locks = fromYson(await cluster.root.get(`${leaderLock}/@locks`)) as {
    state: "acquired" | "pending";
    transaction_id: string;
  }[];
  const hosts: { acquired: unknown[]; pending: unknown[] } = { acquired: [], pending: [] };
  for (const { state, transaction_id } of locks) {
    hosts[state].push(fromYson(await cluster.root.get(`#${transaction_id}/@host`)));
  }
  return hosts;
}

it("a cluster has the nodes that agents expect", async () => {
  expect(fromYson(await cluster.root.get("//sys/queue_agents/config/@type"))).toBe("document");
  expect(fromYson(await cluster.root.get("//sys/queue_agents/config"))).toEqual({});
  expect(await cluster.root.list("//sys/queue_agents/instances")).toEqual([]);
  await cluster.set("//sys/queue_agents/config/queue_agent", { pass_period: 100 });
  await cluster.root.remove("//sys/queue_agents/config/queue_agent");
});

it("one of those that wait for the leadership has it, and the next gets it", async () => {
  const hosts = ["a:1", "b:2", "c:3", "d:4", "e:5"];
  const transactions: string[] = [];
  for (const host of hosts) {
    const id = await begin(host);
    transactions.push(id);
    await lock(leaderLock, id, { waitable: true });
  }
  expect(await queue()).toEqual({ acquired: ["a:1"], pending: ["b:2", "c:3", "d:4", "e:5"] });
  // Who waits may give up, and the leader may go.
  await cluster.root.abortTransaction(transactions[1] ?? "");
  await cluster.root.abortTransaction(transactions[0] ?? "");
  expect(await queue()).toEqual({ acquired: ["c:3"], pending: ["d:4", "e:5"] });
  for (const id of transactions.slice(2)) {
    await cluster.root.commitTransaction(id);
  }
  expect(await queue()).toEqual({ acquired: [], pending: [] });
});

it("agents show their presence by shared locks that do not hinder changes of their nodes", async () => {
  const node = "//sys/queue_agents/instances/a:1";
  await cluster.root.create("map_node", node);
  const [first, second] = [await begin("a:1"), await begin("b:2")];
  await lock(node, first, { mode: "shared", attribute_key: "presence" });
  await lock(node, second, { mode: "shared", attribute_key: "something" });
  await cluster.set(`${node}/@queue_agent_stage`, "production");
  await cluster.set(`${node}/@banned`, true);
  expect(fromYson(await cluster.root.get(`${node}/@locks`))).toMatchObject([
    { state: "acquired", mode: "shared", attribute_key: "presence", transaction_id: first },
    { state: "acquired", mode: "shared", attribute_key: "something", transaction_id: second },
  ]);
  await cluster.root.abortTransaction(first);
  await cluster.root.abortTransaction(second);
});

it("two exporters of one directory exclude each other by the attribute that they lock", async () => {
  await cluster.root.create("map_node", "//tmp/export");
  const key = { mode: "shared", attribute_key: "queue_static_exporter" };
  const [first, second] = [await begin("a:1"), await begin("b:2")];
  // A shared lock of somebody who means something else is no obstacle.
  await lock("//tmp/export", await begin("user"), { mode: "shared" });
  await lock("//tmp/export", first, key);
  const { codes, text } = await failureOf(lock("//tmp/export", second, key));
  expect(codes).toContain(402);
  expect(text).toBe(
    `Cannot take lock for attribute "queue_static_exporter" of node //tmp/export since this attribute is locked by concurrent transaction ${first}`,
  );
  await cluster.root.commitTransaction(first);
  await lock("//tmp/export", second, key);
  await cluster.root.commitTransaction(second);
});
