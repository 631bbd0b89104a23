/** Set-up of this room's tests: a tree with tables over a store in memory, and its commands by name. */
import { mapOf, seededRandom, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { parseRichPath, parseYson } from "@qyt/yson";
import { Cell, MemoryStore, type Store } from "../../cell/index.ts";
import { Cypress, type RequestContext } from "../../cypress/index.ts";
import { TableManager } from "../tables/index.ts";
import { TabletTransactions } from "../transactions/index.ts";
import { readTable } from "./read-table.ts";
import { writeTable } from "./write-table.ts";

export const root: RequestContext = { user: "root" };

export interface ReadResult {
  readonly text: string;
  readonly parameters: YsonMap;
}

export class StaticFixture {
  readonly cell: Cell;
  readonly cypress: Cypress;
  readonly tables: TableManager;
  readonly transactions: TabletTransactions;
  readonly clock: FakeClock;
  readonly store: Store;

  private constructor(
    parts: Pick<StaticFixture, "cell" | "cypress" | "tables" | "transactions" | "clock" | "store">,
  ) {
    this.cell = parts.cell;
    this.cypress = parts.cypress;
    this.tables = parts.tables;
    this.transactions = parts.transactions;
    this.clock = parts.clock;
    this.store = parts.store;
  }

  static async open(options: { store?: Store; clock?: FakeClock } = {}): Promise<StaticFixture> {
    const store = options.store ?? new MemoryStore();
    const clock = options.clock ?? new FakeClock();
    const cell = await Cell.open({ store, clock, random: seededRandom(1), cellTag: 1 });
    const tables = await TableManager.open(cell);
    const cypress = await Cypress.open(cell, { clusterName: "test", nodeTypes: tables.nodeTypes });
    const transactions = new TabletTransactions(cell);
    await tables.start(cypress, transactions, { nodeAddress: "localhost:1" });
    return new StaticFixture({ cell, cypress, tables, transactions, clock, store });
  }

  async create(path: string, attributes: string = "{}", context = root): Promise<string> {
    const parsed = parseYson(attributes);
    const { id } = await this.cypress.create(context, {
      type: "table",
      path,
      attributes: parsed instanceof Map ? parsed : mapOf({}),
    });
    return id;
  }

  get(path: string, context = root): Promise<YsonValue> {
    return this.cypress.get(context, { path });
  }

  /** Rows as a list fragment in text YSON. */
  async write(path: string, rows: string, context = root): Promise<void> {
    await writeTable(this.tables, context, {
      path: parseRichPath(path),
      format: { name: "yson", attributes: mapOf({ format: "text" }) },
      body: bodyOf(rows),
    });
  }

  async read(
    path: string,
    options: { context?: RequestContext; control?: readonly string[]; startRowIndexOnly?: boolean } = {},
  ): Promise<ReadResult> {
    const read = this.startRead(path, options);
    let text = "";
    for await (const chunk of read.chunks) {
      text += chunk.toString();
    }
    return { text: text.replaceAll("\n", ""), parameters: read.responseParameters() };
  }

  startRead(
    path: string,
    options: { context?: RequestContext; control?: readonly string[]; startRowIndexOnly?: boolean } = {},
  ): ReturnType<typeof readTable> {
    const control = new Set(options.control ?? []);
    return readTable(this.tables, this.transactions, options.context ?? root, {
      path: parseRichPath(path),
      format: { name: "yson", attributes: mapOf({ format: "text" }) },
      control: {
        tableIndex: control.has("table"),
        rowIndex: control.has("row"),
        rangeIndex: control.has("range"),
        tabletIndex: control.has("tablet"),
      },
      startRowIndexOnly: options.startRowIndexOnly ?? false,
      omitInaccessibleColumns: false,
      signal: new AbortController().signal,
    });
  }

  /** The values of column `a` of a table, comma-separated. */
  async column(path: string, context = root): Promise<string> {
    const { text } = await this.read(path, { context });
    return [...text.matchAll(/"a"=([^;]*);/g)].map(([, value]) => value).join(",");
  }

  /** The same store opened anew, as after a restart. */
  async reopen(): Promise<StaticFixture> {
    await this.close();
    return StaticFixture.open({ store: this.store, clock: this.clock });
  }

  async close(): Promise<void> {
    await this.tables.close();
    await this.cypress.close();
  }
}

export async function* bodyOf(text: string): AsyncGenerator<Buffer, void, void> {
  yield Buffer.from(text);
}

/** The error that the promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<YtError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof YtError) {
      return error;
    }
    throw error;
  }
  throw new Error("The promise was expected to reject");
}
