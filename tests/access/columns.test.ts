/** Columns and tables on the data path: what is read decides, not what the table has. */
import { mapOf } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "../queue-api/fixture.ts";
import { type Answer, call } from "./area.ts";

let cluster: TestCluster;
let user: YtClient;
let other: YtClient;

const sorted = "//tmp/columns/sorted";
const queue = "//tmp/columns/queue";
const file = "//tmp/columns/static";
const columnEntries = [
  { action: "allow", subjects: ["users"], permissions: ["read", "write", "mount"] },
  { action: "allow", subjects: ["other"], permissions: ["read"], columns: ["secret"] },
];

beforeAll(async () => {
  cluster = await startOne();
  user = await cluster.user("user");
  other = await cluster.user("other");
  await cluster.root.create("map_node", "//tmp/columns");
  const value = { name: "value", type: "string" };
  const secret = { name: "secret", type: "string" };
  const key = { name: "key", type: "int64", sort_order: "ascending" };
  await cluster.createQueue(queue, { columns: [value, secret] });
  await cluster.createQueue(sorted, {
    columns: [key, value, secret],
  });
  await cluster.root.create("table", file, {
    attributes: mapOf({ schema: [mapOf(value), mapOf(secret)] }),
  });
  await cluster.root.insertRows(sorted, [{ key: 1n, value: "open", secret: "hidden" }]);
  await cluster.root.insertRows(queue, [{ value: "open", secret: "hidden" }]);
  await call(cluster, "root", "write_table", { path: file }, "{value=open;secret=hidden};");
  for (const path of [sorted, queue, file]) {
    await cluster.set(`${path}/@inherit_acl`, false);
    await cluster.set(`${path}/@acl`, columnEntries);
  }
});
afterAll(() => cluster?.close());

const select = (who: YtClient, query: string): Promise<unknown> => who.selectRows(query);
const read = (name: string, path: string, more = {}): Promise<Answer> =>
  call(cluster, name, "read_table", { path, ...more });

describe("columns that an entry names", () => {
  it("[tables 197] are refused to others by name, and the rest of the table is open", async () => {
    const denied = await failureOf(select(user, `* from [${sorted}]`));
    expect(denied.codes).toContain(901);
    expect(denied.text).toContain(
      'Access denied for user "user": "read" permission for column "secret" of node //tmp/columns/sorted is not allowed by any matching ACE',
    );
    expect(JSON.stringify([...denied.error.attributes])).toContain('["object_column","secret"]');
    expect(await select(user, `key, value from [${sorted}]`)).toEqual([{ key: 1n, value: "open" }]);
    expect(await select(other, `* from [${sorted}]`)).toEqual([{ key: 1n, value: "open", secret: "hidden" }]);
  });

  it("[tables 197] are left out when the reader asks for that", async () => {
    expect((await read("user", file)).isRefused).toBe(true);
    const omitted = await read("user", file, { omit_inaccessible_columns: true });
    expect(omitted.text).toContain("open");
    expect(omitted.text).not.toContain("hidden");
    expect((await read("user", `${file}{value}`)).text).not.toContain("hidden");
    expect((await read("user", `${file}{secret}`)).isRefused).toBe(true);
    expect((await read("other", file)).text).toContain("hidden");
  });

  it("are used by a condition, an order and a group as well", async () => {
    for (const clause of [
      `key from [${sorted}] where secret = "hidden"`,
      `key from [${sorted}] order by secret limit 1`,
      `sum(1) as n from [${sorted}] group by secret`,
    ]) {
      expect((await failureOf(select(user, clause))).codes, clause).toContain(901);
    }
    expect(await select(user, `sum(1) as n from [${sorted}] group by 1`)).toEqual([{ n: 1n }]);
  });

  it("are looked up only by who may read them", async () => {
    const lookup = (name: string, columns?: string[]): Promise<Answer> =>
      call(cluster, name, "lookup_rows", { path: sorted, column_names: columns }, "{key=1};");
    expect((await lookup("user")).isRefused).toBe(true);
    expect((await lookup("user", ["secret"])).isRefused).toBe(true);
    expect((await lookup("user", ["key", "value"])).text).toContain("open");
    expect((await lookup("other")).text).toContain("hidden");
  });

  it("keep a queue from being pulled, and a table from being copied or concatenated", async () => {
    expect((await failureOf(user.pullQueue(queue, 0n, 0))).codes).toContain(901);
    expect(await other.pullQueue(queue, 0n, 0)).toHaveLength(1);
    const copy = (who: YtClient): Promise<unknown> =>
      who.execute("copy", { source_path: file, destination_path: "//tmp/columns/copy" });
    expect((await failureOf(copy(user))).codes).toContain(901);
    await copy(other);
    await cluster.root.create("table", "//tmp/columns/joined");
    const join = await call(cluster, "user", "concatenate", {
      source_paths: [file],
      destination_path: "//tmp/columns/joined",
    });
    expect(join.isRefused).toBe(true);
  });

  it("open to who is granted full_read in so many words", async () => {
    await cluster.user("reader");
    expect((await read("reader", file)).isRefused).toBe(true);
    await cluster.allow(file, "reader", ["full_read"]);
    expect((await read("reader", file)).text).toContain("hidden");
  });
});

