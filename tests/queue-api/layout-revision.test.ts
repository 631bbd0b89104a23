/**
 * The layout revision of a queue: when it changes, who is told, and that rows which were routed by an old
 * one go nowhere. An addition to the real API.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messagesOf, type Reply, TestCluster } from "../tables/test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.ok("create", '{type=queue_producer;path="//tmp/producer"}');
});
afterAll(() => cluster.stop());

let count = 0;
async function freshQueue(tablets: number): Promise<string> {
  const path = `//tmp/queue-${++count}`;
  await cluster.createQueue(path, { tablets });
  return path;
}

/** As text: it has more than 53 bits. */
async function revisionOf(path: string): Promise<bigint> {
  const text = await cluster.ok(
    "get",
    `{path="${path}/@tablet_layout_revision";return_only_value=%true;output_format=<format=text>yson}`,
  );
  expect(text).toMatch(/^\d+u$/);
  return BigInt(text.slice(0, -1));
}

function toldBy(reply: Reply): bigint {
  expect(reply.status, reply.text).toBe(200);
  const [, text] =
    /"tablet_layout_revision"=(\d+)u/.exec(String(reply.headers["x-yt-response-parameters"])) ?? [];
  return BigInt(text ?? -1);
}

async function openSession(path: string): Promise<void> {
  await cluster.ok(
    "create_queue_producer_session",
    `{producer_path="//tmp/producer";queue_path="${path}";session_id=s}`,
  );
}

function pushParameters(path: string, more = ""): string {
  return `{producer_path="//tmp/producer";queue_path="${path}";session_id=s;epoch=0;input_format=yson;${more}}`;
}

function push(path: string, rows: string, more = ""): Promise<Reply> {
  return cluster.call("push_queue_producer", pushParameters(path, more), { method: "PUT", body: rows });
}

async function rowCountOf(path: string): Promise<number> {
  return (await cluster.select(`key from [${path}]`)).length;
}

describe("@tablet_layout_revision", () => {
  it("changes with the set of tablets that take writes, and with nothing else", async () => {
    const path = await freshQueue(3);
    const steps: readonly (readonly [isChange: boolean, command: string, more: string])[] = [
      [false, "mount_table", ""],
      [false, "remount_table", ""],
      [true, "unmount_table", "first_tablet_index=1;last_tablet_index=1"],
      [false, "unmount_table", "first_tablet_index=1;last_tablet_index=1"],
      [true, "mount_table", "first_tablet_index=1;last_tablet_index=1"],
      [true, "freeze_table", "first_tablet_index=2;last_tablet_index=2"],
      [false, "freeze_table", "first_tablet_index=2;last_tablet_index=2"],
      [true, "unfreeze_table", ""],
      [true, "unmount_table", ""],
      [true, "reshard_table", "tablet_count=2"],
      [true, "reshard_table", "tablet_count=4"],
      [false, "set", ""],
      [false, "mount_table", "freeze=%true"],
      [true, "unfreeze_table", ""],
    ];
    const seen = [await revisionOf(path)];
    for (const [isChange, command, more] of steps) {
      if (command === "set") {
        await cluster.set(`${path}/@mine`, "1");
      } else {
        await cluster.ok(command, `{path="${path}";${more}}`);
      }
      const last = seen.at(-1);
      const revision = await revisionOf(path);
      if (isChange) {
        expect(seen, `${command} ${more}`).not.toContain(revision);
        seen.push(revision);
      } else {
        expect(revision, `${command} ${more}`).toBe(last);
      }
    }
  });

  it("is another one for a queue that was removed and made again", async () => {
    const path = await freshQueue(1);
    const before = await revisionOf(path);
    await cluster.ok("remove", `{path="${path}"}`);
    await cluster.createQueue(path);
    expect(await revisionOf(path)).not.toBe(before);
  });

  it("survives a restart", async () => {
    const path = await freshQueue(2);
    const before = await revisionOf(path);
    cluster = await cluster.restart();
    expect(await revisionOf(path)).toBe(before);
  });

  it("is an attribute of ordered dynamic tables only", async () => {
    await cluster.createSorted("//tmp/sorted");
    for (const path of ["//tmp/sorted", "//tmp"]) {
      const error = await cluster.error("get", `{path="${path}/@tablet_layout_revision"}`);
      expect(error.code).toBe(500);
    }
    const error = await cluster.error(
      "insert_rows",
      '{path="//tmp/sorted";tablet_layout_revision=1u}',
      "{key=1}",
    );
    expect(messagesOf(error)).toContain("not ordered");
  });
});

