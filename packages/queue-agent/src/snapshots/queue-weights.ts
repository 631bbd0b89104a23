/**
 * The cumulative data weights at both ends of a queue's partitions: rows are read only where an end has moved.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (CollectCumulativeDataWeights).
 */
import { YtError } from "@qyt/base";
import { type QueueRowInfo, type QueueRows, rowKey } from "../reads/queue-rows.ts";
import type { QueueLayout, TabletInfo } from "./queue-layout.ts";
import type { QueuePartitionSnapshot, QueueSnapshot } from "./queue-snapshot.ts";

/** `null`: unknown, because the column or its value or the row is not there. */
export type Weights = Pick<QueuePartitionSnapshot, "cumulativeDataWeight" | "trimmedDataWeight">;

export const noWeights: Weights = { cumulativeDataWeight: null, trimmedDataWeight: null };

interface Wanted {
  readonly index: number;
  readonly before: QueuePartitionSnapshot | undefined;
  /** Rows to ask for; `null`: the weight is that of `before`. */
  readonly lastRow: bigint | null;
  readonly firstRow: bigint | null;
}

export class QueueWeights {
  readonly #rows: QueueRows;
  /** What the previous snapshot says of weights means nothing: the query failed. */
  #hasFailed = false;

  constructor(rows: QueueRows) {
    this.#rows = rows;
  }

  /** Never throws: after a failed query weights are unknown for this pass. */
  async read(
    layout: QueueLayout,
    infos: ReadonlyMap<number, TabletInfo | YtError>,
    previous: QueueSnapshot | undefined,
  ): Promise<ReadonlyMap<number, Weights>> {
    const weights = new Map<number, Weights>();
    if (!layout.hasCumulativeDataWeightColumn) {
      return weights;
    }
    const mayKeep = !this.#hasFailed && previous?.hasCumulativeDataWeightColumn === true;
    const keys: string[] = [];
    const wanted: Wanted[] = [];
    for (const [index, info] of infos) {
      // Without rows there is nothing to ask: what was trimmed is gone.
      if (info instanceof YtError || info.lowerRowIndex >= info.upperRowIndex) {
        continue;
      }
      const item = wantedRows(index, info, layout, mayKeep ? previous.partitions[index] : undefined);
      if (item.lastRow === null && item.firstRow === null && item.before !== undefined) {
        weights.set(index, item.before);
        continue;
      }
      if (item.lastRow !== null) {
        keys.push(rowKey(index, item.lastRow));
      }
      if (item.firstRow !== null) {
        keys.push(rowKey(index, item.firstRow));
      }
      wanted.push(item);
    }
    this.#hasFailed = false;
    if (keys.length === 0) {
      return weights;
    }
    let rows: ReadonlyMap<string, QueueRowInfo> = new Map();
    try {
      rows = await this.#rows.read(keys, layout);
    } catch {
      // Weights are no reason to lose sight of the row counts.
      this.#hasFailed = true;
    }
    for (const { index, before, lastRow, firstRow } of wanted) {
      const weightAt = (row: bigint): bigint | null =>
        rows.get(rowKey(index, row))?.cumulativeDataWeight ?? null;
      weights.set(index, {
        cumulativeDataWeight: lastRow === null ? (before?.cumulativeDataWeight ?? null) : weightAt(lastRow),
        trimmedDataWeight: firstRow === null ? (before?.trimmedDataWeight ?? null) : weightAt(firstRow),
      });
    }
    return weights;
  }
}

function wantedRows(
  index: number,
  { lowerRowIndex, upperRowIndex }: TabletInfo,
  layout: QueueLayout,
  before: QueuePartitionSnapshot | undefined,
): Wanted {
  const isKnown =
    before?.error === null &&
    before.tabletId === layout.tablets[index]?.tabletId &&
    before.lowerRowIndex < before.upperRowIndex;
  return {
    index,
    before: isKnown ? before : undefined,
    lastRow: isKnown && before.upperRowIndex === upperRowIndex ? null : upperRowIndex - 1n,
    firstRow: isKnown && before.lowerRowIndex === lowerRowIndex ? null : lowerRowIndex,
  };
}
