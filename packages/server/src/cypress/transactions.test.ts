/** Master transactions and locks. Numbers: specification, sections 13.2 and 19 (HTTP). */
import { bare, mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LockParameters, RequestContext } from "./cypress.ts";
import { failure, root, texts, type World, worldOpener } from "./tree-fixture.ts";

const openWorld = worldOpener(() => new FakeClock());

const map = (entries: Record<string, YsonValue>): YsonValue => mapOf(entries);

async function begin(world: World, parentId?: string): Promise<{ id: string; context: RequestContext }> {
  const id = await world.cypress.startTransaction(root, {
    timeoutMs: 30_000,
    ...(parentId === undefined ? {} : { parentId }),
  });
  return { id, context: { user: "root", transactionId: id } };
}

it("what a nested transaction has removed stays locked when it has committed", async () => {
  const world = await openWorld();
  await world.create("map_node", "//tmp/d");
  const outer = await begin(world);
  const inner = await begin(world, outer.id);
  await world.cypress.remove(inner.context, { path: "//tmp/d" });
  await world.cypress.commitTransaction(root, inner.id);
  expect((await failure(world.set("//tmp/d/@a", 1n))).has("ConcurrentTransactionLockConflict")).toBe(true);
  await world.cypress.commitTransaction(root, outer.id);
  expect(await world.exists("//tmp/d")).toBe(false);
});

