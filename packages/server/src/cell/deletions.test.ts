/** Background removal of key ranges. */
import { seededRandom } from "@qyt/base";
import { FakeClock, ForgetfulStore, settle } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { Cell, keyspace, MemoryStore, type Store, storeKey, u32be, WriteBatch } from "./index.ts";

const blockKey = (store: number, row: number): Buffer =>
  storeKey(keyspace.rowBlocks, u32be(store), u32be(row));
const rangeOf = (store: number): [Buffer, Buffer] => [
  storeKey(keyspace.rowBlocks, u32be(store)),
  storeKey(keyspace.rowBlocks, u32be(store + 1)),
];

function openCell(store: Store, clock: FakeClock): Promise<Cell> {
  return Cell.open({
    store,
    clock,
    random: seededRandom(1),
    cellTag: 1,
    deletions: { sliceRecords: 10, pauseMs: 5, retryMs: 1000 },
  });
}

async function fill(cell: Cell, store: number, count: number): Promise<void> {
  const batch = new WriteBatch();
  for (let row = 0; row < count; ++row) {
    batch.put(blockKey(store, row), Buffer.from("row"));
  }
  await cell.commit({ batch });
}

const countOf = (cell: Cell, store: number): number => [...cell.range(...rangeOf(store))].length;

describe("scheduleRangeRemoval", () => {
  it("removes the range in slices with a pause between them, and nothing beside it", async () => {
    const clock = new FakeClock();
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store, clock);
    await fill(cell, 1, 5);
    await fill(cell, 2, 35);
    await fill(cell, 3, 5);
    const batch = new WriteBatch();
    cell.scheduleRangeRemoval(batch, ...rangeOf(2));
    await settle();
    expect(countOf(cell, 2)).toBe(35);
    await cell.commit({ batch });
    await settle();
    expect(countOf(cell, 2)).toBe(25);
    await settle();
    expect(countOf(cell, 2)).toBe(25);
    await clock.advance(5);
    expect(countOf(cell, 2)).toBe(15);
    await clock.advance(1000);
    await cell.deletionsIdle();
    expect([1, 2, 3].map((id) => countOf(cell, id))).toEqual([5, 0, 5]);
    expect([...cell.range(storeKey(keyspace.deletions), storeKey(keyspace.mutationIds))]).toEqual([]);
    expect(cell.metrics).toMatchObject({ rangeRemovals: 1, removedRecords: 35 });
  });

  it("does nothing when the mutation that carries it fails", async () => {
    const clock = new FakeClock();
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store, clock);
    await fill(cell, 1, 5);
    store.failAt(1);
    const batch = new WriteBatch();
    cell.scheduleRangeRemoval(batch, ...rangeOf(1));
    await expect(cell.commit({ batch })).rejects.toThrow();
    await clock.advance(5000);
    expect(countOf(cell, 1)).toBe(5);
  });

  it("goes on after a crash between any two slices", async () => {
    for (let crashAfterWrites = 1; crashAfterWrites <= 8; ++crashAfterWrites) {
      const clock = new FakeClock();
      let store = new ForgetfulStore(new MemoryStore());
      let cell = await openCell(store, clock);
      await fill(cell, 1, 25);
      await fill(cell, 2, 25);
      await fill(cell, 3, 3);
      store.hold();
      store.release(crashAfterWrites);
      const batch = new WriteBatch();
      cell.scheduleRangeRemoval(batch, ...rangeOf(1));
      cell.scheduleRangeRemoval(batch, ...rangeOf(2));
      void cell.commit({ batch });
      await clock.advance(100);
      store = await store.crash();
      cell = await openCell(store, clock);
      await clock.advance(100);
      await cell.deletionsIdle();
      expect([1, 2, 3].map((id) => countOf(cell, id))).toEqual([0, 0, 3]);
    }
  });

  it("tries a failed slice again later", async () => {
    const clock = new FakeClock();
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store, clock);
    await fill(cell, 1, 15);
    const batch = new WriteBatch();
    cell.scheduleRangeRemoval(batch, ...rangeOf(1));
    store.failAt(2);
    await cell.commit({ batch });
    await clock.advance(999);
    expect(countOf(cell, 1)).toBe(15);
    await clock.advance(100);
    expect(countOf(cell, 1)).toBe(0);
  });

  it("stops with the cell and leaves the rest to the next start", async () => {
    const clock = new FakeClock();
    const durable = new MemoryStore();
    const cell = await openCell(new ForgetfulStore(durable), clock);
    await fill(cell, 1, 100);
    const batch = new WriteBatch();
    cell.scheduleRangeRemoval(batch, ...rangeOf(1));
    await cell.commit({ batch });
    await cell.close();
    const reopened = await openCell(new ForgetfulStore(durable), clock);
    expect(countOf(reopened, 1)).toBeGreaterThan(50);
    await clock.advance(1000);
    expect(countOf(reopened, 1)).toBe(0);
  });
});
