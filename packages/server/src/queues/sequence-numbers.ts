/**
 * Numbers the rows of a push and tells which of them the session already has. Pure.
 *
 * Specified in: yt/yt/ytlib/queue_client/helpers.cpp (ValidatePushQueueProducerRows).
 */
import { YtError } from "@qyt/base";
import type { EncodedRows } from "@qyt/schema";

export interface NumberedRows {
  /** How many rows, from the first on, were written before. Numbers increase, so these are a prefix. */
  readonly skippedRowCount: number;
  /** Number of the last row; absent for an empty batch. */
  readonly last: bigint | undefined;
}

/**
 * @param initial number of the first row, when rows carry none
 * @param written number of the last row that the session has
 * @throws YtError 3103 when numbers are missing, mixed, negative or do not increase inside the batch
 */
export function numberRows(rows: EncodedRows, initial: bigint | undefined, written: bigint): NumberedRows {
  let previous = -1n;
  let skippedRowCount = 0;
  for (let index = 0; index < rows.rowCount; index++) {
    const number = numberOf(rows, index, initial);
    if (number <= previous) {
      throw invalid(`Sequence numbers are not strongly monotonic: ${number} <= ${previous}`, index);
    }
    previous = number;
    if (number <= written) {
      skippedRowCount++;
    }
  }
  return { skippedRowCount, last: rows.rowCount === 0 ? undefined : previous };
}

function numberOf(rows: EncodedRows, index: number, initial: bigint | undefined): bigint {
  const own = rows.sequenceNumberOf(index);
  if (own === undefined) {
    if (initial === undefined) {
      throw invalid("There is no $sequence_number in the row and initial sequence number was not received", index);
    }
    return initial + BigInt(index);
  }
  if (initial !== undefined) {
    throw invalid("Only one of explicit $sequence_number or initial sequence number can be set", index);
  }
  if (own < 0n) {
    throw invalid(`Sequence number ${own} cannot be negative`, index);
  }
  return own;
}

function invalid(message: string, rowIndex: number): YtError {
  return new YtError(message, {
    code: "InvalidRowSequenceNumbers",
    attributes: { row_index: BigInt(rowIndex) },
  });
}
