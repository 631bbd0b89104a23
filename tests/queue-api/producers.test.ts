/** Pushes: numbers, repeats, epochs, transactions and partitions. */
import { mapOf, Uint64, type YsonValue } from "@qyt/base";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { failureOf, type Row, startOne, type TestCluster } from "./fixture.ts";

let primary: TestCluster;
let q = "";
let p = "";
let count = 0;

beforeAll(async () => {
  primary = await startOne();
});

afterAll(() => primary?.close());

/** A queue and a producer of its own for each test, and the session `s` at epoch 0. */
beforeEach(async () => {
  count += 1;
  q = `//tmp/${count}/q`;
  p = `//tmp/${count}/p`;
  await primary.createQueue(q);
  await primary.createProducer(p);
  await primary.root.createQueueProducerSession(p, q, "s");
});

interface PushOptions {
  readonly epoch?: bigint;
  readonly session?: string;
  readonly sequenceNumber?: bigint;
  readonly userMeta?: YsonValue;
  readonly transactionId?: string;
}

function push(rows: readonly Row[], options: PushOptions = {}) {
  const { epoch = 0n, session = "s", ...rest } = options;
  return primary.root.pushQueueProducer(p, q, session, epoch, rows, rest);
}

/** Rows with the numbers as data too. */
const numbered = (...numbers: readonly number[]): Row[] =>
  numbers.map((number) => ({ data: `${number}`, $sequence_number: BigInt(number) }));

async function sessionOf(session = "s"): Promise<{ readonly last: unknown; readonly epoch: unknown }> {
  const query = `sequence_number, epoch from [${p}] where session_id = "${session}"`;
  const [row] = await primary.root.selectRows(query);
  return { last: row?.["sequence_number"], epoch: row?.["epoch"] };
}

const pushed = (last: bigint, skipped: bigint) => ({ lastSequenceNumber: last, skippedRowCount: skipped });

describe("numbers from the option", () => {
  it("[queue-api 98] rows without any number are refused", async () => {
    expect((await failureOf(push([{ data: "a" }]))).codes).toContain(3103);
    expect(await primary.dataOf(q)).toEqual([]);
  });

  it("[queue-api 99] [queue-api 100] [queue-api 101] [queue-api 102] fence out other epochs, skip repeats", async () => {
    expect(await push([{ data: "row1" }], { sequenceNumber: 0n })).toEqual(pushed(0n, 0n));
    expect(await sessionOf()).toEqual({ last: 0n, epoch: 0n });
    expect(await primary.dataOf(q)).toEqual(["row1"]);
    const future = await failureOf(push([{ data: "x" }], { sequenceNumber: 1n, epoch: 1n }));
    expect(future.codes).toContain(3101);
    expect(future.text).toContain("Received epoch 1 is greater than the actual 0 epoch");
    const session = await primary.root.createQueueProducerSession(p, q, "s");
    expect(session).toEqual({ epoch: 1n, sequenceNumber: 0n, userMeta: null });
    const zombie = await failureOf(push([{ data: "x" }], { sequenceNumber: 1n, epoch: 0n }));
    expect(zombie.codes).toContain(3102);
    expect(zombie.text).toContain("probably it is a zombie");
    const rows = [{ data: "row1" }, { data: "row2" }];
    expect(await push(rows, { sequenceNumber: 0n, epoch: 1n })).toEqual(pushed(1n, 1n));
    expect(await primary.dataOf(q)).toEqual(["row1", "row2"]);
    expect(await sessionOf()).toEqual({ last: 1n, epoch: 1n });
  });

  it("a negative first number is refused", async () => {
    const failure = await failureOf(push([{ data: "a" }], { sequenceNumber: -1n }));
    expect(failure.codes).toContain(3103);
    expect(failure.text).toContain("not strongly monotonic");
  });
});

