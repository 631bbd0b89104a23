/** Registrations: who may make and end them, from any cluster of the group, and what is listed. */
import { mapOf, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf, type Row, readRegistrations, startClusters, type TestCluster } from "./fixture.ts";

let clusters: TestCluster[];
let primary: TestCluster;
let remote: TestCluster;

beforeAll(async () => {
  clusters = await startClusters("primary", "remote_0", "remote_1");
  const [first, second] = clusters;
  if (first === undefined || second === undefined) {
    throw new Error("Three clusters are needed");
  }
  primary = first;
  remote = second;
});

afterAll(() => Promise.all((clusters ?? []).toReversed().map((cluster) => cluster.close())));

/** Any table does: neither schema nor flag is looked at. */
async function createPlain(cluster: TestCluster, path: string): Promise<void> {
  await cluster.root.create("table", path, {
    attributes: mapOf({
      dynamic: true,
      schema: [mapOf({ name: "a", type: "string" })],
      inherit_acl: false,
    }),
    recursive: true,
  });
}

async function unregisterAll(): Promise<void> {
  for (const row of await primary.storedRegistrations()) {
    await primary.root.unregisterQueueConsumer(
      `${String(row["queue_cluster"])}:${String(row["queue_path"])}`,
      `${String(row["consumer_cluster"])}:${String(row["consumer_path"])}`,
    );
  }
}

async function isAllowed(
  client: YtClient,
  parameters: Readonly<Record<string, YsonValue>>,
): Promise<YsonValue | undefined> {
  const answer = await client.execute(
    "check_permission",
    { permission: "register_queue_consumer", ...parameters },
    { method: "GET" },
  );
  return answer instanceof Map ? answer.get("action") : answer;
}

function stored(queue: string, consumer: string, vital: boolean, partitions: bigint[] | null = null): Row {
  const [queueCluster, queuePath] = split(queue);
  const [consumerCluster, consumerPath] = split(consumer);
  return {
    queue_cluster: queueCluster,
    queue_path: queuePath,
    consumer_cluster: consumerCluster,
    consumer_path: consumerPath,
    vital,
    partitions,
  };
}

function split(reference: string): [cluster: string, path: string] {
  const colon = reference.indexOf(":");
  return [reference.slice(0, colon), reference.slice(colon + 1)];
}

