import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import { MemoryStore, rowBlockKey, WriteBatch } from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { defaultMergeSettings } from "./policies.ts";
import { collectRows, plainFormat, TabletFixture, valuesOf } from "./tablet-fixture.ts";

const weightFormat = { ...plainFormat, hasCumulativeDataWeight: true };
const seedFormat = { ...weightFormat, hasTimestamp: true };

let store: ForgetfulStore;
let clock: FakeClock;
let fixture: TabletFixture;

beforeEach(async () => {
  store = new ForgetfulStore(new MemoryStore());
  clock = new FakeClock();
  fixture = await TabletFixture.open({ store, clock });
});

async function seededTablet(): Promise<OrderedTablet> {
  const tablet = await fixture.createTablet({ format: seedFormat });
  for (let i = 0; i < 20; i++) {
    await fixture.append(tablet, ["foo", "bar", "foobar", "megafoo", "megabar"]);
  }
  return tablet;
}

test("[tables 126] [tables 127] only flushed rows, from the trimmed count on", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c"]);
  expect(valuesOf(tablet.read(0, { flushedOnly: true }))).toEqual([]);
  await fixture.flush(tablet);
  await fixture.append(tablet, ["d"]);
  await fixture.trim(tablet, 1);
  expect(valuesOf(tablet.read(0, { flushedOnly: true }))).toEqual(["b", "c"]);
});

test("[queue-api 35] [queue-api 36] [queue-api 37] [queue-api 49] pulls from an offset, with a row limit", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["foo", "bar"]);
  const pull = (offset: number, maxRowCount = 1000) =>
    collectRows(tablet.read(offset, { maxRowCount, stopAtStoreEnd: true })).map((row) => [
      row.index,
      row.value,
    ]);
  expect(pull(1)).toEqual([[1, "bar"]]);
  expect(pull(0, 1)).toEqual([[0, "foo"]]);
  expect(pull(0)).toEqual([
    [0, "foo"],
    [1, "bar"],
  ]);
  expect(pull(2)).toEqual([]);
  expect(pull(1e12)).toEqual([]);
});

test("[queue-api 38] the row that crosses the weight limit is returned", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["foo", "bar", "foobar"]);
  const pull = (maxDataWeight: number) => valuesOf(tablet.read(0, { maxDataWeight, stopAtStoreEnd: true }));
  expect(pull(5)).toEqual(["foo"]);
  // A row of three bytes weighs 1 + 3, and 16 for its index columns.
  expect(pull(20)).toEqual(["foo"]);
  expect(pull(21)).toEqual(["foo", "bar"]);
  expect(pull(40)).toEqual(["foo", "bar"]);
  expect(pull(41)).toEqual(["foo", "bar", "foobar"]);
});

test("the weight limit holds over many blocks, from the middle of one", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(
    tablet,
    Array.from({ length: 500 }, () => "x".repeat(83)),
  );
  expect(collectRows(tablet.read(33, { maxDataWeight: 100 * 250 })).length).toBe(250);
  expect(collectRows(tablet.read(33, { maxDataWeight: 100 * 250 + 1 })).length).toBe(251);
});

test("[queue-api 50] a trimmed offset reads from the first row left", async () => {
  const tablet = await seededTablet();
  await fixture.trim(tablet, 42);
  expect(collectRows(tablet.read(0, { stopAtStoreEnd: true }))[0]?.index).toBe(42);
});

test("a pull stops at the end of the store that holds its start", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b"]);
  await fixture.flush(tablet);
  await fixture.append(tablet, ["c", "d"]);
  expect(valuesOf(tablet.read(1, { stopAtStoreEnd: true }))).toEqual(["b"]);
  expect(valuesOf(tablet.read(2, { stopAtStoreEnd: true }))).toEqual(["c", "d"]);
  expect(valuesOf(tablet.read(1))).toEqual(["b", "c", "d"]);
});

test("rows longer than a stored value come back whole", async () => {
  const tablet = await fixture.createTablet();
  const long = ["x", "y", "z"].map((letter, i) => letter.repeat(8150 + 8164 * i + i * 7));
  await fixture.append(tablet, ["before", ...long, "after"]);
  await fixture.append(tablet, ["last"]);
  const all = ["before", ...long, "after", "last"];
  for (let from = 0; from < all.length; from++) {
    expect(valuesOf(tablet.read(from))).toEqual(all.slice(from));
  }
});

test("rows counted but not stored are an error with their place, never fewer rows", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b"]);
  await fixture.append(tablet, ["c", "d"]);
  await fixture.append(tablet, ["e"]);
  await fixture.flush(tablet);
  const storeId = tablet.visible.sealed[0]?.storeId ?? 0n;
  const batch = new WriteBatch();
  batch.remove(rowBlockKey(storeId, 2));
  await fixture.cell.commit({ batch });
  expect(valuesOf(tablet.read(0, { toRow: 2 }))).toEqual(["a", "b"]);
  expect(valuesOf(tablet.read(4))).toEqual(["e"]);
  for (const from of [0, 2, 3]) {
    expect(() => collectRows(tablet.read(from))).toThrow(
      expect.objectContaining({ code: 737, message: "Stored rows are missing" }),
    );
  }
});