describe("transactions", () => {
  it("[tables 63] [http 74] show their changes inside, and outside after the commit", async () => {
    const world = await openWorld();
    const { cypress, create, set, exists, get } = world;
    await set("//tmp/old", 1n);
    const t = await begin(world);
    await create("map_node", "//tmp/a", t.context);
    await set("//tmp/a/x", 1n, t.context);
    await set("//tmp/old", 2n, t.context);
    expect(await exists("//tmp/a")).toBe(false);
    expect(await exists("//tmp/a/x", t.context)).toBe(true);
    expect(await get("//tmp/old")).toBe(1n);
    expect(await get("//tmp/old", {}, t.context)).toBe(2n);
    await cypress.commitTransaction(root, t.id);
    expect(await get("//tmp/a")).toEqual(map({ x: 1n }));
    expect(await get("//tmp/old")).toBe(2n);
    const dropped = await begin(world);
    await create("map_node", "//tmp/b", dropped.context);
    await cypress.remove(dropped.context, { path: "//tmp/a" });
    expect(await exists("//tmp/a", dropped.context)).toBe(false);
    await cypress.abortTransaction(root, dropped.id);
    expect(await exists("//tmp/b")).toBe(false);
    expect(await get("//tmp/a")).toEqual(map({ x: 1n }));
  });

  it("[http 70] [http 71] have type 1 at the top and 4 inside", async () => {
    const world = await openWorld();
    const t = await begin(world);
    const nested = await begin(world, t.id);
    expect(t.id.split("-")[2]).toBe("10001");
    expect(nested.id.split("-")[2]).toBe("10004");
    expect(await world.get(`#${t.id}/@nested_transaction_ids`)).toEqual([nested.id]);
    expect(await world.get(`#${nested.id}/@parent_id`)).toBe(t.id);
    expect(bare(await world.cypress.list(root, { path: "//sys/topmost_transactions" }))).toEqual([t.id]);
    expect(bare(await world.cypress.list(root, { path: "//sys/transactions" }))).toEqual([t.id, nested.id]);
    expect(await world.get("//sys/transactions/@count")).toBe(2n);
  });

  it("have attributes, also a caller's own", async () => {
    const world = await openWorld();
    const id = await world.cypress.startTransaction(root, {
      timeoutMs: 15_000,
      attributes: mapOf({ title: "work" }),
    });
    expect(await world.get(`#${id}/@title`)).toBe("work");
    expect(await world.get(`#${id}/@timeout`)).toBe(15_000n);
    expect(await world.get(`#${id}/@start_time`)).toBe("2025-01-23T14:00:00.000000Z");
    await world.set(`//sys/transactions/${id}/@note`, 1n);
    expect(await world.get(`#${id}/@note`)).toBe(1n);
  });

  it("[tables 68] [http 72] [http 73] are unknown once they have ended", async () => {
    const world = await openWorld();
    const t = await begin(world);
    await world.cypress.pingTransaction(root, t.id);
    await world.cypress.commitTransaction(root, t.id);
    const error = await failure(world.cypress.commitTransaction(root, t.id));
    expect(error.code).toBe(11000);
    expect(error.message).toBe(`No such transaction ${t.id}`);
    expect((await failure(world.cypress.pingTransaction(root, t.id))).code).toBe(11000);
    expect((await failure(world.get("//tmp", {}, t.context))).code).toBe(11000);
    expect((await failure(world.set("//tmp/x", 1n, t.context))).code).toBe(11000);
  });

  it("[http 76] end when nobody pings them", async () => {
    const world = await openWorld();
    const start = (): Promise<string> => world.cypress.startTransaction(root, { timeoutMs: 1000 });
    const idle = await start();
    const pinged = await start();
    for (let step = 0; step < 6; step += 1) {
      await world.clock.advance(500);
      await world.cypress.pingTransaction(root, pinged);
    }
    expect((await failure(world.cypress.pingTransaction(root, idle))).code).toBe(11000);
    await world.cypress.commitTransaction(root, pinged);
  });

  it("take nested ones with them", async () => {
    const world = await openWorld();
    const { cypress, create, exists } = world;
    const outer = await begin(world);
    const inner = await begin(world, outer.id);
    const done = await begin(world, outer.id);
    await create("map_node", "//tmp/inner", inner.context);
    await create("map_node", "//tmp/done", done.context);
    await cypress.commitTransaction(root, done.id);
    expect(await exists("//tmp/done", outer.context)).toBe(true);
    expect(await exists("//tmp/done")).toBe(false);
    await cypress.commitTransaction(root, outer.id);
    expect(await exists("//tmp/done")).toBe(true);
    expect(await exists("//tmp/inner")).toBe(false);
    expect((await failure(cypress.pingTransaction(root, inner.id))).code).toBe(11000);
  });

  it("that others depend on take those with them", async () => {
    const world = await openWorld();
    const first = await begin(world);
    const second = await world.cypress.startTransaction(root, {
      timeoutMs: 30_000,
      prerequisiteTransactionIds: [first.id],
    });
    await world.cypress.abortTransaction(root, first.id);
    expect((await failure(world.cypress.pingTransaction(root, second))).code).toBe(11000);
  });

  it("survive a restart, with their locks and branches", async () => {
    const world = await openWorld();
    await world.set("//tmp/m", map({ a: 1n, b: map({ c: 1n }) }));
    await world.set("//tmp/frozen", map({ v: 1n }));
    const outer = await begin(world);
    const inner = await begin(world, outer.id);
    await world.cypress.remove(outer.context, { path: "//tmp/m/a" });
    await world.set("//tmp/m/a", "new", outer.context);
    await world.set("//tmp/m/@note", "n", outer.context);
    await world.set("//tmp/m/d", 4n, inner.context);
    await world.cypress.remove(inner.context, { path: "//tmp/m/b" });
    await world.cypress.lock(inner.context, { path: "//tmp/frozen", mode: "snapshot" });
    const again = await world.reopen();
    expect(await again.get("//tmp/m")).toEqual(map({ a: 1n, b: map({ c: 1n }) }));
    expect(await again.get("//tmp/m", {}, outer.context)).toEqual(map({ b: map({ c: 1n }), a: "new" }));
    expect(await again.get("//tmp/m", {}, inner.context)).toEqual(map({ a: "new", d: 4n }));
    expect(await again.get("//tmp/m/@note", {}, inner.context)).toBe("n");
    await again.set("//tmp/frozen/w", 2n);
    expect(await again.get("//tmp/frozen", {}, inner.context)).toEqual(map({ v: 1n }));
    expect((await failure(again.set("//tmp/m/a", 5n))).code).toBe(402);
    await again.cypress.commitTransaction(root, inner.id);
    await again.cypress.commitTransaction(root, outer.id);
    const third = await again.reopen();
    expect(await third.get("//tmp/m")).toEqual(map({ a: "new", d: 4n }));
    expect(await third.get("//tmp/m/@lock_count")).toBe(0n);
    expect(await third.get("//sys/locks/@count")).toBe(0n);
  });
});

