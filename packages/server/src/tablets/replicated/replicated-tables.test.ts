/** Replicated tables with replicas on their own cluster: who has which rows when, and what is refused. */
import { YtError } from "@qyt/base";
import { messagesOf } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { failure } from "../transactions/engine-fixture.ts";
import { queueSchema, ReplicationFixture, root, sortedSchema } from "./replication-fixture.ts";

let world: ReplicationFixture;
beforeEach(async () => {
  world = await ReplicationFixture.open();
});
afterEach(() => world.close());

async function refusal(promise: Promise<unknown>): Promise<YtError> {
  const error = await failure(promise);
  if (!(error instanceof YtError)) {
    throw error;
  }
  return error;
}

describe("a replicated queue", () => {
  beforeEach(() => world.createTable(queueSchema, "tablet_count=2"));

  it("[tables 203] takes rows without a synchronous replica only when that is wished", async () => {
    // Without any replica nothing is missing.
    await world.write('{a=1;"$tablet_index"=0}');
    await world.addReplica("//tmp/r", { more: "tablet_count=2" });
    const error = await refusal(world.write('{a=2;"$tablet_index"=0}'));
    expect(error.has("NoSyncReplicas")).toBe(true);
    expect(messagesOf(error).join("\n")).toContain(
      'Table //tmp/t has no synchronous replicas and "require_sync_replica" option is set',
    );
    await world.write('{a=3;"$tablet_index"=0}', { requireSyncReplica: false });
    await world.replicated();
    expect(world.rows("//tmp/r")).toEqual(["1", "3"]);
  });

  it("[tables 204] is not trimmed itself", async () => {
    expect((await refusal(world.trim("//tmp/t", 0, 1n))).message).toContain(
      "Trim is not supported for this table type",
    );
  });

  it("[tables 205] refuses direct writes into a replica", async () => {
    await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    const error = await refusal(world.writeTo("//tmp/r", "{a=1}"));
    expect(error.has("UpstreamReplicaMismatch")).toBe(true);
    expect(world.rows("//tmp/r")).toEqual([]);
  });

  it("[tables 206] has replicas that are disabled until they are enabled", async () => {
    const id = await world.createReplicaObject("//tmp/r");
    expect(await world.get(`#${id}/@state`)).toBe("disabled");
    await world.alter(id, { enabled: true });
    expect(await world.get(`#${id}/@state`)).toBe("enabled");
    expect(await world.get(`//tmp/t/@replicas/${id}/state`)).toBe("enabled");
    expect(await world.get(`#${id}/@type`)).toBe("table_replica");
    expect(await world.get(`#${id}/@table_path`)).toBe("//tmp/t");
  });

  it("gives a synchronous replica its rows in the same commit, tablet by tablet", async () => {
    await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    world.engine.store.hold();
    const write = world.write('{a=1;"$tablet_index"=0};{a=2;"$tablet_index"=1};{a=3;"$tablet_index"=0}');
    expect(world.rows("//tmp/r")).toEqual([]);
    world.engine.store.release();
    await write;
    expect([world.rows("//tmp/r", 0), world.rows("//tmp/r", 1)]).toEqual([["1", "3"], ["2"]]);
    expect(world.engine.table("//tmp/t").readTarget().path).toBe("//tmp/r");
  });

  it("gives an asynchronous replica its rows afterwards, and catches up when it is enabled again", async () => {
    const id = await world.addReplica("//tmp/r", { more: "tablet_count=2" });
    const rows = (from: number): string =>
      Array.from({ length: 450 }, (_, index) => `{a=${from + index};"$tablet_index"=1}`).join(";");
    await world.write(rows(0), { requireSyncReplica: false });
    await world.replicated();
    await world.alter(id, { enabled: false });
    await world.write(rows(450), { requireSyncReplica: false });
    await world.replicated();
    expect(world.rows("//tmp/r", 1)).toHaveLength(450);
    expect(await world.get(`#${id}/@tablets/1/current_replication_row_index`)).toBe(450n);
    await world.alter(id, { enabled: true });
    await world.replicated();
    expect(world.rows("//tmp/r", 1)).toEqual(Array.from({ length: 900 }, (_, index) => String(index)));
  });

  it("holds writes back while a synchronous replica lacks earlier rows", async () => {
    await world.write('{a=1;"$tablet_index"=0}');
    const id = await world.addReplica("//tmp/r", { mode: "sync", enabled: false, more: "tablet_count=2" });
    await world.unmount("//tmp/r");
    await world.alter(id, { enabled: true });
    await world.replicated();
    const error = await refusal(world.write('{a=2;"$tablet_index"=0}'));
    expect(messagesOf(error).join("\n")).toContain(
      "is not synchronously writeable since some rows are not replicated yet",
    );
    expect(await world.get(`#${id}/@error_count`)).toBe(1n);
    expect(
      (await refusal(Promise.resolve().then(() => world.engine.table("//tmp/t").readTarget()))).has(
        "NoInSyncReplicas",
      ),
    ).toBe(true);
    await world.mount("//tmp/r");
    await world.engine.clock.advance(1_500);
    await world.replicated();
    expect(await world.get(`#${id}/@error_count`)).toBe(0n);
    await world.write('{a=3;"$tablet_index"=0}');
    expect(world.rows("//tmp/r")).toEqual(["1", "3"]);
  });

  it("keeps rows of the log until every replica has them, and for a while", async () => {
    await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    const slow = await world.addReplica("//tmp/s", { enabled: false, more: "tablet_count=2" });
    await world.write('{a=1;"$tablet_index"=0};{a=2;"$tablet_index"=0}');
    await world.unmount("//tmp/t");
    await world.mount("//tmp/t");
    await world.engine.clock.advance(600_000);
    expect(await world.get("//tmp/t/@tablets/0/trimmed_row_count")).toBe(0n);
    await world.alter(slow, { enabled: true });
    await world.replicated();
    await world.engine.clock.advance(2_000);
    expect(await world.get("//tmp/t/@tablets/0/trimmed_row_count")).toBe(2n);
    expect(world.rows("//tmp/s")).toEqual(["1", "2"]);
    await world.write('{a=3;"$tablet_index"=0}');
    await world.replicated();
    expect([world.rows("//tmp/r"), world.rows("//tmp/s")]).toEqual([
      ["1", "2", "3"],
      ["1", "2", "3"],
    ]);
  });

  it("goes on after a restart where it was", async () => {
    const id = await world.addReplica("//tmp/r", { more: "tablet_count=2" });
    await world.write('{a=1;"$tablet_index"=0}', { requireSyncReplica: false });
    await world.replicated();
    await world.alter(id, { enabled: false });
    await world.write('{a=2;"$tablet_index"=0}', { requireSyncReplica: false });
    await world.alter(id, { enabled: true, mode: "sync" });
    await world.reopen();
    await world.replicated();
    await world.write('{a=3;"$tablet_index"=0}');
    expect(world.rows("//tmp/r")).toEqual(["1", "2", "3"]);
    expect(await world.get(`#${id}/@mode`)).toBe("sync");
  });

  it("refuses what it cannot do, and changes nothing", async () => {
    const cases: [() => Promise<unknown>, string][] = [
      [() => world.create("replicated_table", "//tmp/u", `schema=${queueSchema}`), "must be dynamic"],
      [
        () => world.createReplicaObject("//tmp/r", "", "elsewhere"),
        "Replicas on other clusters are not supported",
      ],
      [() => world.create("chaos_replicated_table", "//tmp/u", ""), "Chaos tables are not supported"],
      [() => world.copy("//tmp/u"), "cannot be copied or moved"],
    ];
    for (const [ask, text] of cases) {
      expect(messagesOf(await refusal(ask())).join("\n")).toContain(text);
    }
    await world.createReplicaObject("//tmp/r");
    const again = await refusal(world.createReplicaObject("//tmp/r"));
    expect(again.has("TableReplicaAlreadyExists")).toBe(true);
    await world.create("table", "//tmp/plain", `dynamic=%true;schema=${queueSchema}`);
    const error = await refusal(
      world.engine.cypress.create(root, {
        type: "table_replica",
        attributes: new Map([
          ["table_path", "//tmp/plain"],
          ["cluster_name", "test"],
          ["replica_path", "//tmp/x"],
        ]),
      }),
    );
    expect(error.message).toContain("Only a replicated table has replicas");
  });

  it("takes its replicas along when it is removed; their tables stay", async () => {
    const id = await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    await world.write('{a=1;"$tablet_index"=0}');
    await world.engine.cypress.remove(root, { path: "//tmp/t", recursive: true, force: false });
    expect(await world.engine.cypress.exists(root, { path: `#${id}` })).toBe(false);
    expect(await world.engine.cypress.exists(root, { path: "//tmp/r" })).toBe(true);
    await world.unmount("//tmp/r");
    await world.alterTable("//tmp/r", "0-0-0-0");
    await world.mount("//tmp/r");
    await world.writeTo("//tmp/r", '{a=2;"$tablet_index"=0}');
    expect(world.rows("//tmp/r")).toEqual(["1", "2"]);
  });

  it("takes its replicas along when it is removed in a master transaction", async () => {
    const id = await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    const { cypress, clock } = world.engine;
    const transactionId = await cypress.startTransaction(root, { timeoutMs: 60_000 });
    await cypress.remove({ ...root, transactionId }, { path: "//tmp/t", recursive: true, force: false });
    await world.write('{a=1;"$tablet_index"=0}');
    await cypress.commitTransaction(root, transactionId);
    await clock.advance(2_000);
    expect(await cypress.exists(root, { path: `#${id}` })).toBe(false);
    expect(world.rows("//tmp/r")).toEqual(["1"]);
    await world.reopen();
    expect(await world.engine.cypress.exists(root, { path: `#${id}` })).toBe(false);
  });

  it("tells replicas that are bound to something else from its own", async () => {
    const first = await world.addReplica("//tmp/r", { mode: "sync", more: "tablet_count=2" });
    await world.unmount("//tmp/r");
    await world.alterTable("//tmp/r", "1-2-3-4");
    await world.mount("//tmp/r");
    const error = await refusal(world.write('{a=1;"$tablet_index"=0}'));
    expect(error.has("UpstreamReplicaMismatch")).toBe(true);
    expect(messagesOf(error).join("\n")).toContain(`expected 1-2-3-4, got ${first}`);
    expect(world.engine.table("//tmp/t").readableTablet(0).visible.totalRowCount).toBe(0);
  });
});