describe("numbers in rows", () => {
  it("[queue-api 103] must be integers", async () => {
    for (const number of ["0", 0.5, true]) {
      const failure = await failureOf(push([{ data: "a", $sequence_number: number }]));
      expect(failure.text).toContain("Error parsing sequence number from row");
    }
    expect(await primary.dataOf(q)).toEqual([]);
    expect(await push([{ data: "a", $sequence_number: new Uint64(3n) }])).toEqual(pushed(3n, 0n));
  });

  it("[queue-api 104] [queue-api 105] may leave gaps; repeats are a prefix", async () => {
    expect(await push(numbered(0))).toEqual(pushed(0n, 0n));
    expect(await push(numbered(6, 10))).toEqual(pushed(10n, 0n));
    expect(await push(numbered(6, 10, 14))).toEqual(pushed(14n, 2n));
    expect(await primary.dataOf(q)).toEqual(["0", "6", "10", "14"]);
    expect(await sessionOf()).toEqual({ last: 14n, epoch: 0n });
  });

  it("[queue-api 106] [queue-api 107] are in all rows or in none, and never beside the option", async () => {
    await push(numbered(14));
    expect((await failureOf(push(numbered(17), { sequenceNumber: 17n }))).codes).toContain(3103);
    expect((await failureOf(push([...numbered(17), { data: "none" }]))).codes).toContain(3103);
    expect((await failureOf(push([{ data: "none" }, ...numbered(17)]))).codes).toContain(3103);
    expect(await primary.dataOf(q)).toEqual(["14"]);
    expect(await sessionOf()).toEqual({ last: 14n, epoch: 0n });
  });

  it("[queue-api 108] may be followed by numbers from the option", async () => {
    await push(numbered(14));
    expect(await push([{ data: "row" }], { sequenceNumber: 17n })).toEqual(pushed(17n, 0n));
    expect(await primary.dataOf(q)).toEqual(["14", "row"]);
    expect(await sessionOf()).toEqual({ last: 17n, epoch: 0n });
  });

  it("[queue-api 109] increase inside a batch, and are not negative", async () => {
    for (const numbers of [
      [3, 3],
      [3, 2],
      [1, 5, 4],
    ]) {
      const failure = await failureOf(push(numbered(...numbers)));
      expect(failure.codes).toContain(3103);
      expect(failure.text).toContain("Sequence numbers are not strongly monotonic");
    }
    expect((await failureOf(push(numbered(-1)))).text).toContain("Sequence number -1 cannot be negative");
    expect(await primary.dataOf(q)).toEqual([]);
    expect(await sessionOf()).toEqual({ last: -1n, epoch: 0n });
  });

  it("a batch of repeats never takes the session back, and a lower batch answers its own last number", async () => {
    await push(numbered(5, 9));
    expect(await push(numbered(2, 5))).toEqual(pushed(5n, 2n));
    expect(await sessionOf()).toEqual({ last: 9n, epoch: 0n });
    expect(await push(numbered(9))).toEqual(pushed(9n, 1n));
    expect(await primary.dataOf(q)).toEqual(["5", "9"]);
  });

  it("an empty batch changes no number, and still the user meta", async () => {
    await push(numbered(5));
    expect(await push([], { userMeta: "new" })).toEqual(pushed(5n, 0n));
    expect(await sessionOf()).toEqual({ last: 5n, epoch: 0n });
    const { userMeta } = await primary.root.createQueueProducerSession(p, q, "s");
    expect(userMeta).toBe("new");
  });
});

