/**
 * The tablet transactions of this proxy. They live in memory: a restart aborts them all. A client keeps
 * its own alive by using or pinging it; one whose lease runs out is aborted.
 *
 * Specified in: yt/yt/client/api/sticky_transaction_pool.cpp.
 */
import { type Clock, limits, type Random, type Timer, YtError } from "@qyt/base";
import type { Cell } from "../../cell/index.ts";
import { ByteBudget, type ByteLimits } from "./byte-budget.ts";
import { CommitGate } from "./commit-gate.ts";
import { TabletTransaction } from "./tablet-transaction.ts";

const objectType = { full: 2, none: 3 } as const;
/** Ended transactions are remembered for a while, so that a late request gets a telling error. */
const maxEnded = 10_000;

export interface StartOptions {
  readonly user: string;
  /** Lease, renewed at each use, in milliseconds. */
  readonly timeoutMs: number;
  readonly atomicity?: "full" | "none";
  readonly durability?: "sync" | "async";
}

export interface BeginOptions {
  readonly user: string;
  readonly atomicity?: "full" | "none";
  readonly durability?: "sync" | "async";
  /** The transaction will only write: it stands wholly at its commit and meets no earlier writer. */
  readonly isBlind?: boolean;
}

interface Lease {
  readonly transaction: TabletTransaction;
  readonly timeoutMs: number;
  expiresAt: number;
  timer: Timer;
}

export class TabletTransactions {
  readonly #cell: Cell;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #leases = new Map<string, Lease>();
  /** Start timestamps of the live ones that read, begun ones included, with how many have each. */
  readonly #starts = new Map<bigint, number>();
  readonly #ended = new Map<string, TabletTransaction>();
  /** Commit timestamps not durable yet, in commit order. */
  readonly #inFlight = new Set<bigint>();
  readonly #gate = new CommitGate();
  readonly #budget: ByteBudget;

  constructor(cell: Cell, options: { readonly limits?: ByteLimits } = {}) {
    this.#cell = cell;
    this.#budget = new ByteBudget(options.limits);
    this.#clock = cell.clock;
    this.#random = cell.random;
  }

  /** Bytes of rows that open transactions hold. */
  get heldBytes(): number {
    return this.#budget.used;
  }

  /** Live leased transactions. */
  get count(): number {
    return this.#leases.size;
  }

  /**
   * The newest timestamp at which everything is visible: nothing in flight has a smaller one. A
   * transaction that starts here sees all that was answered before, and conflicts with all that was not.
   */
  get visibleTimestamp(): bigint {
    for (const oldest of this.#inFlight) {
      return oldest - 1n;
    }
    // A new cell has handed out none yet, and nothing can be read at 0.
    const last = this.#cell.lastTimestamp;
    return last === 0n ? this.#cell.nextTimestamp() : last;
  }

