import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import { keyspace, MemoryStore, prefixRange, storeKey, WriteBatch } from "../../cell/index.ts";
import { collectRows, plainFormat, rowsOf, TabletFixture, valuesOf } from "../ordered/tablet-fixture.ts";
import { decodeChunkRecord, encodeChunkRecord, schemalessFormat } from "./chunk.ts";
import { combinePrepared } from "./prepared.ts";
import { StaticChunkList } from "./static-chunk-list.ts";
import { StaticChunkWriter } from "./static-chunk-writer.ts";

let store: ForgetfulStore;
let clock: FakeClock;
let fixture: TabletFixture;

beforeEach(async () => {
  store = new ForgetfulStore(new MemoryStore());
  clock = new FakeClock();
  fixture = await TabletFixture.open({ store, clock });
});

/** How many records of row blocks there are, removals under way finished. */
async function blockRecords(): Promise<number> {
  await fixture.chunks.settled();
  await clock.advance(10_000);
  const { from, to } = prefixRange(storeKey(keyspace.rowBlocks));
  return [...store.range(from, to)].length;
}

async function upload(values: readonly string[]): Promise<StaticChunkWriter> {
  const writer = new StaticChunkWriter(fixture.chunks, plainFormat);
  await writer.write(rowsOf(values));
  await writer.close();
  return writer;
}

/** Uploads rows and puts them at the end of the list. */
async function appendTo(list: StaticChunkList, values: readonly string[]): Promise<void> {
  const writer = await upload(values);
  await fixture.change((batch) => {
    const upload = writer.finish(batch);
    return combinePrepared([upload, list.prepareAdopt(batch, upload.chunk)]);
  });
}

test("a chunk record comes back as it was, names that are not UTF-8 too", () => {
  const meta = {
    id: "1-2-10064-ffffffff",
    storeId: 0x3fff_ffff_ffff_fff0n,
    rowCount: 3,
    dataWeight: 111,
    baseCumulativeWeight: 2 ** 50,
    byteSize: 777,
    minTimestamp: 1865777451725072279n,
    maxTimestamp: 1865777698685609732n,
    format: { columns: ["data", "\udcff", 'a"\n'], hasTimestamp: true, hasCumulativeDataWeight: false },
  };
  expect(decodeChunkRecord(meta.id, encodeChunkRecord(meta, 5))).toEqual({ meta, refCount: 5 });
  const schemaless = { ...meta, format: schemalessFormat };
  expect(decodeChunkRecord(meta.id, encodeChunkRecord(schemaless, 1)).meta).toEqual(schemaless);
});

test("static rows come back over chunks and ranges, also after a restart", async () => {
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  const values = Array.from({ length: 3000 }, (_, i) => `${i}`.repeat(1 + (i % 50)));
  await appendTo(list, values.slice(0, 2000));
  await appendTo(list, values.slice(2000));
  expect(list.statistics()).toMatchObject({ chunkCount: 2, rowCount: 3000 });
  expect(list.statistics().dataWeight).toBe(values.reduce((sum, value) => sum + 1 + value.length, 0));
  const again = await TabletFixture.open({ store: await store.crash(), clock });
  const found = StaticChunkList.open(again.cell, again.chunks, list.id);
  expect(valuesOf(found.read())).toEqual(values);
  for (const [from, to] of [
    [0, 1],
    [1999, 2001],
    [2999, 5000],
    [700, 700],
    [4000, 5000],
  ] as const) {
    expect(valuesOf(found.read(from, to))).toEqual(values.slice(from, to));
  }
  expect(collectRows(found.read(2000, 2001))[0]?.index).toBe(2000);
});

test("rows that come one by one are put together, long ones are cut", async () => {
  const writer = new StaticChunkWriter(fixture.chunks, plainFormat);
  const values = Array.from({ length: 400 }, (_, i) => (i % 100 === 99 ? "x".repeat(30_000) : `row ${i}`));
  for (const value of values) {
    await writer.write(rowsOf([value]));
  }
  await writer.close();
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  await fixture.change((batch) => {
    const upload = writer.finish(batch);
    return combinePrepared([upload, list.prepareAdopt(batch, upload.chunk)]);
  });
  expect(valuesOf(list.read())).toEqual(values);
  expect(await blockRecords()).toBeLessThan(30);
});

