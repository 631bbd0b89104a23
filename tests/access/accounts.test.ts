/** Accounts: limits on nodes, tablets and disk space, of families of accounts too, and usage that is true. */
import { mapOf, type YsonValue } from "@qyt/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "../queue-api/fixture.ts";
import { setAsRoot, yson } from "./area.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await startOne();
});
afterAll(() => cluster?.close());

const schema = [mapOf({ name: "data", type: "string" })];

async function account(name: string, limits: Record<string, bigint>, parent?: string): Promise<void> {
  await cluster.root.execute("create", {
    type: "account",
    attributes: mapOf({ name, parent_name: parent, resource_limits: mapOf(limits) }),
  });
}

function create(path: string, payer: string, more: Record<string, YsonValue> = {}, type = "map_node") {
  return cluster.root.create(type, path, { attributes: mapOf({ account: payer, ...more }) });
}

function createTable(path: string, payer: string, tabletCount: bigint): Promise<unknown> {
  return create(path, payer, { dynamic: true, schema, tablet_count: tabletCount }, "table");
}

async function usage(name: string, resource: string, attribute = "resource_usage"): Promise<YsonValue> {
  return cluster.root.get(`//sys/accounts/${name}/@${attribute}/${resource}`);
}

describe("limits", () => {
  it("[tables 202] refuse a node too many, by create, set, copy and a change of account", async () => {
    await account("few", { node_count: 2n });
    await create("//tmp/few", "few");
    await create("//tmp/few/a", "few");
    const error = await failureOf(create("//tmp/few/b", "few"));
    expect(error.codes).toContain(902);
    expect(error.text).toContain('Account "few" is over Cypress node count limit');
    expect(error.error.attributes.get("usage")).toBe(2n);
    expect(error.error.attributes.get("limit")).toBe(2n);
    expect((await failureOf(setAsRoot(cluster, "//tmp/few/b", 1n))).codes).toContain(902);
    await cluster.root.create("map_node", "//tmp/other");
    expect((await failureOf(setAsRoot(cluster, "//tmp/other/@account", "few"))).codes).toContain(902);
    const copy = cluster.root.execute("copy", {
      source_path: "//tmp/few/a",
      destination_path: "//tmp/few/b",
    });
    expect((await failureOf(copy)).codes).toContain(902);
    expect(await cluster.root.exists("//tmp/few/b")).toBe(false);
    expect(await usage("few", "node_count")).toBe(2n);
    // What moves was paid for already.
    await cluster.root.execute("move", { source_path: "//tmp/few/a", destination_path: "//tmp/few/b" });
    await setAsRoot(cluster, "//sys/accounts/few/@resource_limits/node_count", 3n);
    await create("//tmp/few/c", "few");
  });

  it("count what transactions have not committed yet", async () => {
    const { root } = cluster;
    await account("tx", { node_count: 2n, tablet_count: 2n });
    await root.create("map_node", "//tmp/given");
    const transactionId = await root.startTransaction();
    const within = { transactionId };
    const attributes = mapOf({ account: "tx" });
    const table = mapOf({ account: "tx", dynamic: true, schema, tablet_count: 2n });
    await root.create("table", "//tmp/tx-table", { attributes: table, ...within });
    expect(await usage("tx", "node_count")).toBe(1n);
    expect(await usage("tx", "tablet_count")).toBe(2n);
    expect(await usage("tx", "node_count", "committed_resource_usage")).toBe(0n);
    expect((await failureOf(createTable("//tmp/tx-other", "tx", 1n))).text).toContain(
      "over tablet count limit",
    );
    const setAccount = { path: "//tmp/given/@account", transaction_id: transactionId, input_format: "yson" };
    await root.execute("set", setAccount, { body: Buffer.from("tx") });
    for (const parameters of [{ attributes }, { attributes, ...within }]) {
      const error = await failureOf(root.create("map_node", "//tmp/tx-more", parameters));
      expect(error.codes).toContain(902);
      expect(error.error.attributes.get("usage")).toBe(2n);
    }
    expect((await failureOf(root.remove("//sys/accounts/tx"))).text).toContain("it is in use");
    await root.commitTransaction(transactionId);
    for (const attribute of ["resource_usage", "committed_resource_usage"]) {
      expect(await usage("tx", "node_count", attribute)).toBe(2n);
      expect(await usage("tx", "tablet_count", attribute)).toBe(2n);
    }

    await root.remove("//tmp/given");
    const aborted = await root.startTransaction();
    await root.create("map_node", "//tmp/tx-aborted", { attributes, transactionId: aborted });
    expect(await usage("tx", "node_count")).toBe(2n);
    await root.abortTransaction(aborted);
    expect(await usage("tx", "node_count")).toBe(1n);
    await create("//tmp/tx-more", "tx");
  });

  it("refuse tablets too many, by create and by reshard", async () => {
    await account("tablets", { tablet_count: 3n });
    await createTable("//tmp/three", "tablets", 2n);
    const error = await failureOf(createTable("//tmp/more", "tablets", 2n));
    expect(error.codes).toContain(902);
    expect(error.text).toContain('Account "tablets" is over tablet count limit');
    const reshard = (count: bigint): Promise<unknown> =>
      cluster.root.execute("reshard_table", { path: "//tmp/three", tablet_count: count });
    expect((await failureOf(reshard(4n))).codes).toContain(902);
    await reshard(3n);
    expect(await usage("tablets", "tablet_count")).toBe(3n);
    await cluster.root.execute("remove", { path: "//tmp/three" });
    expect(await usage("tablets", "tablet_count")).toBe(0n);
    await createTable("//tmp/more", "tablets", 3n);
  });

  it("refuse rows and bytes once the disk space is used up, and take them again when there is room", async () => {
    await account("disk", { disk_space: 1_000n });
    await create("//tmp/disk", "disk");
    await createTable("//tmp/disk/q", "disk", 1n);
    await cluster.root.mountTable("//tmp/disk/q");
    await cluster.root.insertRows("//tmp/disk/q", [{ data: "x".repeat(5_000) }]);
    const insert = (): Promise<unknown> => cluster.root.insertRows("//tmp/disk/q", [{ data: "y" }]);
    await expect.poll(() => failed(insert()), { timeout: 20_000, interval: 200 }).toBe(902);
    const error = await failureOf(insert());
    expect(error.text).toContain('Account "disk" is over disk space limit in medium "default"');
    await create("//tmp/disk/static", "disk", { schema }, "table");
    const write = cluster.root.execute(
      "write_table",
      { path: "//tmp/disk/static", input_format: "yson" },
      { body: Buffer.from("{data=z};") },
    );
    expect((await failureOf(write)).codes).toContain(902);
    // Trimming is always possible, and a higher limit helps at once or a second later.
    await setAsRoot(cluster, "//sys/accounts/disk/@resource_limits/disk_space", 1_000_000n);
    await expect.poll(() => failed(insert()), { timeout: 20_000, interval: 200 }).toBe(0);
    expect(await usage("disk", "disk_space")).toBeGreaterThan(5_000n);
  });

  it("count rows of sorted tables too", async () => {
    await account("sorted", { disk_space: 1_000_000n });
    await create(
      "//tmp/sorted",
      "sorted",
      {
        dynamic: true,
        schema: [
          mapOf({ name: "k", type: "int64", sort_order: "ascending" }),
          mapOf({ name: "v", type: "string" }),
        ],
      },
      "table",
    );
    await cluster.root.mountTable("//tmp/sorted");
    await cluster.root.insertRows("//tmp/sorted", [{ k: 1n, v: "v".repeat(10_000) }]);
    await expect
      .poll(async () => Number(await usage("sorted", "disk_space")), { timeout: 20_000, interval: 200 })
      .toBeGreaterThan(10_000);
  });

  it("are those of the accounts above too", async () => {
    await account("family", { node_count: 3n, tablet_count: 2n });
    await account("child", { node_count: 3n, tablet_count: 2n }, "family");
    await create("//tmp/family", "family");
    await create("//tmp/family/a", "child");
    await create("//tmp/family/b", "child");
    const error = await failureOf(create("//tmp/family/c", "child"));
    expect(error.codes).toContain(902);
    expect(error.text).toContain(
      'Parent account "family" is over Cypress node count limit (while validating account "child")',
    );
    expect(await usage("family", "node_count", "recursive_resource_usage")).toBe(3n);
    expect(await usage("family", "node_count")).toBe(1n);
  });
});

