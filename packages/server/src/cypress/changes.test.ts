/** Setting, removing, copying, moving, attributes. Numbers: specification, section 13.2. */
import { limits, mapOf, Uint64, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { failure, root, texts, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

const map = (entries: Record<string, YsonValue>): YsonValue => mapOf(entries);

describe("set", () => {
  it("[tables 30] makes scalars of the value's type", async () => {
    const { set, get } = await openWorld();
    await set("//tmp/s", "x");
    expect(await get("//tmp/s")).toBe("x");
    expect(await get("//tmp/s/@type")).toBe("string_node");
    const id = await get("//tmp/s/@id");
    await set("//tmp/s", "y");
    expect(await get("//tmp/s/@id")).toBe(id);
    await set("//tmp/s", 5n);
    expect(await get("//tmp/s/@type")).toBe("int64_node");
    for (const value of [1.5, true, new Uint64(5n)]) {
      await set("//tmp/s", value);
      expect(await get("//tmp/s")).toEqual(value);
    }
  });

  it("[tables 31] replaces a map only with force", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/m", map({ b: 2n }));
    const error = await failure(set("//tmp/m", map({ a: 1n })));
    expect(error.message).toContain("forbidden");
    await cypress.set(root, { path: "//tmp/m", value: map({ a: 1n }), force: true });
    expect(await get("//tmp/m")).toEqual(map({ a: 1n }));
  });

  it("[tables 32] refuses entities", async () => {
    const { set } = await openWorld();
    expect((await failure(set("//tmp/x", null))).message).toBe("Entity nodes cannot be created");
    expect((await failure(set("//tmp/x", map({ y: null })))).message).toBe("Entity nodes cannot be created");
  });

  it("[http 50] [http 51] [http 52] keeps lists inside of maps, and attributes on attribute values", async () => {
    const { set, get } = await openWorld();
    const value = map({ a: 1n, b: [true, null] });
    await set("//tmp/x", value);
    expect(await get("//tmp/x")).toEqual(value);
    await set("//tmp/x/@foo", "v");
    expect(await get("//tmp/x/@foo")).toBe("v");
    await set("//tmp/x/b/end", 7n);
    expect(await get("//tmp/x/b")).toEqual([true, null, 7n]);
    expect(await get("//tmp/x/b/-1")).toBe(7n);
  });

  it("[tables 34] makes the parents when recursive", async () => {
    const { cypress, set, get } = await openWorld();
    expect((await failure(set("//tmp/a/b/c", 1n))).code).toBe(500);
    await cypress.set(root, { path: "//tmp/a/b/c", value: 1n, recursive: true });
    expect(await get("//tmp/a")).toEqual(map({ b: map({ c: 1n }) }));
  });

  it("edits inside of documents", async () => {
    const { cypress, create, set, get } = await openWorld();
    await create("document", "//tmp/d");
    expect(await get("//tmp/d")).toBeNull();
    await set("//tmp/d", map({ a: map({ b: [1n, 2n] }) }));
    expect(await get("//tmp/d/a/b/0")).toBe(1n);
    await set("//tmp/d/a/c", "x");
    expect(texts(await failure(set("//tmp/d/n/o", "x")))).toContain('has no child with key "n"');
    await cypress.set(root, { path: "//tmp/d/n/o", value: "x", recursive: true });
    await cypress.remove(root, { path: "//tmp/d/a/b" });
    expect(await get("//tmp/d")).toEqual(map({ a: map({ c: "x" }), n: map({ o: "x" }) }));
    expect(await get("//tmp")).toEqual(map({ d: null }));
    expect(await cypress.list(root, { path: "//tmp/d" })).toEqual(["a", "n"]);
    expect((await failure(get("//tmp/d/a/zzz"))).code).toBe(500);
  });

  it("[tables 70] holds to the limits of children, strings, attributes and keys", async () => {
    const { set, create } = await openWorld({
      limits: { maxChildCount: 100, maxStringNodeBytes: 5, maxAttributeBytes: 50 },
    });
    await create("map_node", "//tmp/d");
    for (let index = 0; index < 100; index += 1) {
      await set(`//tmp/d/${index}`, 1n);
    }
    const children = await failure(set("//tmp/d/x", 1n));
    expect(children.code).toBe(502);
    expect(children.message).toContain("is not allowed to contain more than 100 items");
    await set("//tmp/s", "12345");
    const long = await failure(set("//tmp/s", "123456"));
    expect(long.code).toBe(503);
    expect(long.message).toBe("String node length limit exceeded");
    await set("//tmp/s/@a", "x".repeat(50));
    const big = await failure(set("//tmp/s/@a", "x".repeat(51)));
    expect(big.code).toBe(504);
    await create("map_node", `//tmp/${"k".repeat(limits.maxNodeKeyBytes)}`);
    expect((await failure(create("map_node", `//tmp/${"k".repeat(limits.maxNodeKeyBytes + 1)}`))).code).toBe(
      505,
    );
  });
});

describe("remove", () => {
  it("[tables 35] [http 63] needs recursive for a map with children", async () => {
    const { cypress, set, exists } = await openWorld();
    await set("//tmp/a", map({ b: 1n }));
    const error = await failure(cypress.remove(root, { path: "//tmp/a", recursive: false }));
    expect(error.code).toBe(506);
    expect(error.message).toBe("Cannot remove non-empty composite node");
    await cypress.remove(root, { path: "//tmp/a" });
    expect(await exists("//tmp/a")).toBe(false);
  });

  it("[tables 36] [http 62] needs force for a missing node", async () => {
    const { cypress } = await openWorld();
    expect((await failure(cypress.remove(root, { path: "//tmp/none" }))).code).toBe(500);
    await cypress.remove(root, { path: "//tmp/none", force: true });
  });

  it("[tables 37] refuses built-in attributes, with force too", async () => {
    const { cypress, create } = await openWorld();
    await create("map_node", "//tmp/a");
    for (const force of [false, true]) {
      const error = await failure(cypress.remove(root, { path: "//tmp/a/@key", force }));
      expect(error.message).toBe('Attribute "key" cannot be removed');
    }
    expect((await failure(cypress.remove(root, { path: "//tmp/a/@x" }))).code).toBe(500);
    await cypress.remove(root, { path: "//tmp/a/@x", force: true });
  });

  it("[tables 38] refuses the root", async () => {
    const { cypress } = await openWorld();
    expect((await failure(cypress.remove(root, { path: "/" }))).message).toBe("Node / cannot be removed");
  });

  it("[tables 41] empties user attributes, and a map", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/n", map({ a: 1n, b: map({ c: 1n }) }));
    await set("//tmp/n/@x", 1n);
    await set("//tmp/n/@opaque", true);
    await cypress.remove(root, { path: "//tmp/n/@*" });
    expect(await get("//tmp/n/@user_attribute_keys")).toEqual([]);
    expect(await get("//tmp/n/@opaque")).toBe(true);
    await cypress.remove(root, { path: "//tmp/n/*" });
    expect(await get("//tmp/n")).toEqual(map({}));
  });
});