describe("tables without a right", () => {
  it("[tables 198] are neither read nor written, trimmed or mounted", async () => {
    await cluster.createQueue("//tmp/shut", { attributes: { inherit_acl: false } });
    await cluster.root.insertRows("//tmp/shut", [{ data: "a" }]);
    const works: readonly (() => Promise<unknown>)[] = [
      () => select(user, "* from [//tmp/shut]"),
      () => user.insertRows("//tmp/shut", [{ data: "b" }]),
      () => user.execute("trim_rows", { path: "//tmp/shut", tablet_index: 0n, trimmed_row_count: 1n }),
      () => user.execute("unmount_table", { path: "//tmp/shut" }),
      () => user.mountTable("//tmp/shut"),
    ];
    for (const work of works) {
      expect((await failureOf(work())).codes).toContain(901);
    }
    expect(await cluster.dataOf("//tmp/shut")).toEqual(["a"]);
  });

  it("[tables 198] are mounted by who may use their bundle as well", async () => {
    await cluster.root.execute("create", {
      type: "tablet_cell_bundle",
      attributes: mapOf({ name: "closed" }),
    });
    await cluster.createQueue("//tmp/bundled", { attributes: { tablet_cell_bundle: "closed" } });
    await cluster.allow("//tmp/bundled", "user", ["mount"]);
    const unmount = (force: boolean): Promise<unknown> =>
      user.execute("unmount_table", { path: "//tmp/bundled", force });
    const denied = await failureOf(unmount(false));
    expect(denied.text).toContain('"use" permission for tablet cell bundle "closed"');
    await cluster.allow("//sys/tablet_cell_bundles/closed", "user", ["use"]);
    expect((await failureOf(unmount(true))).text).toContain(
      '"administer" permission for tablet cell bundle "closed"',
    );
    await unmount(false);
    await user.mountTable("//tmp/bundled");
    const created = failureOf(
      other.create("table", "//tmp/elsewhere", {
        attributes: mapOf({
          dynamic: true,
          schema: [mapOf({ name: "data", type: "string" })],
          tablet_cell_bundle: "closed",
        }),
      }),
    );
    expect((await created).codes).toContain(901);
  });
});

describe("expirations", () => {
  it("[tables 200] need remove on the node and on everything below it", async () => {
    await cluster.root.create("map_node", "//tmp/expiring", { attributes: mapOf({ inherit_acl: false }) });
    await cluster.allow("//tmp/expiring", "user", ["read", "write"]);
    const expire = (): Promise<Answer> =>
      call(cluster, "user", "set", { path: "//tmp/expiring/@expiration_time" }, "4000000000000");
    expect((await expire()).isRefused).toBe(true);
    await cluster.root.create("map_node", "//tmp/expiring/below");
    await cluster.allow("//tmp/expiring", "user", ["remove"]);
    await cluster.set("//tmp/expiring/below/@acl", [
      { action: "deny", subjects: ["user"], permissions: ["remove"] },
    ]);
    expect((await expire()).isRefused).toBe(true);
    await cluster.set("//tmp/expiring/below/@acl", []);
    expect((await expire()).status).toBe(200);
  });
});
