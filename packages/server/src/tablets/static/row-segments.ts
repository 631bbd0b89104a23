/** From ranges of a path to stretches of rows: by index, by chunk, and by key through a binary search. */
import type { RowBlock } from "@qyt/schema";
import type { ChunkManager, StoreRef } from "../chunks/index.ts";
import { searchStore } from "../ordered/search.ts";
import type { KeyCut, ReadLimit, ReadRange } from "./read-limits.ts";
import type { KeyColumns } from "./row-keys.ts";

/** Rows [fromRow, toRow) of the table, or of one of its tablets. */
export interface RowSegment {
  readonly rangeIndex: number;
  readonly tabletIndex: number;
  readonly fromRow: number;
  readonly toRow: number;
}

/** The segments of a static table; empty ones are left out. */
export function staticSegments(
  chunks: ChunkManager,
  refs: readonly StoreRef[],
  ranges: readonly ReadRange[],
  keys: KeyColumns,
): RowSegment[] {
  const last = refs.at(-1);
  const rowCount = last === undefined ? 0 : last.firstRowIndex + last.rowCount;
  const segments: RowSegment[] = [];
  for (const [rangeIndex, { lower, upper }] of ranges.entries()) {
    const fromRow = Math.max(0, ...boundsOf(chunks, refs, lower, keys, rowCount));
    const toRow = Math.min(rowCount, ...boundsOf(chunks, refs, upper, keys, rowCount));
    if (fromRow < toRow) {
      segments.push({ rangeIndex, tabletIndex: -1, fromRow, toRow });
    }
  }
  return segments;
}

/** The row indexes that the parts of a limit come to. */
function boundsOf(
  chunks: ChunkManager,
  refs: readonly StoreRef[],
  limit: ReadLimit,
  keys: KeyColumns,
  rowCount: number,
): number[] {
  const bounds: number[] = [];
  if (limit.rowIndex !== undefined) {
    bounds.push(limit.rowIndex);
  }
  if (limit.chunkIndex !== undefined) {
    bounds.push(refs[limit.chunkIndex]?.firstRowIndex ?? rowCount);
  }
  if (limit.cut !== undefined) {
    bounds.push(rowOfCut(chunks, refs, limit.cut, keys));
  }
  return bounds;
}

/** Index of the first row behind the cut; the number of rows when there is none. */
export function rowOfCut(
  chunks: ChunkManager,
  refs: readonly StoreRef[],
  cut: KeyCut,
  keys: KeyColumns,
): number {
  const prefixLength = Math.min(cut.key.length, keys.count);
  const isBehind =
    (ref: StoreRef) =>
    (block: RowBlock, row: number): boolean => {
      const key = keys.read(ref.format, block.bytes, block.rowStart(row), block.rowEnd(row));
      return cut.after ? keys.comparePrefix(key, cut.key, prefixLength) > 0 : keys.compare(key, cut.key) >= 0;
    };
  // The first chunk whose last row is behind the cut.
  let low = 0;
  let high = refs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const ref = refs[middle];
    if (
      ref === undefined ||
      searchStore(chunks, ref, ref.rowCount - 1, ref.rowCount, isBehind(ref)) < ref.rowCount
    ) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  const ref = refs[low];
  if (ref === undefined) {
    const last = refs.at(-1);
    return last === undefined ? 0 : last.firstRowIndex + last.rowCount;
  }
  return ref.firstRowIndex + searchStore(chunks, ref, 0, ref.rowCount, isBehind(ref));
}

/** The segments of an ordered dynamic table: tablets are read one after the other. */
export function orderedSegments(
  tablets: readonly { readonly fromRow: number; readonly toRow: number }[],
  ranges: readonly ReadRange[],
): RowSegment[] {
  const segments: RowSegment[] = [];
  for (const [rangeIndex, { lower, upper }] of ranges.entries()) {
    const firstTablet = lower.tabletIndex ?? 0;
    const lastTablet = upper.tabletIndex ?? tablets.length;
    for (
      let tabletIndex = firstTablet;
      tabletIndex < tablets.length && tabletIndex <= lastTablet;
      tabletIndex++
    ) {
      const tablet = tablets[tabletIndex];
      const endOfLast = upper.rowIndex ?? 0;
      const fromRow = Math.max(tablet?.fromRow ?? 0, tabletIndex === firstTablet ? (lower.rowIndex ?? 0) : 0);
      const toRow = Math.min(
        tablet?.toRow ?? 0,
        tabletIndex === lastTablet ? endOfLast : Number.MAX_SAFE_INTEGER,
      );
      if (fromRow < toRow) {
        segments.push({ rangeIndex, tabletIndex, fromRow, toRow });
      }
    }
  }
  return segments;
}
