/**
 * Commits the epochs of one job, each once: under the job's lease, and with a row by which a commit whose answer
 * was lost is recognised.
 * Specified in: yt/yt/flow/library/cpp/tables/transaction_manager.cpp.
 */
import { type Clock, type Random, retriableCodes, sleep, toYtError, YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { FlowCluster, FlowTransaction, LookupOptions, Rowset } from "../cluster/flow-cluster.ts";
import type { JobId, PartitionId, UniqueSeqNo } from "../model/message.ts";
import { textCell } from "../tables/cells.ts";
import { pipelineTablePath } from "../tables/definitions.ts";
import { type LeaseTables, validateLease } from "../tables/leases.ts";

const maxAttempts = 8;
const firstBackoffMs = 100;
const maxBackoffMs = 5_000;
/** A lease is checked within the period and this part more or less, so that jobs do not do it together. */
const jitter = 0.2;

export interface EpochCommitterOptions {
  readonly cluster: FlowCluster;
  readonly pipelinePath: string;
  readonly partitionId: PartitionId;
  readonly jobId: JobId;
  readonly clock: Clock;
  readonly random: Random;
  /** `lease_check_period` in milliseconds, as it is now. */
  readonly leaseCheckPeriodMs: () => number;
}

/** What an epoch writes: kept, so that it can be written again in another transaction. */
type Write = (transaction: FlowTransaction) => void;

export class EpochCommitter {
  readonly #options: EpochCommitterOptions;
  readonly #tables: LeaseTables;
  readonly #transactionsPath: string;
  #nextCheckMs = 0;

  constructor(options: EpochCommitterOptions) {
    this.#options = options;
    this.#transactionsPath = pipelineTablePath(options.pipelinePath, "partition_transactions");
    this.#tables = {
      flowControl: pipelineTablePath(options.pipelinePath, "flow_control"),
      leases: pipelineTablePath(options.pipelinePath, "leases"),
      partitionTransactions: this.#transactionsPath,
    };
  }

  /**
   * The job's first commit, with nothing but its own mark: from here on no commit of an earlier job can succeed, so
   * what is read afterwards is this job's to change.
   */
  async begin(): Promise<void> {
    await this.#commit([], undefined);
  }

  /**
   * Gathers an epoch's writes and commits them. An epoch without writes is skipped until the lease is to be checked.
   * @throws YtError when the lease is lost, the commit conflicts, or its outcome stays unknown; the job is over then
   */
  async commit(gather: (transaction: FlowTransaction) => Promise<void>): Promise<void> {
    const first = new RecordingTransaction(this.#options.cluster);
    await gather(first);
    if (first.isEmpty && this.#options.clock.monotonic() < this.#nextCheckMs) {
      await first.abort();
      return;
    }
    await this.#commit(first.writes, first.started);
  }

  async #commit(writes: readonly Write[], started: FlowTransaction | undefined): Promise<void> {
    const { clock, random } = this.#options;
    const attempts = new Set<UniqueSeqNo>();
    let transaction = started;
    let conflict: YtError | undefined;
    for (let attempt = 1; ; ++attempt) {
      try {
        transaction ??= await this.#options.cluster.startTransaction();
        // Read in the transaction that is to write it: an attempt that commits meanwhile makes this one conflict.
        if (attempts.size > 0 && attempts.has(await this.#lastCommitted(transaction))) {
          await quietly(transaction.abort());
          break;
        }
        if (conflict !== undefined) {
          throw conflict;
        }
        await this.#attempt(transaction, writes, attempts);
        break;
      } catch (thrown) {
        const error = toYtError(thrown);
        if (transaction !== undefined) {
          await quietly(transaction.abort());
          transaction = undefined;
        }
        // A conflict after several attempts may be one with an attempt of our own: the next round tells.
        const isOwn = error.has("TransactionLockConflict") && attempts.size > 1 && conflict === undefined;
        if (!isOwn && (attempt === maxAttempts || error === conflict || !isRetriable(error))) {
          throw error;
        }
        conflict = isOwn ? error : conflict;
        const backoffMs = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (attempt - 1));
        await sleep(clock, backoffMs * (1 + random.next() * jitter));
      }
    }
    const periodMs = this.#options.leaseCheckPeriodMs();
    this.#nextCheckMs = clock.monotonic() + periodMs * (1 + (random.next() * 2 - 1) * jitter);
  }

  async #attempt(
    transaction: FlowTransaction,
    writes: readonly Write[],
    attempts: Set<UniqueSeqNo>,
  ): Promise<void> {
    const { partitionId, jobId } = this.#options;
    await validateLease(transaction, this.#tables, partitionId, jobId);
    for (const write of writes) {
      write(transaction);
    }
    transaction.insertRows(this.#transactionsPath, {
      columns: ["partition_id", "last_transaction_start_timestamp"],
      rows: [[textCell(partitionId), transaction.startTimestamp]],
    });
    attempts.add(transaction.startTimestamp);
    await transaction.commit();
  }

  /** The start of the last transaction that was committed for this partition. @throws YtError when there is none */
  async #lastCommitted(transaction: FlowTransaction): Promise<UniqueSeqNo> {
    const keys: Rowset = { columns: ["partition_id"], rows: [[textCell(this.#options.partitionId)]] };
    const columns = ["last_transaction_start_timestamp"];
    const [row] = await transaction.lookupRows(this.#transactionsPath, keys, { columns });
    const value = row?.[0];
    if (typeof value !== "bigint") {
      throw new YtError("Outcome of the commit is not known: the partition has no last transaction", {
        attributes: { partition_id: this.#options.partitionId },
      });
    }
    return value as UniqueSeqNo;
  }
}

/** Whether the outcome is unknown, or nothing has happened yet. A lost answer shows as a transaction that is gone. */
function isRetriable(error: YtError): boolean {
  return error.has("NoSuchTransaction") || [...retriableCodes].some((code) => error.has(code));
}

async function quietly(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch {
    // The transaction ends by itself when its timeout passes.
  }
}

/** Keeps what is written. A real transaction is begun when something is read. */
class RecordingTransaction implements FlowTransaction {
  readonly writes: Write[] = [];
  readonly #cluster: FlowCluster;
  #real: FlowTransaction | undefined;

  constructor(cluster: FlowCluster) {
    this.#cluster = cluster;
  }

  get cluster(): string {
    return this.#cluster.name;
  }

  /** @throws YtError 1: it differs between attempts, so nothing that is written may depend on it */
  get startTimestamp(): UniqueSeqNo {
    throw new YtError("The start timestamp of an epoch's transaction is not known before its commit");
  }

  get started(): FlowTransaction | undefined {
    return this.#real;
  }

  get isEmpty(): boolean {
    return this.writes.length === 0;
  }

  async lookupRows(
    path: string,
    keys: Rowset,
    options: LookupOptions,
  ): Promise<(readonly RowValue[] | null)[]> {
    this.#real ??= await this.#cluster.startTransaction();
    return await this.#real.lookupRows(path, keys, options);
  }

  insertRows(path: string, rows: Rowset, options?: { readonly update?: boolean }): void {
    if (rows.rows.length > 0) {
      this.writes.push((transaction) => transaction.insertRows(path, rows, options));
    }
  }

  deleteRows(path: string, keys: Rowset): void {
    if (keys.rows.length > 0) {
      this.writes.push((transaction) => transaction.deleteRows(path, keys));
    }
  }

  async commit(): Promise<void> {
    throw new YtError("An epoch's transaction is committed by its job");
  }

  async abort(): Promise<void> {
    await this.#real?.abort();
  }
}