describe("pushes in transactions", () => {
  const begin = () => primary.root.startTransaction({ type: "tablet" });

  it("[queue-api 110] two pushes of one session remember each other, and show at the commit", async () => {
    const transactionId = await begin();
    expect(await push(numbered(0), { transactionId })).toEqual(pushed(0n, 0n));
    expect(await push([{ data: "5" }], { sequenceNumber: 5n, transactionId })).toEqual(pushed(5n, 0n));
    expect(await push(numbered(0, 5), { transactionId })).toEqual(pushed(5n, 2n));
    expect(await sessionOf()).toEqual({ last: -1n, epoch: 0n });
    expect(await primary.dataOf(q)).toEqual([]);
    await primary.root.commitTransaction(transactionId);
    expect(await sessionOf()).toEqual({ last: 5n, epoch: 0n });
    expect(await primary.dataOf(q)).toEqual(["0", "5"]);
  });

  it("[queue-api 111] two sessions in two transactions do not meet", async () => {
    await primary.root.createQueueProducerSession(p, q, "t");
    const first = await begin();
    const second = await begin();
    await push(numbered(0), { transactionId: first });
    await push(numbered(0), { session: "t", transactionId: second });
    await primary.root.commitTransaction(second);
    await primary.root.commitTransaction(first);
    expect(await primary.dataOf(q)).toHaveLength(2);
  });

  it("[queue-api 112] two sessions share a transaction", async () => {
    await primary.root.createQueueProducerSession(p, q, "t");
    const transactionId = await begin();
    await push(numbered(3), { transactionId });
    await push(numbered(1), { session: "t", transactionId });
    await primary.root.commitTransaction(transactionId);
    expect((await sessionOf("s")).last).toBe(3n);
    expect((await sessionOf("t")).last).toBe(1n);
  });

  it("one session in two transactions: the later commit fails, and nothing of it stays", async () => {
    const first = await begin();
    const second = await begin();
    await push(numbered(0), { transactionId: first });
    await push(numbered(1), { transactionId: second });
    await primary.root.commitTransaction(first);
    expect((await failureOf(primary.root.commitTransaction(second))).codes).toContain(1700);
    expect(await primary.dataOf(q)).toEqual(["0"]);
    expect(await sessionOf()).toEqual({ last: 0n, epoch: 0n });
  });

  it("a refused push leaves the transaction as it is; an abort forgets what was pushed", async () => {
    const transactionId = await begin();
    await push(numbered(0), { transactionId });
    expect((await failureOf(push(numbered(3, 2), { transactionId }))).codes).toContain(3103);
    await push(numbered(1), { transactionId });
    await primary.root.abortTransaction(transactionId);
    expect(await primary.dataOf(q)).toEqual([]);
    expect(await push(numbered(0))).toEqual(pushed(0n, 0n));
  });

  it("a push under a master transaction is refused", async () => {
    const transactionId = await primary.root.startTransaction();
    await failureOf(push(numbered(0), { transactionId }));
    expect(await primary.dataOf(q)).toEqual([]);
  });

  it("reads, writes and advances together, all or nothing", async () => {
    await primary.createConsumer(`${q}-consumer`);
    await primary.root.registerQueueConsumer(q, `${q}-consumer`, { vital: false });
    await primary.root.insertRows(q, [{ data: "in" }]);
    const step = async (transactionId: string) => {
      await primary.root.advanceQueueConsumer(
        `${q}-consumer`,
        q,
        0,
        { oldOffset: 0n, newOffset: 1n },
        { transactionId },
      );
      await push(numbered(0), { transactionId });
    };
    const aborted = await begin();
    await step(aborted);
    await primary.root.abortTransaction(aborted);
    const committed = await begin();
    await step(committed);
    await primary.root.commitTransaction(committed);
    expect(await primary.dataOf(q)).toEqual(["in", "0"]);
  });
});

describe("partitions", () => {
  it("[queue-api 113] rows go where they say, numbered across partitions", async () => {
    q = `${q}-two`;
    await primary.createQueue(q, { attributes: { tablet_count: 2n } });
    await primary.root.createQueueProducerSession(p, q, "s");
    const rows = [
      { data: "a", $tablet_index: 0n, $sequence_number: 0n },
      { data: "b", $tablet_index: 1n, $sequence_number: 2n },
    ];
    expect(await push(rows)).toEqual(pushed(2n, 0n));
    expect(await primary.dataOf(q, 0)).toEqual(["a"]);
    expect(await primary.dataOf(q, 1)).toEqual(["b"]);
    const wrong = await failureOf(push([{ data: "c", $tablet_index: 2n, $sequence_number: 3n }]));
    expect(wrong.codes).not.toEqual([]);
    expect(await primary.dataOf(q, 0)).toEqual(["a"]);
  });

  it("[queue-api 120] rows that say nothing all land somewhere", async () => {
    q = `${q}-three`;
    await primary.createQueue(q, { attributes: { tablet_count: 3n } });
    await primary.root.createQueueProducerSession(p, q, "s");
    const rows = Array.from({ length: 10 }, (_, index) => ({ data: `${index}` }));
    expect(await push(rows, { sequenceNumber: 0n })).toEqual(pushed(9n, 0n));
    const found = await Promise.all([0, 1, 2].map((partition) => primary.dataOf(q, partition)));
    expect(found.flat().sort()).toEqual(rows.map(({ data }) => data));
    const columns = "queue_cluster, queue_path, session_id, sequence_number, epoch";
    expect(await primary.root.selectRows(`${columns} from [${p}] where queue_path = "${q}"`)).toEqual([
      { queue_cluster: "primary", queue_path: q, session_id: "s", sequence_number: 9n, epoch: 0n },
    ]);
  });
});

