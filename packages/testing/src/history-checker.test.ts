/** The checker finds what it is there for: each anomaly, made by hand. */
import { expect, test } from "vitest";
import { checkHistory, type HistoryTransaction } from "./history-checker.ts";

function transaction(
  id: number,
  start: number,
  commit: number | undefined,
  more: Partial<HistoryTransaction>,
): HistoryTransaction {
  return {
    id,
    start: BigInt(start),
    outcome: commit === undefined ? "refused" : "committed",
    commit: commit === undefined ? undefined : BigInt(commit),
    reads: [],
    writes: [],
    ...more,
  };
}

const read = (key: number, value: number | undefined, isLocked = false) => ({ key, value, isLocked });
const write = (key: number, value: number) => ({ key, value });
const at = (timestamp: number, value: number) => ({ timestamp: BigInt(timestamp), value });

test("a history without fault has none", () => {
  const history = [
    transaction(1, 0, 10, { writes: [write(1, 100), write(2, 101)] }),
    transaction(2, 10, 20, { reads: [read(1, 100, true)], writes: [write(1, 200)] }),
    transaction(3, 15, 30, { reads: [read(1, 100), read(3, undefined)], writes: [write(2, 300)] }),
    transaction(4, 15, undefined, { reads: [read(1, 100)], writes: [write(1, 400)] }),
  ];
  const versions = new Map([
    [1, [at(20, 200), at(10, 100)]],
    [2, [at(10, 101), at(30, 300)]],
  ]);
  expect(checkHistory(history, versions)).toEqual([]);
});

test.each<[string, HistoryTransaction[], [number, ReturnType<typeof at>[]][], string]>([
  [
    "a dirty read",
    [
      transaction(1, 0, undefined, { writes: [write(1, 100)] }),
      transaction(2, 5, 20, { reads: [read(1, 100)] }),
    ],
    [],
    "transaction 2 read 100 in row 1, its snapshot has undefined",
  ],
  [
    "a read that does not repeat",
    [
      transaction(1, 0, 10, { writes: [write(1, 100)] }),
      transaction(2, 5, 20, { reads: [read(1, undefined), read(1, 100)] }),
    ],
    [[1, [at(10, 100)]]],
    "transaction 2 read 100 in row 1, its snapshot has undefined",
  ],
  [
    "a lost update",
    [
      transaction(1, 0, 10, { writes: [write(1, 100)] }),
      transaction(2, 5, 20, { reads: [read(1, undefined)], writes: [write(1, 200)] }),
    ],
    [[1, [at(10, 100), at(20, 200)]]],
    "transaction 2 wrote over 100 in row 1 unseen",
  ],
  [
    "write skew under locks",
    [
      transaction(1, 0, 10, { reads: [read(1, undefined, true)], writes: [write(2, 100)] }),
      transaction(2, 0, 20, { reads: [read(2, undefined, true)], writes: [write(1, 200)] }),
    ],
    [
      [1, [at(20, 200)]],
      [2, [at(10, 100)]],
    ],
    "are each before the next",
  ],
  [
    "half a transaction",
    [transaction(1, 0, 10, { writes: [write(1, 100), write(2, 101)] })],
    [[1, [at(10, 100)]]],
    "transaction 1 took effect in part",
  ],
  [
    "a commit that is gone",
    [transaction(1, 0, 10, { writes: [write(1, 100)] })],
    [],
    "transaction 1 committed at 10 and is found at undefined",
  ],
  [
    "a refused commit that is there",
    [transaction(1, 0, undefined, { writes: [write(1, 100)] })],
    [[1, [at(10, 100)]]],
    "transaction 1 was refused and took effect",
  ],
])("%s is found", (_, history, versions, problem) => {
  expect(checkHistory(history, new Map(versions)).join("; ")).toContain(problem);
});