describe("permissions of registrations", () => {
  const q = "//tmp/perm/q";
  const c1 = "//tmp/perm/c1";
  const c2 = "//tmp/perm/c2";
  let vital: YtClient;
  let nonVital: YtClient;
  let nobody: YtClient;

  beforeAll(async () => {
    vital = await primary.user("vital");
    nonVital = await primary.user("non_vital");
    nobody = await primary.user("nobody");
    for (const path of [q, c1, c2]) {
      await createPlain(primary, path);
    }
    await primary.allow(q, "vital", ["register_queue_consumer"], true);
    await primary.allow(q, "non_vital", ["register_queue_consumer"], false);
  });

  beforeEach(unregisterAll);

  it("[queue-api 1] refuses a user without a grant", async () => {
    expect((await failureOf(nobody.registerQueueConsumer(q, c1, { vital: false }))).codes).toContain(901);
    expect(await primary.storedRegistrations()).toEqual([]);
  });

  it("[queue-api 2] a vital grant allows vital registrations", async () => {
    expect(await isAllowed(primary.root, { user: "vital", path: q, vital: true })).toBe("allow");
  });

  it("[queue-api 3] a grant that is not vital allows only others", async () => {
    expect(await isAllowed(primary.root, { user: "non_vital", path: q, vital: false })).toBe("allow");
    expect(await isAllowed(primary.root, { user: "non_vital", path: q, vital: true })).toBe("deny");
  });

  it("[queue-api 4] refuses a vital registration to who may only make others", async () => {
    expect((await failureOf(nonVital.registerQueueConsumer(q, c1, { vital: true }))).codes).toContain(901);
    expect(await primary.storedRegistrations()).toEqual([]);
  });

  it("[queue-api 5] [queue-api 7] [queue-api 14] stores a vital registration of plain tables", async () => {
    await vital.registerQueueConsumer(q, c1, { vital: true });
    expect(await primary.storedRegistrations()).toEqual([stored(`primary:${q}`, `primary:${c1}`, true)]);
  });

  it("[queue-api 6] asks for no right on the consumer", async () => {
    await nonVital.registerQueueConsumer(q, c2, { vital: false });
    expect(await primary.storedRegistrations()).toEqual([stored(`primary:${q}`, `primary:${c2}`, false)]);
  });

  it("registering again replaces vitality and partitions", async () => {
    await vital.registerQueueConsumer(q, c1, { vital: true, partitions: [3n, 1n] });
    expect(await primary.storedRegistrations()).toEqual([
      stored(`primary:${q}`, `primary:${c1}`, true, [3n, 1n]),
    ]);
    await vital.registerQueueConsumer(q, c1, { vital: false });
    expect(await primary.storedRegistrations()).toEqual([stored(`primary:${q}`, `primary:${c1}`, false)]);
  });

  it("refuses a missing queue, a missing consumer and a missing vitality", async () => {
    for (const call of [
      primary.root.registerQueueConsumer("//tmp/perm/none", c1, { vital: false }),
      primary.root.registerQueueConsumer(q, "//tmp/perm/none", { vital: false }),
    ]) {
      expect((await failureOf(call)).codes).toContain(500);
    }
    const call = primary.root.execute("register_queue_consumer", { queue_path: q, consumer_path: c1 });
    expect((await failureOf(call)).text).toContain("Missing required parameter /vital");
    expect(await primary.storedRegistrations()).toEqual([]);
  });

  it("[queue-api 8] the right to register is no right to unregister", async () => {
    await vital.registerQueueConsumer(q, c1, { vital: true });
    expect((await failureOf(vital.unregisterQueueConsumer(q, c1))).codes).toContain(901);
    expect(await primary.storedRegistrations()).toHaveLength(1);
  });

  it("[queue-api 9] [queue-api 10] remove on a consumer is enough for its registrations, and no others", async () => {
    await vital.registerQueueConsumer(q, c1, { vital: true });
    await vital.registerQueueConsumer(q, c2, { vital: true });
    const remover = await primary.user("c1_remover");
    await primary.allow(c1, "c1_remover", ["remove"]);
    expect((await failureOf(remover.unregisterQueueConsumer(q, c2))).codes).toContain(901);
    await remover.unregisterQueueConsumer(q, c1);
    expect(await primary.storedRegistrations()).toEqual([stored(`primary:${q}`, `primary:${c2}`, true)]);
  });

  it("[queue-api 11] remove or write on the queue is enough for all its registrations", async () => {
    for (const permission of ["remove", "write"]) {
      await vital.registerQueueConsumer(q, c1, { vital: true });
      await vital.registerQueueConsumer(q, c2, { vital: true });
      const owner = await primary.user(`q_${permission}`);
      await primary.allow(q, `q_${permission}`, [permission]);
      await owner.unregisterQueueConsumer(q, c1);
      await owner.unregisterQueueConsumer(q, c2);
      expect(await primary.storedRegistrations()).toEqual([]);
    }
  });

  it("unregistering twice is no error", async () => {
    await primary.root.unregisterQueueConsumer(q, c1);
  });

  it("[queue-api 13] anybody may end a registration whose queue is gone", async () => {
    const gone = "//tmp/perm/gone";
    await createPlain(primary, gone);
    await primary.root.registerQueueConsumer(gone, c1, { vital: true });
    expect((await failureOf(nobody.unregisterQueueConsumer(gone, c1))).codes).toContain(901);
    await primary.root.remove(gone);
    expect(await primary.storedRegistrations()).toHaveLength(1);
    await nobody.unregisterQueueConsumer(gone, c1);
    expect(await primary.storedRegistrations()).toEqual([]);
  });
});