describe("sessions over their lives", () => {
  it("[queue-api 114] user meta stays until another is given", async () => {
    await primary.root.createQueueProducerSession(p, q, "s", { userMeta: mapOf({ a: 1n }) });
    await push(numbered(0), { epoch: 1n });
    const takeOver = () => primary.root.createQueueProducerSession(p, q, "s");
    expect((await takeOver()).userMeta).toEqual(mapOf({ a: 1n }));
    await push(numbered(1), { epoch: 2n, userMeta: "other" });
    expect((await takeOver()).userMeta).toBe("other");
  });

  it("[queue-api 121] numbers that count on over sessions end at the number of rows", async () => {
    let written = 0;
    for (const expectedEpoch of [1n, 2n, 3n]) {
      const session = await primary.root.createQueueProducerSession(p, q, "s");
      expect(session.epoch).toBe(expectedEpoch);
      expect(session.sequenceNumber).toBe(BigInt(written) - 1n);
      let next = session.sequenceNumber + 1n;
      for (const size of [7, 1, 12]) {
        const rows = Array.from({ length: size }, (_, index) => ({ data: `${written + index}` }));
        const { lastSequenceNumber } = await push(rows, { epoch: session.epoch, sequenceNumber: next });
        next = lastSequenceNumber + 1n;
        written += size;
      }
    }
    expect((await sessionOf()).last).toBe(BigInt(written) - 1n);
    expect(await primary.dataOf(q)).toEqual(Array.from({ length: written }, (_, index) => `${index}`));
  });

  it("[queue-api 122] [queue-api 123] [queue-api 124] overlapping batches write each number once", async () => {
    const range = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index);
    expect(await push(numbered(...range(0, 99)))).toEqual(pushed(99n, 0n));
    expect(await push(numbered(...range(95, 114)))).toEqual(pushed(114n, 5n));
    expect((await sessionOf()).last).toBe(114n);
    expect(await push(numbered(...range(105, 114)))).toEqual(pushed(114n, 10n));
    expect((await sessionOf()).last).toBe(114n);
    expect(await push(numbered(...range(114, 123)))).toEqual(pushed(123n, 1n));
    expect((await sessionOf()).last).toBe(123n);
    expect(await primary.dataOf(q)).toEqual(range(0, 123).map(String));
  });

  it("a push needs its session", async () => {
    const failure = await failureOf(push(numbered(0), { session: "unknown" }));
    expect(failure.text).toContain('Unknown queue producer session "unknown"');
  });
});

describe("what can be pushed where", () => {
  it("needs write on the producer, then on the queue", async () => {
    const grace = await primary.user("grace");
    await primary.set(`${p}/@inherit_acl`, false);
    await primary.set(`${q}/@inherit_acl`, false);
    const attempt = () => grace.pushQueueProducer(p, q, "s", 0n, numbered(0));
    expect((await failureOf(attempt())).text).toContain(`No Write permission for ${p}`);
    await primary.allow(p, "grace", ["write"]);
    expect((await failureOf(attempt())).text).toContain(`No Write permission for ${q}`);
    await primary.allow(q, "grace", ["write"]);
    expect(await attempt()).toEqual(pushed(0n, 0n));
  });

  it("says which of the two paths is wrong", async () => {
    const at = async (producer: string, queue: string) =>
      (await failureOf(primary.root.pushQueueProducer(producer, queue, "s", 0n, numbered(0)))).text;
    expect(await at(p, "//tmp/none")).toContain("Path //tmp/none does not point to a valid queue");
    expect(await at("//tmp/none", q)).toContain("Path //tmp/none does not point to a valid producer");
    expect(await at(p, p)).toContain("must be an ordered table");
    expect(await at(q, q)).toContain("must be a sorted table");
  });

  it("refuses what the commit fills, and rows that do not fit the schema", async () => {
    for (const row of [
      { data: "a", $timestamp: new Uint64(1n) },
      { data: "a", $cumulative_data_weight: 1n },
      { other: "a" },
      { data: 5n },
    ]) {
      await failureOf(push([{ ...row, $sequence_number: 0n }]));
    }
    expect(await primary.dataOf(q)).toEqual([]);
    expect((await sessionOf()).last).toBe(-1n);
  });

  it("a retry with its mutation id is answered as the first time, and writes nothing", async () => {
    const call = (retry: boolean) =>
      primary.root.requester.receiveValue({
        command: "push_queue_producer",
        method: "PUT",
        isVolatile: false,
        parameters: {
          producer_path: p,
          queue_path: q,
          session_id: "s",
          epoch: 0n,
          input_format: "json",
          mutation_id: "a-b-c-d",
          retry,
        },
        body: Buffer.from('{"data":"once","$$sequence_number":1}\n'),
      });
    const first = await call(false);
    expect(first).toEqual(mapOf({ last_sequence_number: 1n, skipped_row_count: 0n }));
    expect(await call(true)).toEqual(first);
    expect(await primary.dataOf(q)).toEqual(["once"]);
  });
});
