/** Group commit, without a disk. */
import { settle } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { CommitQueue, WriteBatch } from "./index.ts";

function batchOf(name: string, size = 1): WriteBatch {
  const batch = new WriteBatch();
  batch.put(Buffer.from(name), Buffer.alloc(size - 1));
  return batch;
}

const namesOf = (group: readonly WriteBatch[]): string =>
  group.map((batch) => [...batch.entries].map((entry) => entry.key.toString())).join("+");

/** A flush that waits to be told its outcome. */
function controlled(): {
  groups: string[];
  flush: (group: readonly WriteBatch[]) => Promise<void>;
  end: (error?: Error) => Promise<void>;
} {
  const groups: string[] = [];
  let settleFlush: (error?: Error) => void = () => {};
  return {
    groups,
    flush: (group) => {
      groups.push(namesOf(group));
      return new Promise((resolve, reject) => {
        settleFlush = (error) => (error === undefined ? resolve() : reject(error));
      });
    },
    end: async (error) => {
      settleFlush(error);
      await settle();
    },
  };
}

describe("CommitQueue", () => {
  it("takes all that wait while a flush is under way together into the next", async () => {
    const { groups, flush, end } = controlled();
    const queue = new CommitQueue({ flush });
    const settled: string[] = [];
    const commit = (name: string): void => {
      queue.commit(batchOf(name)).then(
        () => settled.push(name),
        () => settled.push(`!${name}`),
      );
    };
    commit("a");
    commit("b");
    await settle();
    commit("c");
    commit("d");
    commit("e");
    await settle();
    expect(groups).toEqual(["a+b"]);
    expect(settled).toEqual([]);
    expect(queue.metrics.queueLength).toBe(5);
    await end();
    expect(settled).toEqual(["a", "b"]);
    expect(groups).toEqual(["a+b", "c+d+e"]);
    await end();
    expect(settled).toEqual(["a", "b", "c", "d", "e"]);
    expect(queue.metrics).toEqual({ flushes: 2, failedFlushes: 0, batches: 5, bytes: 5, queueLength: 0 });
  });

  it("fails the group, all behind it, and all that come before the news is out; then goes on", async () => {
    const { groups, flush, end } = controlled();
    const queue = new CommitQueue({ flush });
    const settled: string[] = [];
    const commit = (name: string): Promise<void> =>
      queue.commit(batchOf(name)).then(
        () => void settled.push(name),
        () => {
          settled.push(`!${name}`);
          if (name === "b") {
            void commit("late");
          }
        },
      );
    void commit("a");
    void commit("b");
    await settle();
    void commit("c");
    await end(new Error("no"));
    expect(settled).toEqual(["!a", "!b", "!c", "!late"]);
    expect(groups).toEqual(["a+b"]);
    void commit("d");
    await settle();
    await end();
    expect(settled.at(-1)).toBe("d");
    expect(queue.metrics).toMatchObject({ flushes: 1, failedFlushes: 1, batches: 1, queueLength: 0 });
  });

  it("ends a group at its size limit, but always takes one batch", async () => {
    const { groups, flush, end } = controlled();
    const queue = new CommitQueue({ flush, maxGroupBytes: 100 + 2 * 256 });
    const commits = [60, 40, 1, 5000, 1].map((size, i) => queue.commit(batchOf(`${i}`, size)));
    await settle();
    for (let i = 0; i < 4; ++i) {
      await end();
    }
    await Promise.all(commits);
    expect(groups).toEqual(["0+1", "2", "3", "4"]);
  });

  it("closes after what is under way", async () => {
    const { flush, end } = controlled();
    const queue = new CommitQueue({ flush });
    const commit = queue.commit(batchOf("a"));
    let isClosed = false;
    const closing = queue.close().then(() => {
      isClosed = true;
    });
    await expect(queue.commit(batchOf("b"))).rejects.toThrow("closed");
    await settle();
    expect(isClosed).toBe(false);
    await end();
    await Promise.all([commit, closing]);
  });
});