describe("locks", () => {
  const lock = (world: World, context: RequestContext, path: string, more: Partial<LockParameters> = {}) =>
    world.cypress.lock(context, { path, mode: "exclusive", ...more });

  it("[tables 64] [http 66] an exclusive lock keeps others out", async () => {
    const world = await openWorld();
    await world.set("//tmp/t", 1n);
    const [first, second] = [await begin(world), await begin(world)];
    const taken = await lock(world, first.context, "//tmp/t");
    expect(taken.nodeId).toBe(await world.get("//tmp/t/@id"));
    const error = await failure(world.set("//tmp/t", 2n, second.context));
    expect(error.code).toBe(402);
    expect(error.message).toBe(
      `Cannot take "exclusive" lock for node //tmp/t since "exclusive" lock is taken by concurrent transaction ${first.id}`,
    );
    expect((await failure(lock(world, second.context, "//tmp/t"))).code).toBe(402);
    expect((await failure(world.set("//tmp/t", 2n))).code).toBe(402);
    const [shown] = bare(await world.get("//tmp/t/@locks")) as readonly YsonValue[];
    expect(shown).toEqual(
      mapOf({ id: taken.lockId, state: "acquired", transaction_id: first.id, mode: "exclusive" }),
    );
    await world.cypress.abortTransaction(root, first.id);
    await world.set("//tmp/t", 2n, second.context);
  });

  it("[tables 65] shared locks go together unless they name the same key", async () => {
    const world = await openWorld();
    await world.create("map_node", "//tmp/d");
    const [first, second] = [await begin(world), await begin(world)];
    const shared = (context: RequestContext, more: Partial<LockParameters>) =>
      lock(world, context, "//tmp/d", { mode: "shared", ...more });
    await shared(first.context, { childKey: "a" });
    await shared(second.context, { childKey: "b" });
    const child = await failure(shared(second.context, { childKey: "a" }));
    expect(child.code).toBe(402);
    expect(child.message).toBe(
      `Cannot take lock for child "a" of node //tmp/d since this child is locked by concurrent transaction ${first.id}`,
    );
    await shared(first.context, { attributeKey: "x" });
    const attribute = await failure(world.set("//tmp/d/@x", 1n, second.context));
    expect(attribute.message).toBe(
      `Cannot take lock for attribute "x" of node //tmp/d since this attribute is locked by concurrent transaction ${first.id}`,
    );
    const message = async (more: Partial<LockParameters>): Promise<string> =>
      (await failure(lock(world, first.context, "//tmp/d", more))).message;
    expect(await message({ childKey: "a" })).toBe('"child_key" can only be specified for shared locks');
    expect(await message({ mode: "shared", childKey: "a", attributeKey: "b" })).toBe(
      'Cannot specify both "child_key" and "attribute_key"',
    );
  });

  it("creation and attributes take keyed locks, so that transactions work side by side", async () => {
    const world = await openWorld();
    await world.set("//tmp/d", map({}));
    const [first, second] = [await begin(world), await begin(world)];
    await world.set("//tmp/d/a", 1n, first.context);
    await world.set("//tmp/d/b", 2n, second.context);
    await world.set("//tmp/d/@x", 1n, first.context);
    await world.set("//tmp/d/@y", 2n, second.context);
    await world.set("//tmp/d/c", 3n);
    expect((await failure(world.set("//tmp/d/a", 9n, second.context))).code).toBe(402);
    expect((await failure(world.cypress.remove(root, { path: "//tmp/d" }))).code).toBe(402);
    await world.cypress.commitTransaction(root, first.id);
    await world.cypress.commitTransaction(root, second.id);
    expect(await world.get("//tmp/d")).toEqual(map({ c: 3n, a: 1n, b: 2n }));
    expect(await world.get("//tmp/d/@x")).toBe(1n);
    expect(await world.get("//tmp/d/@y")).toBe(2n);
  });

  it("[tables 66] a snapshot shows the old value", async () => {
    const world = await openWorld();
    await world.set("//tmp/m", map({ x: 1n }));
    await world.set("//tmp/s", "old");
    const t = await begin(world);
    await lock(world, t.context, "//tmp/s", { mode: "snapshot" });
    await lock(world, t.context, "//tmp/m", { mode: "snapshot" });
    await world.set("//tmp/s", "new");
    await world.set("//tmp/m/y", 2n);
    expect(await world.get("//tmp/s", {}, t.context)).toBe("old");
    expect(await world.get("//tmp/m", {}, t.context)).toEqual(map({ x: 1n }));
    expect(await world.get("//tmp/s")).toBe("new");
    const id = await world.get("//tmp/s/@id");
    await world.cypress.remove(root, { path: "//tmp/s" });
    expect(await world.get(`#${id}`, {}, t.context)).toBe("old");
    expect((await failure(world.get(`#${id}`))).code).toBe(500);
    const nested = await begin(world, t.id);
    expect((await failure(world.set("//tmp/m/z", 1n, nested.context))).code).toBe(400);
    expect((await failure(lock(world, t.context, "//tmp/m"))).code).toBe(400);
    await world.cypress.unlock(t.context, { path: "//tmp/m" });
    expect(await world.get("//tmp/m", {}, t.context)).toEqual(map({ x: 1n, y: 2n }));
  });

  it("[tables 67] a waitable lock is granted when the way is free", async () => {
    const world = await openWorld();
    await world.set("//tmp/t", 1n);
    const [first, second, third] = [await begin(world), await begin(world), await begin(world)];
    await lock(world, first.context, "//tmp/t");
    const waiting = await lock(world, second.context, "//tmp/t", { waitable: true });
    expect(await world.get(`#${waiting.lockId}/@state`)).toBe("pending");
    await world.cypress.unlock(first.context, { path: "//tmp/t" });
    expect(await world.get(`#${waiting.lockId}/@state`)).toBe("acquired");
    const next = await lock(world, third.context, "//tmp/t", { waitable: true });
    expect((await failure(lock(world, first.context, "//tmp/t"))).code).toBe(402);
    await world.cypress.commitTransaction(root, second.id);
    expect(await world.get(`#${next.lockId}/@state`)).toBe("acquired");
  });

  it("a pending lock makes later explicit ones queue", async () => {
    const world = await openWorld();
    await world.set("//tmp/t", 1n);
    const [first, second, third] = [await begin(world), await begin(world), await begin(world)];
    await lock(world, first.context, "//tmp/t", { mode: "shared" });
    await lock(world, second.context, "//tmp/t", { waitable: true });
    const error = await failure(lock(world, third.context, "//tmp/t", { mode: "shared" }));
    expect(error.code).toBe(403);
  });

  it("an outer transaction cannot lock what an inner one holds", async () => {
    const world = await openWorld();
    await world.set("//tmp/t", 1n);
    const outer = await begin(world);
    const inner = await begin(world, outer.id);
    await lock(world, inner.context, "//tmp/t");
    const error = await failure(lock(world, outer.context, "//tmp/t"));
    expect(error.code).toBe(401);
    await world.cypress.commitTransaction(root, inner.id);
    expect(await world.get("//tmp/t/@lock_mode", {}, outer.context)).toBe("exclusive");
    expect((await failure(world.set("//tmp/t", 2n))).code).toBe(402);
  });

  it("needs a transaction", async () => {
    const world = await openWorld();
    await world.set("//tmp/t", 1n);
    expect(texts(await failure(lock(world, root, "//tmp/t")))).toContain("master transaction is required");
  });
});

