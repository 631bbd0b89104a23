/** The right to register consumers: where it is granted, how it is inherited, and what a refusal says. */
import { mapOf } from "@qyt/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clientOptions } from "../../packages/cli/src/connection.ts";
import { qyt } from "../cli/qyt.ts";
import { failureOf, startClusters, type TestCluster } from "../queue-api/fixture.ts";
import { yson } from "./area.ts";

let clusters: TestCluster[];
let primary: TestCluster;
let remote: TestCluster;
const queue = "//tmp/shop/orders/queue";
const consumer = "//tmp/shop/consumer";

beforeAll(async () => {
  clusters = await startClusters("primary", "remote_0");
  const [first, second] = clusters;
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  primary = first;
  remote = second;
  for (const cluster of clusters) {
    await cluster.createQueue(queue);
    await cluster.createConsumer(consumer);
  }
});
afterAll(() => Promise.all((clusters ?? []).toReversed().map((cluster) => cluster.close())));

describe("a refused registration", () => {
  it("names the right, its vitality, the queue and its directory, and how to grant it", async () => {
    const robot = await primary.user("robot");
    const denied = await failureOf(robot.registerQueueConsumer(queue, consumer, { vital: true }));
    expect(denied.codes[0]).toBe(901);
    expect(denied.error.message).toBe(
      'User "robot" may not register a vital consumer: permission "register_queue_consumer" with vital=%true ' +
        'is missing on queue primary://tmp/shop/orders/queue. Who has "administer" can grant it there ' +
        "(qyt acl grant //tmp/shop/orders/queue --user robot --register-queue-consumer --vital), " +
        "or on its directory //tmp/shop/orders for all queues in there",
    );
    const { attributes } = denied.error;
    expect(attributes.get("permission")).toBe("register_queue_consumer");
    expect(attributes.get("vital")).toBe(true);
    expect(attributes.get("directory")).toBe("//tmp/shop/orders");
    // What the cluster of the queue has said stands inside.
    expect(denied.text).toContain('"register_queue_consumer" permission for node //tmp/shop/orders/queue');
  });

  it("names the cluster of the queue when that is another one", async () => {
    const robot = await primary.user("robot");
    await remote.user("robot");
    const denied = await failureOf(
      robot.registerQueueConsumer(`remote_0:${queue}`, consumer, { vital: false }),
    );
    expect(denied.codes).toContain(901);
    expect(denied.text).toContain("a non-vital consumer");
    expect(denied.text).toContain("with vital=%false is missing on queue remote_0://tmp/shop/orders/queue");
    await remote.allow("//tmp/shop", "robot", ["register_queue_consumer"], false);
    await robot.registerQueueConsumer(`remote_0:${queue}`, consumer, { vital: false });
  });
});

describe("a grant on a directory", () => {
  it("covers the queues below it, as far as its mode reaches and unless a queue inherits nothing", async () => {
    const heir = await primary.user("heir");
    const register = (): Promise<unknown> => heir.registerQueueConsumer(queue, consumer, { vital: true });
    await primary.set("//tmp/shop/@acl/end", {
      action: "allow",
      subjects: ["heir"],
      permissions: ["register_queue_consumer"],
      vital: true,
      inheritance_mode: "immediate_descendants_only",
    });
    expect((await failureOf(register())).codes).toContain(901);
    await primary.allow("//tmp/shop", "heir", ["register_queue_consumer"], false);
    expect((await failureOf(register())).codes).toContain(901);
    await primary.allow("//tmp/shop", "heir", ["register_queue_consumer"], true);
    await register();
    await primary.set(`${queue}/@inherit_acl`, false);
    expect((await failureOf(register())).codes).toContain(901);
    await primary.set(`${queue}/@inherit_acl`, true);
    await primary.set(`${queue}/@acl`, [
      { action: "deny", subjects: ["heir"], permissions: ["register_queue_consumer"], vital: true },
    ]);
    expect((await failureOf(register())).codes).toContain(901);
    await primary.set(`${queue}/@acl`, []);
  });
});

