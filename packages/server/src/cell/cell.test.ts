/** The commit pipeline: order, visibility, failure, timestamps, checksums. */
import { seededRandom, type YtError } from "@qyt/base";
import { FakeClock, ForgetfulStore, settle } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import {
  Cell,
  checkStore,
  commitChannel,
  keyspace,
  MemoryStore,
  RecordBuffer,
  type Store,
  storeKey,
  WriteBatch,
} from "./index.ts";
import { writeFormat } from "./meta.ts";

const key = (text: string): Buffer => storeKey(keyspace.cypress, Buffer.from(text));
const bytes = (text: string): Buffer => Buffer.from(text);

function put(name: string, value = "v"): WriteBatch {
  const batch = new WriteBatch();
  batch.put(key(name), bytes(value));
  return batch;
}

function openCell(store: Store, clock = new FakeClock(), seed = 1): Promise<Cell> {
  return Cell.open({ store, clock, random: seededRandom(seed), cellTag: 0x3f3 });
}

describe("commit", () => {
  it("runs onDurable in order, after durability and before the promise resolves", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store);
    const events: string[] = [];
    store.hold();
    const commits = ["a", "b", "c"].map((name) =>
      cell
        .commit({
          batch: put(name),
          onDurable: () => events.push(`durable ${name} ${cell.get(key(name))}`),
          onFailed: () => events.push(`failed ${name}`),
        })
        .then(() => events.push(`resolved ${name}`)),
    );
    await settle();
    expect(events).toEqual([]);
    expect(cell.get(key("a"))).toBeUndefined();
    expect(cell.metrics.queueLength).toBe(3);
    expect(cell.pendingBytes).toBeGreaterThan(0);
    store.release();
    await Promise.all(commits);
    expect(events.filter((event) => event.startsWith("durable"))).toEqual([
      "durable a v",
      "durable b v",
      "durable c v",
    ]);
    for (const name of ["a", "b", "c"]) {
      expect(events.indexOf(`durable ${name} v`)).toBeLessThan(events.indexOf(`resolved ${name}`));
    }
    expect(cell.pendingBytes).toBe(0);
    expect(cell.metrics).toMatchObject({ commits: 4, queueLength: 0 });
  });

  it("takes back everything in flight, newest first, when a flush fails", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store);
    const before = cell.sequenceNumber;
    const events: string[] = [];
    store.hold();
    store.failAt(2);
    const commit = (name: string): Promise<void> =>
      cell
        .commit({
          batch: put(name),
          onDurable: () => events.push(`durable ${name}`),
          onFailed: (error) => events.push(`failed ${name} ${error.message}`),
        })
        .then(
          () => void events.push(`resolved ${name}`),
          (error: YtError) => {
            events.push(`rejected ${name} ${error.message}`);
          },
        );
    const commits = [commit("a"), commit("b"), commit("c"), commit("d")];
    store.release();
    await Promise.all(commits);
    // When the caller of `a` hears of it, before or after the others failed, does not matter.
    expect(events).toContain("resolved a");
    expect(events.filter((event) => event !== "resolved a")).toEqual([
      "durable a",
      "failed d Disk is broken",
      "failed c Disk is broken",
      "failed b Disk is broken",
      "rejected b Disk is broken",
      "rejected c Disk is broken",
      "rejected d Disk is broken",
    ]);
    expect(cell.get(key("b"))).toBeUndefined();
    expect(cell.get(key("c"))).toBeUndefined();
    expect(cell.sequenceNumber).toBe(before + 1n);
    await settle();
    await cell.commit({ batch: put("e") });
    expect(cell.get(key("e"))).toEqual(bytes("v"));
    expect(cell.sequenceNumber).toBe(before + 2n);
    expect(cell.metrics).toMatchObject({ failedCommits: 3, queueLength: 0 });
  });

  it("fails what joins between a failure and its news: it was checked against what failed", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store);
    const events: string[] = [];
    let late: Promise<void> | undefined;
    store.failAt(1);
    const failing = cell.commit({ batch: put("a"), onFailed: () => events.push("failed a") });
    // Watches the store's own promise queue: runs between the store's failure and the cell's handler.
    const joinLate = (): void => {
      if (store.metrics.failedFlushes === 1 && late === undefined) {
        late = cell.commit({ batch: put("b"), onFailed: () => events.push("failed b") });
      } else if (late === undefined) {
        queueMicrotask(joinLate);
      }
    };
    queueMicrotask(joinLate);
    await expect(failing).rejects.toThrow("broken");
    await expect(late).rejects.toThrow("broken");
    expect(cell.get(key("b"))).toBeUndefined();
    expect(new Set(events)).toEqual(new Set(["failed a", "failed b"]));
  });

  it("refuses a batch a second time and a cell that is closed", async () => {
    const cell = await openCell(new MemoryStore());
    const batch = put("a");
    await cell.commit({ batch });
    await expect(cell.commit({ batch })).rejects.toThrow("already committed");
    await cell.commit({ batch: put("b") });
    await cell.close();
    const failed: string[] = [];
    const refused = cell.commit({ batch: put("c"), onFailed: (error) => failed.push(error.message) });
    await expect(refused).rejects.toThrow("Cell is closed");
    expect(failed).toEqual(["Cell is closed"]);
  });

  it("loses what was not flushed in a crash, and nothing else", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store);
    await cell.commit({ batch: put("a") });
    store.hold();
    for (const name of ["b", "c", "d"]) {
      void cell.commit({ batch: put(name) });
    }
    const reopened = await openCell(await store.crash(1));
    expect(["a", "b", "c", "d"].map((name) => reopened.get(key(name))?.toString())).toEqual([
      "v",
      "v",
      undefined,
      undefined,
    ]);
    expect(reopened.sequenceNumber).toBe(cell.sequenceNumber + 2n);
  });

  it("settled waits for what is in flight, failed or not", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const cell = await openCell(store);
    store.hold();
    let isSettled = false;
    const commit = cell.commit({ batch: put("a") });
    const settled = cell.settled().then(() => {
      isSettled = true;
    });
    await settle();
    expect(isSettled).toBe(false);
    store.failAt(1);
    store.release();
    await expect(commit).rejects.toThrow("broken");
    await settled;
  });

  it("tells a diagnostics channel of each durable mutation", async () => {
    const cell = await openCell(new MemoryStore());
    const messages: unknown[] = [];
    const listen = (message: unknown): void => void messages.push(message);
    commitChannel.subscribe(listen);
    try {
      await cell.commit({ batch: put("a") });
    } finally {
      commitChannel.unsubscribe(listen);
    }
    expect(messages).toEqual([{ sequenceNumber: 2n, bytes: expect.any(Number), durationMs: 0 }]);
  });
});

