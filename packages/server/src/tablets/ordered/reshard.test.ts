import { AssertionError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import { MemoryStore, WriteBatch } from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { prepareJoin } from "./reshard.ts";
import { collectRows, plainFormat, TabletFixture, valuesOf } from "./tablet-fixture.ts";

let fixture: TabletFixture;

beforeEach(async () => {
  fixture = await TabletFixture.open({ store: new MemoryStore(), clock: new FakeClock() });
});

async function unmountedTablet(...chunks: (readonly string[])[]): Promise<OrderedTablet> {
  const tablet = await fixture.createTablet({ format: { ...plainFormat, hasCumulativeDataWeight: true } });
  for (const values of chunks) {
    await fixture.append(tablet, values);
    await fixture.flush(tablet);
  }
  return tablet;
}

test("[tables 81] joined rows follow in tablet order at consecutive indexes, also after a restart", async () => {
  const tablets = await Promise.all(
    ["b", "c", "d", "e"].map((name) => unmountedTablet([name, `${name}2`], [`${name}3`])),
  );
  const [kept, ...dropped] = tablets;
  if (kept === undefined) {
    return expect.fail("no tablet");
  }
  await fixture.change((batch) => prepareJoin(batch, fixture.chunks, kept, dropped));
  const expected = ["b", "b2", "b3", "c", "c2", "c3", "d", "d2", "d3", "e", "e2", "e3"];
  for (const tablet of [kept, await fixture.openTablet(kept)]) {
    const rows = collectRows(tablet.read(0));
    expect(rows.map((row) => row.value)).toEqual(expected);
    expect(rows.map((row) => row.index)).toEqual(expected.map((_, i) => i));
    expect(tablet.statistics()).toMatchObject({
      flushedRowCount: 12,
      chunkCount: 8,
      cumulativeDataWeight: 4 * 32,
    });
    expect(tablet.retainedDataWeight).toBe(tablet.statistics().chunkDataWeight);
    expect(collectRows(tablet.read(4, { toRow: 5 }))).toMatchObject([{ index: 4, value: "c2", weight: 21 }]);
  }
  const { firstRowIndex } = await fixture.append(kept, ["new"]);
  expect(firstRowIndex).toBe(12);
  expect(collectRows(kept.read(12))[0]?.weight).toBe(4 * 32 + 12);
  await expect(fixture.openTablet(dropped[0] ?? kept)).rejects.toThrow(
    expect.objectContaining({ code: 1701 }),
  );
});

test("[tables 82] a tablet trimmed inside a chunk cannot be joined, one trimmed at a border can", async () => {
  const kept = await unmountedTablet(["a"]);
  const dropped = await unmountedTablet(["b", "c"], ["d"]);
  await fixture.trim(dropped, 1);
  expect(() => prepareJoin(new WriteBatch(), fixture.chunks, kept, [dropped])).toThrow(
    `Some chunks of tablet ${dropped.tabletId} are not fully trimmed`,
  );
  await fixture.trim(dropped, 2);
  await fixture.change((batch) => prepareJoin(batch, fixture.chunks, kept, [dropped]));
  expect(valuesOf(kept.read(0))).toEqual(["a", "d"]);
});

test("a kept tablet that is wholly trimmed goes on where it stood", async () => {
  const kept = await unmountedTablet(["a", "b"]);
  await fixture.trim(kept, 2);
  const dropped = await unmountedTablet(["c"]);
  await fixture.change((batch) => prepareJoin(batch, fixture.chunks, kept, [dropped]));
  const again = await fixture.openTablet(kept);
  expect(collectRows(again.read(0))).toMatchObject([{ index: 2, value: "c" }]);
});

test("tablets with unflushed rows are not joined", async () => {
  const kept = await unmountedTablet();
  const dropped = await unmountedTablet();
  await fixture.append(dropped, ["a"]);
  expect(() => prepareJoin(new WriteBatch(), fixture.chunks, kept, [dropped])).toThrow(AssertionError);
});

test("[tables 89] a copy shares the chunks of a tablet trimmed inside one, and shows the same rows", async () => {
  const source = await unmountedTablet(["a", "b", "c"], ["d"]);
  await fixture.trim(source, 1);
  const copy = await fixture.createTablet({
    format: source.format,
    sealed: source.visible.sealed,
    trimmedRowCount: source.visible.trimmedRowCount,
    cumulativeDataWeight: source.visible.cumulativeDataWeight,
  });
  await fixture.change((batch) => source.prepareDestroy(batch));
  for (const tablet of [copy, await fixture.openTablet(copy)]) {
    expect(collectRows(tablet.read(0))).toMatchObject([
      { index: 1, value: "b", weight: 20 },
      { index: 2, value: "c", weight: 30 },
      { index: 3, value: "d", weight: 40 },
    ]);
  }
  await fixture.append(copy, ["e"]);
  expect(collectRows(copy.read(4))).toMatchObject([{ index: 4, weight: 50 }]);
});
