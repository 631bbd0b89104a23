/** What goes into an ordered tablet and what comes out of its changes. */
import type { ChunkMeta, RowFormat } from "../chunks/chunk.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { StoreRef } from "../chunks/store-ref.ts";
import type { BlockMerger } from "./block-merger.ts";

export interface TabletOptions {
  readonly tabletId: string;
  readonly tableId: string;
  /** How rows of the table's present schema are stored. */
  readonly format: RowFormat;
  /** Merges small blocks in the background; without it they stay as they are. */
  readonly merger?: BlockMerger;
  /**
   * The newest timestamp up to which all commits of the cluster are visible: a commit may have a timestamp
   * before this tablet hears of it. Default: no commit is made in turns.
   */
  readonly visibleTimestamp?: () => bigint;
}

export interface NewTablet extends TabletOptions {
  /** Index of the first row to come; the rows below count as trimmed and flushed. Default: 0. */
  readonly trimmedRowCount?: number;
  /** Default: the data weight of the chunks. */
  readonly cumulativeDataWeight?: number;
  /** Chunks of other lists that the tablet begins with, at the row indexes they have there. */
  readonly sealed?: readonly StoreRef[];
}

export interface PreparedAppend extends Prepared {
  /** Index in the tablet of the first row appended. */
  readonly firstRowIndex: number;
  readonly rowCount: number;
  /** Data weight of the rows, system columns of the schema included. */
  readonly dataWeight: number;
}

export interface PreparedFlush extends Prepared {
  /** Index of the first row that is not in a chunk, when this is durable. */
  readonly flushedRowCount: number;
  /** Undefined when there was nothing to flush, or all of it was trimmed. */
  readonly chunk: ChunkMeta | undefined;
}

export interface TabletInfo {
  readonly totalRowCount: number;
  readonly trimmedRowCount: number;
  /** No row with a smaller commit timestamp will appear any more. */
  readonly barrierTimestamp: bigint;
  /** 0 when never written. */
  readonly lastWriteTimestamp: bigint;
}