describe("attributes", () => {
  it("[tables 39] are replaced as a set", async () => {
    const { set, get, create } = await openWorld();
    await create("map_node", "//tmp/n");
    await set("//tmp/n/@opaque", true);
    await set("//tmp/n/@", map({ x: 1n, y: 2n }));
    await set("//tmp/n/@", map({ z: 3n }));
    expect(await get("//tmp/n/@user_attribute_keys")).toEqual(["z"]);
    expect((await failure(get("//tmp/n/@opaque"))).code).toBe(500);
    const error = await failure(set("//tmp/n/@", 5n));
    expect(error.message).toBe("Attributes can only be set from a map");
  });

  it("[tables 40] are edited inside", async () => {
    const { cypress, set, get, create } = await openWorld();
    await create("map_node", "//tmp/n");
    await set("//tmp/n/@x", map({ a: map({ b: 1n }) }));
    expect(await get("//tmp/n/@x/a/b")).toBe(1n);
    expect((await failure(set("//tmp/n/@x/c/d", 1n))).code).toBe(500);
    await cypress.set(root, { path: "//tmp/n/@x/c/d", value: 1n, recursive: true });
    await cypress.remove(root, { path: "//tmp/n/@x/c" });
    await cypress.remove(root, { path: "//tmp/n/@x/a" });
    expect(await get("//tmp/n/@x")).toEqual(map({}));
  });

  it("cannot be set when they are read-only", async () => {
    const { set, create } = await openWorld();
    await create("map_node", "//tmp/n");
    expect((await failure(set("//tmp/n/@id", "x"))).message).toBe('Attribute "id" cannot be set');
    const error = await failure(set("//tmp/n/@acl", "x"));
    expect(error.message).toBe('Error setting builtin attribute "acl"');
  });

  it("are set several at once", async () => {
    const { cypress, get, create } = await openWorld();
    await create("map_node", "//tmp/n");
    await cypress.multisetAttributes(root, {
      path: "//tmp/n/@",
      attributes: mapOf({ a: 1n, opaque: true }),
    });
    expect(await get("//tmp/n/@a")).toBe(1n);
    expect(await get("//tmp/n/@opaque")).toBe(true);
    expect(
      (await failure(cypress.multisetAttributes(root, { path: "//tmp/n", attributes: mapOf({}) }))).code,
    ).toBe(1);
  });

  it("are inherited as annotation, and as settings of directories", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/a", map({ b: map({}) }));
    await set("//tmp/a/@annotation", "text");
    expect(await get("//tmp/a/b/@annotation")).toBe("text");
    expect(await get("//tmp/a/b/@annotation_path")).toBe("//tmp/a");
    await set("//tmp/a/@in_memory_mode", "uncompressed");
    const view = cypress.view();
    expect(view.inherited(view.resolveNode("//tmp/a/b"), "in_memory_mode")).toBe("uncompressed");
  });

  it("[tables 57] revisions and times grow with changes", async () => {
    const { set, get, create, clock } = await openWorld();
    await create("map_node", "//tmp/n");
    const revision = async (): Promise<bigint> => ((await get("//tmp/n/@revision")) as Uint64).value;
    const first = await revision();
    const time = await get("//tmp/n/@modification_time");
    await clock.advance(1000);
    await set("//tmp/n/@x", 1n);
    const second = await revision();
    expect(second).toBeGreaterThan(first);
    const later = await get("//tmp/n/@modification_time");
    expect(String(later) > String(time)).toBe(true);
    await clock.advance(1000);
    await set("//tmp/n/@x", 2n, { user: "root", suppressModificationTracking: true });
    expect(await get("//tmp/n/@modification_time")).toBe(later);
    await set("//tmp/n/c", 2n);
    expect(await revision()).toBeGreaterThan(second);
    expect(await get("//tmp/n/@creation_time")).toBe("2025-01-23T14:00:00.000000Z");
  });

  it("fail the request whose prerequisites do not hold", async () => {
    const { set, get, create } = await openWorld();
    await create("map_node", "//tmp/n");
    const revision = ((await get("//tmp/n/@revision")) as Uint64).value;
    const context = { user: "root", prerequisiteRevisions: [{ path: "//tmp/n", revision }] };
    await set("//tmp/n/@x", 1n, context);
    expect((await failure(set("//tmp/n/@x", 2n, context))).code).toBe(1000);
    expect(
      (await failure(get("//tmp", {}, { user: "root", prerequisiteTransactionIds: ["1-2-10001-4"] }))).code,
    ).toBe(1000);
  });
});

