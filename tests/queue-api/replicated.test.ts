/**
 * Replicated queues, consumers and producers whose replicas are on the same cluster, through the Queue API.
 * Cases of chaos tables that ask for the same of replicas are asked of these.
 */
import { mapOf, type YsonValue } from "@qyt/base";
import { consumerSchema, producerSchema, type TableSchema } from "@qyt/schema";
import { toYson } from "@qyt/yson";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf, plain, queueColumns, startOne, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let directory = "";
let count = 0;

beforeAll(async () => {
  primary = await startOne();
});
afterAll(() => primary?.close());
beforeEach(() => {
  directory = `//tmp/${++count}`;
});

interface ReplicaWish {
  readonly name: string;
  readonly mode: "sync" | "async";
  readonly enabled: boolean;
}

/** A mounted replicated table with mounted replicas. @returns the ids of the replicas */
async function createReplicated(
  name: string,
  schema: YsonValue,
  replicas: readonly ReplicaWish[],
  more: Record<string, YsonValue> = {},
): Promise<string[]> {
  const path = `${directory}/${name}`;
  const attributes = { dynamic: true, schema };
  await primary.root.create("replicated_table", path, {
    attributes: mapOf({ ...attributes, ...more }),
    recursive: true,
  });
  await primary.root.mountTable(path);
  const ids: string[] = [];
  for (const replica of replicas) {
    const replicaPath = `${directory}/${replica.name}`;
    const answer = await primary.root.execute("create", {
      type: "table_replica",
      attributes: mapOf({
        table_path: path,
        cluster_name: "primary",
        replica_path: replicaPath,
        mode: replica.mode,
      }),
    });
    const id = answer instanceof Map ? String(answer.get("object_id")) : "";
    await primary.root.create("table", replicaPath, {
      attributes: mapOf({ ...attributes, upstream_replica_id: id }),
    });
    await primary.root.mountTable(replicaPath);
    if (replica.enabled) {
      await primary.root.execute("alter_table_replica", { replica_id: id, enabled: true });
    }
    ids.push(id);
  }
  return ids;
}

const syncReplica: ReplicaWish = { name: "q-sync", mode: "sync", enabled: true };
const lateReplica: ReplicaWish = { name: "q-late", mode: "async", enabled: false };
const schemaOf = (schema: TableSchema): YsonValue => schema.toYson();
const createQueue = (replicas: readonly ReplicaWish[]) =>
  createReplicated("q", toYson(queueColumns), replicas);

const data = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map((row) => row["data"]);

describe("a replicated queue", () => {
  beforeEach(async () => {
    await createQueue([syncReplica, lateReplica]);
    await primary.root.insertRows(`${directory}/q`, [{ data: "foo" }, { data: "bar" }]);
  });

  it("[queue-api 41] is not pulled from by who may not read it", async () => {
    const foreign = await primary.user("foreign");
    await primary.set(`${directory}/q/@inherit_acl`, false);
    expect((await failureOf(foreign.pullQueue(`${directory}/q`, 0n, 0))).codes).toContain(901);
  });

  it("[queue-api 42] gives the rows of its synchronous replica", async () => {
    expect(plain(await primary.root.pullQueue(`${directory}/q`, 1n, 0))).toEqual([
      { $tablet_index: 0n, $row_index: 1n, data: "bar" },
    ]);
    expect(data(await primary.root.selectRows(`* from [${directory}/q]`))).toEqual(["foo", "bar"]);
  });

  it("[queue-api 44] a disabled replica has none of the rows", async () => {
    expect(await primary.root.pullQueue(`${directory}/q-late`, 0n, 0)).toEqual([]);
  });

  it("[queue-api 45] a disabled replica gives the rows of a synchronous one to who wants consistency", async () => {
    const url = new URLSearchParams({
      queue_path: `${directory}/q-late`,
      partition_index: "0",
      offset: "1",
      replica_consistency: "sync",
      output_format: "json",
    });
    const response = await fetch(`http://${primary.cluster.address}/api/v4/pull_queue?${url}`);
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('"data":"bar"');
    expect(text).not.toContain("foo");
  });

  it("tells the queue agent of itself and of its replicas", async () => {
    const revisions = await primary.root.get("//sys/@queue_agent_object_revisions/queues");
    const paths = revisions instanceof Map ? [...revisions.keys()] : [];
    expect(paths).toEqual(
      expect.arrayContaining(["q", "q-sync", "q-late"].map((name) => `${directory}/${name}`)),
    );
    const replicas = await primary.root.get(`${directory}/q/@replicas`);
    const described = replicas instanceof Map ? [...replicas.values()] : [];
    const fields = described.map((each) => (each instanceof Map ? Object.fromEntries(each) : {}));
    expect(fields).toEqual([
      expect.objectContaining({ cluster_name: "primary", mode: "sync", state: "enabled", error_count: 0n }),
      expect.objectContaining({ replica_path: `${directory}/q-late`, mode: "async", state: "disabled" }),
    ]);
  });

  it("cannot be pulled from without a replica that has all rows", async () => {
    const replicas = await primary.root.get(`${directory}/q/@replicas`);
    const [id] = replicas instanceof Map ? [...replicas.keys()] : [];
    await primary.root.execute("alter_table_replica", { replica_id: id ?? "", enabled: false });
    const failure = await failureOf(primary.root.pullQueue(`${directory}/q`, 0n, 0));
    expect(failure.codes).toContain(1736);
    expect(failure.text).toContain(`No in-sync replicas found for table ${directory}/q`);
  });
});