async function failed(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 0,
    (error: unknown) => (error instanceof Error && "code" in error ? Number(error.code) : -1),
  );
}

describe("families of accounts", () => {
  it("give a child no more than the parent has, and all children together neither", async () => {
    await account("parent", { node_count: 10n });
    await account("one", { node_count: 6n }, "parent");
    const above = await failureOf(account("two", { node_count: 11n }, "parent"));
    expect(above.text).toContain("the limit cannot be above that of its parent");
    const over = await failureOf(account("two", { node_count: 5n }, "parent"));
    expect(over.text).toContain("the change would overcommit its parent");
    await setAsRoot(cluster, "//sys/accounts/parent/@allow_children_limit_overcommit", true);
    await account("two", { node_count: 5n }, "parent");
    const below = failureOf(setAsRoot(cluster, "//sys/accounts/parent/@resource_limits/node_count", 4n));
    expect((await below).text).toContain("the limit cannot be below that of its child account");
    const back = failureOf(
      setAsRoot(cluster, "//sys/accounts/parent/@allow_children_limit_overcommit", false),
    );
    expect((await back).text).toContain("overcommit");
    expect(yson(await cluster.root.get("//sys/accounts/parent/@children"))).toBe('["one";"two";]');
    expect(
      (await failureOf(cluster.root.execute("remove", { path: "//sys/accounts/parent" }))).text,
    ).toContain("it has children");
  });

  it("begin with nothing below another account, and need write on it", async () => {
    await account("giver", { node_count: 10n });
    await account("taker", {}, "giver");
    expect(await cluster.root.get("//sys/accounts/taker/@resource_limits/node_count")).toBe(0n);
    expect((await failureOf(create("//tmp/taker", "taker"))).codes).toContain(902);
    const user = await cluster.user("maker");
    await cluster.set("//sys/schemas/account/@acl/end", {
      action: "allow",
      subjects: ["maker"],
      permissions: ["create"],
    });
    const make = (): Promise<unknown> =>
      user.execute("create", {
        type: "account",
        attributes: mapOf({ name: "made", parent_name: "giver" }),
      });
    expect((await failureOf(make())).codes).toContain(901);
    await cluster.allow("//sys/accounts/giver", "maker", ["write"]);
    await make();
  });

  it("inherit use from the account above", async () => {
    const user = await cluster.user("spender");
    await account("purse", { node_count: 10n });
    await account("pocket", { node_count: 5n }, "purse");
    const work = (): Promise<unknown> =>
      user.create("map_node", "//tmp/spent", { attributes: mapOf({ account: "pocket" }) });
    const denied = await failureOf(work());
    expect(denied.codes).toContain(901);
    expect(denied.text).toContain('"use" permission for account "pocket"');
    await cluster.allow("//sys/accounts/purse", "spender", ["use"]);
    await work();
  });

  it("know no limit by another name, and none that is negative", async () => {
    await account("odd", {});
    const set = (name: string, value: unknown): Promise<unknown> =>
      setAsRoot(cluster, `//sys/accounts/odd/@resource_limits`, { [name]: value });
    expect((await failureOf(set("nodes", 1n))).text).toContain('There is no limit "nodes"');
    expect((await failureOf(set("node_count", -1n))).text).toContain("cannot be negative");
    await set("disk_space_per_medium", { default: 5_000n });
    expect(await cluster.root.get("//sys/accounts/odd/@resource_limits/disk_space")).toBe(5_000n);
  });
});
