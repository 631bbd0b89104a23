/** Who goes before whom: conflicts of row writes and locks, in flight, committed, and by lock group. */
import { YtError } from "@qyt/base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WriteBatch } from "../../cell/index.ts";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture, failure } from "../transactions/engine-fixture.ts";
import type { TabletTransaction } from "../transactions/index.ts";
import { conflictReason, type LockMode } from "./row-locks.ts";

const schema =
  "[{name=k;type=int64;sort_order=ascending};{name=a;type=int64;lock=ga};{name=b;type=int64;lock=gb};{name=v;type=int64};{name=n;type=int64;aggregate=sum}]";
let engine: EngineFixture;
let table: DynamicTableHandle;
beforeEach(async () => {
  engine = await EngineFixture.open();
  table = await engine.createTable("//tmp/t", schema);
});
afterEach(() => engine.close());

const update = { update: true };

async function conflict(commit: Promise<unknown>): Promise<YtError> {
  const error = await failure(commit);
  expect(error).toBeInstanceOf(YtError);
  const found = innermost(error);
  expect(found?.code, String(error)).toBe(1700);
  return found ?? new YtError("no conflict");
}

/** The error inside of the one about the commit. */
function innermost(error: unknown): YtError | undefined {
  return error instanceof YtError ? (innermost(error.innerErrors[0]) ?? error) : undefined;
}

type Act = (transaction: TabletTransaction) => void | Promise<void>;

const write =
  (text: string): Act =>
  (transaction) =>
    engine.insert(transaction, table, text, update);
const locking =
  (mode: LockMode, groups: readonly string[] = []): Act =>
  (transaction) =>
    engine.lock(transaction, table, "{k=1}", groups, mode);
const sharedWrite =
  (text: string): Act =>
  (transaction) =>
    engine.insert(transaction, table, text, { update: true, aggregate: true, lockType: "shared_write" });
const remove: Act = (transaction) => engine.delete(transaction, table, "{k=1}");

/** Starts both, lets the first commit, then the second; the reason the second is refused for, if it is. */
async function race(first: Act, second: Act, how: "committed" | "in flight"): Promise<string | undefined> {
  const one = engine.begin();
  const two = engine.begin();
  await first(one);
  await second(two);
  let running: Promise<unknown> = Promise.resolve();
  if (how === "committed") {
    await one.commit();
  } else {
    engine.store.hold();
    running = one.commit();
  }
  try {
    const commit = two.commit();
    engine.store.release();
    await commit;
    return undefined;
  } catch (thrown) {
    return innermost(thrown)?.message ?? String(thrown);
  } finally {
    engine.store.release();
    await running;
  }
}

const byWrite = "Row lock conflict due to concurrent write";
const byRead = "Row lock conflict due to concurrent read";
const bySharedWrite = "Row lock conflict due to concurrent shared write";

