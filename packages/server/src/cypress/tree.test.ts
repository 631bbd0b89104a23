/** The tree's commands. Numbers are those of the cases in the specification, section 13.2. */
import { attributesOf, bare, mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { failure, root, texts, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

const map = (entries: Record<string, YsonValue>): YsonValue => mapOf(entries);

describe("create", () => {
  it("[tables 24] refuses an existing node, gives its id, or replaces it", async () => {
    const { cypress, create } = await openWorld();
    const path = "//tmp/a";
    const id = await create("map_node", path);
    const error = await failure(create("map_node", path));
    expect(error.code).toBe(501);
    expect(error.message).toBe("Node //tmp/a already exists");
    const same = await cypress.create(root, { type: "map_node", path, ignoreExisting: true });
    expect(same).toEqual({ id, isNode: true });
    const other = await cypress.create(root, { type: "map_node", path, force: true });
    expect(other.id).not.toBe(id);
  });

  it("[tables 25] needs the parent unless recursive", async () => {
    const { cypress, create, exists } = await openWorld();
    const error = await failure(create("map_node", "//tmp/a/b/c"));
    expect(error.code).toBe(500);
    expect(texts(error)).toContain('Node //tmp has no child with key "a"');
    await cypress.create(root, { type: "map_node", path: "//tmp/a/b/c", recursive: true });
    expect(await exists("//tmp/a/b/c")).toBe(true);
  });

  it("[tables 26] names both types on a mismatch", async () => {
    const { cypress, create } = await openWorld();
    const id = await create("map_node", "//tmp/t");
    const error = await failure(
      cypress.create(root, { type: "table", path: "//tmp/t", ignoreExisting: true }),
    );
    expect(error.code).toBe(501);
    expect(error.message).toBe(
      '//tmp/t already exists and has type "map_node" while node of "table" type is about to be created',
    );
    const same = await cypress.create(root, {
      type: "table",
      path: "//tmp/t",
      ignoreExisting: true,
      ignoreTypeMismatch: true,
    });
    expect(same.id).toBe(id);
  });

  it("[tables 27] [tables 28] refuses options that exclude each other", async () => {
    const { cypress } = await openWorld();
    const create = async (options: object): Promise<string> =>
      (await failure(cypress.create(root, { type: "map_node", path: "//tmp/x", ...options }))).message;
    expect(await create({ ignoreExisting: true, force: true })).toBe(
      'Cannot specify both "ignore_existing" and "force" options simultaneously',
    );
    expect(await create({ lockExisting: true })).toBe(
      'Cannot specify "lock_existing" without "ignore_existing"',
    );
    expect(await create({ ignoreTypeMismatch: true })).toBe(
      'Cannot specify "ignore_type_mismatch" without "ignore_existing"',
    );
  });

  it("[tables 33] refuses list nodes", async () => {
    const { create } = await openWorld();
    expect((await failure(create("list_node", "//tmp/l"))).message).toContain("List nodes are deprecated");
  });

  it("sets attributes, and leaves nothing behind when one is bad", async () => {
    const { cypress, get, exists } = await openWorld();
    await cypress.create(root, {
      type: "map_node",
      path: "//tmp/a",
      attributes: mapOf({ x: 1n, opaque: "true", account: "sys" }),
    });
    expect(await get("//tmp/a/@x")).toBe(1n);
    expect(await get("//tmp/a/@opaque")).toBe(true);
    expect(await get("//tmp/a/@account")).toBe("sys");
    const error = await failure(
      cypress.create(root, { type: "map_node", path: "//tmp/b", attributes: mapOf({ opaque: "perhaps" }) }),
    );
    expect(error.message).toBe('Error setting builtin attribute "opaque"');
    expect(await exists("//tmp/b")).toBe(false);
  });
});

describe("get, list, exists", () => {
  it("[tables 29] reports a missing node and a missing attribute", async () => {
    const { get, create } = await openWorld();
    await create("map_node", "//tmp/a");
    const missing = await failure(get("//tmp/missing"));
    expect(missing.code).toBe(500);
    expect(missing.message).toBe("Error resolving path //tmp/missing");
    expect(missing.attributes.get("path")).toBe("//tmp/missing");
    expect(texts(missing)).toContain('Node //tmp has no child with key "missing"');
    const attribute = await failure(get("//tmp/a/@missing"));
    expect(attribute.code).toBe(500);
    expect(texts(attribute)).toContain('Attribute "missing" is not found');
  });

  it("[tables 42] lists at most max_size children and says so", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/d", map({ a: 1n, b: 1n, c: 1n, d: 1n, e: 1n }));
    const some = await cypress.list(root, { path: "//tmp/d", maxSize: 3 });
    expect(bare(some)).toHaveLength(3);
    expect(attributesOf(some)).toEqual(mapOf({ incomplete: true }));
    expect(await cypress.list(root, { path: "//tmp/d" })).toEqual(["a", "b", "c", "d", "e"]);
    expect(attributesOf(await get("//tmp/d", { maxSize: 5 })).size).toBe(0);
    expect(attributesOf(await get("//tmp/d", { maxSize: 4 })).get("incomplete")).toBe(true);
  });

  it("[tables 43] gives the attributes that exist", async () => {
    const { cypress, set } = await openWorld();
    await set("//tmp/d", map({ a: 1n }));
    const list = await cypress.list(root, { path: "//tmp/d", attributes: ["type", "nope"] });
    const [item] = bare(list) as readonly YsonValue[];
    expect(bare(item ?? null)).toBe("a");
    expect(attributesOf(item ?? null)).toEqual(mapOf({ type: "int64_node" }));
  });

  it("[tables 44] shows a table as an entity", async () => {
    const { create, get } = await openWorld();
    await create("map_node", "//tmp/d");
    await create("table", "//tmp/d/t");
    expect(await get("//tmp/d")).toEqual(map({ t: null }));
    const value = bare(await get("//tmp/d", { attributes: ["type"] }));
    const table = (value as ReadonlyMap<string, YsonValue>).get("t") ?? "";
    expect(bare(table)).toBeNull();
    expect(attributesOf(table)).toEqual(mapOf({ type: "table" }));
  });

  it("[tables 45] hides an opaque map inside of its parent only", async () => {
    const { set, get } = await openWorld();
    await set("//tmp/d", map({ o: map({ x: 1n }), p: map({ x: 2n }) }));
    await set("//tmp/d/o/@opaque", true);
    expect(await get("//tmp/d")).toEqual(map({ o: null, p: map({ x: 2n }) }));
    expect(await get("//tmp/d/o")).toEqual(map({ x: 1n }));
  });

  it("[tables 46] computes opaque attributes only when they are named", async () => {
    const { create, get } = await openWorld();
    await create("map_node", "//tmp/t");
    const all = bare(await get("//tmp/t/@")) as ReadonlyMap<string, YsonValue>;
    expect(all.get("path")).toBeNull();
    expect(all.get("locks")).toBeNull();
    expect(all.get("key")).toBe("t");
    expect(await get("//tmp/t/@path")).toBe("//tmp/t");
    const named = bare(await get("//tmp/t/@", { attributes: ["path", "nope"] }));
    expect(named).toEqual(mapOf({ path: "//tmp/t" }));
  });

  it("takes paths in the attribute filter", async () => {
    const { set, get } = await openWorld();
    await set("//tmp/a", map({}));
    await set("//tmp/a/@x", map({ y: 1n, z: 2n }));
    const filter = mapOf({ keys: ["type"], paths: ["/x/y", "/x/nope"] });
    expect(attributesOf(await get("//tmp/a", { attributes: filter }))).toEqual(
      mapOf({ type: "map_node", x: mapOf({ y: 1n }) }),
    );
  });

  it("[tables 47] knows what exists", async () => {
    const { cypress, create, exists } = await openWorld();
    await create("map_node", "//tmp/a");
    await cypress.link(root, { targetPath: "//tmp/gone", linkPath: "//tmp/l", force: true });
    expect(await exists("//tmp/a")).toBe(true);
    expect(await exists("//tmp/none")).toBe(false);
    expect(await exists("//tmp/a/@type")).toBe(true);
    expect(await exists("//tmp/a/@none")).toBe(false);
    expect(await exists("//tmp/l")).toBe(false);
    expect(await exists("//tmp/l&")).toBe(true);
    expect(await exists("#1-2-3-4")).toBe(false);
  });

  it("[tables 55] refuses malformed paths", async () => {
    const { get } = await openWorld();
    const message = async (path: string): Promise<string> => texts(await failure(get(path)));
    expect(await message("a")).toContain('Path "a" does not start with a valid root-designator');
    expect(await message("")).toContain("YPath cannot be empty");
    expect(await message("//tmp//x")).toContain('Unexpected "slash" token "/" in YPath');
    expect(await message("//tmp/")).toContain("Unexpected end-of-string in YPath");
    expect(await message("//tmp@x")).toContain('Expected "slash" in YPath but found "at" token');
  });

  it("[tables 56] counts accesses by get and list, not by exists and attribute reads", async () => {
    const world = await openWorld();
    const { cypress, create, get, exists } = world;
    await create("map_node", "//tmp/a");
    await get("//tmp/a");
    await cypress.list(root, { path: "//tmp/a" });
    await exists("//tmp/a");
    await get("//tmp/a/@type");
    await get("//tmp/a", {}, { user: "root", suppressAccessTracking: true });
    expect(await get("//tmp/a/@access_counter")).toBe(2n);
    await world.cypress.sweep();
    expect(await get("//tmp/a/@access_counter")).toBe(2n);
    const again = await world.reopen();
    expect(await again.get("//tmp/a/@access_counter")).toBe(2n);
  });

  it("[tables 54] escapes names in paths", async () => {
    const { create, get } = await openWorld();
    await create("map_node", "//tmp/a\\/b");
    expect(await get("//tmp")).toEqual(map({ "a/b": map({}) }));
    expect(await get("//tmp/a\\/b/@key")).toBe("a/b");
    expect(await get("//tmp/a\\/b/@path")).toBe("//tmp/a\\/b");
  });

  it("refuses to list a scalar", async () => {
    const { cypress, set } = await openWorld();
    await set("//tmp/s", "x");
    expect((await failure(cypress.list(root, { path: "//tmp/s" }))).code).toBe(103);
  });
});

describe("links", () => {
  it("[tables 48] redirect reads; & addresses the link", async () => {
    const { cypress, set, get, exists } = await openWorld();
    await set("//tmp/a", map({ x: 1n }));
    const id = await cypress.link(root, { targetPath: "//tmp/a", linkPath: "//tmp/l" });
    expect(await get("//tmp/l/x")).toBe(1n);
    expect(await get("//tmp/l/@type")).toBe("map_node");
    expect(await get("//tmp/l&/@type")).toBe("link");
    expect(await get("//tmp/l&/@id")).toBe(id);
    expect(await get("//tmp/l&/@target_path")).toBe("//tmp/a");
    expect(await get("//tmp/l&/@broken")).toBe(false);
    await set("//tmp/l/y", 2n);
    expect(await get("//tmp/a/y")).toBe(2n);
    await cypress.remove(root, { path: "//tmp/a" });
    expect(await get("//tmp/l&/@broken")).toBe(true);
    expect((await failure(get("//tmp/l"))).code).toBe(500);
    await cypress.remove(root, { path: "//tmp/l" });
    expect(await exists("//tmp/l&")).toBe(false);
  });

  it("[tables 49] need their target unless forced, and may not lead to themselves", async () => {
    const { cypress, get } = await openWorld();
    const link = (targetPath: string, linkPath: string, force = false): Promise<string> =>
      cypress.link(root, { targetPath, linkPath, force });
    expect((await failure(link("//tmp/none", "//tmp/l"))).code).toBe(500);
    await link("//tmp/none", "//tmp/l", true);
    expect(await get("//tmp/l&/@broken")).toBe(true);
    expect(texts(await failure(link("//tmp/m", "//tmp/m", true)))).toContain("link is cyclic");
    await link("//tmp/l", "//tmp/l2", true);
    await failure(get("//tmp/l2"));
  });

  it("stop after too many redirections", async () => {
    const { cypress, get } = await openWorld();
    await cypress.link(root, { targetPath: "//tmp/b", linkPath: "//tmp/a", force: true });
    const error = await failure(
      cypress.link(root, { targetPath: "//tmp/a", linkPath: "//tmp/b", force: true }),
    );
    expect(error.has(500) || error.message.includes("cyclic")).toBe(true);
    expect((await failure(get("//tmp/a"))).code).toBe(500);
  });

  it("ignore_existing keeps the link, force replaces it", async () => {
    const { cypress, create, get } = await openWorld();
    await create("map_node", "//tmp/a");
    await create("map_node", "//tmp/b");
    const id = await cypress.link(root, { targetPath: "//tmp/a", linkPath: "//tmp/l" });
    const parameters = { targetPath: "//tmp/b", linkPath: "//tmp/l" };
    expect((await failure(cypress.link(root, parameters))).code).toBe(501);
    expect(await cypress.link(root, { ...parameters, ignoreExisting: true })).toBe(id);
    await cypress.link(root, { ...parameters, force: true });
    expect(await get("//tmp/l&/@target_path")).toBe("//tmp/b");
  });
});

describe("objects of the cluster", () => {
  it("has the //sys tree and the same ids every time", async () => {
    const { get, cypress } = await openWorld();
    const other = await openWorld();
    expect(await get("//sys/@type")).toBe("sys_node");
    expect(await get("//sys/@cluster_name")).toBe("test");
    expect(await cypress.list(root, { path: "//sys/accounts" })).toEqual([
      "root",
      "sys",
      "tmp",
      "intermediate",
    ]);
    expect(await cypress.list(root, { path: "//sys/media" })).toEqual(["default"]);
    const [cell] = bare(await cypress.list(root, { path: "//sys/tablet_cells" })) as readonly string[];
    expect(await get(`//sys/tablet_cells/${cell}/@health`)).toBe("good");
    expect(await get("//sys/tablet_cell_bundles/default/@tablet_cell_ids")).toEqual([cell]);
    expect(await get("//sys/primary_masters")).toEqual(map({}));
    expect(await get("//tmp/@account")).toBe("tmp");
    expect(await get("//sys/users/root/@id")).toBe(await other.get("//sys/users/root/@id"));
    expect(await get("//sys/users/root/@builtin")).toBe(true);
    expect((await failure(get("//sys/client_config"))).code).toBe(500);
  });

  it("survives a restart", async () => {
    const world = await openWorld();
    await world.set("//tmp/a", map({ s: "x", m: map({ d: 1.5 }) }));
    await world.set("//tmp/a/@note", "n".repeat(30_000));
    await world.set("//tmp/a/@note", "short");
    await world.set("//tmp/a/@big", "b".repeat(30_000));
    const id = await world.get("//tmp/a/@id");
    const revision = await world.get("//tmp/a/@revision");
    const again = await world.reopen();
    expect(await again.get("//tmp/a")).toEqual(map({ s: "x", m: map({ d: 1.5 }) }));
    expect(await again.get("//tmp/a/@note")).toBe("short");
    expect(await again.get("//tmp/a/@big")).toBe("b".repeat(30_000));
    expect(await again.get("//tmp/a/@id")).toBe(id);
    expect(await again.get("//tmp/a/@revision")).toEqual(revision);
    await again.set("//tmp/a/s", "y");
    expect(await again.get("//tmp/a/s")).toBe("y");
  });
});