describe("timestamps", () => {
  const second = (timestamp: bigint): number => Number(timestamp >> 30n);

  it("carry the second of the clock and rise strictly", async () => {
    const clock = new FakeClock(1_737_640_660_000);
    const cell = await openCell(new MemoryStore(), clock);
    const first = await cell.generateTimestamp();
    expect(second(first)).toBe(1_737_640_660);
    const next = cell.nextTimestamp();
    expect(next).toBe(first + 1n);
    await clock.advance(1000);
    expect(cell.nextTimestamp()).toBe(1_737_640_661n << 30n);
  });

  it("rise over a clean restart without running ahead of the clock", async () => {
    const durable = new MemoryStore();
    const clock = new FakeClock();
    const cell = await openCell(new ForgetfulStore(durable), clock);
    const last = await cell.generateTimestamp();
    await cell.close();
    const reopened = await openCell(new ForgetfulStore(durable), clock);
    const next = await reopened.generateTimestamp();
    expect(next).toBeGreaterThan(last);
    expect(second(next)).toBe(Math.floor(clock.now() / 1000));
  });

  it("rise over crashes and a clock that goes back", async () => {
    const random = seededRandom(11);
    const clock = new FakeClock();
    let store = new ForgetfulStore(new MemoryStore());
    let cell = await openCell(store, clock);
    let highest = 0n;
    for (let round = 0; round < 60; ++round) {
      const isHeld = random.next() < 0.3;
      const seen: bigint[] = [];
      const waiting: Promise<unknown>[] = [];
      if (isHeld) {
        store.hold();
      }
      for (let i = 0; i < 5; ++i) {
        if (random.next() < 0.5) {
          waiting.push(cell.generateTimestamp().then((timestamp) => seen.push(timestamp)));
        } else {
          const timestamp = cell.nextTimestamp();
          expect(timestamp).toBeGreaterThan(highest);
          waiting.push(cell.commit({ batch: put(`${timestamp}`), onDurable: () => seen.push(timestamp) }));
        }
        clock.setNow(clock.now() + random.below(4000) - 1500);
        await settle(1);
      }
      if (!isHeld) {
        await Promise.all(waiting);
      }
      const before = highest;
      for (const timestamp of seen) {
        expect(timestamp).toBeGreaterThan(before);
        if (timestamp > highest) {
          highest = timestamp;
        }
      }
      if (isHeld || random.next() < 0.3) {
        store = await store.crash();
        clock.setNow(clock.now() - random.below(10_000));
        cell = await openCell(store, clock);
      }
      const next = await cell.generateTimestamp();
      expect(next).toBeGreaterThan(highest);
      highest = next;
    }
  });

  it("make a client wait only when the bound on disk must be moved", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const clock = new FakeClock();
    const cell = await openCell(store, clock);
    await cell.generateTimestamp();
    const writes = store.writeCount;
    for (let i = 0; i < 100; ++i) {
      await cell.generateTimestamp();
    }
    expect(store.writeCount).toBe(writes);
    store.hold();
    await clock.advance(10_000);
    let isGiven = false;
    const waiting = cell.generateTimestamp().then(() => {
      isGiven = true;
    });
    await settle();
    expect(isGiven).toBe(false);
    store.release();
    await waiting;
    expect(store.writeCount).toBe(writes + 1);
  });

  it("wait once more when the clock leaps while the bound is being moved", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const clock = new FakeClock();
    const cell = await openCell(store, clock);
    store.hold();
    await clock.advance(10_000);
    const first = cell.generateTimestamp();
    await clock.advance(10_000);
    const second = cell.generateTimestamp();
    store.release(1);
    await first;
    let isGiven = false;
    const given = second.then(() => {
      isGiven = true;
    });
    await settle();
    expect(isGiven).toBe(false);
    store.release();
    await given;
    const reopened = await openCell(await store.crash(), clock);
    expect(reopened.nextTimestamp()).toBeGreaterThan(await second);
  });

  it("generated for a client fail with the flush that was to cover them, and come again after it", async () => {
    const store = new ForgetfulStore(new MemoryStore());
    const clock = new FakeClock();
    const cell = await openCell(store, clock);
    await clock.advance(10_000);
    store.failAt(1);
    await expect(cell.generateTimestamp()).rejects.toThrow("broken");
    await settle();
    expect(second(await cell.generateTimestamp())).toBe(Math.floor(clock.now() / 1000));
  });
});

