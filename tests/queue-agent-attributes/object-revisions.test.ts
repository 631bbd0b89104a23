/** The list of queues and consumers that queue agents watch, `//sys/@queue_agent_object_revisions`. */
import { mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { fromYson, toYson } from "@qyt/yson";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "../queue-api/fixture.ts";
import { TestCluster as RestartableCluster, sortedSchema } from "../tables/test-cluster.ts";

const column = { name: "data", type: "string" };
const key = { name: "key", type: "string", sort_order: "ascending" };
const flag = "treat_as_queue_consumer";
const notAllowed = `Builtin attribute "${flag}" cannot be set`;

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startOne();
});

beforeEach(async () => {
  await cluster.root.remove("//tmp/d", { force: true });
  await cluster.root.create("map_node", "//tmp/d");
});

afterAll(() => cluster?.close());

interface Attributes {
  readonly dynamic?: boolean;
  readonly [flag]?: boolean;
}

async function create(
  path: string,
  columns: unknown[],
  more: Attributes = {},
  transactionId?: string,
): Promise<void> {
  await cluster.root.execute("create", {
    type: "table",
    path,
    attributes: mapOf({ dynamic: true, schema: toYson(columns), ...more }),
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  });
}

const createQueue = (path: string, transactionId?: string): Promise<void> =>
  create(path, [column], {}, transactionId);
const createConsumer = (path: string, transactionId?: string): Promise<void> =>
  create(path, [key, column], { [flag]: true }, transactionId);

/** The paths below //tmp/d that are listed; each revision is that of the table. */
async function listed(): Promise<{ queues: string[]; consumers: string[] }> {
  const answer = (await cluster.root.get("//sys/@queue_agent_object_revisions")) as YsonMap;
  expect([...answer.keys()]).toEqual(["queues", "consumers"]);
  const paths = async (kind: string): Promise<string[]> => {
    const revisions = [...(answer.get(kind) as ReadonlyMap<string, YsonValue>)];
    for (const [path, revision] of revisions) {
      expect(revision, path).toEqual(await cluster.root.get(`${path}/@attribute_revision`));
    }
    return revisions.map(([path]) => path).filter((path) => path.startsWith("//tmp/d/"));
  };
  return { queues: (await paths("queues")).sort(), consumers: (await paths("consumers")).sort() };
}

async function alter(path: string, parameters: Record<string, YsonValue>): Promise<void> {
  await cluster.root.execute("alter_table", { path, ...parameters });
}

async function move(
  command: "copy" | "move",
  from: string,
  to: string,
  transactionId?: string,
): Promise<void> {
  await cluster.root.execute(command, {
    source_path: from,
    destination_path: to,
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
  });
}

it("is opaque", async () => {
  const attributes = (await cluster.root.get("//sys/@")) as YsonMap;
  expect(attributes.get("queue_agent_object_revisions")).toBe(null);
});

it("[queue-agent 76] holds ordered dynamic tables and flagged sorted ones, with @attribute_revision", async () => {
  await createQueue("//tmp/d/q1");
  await createQueue("//tmp/d/q2");
  await create("//tmp/d/static", [column], { dynamic: false });
  await createConsumer("//tmp/d/c1");
  await create("//tmp/d/sorted", [key, column]);
  for (const [columns, dynamic] of [
    [[column], true],
    [[key, column], false],
  ] as const) {
    const refused = create("//tmp/d/refused", [...columns], { dynamic, [flag]: true });
    expect((await failureOf(refused)).text).toContain(notAllowed);
  }
  expect(await listed()).toEqual({ queues: ["//tmp/d/q1", "//tmp/d/q2"], consumers: ["//tmp/d/c1"] });
  for (const name of ["q1", "q2", "c1", "sorted"]) {
    await cluster.root.remove(`//tmp/d/${name}`);
  }
  expect(await listed()).toEqual({ queues: [], consumers: [] });
});

it("[queue-agent 77] changes only when a transaction commits", async () => {
  const first = await cluster.root.startTransaction({ timeoutMs: 30_000 });
  await createQueue("//tmp/d/q1", first);
  await createConsumer("//tmp/d/c1", first);
  await move("copy", "//tmp/d/q1", "//tmp/d/q2", first);
  await move("copy", "//tmp/d/q2", "//tmp/d/q3", first);
  await cluster.root.remove("//tmp/d/q2", { transactionId: first });
  expect(await listed()).toEqual({ queues: [], consumers: [] });
  await cluster.root.commitTransaction(first);
  const both = { queues: ["//tmp/d/q1", "//tmp/d/q3"], consumers: ["//tmp/d/c1"] };
  expect(await listed()).toEqual(both);
  const second = await cluster.root.startTransaction({ timeoutMs: 30_000 });
  for (const name of ["q1", "q3", "c1"]) {
    await cluster.root.remove(`//tmp/d/${name}`, { transactionId: second });
  }
  expect(await listed()).toEqual(both);
  await cluster.root.commitTransaction(second);
  expect(await listed()).toEqual({ queues: [], consumers: [] });
});