test("a missing end of a chunk, and a missing part of a long row, are errors", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a"]);
  await fixture.append(tablet, ["x".repeat(20_000)]);
  await fixture.flush(tablet);
  const storeId = tablet.visible.sealed[0]?.storeId ?? 0n;
  for (const part of [2, 1, 0]) {
    const batch = new WriteBatch();
    batch.remove(rowBlockKey(storeId, 1, part));
    await fixture.cell.commit({ batch });
    for (const from of [0, 1]) {
      expect(() => collectRows(tablet.read(from))).toThrow(expect.objectContaining({ code: 737 }));
    }
  }
  expect(valuesOf(tablet.read(0, { toRow: 1 }))).toEqual(["a"]);
});

test("a block at another block's place is an error", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a"]);
  await fixture.append(tablet, ["b"]);
  const { storeId } = tablet.visible.dynamic;
  const batch = new WriteBatch();
  batch.put(rowBlockKey(storeId, 1), fixture.cell.get(rowBlockKey(storeId, 0)) ?? Buffer.alloc(0));
  await fixture.cell.commit({ batch });
  expect(() => collectRows(tablet.read(1))).toThrow(expect.objectContaining({ code: 740 }));
});

test("a reader goes on over chunks that are trimmed and flushed under it", async () => {
  const tablet = await fixture.createTablet();
  for (const value of ["a", "b", "c"]) {
    await fixture.append(tablet, [value, value]);
    await fixture.flush(tablet);
  }
  await fixture.append(tablet, ["d"]);
  const reader = tablet.read(0);
  const seen = collectRows([reader.next().value ?? expect.fail("no slice")]);
  await fixture.flush(tablet);
  await fixture.trim(tablet, 7);
  await fixture.append(tablet, ["e"]);
  await fixture.chunks.settled();
  await clock.advance(1000);
  expect(valuesOf(tablet.read(0))).toEqual(["e"]);
  seen.push(...collectRows(reader));
  expect(seen.map((row) => row.value)).toEqual(["a", "a", "b", "b", "c", "c", "d"]);
  await fixture.chunks.settled();
  await clock.advance(1000);
  const end = rowBlockKey(tablet.visible.dynamic.storeId, 0);
  expect([...store.range(rowBlockKey(0n, 0), end)]).toEqual([]);
});

test("search by time and by weight", async () => {
  const tablet = await fixture.createTablet({ format: weightFormat });
  const timestamps: bigint[] = [];
  for (let i = 0; i < 60; i++) {
    timestamps.push(fixture.cell.nextTimestamp());
    await fixture.append(tablet, ["a", "b".repeat(i)]);
    if (i % 25 === 24) {
      await fixture.flush(tablet);
    }
  }
  await fixture.trim(tablet, 10);
  const rows = collectRows(tablet.read(0));
  timestamps.forEach((timestamp, i) => {
    expect(tablet.findRowByTimestamp(timestamp)).toBe(Math.max(10, 2 * i));
  });
  expect(tablet.findRowByTimestamp(fixture.cell.nextTimestamp())).toBe(120);
  for (const { index, weight } of rows) {
    expect(tablet.findRowByCumulativeWeight(weight)).toBe(index);
    expect(tablet.findRowByCumulativeWeight(weight + 1)).toBe(index + 1);
    expect(tablet.rowFacts(index)?.cumulativeDataWeight).toBe(weight);
  }
  expect(tablet.findRowByCumulativeWeight(0)).toBe(10);
  expect(tablet.rowFacts(9)).toBeUndefined();
  expect(tablet.rowFacts(120)).toBeUndefined();
});

test("single rows are merged into few blocks, readers before, during and after see the same", async () => {
  const settings = { ...defaultMergeSettings, maxRunLength: 20 };
  fixture = await TabletFixture.open({ store, clock, mergeSettings: settings });
  const tablet = await fixture.createTablet({ format: seedFormat });
  const values = Array.from({ length: 107 }, (_, i) => `value ${i}`);
  for (const value of values) {
    await fixture.append(tablet, [value]);
  }
  await fixture.merger.idle();
  expect(fixture.merger.mergedBlockCount).toBe(5 * 19);
  const rows = collectRows(tablet.read(0));
  expect(rows.map((row) => row.value)).toEqual(values);
  expect(new Set(rows.map((row) => row.timestamp)).size).toBe(107);
  await fixture.flush(tablet);
  await fixture.merger.idle();
  expect(fixture.merger.mergedBlockCount).toBe(5 * 19 + 6);
  expect(collectRows(tablet.read(0))).toEqual(rows);
  for (const from of [1, 19, 20, 21, 106]) {
    expect(collectRows(tablet.read(from))).toEqual(rows.slice(from));
  }
});

test("a merge under a reader does not lose its place", async () => {
  const tablet = await fixture.createTablet();
  for (let i = 0; i < 25; i++) {
    await fixture.append(tablet, [`${i}`]);
  }
  const reader = tablet.read(5);
  const seen: string[] = [];
  for (let i = 0; i < 2; i++) {
    seen.push(...valuesOf([reader.next().value ?? expect.fail("no slice")]));
  }
  // Rows 0 to 19 become one block; those behind stay, and are what a look from row 8 on finds first.
  fixture.merger.add({ storeId: tablet.visible.dynamic.storeId, fromRow: 0, toRow: 20 });
  await fixture.merger.idle();
  expect(fixture.merger.mergedBlockCount).toBe(19);
  seen.push(...valuesOf(reader));
  expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => `${i + 5}`));
});