describe("object ids", () => {
  it("[tables §1.4] hold the cell tag and the type in the third word and never repeat", async () => {
    const durable = new MemoryStore();
    const ids = new Set<string>();
    for (let start = 0; start < 3; ++start) {
      const cell = await openCell(new ForgetfulStore(durable));
      for (let i = 0; i < 100; ++i) {
        const id = cell.newObjectId(401);
        expect(id).toMatch(/^[1-9a-f][0-9a-f]*-[1-9a-f][0-9a-f]*-3f30191-(0|[1-9a-f][0-9a-f]{0,7})$/);
        ids.add(id);
      }
    }
    expect(ids.size).toBe(300);
  });
});

describe("records", () => {
  async function damaged(change: (record: Buffer) => Buffer): Promise<{ cell: Cell; store: Store }> {
    const store = new MemoryStore();
    const cell = await openCell(store);
    await cell.commit({ batch: put("a", "some value") });
    await cell.commit({ batch: put("b") });
    const raw = new WriteBatch();
    raw.put(key("a"), change(store.get(key("a")) ?? Buffer.alloc(0)));
    await store.commit(raw);
    return { cell, store };
  }

  it("report each flipped bit, under `get`, `range` and a snapshot, with the key", async () => {
    const length = "some value".length + 4;
    for (let bit = 0; bit < length * 8; bit += 5) {
      const { cell, store } = await damaged((record) => {
        record[bit >> 3] = (record[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        return record;
      });
      const error = expect.objectContaining({
        code: 721,
        attributes: new Map<string, unknown>([
          ["key", key("a").toString("hex")],
          ["length", BigInt(length)],
        ]),
      });
      expect(() => cell.get(key("a"))).toThrow(error);
      expect(() => [...cell.range(key("a"), key("c"))]).toThrow(error);
      expect(() => cell.visit(key("a"), key("c"), new RecordBuffer(), () => true)).toThrow(error);
      expect(() => cell.snapshot().get(key("a"))).toThrow(error);
      expect(cell.get(key("b"))).toEqual(bytes("v"));
      const report = await checkStore(store);
      expect(report).toMatchObject({ damagedCount: 1, damagedKeys: [key("a")] });
    }
  });

  it("report a record that was cut short or moved to another key", async () => {
    const { cell } = await damaged((record) => record.subarray(0, 3));
    expect(() => cell.get(key("a"))).toThrow("Stored record is damaged");
    const visit = () => cell.visit(key("a"), key("b"), new RecordBuffer(), () => true);
    expect(visit).toThrow("Stored record is damaged");
    const moved = await damaged((record) => record);
    const raw = new WriteBatch();
    raw.put(key("b"), moved.store.get(key("a")) ?? Buffer.alloc(0));
    await moved.store.commit(raw);
    expect(() => moved.cell.get(key("b"))).toThrow("Stored record is damaged");
  });

  it("are counted by room in a check that finds nothing", async () => {
    const { store } = await damaged((record) => record);
    const report = await checkStore(store);
    expect(report).toMatchObject({ recordCount: 4, damagedCount: 0 });
    expect(report.error).toBeUndefined();
    expect([...report.recordCounts]).toEqual([
      [keyspace.cellMeta, 2],
      [keyspace.cypress, 2],
    ]);
  });
});

describe("format", () => {
  it("of a newer version is refused in one sentence", async () => {
    const store = new MemoryStore();
    const batch = new WriteBatch();
    writeFormat(batch, 2);
    await store.commit(batch.seal());
    await expect(openCell(store)).rejects.toThrow(/written by a newer version of qyt \(format 2/);
  });
});
