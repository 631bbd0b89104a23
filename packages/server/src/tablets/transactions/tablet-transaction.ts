/**
 * A tablet transaction: buffered changes of any number of dynamic tables, committed all or nothing.
 *
 * Reads see what was committed up to the start; own changes are not seen. Ordered tables only append
 * and never conflict; rows of sorted tables conflict with whoever committed them after the start.
 * Specified in: documentation "Dynamic tables: transactions", yt/yt/ytlib/api/native/transaction.cpp.
 */
import { limits, type Random, toYtError, YtError } from "@qyt/base";
import type { EncodedRows, RowValue } from "@qyt/schema";
import { type Cell, WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { DynamicTable } from "../dynamic-table.ts";
import type { LockMode } from "../sorted/index.ts";
import { OrderedBuffer } from "./ordered-buffer.ts";
import { RowBuffer } from "./row-buffer.ts";

export type TransactionState = "active" | "committing" | "committed" | "aborted";

export interface InsertOptions {
  /** Absent columns of a sorted table keep their values. */
  readonly update?: boolean;
  /** Values of aggregate columns are folded into what is stored. */
  readonly aggregate?: boolean;
  readonly lockType?: "exclusive" | "shared_write";
  /** For replicated tables, which are not served yet. */
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
  readonly cell: Cell;
  readonly random: Random;
  /** Called once, when the transaction has ended. */
  readonly onEnd: (transaction: TabletTransaction) => void;
  /** Keeps the order of commits that are not durable yet. */
  readonly inFlight: { begin(timestamp: bigint): void; end(timestamp: bigint): void };
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
  #state: TransactionState = "active";
  #modifiedRowCount = 0;
  #hasRead = false;

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

  /** Buffers rows in the table's write schema. @throws YtError 307, 1702, 1717, 11008 … */
  insertRows(table: DynamicTable, rows: EncodedRows, options: InsertOptions = {}): void {
    this.#modify(table, rows.rowCount);
    if (!table.sorted) {
      if (options.update === true) {
        throw new YtError('Cannot use "update" mode for ordered tables');
      }
      const buffer = this.#orderedBuffer(table);
      if (options.layoutRevision !== undefined) {
        buffer.expectLayout(options.layoutRevision);
      }
      buffer.append(rows, this.#options.random);
      return;
    }
    const buffer = this.#rowBuffer(table);
    for (let index = 0; index < rows.rowCount; index++) {
      const row = table.completeRow(rows.decodeRow(index));
      buffer.write(row, {
        update: options.update === true,
        aggregate: options.aggregate === true,
        lockMode: options.lockType ?? "exclusive",
      });
    }
  }

  /** Buffers one whole row of a sorted table: all columns in schema order. */
  writeRow(table: DynamicTable, values: readonly RowValue[]): void {
    this.#modify(table, 1);
    this.#rowBuffer(table).write(values, { update: false, aggregate: false, lockMode: "exclusive" });
  }

  /** Buffers removals by key. @throws YtError 1716 for an ordered table */
  deleteRows(table: DynamicTable, keys: EncodedRows): void {
    for (let index = 0; index < keys.rowCount; index++) {
      this.deleteKey(table, keys.decodeRow(index).map((value) => value ?? null));
    }
  }

  deleteKey(table: DynamicTable, key: readonly RowValue[]): void {
    requireSorted(table, "deletes");
    this.#modify(table, 1);
    this.#rowBuffer(table).delete(completeKey(table, key));
  }

  /** @throws YtError 1716 for an ordered table */
  lockRows(table: DynamicTable, keys: EncodedRows, groups: readonly string[], mode: LockMode): void {
    requireSorted(table, "lock");
    this.#modify(table, keys.rowCount);
    for (let index = 0; index < keys.rowCount; index++) {
      const key = keys.decodeRow(index).map((value) => value ?? null);
      this.#rowBuffer(table).lock(completeKey(table, key), groups, mode);
    }
  }

  /** Rows as of the start, all columns in schema order; `undefined` where there is none. */
  lookup(table: DynamicTable, keys: readonly (readonly RowValue[])[]): (RowValue[] | undefined)[] {
    this.#requireActive("read rows");
    this.#hasRead = true;
    return keys.map((values) => {
      const key = table.rows.encodeKey(values);
      table.requireReadableKey(key);
      return table.rows.lookup(key, this.startTimestamp);
    });
  }

  /**
   * Makes all changes durable and visible at one timestamp. From the checks to the joining of the commit
   * group there is no await; with `durability=async` the answer does not wait for the flush.
   * @returns the commit timestamp
   * @throws YtError 1700 on a conflict, 1702 when a tablet went away; nothing is changed then
   */
  async commit(): Promise<bigint> {
    this.#requireActive("commit");
    this.#state = "committing";
    const { cell, inFlight } = this.#options;
    const commitTimestamp = cell.nextTimestamp();
    const batch = new WriteBatch();
    const prepared: Prepared[] = [];
    try {
      this.#prepare(batch, commitTimestamp, prepared);
    } catch (thrown) {
      rollBack(prepared);
      this.#end("aborted");
      throw commitError(toYtError(thrown), this.id);
    }
    if (prepared.length === 0) {
      this.#end("committed");
      return commitTimestamp;
    }
    inFlight.begin(commitTimestamp);
    const durable = cell.commit({
      batch,
      onDurable: () => {
        for (const part of prepared) {
          part.onDurable();
        }
        inFlight.end(commitTimestamp);
        this.#end("committed");
      },
      onFailed: () => {
        rollBack(prepared);
        inFlight.end(commitTimestamp);
        this.#end("aborted");
      },
    });
    if (this.durability === "async") {
      durable.catch(() => undefined);
    } else {
      await durable;
    }
    return commitTimestamp;
  }

  /** Drops everything. An ended transaction stays as it is. */
  abort(): void {
    if (this.#state === "active") {
      this.#end("aborted");
    }
  }

  #prepare(batch: WriteBatch, commitTimestamp: bigint, prepared: Prepared[]): void {
    // A transaction that has read nothing stands wholly at its commit.
    const isBlind = !this.#hasRead && this.startTimestamp === blindStart;
    for (const buffer of this.#rowBuffers.values()) {
      const writes = buffer.writes();
      for (const { key } of writes) {
        buffer.table.requireWritableKey(key);
      }
      prepared.push(
        buffer.table.rows.prepareWrites(batch, writes, {
          transactionId: this.id,
          startTimestamp: isBlind ? commitTimestamp - 1n : this.startTimestamp,
          commitTimestamp,
          checkConflicts: this.atomicity === "full",
        }),
      );
    }
    for (const buffer of this.#orderedBuffers.values()) {
      buffer.prepare(batch, commitTimestamp, prepared);
    }
  }

  #modify(table: DynamicTable, rowCount: number): void {
    this.#requireActive("modify rows");
    if (table.atomicity !== this.atomicity) {
      throw new YtError(
        `Cannot modify table ${table.path} with atomicity "${table.atomicity}" in a transaction with atomicity "${this.atomicity}"`,
        { code: "InvalidTransactionAtomicity", attributes: { table_path: table.path } },
      );
    }
    this.#modifiedRowCount += rowCount;
    if (this.#modifiedRowCount > limits.maxRowsPerTransaction) {
      throw new YtError("Transaction affects too many rows", {
        code: "TooManyRowsInTransaction",
        attributes: { limit: BigInt(limits.maxRowsPerTransaction) },
      });
    }
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
    this.#options.onEnd(this);
  }
}

/** Start timestamp of a transaction that is begun and committed by one command without reading. */
export const blindStart = 0n;

function rollBack(prepared: readonly Prepared[]): void {
  for (let index = prepared.length - 1; index >= 0; index--) {
    prepared[index]?.onFailed();
  }
}

function commitError(error: YtError, transactionId: string): YtError {
  return error.wrap(`Error committing transaction ${transactionId}`, { transaction_id: transactionId });
}

function requireSorted(table: DynamicTable, action: "deletes" | "lock"): void {
  if (!table.sorted) {
    throw new YtError(`Cannot perform ${action} in a non-sorted table`, {
      code: "TableMustBeSorted",
      attributes: { table_path: table.path },
    });
  }
}

/** The key with its computed columns filled in. */
function completeKey(table: DynamicTable, key: readonly RowValue[]): RowValue[] {
  return table
    .completeRow(key)
    .slice(0, table.schema.keyColumnCount)
    .map((value) => value ?? null);
}
