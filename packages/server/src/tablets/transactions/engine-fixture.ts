/** What the tests of sorted tables and transactions share: the engine over a store that can fail. Imported by tests only. */
import { emptyMap, mapOf, seededRandom } from "@qyt/base";
import { createRowReader, type EncodedRows, type RowReaderOptions, type TableSchema } from "@qyt/schema";
import { FakeClock, ForgetfulStore } from "@qyt/testing";
import { parseYsonMap } from "@qyt/yson";
import { Cell, MemoryStore, type Store } from "../../cell/index.ts";
import { Cypress } from "../../cypress/index.ts";
import { type DynamicTableHandle, TableManager } from "../tables/index.ts";
import type { InsertOptions, TabletTransaction } from "./tablet-transaction.ts";
import { type StartOptions, TabletTransactions } from "./tablet-transactions.ts";

const root = { user: "root" };

export class EngineFixture {
  readonly durable: Store;
  readonly store: ForgetfulStore;
  readonly clock: FakeClock;
  readonly cell: Cell;
  readonly cypress: Cypress;
  readonly tables: TableManager;
  readonly transactions: TabletTransactions;

  private constructor(
    parts: Pick<
      EngineFixture,
      "durable" | "store" | "clock" | "cell" | "cypress" | "tables" | "transactions"
    >,
  ) {
    this.durable = parts.durable;
    this.store = parts.store;
    this.clock = parts.clock;
    this.cell = parts.cell;
    this.cypress = parts.cypress;
    this.tables = parts.tables;
    this.transactions = parts.transactions;
  }

  static async open(options: { durable?: Store; clock?: FakeClock } = {}): Promise<EngineFixture> {
    const durable = options.durable ?? new MemoryStore();
    const clock = options.clock ?? new FakeClock();
    const store = new ForgetfulStore(durable);
    const cell = await Cell.open({ store, clock, random: seededRandom(1), cellTag: 1 });
    const tables = await TableManager.open(cell);
    const cypress = await Cypress.open(cell, {
      clusterName: "test",
      nodeTypes: tables.nodeTypes,
      onNodesChanged: (changes, view) => tables.nodesChanged(changes, view),
    });
    const transactions = new TabletTransactions(cell);
    await tables.start(cypress, transactions, { nodeAddress: "localhost:1" });
    return new EngineFixture({ durable, store, clock, cell, cypress, tables, transactions });
  }

  /** The same store opened anew, as after a restart. */
  async reopen(): Promise<EngineFixture> {
    await this.close();
    return EngineFixture.open({ durable: this.durable, clock: this.clock });
  }

  async close(): Promise<void> {
    await this.tables.close();
    this.transactions.close();
    await this.cypress.close();
    await this.cell.close();
  }

  /** A mounted dynamic table. @param schema in text YSON @param more further attributes, the inside of a map */
  async createTable(path: string, schema: string, more = ""): Promise<DynamicTableHandle> {
    const attributes = parseYsonMap(`dynamic=%true;schema=${schema};${more}`);
    await this.cypress.create(root, {
      type: "table",
      path,
      attributes: mapOf(Object.fromEntries(attributes)),
    });
    await this.mount(path);
    return this.table(path);
  }

  mount(path: string): Promise<void> {
    return this.tables.mount(root, { path, attributes: emptyMap }, {});
  }

  unmount(path: string): Promise<void> {
    return this.tables.unmount(root, { path, attributes: emptyMap }, {});
  }

  table(path: string): DynamicTableHandle {
    return this.tables.dynamicHandle(root, path);
  }

  begin(options: Partial<Parameters<TabletTransactions["begin"]>[0]> = {}): TabletTransaction {
    return this.transactions.begin({ user: "root", ...options });
  }

  start(options: Partial<StartOptions> = {}): TabletTransaction {
    return this.transactions.start({ user: "root", timeoutMs: 30_000, ...options });
  }

  insert(
    transaction: TabletTransaction,
    table: DynamicTableHandle,
    text: string,
    options: InsertOptions = {},
  ): void {
    transaction.insertRows(table, rowsOf(table.writeSchema, text, options.update === true), options);
  }

  /** Rows in a transaction of their own. @returns the commit timestamp */
  write(table: DynamicTableHandle, text: string, options: InsertOptions = {}): Promise<bigint> {
    const transaction = this.begin({ isBlind: true });
    this.insert(transaction, table, text, options);
    return transaction.commit();
  }

  async delete(transaction: TabletTransaction, table: DynamicTableHandle, text: string): Promise<void> {
    await transaction.deleteManyRows(table, rowsOf(table.keySchema, text, false, "keys"));
  }

  async lock(
    transaction: TabletTransaction,
    table: DynamicTableHandle,
    text: string,
    groups: readonly string[],
    mode: Parameters<TabletTransaction["lockManyRows"]>[3],
  ): Promise<void> {
    await transaction.lockManyRows(table, rowsOf(table.keySchema, text, false, "keys"), groups, mode);
  }

  /** Rows by key as text: `1:a`, `-` where there is none. */
  lookup(table: DynamicTableHandle, text: string, timestamp = this.transactions.visibleTimestamp): string[] {
    const keys = rowsOf(table.keySchema, text, false, "keys");
    return Array.from({ length: keys.rowCount }, (_, index) => {
      const key = table.rows.encodeKey(table.completeKey(keys.decodeRow(index)));
      return rowText(table.rows.lookup(key, timestamp));
    });
  }

  /** All rows of a sorted table as text, in key order. */
  scan(table: DynamicTableHandle, timestamp = this.transactions.visibleTimestamp, limit = 1_000): string[] {
    const result: string[] = [];
    let from: Buffer | undefined = Buffer.alloc(0);
    while (from !== undefined) {
      const { rows, next }: ReturnType<DynamicTableHandle["rows"]["scan"]> = table.rows.scan(
        from,
        undefined,
        timestamp,
        limit,
      );
      result.push(...rows.map(rowText));
      from = next;
    }
    return result;
  }

  /** How many records the rows of a sorted table take in the store. */
  recordCount(table: DynamicTableHandle): number {
    const { from, to } = table.rows.range;
    return [...this.cell.range(from, to, { keysOnly: true })].length;
  }
}

export function rowsOf(
  schema: TableSchema,
  text: string,
  keepAbsent = false,
  rowKind: RowReaderOptions["rowKind"] = "insert",
): EncodedRows {
  const reader = createRowReader({ name: "yson", attributes: emptyMap }, schema, { rowKind, keepAbsent });
  reader.feed(Buffer.from(text));
  return reader.finish();
}

function rowText(row: readonly unknown[] | undefined): string {
  return row === undefined
    ? "-"
    : row
        .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : String(value ?? "#")))
        .join(":");
}

/** The error that the promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (thrown) {
    return thrown;
  }
  throw new Error("The promise was expected to reject");
}