  /** Keeps what can be read at the timestamp, as for a live transaction, until the function is called. */
  hold(timestamp: bigint): () => void {
    this.#starts.set(timestamp, (this.#starts.get(timestamp) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (isHeld) {
        isHeld = false;
        this.#letGo(timestamp);
      }
    };
  }

  /** Below it no live transaction reads. */
  get horizon(): bigint {
    let horizon = this.visibleTimestamp;
    for (const start of this.#starts.keys()) {
      if (start < horizon) {
        horizon = start;
      }
    }
    return horizon;
  }

  /** A transaction for one command, without a lease. The caller commits or aborts it. */
  begin(options: BeginOptions): TabletTransaction {
    return this.#create(options);
  }

  /** Runs work in a transaction of its own, which is committed after it and never left behind. */
  async run<T>(options: BeginOptions, work: (transaction: TabletTransaction) => T | Promise<T>): Promise<T> {
    const transaction = this.begin(options);
    try {
      const result = await work(transaction);
      await transaction.commit();
      return result;
    } finally {
      transaction.abort();
    }
  }

  /** A transaction that a client continues in further requests. */
  start(options: StartOptions): TabletTransaction {
    const timeoutMs = Math.min(options.timeoutMs, limits.maxTransactionTimeoutMs);
    const transaction = this.#create(options);
    this.#leases.set(transaction.id, {
      transaction,
      timeoutMs,
      expiresAt: this.#clock.monotonic() + timeoutMs,
      timer: this.#clock.after(timeoutMs, () => this.#expire(transaction.id)),
    });
    return transaction;
  }

  /** Whether the id is one that this pool gives out, judged by its type. */
  isTabletTransactionId(id: string): boolean {
    const type = Number.parseInt(id.split("-")[2] ?? "", 16) & 0xffff;
    return type === objectType.full || type === objectType.none;
  }

  /** The live transaction; using it renews its lease. @throws YtError 11000, 11003 */
  get(id: string): TabletTransaction {
    const lease = this.#leases.get(id);
    if (lease === undefined) {
      const ended = this.#ended.get(id);
      if (ended !== undefined) {
        throw new YtError(`Transaction ${id} is in "${ended.state}" state`, {
          code: "NoSuchTransaction",
          attributes: { transaction_id: id, state: ended.state },
        });
      }
      throw new YtError(
        this.isTabletTransactionId(id)
          ? `Sticky transaction ${id} is not found, this usually means that you use tablet transactions and send them to different proxies, or that its lease has expired`
          : `No such transaction ${id}: rows are changed only in tablet transactions (start_transaction with type=tablet)`,
        { code: "NoSuchTransaction", attributes: { transaction_id: id } },
      );
    }
    lease.expiresAt = this.#clock.monotonic() + lease.timeoutMs;
    return lease.transaction;
  }

  ping(id: string): void {
    this.get(id);
  }

  /** Aborts everything that is still active. */
  close(): void {
    for (const { transaction } of [...this.#leases.values()]) {
      transaction.abort();
    }
  }

  #create(options: BeginOptions): TabletTransaction {
    const atomicity = options.atomicity ?? "full";
    const isBlind = options.isBlind === true;
    const startTimestamp = this.visibleTimestamp;
    const letGo = isBlind ? undefined : this.hold(startTimestamp);
    return new TabletTransaction({
      id: this.#cell.newObjectId(objectType[atomicity]),
      user: options.user,
      startTimestamp,
      atomicity,
      durability: options.durability ?? "sync",
      isBlind,
      cell: this.#cell,
      random: this.#random,
      onEnd: (transaction) => {
        letGo?.();
        this.#onEnd(transaction);
      },
      inFlight: {
        begin: (timestamp) => this.#inFlight.add(timestamp),
        end: (timestamp) => this.#inFlight.delete(timestamp),
      },
      gate: this.#gate,
      budget: this.#budget,
    });
  }

  #letGo(timestamp: bigint): void {
    const count = this.#starts.get(timestamp) ?? 0;
    if (count <= 1) {
      this.#starts.delete(timestamp);
    } else {
      this.#starts.set(timestamp, count - 1);
    }
  }

  #onEnd(transaction: TabletTransaction): void {
    const lease = this.#leases.get(transaction.id);
    if (lease !== undefined) {
      lease.timer.cancel();
      this.#leases.delete(transaction.id);
      this.#ended.set(transaction.id, transaction);
      if (this.#ended.size > maxEnded) {
        for (const oldest of this.#ended.keys()) {
          this.#ended.delete(oldest);
          break;
        }
      }
    }
  }

  /** The lease may have been renewed since the timer was set. */
  #expire(id: string): void {
    const lease = this.#leases.get(id);
    if (lease === undefined) {
      return;
    }
    const left = lease.expiresAt - this.#clock.monotonic();
    if (left <= 0) {
      lease.transaction.abort();
    } else {
      lease.timer = this.#clock.after(left, () => this.#expire(id));
    }
  }
}
