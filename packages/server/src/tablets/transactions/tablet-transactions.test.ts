/** Tablet transactions: all or nothing, what is visible when, leases, limits, large commits. */
import { YtError } from "@qyt/base";
import { settle } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture, failure, rowsOf } from "./engine-fixture.ts";

const sortedSchema = "[{name=k;type=int64;sort_order=ascending};{name=v;type=string}]";
const queueSchema = '[{name=v;type=string};{name="$timestamp";type=uint64}]';
let engine: EngineFixture;
let rows: DynamicTableHandle;
let queue: DynamicTableHandle;
beforeEach(async () => {
  engine = await EngineFixture.open();
  rows = await engine.createTable("//tmp/t", sortedSchema);
  queue = await engine.createTable("//tmp/q", queueSchema);
});
afterEach(() => engine.close());

async function codeOf(promise: Promise<unknown>): Promise<number> {
  const error = await failure(promise);
  return error instanceof YtError ? error.code : -1;
}

const queueLength = (table = queue): number => table.readableTablet(0).info().totalRowCount;

it("a transaction of a new cluster can read before anything was written", () => {
  const transaction = engine.begin();
  expect(transaction.startTimestamp > 0n).toBe(true);
  expect(transaction.lookup(rows, [[1n]])).toEqual([undefined]);
});

describe("all or nothing", () => {
  it("rows of several tables become visible together, with one timestamp", async () => {
    const transaction = engine.begin();
    engine.insert(transaction, rows, "{k=1;v=a}");
    engine.insert(transaction, queue, "{v=a};{v=b}");
    engine.store.hold();
    const commit = transaction.commit();
    await settle();
    expect([engine.scan(rows), queueLength()]).toEqual([[], 0]);
    engine.store.release();
    const timestamp = await commit;
    expect([engine.scan(rows), queueLength()]).toEqual([["1:a"], 2]);
    expect(queue.rowInfos(0, 0, 2).map((info) => info.timestamp)).toEqual([timestamp, timestamp]);
  });

  it("a table that refuses at the commit takes back what others had prepared", async () => {
    const transaction = engine.begin();
    engine.insert(transaction, rows, "{k=1;v=a}");
    engine.insert(transaction, queue, "{v=a}");
    const other = await engine.createTable("//tmp/q2", queueSchema);
    engine.insert(transaction, other, "{v=a}");
    await engine.unmount("//tmp/q2");
    const error = await failure(transaction.commit());
    expect(error instanceof YtError && error.has(1702)).toBe(true);
    expect([engine.scan(rows), queueLength(), transaction.state]).toEqual([[], 0, "aborted"]);
    // The queue goes on with the index that was taken back, the row with no lock on it.
    const after = engine.begin();
    engine.insert(after, rows, "{k=1;v=b}");
    engine.insert(after, queue, "{v=b}");
    await after.commit();
    expect([engine.scan(rows), queueLength()]).toEqual([["1:b"], 1]);
  });

  it("rows buffered before a table was altered are not written into the new schema", async () => {
    const transaction = engine.begin();
    engine.insert(transaction, queue, "{v=a}");
    await engine.unmount("//tmp/q");
    await engine.tables.alter(
      { user: "root" },
      { path: "//tmp/q", attributes: new Map() },
      {
        schema: [
          new Map([
            ["name", "more"],
            ["type", "string"],
          ]),
          ...schemaColumns(queue),
        ],
      },
    );
    await engine.mount("//tmp/q");
    const error = await failure(transaction.commit());
    expect(error instanceof YtError && error.has(1704), String(error)).toBe(true);
    expect(queueLength()).toBe(0);
  });

  it("a flush that fails takes back all that were in flight, the last one first", async () => {
    engine.store.hold();
    engine.store.failAt(2);
    const commits = ["a", "b", "c", "d"].map((text, index) => {
      const transaction = engine.begin({ isBlind: true });
      engine.insert(transaction, queue, `{v=${text}}`);
      engine.insert(transaction, rows, `{k=${index};v=${text}}`);
      return transaction.commit();
    });
    engine.store.release();
    const results = await Promise.allSettled(commits);
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected", "rejected"]);
    expect([engine.scan(rows), queueLength()]).toEqual([["0:a"], 1]);
    await settle();
    await engine.write(queue, "{v=e}");
    expect(queueLength()).toBe(2);
    engine = await engine.reopen();
    expect([engine.scan(engine.table("//tmp/t")), queueLength(engine.table("//tmp/q"))]).toEqual([
      ["0:a"],
      2,
    ]);
  });

  it("one bad row of a request leaves nothing of it in the transaction", async () => {
    const table = await engine.createTable(
      "//tmp/d",
      "[{name=k;type=string;sort_order=ascending};{name=v;type=int64}]",
    );
    const transaction = engine.begin();
    const bad = `${Array.from({ length: 1_500 }, (_, key) => `{k=a${key};v=1}`).join(";")};{k=${"x".repeat(4_000)};v=1}`;
    await expect(transaction.insertManyRows(table, rowsOf(table.writeSchema, bad))).rejects.toThrow(
      "too long",
    );
    engine.insert(transaction, table, "{k=b;v=1}");
    await transaction.commit();
    expect(engine.scan(table)).toEqual(["b:1"]);
  });
});

