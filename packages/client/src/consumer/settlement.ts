/**
 * What becomes of rows that were handed out: the offset advances, or they are tried again, or they go to the
 * dead-letter queue. In a group each of it happens in a transaction that has checked the lease, so a reader that was
 * replaced changes nothing.
 */
import { type Clock, type Random, toYtError, YtError } from "@qyt/base";
import type { YtClient } from "../client.ts";
import type { RowCommands } from "../commands/rows.ts";
import { isRetriable } from "../core.ts";
import type { PathInput } from "../types.ts";
import { deadLetterOf } from "./dead-letters.ts";
import type { ConsumerEvent } from "./events.ts";
import type { GroupTable, Lease } from "./group-table.ts";
import { type Attempts, leaseLost, noAttempts, type Partition } from "./partition.ts";
import { indexOf, type TakenRows } from "./row-buffer.ts";

export interface PoisonPolicy {
  /** How often a row is tried alone before it goes to the dead-letter queue. Default: 5. */
  readonly attempts?: number;
  /**
   * A queue on the consumer's cluster with the columns that `createDeadLetterQueue` makes. Without one a row is tried
   * again for ever, with growing pauses.
   */
  readonly deadLetterQueue?: PathInput;
  /** The first pause before a row is tried again, in milliseconds; it doubles. Default: 100. */
  readonly minDelayMs?: number;
  /** Default: 30,000. */
  readonly maxDelayMs?: number;
}

export interface SettlementOptions {
  readonly client: YtClient;
  /** Absent: the consumer reads alone. */
  readonly table: GroupTable | undefined;
  readonly memberId: string;
  readonly poison: PoisonPolicy;
  readonly clock: Clock;
  readonly random: Random;
  emit(event: ConsumerEvent): void;
}

const defaultAttempts = 5;
const defaultMinDelayMs = 100;
const defaultMaxDelayMs = 30_000;

export class Settlement {
  readonly #options: SettlementOptions;

  constructor(options: SettlementOptions) {
    this.#options = options;
  }

  /** Whether rows are tried alone, one at a time, after they were with a reader that ended. */
  get countsAttempts(): boolean {
    return this.#options.poison.deadLetterQueue !== undefined;
  }

