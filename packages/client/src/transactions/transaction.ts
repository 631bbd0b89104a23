/**
 * A transaction with an owner: kept alive by pings, its commands bound to it, committed once with its outcome
 * found out.
 */
import { toYtError, YtError } from "@qyt/base";
import type { CommandScope } from "../commands/family.ts";
import { RowCommands } from "../commands/rows.ts";
import { type StartTransactionOptions, TransactionCommands } from "../commands/transactions.ts";
import { type TransactionEvent, tellTransaction } from "../diagnostics.ts";
import type { Schema } from "../schema/schema.ts";
import { Table } from "../schema/table.ts";
import type { Columns } from "../schema/types.ts";
import type { PathInput } from "../types.ts";
import { Lease, lostTransaction } from "./lease.ts";
import { commitAndFindOut, TransactionOutcomeUnknown } from "./outcome.ts";

export interface TransactionOptions extends StartTransactionOptions {
  /** Ends the work and aborts the transaction. While the commit is under way it ends the asking for its outcome. */
  readonly signal?: AbortSignal;
  /** How long the work may take before the commit, in milliseconds; then the transaction is aborted. */
  readonly deadlineMs?: number;
  /** How long the commit is asked for at most, in milliseconds. Default: the transaction's timeout, at least 30 s. */
  readonly commitTimeoutMs?: number;
  /**
   * Looks whether what the transaction wrote is there. Asked when the answer to the commit was lost and the
   * cluster could not tell it again, instead of failing with `TransactionOutcomeUnknown`.
   */
  readonly verify?: () => Promise<boolean>;
}

/** As long as the default of the other clients. */
const defaultTimeoutMs = 30_000;
const minCommitTimeoutMs = 30_000;

type State = "active" | "committing" | "committed" | "aborted";

interface Started {
  readonly id: string;
  readonly startMs: number;
  readonly timeoutMs: number;
  readonly scope: CommandScope;
  readonly abort: AbortController;
}

export class Transaction extends RowCommands {
  readonly id: string;
  readonly type: "master" | "tablet";
  /** Aborts when the transaction is lost, its deadline passes, or its owner's signal aborts. */
  readonly signal: AbortSignal;
  /** Resolves when it has ended: whether it is certain that it was committed. */
  readonly ended: Promise<boolean>;
  readonly #options: TransactionOptions;
  readonly #commands: TransactionCommands;
  readonly #lease: Lease;
  readonly #forget: () => void;
  readonly #timeoutMs: number;
  #state: State = "active";
  #tellEnd: (isCommitted: boolean) => void = () => {};

