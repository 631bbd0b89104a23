/**
 * A producer: rows in, batches out, each row once. It has a session with its epoch and knows when another
 * producer has taken that over.
 */
import { type Timer, toYtError, turn, YtError } from "@qyt/base";
import { type ByteWriter, toYson, writeYsonTo } from "@qyt/yson";
import type { RowCommands } from "../commands/rows.ts";
import { tellProducer } from "../diagnostics.ts";
import type { Schema } from "../schema/schema.ts";
import type { Columns, QueueRow } from "../schema/types.ts";
import type { CommandOptions, PathInput, ProducerSession } from "../types.ts";
import { type Batch, Batches, type BatchLimits } from "./batches.ts";
import { type DeliveryOptions, deliver } from "./delivery.ts";
import { Room } from "./room.ts";

export interface ProducerOptions<C extends Columns = Columns> {
  readonly producerPath: PathInput;
  readonly queuePath: PathInput;
  /** Rows of one session are written in order and once; a second producer with it takes over. */
  readonly sessionId: string;
  /** Types the rows and encodes them directly. */
  readonly schema?: Schema<C>;
  /** A note in the session, for those who find it taken over: host, process, … */
  readonly userMeta?: unknown;
  /**
   * Who numbers the rows: the producer, going on from the session's last number (default), or the user, by
   * `$sequence_number` in each row. Numbers increase; rows with numbers that the session has are left out.
   */
  readonly numbers?: "producer" | "user";
  /** Chooses the partition of a row. Without it a row may name one itself (`$tablet_index`), or the cluster chooses. */
  readonly partition?: (row: QueueRow<C>) => number;
  /** A batch is sent when it has so many rows (default: 10,000) … */
  readonly maxBatchRows?: number;
  /** … or so many bytes (default: 4 MiB) … */
  readonly maxBatchBytes?: number;
  /** … or when its first row is so old, in milliseconds (default: 10). */
  readonly maxDelayMs?: number;
  /** `write` waits while so many bytes are not acknowledged (default: 32 MiB). */
  readonly maxBufferedBytes?: number;
  /** How long a batch is tried, in milliseconds (default: 120,000). Then the producer has failed. */
  readonly deliveryTimeoutMs?: number;
  readonly requireSyncReplica?: boolean;
  /** Ends the producer at once; rows under way may or may not be written. */
  readonly signal?: AbortSignal;
}

/** Told to `onAcknowledged` listeners. */
export interface Acknowledged {
  /** Rows up to this number are durable. */
  readonly sequenceNumber: bigint;
  readonly rowCount: number;
  /** Rows of the batch that were there already. */
  readonly skippedRowCount: bigint;
}

const defaults: BatchLimits & { readonly maxBufferedBytes: number; readonly deliveryTimeoutMs: number } = {
  maxRows: 10_000,
  maxBytes: 4 * 1024 * 1024,
  maxDelayMs: 10,
  maxBufferedBytes: 32 * 1024 * 1024,
  deliveryTimeoutMs: 120_000,
};

interface Waiter {
  readonly number: bigint;
  resolve(): void;
  reject(error: YtError): void;
}

export class Producer<C extends Columns = Columns> {
  /** The session as it was when this producer opened it; `sequenceNumber` is that of the last row written before. */
  readonly session: ProducerSession;
  readonly #options: ProducerOptions<C>;
  readonly #commands: RowCommands;
  readonly #batches: Batches;
  readonly #room: Room;
  readonly #abort = new AbortController();
  readonly #delivery: DeliveryOptions;
  readonly #listeners = new Set<(told: Acknowledged) => void>();
  readonly #forgetSignal: () => void;
  #flushing: Waiter[] = [];
  #timer: Timer | undefined;
  #isSending = false;
  #isClosed = false;
  #failure: YtError | undefined;
  #lastNumber: bigint;
  #acknowledged: bigint;