describe("a pull that waits", () => {
  it("is refused when the right has gone meanwhile", async () => {
    const waiter = await primary.user("waiter");
    await primary.createQueue("//tmp/waited", { attributes: { inherit_acl: false } });
    await primary.allow("//tmp/waited", "waiter", ["read"]);
    const pull = (waitMs: bigint): Promise<unknown> =>
      waiter.execute(
        "pull_queue",
        { queue_path: "//tmp/waited", partition_index: 0n, offset: 0n, wait_timeout: waitMs },
        { method: "GET" },
      );
    const refused = failureOf(pull(20_000n));
    // Whether the pull has come to wait already or not, it must not show the row.
    await primary.set("//tmp/waited/@acl", []);
    await primary.root.insertRows("//tmp/waited", [{ data: "secret" }]);
    expect((await refused).codes).toContain(901);
  });
});

describe("qyt acl grant", () => {
  const grant = (...args: string[]) =>
    qyt(["acl", "grant", ...args, "--proxy", primary.cluster.address, "--register-queue-consumer"]);

  it("grants the right on a queue or a directory, once", async () => {
    const clerk = await primary.user("clerk");
    await primary.root.create("map_node", "//tmp/granted");
    const plain = await grant("//tmp/granted", "--user", "clerk");
    expect(plain).toEqual({
      code: 0,
      stdout: "clerk may register non-vital consumers of //tmp/granted\n",
      stderr: "",
    });
    await primary.createQueue("//tmp/granted/queue");
    const register = (vital: boolean): Promise<unknown> =>
      clerk.registerQueueConsumer("//tmp/granted/queue", consumer, { vital });
    await register(false);
    expect((await failureOf(register(true))).codes).toContain(901);
    const vital = await grant("//tmp/granted", "--user", "clerk", "--vital");
    expect(vital.stdout).toBe("clerk may register vital and other consumers of //tmp/granted\n");
    await register(true);
    const again = await grant("//tmp/granted", "--user", "clerk");
    expect(again.stdout).toContain("already");
    expect(yson(await primary.root.get("//tmp/granted/@acl")).match(/clerk/g)).toHaveLength(2);
  });

  it("says in one sentence what is wrong", async () => {
    const unknown = await grant("//tmp/granted", "--user", "nobody-at-all");
    expect(unknown.code).toBe(1);
    expect(unknown.stderr).toContain('No such subject "nobody-at-all"');
    const missing = await grant("//tmp/not-there", "--user", "clerk");
    expect(missing.code).toBe(1);
    expect(missing.stderr).toMatch(/^qyt: .*not-there.*\n$/);
    const nothing = await qyt(["acl", "grant", "//tmp", "--user", "x", "--proxy", primary.cluster.address]);
    expect(nothing.stderr).toBe("qyt: Nothing to grant: say --register-queue-consumer\n");
    const help = await qyt(["acl", "grant", "--help"]);
    expect(help.stdout).toContain("qyt acl grant //home/shop/orders --user robot-billing");
    expect(help.stdout).toContain("yt set //home/shop/orders/@acl/end");
  });

  it("finds the cluster and the token where yt does", async () => {
    const environment = {
      YT_PROXY: "primary",
      YT_PROXY_URL_ALIASING_CONFIG: '{primary="http://127.0.0.1:9"}',
      YT_TOKEN: " token ",
    };
    expect(await clientOptions({}, environment)).toEqual({ proxy: "http://127.0.0.1:9", token: "token" });
    expect(await clientOptions({ proxy: "host:1" }, { HOME: "/not/there" })).toEqual({ proxy: "host:1" });
    await expect(clientOptions({}, {})).rejects.toThrow("No cluster is named: use --proxy, or set YT_PROXY");
    await expect(clientOptions({}, { YT_PROXY: "x", YT_TOKEN_PATH: "/not/there" })).rejects.toThrow(
      'File "/not/there" cannot be read',
    );
  });

  it("does the same as the line for yt in the documentation", async () => {
    await primary.user("scribe");
    await primary.root.create("map_node", "//tmp/by-hand", { attributes: mapOf({}) });
    await primary.root.create("map_node", "//tmp/by-command");
    await primary.set("//tmp/by-hand/@acl/end", {
      action: "allow",
      subjects: ["scribe"],
      permissions: ["register_queue_consumer"],
      vital: true,
    });
    await grant("//tmp/by-command", "--user", "scribe", "--vital");
    expect(await primary.root.get("//tmp/by-command/@acl")).toEqual(
      await primary.root.get("//tmp/by-hand/@acl"),
    );
  });
});
