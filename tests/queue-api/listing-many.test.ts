/**
 * `list_queue_consumer_registrations` answers from memory. It must tell at any moment what the table has,
 * whoever wrote it and however: that is what these tests compare.
 */
import { mapOf } from "@qyt/base";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Row, registrationsPath, startClusters, type TestCluster } from "./fixture.ts";

let clusters: TestCluster[];
let keeper: TestCluster;
let other: TestCluster;

beforeAll(async () => {
  clusters = await startClusters("keeper", "other");
  const [first, second] = clusters;
  if (first === undefined || second === undefined) {
    throw new Error("Two clusters are needed");
  }
  [keeper, other] = [first, second];
});

afterAll(() => Promise.all((clusters ?? []).toReversed().map((cluster) => cluster.close())));

type Listed = Awaited<ReturnType<TestCluster["listed"]>>;

function rowOf(queue: number, consumer: number, vital: boolean): Row {
  return { ...keyOf(queue, consumer), vital, partitions: vital ? [1n, 2n] : null };
}

function keyOf(queue: number, consumer: number): Row {
  return {
    queue_cluster: "keeper",
    queue_path: `//tmp/queue-${queue}`,
    consumer_cluster: consumer % 2 === 0 ? "keeper" : "other",
    consumer_path:
      consumer === 0 ? '<"queue_consumer_name"="a">//tmp/consumer-2' : `//tmp/consumer-${consumer}`,
  };
}

/** What the command has to tell, made of the rows of the table. */
async function expected(): Promise<Listed> {
  const rows = await keeper.storedRegistrations();
  return rows
    .map((row): Listed[number] => {
      const stored = String(row["consumer_path"]);
      const path = stored.startsWith("<") ? "//tmp/consumer-2#a" : stored;
      return [
        `${String(row["queue_cluster"])}:${String(row["queue_path"])}`,
        `${String(row["consumer_cluster"])}:${path}`,
        row["vital"],
        row["partitions"],
      ];
    })
    .sort((a, b) => (`${a[0]} ${a[1]}` < `${b[0]} ${b[1]}` ? -1 : 1));
}

async function removeAll(): Promise<void> {
  const keys = (await keeper.storedRegistrations()).map(({ vital, partitions, ...key }) => key);
  await keeper.root.deleteRows(registrationsPath, keys);
}

const pair = { queue: fc.nat(3), consumer: fc.nat(3) };
const step = fc.oneof(
  fc.record({ kind: fc.constant("insert" as const), ...pair, vital: fc.boolean() }),
  fc.record({ kind: fc.constant("delete" as const), ...pair }),
  fc.record({ kind: fc.constant("transaction" as const), ...pair, isCommitted: fc.boolean() }),
  fc.record({ kind: fc.constant("list" as const), from: fc.constantFrom("keeper", "other") }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(step: Step): Promise<void> {
  const { root } = keeper;
  switch (step.kind) {
    case "insert":
      return root.insertRows(registrationsPath, [rowOf(step.queue, step.consumer, step.vital)]);
    case "delete":
      return root.deleteRows(registrationsPath, [keyOf(step.queue, step.consumer)]);
    case "transaction": {
      const transactionId = await root.startTransaction({ type: "tablet" });
      await root.insertRows(registrationsPath, [rowOf(step.queue, step.consumer, true)], { transactionId });
      // Of two that write one row, the later one is refused.
      const end = step.isCommitted
        ? root.commitTransaction(transactionId)
        : root.abortTransaction(transactionId);
      return end.catch(() => undefined);
    }
    case "list":
      await (step.from === "keeper" ? keeper : other).listed();
  }
}

describe("the listed registrations", () => {
  it("are those of the table after any writes, one after the other or at once", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 12 }), fc.boolean(), async (steps, isAtOnce) => {
        if (isAtOnce) {
          await Promise.all(steps.map(run));
        } else {
          for (const each of steps) {
            await run(each);
          }
        }
        expect(await keeper.listed()).toEqual(await expected());
        expect(await other.listed()).toEqual(await expected());
      }),
      { numRuns: 60 },
    );
  });

  it("are those of the table after so many writes that it is read anew", async () => {
    await keeper.listed();
    const rows = Array.from({ length: 400 }, (_, index) => rowOf(100 + index, 1, index % 2 === 0));
    await keeper.root.insertRows(registrationsPath, rows);
    expect(await keeper.listed()).toEqual(await expected());
    await keeper.root.deleteRows(
      registrationsPath,
      rows.map((_, index) => keyOf(100 + index, 1)),
    );
    expect(await keeper.listed()).toEqual(await expected());
  });

  it("include what was answered before, while others go on writing", async () => {
    await removeAll();
    let isOver = false;
    const others = (async () => {
      for (let turn = 0; !isOver; turn++) {
        await keeper.root.insertRows(registrationsPath, [rowOf(9, turn % 50, true)]);
      }
    })();
    for (let turn = 0; turn < 50; turn++) {
      const [queue, consumer] = ["keeper://tmp/queue-1", "other://tmp/consumer-1"] as const;
      await keeper.root.insertRows(registrationsPath, [rowOf(1, 1, turn % 2 === 0)]);
      const found = (await keeper.listed()).find((each) => each[0] === queue && each[1] === consumer);
      expect(found?.[2]).toBe(turn % 2 === 0);
    }
    isOver = true;
    await others;
  });

  it("are found by queue, by consumer and by name, from every cluster", async () => {
    await removeAll();
    const rows = [0, 1, 2, 3].flatMap((queue) =>
      [0, 1, 2, 3].map((consumer) => rowOf(queue, consumer, true)),
    );
    await keeper.root.insertRows(registrationsPath, rows);
    for (const cluster of [keeper, other]) {
      const count = async (filter: Parameters<TestCluster["listed"]>[0]): Promise<number> =>
        (await cluster.listed(filter)).length;
      expect(await count({})).toBe(16);
      expect(await count({ queue: "keeper://tmp/queue-1" })).toBe(4);
      expect(await count({ consumer: "other://tmp/consumer-1" })).toBe(4);
      // Two consumers share the table: one of them without a name.
      expect(await count({ consumer: "keeper://tmp/consumer-2" })).toBe(8);
      expect(await count({ consumer: "<queue_consumer_name=a>keeper://tmp/consumer-2" })).toBe(4);
      expect(await count({ queue: "keeper://tmp/queue-3", consumer: "other://tmp/consumer-3" })).toBe(1);
      expect(await count({ queue: "keeper://tmp/queue-3", consumer: "keeper://tmp/consumer-3" })).toBe(0);
    }
  });

  it("are those of the table at that path now, also when it was made anew", async () => {
    await removeAll();
    await keeper.root.insertRows(registrationsPath, [rowOf(1, 1, true)]);
    expect(await keeper.listed()).toHaveLength(1);
    const schema = await keeper.root.get(`${registrationsPath}/@schema`);
    await keeper.root.remove(registrationsPath, { force: true });
    await keeper.root.create("table", registrationsPath, { attributes: mapOf({ dynamic: true, schema }) });
    await keeper.root.mountTable(registrationsPath);
    expect(await keeper.listed()).toEqual([]);
    await keeper.root.insertRows(registrationsPath, [rowOf(2, 3, false)]);
    expect(await keeper.listed()).toEqual([["keeper://tmp/queue-2", "other://tmp/consumer-3", false, null]]);
  });
});
