import { AssertionError } from "@qyt/base";
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import { MemoryStore, rowBlockKey, WriteBatch } from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { defaultMergeSettings } from "./policies.ts";
import { collectRows, plainFormat, rowsOf, TabletFixture, valuesOf } from "./tablet-fixture.ts";

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

function weights(tablet: OrderedTablet, from = 0): number[] {
  return collectRows(tablet.read(from)).map((row) => row.weight);
}

async function remount(tablet: OrderedTablet): Promise<OrderedTablet> {
  await fixture.flush(tablet);
  return fixture.openTablet(tablet);
}

async function seededTablet(): Promise<OrderedTablet> {
  const tablet = await fixture.createTablet({ format: seedFormat });
  for (let i = 0; i < 20; i++) {
    await fixture.append(tablet, ["foo", "bar", "foobar", "megafoo", "megabar"]);
  }
  return tablet;
}

test("[tables 10] cumulative weights of the seed", async () => {
  const tablet = await seededTablet();
  const seen = weights(tablet);
  expect(seen.slice(0, 5)).toEqual([20, 40, 63, 87, 111]);
  expect([seen[42], seen[46], seen[99]]).toEqual([951, 1039, 2220]);
});

test("[tables 11] rows of one commit share a timestamp, the next has a larger one", async () => {
  const tablet = await seededTablet();
  await fixture.append(tablet, ["value1", "value2"]);
  await fixture.append(tablet, ["value3"]);
  const rows = collectRows(tablet.read(100));
  expect(rows.map((row) => row.weight)).toEqual([2243, 2266, 2289]);
  const [first, second, third] = rows.map((row) => row.timestamp);
  expect(first).toBe(second);
  expect(third).toBeGreaterThan(first ?? 0n);
});

test("[tables 12] [tables 13] weights without $timestamp, over a trim and a remount", async () => {
  let tablet = await fixture.createTablet({ format: weightFormat });
  await fixture.append(tablet, ["aaa", "bb"]);
  await fixture.append(tablet, ["c", "cc", "ccc", "cccc", "ccccc"]);
  expect(weights(tablet)).toEqual([12, 23, 33, 44, 56, 69, 83]);
  await fixture.trim(tablet, 4);
  expect(weights(tablet)).toEqual([56, 69, 83]);
  await fixture.append(tablet, ["eeee", "f"]);
  expect(weights(tablet)).toEqual([56, 69, 83, 96, 106]);
  tablet = await remount(tablet);
  await fixture.append(tablet, ["ggg", "hhhh"]);
  expect(weights(tablet)).toEqual([56, 69, 83, 96, 106, 118, 131]);
});

test("[tables 14] weights with $timestamp", async () => {
  let tablet = await fixture.createTablet({ format: seedFormat });
  await fixture.append(tablet, ["hey you"]);
  await fixture.append(tablet, ["hello world!"]);
  tablet = await remount(tablet);
  await fixture.append(tablet, ["a"]);
  await fixture.append(tablet, ["bb"]);
  expect(weights(tablet)).toEqual([24, 53, 71, 90]);
});

test("[tables 15] a null weighs nothing", async () => {
  const tablet = await fixture.createTablet({ format: weightFormat });
  await fixture.append(tablet, [undefined, "a"]);
  expect(weights(tablet)).toEqual([9, 19]);
});

test("[tables 16] preset cumulative weights", async () => {
  const seen = [];
  for (const cumulativeDataWeight of [1000, 2000, 0]) {
    const tablet = await fixture.createTablet({ format: weightFormat, cumulativeDataWeight });
    await fixture.append(tablet, ["aaa"]);
    await fixture.append(tablet, ["bb"]);
    seen.push(weights(tablet));
  }
  expect(seen).toEqual([
    [1012, 1023],
    [2012, 2023],
    [12, 23],
  ]);
});

test("[tables 83] a preset trimmed row count is where the rows begin", async () => {
  const tablet = await fixture.createTablet({ trimmedRowCount: 3 });
  expect(tablet.statistics()).toMatchObject({ flushedRowCount: 3, trimmedRowCount: 3, totalRowCount: 3 });
  const { firstRowIndex } = await fixture.append(tablet, ["a"]);
  expect(firstRowIndex).toBe(3);
  expect(collectRows(tablet.read(0)).map((row) => row.index)).toEqual([3]);
});

test("[tables 74] flushing an empty tablet makes no chunk", async () => {
  const tablet = await fixture.createTablet();
  await fixture.flush(tablet);
  expect(tablet.statistics()).toMatchObject({ chunkCount: 0, flushedRowCount: 0 });
});

test("[tables 99] [tables 100] indexes are continuous over chunks and live rows", async () => {
  let tablet = await fixture.createTablet();
  for (let round = 0; round < 3; round++) {
    const values = Array.from({ length: 100 }, (_, i) => `row ${round} ${i}`);
    await fixture.append(tablet, values);
    expect(collectRows(tablet.read(0)).map((row) => row.index)).toEqual(
      Array.from({ length: 100 * (round + 1) }, (_, i) => i),
    );
    tablet = await remount(tablet);
  }
  expect(tablet.statistics()).toMatchObject({ chunkCount: 3, flushedRowCount: 300 });
  expect(valuesOf(tablet.read(99, { maxRowCount: 2 }))).toEqual(["row 0 99", "row 1 0"]);
});

