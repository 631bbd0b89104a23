/** What one pass of a queue's controller saw. Immutable. */
import type { YtError } from "@qyt/base";
import type { QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import type { ObjectSnapshot } from "./object-snapshot.ts";
import { type RateCounter, unchangedUntil } from "./rates.ts";

export interface WriteRates {
  readonly rowCount: RateCounter;
  readonly dataWeight: RateCounter;
}

export interface QueuePartitionSnapshot {
  readonly partitionIndex: number;
  /** Nothing below is true when there is one, but for the tablet's id and state. */
  readonly error: YtError | null;
  readonly tabletId: string;
  readonly tabletState: string;
  readonly cellId: string;
  readonly host: string | null;
  /** The trimmed row count: index of the first available row. */
  readonly lowerRowIndex: bigint;
  /** Rows ever written: index of the next row. */
  readonly upperRowIndex: bigint;
  /** A cluster timestamp; 0: nothing was written. */
  readonly lastWriteTimestamp: bigint;
  /** Cumulative weight at row upper−1 and at row lower, in bytes; `null` when unknown. */
  readonly cumulativeDataWeight: bigint | null;
  readonly trimmedDataWeight: bigint | null;
  /**
   * As of the last pass that saw the partition change: one that did not change is the same object in the next
   * snapshot. `writeRatesAt` tells the rates of a later pass.
   */
  readonly writeRates: WriteRates;
}

export interface QueueSnapshot extends ObjectSnapshot<QueueRow> {
  /** The id of the table that the partitions are of, which may be another one than the row's; `null`: not read. */
  readonly tableId: string | null;
  readonly hasTimestampColumn: boolean;
  readonly hasCumulativeDataWeightColumn: boolean;
  /** The table is a replica of a replicated table; false when there is an error. */
  readonly isReplica: boolean;
  /** Empty when there is an error. */
  readonly partitions: readonly QueuePartitionSnapshot[];
}

/** A snapshot of a queue of which nothing is known but why. */
export function queueSnapshotWithError(
  row: QueueRow,
  registrations: readonly RegistrationRow[],
  error: YtError,
): QueueSnapshot {
  return {
    kind: "queue",
    reference: row.reference,
    row,
    registrations,
    error,
    tableId: null,
    passIndex: -1,
    passInstantMs: 0,
    bannedSinceMs: null,
    hasTimestampColumn: false,
    hasCumulativeDataWeightColumn: false,
    isReplica: false,
    partitions: [],
  };
}

/** The weight that the rates count: nothing written weighs nothing. `null`: unknown. */
export function countedWeight(
  partition: Pick<QueuePartitionSnapshot, "upperRowIndex" | "cumulativeDataWeight">,
): bigint | null {
  return partition.upperRowIndex === 0n ? 0n : partition.cumulativeDataWeight;
}

/** The rates as of a snapshot's pass (`passInstantMs`). */
export function writeRatesAt(partition: QueuePartitionSnapshot, passInstantMs: number): WriteRates {
  const { rowCount, dataWeight } = partition.writeRates;
  return {
    rowCount: unchangedUntil(rowCount, passInstantMs),
    dataWeight: countedWeight(partition) === null ? dataWeight : unchangedUntil(dataWeight, passInstantMs),
  };
}
