/** One suite for `Store`, run on every engine. */
import { seededRandom } from "@qyt/base";
import { between, ForgetfulStore, randomBytes, temporaryDirectory } from "@qyt/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  MemoryStore,
  openLmdbStore,
  type RangeOptions,
  type Reader,
  type Store,
  WriteBatch,
} from "./index.ts";
import { RecordBuffer } from "./record-buffer.ts";
import { visitRecords } from "./visit-records.ts";

interface Engine {
  readonly name: string;
  open(): Promise<{ store: Store; remove(): Promise<void> }>;
}

const engines: readonly Engine[] = [
  { name: "MemoryStore", open: async () => ({ store: new MemoryStore(), remove: async () => {} }) },
  {
    name: "ForgetfulStore",
    open: async () => ({ store: new ForgetfulStore(new MemoryStore()), remove: async () => {} }),
  },
  {
    name: "LmdbStore",
    open: async () => {
      const directory = await temporaryDirectory("store");
      return { store: await openLmdbStore(directory.path), remove: () => directory.remove() };
    },
  },
];

const key = (text: string): Buffer => Buffer.from(text);
const everything = [Buffer.of(0), Buffer.of(0xff)] as const;

function batchOf(entries: Readonly<Record<string, string | undefined>>): WriteBatch {
  const batch = new WriteBatch();
  for (const [name, value] of Object.entries(entries)) {
    if (value === undefined) {
      batch.remove(key(name));
    } else {
      batch.put(key(name), key(value));
    }
  }
  return batch;
}

function keysOf(reader: Reader, from: string, to: string, options?: RangeOptions): string {
  return [...reader.range(key(from), key(to), options)].map((entry) => entry.key.toString()).join(" ");
}

/** What a model of a store has at a key, in one text: long buffers are compared slowly. */
const textOf = (name: string, value: Buffer): string => `${name} ${value.toString("latin1")}`;

/** Keys and values, looked at after the visit. */
function visited(reader: Reader, from: Buffer, to: Buffer): string[] {
  const views: [Buffer, Buffer][] = [];
  visitRecords(reader, from, to, new RecordBuffer(), (record) => {
    const { bytes, keyStart, keyEnd, valueStart, valueEnd } = record;
    views.push([bytes.subarray(keyStart, keyEnd), bytes.subarray(valueStart, valueEnd)]);
    return true;
  });
  return views.map(([name, value]) => textOf(name.toString("hex"), value));
}

