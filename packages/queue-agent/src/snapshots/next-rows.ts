/**
 * The queue's rows around a consumer's offsets: the weight of what was read, the commit time of what is read
 * next. Rows never change, so what was found is kept until the offset asks for another row.
 */

import { type QueueRowInfo, type QueueRows, rowKey } from "../reads/queue-rows.ts";
import { nextReadableRow } from "./disposition.ts";
import type { OffsetRow } from "./offset-table.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "./queue-snapshot.ts";

export interface RowsAround {
  /** Weight of everything before the offset; `null` when unknown. */
  readonly cumulativeDataWeight: bigint | null;
  /** Commit timestamp of the row to read next; `null` when unknown or when there is none. */
  readonly nextRowTimestamp: bigint | null;
}

/** What was asked for, and what was found. */
interface Known {
  readonly tabletId: string;
  readonly weightRow: bigint | null;
  readonly timestampRow: bigint | null;
  readonly around: RowsAround;
}

interface Wanted {
  readonly partition: QueuePartitionSnapshot;
  readonly offset: OffsetRow | undefined;
  /** The rows whose weight and time are wanted; `null`: none, or the offset's row has noted it. */
  readonly weightRow: bigint | null;
  readonly timestampRow: bigint | null;
}

export class NextRows {
  readonly #known = new Map<number, Known>();

  /**
   * Never throws: what a failed query would have told is `null`, and asked for again with the next pass.
   * @returns by partition; `isComplete`: no query failed
   */
  async read(
    queue: QueueSnapshot,
    offsetOf: (partitionIndex: number) => OffsetRow | undefined,
    rows: QueueRows,
  ): Promise<{ readonly around: readonly RowsAround[]; readonly isComplete: boolean }> {
    const wanted = queue.partitions.map((partition) =>
      wantedRows(queue, partition, offsetOf(partition.partitionIndex)),
    );
    const keys = wanted.flatMap((item) => this.#missing(item));
    let found: ReadonlyMap<string, QueueRowInfo> | undefined;
    if (keys.length > 0) {
      try {
        found = await rows.read(keys, queue);
      } catch {
        found = undefined;
      }
    }
    const isComplete = keys.length === 0 || found !== undefined;
    const around = wanted.map((item) => {
      const { partitionIndex, tabletId } = item.partition;
      const result = this.#around(item, found);
      if (isComplete && item.partition.error === null) {
        const { weightRow, timestampRow } = item;
        this.#known.set(partitionIndex, { tabletId, weightRow, timestampRow, around: result });
      } else if (!isComplete) {
        this.#known.delete(partitionIndex);
      }
      return result;
    });
    return { around, isComplete };
  }

  #missing({ partition, weightRow, timestampRow }: Wanted): string[] {
    const known = this.#of(partition);
    const keys: string[] = [];
    // A trimmed row cannot be asked for; what it weighed may still be known.
    if (weightRow !== null && weightRow >= partition.lowerRowIndex && known?.weightRow !== weightRow) {
      keys.push(rowKey(partition.partitionIndex, weightRow));
    }
    if (timestampRow !== null && known?.timestampRow !== timestampRow) {
      keys.push(rowKey(partition.partitionIndex, timestampRow));
    }
    return keys;
  }

  #around(wanted: Wanted, found: ReadonlyMap<string, QueueRowInfo> | undefined): RowsAround {
    const { partition, offset, weightRow, timestampRow } = wanted;
    const known = this.#of(partition);
    const row = (index: bigint): QueueRowInfo | undefined =>
      found?.get(rowKey(partition.partitionIndex, index));
    const noted = offset?.cumulativeDataWeight ?? null;
    const weight =
      weightRow === null
        ? noted
        : known?.weightRow === weightRow
          ? known.around.cumulativeDataWeight
          : (row(weightRow)?.cumulativeDataWeight ?? null);
    const timestamp =
      timestampRow === null
        ? notedTimestamp(wanted)
        : known?.timestampRow === timestampRow
          ? known.around.nextRowTimestamp
          : (row(timestampRow)?.timestamp ?? notedTimestamp(wanted));
    return { cumulativeDataWeight: weight, nextRowTimestamp: timestamp };
  }

  #of({ partitionIndex, tabletId }: QueuePartitionSnapshot): Known | undefined {
    const known = this.#known.get(partitionIndex);
    return known?.tabletId === tabletId ? known : undefined;
  }
}

/** What the offset's row noted of the row at the offset; of no use once that row is trimmed. */
function notedTimestamp({ partition, offset }: Wanted): bigint | null {
  const isGone = (offset?.nextRowIndex ?? 0n) < partition.lowerRowIndex;
  return isGone ? null : (offset?.offsetTimestamp ?? null);
}

function wantedRows(
  queue: QueueSnapshot,
  partition: QueuePartitionSnapshot,
  offset: OffsetRow | undefined,
): Wanted {
  const common = { partition, offset };
  if (partition.error !== null) {
    return { ...common, weightRow: null, timestampRow: null };
  }
  const nextRowIndex = offset?.nextRowIndex ?? 0n;
  const mayHaveWeight =
    queue.hasCumulativeDataWeightColumn && nextRowIndex > 0n && nextRowIndex <= partition.upperRowIndex;
  const isNoted = offset !== undefined && offset.cumulativeDataWeight !== null;
  return {
    ...common,
    weightRow: mayHaveWeight && !isNoted ? nextRowIndex - 1n : null,
    timestampRow: queue.hasTimestampColumn ? nextReadableRow(nextRowIndex, partition) : null,
  };
}
