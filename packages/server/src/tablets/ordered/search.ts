/**
 * Search of a row by a quantity that grows along a tablet (commit timestamp, cumulative data weight).
 * Reads the headers of about log2(blocks of one store) blocks; whole stores are judged by their records.
 */
import type { RowBlock } from "@qyt/schema";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import { missingRows, openBlock, type StoreSpan } from "../chunks/store-reader.ts";

/** Whether row `index` of a block is at or beyond the bound. Once true, true for all later rows. */
export type RowPredicate = (block: RowBlock, index: number) => boolean;

/** The first row of [fromRow, toRow) of a store, counted from its start, that satisfies; `toRow` if none. */
export function searchStore(
  chunks: ChunkManager,
  span: StoreSpan,
  fromRow: number,
  toRow: number,
  isBeyond: RowPredicate,
): number {
  let low = fromRow;
  let high = toRow;
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const stored = chunks.storage.seek(span.storeId, middle);
    if (stored === undefined) {
      throw missingRows(span, middle, high);
    }
    const block = openBlock(span, stored);
    const first = Math.max(low, stored.firstRowIndex);
    const end = Math.min(high, stored.firstRowIndex + block.rowCount);
    if (end <= middle) {
      throw missingRows(span, middle, high);
    }
    if (isBeyond(block, first - stored.firstRowIndex)) {
      high = first;
    } else if (!isBeyond(block, end - 1 - stored.firstRowIndex)) {
      low = end;
    } else {
      return (
        stored.firstRowIndex +
        searchBlock(block, first - stored.firstRowIndex, end - stored.firstRowIndex, isBeyond)
      );
    }
  }
  return low;
}

function searchBlock(block: RowBlock, from: number, to: number, isBeyond: RowPredicate): number {
  let low = from;
  let high = to;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBeyond(block, middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}
