/** Access control over the tree. Numbers: specification, section 13.8. */
import { bare, mapOf, type YsonMap, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import type { RequestContext } from "./cypress.ts";
import { failure, root, texts, type World, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

const as = (user: string): RequestContext => ({ user });

function ace(
  action: "allow" | "deny",
  subject: string,
  permissions: string[],
  more: Record<string, YsonValue> = {},
): YsonMap {
  return mapOf({ action, subjects: [subject], permissions, ...more });
}

async function withUsers(...names: string[]): Promise<World> {
  const world = await openWorld();
  for (const name of names) {
    await world.cypress.create(root, { type: "user", attributes: mapOf({ name }) });
  }
  return world;
}

async function group(world: World, name: string, ...members: string[]): Promise<void> {
  await world.cypress.create(root, { type: "group", attributes: mapOf({ name }) });
  for (const member of members) {
    await world.cypress.addMember(root, { group: name, member });
  }
}

/** A directory that its acl alone decides about. */
async function closed(world: World, path: string, ...acl: YsonMap[]): Promise<void> {
  await world.cypress.create(root, {
    type: "map_node",
    path,
    attributes: mapOf({ inherit_acl: false, acl }),
  });
}

async function action(
  world: World,
  user: string,
  permission: string,
  path: string,
  more: object = {},
): Promise<YsonValue> {
  const answer = bare(
    await world.cypress.checkPermission(root, { user, permission, path, ...more }),
  ) as YsonMap;
  return answer.get("action") ?? null;
}

describe("who may do what", () => {
  it("[tables 182] a guest reads //tmp and cannot write there", async () => {
    const { cypress, create } = await openWorld();
    await cypress.list(as("guest"), { path: "//tmp" });
    const error = await failure(create("map_node", "//tmp/a", as("guest")));
    expect(error.code).toBe(901);
    expect(error.message).toBe(
      'Access denied for user "guest": "write" permission for node //tmp is not allowed by any matching ACE',
    );
  });

  it("[tables 183] a new user writes in //tmp and not at the root", async () => {
    const { create, set, get } = await withUsers("u");
    await create("map_node", "//tmp/a", as("u"));
    expect(await get("//tmp/a/@owner")).toBe("u");
    expect((await failure(set("//x", 1n, as("u")))).code).toBe(901);
    expect((await failure(create("user", "//tmp/x", as("u")))).code).toBe(1);
  });

  it("[tables 184] a deny on the parent beats an allow on the child", async () => {
    const world = await withUsers("u");
    await group(world, "g", "u");
    await closed(world, "//tmp/p", ace("deny", "g", ["read"]));
    await world.cypress.create(root, {
      type: "map_node",
      path: "//tmp/p/c",
      attributes: mapOf({ acl: [ace("allow", "u", ["read"])] }),
    });
    const error = await failure(world.get("//tmp/p/c", {}, as("u")));
    expect(error.code).toBe(901);
    expect(error.message).toBe(
      'Access denied for user "u": "read" permission for node //tmp/p/c is denied for "g" by ACE at node //tmp/p',
    );
    expect(error.attributes.get("denied_for")).toBe(await world.get("//sys/groups/g/@id"));
    expect(error.attributes.get("denied_by")).toBe(await world.get("//tmp/p/@id"));
    expect(error.attributes.get("object_type")).toBe("map_node");
  });

  it("[tables 185] inherit_acl cuts what is above off", async () => {
    const world = await withUsers("u");
    await closed(world, "//tmp/p", ace("allow", "u", ["read"]));
    await world.create("map_node", "//tmp/p/c");
    expect(await action(world, "u", "read", "//tmp/p/c")).toBe("allow");
    expect(bare(await world.get("//tmp/p/c/@effective_acl"))).toEqual([
      mapOf({
        action: "allow",
        subjects: ["u"],
        permissions: ["read"],
        inheritance_mode: "object_and_descendants",
      }),
    ]);
    await world.set("//tmp/p/c/@inherit_acl", "false");
    expect(await world.get("//tmp/p/c/@effective_acl")).toEqual([]);
    expect(await action(world, "u", "read", "//tmp/p/c")).toBe("deny");
  });

  it("[tables 186] each inheritance mode reaches as far as it says", async () => {
    const expected = {
      object_and_descendants: ["allow", "allow", "allow"],
      object_only: ["allow", "deny", "deny"],
      descendants_only: ["deny", "allow", "allow"],
      immediate_descendants_only: ["deny", "allow", "deny"],
    };
    const world = await withUsers("u");
    for (const [mode, answers] of Object.entries(expected)) {
      const path = `//tmp/${mode}`;
      await closed(world, path, ace("allow", "u", ["read"], { inheritance_mode: mode }));
      await world.cypress.create(root, { type: "map_node", path: `${path}/a/b`, recursive: true });
      const got = [
        await action(world, "u", "read", path),
        await action(world, "u", "read", `${path}/a`),
        await action(world, "u", "read", `${path}/a/b`),
      ];
      expect(got).toEqual(answers);
    }
  });

  it("[tables 187] the owner's entry is for the creator", async () => {
    const world = await withUsers("u", "v");
    await world.create("map_node", "//tmp/a", as("u"));
    await world.set("//tmp/a/@inherit_acl", false);
    await world.set("//tmp/a/@acl", [ace("allow", "owner", ["read"])]);
    expect(await action(world, "u", "read", "//tmp/a")).toBe("allow");
    expect(await action(world, "v", "read", "//tmp/a")).toBe("deny");
  });

  it("[tables 188] superusers pass denials; a banned user does nothing", async () => {
    const world = await withUsers("u");
    await closed(world, "//tmp/a", ace("deny", "u", ["read", "write"]));
    await world.cypress.addMember(root, { group: "superusers", member: "u" });
    await world.set("//tmp/a/x", 1n, as("u"));
    await world.set("//sys/users/u/@banned", true);
    const error = await failure(world.get("//tmp", {}, as("u")));
    expect(error.code).toBe(903);
    expect((await failure(world.set("//tmp/y", 1n, as("u")))).code).toBe(903);
    expect(await action(world, "u", "read", "//tmp/a")).toBe("deny");
    await world.set("//sys/users/u/@banned", "false");
    await world.get("//tmp/a", {}, as("u"));
    expect((await failure(world.get("//tmp", {}, as("nobody")))).code).toBe(910);
  });

  it("[tables 189] check_permission names the deciding entry", async () => {
    const world = await withUsers("u");
    await group(world, "g", "u");
    await closed(world, "//tmp/p", ace("deny", "g", ["write"]), ace("allow", "u", ["read"]));
    await world.create("map_node", "//tmp/p/c");
    const check = (permission: string): Promise<YsonValue> =>
      world.cypress.checkPermission(root, { user: "u", permission, path: "//tmp/p/c" });
    const object = { object_id: await world.get("//tmp/p/@id"), object_name: "node //tmp/p" };
    expect(await check("write")).toEqual(
      mapOf({
        action: "deny",
        ...object,
        subject_id: await world.get("//sys/groups/g/@id"),
        subject_name: "g",
      }),
    );
    expect(await check("read")).toEqual(
      mapOf({
        action: "allow",
        ...object,
        subject_id: await world.get("//sys/users/u/@id"),
        subject_name: "u",
      }),
    );
    expect(await check("mount")).toEqual(mapOf({ action: "deny" }));
    expect(
      await world.cypress.checkPermission(root, { user: "root", permission: "read", path: "//tmp" }),
    ).toEqual(mapOf({ action: "allow" }));
    expect(
      (
        await failure(
          world.cypress.checkPermission(root, { user: "none", permission: "read", path: "//tmp" }),
        )
      ).code,
    ).toBe(910);
    expect(
      (await failure(world.cypress.checkPermission(root, { user: "u", permission: "read", path: "//none" })))
        .code,
    ).toBe(500);
  });

  it("[tables 190] check_permission_by_acl decides over a list", async () => {
    const world = await withUsers("u");
    await group(world, "g", "u");
    const acl: YsonValue = [
      ace("allow", "u", ["read"]),
      ace("deny", "g", ["write"]),
      ace("allow", "ghost", ["read"]),
    ];
    const check = async (permission: string, user?: string): Promise<YsonMap> =>
      bare(
        await world.cypress.checkPermissionByAcl(root, {
          permission,
          acl,
          ...(user === undefined ? {} : { user }),
        }),
      ) as YsonMap;
    expect((await check("write")).get("action")).toBe("allow");
    expect((await check("read", "u")).get("subject_name")).toBe("u");
    expect((await check("write", "u")).get("action")).toBe("deny");
    expect((await check("mount", "u")).get("action")).toBe("deny");
    expect((await check("read", "u")).get("missing_subjects")).toEqual(["ghost"]);
  });

  it("[tables 191] one denied grandchild stops the removal of the whole", async () => {
    const world = await withUsers("u");
    await world.cypress.create(as("u"), { type: "map_node", path: "//tmp/a/b/c", recursive: true });
    await world.set("//tmp/a/b/c/@acl", [ace("deny", "u", ["remove"])]);
    expect((await failure(world.cypress.remove(as("u"), { path: "//tmp/a" }))).code).toBe(901);
    expect(await world.exists("//tmp/a/b/c")).toBe(true);
    await world.set("//tmp/a/b/c/@acl", []);
    await world.cypress.remove(as("u"), { path: "//tmp/a" });
  });

  it("[tables 192] modify_children is for children, not for attributes", async () => {
    const world = await withUsers("u");
    await closed(
      world,
      "//tmp/d",
      ace("allow", "u", ["modify_children"], { inheritance_mode: "object_only" }),
      ace("allow", "u", ["read", "remove"]),
    );
    await world.create("map_node", "//tmp/d/a", as("u"));
    await world.set("//tmp/d/b", 1n, as("u"));
    expect((await failure(world.set("//tmp/d/@x", 1n, as("u")))).code).toBe(901);
    await world.cypress.remove(as("u"), { path: "//tmp/d/a" });
    expect(await world.exists("//tmp/d/a")).toBe(false);
  });

  it("[tables 193] acl needs administer, at creation on the parent", async () => {
    const world = await withUsers("u");
    await world.create("map_node", "//tmp/a", as("u"));
    expect((await failure(world.set("//tmp/a/@acl", [], as("u")))).code).toBe(901);
    expect((await failure(world.set("//tmp/a/@inherit_acl", false, as("u")))).code).toBe(901);
    const create = (): Promise<unknown> =>
      world.cypress.create(as("u"), { type: "map_node", path: "//tmp/b", attributes: mapOf({ acl: [] }) });
    expect((await failure(create())).code).toBe(901);
    await world.set("//tmp/@acl/end", ace("allow", "u", ["administer"]));
    await create();
    await world.set("//tmp/a/@acl", [], as("u"));
    await world.set("//tmp/a/@owner", "u", as("u"));
    expect((await failure(world.set("//tmp/a/@owner", "guest", as("u")))).code).toBe(901);
  });

  it("[tables 194] an account needs use", async () => {
    const world = await withUsers("u");
    await world.cypress.create(root, { type: "account", attributes: mapOf({ name: "acc" }) });
    await world.create("map_node", "//tmp/a", as("u"));
    const error = await failure(world.set("//tmp/a/@account", "acc", as("u")));
    expect(error.code).toBe(901);
    expect(error.message).toBe(
      'Access denied for user "u": "use" permission for account "acc" is not allowed by any matching ACE',
    );
    await world.set("//sys/accounts/acc/@acl", [ace("allow", "u", ["use"])]);
    await world.set("//tmp/a/@account", "acc", as("u"));
    expect(await world.get("//tmp/a/@account")).toBe("acc");
    expect((await failure(world.set("//tmp/a/@account", "none"))).code).toBe(905);
    expect(await world.get("//sys/users/u/@usable_accounts")).toEqual(["tmp", "intermediate", "acc"]);
  });

  it("an entry for the owner is not for the built-in user of that name", async () => {
    const world = await openWorld();
    await closed(world, "//tmp/a", ace("allow", "owner", ["write"]));
    expect(await action(world, "owner", "write", "//tmp/a")).toBe("deny");
    await world.set("//tmp/a/@owner", "guest");
    expect(await action(world, "guest", "write", "//tmp/a")).toBe("allow");
  });

  it("[tables 195] removing a subject removes it from entries", async () => {
    const world = await withUsers("u", "v");
    await world.create("map_node", "//tmp/a");
    const both = mapOf({ action: "allow", subjects: ["u", "v"], permissions: ["read"] });
    await world.set("//tmp/a/@acl", [both, ace("deny", "u", ["write"])]);
    await world.cypress.remove(root, { path: "//sys/users/u" });
    expect(await world.get("//tmp/a/@acl")).toEqual([
      mapOf({
        action: "allow",
        subjects: ["v"],
        permissions: ["read"],
        inheritance_mode: "object_and_descendants",
      }),
    ]);
    const again = await world.reopen();
    expect((bare(await again.get("//tmp/a/@acl")) as readonly YsonValue[]).length).toBe(1);
    expect(texts(await failure(again.set("//tmp/a/@acl", [ace("allow", "u", ["read"])])))).toContain(
      'No such subject "u"',
    );
  });

  it("[tables 199] register_queue_consumer and vital belong together", async () => {
    const world = await withUsers("vital", "plain");
    await world.create("table", "//tmp/q");
    const set = async (entry: YsonMap): Promise<string> =>
      texts(await failure(world.set("//tmp/q/@acl", [entry])));
    expect(await set(ace("allow", "vital", ["register_queue_consumer"]))).toContain(
      'Permission "register_queue_consumer" requires vitality to be specified',
    );
    expect(await set(ace("allow", "vital", ["register_queue_consumer", "read"], { vital: true }))).toContain(
      'ACE specifying vitality must contain a single "register_queue_consumer" permission; found',
    );
    expect(await set(ace("allow", "vital", ["read"], { vital: true }))).toContain("ACE specifying vitality");
    await world.set("//tmp/q/@acl", [
      ace("allow", "vital", ["register_queue_consumer"], { vital: true }),
      ace("allow", "plain", ["register_queue_consumer"], { vital: "false" }),
    ]);
    const may = (user: string, vital: boolean): Promise<YsonValue> =>
      action(world, user, "register_queue_consumer", "//tmp/q", { vital });
    expect(await may("vital", true)).toBe("allow");
    expect(await may("vital", false)).toBe("allow");
    expect(await may("plain", true)).toBe("deny");
    expect(await may("plain", false)).toBe("allow");
  });

  it("[tables 200] an expiration needs remove", async () => {
    const world = await withUsers("u");
    await closed(world, "//tmp/a", ace("allow", "u", ["read", "write"]));
    expect((await failure(world.set("//tmp/a/@expiration_time", 1n, as("u")))).code).toBe(901);
    expect(await world.exists("//tmp/a")).toBe(true);
  });

  it("[tables 202] an account over its node limit takes no more nodes", async () => {
    const world = await openWorld();
    await world.cypress.create(root, {
      type: "account",
      attributes: mapOf({ name: "acc", resource_limits: mapOf({ node_count: 2n }) }),
    });
    await world.cypress.create(root, {
      type: "map_node",
      path: "//tmp/a",
      attributes: mapOf({ account: "acc" }),
    });
    await world.create("map_node", "//tmp/a/b");
    const error = await failure(world.create("map_node", "//tmp/a/c"));
    expect(error.code).toBe(902);
    const usage = bare(await world.get("//sys/accounts/acc/@resource_usage")) as YsonMap;
    expect(usage.get("node_count")).toBe(2n);
  });

  it("full_read is read with all columns, and is granted as a whole only", async () => {
    const world = await withUsers("u", "restricted", "reader");
    await world.create("table", "//tmp/t");
    await world.set("//tmp/t/@inherit_acl", false);
    await world.set("//tmp/t/@acl", [
      ace("allow", "u", ["read"], { columns: ["private"] }),
      ace("allow", "reader", ["read"]),
    ]);
    const copy = (user: string, to: string): Promise<unknown> =>
      world.cypress.copy(as(user), { sourcePath: "//tmp/t", destinationPath: to });
    expect((await failure(copy("restricted", "//tmp/c"))).message).toContain(
      '"read" permission for node //tmp/t is not allowed',
    );
    const column = await failure(copy("reader", "//tmp/c"));
    expect(column.message).toContain('"full_read" permission for column "private" of node //tmp/t');
    await world.set("//tmp/t/@acl/end", ace("allow", "restricted", ["full_read"]));
    await world.get("//tmp/t/@acl", {}, as("restricted"));
    await copy("restricted", "//tmp/c");
    await world.set("//tmp/t/@acl/end", ace("deny", "restricted", ["read"]));
    expect((await failure(copy("restricted", "//tmp/d"))).code).toBe(901);
    expect((await failure(world.get("//tmp/t/@acl", {}, as("restricted")))).code).toBe(901);
    const refused = async (entry: YsonMap): Promise<string> =>
      texts(await failure(world.set("//tmp/t/@acl", [entry])));
    expect(await refused(ace("deny", "u", ["read", "full_read"]))).toContain(
      'ACE with "full_read" permission may have only "allow" action',
    );
    expect(await refused(ace("allow", "u", ["full_read"], { columns: ["a"] }))).toContain(
      'ACE specifying columns may contain only "read" permission; found "full_read"',
    );
  });

  it("effective_acl shows entries with the mode that they have there", async () => {
    const world = await withUsers("u");
    await closed(
      world,
      "//tmp/p",
      ace("allow", "u", ["read"], { inheritance_mode: "descendants_only" }),
      ace("allow", "u", ["write"], { inheritance_mode: "immediate_descendants_only" }),
      ace("allow", "u", ["remove"], { inheritance_mode: "object_only" }),
    );
    await world.create("map_node", "//tmp/p/c");
    const effective = bare(await world.get("//tmp/p/c/@effective_acl")) as readonly YsonMap[];
    expect(effective.map((entry) => [entry.get("permissions"), entry.get("inheritance_mode")])).toEqual([
      [["read"], "object_and_descendants"],
      [["write"], "object_only"],
    ]);
  });

  it("columns of a table decide by themselves", async () => {
    const world = await withUsers("u", "v");
    await world.create("table", "//tmp/t");
    await world.set("//tmp/t/@acl", [ace("allow", "u", ["read"], { columns: ["secret"] })]);
    const view = world.cypress.view();
    const table = view.resolveNode("//tmp/t");
    view.check("u", "read", table, { columns: ["open", "secret"] });
    view.check("v", "read", table, { columns: ["open"] });
    const error = await failure(
      (async () => view.check("v", "read", table, { columns: ["open", "secret"] }))(),
    );
    expect(error.code).toBe(901);
    expect(error.attributes.get("object_column")).toBe("secret");
    expect(error.message).toContain('column "secret" of node //tmp/t');
  });
});

describe("groups", () => {
  it("[tables 196] nest without cycles, and names are unique", async () => {
    const world = await withUsers("u");
    const { cypress, get } = world;
    await group(world, "g1", "u");
    await group(world, "g2", "g1");
    expect(await get("//sys/users/u/@member_of")).toEqual(["users", "g1"]);
    expect([...(bare(await get("//sys/users/u/@member_of_closure")) as readonly string[])].sort()).toEqual([
      "everyone",
      "g1",
      "g2",
      "users",
    ]);
    expect(await get("//sys/groups/g1/@members")).toEqual(["u"]);
    const error = async (promise: Promise<unknown>): Promise<string> => texts(await failure(promise));
    expect(await error(cypress.addMember(root, { group: "g1", member: "g2" }))).toContain("cycle");
    expect(await error(cypress.addMember(root, { group: "g1", member: "g1" }))).toContain("cycle");
    expect((await failure(cypress.addMember(root, { group: "g1", member: "u" }))).code).toBe(908);
    await cypress.removeMember(root, { group: "g1", member: "u" });
    expect(await error(cypress.removeMember(root, { group: "g1", member: "u" }))).toBe(
      'Member "u" is not present in group "g1"',
    );
    expect((await failure(cypress.addMember(root, { group: "none", member: "u" }))).code).toBe(907);
    await cypress.create(root, { type: "group", attributes: mapOf({ name: "ga", aliases: ["ga1"] }) });
    const create = (attributes: YsonMap): Promise<unknown> =>
      cypress.create(root, { type: "group", attributes });
    expect(await error(create(mapOf({ name: "x", aliases: ["ga1"] })))).toContain(
      'Alias "ga1" already exists',
    );
    expect(await error(create(mapOf({ name: "" })))).toContain("cannot be empty");
    const taken = await failure(create(mapOf({ name: "ga1" })));
    expect(taken.code).toBe(501);
    expect((await failure(create(mapOf({ name: "u" })))).code).toBe(501);
    expect(
      (await failure(cypress.create(root, { type: "user", attributes: mapOf({ name: "u" }) }))).code,
    ).toBe(501);
    const same = await cypress.create(root, {
      type: "user",
      attributes: mapOf({ name: "u" }),
      ignoreExisting: true,
    });
    expect(same).toEqual({ id: await get("//sys/users/u/@id"), isNode: false });
    await world.create("map_node", "//tmp/a");
    await world.set("//tmp/a/@acl", [ace("allow", "ga1", ["read"])]);
    const [entry] = bare(await get("//tmp/a/@acl")) as readonly YsonMap[];
    expect(entry?.get("subjects")).toEqual(["ga"]);
    expect(texts(await failure(cypress.remove(root, { path: "//sys/users/root" })))).toContain("built-in");
    await cypress.remove(root, { path: "//sys/groups/g2" });
    expect(await get("//sys/groups/g1/@member_of")).toEqual([]);
    const denied = cypress.create(as("u"), { type: "group", attributes: mapOf({ name: "mine" }) });
    expect((await failure(denied)).code).toBe(901);
  });
});
