/**
 * Numbers the rows of a push and tells which of them the session already has. Pure. No work and no
 * BigInt a row: numbers from an option are arithmetic, numbers in rows are compared as halves of 32 bits.
 *
 * Specified in: yt/yt/ytlib/queue_client/helpers.cpp (ValidatePushQueueProducerRows).
 */
import { endianness } from "node:os";
import { YtError } from "@qyt/base";
import type { EncodedRows } from "@qyt/schema";

export interface NumberedRows {
  /** How many rows, from the first on, were written before. Numbers increase, so these are a prefix. */
  readonly skippedRowCount: number;
  /** Number of the last row; absent for an empty batch. */
  readonly last: bigint | undefined;
}

const maxInt64 = (1n << 63n) - 1n;

/** Which of the two 32-bit words of a 64-bit integer in memory is the high one. */
const highWord = endianness() === "LE" ? 1 : 0;

/**
 * @param initial number of the first row, when rows carry none
 * @param written number of the last row that the session has
 * @throws YtError 3103 when numbers are missing, mixed, negative or do not increase inside the batch; it
 * names the first such row
 */
export function numberRows(rows: EncodedRows, initial: bigint | undefined, written: bigint): NumberedRows {
  if (rows.rowCount === 0) {
    return { skippedRowCount: 0, last: undefined };
  }
  return initial === undefined ? numbersOfRows(rows, written) : numbersFrom(rows, initial, written);
}

/** Rows without numbers: the first has the given one, the following count up. */
function numbersFrom(rows: EncodedRows, initial: bigint, written: bigint): NumberedRows {
  const numbered = rows.hasSequenceNumber?.indexOf(1) ?? -1;
  if (initial < 0n && numbered !== 0) {
    throw notMonotonic(initial, -1n, 0);
  }
  if (numbered >= 0) {
    throw invalid("Only one of explicit $sequence_number or initial sequence number can be set", numbered);
  }
  const last = initial + BigInt(rows.rowCount - 1);
  if (last > maxInt64) {
    throw invalid(`Sequence number ${last} is out of range`, rows.rowCount - 1);
  }
  const known = written - initial + 1n;
  const skippedRowCount = known <= 0n ? 0 : last <= written ? rows.rowCount : Number(known);
  return { skippedRowCount, last };
}

/** Rows with a number each. */
function numbersOfRows(rows: EncodedRows, written: bigint): NumberedRows {
  const { rowCount, sequenceNumbers, hasSequenceNumber } = rows;
  const missing = hasSequenceNumber === undefined ? 0 : hasSequenceNumber.indexOf(0);
  if (sequenceNumbers !== undefined) {
    checkIncreasing(sequenceNumbers, missing < 0 ? rowCount : missing);
  }
  const last = sequenceNumbers?.[rowCount - 1];
  if (sequenceNumbers === undefined || last === undefined || missing >= 0) {
    throw invalid(
      "There is no $sequence_number in the row and initial sequence number was not received",
      Math.max(missing, 0),
    );
  }
  return { skippedRowCount: countUpTo(sequenceNumbers, rowCount, written), last };
}

/** @throws YtError 3103 unless the first `count` numbers are not negative and increase */
function checkIncreasing(numbers: BigInt64Array, count: number): void {
  const words = new Int32Array(numbers.buffer, numbers.byteOffset, 2 * count);
  let previousHigh = -1;
  let previousLow = 0xffff_ffff;
  for (let row = 0; row < count; row++) {
    const high = words[2 * row + highWord] ?? 0;
    const low = (words[2 * row + 1 - highWord] ?? 0) >>> 0;
    if (high < previousHigh || (high === previousHigh && low <= previousLow)) {
      const number = numbers[row] ?? 0n;
      throw number < 0n
        ? invalid(`Sequence number ${number} cannot be negative`, row)
        : notMonotonic(number, numbers[row - 1] ?? -1n, row);
    }
    previousHigh = high;
    previousLow = low;
  }
}

/** How many of the increasing numbers are at most `limit`. */
function countUpTo(numbers: BigInt64Array, count: number, limit: bigint): number {
  let from = 0;
  let to = count;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((numbers[middle] ?? 0n) <= limit) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

function notMonotonic(number: bigint, previous: bigint, row: number): YtError {
  return invalid(`Sequence numbers are not strongly monotonic: ${number} <= ${previous}`, row);
}

function invalid(message: string, rowIndex: number): YtError {
  return new YtError(message, {
    code: "InvalidRowSequenceNumbers",
    attributes: { row_index: BigInt(rowIndex) },
  });
}
