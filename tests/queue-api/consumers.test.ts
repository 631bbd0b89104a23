/** Reading through consumers and moving their offsets, on one cluster and across two. */
import { mapOf, Uint64, type YsonMap } from "@qyt/base";
import { consumerSchema, consumerSchemaWithoutMeta, TableSchema } from "@qyt/schema";
import { parseYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, plain, type Row, startClusters, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let remote: TestCluster;

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

const foo = { $tablet_index: 0n, $row_index: 0n, data: "foo" };
const bar = { $tablet_index: 0n, $row_index: 1n, data: "bar" };

/** The rows of a consumer table: `[queue, partition, offset]`, and `meta` where the table has it. */
async function offsets(consumer: string): Promise<Row[]> {
  return primary.root.selectRows(`* from [${consumer}]`);
}

async function offsetOf(consumer: string, queue: string, partition = 0): Promise<unknown> {
  const rows = await offsets(consumer);
  const row = rows.find(
    (item) => item["queue_path"] === queue && item["partition_index"] === BigInt(partition),
  );
  return row?.["offset"];
}

async function metaOf(consumer: string, queue: string): Promise<YsonMap | null> {
  let text = "";
  for await (const chunk of primary.root.streamRows("select_rows", {
    query: `meta from [${consumer}] where queue_path = "${queue}"`,
    output_format: "yson",
  })) {
    text += chunk.toString("latin1");
  }
  const row = parseYson(Buffer.from(text.replace(/;$/, ""), "latin1"));
  const meta = row instanceof Map ? row.get("meta") : undefined;
  return meta instanceof Map ? meta : null;
}

describe.each([
  ["the table", "//tmp/pull/c", "//tmp/pull/c"],
  ["[queue-api 59] a link to it", "//tmp/pull-link/c-real", "//tmp/pull-link/c"],
])("pull_queue_consumer, the consumer being %s", (_, real, consumer) => {
  const q = `${consumer}-queue`;
  const pull = (offset: bigint | null, options = {}, partition = 0) =>
    primary.root.pullQueueConsumer(consumer, q, offset, partition, options);

  beforeAll(async () => {
    await primary.createQueue(q);
    await primary.root.insertRows(q, [{ data: "foo" }, { data: "bar" }]);
    await primary.createConsumer(real);
    if (real !== consumer) {
      await primary.link(real, consumer);
    }
  });

  it("[queue-api 52] refuses who is not registered", async () => {
    const failure = await failureOf(pull(1n));
    expect(failure.codes).toContain(901);
    expect(failure.text).toContain(`Consumer primary:${real} is not registered for queue primary:${q}`);
    expect(failure.error.attributes.get("raw_consumer")).toBe(consumer);
    expect(failure.error.attributes.get("raw_queue")).toBe(q);
  });

  it("[queue-api 53] reads like pull_queue once it is registered", async () => {
    await primary.root.registerQueueConsumer(q, consumer, { vital: false });
    expect(plain(await pull(1n))).toEqual([bar]);
    expect(plain(await pull(0n, { maxRowCount: 1n }))).toEqual([foo]);
    expect(plain(await pull(0n))).toEqual([foo, bar]);
    expect(plain(await pull(0n, { maxDataWeight: 5n }))).toEqual([foo]);
    expect((await failureOf(pull(-1n))).text).toContain("at a negative offset");
  });

  it("[queue-api 54] begins at 0 when no offset is stored", async () => {
    expect(plain(await pull(null))).toEqual([foo, bar]);
  });

  it("[queue-api 55] begins at the stored offset, and does not move it", async () => {
    await primary.root.advanceQueueConsumer(consumer, q, 0, { oldOffset: 0n, newOffset: 1n });
    expect(plain(await pull(null))).toEqual([bar]);
    expect(plain(await pull(null))).toEqual([bar]);
  });

  it("[queue-api 56] refuses a partition that is not there", async () => {
    for (const partition of [1, -1]) {
      for (const offset of [null, 0n]) {
        const failure = await failureOf(pull(offset, {}, partition));
        expect(failure.text).toContain("Invalid tablet index for table");
      }
    }
  });

  it("[queue-api 57] [queue-api 58] takes a registration for an unknown cluster, and reads nothing there", async () => {
    await primary.root.registerQueueConsumer(`abc:${q}`, consumer, { vital: false });
    for (const offset of [null, 0n]) {
      const call = primary.root.pullQueueConsumer(consumer, `abc:${q}`, offset, 0);
      expect((await failureOf(call)).text).toContain('Queue cluster "abc" was not found');
    }
  });

  it("[queue-api 68] has an old name", async () => {
    let rows = "";
    for await (const chunk of primary.root.streamRows("pull_consumer", {
      consumer_path: consumer,
      queue_path: q,
      partition_index: 0n,
      offset: null,
      output_format: "json",
    })) {
      rows += chunk.toString();
    }
    expect(JSON.parse(rows)).toMatchObject({ $$row_index: 1, data: "bar" });
  });

  it("[queue-api 63] refuses again after unregistering, and finds the offset after registering anew", async () => {
    await primary.root.unregisterQueueConsumer(q, consumer);
    expect((await failureOf(pull(0n))).codes).toContain(901);
    await primary.root.registerQueueConsumer(q, consumer, { vital: true });
    expect(plain(await pull(null))).toEqual([bar]);
  });
});

describe("rights of pull_queue_consumer", () => {
  const closed = { attributes: { inherit_acl: false } };

  it("[queue-api 60] [queue-api 61] needs read on the consumer and a registration", async () => {
    const carol = await primary.user("carol");
    await primary.createQueue("//tmp/rights/q", closed);
    await primary.createConsumer("//tmp/rights/consumer");
    await primary.set("//tmp/rights/consumer/@inherit_acl", false);
    const pull = () => carol.pullQueueConsumer("//tmp/rights/consumer", "//tmp/rights/q", 0n, 0);
    const denied = await failureOf(pull());
    expect(denied.codes).toContain(901);
    expect(denied.text).toContain("No Read permission for //tmp/rights/consumer");
    await primary.allow("//tmp/rights/consumer", "carol", ["read"]);
    const unregistered = await failureOf(pull());
    expect(unregistered.codes).toContain(901);
    expect(unregistered.text).toContain("is not registered");
  });

  it.each(["primary", "remote_0"])("[queue-api 62] needs no right on a queue of %s", async (cluster) => {
    const dora = await primary.user("dora");
    const owner = cluster === "primary" ? primary : remote;
    const path = "//tmp/rights/private";
    await owner.createQueue(path, closed);
    await owner.root.insertRows(path, [{ data: "foo" }]);
    const consumer = `//tmp/rights/of-dora-${cluster}`;
    await primary.createConsumer(consumer);
    await primary.allow(consumer, "dora", ["read"]);
    await primary.root.registerQueueConsumer(`${cluster}:${path}`, consumer, { vital: false });
    expect(plain(await dora.pullQueueConsumer(consumer, `${cluster}:${path}`, null, 0))).toEqual([foo]);
  });

  it("[queue-api 64] any sorted table reads at an explicit offset, without one only a consumer's", async () => {
    const legacy = TableSchema.fromYson([
      mapOf({ name: "ShardId", type: "uint64", sort_order: "ascending" }),
      mapOf({ name: "Offset", type: "uint64" }),
    ]);
    await primary.createQueue("//tmp/legacy/q");
    await primary.root.insertRows("//tmp/legacy/q", [{ data: "foo" }]);
    await primary.createConsumer("//tmp/legacy/c", legacy);
    await primary.root.registerQueueConsumer("//tmp/legacy/q", "//tmp/legacy/c", { vital: false });
    const pull = (offset: bigint | null) =>
      primary.root.pullQueueConsumer("//tmp/legacy/c", "//tmp/legacy/q", offset, 0);
    expect(plain(await pull(0n))).toEqual([foo]);
    const failure = await failureOf(pull(null));
    expect(failure.text).toContain("Table schema is not recognized as a valid consumer schema");
    const advance = primary.root.advanceQueueConsumer("//tmp/legacy/c", "//tmp/legacy/q", 0, {
      oldOffset: null,
      newOffset: 1n,
    });
    expect((await failureOf(advance)).text).toContain(
      "Table schema is not recognized as a valid consumer schema",
    );
  });
});

describe.each([
  ["with meta", consumerSchema, ""],
  ["[queue-api 76] without meta", consumerSchemaWithoutMeta, ""],
  ["[queue-api 77] by a link", consumerSchema, "-real"],
] as const)("advance_queue_consumer, %s", (title, schema, suffix) => {
  const folder = `//tmp/advance${["with meta", "[queue-api 76] without meta", "[queue-api 77] by a link"].indexOf(title)}`;
  const c = `${folder}/c`;
  const q = `${folder}/q`;
  const hasMeta = schema === consumerSchema;
  const advance = (oldOffset: bigint | null, newOffset: bigint, queue = q, options = {}) =>
    primary.root.advanceQueueConsumer(c, queue, 0, { oldOffset, newOffset }, options);

  beforeAll(async () => {
    await primary.createConsumer(`${c}${suffix}`, schema);
    if (suffix !== "") {
      await primary.link(`${c}${suffix}`, c);
    }
    for (const name of ["q", "q2", "q3", "q4"]) {
      await primary.createQueue(`${folder}/${name}`);
      await primary.root.registerQueueConsumer(`${folder}/${name}`, c, { vital: false });
    }
    for (let row = 0; row < 6; row++) {
      await primary.root.insertRows(q, [{ data: "foo" }]);
    }
  });

  it("[queue-api 69] refuses a queue that is missing", async () => {
    const failure = await failureOf(advance(null, 1n, `${folder}/none`));
    expect(failure.codes).toContain(500);
    expect(failure.text).toContain("Failed to resolve queue path");
    expect(failure.text).toContain(
      "Failed to get table mount info to perform registration manager resolutions for object",
    );
  });

  it("[queue-api 70] stores the offset and what is known of the rows around it", async () => {
    await advance(null, 3n);
    expect(await offsetOf(c, q)).toBe(3n);
    if (hasMeta) {
      const [row] = await primary.root.pullQueue(q, 3n, 0, { maxRowCount: 1n });
      const timestamp = row?.["$timestamp"];
      expect(typeof timestamp).toBe("bigint");
      const meta = await metaOf(c, q);
      expect(meta?.get("cumulative_data_weight")).toBe(60n);
      expect(meta?.get("offset_timestamp")).toEqual(
        new Uint64(typeof timestamp === "bigint" ? timestamp : 0n),
      );
    }
  });

  it("[queue-api 71] refuses when another offset is stored, and changes nothing", async () => {
    const before = await offsets(`${c}${suffix}`);
    const failure = await failureOf(advance(4n, 5n));
    expect(failure.codes).toContain(3100);
    expect(failure.text).toContain("expected offset 4, found offset 3");
    const attributes = failure.error.find(3100)?.attributes;
    expect(attributes?.get("expected_offset")).toBe(4n);
    expect(attributes?.get("current_offset")).toBe(3n);
    expect(attributes?.get("partition")).toBe(0n);
    expect(await offsets(`${c}${suffix}`)).toEqual(before);
  });

  it("[queue-api 72] goes on from the stored offset", async () => {
    await advance(3n, 5n);
    expect(await offsetOf(c, q)).toBe(5n);
    if (hasMeta) {
      const meta = await metaOf(c, q);
      expect(meta?.get("cumulative_data_weight")).toBe(100n);
      expect(meta?.get("offset_timestamp")).toBeInstanceOf(Uint64);
    }
  });

  it("at the end of the queue, the row at the offset is not known yet", async () => {
    await advance(5n, 6n);
    if (hasMeta) {
      expect(await metaOf(c, q)).toEqual(mapOf({ cumulative_data_weight: 120n, offset_timestamp: null }));
      await advance(6n, 0n);
      const meta = await metaOf(c, q);
      expect(meta?.get("cumulative_data_weight")).toBeNull();
      expect(meta?.get("offset_timestamp")).toBeInstanceOf(Uint64);
    }
  });

  it("[queue-api 73] goes beyond the end, where nothing is known", async () => {
    await advance(null, 7n);
    expect(await offsetOf(c, q)).toBe(7n);
    if (hasMeta) {
      expect(await metaOf(c, q)).toBeNull();
    } else {
      expect(Object.keys((await offsets(`${c}${suffix}`))[0] ?? {})).not.toContain("meta");
    }
    expect(await primary.root.pullQueueConsumer(c, q, null, 0)).toEqual([]);
  });

  it("[queue-api 74] takes a partition without a row at offset 0", async () => {
    await advance(0n, 42n, `${folder}/q2`);
    expect(await offsetOf(c, `${folder}/q2`)).toBe(42n);
  });

  it("[queue-api 75] in a transaction shows at the commit, all at once", async () => {
    const transactionId = await primary.root.startTransaction({ type: "tablet" });
    for (const name of ["q3", "q4"]) {
      await advance(0n, 1n, `${folder}/${name}`, { transactionId });
    }
    // The transaction reads as of its start.
    await advance(0n, 2n, `${folder}/q4`, { transactionId });
    expect(await offsetOf(c, `${folder}/q3`)).toBeUndefined();
    await primary.root.commitTransaction(transactionId);
    expect(await offsetOf(c, `${folder}/q3`)).toBe(1n);
    expect(await offsetOf(c, `${folder}/q4`)).toBe(2n);
  });

  it("[queue-api 81] goes back when no old offset is asked for", async () => {
    await advance(null, 5n);
    await advance(null, 2n);
    expect(await offsetOf(c, q)).toBe(2n);
    expect((await failureOf(advance(null, -1n))).text).toContain("cannot be negative");
  });

  it("[queue-api 82] needs a registration", async () => {
    await primary.createQueue(`${folder}/unregistered`);
    expect((await failureOf(advance(null, 1n, `${folder}/unregistered`))).codes).toContain(901);
    expect(await offsetOf(c, `${folder}/unregistered`)).toBeUndefined();
  });

  it("two transactions that move one offset conflict", async () => {
    const ids = await Promise.all([1, 2].map(() => primary.root.startTransaction({ type: "tablet" })));
    for (const transactionId of ids) {
      await advance(null, 3n, q, { transactionId });
    }
    const [first, second] = ids;
    await primary.root.commitTransaction(first ?? "");
    expect((await failureOf(primary.root.commitTransaction(second ?? ""))).codes).toContain(1700);
    expect(await offsetOf(c, q)).toBe(3n);
  });
});

describe("advance_queue_consumer", () => {
  it("[queue-api 78] by a link to the queue moves the offset of the real one", async () => {
    await primary.createQueue("//tmp/linked/q");
    await primary.link("//tmp/linked/q", "//tmp/linked/q-link");
    await primary.createConsumer("//tmp/linked/c");
    await primary.root.registerQueueConsumer("//tmp/linked/q", "//tmp/linked/c", { vital: true });
    const advance = (oldOffset: bigint, newOffset: bigint) =>
      primary.root.advanceQueueConsumer("//tmp/linked/c", "//tmp/linked/q-link", 0, { oldOffset, newOffset });
    await advance(0n, 1n);
    expect(await offsetOf("//tmp/linked/c", "//tmp/linked/q")).toBe(1n);
    await advance(1n, 10n);
    expect(await offsetOf("//tmp/linked/c", "//tmp/linked/q")).toBe(10n);
    expect(await offsets("//tmp/linked/c")).toHaveLength(1);
  });

  it("[queue-api 79] every partition begins at offset 0", async () => {
    await primary.createQueue("//tmp/fresh/q", { attributes: { tablet_count: 3n } });
    await primary.createConsumer("//tmp/fresh/c");
    await primary.root.registerQueueConsumer("//tmp/fresh/q", "//tmp/fresh/c", { vital: true });
    for (const partition of [0, 1, 2]) {
      await primary.root.insertRows("//tmp/fresh/q", [{ $tablet_index: BigInt(partition), data: "foo" }]);
      const rows = await primary.root.pullQueueConsumer("//tmp/fresh/c", "//tmp/fresh/q", null, partition);
      expect(plain(rows)).toEqual([{ ...foo, $tablet_index: BigInt(partition) }]);
      await primary.root.advanceQueueConsumer("//tmp/fresh/c", "//tmp/fresh/q", partition, {
        oldOffset: 0n,
        newOffset: 1n,
      });
    }
  });

  it("[queue-api 80] on the client's side needs neither queue nor registration, and writes no meta", async () => {
    await primary.createConsumer("//tmp/client-side/c");
    const advance = (oldOffset: bigint | null, newOffset: bigint) =>
      primary.root.advanceQueueConsumer(
        "//tmp/client-side/c",
        "remote_0://tmp/never-created",
        0,
        { oldOffset, newOffset },
        { clientSide: true },
      );
    await advance(0n, 3n);
    expect(await offsets("//tmp/client-side/c")).toEqual([
      {
        queue_cluster: "remote_0",
        queue_path: "//tmp/never-created",
        partition_index: 0n,
        offset: 3n,
        meta: null,
      },
    ]);
    expect((await failureOf(advance(0n, 4n))).codes).toContain(3100);
    expect((await failureOf(advance(null, -1n))).text).toContain("cannot be negative");
  });

  it("needs write on the consumer, on the client's side read only to compare", async () => {
    const erin = await primary.user("erin");
    await primary.createQueue("//tmp/advance-rights/q");
    await primary.createConsumer("//tmp/advance-rights/c");
    await primary.set("//tmp/advance-rights/c/@inherit_acl", false);
    await primary.root.registerQueueConsumer("//tmp/advance-rights/q", "//tmp/advance-rights/c", {
      vital: true,
    });
    const advance = (oldOffset: bigint | null, clientSide: boolean) =>
      erin.advanceQueueConsumer(
        "//tmp/advance-rights/c",
        "//tmp/advance-rights/q",
        0,
        { oldOffset, newOffset: 1n },
        { clientSide },
      );
    await primary.allow("//tmp/advance-rights/c", "erin", ["write"]);
    expect((await failureOf(advance(null, false))).text).toContain("No Read permission for");
    expect((await failureOf(advance(0n, true))).text).toContain("No Read permission for");
    await advance(null, true);
    await primary.set("//tmp/advance-rights/c/@acl", []);
    await primary.allow("//tmp/advance-rights/c", "erin", ["read"]);
    for (const clientSide of [false, true]) {
      expect((await failureOf(advance(null, clientSide))).text).toContain("No Write permission for");
    }
  });

  it("[queue-api 68] has an old name", async () => {
    await primary.createConsumer("//tmp/old-name/c");
    await primary.root.execute("advance_consumer", {
      consumer_path: "//tmp/old-name/c",
      queue_path: "//tmp/old-name/q",
      partition_index: 0n,
      old_offset: null,
      new_offset: 2n,
      client_side: true,
    });
    expect(await offsetOf("//tmp/old-name/c", "//tmp/old-name/q")).toBe(2n);
  });

  it("knows the rows of a queue on another cluster", async () => {
    await remote.createQueue("//tmp/across/q");
    await remote.root.insertRows("//tmp/across/q", [{ data: "foo" }, { data: "bar" }]);
    await primary.createConsumer("//tmp/across/c");
    await primary.root.registerQueueConsumer("remote_0://tmp/across/q", "//tmp/across/c", { vital: true });
    await primary.root.advanceQueueConsumer("//tmp/across/c", "remote_0://tmp/across/q", 0, {
      oldOffset: 0n,
      newOffset: 1n,
    });
    const meta = await metaOf("//tmp/across/c", "//tmp/across/q");
    expect(meta?.get("cumulative_data_weight")).toBe(20n);
    expect(meta?.get("offset_timestamp")).toBeInstanceOf(Uint64);
    const rows = await primary.root.pullQueueConsumer("//tmp/across/c", "remote_0://tmp/across/q", null, 0);
    expect(plain(rows)).toEqual([bar]);
  });
});