describe("visibility", () => {
  it("a transaction starts where everything answered is visible, and nothing else", async () => {
    await engine.write(rows, "{k=1;v=a}");
    engine.store.hold();
    const inFlight = engine.write(rows, "{k=1;v=b}");
    const reader = engine.begin();
    expect(reader.lookup(rows, [[1n]])).toEqual([[1n, Buffer.from("a")]]);
    engine.store.release();
    const timestamp = await inFlight;
    expect(reader.startTimestamp).toBeLessThan(timestamp);
    expect(reader.lookup(rows, [[1n]])).toEqual([[1n, Buffer.from("a")]]);
    // It has not seen what was committed since, so it must not write over it.
    engine.insert(reader, rows, "{k=1;v=c}");
    expect(await codeOf(reader.commit())).toBe(1700);
  });

  it("[tables 150] reads are as of the start, own writes are not seen", async () => {
    await engine.write(rows, "{k=1;v=a}");
    const transaction = engine.begin();
    engine.insert(transaction, rows, "{k=2;v=own}");
    await engine.write(rows, "{k=1;v=b}");
    expect(transaction.lookup(rows, [[1n], [2n]])).toEqual([[1n, Buffer.from("a")], undefined]);
    transaction.abort();
  });

  it("with async durability the answer does not wait for the flush", async () => {
    engine.store.hold();
    const transaction = engine.begin({ isBlind: true, durability: "async" });
    engine.insert(transaction, rows, "{k=1;v=a}");
    await transaction.commit();
    expect(engine.scan(rows)).toEqual([]);
    engine.store.release();
    await engine.cell.settled();
    expect(engine.scan(rows)).toEqual(["1:a"]);
  });

  it("the horizon is the oldest start of those that live, held timestamps included", async () => {
    await engine.write(rows, "{k=1;v=a}");
    const first = engine.begin();
    const release = engine.transactions.hold(first.startTimestamp);
    await engine.write(rows, "{k=1;v=b}");
    const second = engine.begin();
    expect(engine.transactions.horizon).toBe(first.startTimestamp);
    first.abort();
    expect(engine.transactions.horizon).toBe(first.startTimestamp);
    release();
    release();
    expect(engine.transactions.horizon).toBe(second.startTimestamp);
    await second.commit();
    expect(engine.transactions.horizon).toBe(engine.transactions.visibleTimestamp);
  });
});

describe("limits and states", () => {
  it("more rows than a transaction may have: 1717", async () => {
    const transaction = engine.begin();
    const text = "{v=a};".repeat(100_000);
    engine.insert(transaction, queue, text);
    const error = await failure((async () => engine.insert(transaction, queue, "{v=b}"))());
    expect(error instanceof YtError && error.code).toBe(1717);
    expect(error instanceof YtError && error.attributes.get("limit")).toBe(100_000n);
    transaction.abort();
  });

  it("[tables 151] transaction and table must agree on atomicity: 11008", async () => {
    const loose = await engine.createTable("//tmp/n", sortedSchema, "atomicity=none");
    const full = engine.begin();
    const none = engine.begin({ atomicity: "none" });
    for (const [transaction, table] of [
      [full, loose],
      [none, rows],
    ] as const) {
      expect(await codeOf((async () => engine.insert(transaction, table, "{k=1;v=a}"))())).toBe(11008);
    }
    full.abort();
    engine.insert(none, loose, "{k=1;v=a}");
    const other = engine.begin({ atomicity: "none" });
    engine.insert(other, loose, "{k=1;v=b}");
    await other.commit();
    await none.commit();
    expect(engine.scan(loose)).toEqual(["1:a"]);
    expect(full.id.split("-")[2]).toMatch(/0002$/);
    expect(none.id.split("-")[2]).toMatch(/0003$/);
  });

  it("an ended transaction takes nothing more", async () => {
    const transaction = engine.begin();
    await transaction.commit();
    expect(String(await failure(transaction.commit()))).toContain(
      `Cannot commit since transaction ${transaction.id} is in "committed" state`,
    );
    expect(() => engine.insert(transaction, rows, "{k=1}")).toThrow(
      `Cannot modify rows since transaction ${transaction.id} is in "committed" state`,
    );
    expect(() => transaction.lookup(rows, [[1n]])).toThrow("committed");
    transaction.abort();
    expect(transaction.state).toBe("committed");
  });

  it("an empty commit gives a timestamp that no crash gives out again", async () => {
    const timestamp = await engine.begin().commit();
    const durable = await engine.store.crash();
    const next = await EngineFixture.open({ durable, clock: engine.clock });
    expect(next.cell.nextTimestamp()).toBeGreaterThan(timestamp);
    await next.close();
    engine = await EngineFixture.open();
  });
});

