/** How many records of the store the operations of a tablet touch. */
import { FakeClock } from "@qyt/testing";
import { beforeEach, expect, test } from "vitest";
import {
  type Entry,
  keyspace,
  MemoryStore,
  type RangeOptions,
  type Snapshot,
  type Store,
  type StoreMetrics,
  type WriteBatch,
} from "../../cell/index.ts";
import type { OrderedTablet } from "./ordered-tablet.ts";
import { collectRows, TabletFixture } from "./tablet-fixture.ts";

/** Counts records read, row blocks apart. */
class CountingStore implements Store {
  readonly #store = new MemoryStore();
  blockReads = 0;
  otherReads = 0;

  get metrics(): StoreMetrics {
    return this.#store.metrics;
  }

  get(key: Uint8Array): Buffer | undefined {
    this.#count(key);
    return this.#store.get(key);
  }

  *range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    for (const entry of this.#store.range(from, to, options)) {
      this.#count(entry.key);
      yield entry;
    }
  }

  snapshot(): Snapshot {
    return this.#store.snapshot();
  }

  commit(batch: WriteBatch): Promise<void> {
    return this.#store.commit(batch);
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #count(key: Uint8Array): void {
    if (key[0] === keyspace.rowBlocks) {
      this.blockReads++;
    } else {
      this.otherReads++;
    }
  }
}

const chunkCount = 10;
const rowsPerChunk = 6000;
const liveRows = 4000;

let store: CountingStore;
let fixture: TabletFixture;
let tablet: OrderedTablet;
const timestamps: bigint[] = [];

beforeEach(async () => {
  store = new CountingStore();
  fixture = await TabletFixture.open({ store, clock: new FakeClock() });
  tablet = await fixture.createTablet();
  const values = Array.from({ length: 1000 }, (_, i) => `${i}`.padEnd(100, "x"));
  for (let chunk = 0; chunk < chunkCount; chunk++) {
    for (let i = 0; i < rowsPerChunk / 1000; i++) {
      timestamps.push(fixture.cell.nextTimestamp());
      await fixture.append(tablet, values);
    }
    await fixture.flush(tablet);
  }
  for (let i = 0; i < liveRows / 1000; i++) {
    await fixture.append(tablet, values);
  }
  store.blockReads = 0;
  store.otherReads = 0;
});

test("a restart reads small records only", async () => {
  const again = await TabletFixture.open({ store, clock: new FakeClock() });
  const reopened = await again.openTablet(tablet);
  expect(store.blockReads).toBe(0);
  expect(store.otherReads).toBeLessThan(4 * chunkCount);
  expect(reopened.info().totalRowCount).toBe(chunkCount * rowsPerChunk + liveRows);
  expect(collectRows(reopened.read(63_999))).toHaveLength(1);
});

test("ten rows anywhere cost at most twelve records", () => {
  for (const from of [0, 1, 4321, rowsPerChunk - 5, 31_234, 59_995, 63_990]) {
    store.blockReads = 0;
    store.otherReads = 0;
    expect(collectRows(tablet.read(from, { maxRowCount: 10 })).map((row) => row.index)).toEqual(
      Array.from({ length: 10 }, (_, i) => from + i),
    );
    expect(store.blockReads + store.otherReads).toBeLessThanOrEqual(12);
  }
});

test("a search by time or weight costs about the logarithm of the blocks of one store", () => {
  expect(tablet.findRowByTimestamp(timestamps[34] ?? 0n)).toBe(34_000);
  expect(tablet.findRowByCumulativeWeight(101 * 41_234)).toBe(41_233);
  expect(store.blockReads).toBeLessThanOrEqual(2 * 9);
});

test("a read of everything touches each block about once", () => {
  expect(collectRows(tablet.read(0))).toHaveLength(64_000);
  const blocks = 64_000 / 70;
  expect(store.blockReads).toBeLessThan(1.2 * blocks);
});
