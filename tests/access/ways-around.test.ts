/** Ways around rights that look possible and are not. */
import { bare, mapOf, type YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, startOne, type TestCluster } from "../queue-api/fixture.ts";
import { call, yson } from "./area.ts";

let cluster: TestCluster;
let user: YtClient;
beforeAll(async () => {
  cluster = await startOne();
  user = await cluster.user("u");
  await cluster.root.create("map_node", "//tmp/closed", { attributes: mapOf({ inherit_acl: false }) });
  await cluster.allow("//tmp/closed", "u", ["read", "write", "remove"]);
  await cluster.root.create("map_node", "//tmp/closed/node");
  await cluster.root.execute("create", { type: "account", attributes: mapOf({ name: "dear" }) });
});
afterAll(() => cluster?.close());

function setAs(name: string, path: string, body: string, more: Record<string, YsonValue> = {}) {
  return call(cluster, name, "set", { path, ...more }, body);
}

describe("who may write cannot", () => {
  it("bring entries or another account along in a value", async () => {
    const withEntries = await setAs("u", "//tmp/closed/x", "<inherit_acl=%false>{}");
    expect(withEntries.isRefused).toBe(true);
    expect((await setAs("u", "//tmp/closed/x", "<account=dear>{}")).isRefused).toBe(true);
    expect((await setAs("u", "//tmp/closed/x", "{y=<acl=[]>{}}")).isRefused).toBe(true);
    expect(await cluster.root.exists("//tmp/closed/x")).toBe(false);
  });

  it("remove an entry that denies, or all attributes with it", async () => {
    await cluster.set("//tmp/closed/node/@acl", [
      { action: "deny", subjects: ["u"], permissions: ["remove"] },
    ]);
    const removal = await call(cluster, "u", "remove", { path: "//tmp/closed/node/@acl/0" });
    expect(removal.isRefused).toBe(true);
    expect((await setAs("u", "//tmp/closed/node/@acl/0", "{}")).isRefused).toBe(true);
    expect((await setAs("u", "//tmp/closed/node/@", "{acl=[]}")).isRefused).toBe(true);
    expect(yson(await cluster.root.get("//tmp/closed/node/@acl"))).toContain("deny");
  });

  it("copy entries of his own to where he may only write", async () => {
    await user.create("map_node", "//tmp/mine");
    await cluster.allow("//tmp/mine", "u", ["administer"]);
    const copied = failureOf(
      user.execute("copy", {
        source_path: "//tmp/mine",
        destination_path: "//tmp/closed/mine",
        preserve_acl: true,
      }),
    );
    expect((await copied).codes).toContain(901);
    expect(await cluster.root.exists("//tmp/closed/mine")).toBe(false);
  });

  it("own by inheritance: `owner` is whoever owns the object that is asked about", async () => {
    await cluster.root.create("map_node", "//tmp/owned", { attributes: mapOf({ inherit_acl: false }) });
    await cluster.set("//tmp/owned/@acl", [{ action: "allow", subjects: ["owner"], permissions: ["read"] }]);
    await cluster.set("//tmp/owned/@owner", "u");
    await cluster.root.create("map_node", "//tmp/owned/roots");
    await user.get("//tmp/owned");
    expect((await failureOf(user.get("//tmp/owned/roots"))).codes).toContain(901);
    await cluster.set("//tmp/owned/roots/@owner", "u");
    await user.get("//tmp/owned/roots");
  });

  it("come in through a link, an id, or `&`", async () => {
    await cluster.root.create("map_node", "//tmp/secret", { attributes: mapOf({ inherit_acl: false }) });
    await cluster.link("//tmp/secret", "//tmp/door");
    const id = String(await cluster.root.get("//tmp/secret/@id"));
    for (const path of ["//tmp/door", `#${id}`, "//tmp/door/@acl", `#${id}/@`, "//tmp/secret&"]) {
      expect((await failureOf(user.get(path))).codes, path).toContain(901);
      expect(
        (await setAs("u", `${path.replace(/\/@.*$/, "").replace("&", "")}/x`, "1")).isRefused,
        path,
      ).toBe(true);
    }
    // What may not be read is not in what holds it, either.
    const listed = bare(await user.get("//tmp", { attributes: ["acl"] }));
    expect(listed instanceof Map ? listed.get("secret") : undefined).toBeNull();
  });

  it("narrow an entry with a field that qyt does not know how to narrow by", async () => {
    const error = await failureOf(
      cluster.set("//tmp/closed/node/@acl", [
        { action: "allow", subjects: ["u"], permissions: ["read"], row_access_predicate: "a = 1" },
      ]),
    );
    expect(error.text).toContain('Field "row_access_predicate" of an access control entry is not supported');
  });

  it("write a list of entries that is too long to look through", async () => {
    const entry = { action: "allow", subjects: ["u"], permissions: ["read"] };
    const long = Array.from({ length: 1_001 }, () => entry);
    expect((await failureOf(cluster.set("//tmp/closed/node/@acl", long))).text).toContain(
      "Too many access control entries: 1001, limit 1000",
    );
  });
});

describe("users who are banned or unknown", () => {
  it("[tables 188] may not even ask for the version", async () => {
    const banned = await cluster.user("banned");
    await cluster.set("//sys/users/banned/@banned", true);
    const list = banned.execute("list_queue_consumer_registrations", {}, { method: "GET" });
    expect((await failureOf(list)).codes).toContain(903);
    expect((await failureOf(banned.execute("get_version", {}, { method: "GET" }))).codes).toContain(903);
    const nobody = cluster.client({ user: "nobody-at-all" });
    expect((await failureOf(nobody.get("//tmp"))).codes).toContain(910);
  });
});