test("[tables 120] trimmed rows disappear, indexes stay", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c", "d", "e"]);
  await fixture.trim(tablet, 3);
  expect(collectRows(tablet.read(0)).map(({ index, value }) => [index, value])).toEqual([
    [3, "d"],
    [4, "e"],
  ]);
});

test("[tables 121] a trim not above the present count changes nothing", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c"]);
  await fixture.trim(tablet, 2);
  for (const count of [-1, 0, 1, 2]) {
    await fixture.trim(tablet, count);
    expect(tablet.info().trimmedRowCount).toBe(2);
  }
});

test("[tables 122] a trim beyond the total is refused", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c", "d", "e"]);
  expect(() => tablet.prepareTrim(new WriteBatch(), 7)).toThrow(
    `Cannot trim tablet ${tablet.tabletId} at row 7 since it only has 5 row(s)`,
  );
  expect(tablet.info().trimmedRowCount).toBe(0);
});

test("[tables 123] a chunk wholly below the trimmed count goes, with its blocks", async () => {
  const tablet = await fixture.createTablet();
  for (const value of ["a", "b", "c"]) {
    await fixture.append(tablet, [value, value]);
    await fixture.flush(tablet);
  }
  const first = tablet.visible.sealed[0];
  await fixture.trim(tablet, 1);
  expect(tablet.statistics().chunkCount).toBe(3);
  await fixture.trim(tablet, 3);
  expect(tablet.statistics()).toMatchObject({ chunkCount: 2, chunkRowCount: 4, trimmedRowCount: 3 });
  expect(fixture.chunks.find(first?.chunkId ?? "")).toBeUndefined();
  await fixture.chunks.settled();
  await clock.advance(1000);
  expect(fixture.cell.get(rowBlockKey(first?.storeId ?? 0n, 0))).toBeUndefined();
  expect(valuesOf(tablet.read(0))).toEqual(["b", "c", "c"]);
});

test("[tables 124] the trimmed count survives a remount", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c"]);
  await fixture.trim(tablet, 2);
  const again = await remount(tablet);
  expect(again.info()).toMatchObject({ trimmedRowCount: 2, totalRowCount: 3 });
  expect(valuesOf(again.read(0))).toEqual(["c"]);
});

test("[tables 125] a forced unmount loses unflushed rows", async () => {
  const tablet = await fixture.createTablet({ format: weightFormat });
  await fixture.append(tablet, ["a", "b"]);
  await fixture.flush(tablet);
  await fixture.append(tablet, ["c", "d"]);
  await fixture.trim(tablet, 3);
  await fixture.change((batch) => tablet.prepareDropUnflushed(batch));
  const again = await fixture.openTablet(tablet);
  expect(again.statistics()).toMatchObject({ flushedRowCount: 2, trimmedRowCount: 2, totalRowCount: 2 });
  const { firstRowIndex } = await fixture.append(again, ["e"]);
  expect(firstRowIndex).toBe(2);
  expect(collectRows(again.read(0))).toMatchObject([{ index: 2, value: "e", weight: 30 }]);
});

test("[tables 126] [tables 127] only flushed rows, from the trimmed count on", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b", "c"]);
  expect(valuesOf(tablet.read(0, { flushedOnly: true }))).toEqual([]);
  await fixture.flush(tablet);
  await fixture.append(tablet, ["d"]);
  await fixture.trim(tablet, 1);
  expect(valuesOf(tablet.read(0, { flushedOnly: true }))).toEqual(["b", "c"]);
});

test("[tables 131] info: counts, the last write, and a barrier that moves on while idle", async () => {
  const tablet = await fixture.createTablet();
  expect(tablet.info().lastWriteTimestamp).toBe(0n);
  await fixture.append(tablet, ["a", "b", "c", "d", "e"]);
  await fixture.trim(tablet, 2);
  const timestamp = await fixture.cell.generateTimestamp();
  const info = tablet.info();
  expect(info).toMatchObject({ totalRowCount: 5, trimmedRowCount: 2 });
  expect(info.barrierTimestamp).toBeGreaterThan(timestamp);
  expect(info.lastWriteTimestamp).toBe(collectRows(tablet.read(4))[0]?.timestamp);
  store.hold();
  const append = fixture.append(tablet, ["f"]);
  expect(tablet.info().barrierTimestamp).toBe(info.barrierTimestamp);
  store.release();
  await append;
  expect(collectRows(tablet.read(5))[0]?.timestamp).toBeGreaterThan(info.barrierTimestamp);
});