  private constructor(started: Started, options: TransactionOptions) {
    const { id, abort, timeoutMs, startMs, scope } = started;
    super({ requester: scope.requester, transactionId: id, signal: abort.signal });
    this.id = id;
    this.type = options.type ?? "master";
    this.signal = abort.signal;
    this.ended = new Promise((resolve) => {
      this.#tellEnd = resolve;
    });
    this.#options = options;
    this.#timeoutMs = timeoutMs;
    this.#commands = new TransactionCommands(scope);
    this.#forget = this.#watch(abort);
    this.#lease = new Lease({
      transactionId: id,
      clock: scope.requester.options.clock,
      timeoutMs,
      startMs,
      ping: (signal, attemptMs) => this.#commands.pingTransaction(id, { signal, timeoutMs: attemptMs }),
      onLost: (error) => {
        this.#told("lost");
        abort.abort(error);
      },
    });
    this.#told("started");
  }

  /** @throws YtError when it cannot be started */
  static async start(scope: CommandScope, options: TransactionOptions): Promise<Transaction> {
    options.signal?.throwIfAborted();
    const { deadlineMs: _, commitTimeoutMs: __, verify: ___, ...start } = options;
    const timeoutMs = options.transactionTimeoutMs ?? defaultTimeoutMs;
    // All requests of a tablet transaction go to the proxy that has it.
    const requester = options.type === "tablet" ? scope.requester.pinned() : scope.requester;
    const own: CommandScope = { requester };
    const startMs = requester.options.clock.monotonic();
    const commands = new TransactionCommands(own);
    const id = await commands.startTransaction({ ...start, transactionTimeoutMs: timeoutMs });
    return new Transaction({ id, startMs, timeoutMs, scope: own, abort: new AbortController() }, options);
  }

  /** Whether it can still be worked in and committed. */
  get isAlive(): boolean {
    return this.#state === "active" && !this.signal.aborted && this.#lease.isAlive;
  }

  /**
   * Commits it. It is not sent when the cluster may have ended the transaction meanwhile.
   *
   * @throws YtError when nothing of it was done
   * @throws TransactionOutcomeUnknown
   */
  async commit(): Promise<void> {
    if (this.#state !== "active") {
      throw new YtError(`Transaction ${this.id} is ${this.#state} already`, {
        code: "InvalidTransactionState",
      });
    }
    if (!this.isAlive) {
      await this.abort();
      throw this.signal.aborted ? this.signal.reason : lostTransaction(this.id, undefined);
    }
    this.#state = "committing";
    try {
      await commitAndFindOut({
        requester: this.requester,
        transactionId: this.id,
        timeoutMs: this.#options.commitTimeoutMs ?? Math.max(minCommitTimeoutMs, this.#timeoutMs),
        signal: this.#options.signal,
        verify: this.#options.verify,
      });
      this.#state = "committed";
      this.#told("committed");
    } catch (thrown) {
      this.#state = "aborted";
      this.#told(thrown instanceof TransactionOutcomeUnknown ? "lost" : "aborted");
      throw toYtError(thrown);
    } finally {
      await this.#end();
    }
  }

  /** Aborts it. Where the cluster does not answer, it ends there by its timeout. */
  async abort(): Promise<void> {
    if (this.#state !== "active") {
      return;
    }
    this.#state = "aborted";
    this.#told("aborted");
    await this.#end();
    await this.#commands
      .abortTransaction(this.id, { timeoutMs: Math.min(this.#timeoutMs, minCommitTimeoutMs) })
      .catch(() => undefined);
  }

  /** Runs `work` in a master transaction that is part of this one, as `client.transaction` does. */
  transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    options: Omit<TransactionOptions, "type" | "parentId"> = {},
  ): Promise<T> {
    if (this.type === "tablet") {
      throw new YtError("A tablet transaction cannot have nested transactions");
    }
    const signal =
      options.signal === undefined ? this.signal : AbortSignal.any([options.signal, this.signal]);
    return inTransaction({ requester: this.requester }, work, { ...options, parentId: this.id, signal });
  }

  /** A table or queue whose rows are typed by the schema; its commands are part of the transaction. */
  table<C extends Columns>(path: PathInput, schema: Schema<C>): Table<C> {
    return new Table(this, path, schema);
  }

  /** Brings the owner's signal and the deadline to the own signal. */
  #watch(abort: AbortController): () => void {
    const { signal, deadlineMs } = this.#options;
    const onAbort = (): void => abort.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    if (signal?.aborted === true) {
      onAbort();
    }
    const timer =
      deadlineMs === undefined
        ? undefined
        : this.requester.options.clock.after(deadlineMs, () => abort.abort(deadlinePassed(deadlineMs)));
    return () => {
      signal?.removeEventListener("abort", onAbort);
      timer?.cancel();
    };
  }

  #told(event: TransactionEvent["event"]): void {
    tellTransaction({ transactionId: this.id, type: this.type, event });
  }

  async #end(): Promise<void> {
    this.#forget();
    this.#tellEnd(this.#state === "committed");
    await this.#lease.stop();
  }
}

function deadlinePassed(deadlineMs: number): YtError {
  return new YtError(`The transaction was not ready to be committed after ${deadlineMs} ms and is aborted`, {
    code: "Timeout",
  });
}

/** Runs `work` in a new transaction and commits it, or aborts it when `work` throws. */
export async function inTransaction<T>(
  scope: CommandScope,
  work: (tx: Transaction) => Promise<T>,
  options: TransactionOptions,
): Promise<T> {
  const tx = await Transaction.start(scope, options);
  let result: T;
  try {
    result = await work(tx);
  } catch (thrown) {
    await tx.abort();
    throw thrown;
  }
  await tx.commit();
  return result;
}