describe("a replicated consumer of a replicated queue", () => {
  beforeEach(async () => {
    await createQueue([syncReplica, lateReplica]);
    await createReplicated("c", schemaOf(consumerSchema), [{ name: "c-sync", mode: "sync", enabled: true }], {
      treat_as_queue_consumer: true,
    });
    await primary.root.insertRows(`${directory}/q`, [{ data: "foo" }, { data: "bar" }]);
    await primary.root.registerQueueConsumer(`${directory}/q`, `${directory}/c`, { vital: true });
  });

  it("has its offset in its replicas, and goes on from there", async () => {
    const { root } = primary;
    await root.advanceQueueConsumer(`${directory}/c`, `${directory}/q`, 0, {
      oldOffset: null,
      newOffset: 1n,
    });
    expect(data(await root.pullQueueConsumer(`${directory}/c`, `${directory}/q`, null, 0))).toEqual(["bar"]);
    const [row] = await root.selectRows(`[offset] from [${directory}/c-sync]`);
    expect(row).toEqual({ offset: 1n });
    const [same] = await root.lookupRows(`${directory}/c`, [
      { queue_cluster: "primary", queue_path: `${directory}/q`, partition_index: 0n },
    ]);
    expect(same?.["offset"]).toBe(1n);
  });

  it("[queue-api 65] is pulled through by the path of its replica, without a right on the queue", async () => {
    const reader = await primary.user("reader");
    await primary.set(`${directory}/q/@inherit_acl`, false);
    const rows = await reader.pullQueueConsumer(`${directory}/c-sync`, `${directory}/q`, 0n, 0);
    expect(data(rows)).toEqual(["foo", "bar"]);
  });

  it("[queue-api 66] is closed to who may not read it, before a replica is looked for", async () => {
    const reader = await primary.user("reader");
    await primary.set(`${directory}/c/@inherit_acl`, false);
    const pulled = reader.pullQueueConsumer(`${directory}/c`, `${directory}/q`, 0n, 0);
    expect((await failureOf(pulled)).codes).toContain(901);
  });

  it("is found by the replicas' paths in registrations", async () => {
    const listed = await primary.listed({ queue: `${directory}/q-late`, consumer: `${directory}/c-sync` });
    expect(listed).toEqual([[`primary:${directory}/q`, `primary:${directory}/c`, true, null]]);
    const pulled = await primary.root.pullQueueConsumer(`${directory}/c`, `${directory}/q-late`, 0n, 0);
    expect(pulled).toEqual([]);
    const failure = await failureOf(
      primary.root.advanceQueueConsumer(`${directory}/c-sync`, `${directory}/q`, 0, {
        oldOffset: null,
        newOffset: 1n,
      }),
    );
    expect(failure.codes).toContain(1718);
  });
});

describe("pushes into a replicated queue", () => {
  const q = () => `${directory}/q`;
  const p = () => `${directory}/p`;
  const push = (rows: string, more: Record<string, YsonValue> = {}) =>
    primary.root.execute(
      "push_queue_producer",
      { producer_path: p(), queue_path: q(), session_id: "s", epoch: 0n, input_format: "yson", ...more },
      { method: "PUT", body: Buffer.from(rows) },
    );
  const session = async () => {
    const [row] = await primary.root.selectRows(`sequence_number, epoch from [${p()}]`);
    return row;
  };

  it("[queue-api 115] need a synchronous replica, unless they do not", async () => {
    await createQueue([{ ...lateReplica, enabled: true }]);
    await primary.createProducer(p());
    await primary.root.createQueueProducerSession(p(), q(), "s");
    expect((await failureOf(push("{data=row};"))).codes).toContain(3103);
    const refused = await failureOf(push('{data=row;"$sequence_number"=0};'));
    expect(refused.codes).toContain(1714);
    expect(refused.text).toContain("has no synchronous replicas");
    expect(await session()).toEqual({ sequence_number: -1n, epoch: 0n });
    const answer = await push('{data=row;"$sequence_number"=0};', { require_sync_replica: false });
    expect(answer).toEqual(mapOf({ last_sequence_number: 0n, skipped_row_count: 0n }));
    expect(await session()).toEqual({ sequence_number: 0n, epoch: 0n });
    await expect.poll(() => primary.root.pullQueue(`${directory}/q-late`, 0n, 0).then(data)).toEqual(["row"]);
  });

  it("have their session in a replicated producer too", async () => {
    await createQueue([syncReplica]);
    await createReplicated("p", schemaOf(producerSchema), [{ name: "p-sync", mode: "sync", enabled: true }]);
    await primary.root.createQueueProducerSession(p(), q(), "s");
    await push('{data=a;"$sequence_number"=0};');
    await push('{data=a;"$sequence_number"=0};{data=b;"$sequence_number"=1};');
    expect(data(await primary.root.pullQueue(q(), 0n, 0))).toEqual(["a", "b"]);
    expect(await session()).toEqual({ sequence_number: 1n, epoch: 0n });
  });
});