describe.each(["committed", "in flight"] as const)("the first one is %s", (how) => {
  it("two writes of one row conflict, writes of different rows do not", async () => {
    expect(await race(write("{k=1;v=1}"), write("{k=1;v=2}"), how)).toBe(byWrite);
    expect(await race(write("{k=2;v=1}"), write("{k=3;v=2}"), how)).toBeUndefined();
  });

  it("[tables 147] different lock groups do not, the same one does", async () => {
    expect(await race(write("{k=1;a=1}"), write("{k=1;b=2}"), how)).toBeUndefined();
    expect(await race(write("{k=1;a=1}"), write("{k=1;v=2}"), how)).toBeUndefined();
    expect(await race(write("{k=1;a=1}"), write("{k=1;a=2}"), how)).toBe(byWrite);
    expect(await race(write("{k=1;a=1;b=1}"), write("{k=1;b=2;v=2}"), how)).toBe(byWrite);
    expect(await race((tx) => engine.insert(tx, table, "{k=1;v=1}"), write("{k=1;b=2}"), how)).toBe(byWrite);
  });

  it("a deletion conflicts with writers of every group", async () => {
    expect(await race(remove, write("{k=1;a=2}"), how)).toBe(byWrite);
    expect(await race(write("{k=1;b=2}"), remove, how)).toBe(byWrite);
    expect(await race(remove, remove, how)).toBe(byWrite);
  });

  it("[tables 148] strong read locks stop writers and let each other be", async () => {
    expect(await race(locking("shared_strong"), write("{k=1;v=1}"), how)).toBe(byRead);
    expect(await race(locking("shared_strong"), sharedWrite("{k=1;n=1}"), how)).toBe(byRead);
    expect(await race(locking("shared_strong"), locking("shared_strong"), how)).toBeUndefined();
    expect(await race(locking("shared_strong", ["ga"]), write("{k=1;b=1}"), how)).toBeUndefined();
    expect(await race(locking("shared_strong", ["ga"]), write("{k=1;a=1}"), how)).toBe(byRead);
    expect(await race(write("{k=1;v=1}"), locking("shared_strong"), how)).toBe(byWrite);
  });

  it("an exclusive lock without a write is as good as a write", async () => {
    expect(await race(locking("exclusive"), write("{k=1;v=1}"), how)).toBe(byWrite);
    expect(await race(locking("exclusive"), locking("shared_weak"), how)).toBe(byWrite);
    expect(await race(locking("exclusive", ["ga"]), write("{k=1;v=1}"), how)).toBeUndefined();
  });

  it("shared writes let each other be", async () => {
    expect(await race(sharedWrite("{k=1;n=1}"), sharedWrite("{k=1;n=2}"), how)).toBeUndefined();
    expect(await race(sharedWrite("{k=1;n=1}"), write("{k=1;n=5}"), how)).toBe(bySharedWrite);
    expect(await race(write("{k=1;n=5}"), sharedWrite("{k=1;n=1}"), how)).toBe(byWrite);
    expect(await race(sharedWrite("{k=1;n=1}"), locking("shared_strong"), how)).toBe(bySharedWrite);
  });
});

it("a weak lock looks at others and leaves nothing behind", async () => {
  expect(await race(write("{k=1;v=1}"), locking("shared_weak"), "committed")).toBe(byWrite);
  expect(await race(locking("shared_weak"), write("{k=1;v=1}"), "committed")).toBeUndefined();
});

it("a transaction that mixes shared and exclusive writes of a row counts as exclusive", async () => {
  const mixed: Act = async (transaction) => {
    await write("{k=1;v=1}")(transaction);
    await sharedWrite("{k=1;n=1}")(transaction);
  };
  expect(await race(mixed, sharedWrite("{k=1;n=1}"), "committed")).toBe(byWrite);
});

it("[tables 145] [tables 146] the error names loser, winner, table, key and lock", async () => {
  const loser = engine.begin();
  const winner = engine.begin();
  engine.insert(winner, table, "{k=1;a=1}", update);
  const timestamp = await winner.commit();
  engine.insert(loser, table, "{k=1;a=2}", update);
  const error = await conflict(loser.commit());
  expect(error.message).toBe(byWrite);
  expect(Object.fromEntries(error.attributes)).toMatchObject({
    loser_transaction_id: loser.id,
    winner_transaction_commit_timestamp: timestamp,
    table_path: "//tmp/t",
    key: [1n],
    lock: "ga",
  });
  expect(loser.state).toBe("aborted");
  expect(engine.scan(table)).toEqual(["1:1:#:#:#"]);
});

it("[tables 149] increments of many transactions under shared locks add up", async () => {
  const transactions = Array.from({ length: 10 }, () => engine.begin());
  for (const transaction of transactions) {
    await sharedWrite("{k=1;n=1}")(transaction);
  }
  await Promise.all(transactions.map((transaction) => transaction.commit()));
  expect(engine.lookup(table, "{k=1}")).toEqual(["1:#:#:#:10"]);
});

it("a commit that fails on the disk stands in nobody's way", async () => {
  const failing = engine.begin();
  engine.insert(failing, table, "{k=1;v=1}", update);
  const waiting = engine.begin();
  engine.insert(waiting, table, "{k=1;v=2}", update);
  engine.store.failAt(1);
  await expect(failing.commit()).rejects.toThrow();
  await new Promise((resolve) => setImmediate(resolve));
  await waiting.commit();
  expect(engine.scan(table)).toEqual(["1:#:#:2:#"]);
});

it("a transaction that only writes, begun and committed at once, meets no earlier writer", async () => {
  engine.store.hold();
  const commits = Array.from({ length: 5 }, (_, index) => engine.write(table, `{k=1;v=${index}}`));
  engine.store.release();
  await Promise.all(commits);
  expect(engine.scan(table)).toEqual(["1:#:#:4:#"]);
});