describe("copy and move", () => {
  it("[tables 50] resets ids, rights and expirations, keeps user attributes", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/a", map({ x: map({ y: 1n }) }));
    await set("//tmp/a/@note", "n");
    await set("//tmp/a/@expiration_time", "2030-01-01T00:00:00Z");
    const acl: YsonValue = [mapOf({ action: "allow", subjects: ["users"], permissions: ["read"] })];
    await set("//tmp/a/@acl", acl);
    const id = await cypress.copy(root, { sourcePath: "//tmp/a", destinationPath: "//tmp/b" });
    expect(id).not.toBe(await get("//tmp/a/@id"));
    expect(await get("//tmp/b")).toEqual(map({ x: map({ y: 1n }) }));
    expect(await get("//tmp/b/x/@id")).not.toBe(await get("//tmp/a/x/@id"));
    expect(await get("//tmp/b/@note")).toBe("n");
    expect(await get("//tmp/b/@acl")).toEqual([]);
    expect((await failure(get("//tmp/b/@expiration_time"))).code).toBe(500);
    await cypress.copy(root, { sourcePath: "//tmp/a", destinationPath: "//tmp/c", preserveAcl: true });
    expect(await get("//tmp/c/@acl")).toEqual(await get("//tmp/a/@acl"));
  });

  it("[tables 51] respects what is at the destination", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/a", 1n);
    await set("//tmp/b", 2n);
    const old = await get("//tmp/b/@id");
    const parameters = { sourcePath: "//tmp/a", destinationPath: "//tmp/b" };
    expect((await failure(cypress.copy(root, parameters))).code).toBe(501);
    expect(await cypress.copy(root, { ...parameters, ignoreExisting: true })).toBe(old);
    await cypress.copy(root, { ...parameters, force: true });
    expect(await get("//tmp/b")).toBe(1n);
  });

  it("[tables 52] refuses itself, its own inside, and the root", async () => {
    const { cypress, set } = await openWorld();
    await set("//tmp/a", map({ b: map({}) }));
    const attempt = async (destinationPath: string, move: boolean): Promise<string> => {
      const parameters = { sourcePath: "//tmp/a", destinationPath, force: true };
      return (await failure(move ? cypress.move(root, parameters) : cypress.copy(root, parameters))).message;
    };
    expect(await attempt("//tmp/a", false)).toBe("Cannot copy or move a node to itself");
    expect(await attempt("//tmp/a", true)).toBe("Cannot copy or move a node to itself");
    expect(await attempt("//tmp/a/b/c", true)).toContain("to its descendant");
    expect(await attempt("/", true)).toBe("Node / cannot be replaced");
  });

  it("[tables 53] moves content, attributes and links as they are", async () => {
    const { cypress, set, get, exists } = await openWorld();
    await set("//tmp/a", map({ x: 1n }));
    await set("//tmp/a/@note", "n");
    await cypress.link(root, { targetPath: "//tmp/a/x", linkPath: "//tmp/a/l" });
    await cypress.move(root, { sourcePath: "//tmp/a", destinationPath: "//tmp/deep/b", recursive: true });
    expect(await exists("//tmp/a")).toBe(false);
    expect(await get("//tmp/deep/b/@note")).toBe("n");
    expect(await get("//tmp/deep/b/x")).toBe(1n);
    expect(await get("//tmp/deep/b/l&/@type")).toBe("link");
  });
});