  /** Advances from where the rows begin to where they end. @throws YtError 3100, 3102 when others did */
  async commit(partition: Partition, taken: TakenRows): Promise<void> {
    if (this.#options.table === undefined) {
      // A single advance needs no transaction.
      await this.join(partition, taken, this.#options.client);
    } else {
      await this.#change(partition, (tx) => this.join(partition, taken, tx));
    }
  }

  /** The same as a part of a transaction. */
  async join(partition: Partition, taken: TakenRows, tx: RowCommands): Promise<void> {
    ++partition.version;
    const { link, index } = partition;
    const advanced = link.advance(index, taken.offset, taken.nextOffset, tx);
    await this.#guard(partition, tx, [advanced], (lease) => ({ ...lease, attempts: 0, error: "" }));
  }

  /** Of rows whose offset has advanced. */
  succeeded(partition: Partition, taken: TakenRows): void {
    ++partition.version;
    partition.committed = taken.nextOffset;
    partition.attempts = noAttempts;
    partition.isCountedAhead = false;
    partition.sizeLimit *= 2;
  }

  /**
   * Before rows are handed out: counts the attempt of a row that has failed before, so that an end of this process
   * counts too, or puts it away when it had all its attempts.
   * @returns whether rows may be handed out now
   */
  async prepare(partition: Partition): Promise<boolean> {
    const { poison } = this.#options;
    if (!this.countsAttempts || partition.attempts.count === 0) {
      return true;
    }
    if (partition.attempts.count >= (poison.attempts ?? defaultAttempts)) {
      await this.#bury(partition);
      return false;
    }
    const { count, error } = partition.attempts;
    await this.#persist(partition, { count: count + 1, error });
    partition.isCountedAhead = true;
    return true;
  }

  /** Of rows that could not be handled: they are handed out again, alone. */
  async fail(partition: Partition, taken: TakenRows, thrown: unknown): Promise<void> {
    const error = toYtError(thrown);
    const { clock, poison, random } = this.#options;
    let count = partition.attempts.count - (partition.isCountedAhead ? 1 : 0);
    partition.isCountedAhead = false;
    // A row cannot help it that the cluster is not there.
    const isOfRow = !isRetriable(error) && !error.has("TransportError") && !error.has("Canceled");
    if (isOfRow && taken.rows.length === 1) {
      ++count;
    }
    partition.sizeLimit = 1;
    partition.buffer.putBack(taken);
    partition.attempts = { count, error: error.message };
    const minMs = poison.minDelayMs ?? defaultMinDelayMs;
    const maxMs = poison.maxDelayMs ?? defaultMaxDelayMs;
    const pauseMs = Math.min(maxMs, minMs * 2 ** Math.min(count, 30)) * (0.5 + random.next());
    partition.notBeforeMs = clock.monotonic() + (count === 0 && isOfRow ? 0 : pauseMs);
    const offset = taken.offset;
    this.#options.emit({ type: "retried", ...partition.where, offset, attempts: count, error });
    if (count > 0 && this.countsAttempts) {
      await this.#persist(partition, partition.attempts);
    }
  }

  /** Of rows that were not handled: they are handed out again as if nothing had been. */
  release(partition: Partition, taken: TakenRows): void {
    if (partition.isCountedAhead) {
      partition.isCountedAhead = false;
      partition.attempts = { ...partition.attempts, count: partition.attempts.count - 1 };
    }
    partition.buffer.putBack(taken);
  }

  /** Gives the lease back, so that another member need not wait. */
  async giveBack(partition: Partition): Promise<void> {
    if (this.#options.table === undefined) {
      return;
    }
    const { count, error } = partition.attempts;
    await this.#change(partition, (tx) =>
      this.#guard(partition, tx, [], (lease) => ({
        ...lease,
        owner: "",
        attempts: count,
        attemptOffset: partition.committed,
        error,
      })),
    );
  }

  /** What is stored now. */
  async stored(
    partition: Partition,
  ): Promise<{ readonly offset: bigint; readonly owner: string | undefined }> {
    const { client, table } = this.#options;
    const { link, index } = partition;
    const [offsets, lease] = await Promise.all([
      link.storedOffsets([index]),
      table === undefined || partition.epoch === undefined ? undefined : table.lease(link.key, index, client),
    ]);
    const isOurs = lease === undefined || this.#isOwn(partition, lease);
    return { offset: offsets.get(index) ?? 0n, owner: isOurs ? undefined : lease.owner };
  }

  async #bury(partition: Partition): Promise<void> {
    const queue = this.#options.poison.deadLetterQueue;
    const taken = partition.buffer.take(1, Number.POSITIVE_INFINITY);
    const [row] = taken.rows;
    if (row === undefined || queue === undefined) {
      return;
    }
    try {
      await this.#change(partition, async (tx) => {
        await Promise.all([
          tx.insertRows(queue, [deadLetterOf(partition, row)]),
          this.join(partition, taken, tx),
        ]);
      });
    } catch (thrown) {
      partition.buffer.putBack(taken);
      throw thrown;
    }
    const { count, error } = partition.attempts;
    const offset = indexOf(row);
    this.succeeded(partition, taken);
    this.#options.emit({ type: "dead lettered", ...partition.where, offset, attempts: count, error });
  }

  async #persist(partition: Partition, attempts: Attempts): Promise<void> {
    partition.attempts = attempts;
    if (this.#options.table === undefined) {
      return;
    }
    await this.#change(partition, (tx) =>
      this.#guard(partition, tx, [], (lease) => ({
        ...lease,
        attempts: attempts.count,
        attemptOffset: partition.committed,
        error: attempts.error,
      })),
    );
  }

  /** Checks the lease and writes it anew, beside other work of the transaction. */
  async #guard(
    partition: Partition,
    tx: RowCommands,
    beside: readonly Promise<void>[],
    change: (lease: Lease) => Lease,
  ): Promise<void> {
    const { table } = this.#options;
    const { link, index } = partition;
    if (table === undefined || partition.epoch === undefined) {
      await Promise.all(beside);
      return;
    }
    const [found, ...others] = await Promise.allSettled([table.lease(link.key, index, tx), ...beside]);
    if (found.status === "rejected") {
      throw found.reason;
    }
    // That the lease is gone says more than that the offset is another one.
    const lease = found.value;
    if (!this.#isOwn(partition, lease)) {
      throw leaseLost(partition, lease.owner);
    }
    for (const other of others) {
      if (other.status === "rejected") {
        throw other.reason;
      }
    }
    await table.putLease(link.key, index, { ...change(lease), beat: lease.beat + 1n }, tx);
  }

  #isOwn(partition: Partition, lease: Lease): boolean {
    return lease.owner === this.#options.memberId && lease.epoch === partition.epoch;
  }

  async #change(partition: Partition, work: (tx: RowCommands) => Promise<void>): Promise<void> {
    if (partition.isEnded) {
      throw new YtError(`Partition ${partition.key} is not read by this consumer any more`, {
        code: "ZombieEpoch",
      });
    }
    await this.#options.client.transaction(work, { type: "tablet" });
  }
}
