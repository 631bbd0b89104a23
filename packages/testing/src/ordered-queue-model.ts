/**
 * What a queue does, in the fewest words: arrays of rows, a trimmed count per partition, offsets per
 * consumer, sessions per producer. The reference that model tests compare the real one with.
 */
import { assert, defined } from "@qyt/base";

export interface PulledRow<Row> {
  readonly rowIndex: number;
  readonly row: Row;
}

interface Session {
  epoch: number;
  sequenceNumber: number;
}

export type PushOutcome =
  | { readonly kind: "pushed"; readonly skipped: number; readonly lastSequenceNumber: number }
  | { readonly kind: "zombieEpoch" | "invalidEpoch" | "invalidSequence" };

export class OrderedQueueModel<Row> {
  readonly #partitions: { rows: Row[]; trimmed: number }[];
  readonly #offsets = new Map<string, number>();
  readonly #sessions = new Map<string, Session>();

  constructor(partitionCount: number) {
    this.#partitions = Array.from({ length: partitionCount }, () => ({ rows: [], trimmed: 0 }));
  }

  append(partition: number, rows: readonly Row[]): void {
    this.#at(partition).rows.push(...rows);
  }

  totalRowCount(partition: number): number {
    return this.#at(partition).rows.length;
  }

  trimmedRowCount(partition: number): number {
    return this.#at(partition).trimmed;
  }

  /** Never goes back; trimming beyond the end is not allowed by the API and asserted here. */
  trim(partition: number, trimmedRowCount: number): void {
    const state = this.#at(partition);
    assert(trimmedRowCount <= state.rows.length, "trimmed beyond the end");
    state.trimmed = Math.max(state.trimmed, trimmedRowCount);
  }

  /** Rows from `offset`, or from the first one left if that is above it. */
  pull(partition: number, offset: number, limit: number): PulledRow<Row>[] {
    const { rows, trimmed } = this.#at(partition);
    const start = Math.max(offset, trimmed);
    return rows.slice(start, start + limit).map((row, i) => ({ rowIndex: start + i, row }));
  }

  offset(consumer: string, partition: number): number {
    return this.#offsets.get(`${consumer}/${partition}`) ?? 0;
  }

  /** False when `oldOffset` is given and another one is stored: a conflict, nothing changes. */
  advance(consumer: string, partition: number, oldOffset: number | undefined, newOffset: number): boolean {
    if (oldOffset !== undefined && oldOffset !== this.offset(consumer, partition)) {
      return false;
    }
    this.#offsets.set(`${consumer}/${partition}`, newOffset);
    return true;
  }

  /** A new session, or the next epoch of one, which makes the earlier epoch a zombie. */
  openSession(session: string): Session {
    const old = this.#sessions.get(session);
    const opened = {
      epoch: old === undefined ? 0 : old.epoch + 1,
      sequenceNumber: old?.sequenceNumber ?? -1,
    };
    this.#sessions.set(session, opened);
    return { ...opened };
  }

  /** Rows with sequence numbers; those not above the session's last one are skipped as duplicates. */
  push(
    session: string,
    epoch: number,
    partition: number,
    rows: readonly { readonly sequenceNumber: number; readonly row: Row }[],
  ): PushOutcome {
    const state = this.#sessions.get(session);
    if (state === undefined || epoch > state.epoch) {
      return { kind: "invalidEpoch" };
    }
    if (epoch < state.epoch) {
      return { kind: "zombieEpoch" };
    }
    if (rows.some(({ sequenceNumber }, i) => sequenceNumber <= (rows[i - 1]?.sequenceNumber ?? -1))) {
      return { kind: "invalidSequence" };
    }
    const fresh = rows.filter(({ sequenceNumber }) => sequenceNumber > state.sequenceNumber);
    this.append(
      partition,
      fresh.map(({ row }) => row),
    );
    state.sequenceNumber = fresh.at(-1)?.sequenceNumber ?? state.sequenceNumber;
    return {
      kind: "pushed",
      skipped: rows.length - fresh.length,
      lastSequenceNumber: state.sequenceNumber,
    };
  }

  #at(partition: number): { rows: Row[]; trimmed: number } {
    return defined(this.#partitions[partition], `partition ${partition}`);
  }
}

export function orderedQueueModel<Row>(partitionCount: number): OrderedQueueModel<Row> {
  return new OrderedQueueModel(partitionCount);
}