describe("expiration", () => {
  it("[tables 58] removes the node when its time has come", async () => {
    const world = await openWorld();
    const { set, get, exists, clock } = world;
    await set("//tmp/a", map({ x: 1n }));
    await set("//tmp/a/@expiration_time", BigInt(clock.now() + 2000));
    expect(await get("//tmp/a/@expiration_time")).toBe("2025-01-23T14:00:02.000000Z");
    await clock.advance(1500);
    expect(await exists("//tmp/a")).toBe(true);
    const again = await world.reopen();
    await clock.advance(2000);
    expect(await again.exists("//tmp/a")).toBe(false);
  });

  it("[tables 59] renews the timeout at every access unless suppressed", async () => {
    const { set, get, exists, clock } = await openWorld();
    for (const name of ["read", "idle"]) {
      await set(`//tmp/${name}`, map({ x: 1n }));
      await set(`//tmp/${name}/@expiration_timeout`, 3000n);
    }
    const quiet = { user: "root", suppressExpirationTimeoutRenewal: true };
    for (let step = 0; step < 4; step += 1) {
      await clock.advance(1000);
      await get("//tmp/read/x");
      expect(await exists("//tmp/idle", quiet)).toBe(step < 2);
    }
    expect(await exists("//tmp/read")).toBe(true);
    await clock.advance(4000);
    expect(await exists("//tmp/read")).toBe(false);
  });

  it("keeps a node whose time is prolonged while the sweep is on its way", async () => {
    const { cypress, set, exists, clock } = await openWorld();
    await set("//tmp/a", 1n);
    await set("//tmp/a/@expiration_time", BigInt(clock.now() + 1000));
    clock.setNow(clock.now() + 5000);
    const prolonged = set("//tmp/a/@expiration_time", BigInt(clock.now() + 60_000));
    await Promise.all([prolonged, cypress.sweep()]);
    expect(await exists("//tmp/a")).toBe(true);
  });

  it("[tables 60] waits for locks that are no snapshots", async () => {
    const { cypress, set, exists, clock } = await openWorld();
    const expiring = async (path: string): Promise<void> => {
      await set(path, 1n);
      await set(`${path}/@expiration_time`, BigInt(clock.now() + 1000));
    };
    await expiring("//tmp/shared");
    await expiring("//tmp/snapshot");
    const transactionId = await cypress.startTransaction(root, { timeoutMs: 60_000 });
    const context = { user: "root", transactionId };
    await cypress.lock(context, { path: "//tmp/shared", mode: "shared" });
    await cypress.lock(context, { path: "//tmp/snapshot", mode: "snapshot" });
    await clock.advance(3000);
    expect(await exists("//tmp/shared")).toBe(true);
    expect(await exists("//tmp/snapshot")).toBe(false);
    await cypress.abortTransaction(root, transactionId);
    await clock.advance(1000);
    expect(await exists("//tmp/shared")).toBe(false);
  });

  it("[tables 61] refuses the root and bad values", async () => {
    const { set } = await openWorld();
    expect(texts(await failure(set("//@expiration_time", 1n)))).toContain(
      'Cannot set "expiration_time" for the root',
    );
    await set("//tmp/a", 1n);
    expect((await failure(set("//tmp/a/@expiration_time", "soon"))).message).toBe(
      'Error setting builtin attribute "expiration_time"',
    );
  });

  it("[tables 62] is kept by a copy only when asked", async () => {
    const { cypress, set, get } = await openWorld();
    await set("//tmp/a", 1n);
    await set("//tmp/a/@expiration_time", "2030-01-01T00:00:00Z");
    await cypress.copy(root, { sourcePath: "//tmp/a", destinationPath: "//tmp/b" });
    expect((await failure(get("//tmp/b/@expiration_time"))).code).toBe(500);
    await cypress.copy(root, {
      sourcePath: "//tmp/a",
      destinationPath: "//tmp/c",
      preserveExpirationTime: true,
    });
    expect(await get("//tmp/c/@expiration_time")).toBe("2030-01-01T00:00:00.000000Z");
  });
});