describe("a sorted replicated table", () => {
  beforeEach(() => world.createTable(sortedSchema, "pivot_keys=[[];[10]]"));

  it("writes, updates, adds up and deletes in both kinds of replicas", async () => {
    await world.addReplica("//tmp/r", { mode: "sync" });
    // Other columns in another order, and one tablet.
    await world.addReplica("//tmp/s", {
      schema:
        "[{name=k;type=int64;sort_order=ascending};{name=x;type=string};{name=n;type=int64;aggregate=sum};{name=v;type=string}]",
    });
    await world.write("{k=1;v=a;n=1};{k=12;v=b};{k=3;v=c}");
    await world.write("{k=1;n=5}", { update: true });
    await world.delete("{k=3}");
    await world.replicated();
    expect(world.scan("//tmp/r")).toEqual(["1:a:5", "12:b:#"]);
    expect(world.scan("//tmp/s")).toEqual(["1:#:5:a", "12:#:#:b"]);
  });

  it("is read through a synchronous replica in transactions, and conflicts there", async () => {
    await world.addReplica("//tmp/r", { mode: "sync" });
    await world.write("{k=1;v=a}");
    const table = world.engine.table("//tmp/t");
    const [one, two] = [world.engine.begin(), world.engine.begin()];
    expect(one.lookup(table, [[1n]])[0]?.[0]).toBe(1n);
    world.engine.insert(one, table, "{k=1;v=b}");
    world.engine.insert(two, table, "{k=1;v=c}");
    await one.commit();
    expect((await refusal(two.commit())).has("TransactionLockConflict")).toBe(true);
    expect(world.scan("//tmp/r")).toEqual(["1:b:#"]);
  });

  it("is not read at a time when a replica had not caught up yet", async () => {
    const first = await world.addReplica("//tmp/r", { mode: "sync" });
    const late = await world.addReplica("//tmp/s", { mode: "sync", enabled: false });
    await world.write("{k=1;v=a}");
    const table = world.engine.table("//tmp/t");
    const early = world.engine.begin();
    await world.alter(late, { enabled: true });
    await world.replicated();
    await world.alter(first, { enabled: false });
    const later = world.engine.begin();
    const read = Promise.resolve().then(() => early.lookup(table, [[1n]]));
    expect((await refusal(read)).has("NoInSyncReplicas")).toBe(true);
    expect(later.lookup(table, [[1n]])[0]?.[0]).toBe(1n);
    await world.reopen();
    await expect(
      Promise.resolve().then(() => world.engine.table("//tmp/t").readTarget(early.startTimestamp)),
    ).rejects.toThrow("No in-sync replicas");
  });

  it("is resharded only before it is written to", async () => {
    await world.unmount("//tmp/t");
    const reshard = (): Promise<void> =>
      world.engine.tables.reshard(root, { path: "//tmp/t", attributes: new Map() }, { tabletCount: 1 });
    await reshard();
    await world.mount("//tmp/t");
    await world.addReplica("//tmp/r", { mode: "sync" });
    await world.write("{k=1;v=a};{k=20;v=b}");
    expect(world.scan("//tmp/r")).toEqual(["1:a:#", "20:b:#"]);
    await world.unmount("//tmp/t");
    expect((await refusal(reshard())).message).toContain("since it has been written to");
  });

  it("has replicas with all of its columns only", async () => {
    await world.addReplica("//tmp/r", {
      mode: "sync",
      schema: "[{name=k;type=int64;sort_order=ascending};{name=v;type=string}]",
    });
    expect(messagesOf(await refusal(world.write("{k=1;v=a}"))).join("\n")).toContain('column "n" is missing');
  });
});
