/**
 * How many bytes of rows the open tablet transactions may hold in memory, each of them and all together: a client
 * that writes and never commits must not take the memory of all others.
 */
import { limits, YtError } from "@qyt/base";

export interface ByteLimits {
  readonly maxTransactionBytes: number;
  readonly maxOpenTransactionsBytes: number;
}

/** What a buffered row takes beside its own bytes, about. */
export const rowOverheadBytes = 64;

export class ByteBudget {
  readonly #limits: ByteLimits;
  #used = 0;

  constructor(byteLimits: ByteLimits = limits) {
    this.#limits = byteLimits;
  }

  /** Bytes that open transactions hold. */
  get used(): number {
    return this.#used;
  }

  /**
   * Counts more bytes of a transaction that holds `held` already.
   * @throws YtError 1717 when they are too many for one, 108 when they are too many with those of the others
   */
  take(bytes: number, held: number, transactionId: string): void {
    const { maxTransactionBytes, maxOpenTransactionsBytes } = this.#limits;
    if (held + bytes > maxTransactionBytes) {
      throw new YtError(
        `Transaction ${transactionId} would hold ${held + bytes} bytes of rows, limit ${maxTransactionBytes}; commit it, and write the other rows in further transactions`,
        {
          code: "TooManyRowsInTransaction",
          attributes: { transaction_id: transactionId, limit: BigInt(maxTransactionBytes) },
        },
      );
    }
    if (this.#used + bytes > maxOpenTransactionsBytes) {
      throw new YtError(
        `Open tablet transactions hold ${this.#used} bytes of rows, and ${bytes} more are beyond the limit of ${maxOpenTransactionsBytes}; send the rows again when some of them have ended`,
        {
          code: "RequestQueueSizeLimitExceeded",
          attributes: { transaction_id: transactionId, limit: BigInt(maxOpenTransactionsBytes) },
        },
      );
    }
    this.#used += bytes;
  }

  /** The bytes of a transaction that has ended. */
  give(bytes: number): void {
    this.#used -= bytes;
  }
}
