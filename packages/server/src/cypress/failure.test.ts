/** What a mutation leaves behind when it fails, and when readers see one that does not. */
import { mapOf, YtError } from "@qyt/base";
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { MemoryStore } from "../cell/index.ts";
import { failure, root, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

describe("mutations", () => {
  it("are visible only when they are durable", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const world = await openWorld({ store });
    store.hold();
    const done = world.set("//tmp/a", 1n);
    const next = world.set("//tmp/b", 2n);
    await world.clock.advance(0);
    expect(await world.exists("//tmp/a")).toBe(false);
    store.release();
    await done;
    expect(await world.get("//tmp/a")).toBe(1n);
    await next;
    expect(await world.get("//tmp/b")).toBe(2n);
  });

  it("change nothing when the flush fails, and the next one works", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const world = await openWorld({ store });
    await world.set("//tmp/a", mapOf({ x: 1n }));
    const order: string[] = [];
    store.failAt(1, new YtError("Disk is full"));
    const failed = await failure(
      world.cypress.mutate(root, (draft) => {
        draft.removeNode(draft.resolveNode("//tmp/a").id);
        draft.onDurable(() => order.push("durable"));
        draft.onFailed(() => order.push("first"));
        draft.onFailed(() => order.push("second"));
      }),
    );
    expect(failed.message).toContain("Disk is full");
    expect(order).toEqual(["second", "first"]);
    // The store takes writes again in a later turn.
    await world.clock.advance(0);
    expect(await world.get("//tmp/a")).toEqual(mapOf({ x: 1n }));
    await world.set("//tmp/a/y", 2n);
    expect(await world.get("//tmp/a")).toEqual(mapOf({ x: 1n, y: 2n }));
    const again = await world.reopen();
    expect(await again.get("//tmp/a")).toEqual(mapOf({ x: 1n, y: 2n }));
  });

  it("change nothing when their work throws in the middle", async () => {
    const world = await openWorld();
    await world.create("map_node", "//tmp/d");
    const value = mapOf({ a: 1n, b: mapOf({ c: null }) });
    await failure(world.cypress.set(root, { path: "//tmp/d/x", value }));
    expect(await world.get("//tmp/d")).toEqual(mapOf({}));
    expect(await world.get("//sys/accounts/tmp/@resource_usage/node_count")).toBe(3n);
  });

  it("run callbacks at once when there is nothing to write", async () => {
    const world = await openWorld();
    const order: string[] = [];
    await world.cypress.mutate(root, (draft) => draft.onDurable(() => order.push("durable")));
    expect(order).toEqual(["durable"]);
  });

  it("create many children of one map in a time that grows with their number", async () => {
    const world = await openWorld();
    const children = new Map(Array.from({ length: 5000 }, (_, index) => [`n${index}`, BigInt(index)]));
    await world.set("//tmp/many", children);
    expect(await world.get("//tmp/many/@count")).toBe(5000n);
    const transactionId = await world.cypress.startTransaction(root, { timeoutMs: 60_000 });
    await world.set("//tmp/more", children, { user: "root", transactionId });
    await world.cypress.commitTransaction(root, transactionId);
    const again = await world.reopen();
    expect(await again.get("//tmp/more")).toEqual(children);
  });
});

describe("mutations that are asked for at the same time", () => {
  it("stand on each other's changes, and each answers for itself", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const world = await openWorld({ store });
    store.hold();
    const first = world.set("//tmp/first", 1n);
    const created = world.create("map_node", "//tmp/d");
    const inside = world.set("//tmp/d/x", 2n);
    const refused = failure(world.create("map_node", "//tmp/d"));
    const same = world.set("//tmp/d/@tag", "a");
    const later = world.set("//tmp/d/@tag", "b");
    await world.clock.advance(0);
    expect(await world.exists("//tmp/d")).toBe(false);
    store.release();
    await Promise.all([first, created, inside, same, later]);
    expect((await refused).message).toContain("already exists");
    const again = await world.reopen();
    for (const each of [world, again]) {
      expect(await each.get("//tmp/d")).toEqual(mapOf({ x: 2n }));
      expect(await each.get("//tmp/d/@tag")).toBe("b");
    }
  });

  it("are all taken back when a flush fails, and what comes later begins anew", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const world = await openWorld({ store });
    await world.set("//tmp/a", 1n);
    store.failAt(1, new YtError("Disk is full"));
    const outcomes = await Promise.allSettled([
      world.set("//tmp/a", 2n),
      world.set("//tmp/b", 3n),
      world.set("//tmp/a", 4n),
    ]);
    expect(outcomes.map(({ status }) => status)).toContain("rejected");
    await world.clock.advance(0);
    const stored = await world.reopen();
    for (const name of ["a", "b"]) {
      const path = `//tmp/${name}`;
      expect(await world.exists(path)).toBe(await stored.exists(path));
    }
    expect(await world.get("//tmp/a")).toEqual(await stored.get("//tmp/a"));
    await world.set("//tmp/b", 5n);
    expect(await (await world.reopen()).get("//tmp/b")).toBe(5n);
  });

  it("shrink a record that has become long in the same flush", async () => {
    const world = await openWorld();
    await Promise.all([
      world.set("//tmp/@note", "x".repeat(100_000)),
      world.set("//tmp/@note", "short"),
      world.set("//tmp/@other", 1n),
    ]);
    expect(await (await world.reopen()).get("//tmp/@note")).toBe("short");
  });
});

describe("large mutations", () => {
  /** Time goes by with every look at it, so that work takes long. */
  class TiringClock extends FakeClock {
    #work = 0;

    override monotonic(): number {
      return super.monotonic() + ++this.#work;
    }
  }

  const openTiring = worldOpener(() => new TiringClock());
  const tree = (size: number) =>
    mapOf(Object.fromEntries(Array.from({ length: size }, (_, index) => [`n${index}`, BigInt(index)])));

  it("let others read meanwhile, who see all of it or nothing", async () => {
    const world = await openTiring();
    await world.set("//tmp/tree", tree(50));
    const changes = [
      { done: () => world.set("//tmp/new", tree(300)), path: "//tmp/new" },
      {
        done: () => world.cypress.copy(root, { sourcePath: "//tmp/tree", destinationPath: "//tmp/copied" }),
        path: "//tmp/copied",
      },
    ];
    for (const { done, path } of changes) {
      let isDone = false;
      let looks = 0;
      const running = done().finally(() => {
        isDone = true;
      });
      for (; !isDone; looks++) {
        await new Promise((resolve) => setImmediate(resolve));
        expect([0, 50, 300]).toContain((await world.exists(path)) ? Object(await world.get(path)).size : 0);
      }
      await running;
      expect(looks, path).toBeGreaterThan(10);
      expect(await world.exists(path)).toBe(true);
    }
  });

  it("come one after another, and change nothing when they fail on the way", async () => {
    const world = await openTiring();
    const broken = new Map([...tree(100), ["", 1n]]);
    const failed = failure(world.set("//tmp/broken", broken));
    const next = world.set("//tmp/next", tree(20));
    expect((await failed).message).toContain("Child key cannot be empty");
    await next;
    expect(await world.get("//tmp")).toEqual(mapOf({ next: tree(20) }));
    await world.cypress.remove(root, { path: "//tmp/next" });
    expect(await world.get("//tmp")).toEqual(new Map());
  });
});