test("[tables 136] data weight of chunks that were trimmed away", async () => {
  const tablet = await fixture.createTablet();
  for (const value of ["1234567", "123456789012", "1234567", "1234"]) {
    await fixture.append(tablet, [value]);
    await fixture.flush(tablet);
  }
  await fixture.trim(tablet, 3);
  expect(tablet.statistics()).toMatchObject({ trimmedDataWeight: 29, chunkDataWeight: 5 });
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

test("a selection of rows goes to the tablet in its order", async () => {
  const tablet = await fixture.createTablet({ format: weightFormat });
  const rows = rowsOf(["a", "bb", "ccc", "dddd"]);
  const change = await fixture.change((batch) =>
    tablet.prepareAppend(batch, rows, [1, 3], fixture.cell.nextTimestamp()),
  );
  expect(change).toMatchObject({ firstRowIndex: 0, rowCount: 2, dataWeight: 11 + 13 });
  expect(collectRows(tablet.read(0))).toMatchObject([
    { value: "bb", weight: 11 },
    { value: "dddd", weight: 24 },
  ]);
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

test("rows are seen when they are durable, several appends in flight keep their order", async () => {
  const tablet = await fixture.createTablet();
  store.hold();
  const appends = ["a", "b", "c"].map((value) => fixture.append(tablet, [value]));
  expect(tablet.pending.totalRowCount).toBe(3);
  expect(valuesOf(tablet.read(0))).toEqual([]);
  store.release(1);
  await appends[0];
  expect(valuesOf(tablet.read(0))).toEqual(["a"]);
  store.release();
  expect((await Promise.all(appends)).map((append) => append.firstRowIndex)).toEqual([0, 1, 2]);
  expect(valuesOf(tablet.read(0))).toEqual(["a", "b", "c"]);
});

test("a failed flush of the disk takes back all that was in flight", async () => {
  const tablet = await fixture.createTablet({ format: weightFormat });
  await fixture.append(tablet, ["a", "b"]);
  await fixture.flush(tablet);
  const before = tablet.visible;
  store.hold();
  const changes = [
    fixture.append(tablet, ["c"]),
    fixture.flush(tablet),
    fixture.append(tablet, ["d"]),
    fixture.trim(tablet, 3),
  ].map((change) =>
    change.then(
      () => "durable",
      () => "failed",
    ),
  );
  store.failAt(2);
  store.release();
  expect(await Promise.all(changes)).toEqual(["durable", "failed", "failed", "failed"]);
  expect(tablet.pending).toBe(tablet.visible);
  expect(tablet.visible).toMatchObject({ totalRowCount: 3, trimmedRowCount: 0, cumulativeDataWeight: 30 });
  expect(tablet.visible.sealed).toEqual(before.sealed);
  expect(fixture.chunks.chunkCount).toBe(1);
  await new Promise((resolve) => setImmediate(resolve));
  await fixture.append(tablet, ["e"]);
  expect(
    collectRows((await fixture.openTablet(tablet)).read(0)).map((row) => [row.value, row.weight]),
  ).toEqual([
    ["a", 10],
    ["b", 20],
    ["c", 30],
    ["e", 40],
  ]);
});

test("a batch given up before its commit is taken back", async () => {
  const tablet = await fixture.createTablet();
  const batch = new WriteBatch();
  const parts = [1, 2].map(() =>
    tablet.prepareAppend(batch, rowsOf(["a"]), undefined, fixture.cell.nextTimestamp()),
  );
  expect(() => parts[0]?.onFailed()).toThrow(AssertionError);
  for (const part of parts.toReversed()) {
    part.onFailed();
  }
  expect(tablet.pending.totalRowCount).toBe(0);
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

test("a waiting pull is woken by the append, or by its signal", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a"]);
  const controller = new AbortController();
  await tablet.waitForRows(0, controller.signal);
  let isWoken = false;
  const waiting = tablet.waitForRows(2, controller.signal).then(() => {
    isWoken = true;
  });
  const given = tablet.waitForRows(9, controller.signal);
  await fixture.append(tablet, ["b"]);
  expect(isWoken).toBe(false);
  await fixture.append(tablet, ["c"]);
  await waiting;
  controller.abort(new Error("gone"));
  await expect(given).rejects.toThrow("gone");
  await expect(tablet.waitForRows(9, controller.signal)).rejects.toThrow("gone");
});

test("closing a tablet wakes those who wait", async () => {
  const tablet = await fixture.createTablet();
  const waiting = tablet.waitForRows(5, new AbortController().signal);
  tablet.close();
  await waiting;
  await tablet.waitForRows(5, new AbortController().signal);
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

test("a format may change only while nothing is unflushed", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a"]);
  tablet.setFormat({ ...plainFormat });
  expect(() => tablet.setFormat(seedFormat)).toThrow(AssertionError);
  await fixture.flush(tablet);
  tablet.setFormat(seedFormat);
  await fixture.append(tablet, ["a"]);
  const formats = [...tablet.read(0)].map((slice) => slice.format.hasTimestamp);
  expect(formats).toEqual([false, true]);
});
