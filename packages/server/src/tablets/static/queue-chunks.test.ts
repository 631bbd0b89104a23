/**
 * Chunks that a queue and tables share, when the process dies or the disk fails at any write: none goes while
 * somebody names it, none stays when nobody does.
 */
import { mapOf } from "@qyt/base";
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { parseRichPath } from "@qyt/yson";
import { expect, test } from "vitest";
import { type Cell, keyspace, MemoryStore, prefixRange, type Store, storeKey } from "../../cell/index.ts";
import type { RequestContext } from "../../cypress/index.ts";
import { decodeChunkRecord } from "../chunks/chunk.ts";
import { decodeObjectId } from "../chunks/index.ts";
import { chunkIdOfKey, chunkRange } from "../chunks/keys.ts";
import { rowsOf } from "../transactions/engine-fixture.ts";
import { attachQueueChunks, fetchQueueChunks } from "./queue-chunks.ts";
import { root, StaticFixture } from "./static-fixture.ts";

const schema =
  '[{name=a;type=int64};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';
const queue = parseRichPath("//tmp/q");

async function newQueue(fixture: StaticFixture): Promise<void> {
  await fixture.create("//tmp/q", `{dynamic=%true;schema=${schema}}`);
  await fixture.tables.mount(root, queue, {});
  for (let round = 0; round < 3; round++) {
    const transaction = fixture.transactions.begin({ user: "root", isBlind: true });
    const table = fixture.tables.dynamicTable(root, queue);
    transaction.insertRows(table, rowsOf(table.writeSchema, `{a=${2 * round}};{a=${2 * round + 1}}`));
    await transaction.commit();
    await fixture.tables.unmount(root, queue, {});
    await fixture.tables.mount(root, queue, {});
  }
}

async function chunkIds(fixture: StaticFixture): Promise<string[]> {
  return Object(await fixture.get("//tmp/q/@chunk_ids"));
}

async function begin(fixture: StaticFixture, parent: RequestContext = root) {
  const transactionId = await fixture.cypress.startTransaction(parent, { timeoutMs: 3_600_000 });
  return { user: "root", transactionId };
}

async function exportTo(
  fixture: StaticFixture,
  path: string,
  ids: readonly string[],
  context: RequestContext,
) {
  await fixture.create(path, `{schema=${schema}}`, context);
  await attachQueueChunks(fixture.tables, context, {
    destination: parseRichPath(path),
    source: queue,
    chunkIds: ids,
  });
}

/** What exports and trims do, as far as it comes. */
async function exportAndTrim(fixture: StaticFixture): Promise<void> {
  const ids = await chunkIds(fixture);
  const outer = await begin(fixture);
  const inner = await begin(fixture, outer);
  await exportTo(fixture, "//tmp/first", ids.slice(0, 2), inner);
  await fixture.cypress.commitTransaction(root, inner.transactionId);
  await fixture.cypress.commitTransaction(root, outer.transactionId);
  const aborted = await begin(fixture);
  await exportTo(fixture, "//tmp/lost", ids, aborted);
  await attachQueueChunks(fixture.tables, aborted, {
    destination: parseRichPath("//tmp/first"),
    source: queue,
    chunkIds: ids.slice(2),
  });
  await fixture.tables.trim(root, queue, 0, 4n);
  await fixture.cypress.abortTransaction(root, aborted.transactionId);
  const last = await begin(fixture);
  await exportTo(fixture, "//tmp/second", ids.slice(2), last);
  await fixture.cypress.commitTransaction(root, last.transactionId);
  await fixture.cypress.remove(root, { path: "//tmp/q" });
  await fixture.cypress.remove(root, { path: "//tmp/first" });
}

/** How many lists name each chunk is what its record says. Gives the number of chunks. */
function checkReferences(cell: Cell): number {
  const named = new Map<string, number>();
  const lists = prefixRange(storeKey(keyspace.tablets));
  for (const { key, value } of cell.range(lists.from, lists.to)) {
    if (key[17] === 1) {
      const id = decodeObjectId(value, 0);
      named.set(id, (named.get(id) ?? 0) + 1);
    }
  }
  const counted = new Map<string, number>();
  for (const { key, value } of cell.range(chunkRange.from, chunkRange.to)) {
    const id = chunkIdOfKey(key);
    counted.set(id, decodeChunkRecord(id, value).refCount);
  }
  expect(counted).toEqual(named);
  return counted.size;
}

