import { describe, expect, it } from "vitest";
import { defineFunction } from "./define-function.ts";
import { t } from "./fields.ts";
import { harness } from "./harness.ts";

/** Counts words in windows of a minute; a window is given out when its end has passed. */
const countWords = defineFunction({
  name: "demo.CountWords",
  inputs: { words: { word: t.string } },
  outputs: { counts: { word: t.string, n: t.int64, note: t.optional(t.string) } },
  key: { word: t.string },
  states: { count: { n: t.int64 }, last: t.optional(t.string) },
  timers: ["flush"],
  onMessage(message, { states, timers }) {
    states.count.set({ n: (states.count.get()?.n ?? 0n) + 1n });
    states.last.set(message.row.word);
    timers.flush(Math.ceil((message.eventTimestamp + 1) / 60) * 60);
  },
  onTimer(timer, { states, emit }) {
    emit.counts({ word: timer.key.word, n: states.count.get()?.n ?? 0n });
    states.count.clear();
  },
});

describe("a function in its harness", () => {
  it("keeps states by key and gives out what its timers say", async () => {
    const test = harness(countWords, { now: 1_000 });
    await test.send("words", { word: "a" }, { eventTimestamp: 1_000 });
    await test.sendAll("words", [{ word: "a" }, { word: "b" }], { eventTimestamp: 1_010 });
    expect(test.state("count", { word: "a" })).toEqual({ n: 2n });
    expect(test.state("last", { word: "a" })).toBe("a");
    expect(test.take("counts")).toEqual([]);
    await test.advanceWatermark(1_019);
    expect(test.take("counts")).toEqual([]);
    await test.advanceWatermark(1_020);
    expect(test.take("counts")).toEqual([
      { word: "a", n: 2n, note: null },
      { word: "b", n: 1n, note: null },
    ]);
    expect(test.state("count", { word: "a" })).toBeUndefined();
    expect(test.pendingTimers).toEqual([]);
  });

  it("whole batches name the parents of their outputs", async () => {
    const longest = defineFunction({
      name: "demo.Longest",
      inputs: { words: { word: t.string } },
      outputs: { longest: { word: t.string } },
      key: { word: t.string },
      onBatch({ messages }, { emit, setParents }) {
        const [first] = [...messages].sort((left, right) => right.row.word.length - left.row.word.length);
        if (first !== undefined) {
          setParents(first);
          emit.longest(first.row);
        }
      },
    });
    const test = harness(longest);
    await test.sendAll("words", [{ word: "aa" }, { word: "aaa" }]);
    expect(test.take("longest")).toEqual([{ word: "aaa" }]);
  });

  it("a batch without parents is told to name them", async () => {
    const careless = defineFunction({
      name: "demo.Careless",
      inputs: { words: { word: t.string } },
      outputs: { out: { word: t.string } },
      onKey(_, { emit }) {
        emit.out({ word: "x" });
      },
    });
    await expect(harness(careless).send("words", { word: "a" })).rejects.toThrow(/call `setParents` before/);
  });

  it("asynchronous handlers run one after the other", async () => {
    const order: string[] = [];
    const slow = defineFunction({
      name: "demo.Slow",
      inputs: { words: { word: t.string } },
      async onMessage({ row }) {
        order.push(`begin ${row.word}`);
        await Promise.resolve();
        order.push(`end ${row.word}`);
      },
    });
    await harness(slow).sendAll("words", [{ word: "a" }, { word: "b" }]);
    expect(order).toEqual(["begin a", "end a", "begin b", "end b"]);
  });

  it("handlers of two kinds are refused", () => {
    expect(() =>
      defineFunction({ name: "x", inputs: {}, onMessage: () => undefined, onBatch: () => undefined }),
    ).toThrow(/handlers of one kind/);
  });
});
