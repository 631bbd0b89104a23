import { AssertionError } from "@qyt/base";
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import { MemoryStore, rowBlockKey, WriteBatch } from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
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
  await fixture.append(tablet, ["a"]);
  expect(tablet.retainedDataWeight).toBe(7);
  expect((await fixture.openTablet(tablet)).retainedDataWeight).toBe(7);
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

test("those who wait are woken to look again, and may wait anew", async () => {
  const tablet = await fixture.createTablet();
  const waiting = tablet.waitForRows(5, new AbortController().signal);
  tablet.wakeWaiters();
  await waiting;
  const controller = new AbortController();
  const again = tablet.waitForRows(5, controller.signal);
  controller.abort(new Error("still waiting"));
  await expect(again).rejects.toThrow("still waiting");
});

test("closing a tablet wakes those who wait", async () => {
  const tablet = await fixture.createTablet();
  const waiting = tablet.waitForRows(5, new AbortController().signal);
  tablet.close();
  await waiting;
  await tablet.waitForRows(5, new AbortController().signal);
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

test("nothing follows the removal of a tablet, unless it comes to nothing", async () => {
  const tablet = await fixture.createTablet();
  await fixture.append(tablet, ["a", "b"]);
  const removal = tablet.prepareDestroy(new WriteBatch());
  const changes: readonly (() => unknown)[] = [
    () => tablet.prepareTrim(new WriteBatch(), 1),
    () => tablet.prepareFlush(new WriteBatch()),
    () => tablet.prepareDropUnflushed(new WriteBatch()),
    () => tablet.prepareDestroy(new WriteBatch()),
  ];
  for (const change of changes) {
    expect(change).toThrow(expect.objectContaining({ code: 1702 }));
  }
  removal.onFailed();
  await fixture.trim(tablet, 1);
  expect(tablet.visible.trimmedRowCount).toBe(1);
});