describe.each(engines)("$name", ({ open }) => {
  let store: Store;
  let remove: () => Promise<void>;

  beforeEach(async () => {
    ({ store, remove } = await open());
  });

  afterEach(async () => {
    await store.close();
    await remove();
  });

  it("reads a batch right after its promise resolved", async () => {
    expect(store.get(key("a"))).toBeUndefined();
    for (let i = 0; i < 20; ++i) {
      await store.commit(batchOf({ a: `${i}`, [`b${i}`]: "x" }));
      expect(store.get(key("a"))?.toString()).toBe(`${i}`);
      expect(store.get(key(`b${i}`))?.toString()).toBe("x");
    }
  });

  it("keeps empty values apart from missing ones", async () => {
    await store.commit(batchOf({ a: "" }));
    expect(store.get(key("a"))).toEqual(Buffer.alloc(0));
    expect(store.get(key("b"))).toBeUndefined();
    expect([...store.range(...everything)]).toEqual([{ key: key("a"), value: Buffer.alloc(0) }]);
  });

  it("applies batches in call order and settles them in call order", async () => {
    const settled: number[] = [];
    const commits: Promise<void>[] = [];
    for (let i = 0; i < 50; ++i) {
      const batch = batchOf({ same: `${i}`, [`k${i}`]: "" });
      if (i > 0) {
        batch.remove(key(`k${i - 1}`));
      }
      commits.push(store.commit(batch).then(() => void settled.push(i)));
    }
    await Promise.all(commits);
    expect(settled).toEqual(Array.from({ length: 50 }, (_, i) => i));
    expect(store.get(key("same"))?.toString()).toBe("49");
    expect(keysOf(store, "k", "l")).toBe("k49");
    expect(store.metrics).toMatchObject({ batches: 50, failedFlushes: 0, queueLength: 0 });
  });

  it("shows nothing of a batch before it is durable", async () => {
    const commit = store.commit(batchOf({ a: "1", b: "2" }));
    expect(store.get(key("a"))).toBeUndefined();
    await commit;
    expect(keysOf(store, "a", "c")).toBe("a b");
  });

  it("removes a key that is not there", async () => {
    await store.commit(batchOf({ a: undefined, b: "1" }));
    expect(keysOf(store, "a", "z")).toBe("b");
  });

  it("reads ranges from the lower bound to below the upper one, in both directions", async () => {
    await store.commit(batchOf({ a: "1", b: "2", c: "3", d: "4", e: "5" }));
    expect(keysOf(store, "b", "e")).toBe("b c d");
    expect(keysOf(store, "b", "e", { reverse: true })).toBe("d c b");
    expect(keysOf(store, "b", "e", { limit: 2 })).toBe("b c");
    expect(keysOf(store, "b", "e", { reverse: true, limit: 2 })).toBe("d c");
    expect(keysOf(store, "bb", "dd", { reverse: true })).toBe("d c");
    expect(keysOf(store, "a", "z", { reverse: true })).toBe("e d c b a");
    expect(keysOf(store, "e", "b")).toBe("");
    expect(keysOf(store, "e", "b", { reverse: true })).toBe("");
    expect(keysOf(store, "c", "c")).toBe("");
    expect(keysOf(store, "a", "c", { limit: 0 })).toBe("");
    expect([...store.range(key("a"), key("c"), { keysOnly: true })]).toEqual([
      { key: key("a"), value: Buffer.alloc(0) },
      { key: key("b"), value: Buffer.alloc(0) },
    ]);
  });

  it("takes empty and over-long bounds", async () => {
    await store.commit(batchOf({ a: "1", b: "2" }));
    const long = Buffer.alloc(5000, "a");
    expect([...store.range(Buffer.alloc(0), key("b"))].length).toBe(1);
    expect([...store.range(long, key("z"))].map((entry) => entry.key.toString())).toEqual(["b"]);
    expect([...store.range(key("a"), long, { reverse: true })].length).toBe(1);
    expect(store.get(long)).toBeUndefined();
  });

  it("stores keys and values at the limit", async () => {
    const batch = new WriteBatch();
    const longKey = Buffer.alloc(3900, 0xfe);
    const longValue = Buffer.alloc(8164, "v");
    batch.put(longKey, longValue);
    batch.put(Buffer.of(0), key("low"));
    await store.commit(batch);
    expect(store.get(longKey)).toEqual(longValue);
    expect([...store.range(...everything, { reverse: true })].map((entry) => entry.key.length)).toEqual([
      3900, 1,
    ]);
  });

  it("hands out values that later commits do not change", async () => {
    await store.commit(batchOf({ a: "one" }));
    const value = store.get(key("a"));
    const [entry] = store.range(key("a"), key("b"));
    await store.commit(batchOf({ a: "two" }));
    store.get(key("a"));
    expect(value?.toString()).toBe("one");
    expect(entry?.value.toString()).toBe("one");
  });

  it("keeps a snapshot as it was until it is released", async () => {
    await store.commit(batchOf({ a: "1", b: "1" }));
    const before = store.snapshot();
    await store.commit(batchOf({ a: "2", b: undefined, c: "2" }));
    const after = store.snapshot();
    await store.commit(batchOf({ c: "3" }));
    expect(before.get(key("a"))?.toString()).toBe("1");
    expect(keysOf(before, "a", "z")).toBe("a b");
    expect(keysOf(before, "a", "z", { reverse: true })).toBe("b a");
    expect(after.get(key("c"))?.toString()).toBe("2");
    expect(keysOf(after, "a", "z")).toBe("a c");
    expect(store.get(key("c"))?.toString()).toBe("3");
    before.release();
    before.release();
    expect(() => before.get(key("a"))).toThrow("released");
    expect(keysOf(after, "a", "z")).toBe("a c");
    after.release();
    expect(keysOf(store, "a", "z")).toBe("a c");
  });

  it("reads long ranges that are left half way and taken up with others in between", async () => {
    const batch = new WriteBatch();
    for (let i = 0; i < 3000; ++i) {
      batch.put(key(`k${String(i).padStart(5, "0")}`), Buffer.alloc(i % 700, i));
    }
    await store.commit(batch);
    const first = store.range(key("k"), key("l"))[Symbol.iterator]();
    const second = store.range(key("k"), key("l"), { reverse: true })[Symbol.iterator]();
    for (let i = 0; i < 1000; ++i) {
      expect(first.next().value.key.toString()).toBe(`k${String(i).padStart(5, "0")}`);
      expect(second.next().value.key.toString()).toBe(`k${String(2999 - i).padStart(5, "0")}`);
    }
    expect([...store.range(key("k"), key("l"))].length).toBe(3000);
    expect([...store.range(key("k"), key("l"), { limit: 1234, reverse: true })].length).toBe(1234);
  });

  it("agrees with a sorted map on any batches and ranges", async () => {
    const random = seededRandom(7);
    const model = new Map<string, Buffer>();
    const anyKey = (): Buffer => randomBytes(random, between(random, 1, 5), 4);
    for (let round = 0; round < 30; ++round) {
      const batch = new WriteBatch();
      for (let i = 0; i < 60; ++i) {
        const name = anyKey();
        if (random.next() < 0.4) {
          batch.remove(name);
          model.delete(name.toString("hex"));
        } else {
          const value = randomBytes(random, random.below(40));
          batch.put(name, value);
          model.set(name.toString("hex"), value);
        }
      }
      await store.commit(batch);
      const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
      for (let i = 0; i < 40; ++i) {
        const [from, to] = [anyKey(), anyKey()];
        const reverse = random.next() < 0.5;
        const limit = random.next() < 0.5 ? 1 + random.below(20) : 1000;
        const inside = sorted.filter(([name]) => name >= from.toString("hex") && name < to.toString("hex"));
        const expected = (reverse ? inside.toReversed() : inside).slice(0, limit);
        const actual = [...store.range(from, to, { reverse, limit })];
        expect(actual.map((entry) => [entry.key.toString("hex"), entry.value])).toEqual(expected);
        expect(visited(store, from, to).slice(0, limit)).toEqual(
          inside.slice(0, limit).map(([name, value]) => textOf(name, value)),
        );
      }
    }
  });

  it("visits records that may be kept, and be left half way, with other reads in between", async () => {
    const batch = new WriteBatch();
    const model: [string, Buffer][] = [];
    for (let i = 0; i < 300; ++i) {
      const name = `k${String(i).padStart(5, "0")}`;
      const value = Buffer.alloc((i * 977) % 8160, i);
      batch.put(key(name), value);
      model.push([key(name).toString("hex"), value]);
    }
    await store.commit(batch);
    expect(visited(store, key("k"), key("l"))).toEqual(model.map(([name, value]) => textOf(name, value)));
    const record = new RecordBuffer(64);
    let names = "";
    visitRecords(store, key("k"), key("l"), record, ({ bytes, keyStart, keyEnd }) => {
      const name = bytes.subarray(keyStart, keyEnd);
      expect(visited(store, name, Buffer.concat([name, Buffer.of(0)]))).toHaveLength(1);
      expect(store.get(name)).toEqual(model[names.length / 6]?.[1]);
      names += name.toString();
      return names.length < 30;
    });
    expect(names).toBe("k00000k00001k00002k00003k00004");
    const failing = () =>
      visitRecords(store, key("k"), key("l"), record, () => {
        throw new Error("visitor failed");
      });
    expect(failing).toThrow("visitor failed");
    expect(store.get(key("k00007"))).toEqual(model[7]?.[1]);
    expect([...store.range(key("k"), key("l"), { limit: 1 })][0]?.key).toEqual(key("k00000"));
  });

  it("refuses everything after close", async () => {
    const last = store.commit(batchOf({ a: "1" }));
    await store.close();
    await last;
    expect(() => store.get(key("a"))).toThrow("closed");
    await expect(store.commit(batchOf({ b: "1" }))).rejects.toThrow("closed");
  });
});

