/** Rows of one partition, handed out to be handled. The next rows of the partition come when this batch is settled. */
import { YtError } from "@qyt/base";
import type { Transaction } from "../transactions/transaction.ts";
import type { Partition } from "./partition.ts";
import type { Row, TakenRows } from "./row-buffer.ts";

/** What settles batches. */
export interface BatchHost {
  commit(batch: Batch): Promise<void>;
  join(batch: Batch, tx: Transaction): Promise<void>;
  fail(batch: Batch, thrown: unknown): Promise<void>;
  release(batch: Batch): void;
  now(): number;
}

export class Batch {
  /** Path of the queue, as the cluster has it. */
  readonly queue: string;
  /** The queue's cluster. */
  readonly cluster: string;
  readonly partition: number;
  /** In order; never empty. Integers are `bigint`; `$row_index` and `$tablet_index` are there. */
  readonly rows: readonly Row[];
  /** The offset that the commit finds; below the first row when rows are trimmed. */
  readonly offset: bigint;
  /** The offset that the commit stores. */
  readonly nextOffset: bigint;
  /** Aborts when this process reads the partition no more: the batch can then not be committed. */
  readonly signal: AbortSignal;
  /** Of the consumer. */
  readonly source: Partition;
  /** Of the consumer. */
  readonly taken: TakenRows;
  readonly #host: BatchHost;
  #isSettled = false;
  /** Why its handler failed, when it did so in the transaction that the commit is a part of. */
  failure: { readonly thrown: unknown } | undefined;

  constructor(host: BatchHost, source: Partition, taken: TakenRows) {
    this.#host = host;
    this.source = source;
    this.taken = taken;
    this.queue = source.link.queuePath;
    this.cluster = source.link.queueCluster;
    this.partition = source.index;
    this.rows = taken.rows;
    this.offset = taken.offset;
    this.nextOffset = taken.nextOffset;
    this.signal = source.ended.signal;
  }

  /** Whether it was committed, failed or released. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  /**
   * Advances the consumer's offset past these rows, as a part of the tablet transaction if one is given.
   *
   * @throws YtError 3102 when another member reads the partition now, 3100 when the offset was moved, and errors of
   * the cluster. The rows are then handed out again, here or there
   */
  async commit(tx?: Transaction): Promise<void> {
    this.#settle();
    if (tx === undefined) {
      await this.#host.commit(this);
    } else {
      await this.#host.join(this, tx);
    }
  }

  /** Says that the rows could not be handled; they are handed out again, one by one, as the poison policy has it. */
  async fail(thrown: unknown): Promise<void> {
    this.#settle();
    await this.#host.fail(this, thrown);
  }

  /** Gives the rows back unhandled; they are handed out again. */
  release(): void {
    this.#settle();
    this.#host.release(this);
  }

  /** Says that the handler gets on: the time that it may take begins anew. */
  extend(): void {
    this.source.outSinceMs = this.#host.now();
  }

  #settle(): void {
    if (this.#isSettled) {
      throw new YtError(
        `The batch of partition ${this.source.key} from ${this.offset} on was committed, failed or released already`,
      );
    }
    this.#isSettled = true;
  }
}