describe("pulls and pushes", () => {
  it("are told the revision", async () => {
    const path = await freshQueue(2);
    const revision = await revisionOf(path);
    await openSession(path);
    expect(toldBy(await push(path, '{"$tablet_index"=1;"$sequence_number"=0;key=1}'))).toBe(revision);
    expect(toldBy(await cluster.call("pull_queue", `{queue_path="${path}";partition_index=1}`))).toBe(
      revision,
    );
    await cluster.ok("create", '{type=queue_consumer;path="//tmp/consumer"}');
    await cluster.ok(
      "register_queue_consumer",
      `{queue_path="${path}";consumer_path="//tmp/consumer";vital=%false}`,
    );
    const pull = `{consumer_path="//tmp/consumer";queue_path="${path}";partition_index=0}`;
    expect(toldBy(await cluster.call("pull_queue_consumer", pull, { method: "GET" }))).toBe(revision);
    await cluster.unmount(path, "first_tablet_index=1;last_tablet_index=1");
    const next = toldBy(await cluster.call("pull_queue", `{queue_path="${path}";partition_index=0}`));
    expect(next).toBe(await revisionOf(path));
    expect(next).not.toBe(revision);
  });

  it("that name the present revision are taken", async () => {
    const path = await freshQueue(2);
    await openSession(path);
    const more = `tablet_layout_revision=${await revisionOf(path)}u`;
    await cluster.insert(path, '{"$tablet_index"=1;key=1}', more);
    expect((await push(path, '{"$tablet_index"=0;"$sequence_number"=0;key=2}', more)).status).toBe(200);
    expect(await rowCountOf(path)).toBe(2);
  });

  it("that name a stale revision write nothing, even to tablets that are gone", async () => {
    const path = await freshQueue(3);
    await openSession(path);
    const stale = await revisionOf(path);
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=2}`);
    await cluster.mount(path);
    const actual = await revisionOf(path);
    const more = `tablet_layout_revision=${stale}u`;
    for (const tablet of [0, 2]) {
      for (const error of [
        await cluster.error("insert_rows", `{path="${path}";${more}}`, `{"$tablet_index"=${tablet};key=1}`),
        await cluster.error(
          "push_queue_producer",
          pushParameters(path, more),
          `{"$tablet_index"=${tablet};"$sequence_number"=0;key=1}`,
        ),
      ]) {
        expect(error.code).toBe(1704);
        expect(error.attributes.get("expected")).toBe(stale);
        expect(error.attributes.get("actual")).toBe(actual);
      }
    }
    expect(await rowCountOf(path)).toBe(0);
    expect(
      await cluster.lookup("//tmp/producer", `{queue_cluster=pythia;queue_path="${path}";session_id=s}`),
    ).toEqual([expect.objectContaining({ sequence_number: -1 })]);
  });

  it.each(["insert_rows", "push_queue_producer"])("%s is looked at again at the commit", async (command) => {
    const path = await freshQueue(2);
    const other = await freshQueue(1);
    await openSession(path);
    const id = await cluster.startTransaction();
    const more = `transaction_id="${id}";tablet_layout_revision=${await revisionOf(path)}u`;
    await cluster.insert(other, "{key=7}", `transaction_id="${id}"`);
    if (command === "insert_rows") {
      await cluster.insert(path, '{"$tablet_index"=0;key=1}', more);
    } else {
      expect((await push(path, '{"$tablet_index"=0;"$sequence_number"=0;key=1}', more)).status).toBe(200);
    }
    await cluster.unmount(path, "first_tablet_index=1;last_tablet_index=1");
    // Rows that were routed by the new layout do not make good those of the old one.
    await cluster.insert(
      path,
      '{"$tablet_index"=0;key=2}',
      `transaction_id="${id}";tablet_layout_revision=${await revisionOf(path)}u`,
    );
    const error = await cluster.error("commit_transaction", `{transaction_id="${id}"}`);
    expect(error.has("InvalidMountRevision")).toBe(true);
    await cluster.mount(path);
    expect([await rowCountOf(path), await rowCountOf(other)]).toEqual([0, 0]);
  });
});