function recordCount(cell: Cell): number {
  return [keyspace.chunks, keyspace.tablets, keyspace.rowBlocks]
    .map((kind) => prefixRange(storeKey(kind)))
    .reduce((sum, { from, to }) => sum + [...cell.range(from, to)].length, 0);
}

async function exists(fixture: StaticFixture, path: string): Promise<boolean> {
  return fixture.cypress.view().findNode(path) !== undefined;
}

/** Whatever tables there are have all their rows; when they are gone nothing of them is left. */
async function checkAndClear(fixture: StaticFixture): Promise<void> {
  checkReferences(fixture.cell);
  for (const [path, rows] of [
    ["//tmp/first", "0,1,2,3"],
    ["//tmp/second", "4,5"],
  ] as const) {
    if (await exists(fixture, path)) {
      expect(await fixture.column(path)).toBe(rows);
    }
  }
  expect(await exists(fixture, "//tmp/lost")).toBe(false);
  if (await exists(fixture, "//tmp/q")) {
    expect(["0,1,2,3,4,5", "4,5"]).toContain(await fixture.column("//tmp/q"));
  }
  for (const [id] of fixture.cypress.view().tree.transactions.entries()) {
    // A nested one goes with the one around it.
    await fixture.cypress.abortTransaction(root, id).catch(() => undefined);
  }
  for (const path of ["//tmp/q", "//tmp/first", "//tmp/second"]) {
    if (await exists(fixture, path)) {
      await fixture.cypress.remove(root, { path });
    }
  }
  expect(checkReferences(fixture.cell)).toBe(0);
}

/** Nothing of chunks, lists and rows is stored, once the background work is done. */
async function checkEmpty(fixture: StaticFixture): Promise<void> {
  await fixture.tables.environment.chunks.settled();
  await fixture.clock.advance(10_000);
  expect(recordCount(fixture.cell)).toBe(0);
}

async function prepared(): Promise<{ fixture: StaticFixture; store: ForgetfulStore; durable: Store }> {
  const durable = new MemoryStore();
  const store = new ForgetfulStore(durable);
  const fixture = await StaticFixture.open({ store, clock: new FakeClock() });
  await newQueue(fixture);
  return { fixture, store, durable };
}

async function writesOfScenario(): Promise<number> {
  const { fixture, store } = await prepared();
  const before = store.writeCount;
  await exportAndTrim(fixture);
  const count = store.writeCount - before;
  await checkAndClear(fixture);
  await checkEmpty(fixture);
  await fixture.close();
  return count;
}

test("a crash at any write loses no chunk that is named and leaves none that is not", async () => {
  const count = await writesOfScenario();
  expect(count).toBeGreaterThan(10);
  for (let allowed = 0; allowed < count; allowed++) {
    for (const survivors of [0, 1]) {
      const { fixture, store, durable } = await prepared();
      store.hold();
      store.release(allowed);
      void exportAndTrim(fixture).catch(() => undefined);
      await fixture.clock.advance(1);
      await store.crash(Math.min(survivors, store.unflushedCount));
      const next = await StaticFixture.open({ store: durable, clock: fixture.clock });
      await checkAndClear(next);
      await checkEmpty(next);
      await next.close();
    }
  }
});

test("a disk that fails at any write leaves the references as they are", async () => {
  const count = await writesOfScenario();
  for (let failing = 1; failing <= count; failing++) {
    const { fixture, store } = await prepared();
    store.failAt(failing);
    await exportAndTrim(fixture).catch(() => undefined);
    await fixture.clock.advance(1);
    await checkAndClear(fixture);
    // A removal that failed is made up for at the next start.
    const next = await fixture.reopen();
    await checkEmpty(next);
    await next.close();
  }
});

test("fetching describes the chunks of one moment, in turns", async () => {
  const { fixture } = await prepared();
  const found = fetchQueueChunks(fixture.tables, root, queue, [0]);
  await fixture.tables.trim(root, queue, 0, 2n);
  expect((await found).get("object_id")).toBe(await fixture.get("//tmp/q/@id"));
  const [tablet] = Object((await found).get("tablets"));
  expect(tablet.get("chunks").length).toBe(3);
  expect(tablet.get("trimmed_row_count")).toBe(0n);
  expect(mapOf({ count: (await chunkIds(fixture)).length })).toEqual(mapOf({ count: 2 }));
  await fixture.close();
});