describe("leases", () => {
  it("a transaction that is not used is aborted; use renews its lease", async () => {
    const used = engine.start({ timeoutMs: 1_000 });
    const forgotten = engine.start({ timeoutMs: 1_000 });
    engine.insert(forgotten, rows, "{k=1;v=a}");
    await engine.clock.advance(600);
    engine.transactions.ping(used.id);
    await engine.clock.advance(600);
    expect(engine.transactions.get(used.id)).toBe(used);
    expect(forgotten.state).toBe("aborted");
    const error = await failure((async () => engine.transactions.get(forgotten.id))());
    expect(error instanceof YtError && error.code).toBe(11000);
    await engine.clock.advance(1_100);
    expect(used.state).toBe("aborted");
    expect(engine.transactions.count).toBe(0);
    expect(engine.scan(rows)).toEqual([]);
  });

  it("an unknown id and one of another kind: 11000", async () => {
    for (const id of ["1-2-10002-3", "1-2-10001-3", "0-0-0-1"]) {
      const error = await failure((async () => engine.transactions.get(id))());
      expect(error instanceof YtError && error.code, id).toBe(11000);
    }
  });
});

describe("large commits", () => {
  const count = 20_000;
  const numbered = (text: string): string =>
    Array.from({ length: count }, (_, key) => `{k=${key};v=${text}}`).join(";");

  it("give others a turn, keep the order of commits, and are as atomic as small ones", async () => {
    const large = engine.begin({ isBlind: true });
    const encoded = rowsOf(rows.writeSchema, numbered("a"));
    let turns = 0;
    let isDone = false;
    const spin = (): void => {
      turns++;
      if (!isDone) {
        setImmediate(spin);
      }
    };
    spin();
    const inserted = large.insertManyRows(rows, encoded);
    // A commit waits for the rows that are on their way.
    const committed = large.commit();
    const small = engine.write(rows, "{k=5;v=b}");
    await inserted;
    await settle();
    expect(engine.scan(rows).length).toBeLessThanOrEqual(1);
    const timestamps = await Promise.all([committed, small]);
    isDone = true;
    expect(turns).toBeGreaterThan(40);
    const [winner] = timestamps[0] > timestamps[1] ? ["a"] : ["b"];
    const all = engine.scan(rows);
    expect(all).toHaveLength(count);
    expect(all[5]).toBe(`5:${winner}`);
    expect(all[6]).toBe("6:a");
  });

  it("that meet a conflict change nothing", async () => {
    const large = engine.begin();
    await large.insertManyRows(rows, rowsOf(rows.writeSchema, numbered("a")));
    await engine.write(rows, `{k=${count - 1};v=first}`);
    expect(await codeOf(large.commit())).toBe(1700);
    expect(engine.scan(rows)).toEqual([`${count - 1}:first`]);
    await engine.write(rows, "{k=1;v=after}");
    expect(engine.scan(rows)).toHaveLength(2);
  });

  it("are refused when the table is unmounted meanwhile", async () => {
    const large = engine.begin({ isBlind: true });
    await large.insertManyRows(rows, rowsOf(rows.writeSchema, numbered("a")));
    const committed = large.commit();
    const unmounted = engine.unmount("//tmp/t");
    const error = await failure(committed);
    expect(error instanceof YtError && error.has(1702)).toBe(true);
    await unmounted;
    await engine.mount("//tmp/t");
    expect(engine.scan(rows)).toEqual([]);
  });

  it("fail as a whole with the disk", async () => {
    const large = engine.begin({ isBlind: true });
    await large.insertManyRows(rows, rowsOf(rows.writeSchema, numbered("a")));
    engine.store.failAt(1);
    await expect(large.commit()).rejects.toThrow();
    await settle();
    expect(engine.scan(rows)).toEqual([]);
    await engine.write(rows, "{k=1;v=after}");
    expect(engine.scan(rows)).toEqual(["1:after"]);
  });
});

function schemaColumns(table: DynamicTableHandle) {
  return table.schema.columns.map(
    ({ name, type }) =>
      new Map([
        ["name", name],
        ["type", type],
      ]),
  );
}

it("the barrier of a tablet stays below a commit that has its timestamp and is not prepared there yet", async () => {
  const transaction = engine.begin({ isBlind: true });
  const many = Array.from({ length: 2_000 }, (_, k) => `{k=${k};v=a}`).join(";");
  engine.insert(transaction, rows, many);
  engine.insert(transaction, queue, "{v=a}");
  const commit = transaction.commit();
  await new Promise((resolve) => setImmediate(resolve));
  const { barrierTimestamp } = queue.readableTablet(0).info();
  expect(queueLength()).toBe(0);
  expect(await commit).toBeGreaterThan(barrierTimestamp);
  expect(queueLength()).toBe(1);
});