it("marks of read locks are forgotten when nobody can run into them", async () => {
  const reader = engine.begin();
  const bystander = engine.begin();
  await locking("shared_strong")(reader);
  await reader.commit();
  const compact = async (): Promise<void> => {
    table.rows.compact(new WriteBatch(), engine.transactions.horizon, 10);
  };
  await compact();
  expect(table.rows.locks.size).toBe(1);
  bystander.abort();
  await engine.write(table, "{k=2;v=1}");
  await compact();
  expect(table.rows.locks.size).toBe(0);
});

it("which modes go together", () => {
  const modes: readonly LockMode[] = ["exclusive", "shared_write", "shared_strong", "shared_weak"];
  const refused = modes.flatMap((held) =>
    modes.flatMap((wanted) => (conflictReason(wanted, held) === undefined ? [] : [`${held} → ${wanted}`])),
  );
  expect(refused).toEqual([
    "exclusive → exclusive",
    "exclusive → shared_write",
    "exclusive → shared_strong",
    "exclusive → shared_weak",
    "shared_write → exclusive",
    "shared_write → shared_strong",
    "shared_write → shared_weak",
    "shared_strong → exclusive",
    "shared_strong → shared_write",
  ]);
});

it("an unknown lock group is named, and nothing is locked", async () => {
  const transaction = engine.begin();
  const error = await failure(engine.lock(transaction, table, "{k=1}", ["zz"], "exclusive"));
  expect(String(error)).toContain('Lock group "zz" not found');
  transaction.abort();
});

describe("claims that no stored version tells of", () => {
  it("an exclusive lock of one group stays when the transaction writes another group of the row", async () => {
    await engine.write(table, "{k=1;a=1;b=1}");
    const late = engine.begin();
    const locker = engine.begin();
    await engine.lock(locker, table, "{k=1}", ["gb"], "exclusive");
    engine.insert(locker, table, "{k=1;a=2}", update);
    await locker.commit();
    engine.insert(late, table, "{k=1;b=3}", update);
    const error = await conflict(late.commit());
    expect(error.attributes.get("lock")).toBe("gb");
  });

  it("an exclusive lock stays when the transaction writes the same group under a shared lock", async () => {
    const late = engine.begin();
    const locker = engine.begin();
    await engine.lock(locker, table, "{k=1}", [], "exclusive");
    await sharedWrite("{k=1;n=1}")(locker);
    await locker.commit();
    await sharedWrite("{k=1;n=1}")(late);
    await conflict(late.commit());
  });

  it("an increment by null claims its own group only", async () => {
    const other = await engine.createTable(
      "//tmp/o",
      "[{name=k;type=int64;sort_order=ascending};{name=a;type=int64;lock=ga};{name=n;type=int64;aggregate=sum;lock=gn}]",
    );
    const [ofOther, ofSame] = [engine.begin(), engine.begin()];
    await engine.write(other, "{k=1;n=#}", { update: true, aggregate: true });
    engine.insert(ofOther, other, "{k=1;a=2}", update);
    await ofOther.commit();
    engine.insert(ofSame, other, "{k=1;n=2}", update);
    await conflict(ofSame.commit());
  });
});

describe("a schema decoded another time, as a snapshot has it after a restart", () => {
  it("meets the same locks", async () => {
    const root = { user: "root" };
    const transactionId = await engine.cypress.startTransaction(root, { timeoutMs: 60_000 });
    await engine.cypress.lock({ user: "root", transactionId }, { path: "//tmp/t", mode: "snapshot" });
    engine = await engine.reopen();
    table = engine.table("//tmp/t");
    const one = engine.begin();
    const two = engine.begin();
    await write("{k=1;a=1}")(one);
    await write("{k=1;a=2}")(two);
    engine.store.hold();
    const first = one.commit();
    const snapshot = engine.tables.find({ user: "root", transactionId }, "//tmp/t").node;
    expect(snapshot.state.schema).not.toBe(table.schema);
    const seen = engine.tables.environment.sortedRows(snapshot, () => "//tmp/t");
    expect(seen.locks).toBe(table.rows.locks);
    await conflict(two.commit());
    engine.store.release();
    await first;
  });
});