/** A tree of maps and integers, with attributes of the nodes, as plain data. */
interface Model {
  children: Map<string, Model>;
  value: bigint | undefined;
  note: bigint | undefined;
}

const newModel = (value?: bigint): Model => ({ children: new Map(), value, note: undefined });

function copyOf(model: Model): Model {
  return {
    children: new Map([...model.children].map(([name, child]) => [name, copyOf(child)])),
    value: model.value,
    note: model.note,
  };
}

function modelToText(model: Model): string {
  const children = [...model.children.keys()].sort().map((name) => {
    const child = model.children.get(name);
    return `${name}=${child === undefined ? "" : modelToText(child)}`;
  });
  return `<${model.note ?? ""}>${model.value ?? `{${children.join(";")}}`}`;
}

function yson(value: YsonValue): string {
  const note =
    value instanceof Object && "attributes" in value ? String(value.attributes.get("note") ?? "") : "";
  const plain = bare(value);
  if (plain instanceof Map) {
    const names = [...(plain as ReadonlyMap<string, YsonValue>).keys()].sort();
    return `<${note}>{${names.map((name) => `${name}=${yson((plain as ReadonlyMap<string, YsonValue>).get(name) ?? null)}`).join(";")}}`;
  }
  return `<${note}>${String(plain)}`;
}

