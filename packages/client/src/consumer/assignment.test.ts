/** Properties of the assignment of partitions: balanced, sticky, as few moves as can be, none left alone. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assignPartitions, type GroupMember } from "./assignment.ts";

interface World {
  readonly members: readonly GroupMember[];
  readonly partitions: readonly string[];
  readonly owners: ReadonlyMap<string, string>;
}

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Members that read everything; owners may be dead ones, or nobody. */
const worlds: fc.Arbitrary<World> = fc
  .record({ members: fc.integer({ min: 1, max: 9 }), partitions: fc.integer({ min: 0, max: 40 }) })
  .chain(({ members, partitions }) =>
    fc
      .array(fc.integer({ min: -2, max: members - 1 }), { minLength: partitions, maxLength: partitions })
      .map((owners) => ({
        members: names("m", members).map((id) => ({ id })),
        partitions: names("p", partitions),
        owners: new Map(owners.map((owner, index) => [`p${index}`, owner < 0 ? "dead" : `m${owner}`])),
      })),
  );

const assign = ({ members, partitions, owners }: World) => assignPartitions(members, partitions, owners);

function loadsOf(members: readonly GroupMember[], wanted: ReadonlyMap<string, string>): number[] {
  return members.map(({ id }) => [...wanted.values()].filter((owner) => owner === id).length);
}

describe("the assignment of partitions", () => {
  it("gives every partition to a live member, each about as many as any other", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const wanted = assign(world);
        expect([...wanted.keys()].sort()).toEqual([...world.partitions].sort());
        const loads = loadsOf(world.members, wanted);
        expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
      }),
    );
  });

  it("moves no more partitions than balance needs", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const wanted = assign(world);
        const ids = new Set(world.members.map(({ id }) => id));
        const owned = world.partitions.filter((partition) => ids.has(world.owners.get(partition) ?? ""));
        const moves = owned.filter((partition) => wanted.get(partition) !== world.owners.get(partition));
        // Who has most keeps a partition more where they do not go up evenly; what is above that has to go.
        const held = world.members
          .map(({ id }) => owned.filter((partition) => world.owners.get(partition) === id).length)
          .sort((left, right) => right - left);
        const floor = Math.floor(world.partitions.length / world.members.length);
        const larger = world.partitions.length % world.members.length;
        const needed = held.map((count, index) => Math.max(0, count - floor - (index < larger ? 1 : 0)));
        expect(moves).toHaveLength(needed.reduce((sum, count) => sum + count, 0));
      }),
    );
  });

  it("moves nothing when what it wanted has come about, whatever the order of what is read", () => {
    fc.assert(
      fc.property(worlds, (world) => {
        const wanted = assign(world);
        const again = assignPartitions(world.members.toReversed(), world.partitions.toReversed(), wanted);
        expect([...again].sort()).toEqual([...wanted].sort());
      }),
    );
  });

  it("gives a partition only to a member that reads it, and balances among those", () => {
    const masks = fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(masks, fc.integer({ min: 0, max: 30 }), (readers, count) => {
        // A partition is of one of three queues, a member reads some of the three.
        const queueOf = (partition: string): number => Number(partition.slice(1)) % 3;
        const members = readers.map((mask, index) => ({
          id: `m${index}`,
          reads: (partition: string) => (mask & (1 << queueOf(partition))) !== 0,
        }));
        const partitions = names("p", count);
        const wanted = assignPartitions(members, partitions, new Map());
        const loads = new Map(members.map(({ id }, index) => [id, loadsOf(members, wanted)[index] ?? 0]));
        for (const partition of partitions) {
          const able = members.filter(({ reads }) => reads(partition));
          const owner = members.find(({ id }) => id === wanted.get(partition));
          expect(owner === undefined).toBe(able.length === 0);
          for (const { id } of owner === undefined ? [] : able) {
            expect((loads.get(owner?.id ?? "") ?? 0) - (loads.get(id) ?? 0)).toBeLessThan(2);
          }
        }
      }),
    );
  });
});
