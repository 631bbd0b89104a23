/**
 * Reads rows of stores block by block, and refuses to read past damage: the blocks must join without gaps
 * and agree with the store's row count. A gap is an error, never fewer rows.
 *
 * Between two slices nothing of the disk is held, so a reader may take its time; a pin keeps the blocks.
 */
import { toYtError, YtError } from "@qyt/base";
import { RowBlock } from "@qyt/schema";
import type { StoredBlock } from "../block-storage.ts";
import type { RowFormat } from "./chunk.ts";
import type { ChunkManager } from "./chunk-manager.ts";

/** A store in a chunk list, or the dynamic store of a tablet, as a reader sees it. */
export interface StoreSpan {
  readonly storeId: bigint;
  /** Undefined for a dynamic store. */
  readonly chunkId: string | undefined;
  /** Index in the list of the store's first row. */
  readonly firstRowIndex: number;
  /** Rows to be seen; a dynamic store may hold more that are not visible yet. */
  readonly rowCount: number;
  readonly format: RowFormat;
}

/** Rows [from, to) of one block, whose `firstRowIndex` is that of the list. */
export interface RowSlice {
  readonly block: RowBlock;
  readonly from: number;
  readonly to: number;
  readonly format: RowFormat;
}

/** One look into the store reads at most so much: about a millisecond. */
const maxBlocksPerScan = 32;
const maxBytesPerScan = 256 * 1024;

/**
 * The rows [fromRow, toRow) of a store, counted from its start. Reads ahead by doubling steps, so that a
 * few rows cost two or three records. The caller has the store pinned.
 *
 * @throws YtError 737 when rows are missing, 740 when a block contradicts its place, 721 from the cell
 */
export function* readStore(
  chunks: ChunkManager,
  span: StoreSpan,
  fromRow: number,
  toRow: number,
): Generator<RowSlice, void, void> {
  let row = fromRow;
  let step = 1;
  while (row < toRow) {
    let blocks = step === 1 ? [] : chunks.storage.scan(span.storeId, row, toRow, step, maxBytesPerScan);
    if (blocks[0]?.firstRowIndex !== row) {
      // The first look, or the background merge has put the row into an earlier block meanwhile.
      const holder = chunks.storage.seek(span.storeId, row);
      blocks = holder === undefined ? [] : [holder];
    }
    if (blocks.length === 0) {
      throw missingRows(span, row, toRow);
    }
    for (const stored of blocks) {
      const block = openBlock(span, stored);
      const end = stored.firstRowIndex + block.rowCount;
      if (stored.firstRowIndex > row || end <= row) {
        throw missingRows(span, row, stored.firstRowIndex > row ? stored.firstRowIndex : toRow);
      }
      const to = Math.min(end, toRow);
      yield {
        block,
        from: row - stored.firstRowIndex,
        to: to - stored.firstRowIndex,
        format: span.format,
      };
      row = to;
      if (row >= toRow) {
        return;
      }
    }
    step = Math.min(2 * step, maxBlocksPerScan);
  }
}

/** Parses a stored block and checks it against its place. */
export function openBlock(span: StoreSpan, stored: StoredBlock): RowBlock {
  let block: RowBlock;
  try {
    block = RowBlock.parse(stored.bytes, span.firstRowIndex);
  } catch (thrown) {
    throw new YtError("Stored rows are damaged", {
      code: "BlockChecksumMismatch",
      attributes: placeAttributes(span, stored.firstRowIndex),
      inner: [toYtError(thrown)],
    });
  }
  const end = stored.firstRowIndex + block.rowCount;
  const isOutside = span.chunkId !== undefined && end > span.rowCount;
  if (
    block.firstRowIndex !== span.firstRowIndex + stored.firstRowIndex ||
    block.rowCount === 0 ||
    isOutside
  ) {
    throw new YtError("Stored rows are damaged: a block contradicts its place", {
      code: "BlockChecksumMismatch",
      attributes: {
        ...placeAttributes(span, stored.firstRowIndex),
        block_first_row_index: BigInt(block.firstRowIndex),
        block_row_count: BigInt(block.rowCount),
        store_row_count: BigInt(span.rowCount),
      },
    });
  }
  return block;
}

/** The error for rows [row, end) of a store that are counted but not there. */
export function missingRows(span: StoreSpan, row: number, end: number): YtError {
  return new YtError("Stored rows are missing", {
    code: "ChunkBlockFetchFailed",
    attributes: {
      ...placeAttributes(span, row),
      missing_row_count: BigInt(end - row),
    },
  });
}

function placeAttributes(span: StoreSpan, row: number): Record<string, bigint | string | undefined> {
  return {
    chunk_id: span.chunkId,
    store_id: span.storeId,
    row_index: BigInt(span.firstRowIndex + row),
    row_index_in_store: BigInt(row),
  };
}

/** Bounds of a read over a list of stores, in row indexes of the list. */
export interface ReadBounds {
  readonly fromRow: number;
  /** Exclusive. */
  readonly toRow: number;
}

/**
 * The rows of [fromRow, toRow) that the stores hold, in order. Pins every store it will read before the
 * first slice, so that a concurrent trim or removal does not take rows away under it; lets go of each as
 * it leaves it. Stop it early with `return()` (a `for…of` does).
 */
export function* readStores(
  chunks: ChunkManager,
  spans: readonly StoreSpan[],
  bounds: ReadBounds,
): Generator<RowSlice, void, void> {
  for (const span of spans) {
    chunks.pin(span.storeId);
  }
  let released = 0;
  try {
    for (const span of spans) {
      const from = Math.max(0, bounds.fromRow - span.firstRowIndex);
      const to = Math.min(span.rowCount, bounds.toRow - span.firstRowIndex);
      yield* readStore(chunks, span, from, to);
      released++;
      chunks.unpin(span.storeId);
    }
  } finally {
    for (const span of spans.slice(released)) {
      chunks.unpin(span.storeId);
    }
  }
}

/** Position of the first store that ends beyond the row; the number of stores when none does. */
export function storePosition(stores: readonly StoreSpan[], row: number): number {
  let low = 0;
  let high = stores.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const store = stores[middle];
    if (store !== undefined && store.firstRowIndex + store.rowCount > row) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/** The stores that hold rows of [fromRow, toRow). */
export function overlappingStores(stores: readonly StoreSpan[], bounds: ReadBounds): StoreSpan[] {
  const spans: StoreSpan[] = [];
  for (let i = storePosition(stores, bounds.fromRow); i < stores.length; i++) {
    const store = stores[i];
    if (store === undefined || store.firstRowIndex >= bounds.toRow) {
      break;
    }
    spans.push(store);
  }
  return spans;
}