  constructor(commands: RowCommands, session: ProducerSession, options: ProducerOptions<C>) {
    const { signal } = options;
    this.#commands = commands;
    this.session = session;
    this.#options = options;
    this.#lastNumber = session.sequenceNumber;
    this.#acknowledged = session.sequenceNumber;
    this.#batches = new Batches({
      maxRows: options.maxBatchRows ?? defaults.maxRows,
      maxBytes: options.maxBatchBytes ?? defaults.maxBytes,
      maxDelayMs: options.maxDelayMs ?? defaults.maxDelayMs,
    });
    this.#room = new Room(options.maxBufferedBytes ?? defaults.maxBufferedBytes);
    this.#delivery = {
      commands,
      producerPath: options.producerPath,
      queuePath: options.queuePath,
      sessionId: options.sessionId,
      epoch: session.epoch,
      areNumbersInRows: options.numbers === "user",
      requireSyncReplica: options.requireSyncReplica,
      deliveryTimeoutMs: options.deliveryTimeoutMs ?? defaults.deliveryTimeoutMs,
      signal: this.#abort.signal,
    };
    const onAbort = (): void => this.#fail(toYtError(signal?.reason));
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#forgetSignal = () => signal?.removeEventListener("abort", onAbort);
  }

  /** The number of the last row that is durable; −1 when the session has none. */
  get acknowledged(): bigint {
    return this.#acknowledged;
  }

  /** The number of the last row that was given to `write`. */
  get lastNumber(): bigint {
    return this.#lastNumber;
  }

  /** Why the producer has stopped. */
  get failure(): YtError | undefined {
    return this.#failure;
  }

  /** Calls back for each batch that has become durable. Returns the way to stop that. */
  onAcknowledged(listener: (told: Acknowledged) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Takes a row; resolves when there is room for the next one. The row is durable after `flush`. Rows are
   * written in the order of the calls.
   *
   * @returns the row's number
   * @throws YtError 307 for a row that does not fit, 3103 for a number that does not increase: nothing is taken
   * @throws ProducerFenced, YtError when the producer has failed
   */
  async write(row: QueueRow<C>): Promise<bigint> {
    if (this.#isClosed) {
      throw new YtError("The producer is closed and takes no more rows");
    }
    if (!this.#room.isFull) {
      const before = this.#batches.fullCount;
      const number = this.#take(row);
      if (this.#batches.fullCount > before) {
        // A loop of writes gives the network its turn, so that batches go while the next ones are made.
        await turn();
      }
      return number;
    }
    await this.#room.wait();
    try {
      return this.#take(row);
    } finally {
      this.#room.passed();
    }
  }

  /** Takes the rows of a source as fast as they can be written. */
  async writeAll(rows: AsyncIterable<QueueRow<C>> | Iterable<QueueRow<C>>): Promise<void> {
    for await (const row of rows) {
      await this.write(row);
    }
  }

  /** Resolves when all rows taken so far are durable. @throws ProducerFenced, YtError when that cannot be */
  flush(): Promise<void> {
    if (this.#failure !== undefined) {
      return Promise.reject(this.#failure);
    }
    if (this.#batches.isEmpty && !this.#isSending) {
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      this.#flushing.push({ number: this.#lastNumber, resolve, reject });
      this.#send();
    });
  }

  /** Takes no more rows, and resolves when those that were taken are durable. @throws as `flush` */
  async close(): Promise<void> {
    this.#isClosed = true;
    try {
      await this.flush();
      while (this.#room.hasWaiting || !this.#batches.isEmpty) {
        // Those who waited for room take it in the turns between.
        await turn();
        await this.flush();
      }
    } finally {
      this.#forgetSignal();
      this.#timer?.cancel();
      this.#room.end();
    }
  }

  #take(row: QueueRow<C>): bigint {
    if (this.#failure !== undefined) {
      throw this.#failure;
    }
    const number = this.#numberOf(row);
    if (number > this.session.sequenceNumber) {
      const { clock } = this.#commands.requester.options;
      const bytes = this.#batches.add(number, clock.monotonic(), (writer) => this.#encode(writer, row));
      this.#room.take(bytes);
    }
    // A row that the session has is not sent: the real system would set the session's number back.
    this.#lastNumber = number;
    this.#send();
    return number;
  }

  #numberOf(row: QueueRow<C>): bigint {
    const given = row.$sequence_number;
    if (this.#options.numbers !== "user") {
      if (given !== undefined) {
        throw new YtError('Rows have numbers of their own: open the producer with numbers: "user"', {
          code: "InvalidRowSequenceNumbers",
        });
      }
      return this.#lastNumber + 1n;
    }
    if (given === undefined) {
      throw new YtError("The row has no $sequence_number", { code: "InvalidRowSequenceNumbers" });
    }
    const number = BigInt(given);
    const isFirst = this.#lastNumber === this.session.sequenceNumber;
    if (number < 0n || (!isFirst && number <= this.#lastNumber)) {
      throw new YtError(`Sequence numbers are not strongly monotonic: ${number} <= ${this.#lastNumber}`, {
        code: "InvalidRowSequenceNumbers",
      });
    }
    return number;
  }

  #encode(writer: ByteWriter, row: QueueRow<C>): void {
    const { partition, schema } = this.#options;
    const routed = partition === undefined ? row : { ...row, $tablet_index: partition(row) };
    if (schema === undefined) {
      writeYsonTo(writer, toYson(routed), "binary");
      writer.writeByte(0x3b);
    } else {
      schema.encodeTo(writer, routed);
    }
  }

  /** Sends the next batch if there is one to send and none under way. */
  #send(): void {
    if (this.#isSending || this.#failure !== undefined) {
      return;
    }
    const { clock } = this.#commands.requester.options;
    const nowMs = clock.monotonic();
    const batch = this.#batches.take(nowMs, this.#flushing.length > 0);
    if (batch !== undefined) {
      this.#isSending = true;
      void this.#deliver(batch);
      return;
    }
    const { dueMs } = this.#batches;
    if (dueMs !== undefined && this.#timer === undefined) {
      this.#timer = clock.after(Math.max(0, dueMs - nowMs), () => {
        this.#timer = undefined;
        this.#send();
      });
    }
  }

  async #deliver(batch: Batch): Promise<void> {
    const { clock } = this.#commands.requester.options;
    const startMs = clock.monotonic();
    const told = {
      sessionId: this.#options.sessionId,
      rowCount: batch.rowCount,
      byteCount: batch.writer.length,
    };
    try {
      const { skippedRowCount } = await deliver(batch, this.#delivery);
      const durationMs = clock.monotonic() - startMs;
      tellProducer({ ...told, event: "acknowledged", skippedRowCount, durationMs, error: undefined });
      this.#acknowledged = batch.lastNumber;
      this.#isSending = false;
      this.#room.give(batch.writer.length);
      this.#tell({ sequenceNumber: batch.lastNumber, rowCount: batch.rowCount, skippedRowCount });
      this.#resolveFlushes();
      this.#send();
    } catch (thrown) {
      const error = toYtError(thrown);
      const durationMs = clock.monotonic() - startMs;
      tellProducer({ ...told, event: "failed", skippedRowCount: 0n, durationMs, error });
      this.#isSending = false;
      this.#fail(error);
    }
  }

  #resolveFlushes(): void {
    const done = this.#flushing.filter(({ number }) => number <= this.#acknowledged);
    this.#flushing = this.#flushing.filter(({ number }) => number > this.#acknowledged);
    for (const { resolve } of done) {
      resolve();
    }
  }

  #tell(told: Acknowledged): void {
    for (const listener of this.#listeners) {
      listener(told);
    }
  }

  #fail(error: YtError): void {
    if (this.#failure !== undefined) {
      return;
    }
    this.#failure = error;
    this.#abort.abort(error);
    this.#timer?.cancel();
    for (const { reject } of this.#flushing) {
      reject(error);
    }
    this.#flushing = [];
    this.#room.end();
  }
}

/** Opens the session, which takes it over from any other producer. */
export async function openProducer<C extends Columns>(
  commands: RowCommands & {
    createQueueProducerSession(
      producerPath: PathInput,
      queuePath: PathInput,
      sessionId: string,
      options: CommandOptions & { readonly userMeta?: unknown },
    ): Promise<ProducerSession>;
  },
  options: ProducerOptions<C>,
): Promise<Producer<C>> {
  const { producerPath, queuePath, sessionId, userMeta, signal } = options;
  const session = await commands.createQueueProducerSession(producerPath, queuePath, sessionId, {
    ...(userMeta === undefined ? {} : { userMeta }),
    ...(signal === undefined ? {} : { signal }),
  });
  return new Producer(commands, session, options);
}
