/**
 * Which chunks go into which exported table. Pure functions of the chunks that are there and of what has been
 * exported: in each tablet chunks are taken in row order, from the one after the last exported chunk on, and
 * none is passed over.
 *
 * Specified in: yt/yt/server/queue_agent/queue_exporter_old.cpp, queue_exporter.cpp
 * (SelectChunkSpecsToExport).
 */

import type { ExportProgress, TabletExportProgress } from "./export-progress.ts";
import { boundaryAfter, minExportTime } from "./export-time.ts";
import type { QueueChunk, QueueChunks } from "./queue-chunks.ts";

/** One table to be made. */
export interface ExportPart {
  /** The upper bound of its chunks, in seconds of Unix time; decides the name. */
  readonly exportTime: number;
  /** By tablet, and in each tablet in row order; never empty. */
  readonly chunks: readonly QueueChunk[];
}

/** The last exported chunk does not end where the stored progress says. */
interface RowCountMismatch {
  readonly chunk: QueueChunk;
  /** What the progress says. */
  readonly rowCount: bigint;
}

export interface ExportPlan {
  /** By ascending export time. */
  readonly parts: readonly ExportPart[];
  readonly mismatches: readonly RowCountMismatch[];
}

export interface ExportBounds {
  readonly periodSeconds: number;
  /** No chunk that belongs after this boundary is exported; in seconds of Unix time. */
  readonly upperBound: number;
}

/** One table, named by the upper bound, with everything that may be exported. */
export function planSingleTable(
  queue: QueueChunks,
  progress: ExportProgress,
  bounds: ExportBounds,
): ExportPlan {
  const chunks: QueueChunk[] = [];
  const mismatches: RowCountMismatch[] = [];
  for (const tablet of queue.tablets) {
    for (const chunk of unexported(tablet, progress, mismatches)) {
      if (minExportTime(chunk.maxTimestamp, bounds.periodSeconds) > bounds.upperBound) {
        break;
      }
      chunks.push(chunk);
    }
  }
  return { parts: chunks.length === 0 ? [] : [{ exportTime: bounds.upperBound, chunks }], mismatches };
}

/**
 * A table for each period that has rows. Rows that were flushed after the table of their period was made go
 * into the next one, as do chunks behind them in their tablet: rows stay in order.
 */
export function planTablePerPeriod(
  queue: QueueChunks,
  progress: ExportProgress,
  bounds: ExportBounds,
): ExportPlan {
  const { periodSeconds, upperBound } = bounds;
  const byTime = new Map<number, QueueChunk[]>();
  const mismatches: RowCountMismatch[] = [];
  for (const tablet of queue.tablets) {
    let exportTime = boundaryAfter(progress.lastExportTime, periodSeconds);
    for (const chunk of unexported(tablet, progress, mismatches)) {
      exportTime = Math.max(exportTime, minExportTime(chunk.maxTimestamp, periodSeconds));
      if (exportTime > upperBound) {
        break;
      }
      const others = byTime.get(exportTime);
      if (others === undefined) {
        byTime.set(exportTime, [chunk]);
      } else {
        others.push(chunk);
      }
    }
  }
  const parts = [...byTime].map(([exportTime, chunks]) => ({ exportTime, chunks }));
  parts.sort((left, right) => left.exportTime - right.exportTime);
  return { parts, mismatches };
}

/** The chunks behind the last exported one; all that are left when that one has been trimmed meanwhile. */
function unexported(
  tablet: readonly QueueChunk[],
  progress: ExportProgress,
  mismatches: RowCountMismatch[],
): readonly QueueChunk[] {
  const known: TabletExportProgress | undefined = progress.tablets.get(tablet[0]?.tabletIndex ?? -1);
  const last = known === undefined ? -1 : tablet.findIndex(({ id }) => id === known.lastChunk);
  const chunk = tablet[last];
  if (chunk !== undefined && known !== undefined && chunk.startRowIndex + chunk.rowCount !== known.rowCount) {
    mismatches.push({ chunk, rowCount: known.rowCount });
  }
  return tablet.slice(last + 1);
}

/** What is flushed and not exported, whatever its time. */
export function countPending(
  queue: QueueChunks,
  progress: ExportProgress,
): { readonly chunkCount: number; readonly rowCount: bigint } {
  let chunkCount = 0;
  let rowCount = 0n;
  for (const tablet of queue.tablets) {
    for (const chunk of unexported(tablet, progress, [])) {
      chunkCount++;
      rowCount += chunk.rowCount;
    }
  }
  return { chunkCount, rowCount };
}
