import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseReference, referenceToString } from "../objects/reference.ts";
import { type MappingInput, planMapping, type ShardedObject } from "./mapping-plan.ts";
import { Rendezvous } from "./rendezvous.ts";

function objectsOf(keys: readonly string[], stage: string | null = "production"): Map<string, ShardedObject> {
  return new Map(keys.map((key) => [key, { reference: parseReference(key), queueAgentStage: stage }]));
}

function plan(input: Partial<MappingInput>) {
  return planMapping({
    stage: "production",
    objects: new Map(),
    mapping: new Map(),
    instances: [],
    foreignInstances: new Set(),
    ...input,
  });
}

/** The mapping after the plan was carried out. */
function applied(input: MappingInput): Map<string, string> {
  const { write, remove } = planMapping(input);
  const result = new Map([...input.mapping, ...write]);
  for (const key of remove) {
    result.delete(key);
  }
  return result;
}

const keys = fc.uniqueArray(
  fc
    .record({ cluster: fc.constantFrom("pythia", "freud"), name: fc.string({ maxLength: 12 }) })
    .map(({ cluster, name }) => referenceToString({ cluster, path: `//tmp/${name}` })),
  { maxLength: 60 },
);
const instances = fc.uniqueArray(
  fc.integer({ min: 1, max: 65_535 }).map((port) => `127.0.0.1:${port}`),
  { minLength: 1, maxLength: 8 },
);
const mappings = fc
  .array(fc.tuple(fc.string(), fc.string()))
  .map((entries) => new Map<string, string>(entries));

describe("rendezvous hashing", () => {
  it("chooses alike whatever the order of the instances", () => {
    fc.assert(
      fc.property(keys, instances, (objects, ids) => {
        const forward = new Rendezvous(ids);
        const backward = new Rendezvous(ids.toReversed());
        for (const key of objects) {
          expect(forward.choose(parseReference(key))).toBe(backward.choose(parseReference(key)));
        }
      }),
    );
  });

  it("spreads objects over the instances", () => {
    const ids = ["a:1", "b:1", "c:1", "d:1", "e:1"];
    const rendezvous = new Rendezvous(ids);
    const counts = new Map(ids.map((id) => [id, 0]));
    for (let i = 0; i < 5_000; ++i) {
      const id = rendezvous.choose({ cluster: "pythia", path: `//tmp/queues/q${i}` }) ?? "";
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    for (const count of counts.values()) {
      expect(count).toBeGreaterThan(850);
      expect(count).toBeLessThan(1_150);
    }
  });

  it("knows nobody without instances", () => {
    expect(new Rendezvous([]).choose({ cluster: "a", path: "//b" })).toBeUndefined();
  });
});

describe("mapping", () => {
  it("puts each object of the stage on exactly one living instance, whatever stood there before", () => {
    fc.assert(
      fc.property(keys, instances, mappings, (objects, ids, mapping) => {
        const input = {
          stage: "production",
          objects: objectsOf(objects),
          mapping,
          instances: ids,
          foreignInstances: new Set<string>(),
        };
        const result = applied(input);
        expect([...result.keys()].sort()).toEqual([...objects].sort());
        for (const host of result.values()) {
          expect(ids).toContain(host);
        }
        expect(planMapping({ ...input, mapping: result })).toEqual({ write: new Map(), remove: [] });
      }),
    );
  });

  it("moves only the objects of the instance that was lost, and gives them back when it returns", () => {
    fc.assert(
      fc.property(keys, instances, fc.nat(), (objects, ids, choice) => {
        const lost = ids[choice % ids.length] ?? "";
        const rest = ids.filter((id) => id !== lost);
        fc.pre(rest.length > 0);
        const input = {
          stage: "production",
          objects: objectsOf(objects),
          foreignInstances: new Set<string>(),
        };
        const before = applied({ ...input, mapping: new Map(), instances: ids });
        const after = planMapping({ ...input, mapping: before, instances: rest });
        expect(after.remove).toEqual([]);
        expect([...after.write.keys()].sort()).toEqual(
          [...before].flatMap(([key, host]) => (host === lost ? [key] : [])).sort(),
        );
        const back = applied({
          ...input,
          mapping: applied({ ...input, mapping: before, instances: rest }),
          instances: ids,
        });
        expect(back).toEqual(before);
      }),
    );
  });

  it("drops the rows of objects that are gone", () => {
    expect(plan({ mapping: new Map([["p://tmp/q", "a:1"]]), instances: ["a:1"] }).remove).toEqual([
      "p://tmp/q",
    ]);
  });

  it("drops an object that went to another stage, until that stage takes it over", () => {
    const objects = objectsOf(["p://tmp/q"], "testing");
    const foreignInstances = new Set(["b:1"]);
    const own = plan({
      objects,
      mapping: new Map([["p://tmp/q", "a:1"]]),
      instances: ["a:1"],
      foreignInstances,
    });
    expect(own).toEqual({ write: new Map(), remove: ["p://tmp/q"] });
    const theirs = plan({
      objects,
      mapping: new Map([["p://tmp/q", "b:1"]]),
      instances: ["a:1"],
      foreignInstances,
    });
    expect(theirs).toEqual({ write: new Map(), remove: [] });
  });

  it("maps nothing whose stage is not known yet", () => {
    expect(plan({ objects: objectsOf(["p://tmp/q"], null), instances: ["a:1"] }).write.size).toBe(0);
  });
});
