/**
 * Where an offset stands in its queue's partition.
 *
 * Specified in: yt/yt/server/queue_agent/private.h (EConsumerPartitionDisposition).
 */

import { greatest, least } from "../integers.ts";

export type Disposition = "ahead" | "up_to_date" | "pending_consumption" | "expired";

export interface RowRange {
  /** The first available row. */
  readonly lowerRowIndex: bigint;
  /** The next row to be written. */
  readonly upperRowIndex: bigint;
}

/** @param nextRowIndex the first row that the consumer has not read */
export function dispositionOf(nextRowIndex: bigint, { lowerRowIndex, upperRowIndex }: RowRange): Disposition {
  if (nextRowIndex > upperRowIndex) {
    return "ahead";
  }
  if (nextRowIndex === upperRowIndex) {
    return "up_to_date";
  }
  return nextRowIndex >= lowerRowIndex ? "pending_consumption" : "expired";
}

/**
 * The row that the consumer reads next; `null` when there is none. Of an `expired` offset it is the first
 * available row (here this project differs from the real system, which knows none).
 */
export function nextReadableRow(nextRowIndex: bigint, range: RowRange): bigint | null {
  if (range.lowerRowIndex >= range.upperRowIndex || nextRowIndex >= range.upperRowIndex) {
    return null;
  }
  return greatest(nextRowIndex, range.lowerRowIndex);
}

/** Rows between offset and end that are still there, at least 0. */
export function readableRowCount(nextRowIndex: bigint, range: RowRange): bigint {
  const unread = range.upperRowIndex - nextRowIndex;
  const available = range.upperRowIndex - range.lowerRowIndex;
  return greatest(0n, least(unread, available));
}