type Operation =
  | { kind: "set"; path: string[]; value: bigint }
  | { kind: "note"; path: string[]; value: bigint }
  | { kind: "mkdir"; path: string[] }
  | { kind: "remove"; path: string[] }
  | { kind: "begin" | "commit" | "abort" | "reopen" };

const pathArbitrary = fc.array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 3 });
const operationArbitrary: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("set" as const),
      path: pathArbitrary,
      value: fc.bigInt(0n, 9n),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("note" as const),
      path: pathArbitrary,
      value: fc.bigInt(0n, 9n),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("mkdir" as const), path: pathArbitrary }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("remove" as const), path: pathArbitrary }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("begin" as const, "commit" as const, "abort" as const, "reopen" as const),
    }),
  },
);

function find(model: Model, path: readonly string[]): Model | undefined {
  return path.reduce<Model | undefined>((node, name) => node?.children.get(name), model);
}

/** Applies a change to the model; false when the tree has to refuse it. */
function change(model: Model, operation: Extract<Operation, { path: string[] }>): boolean {
  const name = operation.path.at(-1) ?? "";
  const parent = find(model, operation.path.slice(0, -1));
  const node = parent?.children.get(name);
  if (parent === undefined || parent.value !== undefined) {
    return false;
  }
  switch (operation.kind) {
    case "set":
      if (node !== undefined && node.value === undefined) {
        return false;
      }
      if (node === undefined) {
        parent.children.set(name, newModel(operation.value));
      } else {
        node.value = operation.value;
      }
      return true;
    case "note":
      if (node !== undefined) {
        node.note = operation.value;
      }
      return node !== undefined;
    case "mkdir":
      if (node === undefined) {
        parent.children.set(name, newModel());
      }
      return node === undefined;
    case "remove":
      return parent.children.delete(name);
  }
}

async function run(
  world: World,
  context: RequestContext,
  operation: Extract<Operation, { path: string[] }>,
): Promise<void> {
  const path = `//tmp/r/${operation.path.join("/")}`;
  switch (operation.kind) {
    case "set":
      return world.set(path, operation.value, context);
    case "note":
      return world.set(`${path}/@note`, operation.value, context);
    case "mkdir":
      await world.create("map_node", path, context);
      return;
    case "remove":
      return world.cypress.remove(context, { path });
  }
}

describe("nested transactions against a model", () => {
  it("one chain of transactions shows what a stack of copies shows, over restarts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operationArbitrary, { maxLength: 25 }), async (operations) => {
        let world = await openWorld();
        await world.create("map_node", "//tmp/r");
        const levels: { model: Model; context: RequestContext }[] = [{ model: newModel(), context: root }];
        for (const operation of operations) {
          const top = levels.at(-1);
          const below = levels.at(-2);
          if (top === undefined) {
            break;
          }
          if ("path" in operation) {
            const expected = change(top.model, operation);
            const done = await run(world, top.context, operation).then(
              () => true,
              () => false,
            );
            expect(done).toBe(expected);
          } else if (operation.kind === "reopen") {
            world = await world.reopen();
          } else if (operation.kind === "begin") {
            if (levels.length < 4) {
              const { context } = await begin(world, top.context.transactionId);
              levels.push({ model: copyOf(top.model), context });
            }
          } else if (below !== undefined && top.context.transactionId !== undefined) {
            levels.pop();
            if (operation.kind === "commit") {
              below.model = top.model;
              await world.cypress.commitTransaction(root, top.context.transactionId);
            } else {
              await world.cypress.abortTransaction(root, top.context.transactionId);
            }
          }
          for (const { model, context } of levels) {
            const shown = await world.get("//tmp/r", { attributes: ["note"] }, context);
            expect(yson(shown)).toBe(modelToText(model));
          }
        }
        await world.cypress.close();
      }),
      { numRuns: 40 },
    );
  });
});
