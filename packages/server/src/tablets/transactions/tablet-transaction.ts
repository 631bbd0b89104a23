/**
 * A tablet transaction: buffered changes of any number of dynamic tables, committed all or nothing.
 *
 * Reads see what was committed up to the start; own changes are not seen. Ordered tables only append
 * and never conflict; rows of sorted tables conflict with whoever committed them after the start.
 * Specified in: documentation "Dynamic tables: transactions", yt/yt/ytlib/api/native/transaction.cpp.
 */
import { assert, limits, type Random, toYtError, turn, YtError } from "@qyt/base";
import { type EncodedRows, type RowValue, rowValuesWeight } from "@qyt/schema";
import { type Cell, highPendingBytes, WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { DynamicTable } from "../dynamic-table.ts";
import type { FigureChanges, LockMode, RowWrite, WriteSession } from "../sorted/index.ts";
import { type ByteBudget, rowOverheadBytes } from "./byte-budget.ts";
import type { CommitGate } from "./commit-gate.ts";
import { type Changes, insertions, rowsPerTurn, slices } from "./insertions.ts";
import { LoggedRows, type ReplicatedPart, type StoredRows } from "./logged-rows.ts";
import { OrderedBuffer } from "./ordered-buffer.ts";
import { RowBuffer, type RowChange, RowChanges } from "./row-buffer.ts";
import { inSchemaOf, requireNoReplica, requireSorted } from "./row-checks.ts";

export type TransactionState = "active" | "committing" | "committed" | "aborted";

export interface InsertOptions {
  /** Absent columns of a sorted table keep their values. */
  readonly update?: boolean;
  /** Values of aggregate columns are folded into what is stored. */
  readonly aggregate?: boolean;
  readonly lockType?: "exclusive" | "shared_write";
  /** Whether a replicated table has to have a synchronous replica that gets the rows. Default: true. */
  readonly requireSyncReplica?: boolean;
  /** Of an ordered table: the rows were routed by this layout, and go nowhere when it is another one at commit. */
  readonly layoutRevision?: bigint | undefined;
}

export interface TransactionOptions {
  readonly id: string;
  readonly user: string;
  readonly startTimestamp: bigint;
  readonly atomicity: "full" | "none";
  readonly durability: "sync" | "async";
  /** It only writes, and meets no earlier writer. */
  readonly isBlind: boolean;
  readonly cell: Cell;
  readonly random: Random;
  /** Called once, when the transaction has ended. */
  readonly onEnd: (transaction: TabletTransaction) => void;
  /** Keeps the order of commits that are not durable yet. */
  readonly inFlight: { begin(timestamp: bigint): void; end(timestamp: bigint): void };
  /** Closed while a large commit goes in turns. */
  readonly gate: CommitGate;
  readonly budget: ByteBudget;
}

export class TabletTransaction {
  readonly id: string;
  readonly user: string;
  readonly startTimestamp: bigint;
  readonly atomicity: "full" | "none";
  readonly durability: "sync" | "async";
  /** Sequence numbers pushed in this transaction, by producer session. */
  readonly remembered = new Map<string, bigint>();
  readonly #options: TransactionOptions;
  readonly #rowBuffers = new Map<string, RowBuffer>();
  readonly #orderedBuffers = new Map<string, OrderedBuffer>();
  /** Replicated tables that have to have a synchronous replica, by id. */
  readonly #needSyncReplica = new Map<string, DynamicTable>();
  readonly #replicatedParts: ReplicatedPart[] = [];
  #state: TransactionState = "active";
  #modifiedRowCount = 0;
  #heldBytes = 0;
  /** Modifications that go in turns. */
  readonly #working = new Set<Promise<void>>();

  constructor(options: TransactionOptions) {
    this.#options = options;
    this.id = options.id;
    this.user = options.user;
    this.startTimestamp = options.startTimestamp;
    this.atomicity = options.atomicity;
    this.durability = options.durability;
  }

  get state(): TransactionState {
    return this.#state;
  }

  /**
   * Buffers rows in the table's write schema: all or none of them.
   * @throws YtError 307, 308, 325, 902, 1702, 1717, 11008 …
   */
  insertRows(table: DynamicTable, rows: EncodedRows, options: InsertOptions = {}): void {
    table.requireRoom();
    this.#modify(table, rows.rowCount, rows.bytes.length, options.requireSyncReplica);
    if (table.sorted) {
      this.#applyAtOnce(table, insertions(table, rows, options));
    } else {
      this.#append(table, rows, options);
    }
  }

  /** The same with turns for others, for as many rows as a request may have. A commit waits for it. */
  async insertManyRows(table: DynamicTable, rows: EncodedRows, options: InsertOptions = {}): Promise<void> {
    table.requireRoom();
    this.#modify(table, rows.rowCount, rows.bytes.length, options.requireSyncReplica);
    if (table.sorted) {
      await this.#applyInTurns(table, insertions(table, rows, options));
    } else {
      this.#append(table, rows, options);
    }
  }

  /** Buffers one whole row of a sorted table: all columns in schema order. */
  writeRow(table: DynamicTable, values: readonly RowValue[]): void {
    table.requireRoom();
    this.#modify(table, 1, rowValuesWeight(values));
    const change = new RowChanges(table).write(values, {
      update: false,
      aggregate: false,
      lockMode: "exclusive",
    });
    this.#rowBuffer(table).apply(change);
  }

  /** Buffers removals by key. @throws YtError 1716 for an ordered table */
  async deleteManyRows(
    table: DynamicTable,
    keys: EncodedRows,
    options: Pick<InsertOptions, "requireSyncReplica"> = {},
  ): Promise<void> {
    requireSorted(table, "deletes");
    this.#modify(table, keys.rowCount, keys.bytes.length, options.requireSyncReplica);
    const changes = new RowChanges(table);
    await this.#applyInTurns(table, {
      count: keys.rowCount,
      at: (index) => changes.delete(table.completeKey(keys.decodeRow(index))),
    });
  }

  /** @param key all key columns, computed ones included */
  deleteKey(table: DynamicTable, key: readonly RowValue[]): void {
    requireSorted(table, "deletes");
    this.#modify(table, 1, rowValuesWeight(key));
    this.#rowBuffer(table).apply(new RowChanges(table).delete(key));
  }

  /** @throws YtError 1716 for an ordered table */
  async lockManyRows(
    table: DynamicTable,
    keys: EncodedRows,
    groups: readonly string[],
    mode: LockMode,
  ): Promise<void> {
    requireSorted(table, "lock");
    this.#modify(table, keys.rowCount, keys.bytes.length);
    const changes = new RowChanges(table);
    await this.#applyInTurns(table, {
      count: keys.rowCount,
      at: (index) => changes.lock(table.completeKey(keys.decodeRow(index)), groups, mode),
    });
  }

  /** Rows as of the start, all columns in schema order; `undefined` where there is none. */
  lookup(table: DynamicTable, keys: readonly (readonly RowValue[])[]): (RowValue[] | undefined)[] {
    this.#requireActive("read rows");
    assert(!this.#options.isBlind, "a blind transaction does not read");
    const target = table.readTarget(this.startTimestamp);
    return keys.map((values) => {
      const key = target.rows.encodeKey(values);
      target.requireReadableKey(key);
      const row = target.rows.lookup(key, this.startTimestamp);
      return row === undefined || target.id === table.id ? row : inSchemaOf(table, target, row);
    });
  }

  /** Rows that replication brings to a replica. */
  addReplicated(part: ReplicatedPart): void {
    this.#requireActive("modify rows");
    this.#replicatedParts.push(part);
  }

  /**
   * Makes all changes durable and visible at one timestamp. With few rows there is no await from the checks
   * to the joining of the commit group; a large commit goes in turns, and no other commits meanwhile. With
   * `durability=async` the answer does not wait for the flush.
   * @returns the commit timestamp
   * @throws YtError 1700 on a conflict, 1702 when a tablet went away; nothing is changed then
   */
  async commit(): Promise<bigint> {
    const { cell, gate } = this.#options;
    this.#requireActive("commit");
    while (this.#working.size > 0) {
      await Promise.allSettled(this.#working);
      this.#requireActive("commit");
    }
    this.#state = "committing";
    if (
      this.#rowBuffers.size === 0 &&
      this.#orderedBuffers.size === 0 &&
      this.#replicatedParts.length === 0
    ) {
      this.#end("committed");
      return cell.generateTimestamp();
    }
    if (cell.pendingBytes > highPendingBytes) {
      // The disk does not keep up: what is asked to be written waits for what is being written.
      await cell.settled();
    }
    while (gate.closed !== undefined) {
      await gate.closed;
    }
    const rowCount = [...this.#rowBuffers.values()].reduce((sum, buffer) => sum + buffer.rowCount, 0);
    const isLarge = rowCount > rowsPerTurn;
    const openGate = isLarge ? gate.close() : undefined;
    const commit: Commit = { timestamp: cell.nextTimestamp(), batch: new WriteBatch(), prepared: [] };
    this.#options.inFlight.begin(commit.timestamp);
    let durable: Promise<void>;
    try {
      for (const _ of this.#prepare(commit)) {
        if (isLarge) {
          await turn();
        }
      }
      durable = this.#join(commit);
    } catch (thrown) {
      rollBack(commit.prepared);
      this.#options.inFlight.end(commit.timestamp);
      this.#end("aborted");
      throw commitError(toYtError(thrown), this.id);
    } finally {
      openGate?.();
    }
    if (this.durability === "async") {
      durable.catch(() => undefined);
    } else {
      await durable;
    }
    return commit.timestamp;
  }

  /** Drops everything. An ended transaction stays as it is. */
  abort(): void {
    if (this.#state === "active") {
      this.#end("aborted");
    }
  }

  /** Pauses after every `rowsPerTurn` rows. */
  *#prepare({ timestamp, batch, prepared }: Commit): Generator<void, void, void> {
    for (const table of this.#needSyncReplica.values()) {
      table.replication?.requireSyncReplica();
    }
    const logged: LoggedRows[] = [];
    const sessions: { readonly session: WriteSession; readonly writes: readonly RowWrite[] }[] = [];
    const counted: { readonly table: DynamicTable; readonly figures: FigureChanges }[] = [];
    const checked = new Map<DynamicTable, { readonly layout: unknown; readonly tabletIds: Set<string> }>();
    for (const { table, writes: all } of this.#storedRows(logged)) {
      const tabletIds = new Set<string>();
      const figures = table.countChanges();
      counted.push({ table, figures });
      checked.set(table, { layout: table.layout, tabletIds });
      const session = table.rows.openWrites({
        transactionId: this.id,
        // A transaction that reads nothing stands wholly at its commit.
        startTimestamp: this.#options.isBlind ? timestamp - 1n : this.startTimestamp,
        commitTimestamp: timestamp,
        checkConflicts: this.atomicity === "full",
        figures,
        tabletIdOf: (key) => table.tabletIdOf(key),
      });
      for (const writes of slices(all)) {
        for (const { key } of writes) {
          tabletIds.add(table.requireWritableKey(key));
        }
        session.check(writes);
        sessions.push({ session, writes });
        yield;
      }
    }
    for (const { session, writes } of sessions) {
      if (prepared.at(-1) !== session) {
        prepared.push(session);
      }
      session.put(batch, writes);
      yield;
    }
    for (const rows of logged) {
      yield* rows.collect();
    }
    for (const [table, { layout, tabletIds }] of checked) {
      if (table.layout !== layout) {
        throw new YtError(`Tablets of table ${table.path} have changed while the transaction was committed`, {
          code: "TabletNotMounted",
          attributes: { table_path: table.path },
        });
      }
      table.requireWritableTablets(tabletIds);
    }
    for (const { table, figures } of counted) {
      prepared.push(table.prepareFigures(batch, figures, timestamp));
    }
    for (const buffer of this.#orderedBuffers.values()) {
      buffer.prepare(batch, timestamp, prepared);
    }
    for (const part of [...logged, ...this.#replicatedParts]) {
      part.prepare(batch, timestamp, prepared);
    }
  }

  /** Changes by the tables that store them; those of replicated tables are in `logged` too. */
  *#storedRows(logged: LoggedRows[]): Generator<StoredRows, void, void> {
    for (const buffer of this.#rowBuffers.values()) {
      const rows = LoggedRows.of(buffer);
      if (rows === undefined) {
        yield { table: buffer.table, writes: buffer.writes() };
      } else {
        logged.push(rows);
        yield* rows.stored();
      }
    }
    for (const { sorted } of this.#replicatedParts) {
      if (sorted !== undefined) {
        yield sorted;
      }
    }
  }

  #join({ timestamp, batch, prepared }: Commit): Promise<void> {
    const { cell, inFlight } = this.#options;
    return cell.commit({
      batch,
      onDurable: () => {
        for (const part of prepared) {
          part.onDurable();
        }
        inFlight.end(timestamp);
        this.#end("committed");
      },
      onFailed: () => {
        rollBack(prepared);
        inFlight.end(timestamp);
        this.#end("aborted");
      },
    });
  }

  #append(table: DynamicTable, rows: EncodedRows, options: InsertOptions): void {
    if (options.update === true) {
      throw new YtError('Cannot use "update" mode for ordered tables');
    }
    this.#orderedBuffer(table).append(rows, this.#options.random, options.layoutRevision);
  }

  #applyAtOnce(table: DynamicTable, changes: Changes): void {
    const ready = Array.from({ length: changes.count }, (_, index) => changes.at(index));
    const buffer = this.#rowBuffer(table);
    for (const change of ready) {
      buffer.apply(change);
    }
  }

  async #applyInTurns(table: DynamicTable, changes: Changes): Promise<void> {
    if (changes.count <= rowsPerTurn) {
      this.#applyAtOnce(table, changes);
      return;
    }
    const work = (async () => {
      const ready: RowChange[] = [];
      for (let index = 0; index < changes.count; index++) {
        ready.push(changes.at(index));
        if (index % rowsPerTurn === rowsPerTurn - 1) {
          await turn();
        }
      }
      for (const slice of slices(ready)) {
        this.#requireActive("modify rows");
        const buffer = this.#rowBuffer(table);
        for (const change of slice) {
          buffer.apply(change);
        }
        await turn();
      }
    })();
    this.#working.add(work);
    try {
      await work;
    } finally {
      this.#working.delete(work);
    }
  }

  #modify(table: DynamicTable, rowCount: number, rowBytes: number, requireSyncReplica = true): void {
    this.#requireActive("modify rows");
    requireNoReplica(table);
    if (table.replication !== undefined && requireSyncReplica) {
      table.replication.requireSyncReplica();
      this.#needSyncReplica.set(table.id, table);
    }
    if (table.atomicity !== this.atomicity) {
      throw new YtError(
        `Cannot modify table ${table.path} with atomicity "${table.atomicity}" in a transaction with atomicity "${this.atomicity}"`,
        { code: "InvalidTransactionAtomicity", attributes: { table_path: table.path } },
      );
    }
    this.#modifiedRowCount += rowCount;
    const bytes = rowBytes + rowCount * rowOverheadBytes;
    if (this.#modifiedRowCount > limits.maxRowsPerTransaction) {
      throw new YtError("Transaction affects too many rows", {
        code: "TooManyRowsInTransaction",
        attributes: { limit: BigInt(limits.maxRowsPerTransaction) },
      });
    }
    this.#options.budget.take(bytes, this.#heldBytes, this.id);
    this.#heldBytes += bytes;
  }

  #requireActive(action: string): void {
    if (this.#state !== "active") {
      throw new YtError(`Cannot ${action} since transaction ${this.id} is in "${this.#state}" state`, {
        code: "InvalidTransactionState",
        attributes: { transaction_id: this.id },
      });
    }
  }

  #rowBuffer(table: DynamicTable): RowBuffer {
    let buffer = this.#rowBuffers.get(table.id);
    if (buffer === undefined) {
      buffer = new RowBuffer(table);
      this.#rowBuffers.set(table.id, buffer);
    }
    return buffer;
  }

  #orderedBuffer(table: DynamicTable): OrderedBuffer {
    let buffer = this.#orderedBuffers.get(table.id);
    if (buffer === undefined) {
      buffer = new OrderedBuffer(table);
      this.#orderedBuffers.set(table.id, buffer);
    }
    return buffer;
  }

  #end(state: "committed" | "aborted"): void {
    this.#state = state;
    this.#rowBuffers.clear();
    this.#orderedBuffers.clear();
    this.#needSyncReplica.clear();
    this.#replicatedParts.length = 0;
    this.#options.budget.give(this.#heldBytes);
    this.#heldBytes = 0;
    this.#options.onEnd(this);
  }
}

function rollBack(prepared: readonly Prepared[]): void {
  for (let index = prepared.length - 1; index >= 0; index--) {
    prepared[index]?.onFailed();
  }
}

function commitError(error: YtError, transactionId: string): YtError {
  return error.wrap(`Error committing transaction ${transactionId}`, { transaction_id: transactionId });
}

interface Commit {
  readonly timestamp: bigint;
  readonly batch: WriteBatch;
  /** In order; each counts from when it is here. */
  readonly prepared: Prepared[];
}