describe("WriteBatch", () => {
  it("lets the last mention of a key win and counts its bytes", () => {
    const batch = new WriteBatch();
    batch.put(key("a"), key("one"));
    batch.put(key("b"), key("x"));
    batch.put(key("a"), key("two!"));
    batch.remove(key("b"));
    expect([...batch.entries]).toMatchObject([
      { key: key("a"), value: key("two!") },
      { key: key("b"), value: undefined },
    ]);
    expect(batch.byteSize).toBe(6);
    expect(batch.entryCount).toBe(2);
    expect(batch.find(key("a"))?.toString()).toBe("two!");
    expect(batch.find(key("b"))).toBeNull();
    expect(batch.find(key("c"))).toBeUndefined();
  });

  it("owns its buffers", () => {
    const batch = new WriteBatch();
    const [name, value] = [key("a"), key("one")];
    batch.put(name, value);
    name.fill("z");
    value.fill("z");
    expect([...batch.entries]).toMatchObject([{ key: key("a"), value: key("one") }]);
  });

  it("checks sizes as entries are put: at the limit and one beyond", () => {
    const batch = new WriteBatch();
    batch.put(Buffer.alloc(3900, 1), Buffer.alloc(8164));
    const tooLong = expect.objectContaining({
      code: 505,
      message: expect.stringMatching(/3901 bytes, limit 3900/),
    });
    expect(() => batch.put(Buffer.alloc(3901, 1), key("v"))).toThrow(tooLong);
    expect(() => batch.remove(Buffer.alloc(3901, 1))).toThrow(tooLong);
    expect(() => batch.put(Buffer.alloc(0), key("v"))).toThrow(expect.objectContaining({ code: 505 }));
    expect(() => batch.put(key("a"), Buffer.alloc(8165))).toThrow(
      expect.objectContaining({ code: 1, message: expect.stringMatching(/8169 bytes .*limit 8168/) }),
    );
    expect(batch.entryCount).toBe(1);
  });

  it("encodes the same entries to the same bytes, whatever their order, and back", () => {
    const anyEntries = fc.array(
      fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 20 }), fc.option(fc.uint8Array({ maxLength: 50 }))),
      { maxLength: 20 },
    );
    const build = (entries: readonly [Uint8Array, Uint8Array | null][]): WriteBatch => {
      const batch = new WriteBatch();
      batch.sequenceNumber = (1n << 64n) - 2n;
      for (const [name, value] of entries) {
        if (value === null) {
          batch.remove(name);
        } else {
          batch.put(name, value);
        }
      }
      return batch;
    };
    fc.assert(
      fc.property(anyEntries, (entries) => {
        const unique = [
          ...new Map(entries.map((entry) => [Buffer.from(entry[0]).toString("hex"), entry])).values(),
        ];
        const bytes = build(entries).encode();
        expect(build(unique.toReversed()).encode()).toEqual(bytes);
        const decoded = WriteBatch.decode(bytes);
        expect(decoded.sequenceNumber).toBe((1n << 64n) - 2n);
        expect(decoded.encode()).toEqual(bytes);
        expect(decoded.entryCount).toBe(unique.length);
        for (let cut = 0; cut < bytes.length; ++cut) {
          expect(() => WriteBatch.decode(bytes.subarray(0, cut))).toThrow();
        }
      }),
      { numRuns: 50 },
    );
  });

  it("refuses bytes of a newer version and batches too long to ship", () => {
    const bytes = batchOf({ a: "1" }).encode();
    bytes[0] = 2;
    expect(() => WriteBatch.decode(bytes)).toThrow("unknown version");
    const long = new WriteBatch();
    for (let i = 0; i < 129; ++i) {
      long.put(key(`${i}`), Buffer.alloc(8164));
    }
    expect(() => long.encode()).toThrow("too long");
  });
});
