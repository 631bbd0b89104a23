/** `get` and `list` of many nodes: others have their turns, and the answer is of one moment all the same. */
import { mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { root, type World, worldOpener } from "./tree-fixture.ts";

/** A clock on which every look at it takes a millisecond: each few nodes are a slice of their own. */
class PassingClock extends FakeClock {
  #looks = 0;

  override monotonic(): number {
    return ++this.#looks;
  }
}

const openWorld = worldOpener(() => new PassingClock());

/** How often others had their turn before the promise was settled. */
async function turnsDuring(promise: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const watch = (): void => {
    if (!isDone) {
      turns += 1;
      setImmediate(watch);
    }
  };
  setImmediate(watch);
  await promise;
  isDone = true;
  return turns;
}

async function directory(count: number): Promise<World> {
  const world = await openWorld();
  await world.create("map_node", "//tmp/d");
  await Promise.all(
    Array.from({ length: count }, (_, index) => world.set(`//tmp/d/n${index}`, BigInt(index))),
  );
  return world;
}

describe("get and list of many nodes", () => {
  it("give others a turn every few nodes", async () => {
    const { get, cypress } = await directory(300);
    expect(await turnsDuring(get("//tmp/d"))).toBeGreaterThan(50);
    expect(await turnsDuring(get("//tmp/d", { attributes: ["id"] }))).toBeGreaterThan(50);
    expect(await turnsDuring(cypress.list(root, { path: "//tmp/d" }))).toBeGreaterThan(50);
    expect(await turnsDuring(cypress.list(root, { path: "//tmp/d", attributes: ["id"] }))).toBeGreaterThan(
      50,
    );
  });

  it("take no turn for a few nodes or for an attribute", async () => {
    const { get } = await worldOpener(() => new FakeClock())();
    expect(await turnsDuring(get("//tmp"))).toBe(0);
    expect(await turnsDuring(get("//tmp/@id"))).toBe(0);
  });

  it("see nothing of what is committed meanwhile", async () => {
    const { get, set, create, cypress } = await directory(100);
    const before = await get("//tmp/d");
    const names = new Set([...Array(100).keys()].map((index) => `n${index}`));
    const readings = [get("//tmp/d"), cypress.list(root, { path: "//tmp/d" })] as const;
    await Promise.all([
      set("//tmp/d/n99", "changed"),
      set("//tmp/d/n98/@note", "changed"),
      cypress.remove(root, { path: "//tmp/d/n97" }),
      create("map_node", "//tmp/d/new"),
    ]);
    await cypress.move(root, { sourcePath: "//tmp/d/n96", destinationPath: "//tmp/d/new/n96" });
    await cypress.remove(root, { path: "//tmp/d", recursive: true });
    expect(await readings[0]).toEqual(before);
    const listed = await readings[1];
    expect(new Set(Array.isArray(listed) ? listed : [])).toEqual(names);
    await expect(get("//tmp/d")).rejects.toThrow();
  });

  it("inside of a transaction see it as it was, though it ends", async () => {
    const { get, set, cypress } = await directory(60);
    const transactionId = await cypress.startTransaction(root, { timeoutMs: 60_000 });
    const inside = { ...root, transactionId };
    await set("//tmp/d/n1", "inside", inside);
    await cypress.remove(inside, { path: "//tmp/d/n2" });
    const before = await get("//tmp/d", {}, inside);
    const reading = get("//tmp/d", {}, inside);
    await cypress.abortTransaction(root, transactionId);
    expect(await reading).toEqual(before);
  });
});

describe("readings beside random changes", () => {
  const name = fc.nat({ max: 7 }).map((number) => `n${number}`);
  const value = fc.oneof(
    fc.nat({ max: 99 }).map((number): YsonValue => BigInt(number)),
    fc.nat({ max: 9 }).map((number): YsonValue => mapOf({ a: BigInt(number), b: mapOf({}) })),
  );
  const change = fc.record({ name, value: fc.option(value, { nil: undefined }) });

  it("each give the state in which they began", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 12 }), async (changes) => {
        const { get, cypress } = await directory(8);
        const model = new Map<string, YsonValue>();
        for (let index = 0; index < 8; index += 1) {
          model.set(`n${index}`, BigInt(index));
        }
        const readings: { expected: YsonValue; given: Promise<YsonValue> }[] = [];
        for (const { name: key, value: wanted } of changes) {
          readings.push({ expected: new Map(model), given: get("//tmp/d") });
          const path = `//tmp/d/${key}`;
          if (wanted === undefined) {
            model.delete(key);
            await cypress.remove(root, { path, force: true, recursive: true });
          } else {
            model.set(key, wanted);
            await cypress.set(root, { path, value: wanted, force: true });
          }
        }
        readings.push({ expected: model, given: get("//tmp/d") });
        for (const { expected, given } of readings) {
          expect(await given).toEqual(expected);
        }
      }),
      { numRuns: 40 },
    );
  });
});