it("[queue-agent 78] follows `alter_table` to dynamic, to another schema, and to static", async () => {
  await create("//tmp/d/q", [column], { dynamic: false });
  await alter("//tmp/d/q", { dynamic: true });
  expect((await listed()).queues).toEqual(["//tmp/d/q"]);
  const before = await cluster.root.get("//tmp/d/q/@attribute_revision");
  await alter("//tmp/d/q", { schema: toYson([column, { name: "more", type: "string" }]) });
  expect((await listed()).queues).toEqual(["//tmp/d/q"]);
  expect(await cluster.root.get("//tmp/d/q/@attribute_revision")).not.toEqual(before);
  await alter("//tmp/d/q", { dynamic: false });
  expect((await listed()).queues).toEqual([]);
});

it("[queue-agent 79] has the copy of a queue, and not that of a consumer, which loses the flag", async () => {
  await createQueue("//tmp/d/q");
  await createConsumer("//tmp/d/c");
  await move("copy", "//tmp/d/q", "//tmp/d/q2");
  await move("copy", "//tmp/d/c", "//tmp/d/c2");
  expect(await cluster.root.get(`//tmp/d/c2/@${flag}`)).toBe(false);
  expect(await listed()).toEqual({ queues: ["//tmp/d/q", "//tmp/d/q2"], consumers: ["//tmp/d/c"] });
});

it("follows moves, of directories too", async () => {
  await cluster.root.create("map_node", "//tmp/d/a/b", { recursive: true });
  await createQueue("//tmp/d/a/b/q");
  await createConsumer("//tmp/d/a/c");
  await move("move", "//tmp/d/a", "//tmp/d/e");
  expect(await listed()).toEqual({ queues: ["//tmp/d/e/b/q"], consumers: ["//tmp/d/e/c"] });
});

describe("the flag", () => {
  it("[queue-agent 80] lists and unlists a consumer, and does not change in a transaction", async () => {
    await create("//tmp/d/c", [key, column]);
    expect((await listed()).consumers).toEqual([]);
    await cluster.set(`//tmp/d/c/@${flag}`, true);
    expect((await listed()).consumers).toEqual(["//tmp/d/c"]);
    await cluster.set(`//tmp/d/c/@${flag}`, false);
    expect((await listed()).consumers).toEqual([]);
    const transactionId = await cluster.root.startTransaction({ timeoutMs: 30_000 });
    const refused = cluster.root.set(`//tmp/d/c/@${flag}`, Buffer.from("%true"), { transactionId });
    expect((await failureOf(refused)).text).toContain("Operation cannot be performed in transaction");
  });

  it("cannot be set on an existing table that is not sorted or not dynamic", async () => {
    await createQueue("//tmp/d/q");
    await create("//tmp/d/static", [key, column], { dynamic: false });
    for (const name of ["q", "static"]) {
      const refused = cluster.set(`//tmp/d/${name}/@${flag}`, true);
      expect((await failureOf(refused)).text).toContain(notAllowed);
      expect(await cluster.root.exists(`//tmp/d/${name}/@${flag}`)).toBe(false);
    }
  });
});

it("[queue-agent 81] has the objects of the only cell, which all have its tag", async () => {
  for (const directory of ["//tmp/d/p1", "//tmp/d/p2"]) {
    await cluster.root.create("map_node", directory);
    await createQueue(`${directory}/q1`);
  }
  await createQueue("//tmp/d/q1");
  const { queues } = await listed();
  expect(queues).toEqual(["//tmp/d/p1/q1", "//tmp/d/p2/q1", "//tmp/d/q1"]);
  const tags = await Promise.all(queues.map((path) => cluster.root.get(`${path}/@native_cell_tag`)));
  expect(new Set(tags.map((tag) => fromYson(tag))).size).toBe(1);
});

it("mounting and writing leave the revision alone", async () => {
  await createQueue("//tmp/d/q");
  const before = await cluster.root.get("//sys/@queue_agent_object_revisions");
  await cluster.root.mountTable("//tmp/d/q");
  await cluster.root.insertRows("//tmp/d/q", [{ data: "a" }]);
  await cluster.root.execute("freeze_table", { path: "//tmp/d/q" });
  expect(await cluster.root.get("//sys/@queue_agent_object_revisions")).toEqual(before);
});

it("is the same after a restart", async () => {
  const first = await RestartableCluster.start();
  await first.createQueue("//tmp/q");
  await first.createSorted("//tmp/c", sortedSchema, `${flag}=%true`);
  const before = await first.get("//sys/@queue_agent_object_revisions");
  expect(before).toEqual({
    queues: { "//tmp/q": expect.anything() },
    consumers: { "//tmp/c": expect.anything() },
  });
  const second = await first.restart();
  expect(await second.get("//sys/@queue_agent_object_revisions")).toEqual(before);
  await second.stop();
});