describe("registrations of a group of clusters", () => {
  const q = "//tmp/group/q";
  const c = "//tmp/group/c";

  beforeAll(async () => {
    await unregisterAll();
    await createPlain(remote, q);
    await createPlain(primary, c);
    for (const cluster of clusters) {
      await cluster.user("registrar");
      await cluster.user("nobody");
    }
    await remote.allow(q, "registrar", ["register_queue_consumer"], false);
    await remote.allow(q, "registrar", ["remove"]);
  });

  it("[queue-api 12] [queue-api 14] are the same from whichever cluster", async () => {
    const queue = `remote_0:${q}`;
    const consumer = `primary:${c}`;
    for (const cluster of clusters) {
      const registrar = cluster.client({ user: "registrar" });
      const denied = await failureOf(registrar.registerQueueConsumer(queue, consumer, { vital: true }));
      expect(denied.codes).toContain(901);
      await registrar.registerQueueConsumer(queue, consumer, { vital: false, partitions: [2n, 0n] });
      for (const reader of clusters) {
        expect(await reader.listed()).toEqual([[queue, consumer, false, [2n, 0n]]]);
      }
      expect(await primary.storedRegistrations()).toEqual([stored(queue, consumer, false, [2n, 0n])]);
      const stranger = cluster.client({ user: "nobody" });
      expect((await failureOf(stranger.unregisterQueueConsumer(queue, consumer))).codes).toContain(901);
      await registrar.unregisterQueueConsumer(queue, consumer);
      for (const reader of clusters) {
        expect(await reader.listed()).toEqual([]);
      }
    }
  });

  it("a path without a cluster is of the cluster that is asked", async () => {
    await remote.root.registerQueueConsumer(q, `primary:${c}`, { vital: false });
    expect(await primary.listed()).toEqual([[`remote_0:${q}`, `primary:${c}`, false, null]]);
    const failure = await failureOf(primary.root.registerQueueConsumer(q, c, { vital: false }));
    expect(failure.codes).toContain(500);
    await remote.root.unregisterQueueConsumer(q, `primary:${c}`);
    expect(await primary.listed()).toEqual([]);
  });
});

describe("list_queue_consumer_registrations", () => {
  const q1c1 = ["primary://tmp/q1", "primary://tmp/c1", true, null] as const;
  const q1c2 = ["primary://tmp/q1", "primary://tmp/c2", false, null] as const;
  const q2c1 = ["primary://tmp/q2", "primary://tmp/c1", true, [1n, 5n, 4n, 3n]] as const;

  beforeAll(async () => {
    await unregisterAll();
    for (const name of ["q1", "q2", "c1", "c2"]) {
      await createPlain(primary, `//tmp/${name}`);
    }
    await primary.root.registerQueueConsumer("//tmp/q1", "//tmp/c1", { vital: true });
    await primary.root.registerQueueConsumer("//tmp/q1", "//tmp/c2", { vital: false });
    await primary.root.registerQueueConsumer("//tmp/q2", "//tmp/c1", {
      vital: true,
      partitions: [1n, 5n, 4n, 3n],
    });
  });

  it("[queue-api 15] lists one pair", async () => {
    expect(await primary.listed({ queue: "//tmp/q1", consumer: "//tmp/c1" })).toEqual([q1c1]);
  });

  it("[queue-api 16] lists the consumers of a queue", async () => {
    expect(await primary.listed({ queue: "//tmp/q1" })).toEqual([q1c1, q1c2]);
  });

  it("[queue-api 17] lists the queues of a consumer, partitions in their order", async () => {
    expect(await primary.listed({ consumer: "//tmp/c1" })).toEqual([q1c1, q2c1]);
  });

  it("[queue-api 18] takes a path with a cluster", async () => {
    expect(await primary.listed({ consumer: "primary://tmp/c2" })).toEqual([q1c2]);
  });

  it("[queue-api 19] lists all", async () => {
    expect(await primary.listed()).toEqual([q1c1, q1c2, q2c1]);
    const answer = await primary.root.execute(
      "list_queue_consumer_registrations",
      { queue_path: null, consumer_path: null },
      { method: "GET" },
    );
    expect(readRegistrations(answer ?? null)).toHaveLength(3);
  });

  it("[queue-api 20] finds nothing under another cluster's name, missing tables included", async () => {
    expect(await primary.listed({ queue: "remote_0://tmp/q1" })).toEqual([]);
    expect(await primary.listed({ queue: "unknown://tmp/q1" })).toEqual([]);
    expect(await primary.listed({ queue: "//tmp/none" })).toEqual([]);
    expect(await remote.listed({ queue: "//tmp/q1" })).toEqual([]);
    expect(await remote.listed({ queue: "primary://tmp/q1" })).toEqual([q1c1, q1c2]);
  });

  it("[queue-api 21] [queue-api 22] [queue-api 23] ignores all that a path says beside path and cluster", async () => {
    const q1 = "<append=true>//tmp/q1[#10:#100]";
    expect(await primary.listed({ queue: q1, consumer: "<append=true>//tmp/c1[#20:#200]" })).toEqual([q1c1]);
    expect(await primary.listed({ queue: q1 })).toEqual([q1c1, q1c2]);
    expect(await primary.listed({ consumer: "<append=true>primary://tmp/c2[#20:#200]" })).toEqual([q1c2]);
  });

  it("[queue-api 25] needs no permission, and names the cluster of every path", async () => {
    const nobody = await primary.user("nobody");
    const list = await nobody.listQueueConsumerRegistrations();
    expect(Array.isArray(list) && list.length).toBe(3);
    // The fixture refuses a path without its cluster.
    expect(readRegistrations(list).every(([queue]) => queue.startsWith("primary:"))).toBe(true);
  });

  it("[queue-api 24] lists nothing when all are gone", async () => {
    await primary.root.unregisterQueueConsumer("//tmp/q1", "//tmp/c1");
    expect(await primary.listed()).toEqual([q1c2, q2c1]);
    await primary.root.unregisterQueueConsumer("//tmp/q1", "//tmp/c2");
    await primary.root.unregisterQueueConsumer("//tmp/q2", "//tmp/c1");
    expect(await primary.listed()).toEqual([]);
  });
});

