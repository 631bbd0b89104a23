/**
 * Rows gathered into batches: closed when they are full, due when they are old. Pure but for the memory it
 * writes into.
 */
import { ByteWriter } from "@qyt/yson";

export interface BatchLimits {
  readonly maxRows: number;
  /** In bytes of encoded rows. A single row may be longer. */
  readonly maxBytes: number;
  /** How long a row waits for others at most, in milliseconds. */
  readonly maxDelayMs: number;
}

export interface Batch {
  readonly writer: ByteWriter;
  /** Monotonic time of its first row. */
  readonly startMs: number;
  rowCount: number;
  /** The number of the first row, and of the last. */
  readonly firstNumber: bigint;
  lastNumber: bigint;
}

export class Batches {
  readonly #limits: BatchLimits;
  readonly #closed: Batch[] = [];
  #open: Batch | undefined;

  constructor(limits: BatchLimits) {
    this.#limits = limits;
  }

  /** Whether there is a row. */
  get isEmpty(): boolean {
    return this.#open === undefined && this.#closed.length === 0;
  }

  /** How many batches are full and not taken. */
  get fullCount(): number {
    return this.#closed.length;
  }

  /** Puts a row in; `encode` writes it. When that throws, nothing is changed. Returns how many bytes it has. */
  add(number: bigint, nowMs: number, encode: (writer: ByteWriter) => void): number {
    const batch = this.#open ?? newBatch(number, nowMs);
    const { writer } = batch;
    const before = writer.length;
    try {
      encode(writer);
    } catch (thrown) {
      writer.length = before;
      throw thrown;
    }
    const bytes = writer.length - before;
    if (before > 0 && writer.length > this.#limits.maxBytes) {
      // It goes into the next one.
      const row = Buffer.from(writer.buffer.subarray(before, writer.length));
      writer.length = before;
      this.#close(batch);
      const next = newBatch(number, nowMs);
      next.writer.writeBytes(row);
      this.#put(next, number);
    } else {
      this.#put(batch, number);
    }
    return bytes;
  }

  /** The batch to send next: a closed one, or the open one when it is due, or with `isFlushing` whatever it is. */
  take(nowMs: number, isFlushing: boolean): Batch | undefined {
    const closed = this.#closed.shift();
    if (closed !== undefined) {
      return closed;
    }
    const open = this.#open;
    if (open === undefined || (!isFlushing && nowMs < open.startMs + this.#limits.maxDelayMs)) {
      return undefined;
    }
    this.#open = undefined;
    return open;
  }

  /** When the open batch is due. */
  get dueMs(): number | undefined {
    return this.#open === undefined ? undefined : this.#open.startMs + this.#limits.maxDelayMs;
  }

  #put(batch: Batch, number: bigint): void {
    batch.rowCount++;
    batch.lastNumber = number;
    this.#open = batch;
    if (batch.rowCount >= this.#limits.maxRows || batch.writer.length >= this.#limits.maxBytes) {
      this.#close(batch);
    }
  }

  #close(batch: Batch): void {
    this.#closed.push(batch);
    this.#open = undefined;
  }
}

function newBatch(firstNumber: bigint, startMs: number): Batch {
  return { writer: new ByteWriter(4096), startMs, rowCount: 0, firstNumber, lastNumber: firstNumber };
}
