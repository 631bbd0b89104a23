import { YtError } from "@qyt/base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { highPendingBytes, WriteBatch } from "../../cell/index.ts";
import { rowOverheadBytes } from "./byte-budget.ts";
import { EngineFixture, rowsOf } from "./engine-fixture.ts";
import { TabletTransactions } from "./tablet-transactions.ts";

let engine: EngineFixture;
beforeEach(async () => {
  engine = await EngineFixture.open();
});
afterEach(() => engine.close());

const schema = "[{name=a;type=string}]";
const sortedSchema = "[{name=k;type=int64;sort_order=ascending};{name=a;type=string}]";
const value = "x".repeat(100);

function codeOf(act: () => void): number | undefined {
  try {
    act();
    return undefined;
  } catch (thrown) {
    return thrown instanceof YtError ? thrown.code : -1;
  }
}

test("one transaction holds so many bytes and no more; what it held counts until it ends", async () => {
  const queue = await engine.createTable("//tmp/q", schema);
  const table = await engine.createTable("//tmp/t", sortedSchema);
  const rows = rowsOf(queue.writeSchema, `{a="${value}"}`);
  const bytes = rows.bytes.length + rowOverheadBytes;
  const transactions = new TabletTransactions(engine.cell, {
    limits: { maxTransactionBytes: 3 * bytes, maxOpenTransactionsBytes: 5 * bytes },
  });
  const first = transactions.begin({ user: "root" });
  for (let count = 0; count < 3; count++) {
    first.insertRows(queue, rows);
  }
  expect(codeOf(() => first.insertRows(queue, rows))).toBe(1717);
  const second = transactions.begin({ user: "root" });
  second.insertRows(queue, rows);
  expect(codeOf(() => second.insertRows(table, rowsOf(table.writeSchema, `{k=1;a="${value}"}`)))).toBe(108);
  second.insertRows(queue, rows);
  expect(transactions.heldBytes).toBe(5 * bytes);
  await first.commit();
  expect(transactions.heldBytes).toBe(2 * bytes);
  second.insertRows(table, rowsOf(table.writeSchema, '{k=1;a="x"}'));
  second.abort();
  second.abort();
  expect(transactions.heldBytes).toBe(0);
  expect(queue.readableTablet(0).visible.totalRowCount).toBe(3);
});

test("a failed commit gives the bytes back", async () => {
  const queue = await engine.createTable("//tmp/q", schema);
  engine.store.failAt(1);
  await expect(engine.write(queue, "{a=x}")).rejects.toThrow();
  expect(engine.transactions.heldBytes).toBe(0);
});

test("commits wait while very much is on its way to the disk", async () => {
  const queue = await engine.createTable("//tmp/q", schema);
  engine.store.hold();
  const big = new WriteBatch();
  const piece = Buffer.alloc(8_000);
  for (let index = 0; index * piece.length <= highPendingBytes; index++) {
    big.put(Buffer.from(`\xff${String(index).padStart(8, "0")}`, "latin1"), piece);
  }
  const written = engine.cell.commit({ batch: big });
  const commit = engine.write(queue, "{a=x}");
  await new Promise((resolve) => setImmediate(resolve));
  expect(queue.readableTablet(0).pending.totalRowCount).toBe(0);
  engine.store.release();
  await written;
  await commit;
  expect(queue.readableTablet(0).visible.totalRowCount).toBe(1);
});
