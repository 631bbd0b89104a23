/** What one pass of a consumer's controller saw. Immutable. */
import type { YtError } from "@qyt/base";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { ConsumerRow, RegistrationRow } from "../objects/state-rows.ts";
import type { ObjectSnapshot } from "./object-snapshot.ts";
import { type RateCounter, unchangedUntil } from "./rates.ts";

export interface ReadRates {
  readonly rowCount: RateCounter;
  readonly dataWeight: RateCounter;
}

export interface ConsumerPartitionSnapshot {
  readonly partitionIndex: number;
  /** The queue's partition is in error; offset and consume time are still true. */
  readonly error: YtError | null;
  /** The committed offset: first unread row. */
  readonly nextRowIndex: bigint;
  /** Write timestamp of the offset row; 0: never advanced. */
  readonly lastConsumeTimestamp: bigint;
  /** Weight up to row offset−1; `null` when unknown. */
  readonly cumulativeDataWeight: bigint | null;
  /** `$timestamp` of the next row to read, or what the offset's meta says; `null` when unknown. */
  readonly nextRowTimestamp: bigint | null;
  /** Unix milliseconds of the first pass that saw this offset: how long it has not moved. */
  readonly offsetSinceMs: number;
  /**
   * As of the last pass that saw the partition change: one that did not change is the same object in the next
   * snapshot. `readRatesAt` tells the rates of a later pass.
   */
  readonly readRates: ReadRates;
}

/** A consumer's state in one of its queues. */
export interface SubConsumerSnapshot {
  readonly queue: ObjectReference;
  /** Of a multi-consumer; otherwise `null`. */
  readonly consumerName: string | null;
  readonly error: YtError | null;
  /** Indexed by partition; empty when there is an error. */
  readonly partitions: readonly ConsumerPartitionSnapshot[];
}

export interface ConsumerSnapshot extends ObjectSnapshot<ConsumerRow> {
  /** By `subConsumerKey`. */
  readonly queues: ReadonlyMap<string, SubConsumerSnapshot>;
  /** All names in the table of a multi-consumer, the same set while it was not written; or why they are unknown. */
  readonly names?: ReadonlySet<string> | YtError | null;
}

/** A snapshot of a consumer of which nothing is known but why. */
export function consumerSnapshotWithError(
  row: ConsumerRow,
  registrations: readonly RegistrationRow[],
  error: YtError,
): ConsumerSnapshot {
  return {
    kind: "consumer",
    reference: row.reference,
    row,
    registrations,
    error,
    passIndex: -1,
    passInstantMs: 0,
    bannedSinceMs: null,
    queues: new Map(),
  };
}

/** The key of a sub-consumer: the queue's reference; of a multi-consumer the name is put behind it. */
export function subConsumerKey(queue: ObjectReference, consumerName: string | null): string {
  const text = referenceToString(queue);
  return consumerName === null ? text : `${text}\u0000${consumerName}`;
}

/** The weight that the rates count: in front of the first row nothing was read. `null`: unknown. */
export function countedReadWeight(
  partition: Pick<ConsumerPartitionSnapshot, "nextRowIndex" | "cumulativeDataWeight">,
): bigint | null {
  return partition.nextRowIndex === 0n ? 0n : partition.cumulativeDataWeight;
}

/** The rates as of a snapshot's pass (`passInstantMs`). */
export function readRatesAt(partition: ConsumerPartitionSnapshot, passInstantMs: number): ReadRates {
  const { rowCount, dataWeight } = partition.readRates;
  return {
    rowCount: unchangedUntil(rowCount, passInstantMs),
    dataWeight:
      countedReadWeight(partition) === null ? dataWeight : unchangedUntil(dataWeight, passInstantMs),
  };
}