describe("entries that grant registrations", () => {
  const grant = { action: "allow", subjects: ["ace_user"], permissions: ["register_queue_consumer"] };

  beforeAll(async () => {
    await primary.user("ace_user");
    await createPlain(primary, "//tmp/ace/table");
    await primary.root.create("map_node", "//tmp/ace/map");
  });

  it("[queue-api 83] must say whether they are vital", async () => {
    const failure = await failureOf(primary.set("//tmp/ace/table/@acl/end", grant));
    expect(failure.text).toContain('Permission "register_queue_consumer" requires vitality to be specified');
  });

  it("[queue-api 84] [queue-api 85] are alone in saying so", async () => {
    for (const permissions of [["read"], ["read", "register_queue_consumer"]]) {
      const failure = await failureOf(
        primary.set("//tmp/ace/table/@acl/end", { ...grant, permissions, vital: true }),
      );
      expect(failure.text).toContain(
        'ACE specifying vitality must contain a single "register_queue_consumer" permission',
      );
    }
  });

  it.each(["//tmp/ace/table", "//tmp/ace/map"])("[queue-api 86] read back whole, on %s", async (path) => {
    for (const vital of [false, true]) {
      await primary.set(`${path}/@acl`, [{ ...grant, vital }]);
      expect(await primary.root.get(`${path}/@acl`)).toEqual([
        mapOf({ ...grant, inheritance_mode: "object_and_descendants", vital }),
      ]);
    }
  });

  it.each([
    ["[queue-api 87] not vital", false, "deny"],
    ["[queue-api 88] vital", true, "allow"],
  ] as const)("%s: cover what they should", async (_, vital, wanted) => {
    const path = "//tmp/ace/table";
    await primary.set(`${path}/@acl`, [{ ...grant, vital }]);
    expect(await isAllowed(primary.root, { user: "ace_user", path })).toBe("allow");
    expect(await isAllowed(primary.root, { user: "ace_user", path, vital: false })).toBe("allow");
    expect(await isAllowed(primary.root, { user: "ace_user", path, vital: true })).toBe(wanted);
  });
});