test("an upload of many commits that a crash cuts off leaves nothing", async () => {
  await upload(Array.from({ length: 2000 }, () => "x".repeat(1000)));
  expect(await blockRecords()).toBeGreaterThan(200);
  store = await store.crash();
  fixture = await TabletFixture.open({ store, clock });
  expect(await blockRecords()).toBe(0);
  expect(fixture.chunks.chunkCount).toBe(0);
});

test("an upload given up leaves nothing", async () => {
  const writer = await upload(["a", "b"]);
  await writer.abort();
  await writer.abort();
  expect(await blockRecords()).toBe(0);
});

test("a failed final mutation leaves the upload as it was", async () => {
  const writer = await upload(["a"]);
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  const finish = () =>
    fixture.change((batch) => {
      const upload = writer.finish(batch);
      return combinePrepared([upload, list.prepareAdopt(batch, upload.chunk)]);
    });
  store.failAt(1);
  await expect(finish()).rejects.toThrow("Disk is broken");
  expect([list.rowCount, fixture.chunks.chunkCount]).toEqual([0, 0]);
  await new Promise((resolve) => setImmediate(resolve));
  await finish();
  expect(valuesOf(list.read())).toEqual(["a"]);
});

test("[tables 180] an exported chunk outlives the trim of its queue, and goes with its last list", async () => {
  const tablet = await fixture.createTablet({ format: { ...plainFormat, hasCumulativeDataWeight: true } });
  await fixture.append(tablet, ["a", "b"]);
  const { chunk } = await fixture.change((batch) => tablet.prepareFlush(batch));
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  await fixture.change((batch) => list.prepareShare(batch, [chunk?.id ?? ""]));
  await fixture.append(tablet, ["c"]);
  await fixture.trim(tablet, 3);
  expect(valuesOf(tablet.read(0))).toEqual([]);
  expect(fixture.chunks.get(chunk?.id ?? "").refCount).toBe(1);
  expect(collectRows(list.read())).toMatchObject([
    { index: 0, value: "a", weight: 10 },
    { index: 1, value: "b", weight: 20 },
  ]);
  await fixture.change((batch) => list.prepareClear(batch));
  expect(fixture.chunks.find(chunk?.id ?? "")).toBeUndefined();
  // What is left is the live row.
  expect(await blockRecords()).toBe(1);
});

test("references roll back in reverse order when the disk fails", async () => {
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  await appendTo(list, ["a"]);
  const id = list.refs[0]?.chunkId ?? "";
  const other = StaticChunkList.create(fixture.cell, fixture.chunks);
  store.hold();
  const changes = [
    fixture.change((batch) => other.prepareShare(batch, [id, id])),
    fixture.change((batch) => list.prepareClear(batch)),
    fixture.change((batch) => other.prepareClear(batch)),
  ].map((change) => change.catch(() => "failed"));
  expect(fixture.chunks.find(id)).toBeUndefined();
  expect(() => other.prepareShare(new WriteBatch(), [id])).toThrow(expect.objectContaining({ code: 708 }));
  store.failAt(1);
  store.release();
  expect(await Promise.all(changes)).toEqual(["failed", "failed", "failed"]);
  expect(fixture.chunks.get(id).refCount).toBe(1);
  expect(valuesOf(list.read())).toEqual(["a"]);
  expect(other.rowCount).toBe(0);
});

test("a condemned store is removed after a crash too, before and after it was handed over", async () => {
  for (const flushed of [0, 1]) {
    const list = StaticChunkList.create(fixture.cell, fixture.chunks);
    await appendTo(list, ["a", "b"]);
    store.hold();
    void fixture.change((batch) => list.prepareClear(batch));
    store.release(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(list.rowCount).toBe(0);
    store = await store.crash(flushed);
    fixture = await TabletFixture.open({ store, clock });
    expect(await blockRecords()).toBe(0);
  }
});

test("a pinned store keeps its blocks until the last reader has gone", async () => {
  const list = StaticChunkList.create(fixture.cell, fixture.chunks);
  await appendTo(list, ["a", "b"]);
  const readers = [list.read(), list.read()];
  for (const reader of readers) {
    reader.next();
  }
  await fixture.change((batch) => list.prepareClear(batch));
  expect(await blockRecords()).toBe(1);
  readers[0]?.return();
  expect(await blockRecords()).toBe(1);
  readers[1]?.next();
  expect(await blockRecords()).toBe(0);
});
