/**
 * Being the one controller that leads: capturing the lease when it is free, and transactions that are void when
 * another one leads.
 * Specified in: yt/yt/flow/library/cpp/controller/dyntable_election_manager.cpp, common/dyntable_lease.cpp.
 */
import type { FlowCluster, FlowTransaction } from "../cluster/flow-cluster.ts";
import { timestampOfSeqNo } from "../model/timestamps.ts";
import {
  type LeaderLease,
  type LeaseTables,
  readLeader,
  validateAndTouchLeader,
  writeLeader,
} from "../tables/leases.ts";

export interface LeadershipOptions {
  readonly cluster: FlowCluster;
  readonly tables: LeaseTables;
  readonly address: string;
  /** New with each start of the process. */
  readonly incarnationId: string;
  /** How long the lease holds, in seconds; every transaction of the leader prolongs it. */
  readonly ttlSeconds: number;
}

export class Leadership {
  readonly #options: LeadershipOptions;

  constructor(options: LeadershipOptions) {
    this.#options = options;
  }

  /**
   * Takes the lease when nobody holds it.
   * @returns whether this one leads now, and who did before
   */
  async tryCapture(): Promise<{ readonly isLeader: boolean; readonly before: LeaderLease | undefined }> {
    const { cluster, tables, ttlSeconds } = this.#options;
    const transaction = await cluster.startTransaction();
    try {
      const before = await readLeader(transaction, tables);
      const isHeld =
        before !== undefined && before.expiration >= timestampOfSeqNo(transaction.startTimestamp);
      if (isHeld && before.incarnationId !== this.#options.incarnationId) {
        await transaction.abort();
        return { isLeader: false, before };
      }
      writeLeader(transaction, tables, this.#options, ttlSeconds);
      await transaction.commit();
      return { isLeader: true, before };
    } catch (thrown) {
      await transaction.abort().catch(() => undefined);
      throw thrown;
    }
  }

  /**
   * Runs writes that hold only while this controller leads.
   * @throws YtError when it does not, or when it is not known whether the writes are in: then the state kept in
   *   memory is to be read anew
   */
  async transact<Result>(write: (transaction: FlowTransaction) => Promise<Result>): Promise<Result> {
    const { cluster, tables, ttlSeconds } = this.#options;
    const transaction = await cluster.startTransaction();
    try {
      await validateAndTouchLeader(transaction, tables, this.#options, ttlSeconds);
      const result = await write(transaction);
      await transaction.commit();
      return result;
    } catch (thrown) {
      await transaction.abort().catch(() => undefined);
      throw thrown;
    }
  }

  /** Lets the lease go, so that another controller need not wait for its end. */
  async release(): Promise<void> {
    const { cluster, tables } = this.#options;
    const transaction = await cluster.startTransaction();
    const leader = await readLeader(transaction, tables);
    if (leader?.incarnationId !== this.#options.incarnationId) {
      await transaction.abort();
      return;
    }
    writeLeader(transaction, tables, this.#options, -1);
    await transaction.commit();
  }
}
