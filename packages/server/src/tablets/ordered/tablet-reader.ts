/**
 * Reads of an ordered tablet: ranges for selects and `read_table`, pulls with their stop rules, and
 * searches by time and weight.
 *
 * Specified in: `FetchTableRows` of yt/yt/server/node/tablet_node/query_service.cpp.
 */
import type { RowBlock } from "@qyt/schema";
import type { RowFormat } from "../chunks/chunk.ts";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import {
  overlappingStores,
  type ReadBounds,
  type RowSlice,
  readStores,
  type StoreSpan,
  storePosition,
} from "../chunks/store-reader.ts";
import { searchStore } from "./search.ts";
import { dynamicRowCount, dynamicSpan, type TabletState } from "./tablet-state.ts";

export interface ReadOptions {
  /** Exclusive. Default: all there is. */
  readonly toRow?: number;
  readonly maxRowCount?: number;
  /**
   * Stops with the row that makes the sum reach this: that row is still returned. A row weighs its data
   * weight and 16 for its two index columns.
   */
  readonly maxDataWeight?: number;
  /** Stops at the end of the store that holds the first row, as a pull does. Default: false. */
  readonly stopAtStoreEnd?: boolean;
  /** Rows in chunks only, as `read_table` sees by default. Default: false. */
  readonly flushedOnly?: boolean;
}

/** What a pull adds to a row's weight for `$tablet_index` and `$row_index`. */
export const indexColumnsWeight = 16;

export interface RowFacts {
  readonly timestamp: bigint;
  /** Including this row. */
  readonly cumulativeDataWeight: number;
}

/**
 * Lazy: the state is taken when the first slice is asked for, and what was visible then is read, whatever
 * is trimmed or flushed meanwhile.
 */
export function* readTablet(
  chunks: ChunkManager,
  currentState: () => TabletState,
  format: RowFormat,
  fromRow: number,
  options: ReadOptions,
): Generator<RowSlice, void, void> {
  const state = currentState();
  const end = options.flushedOnly === true ? state.dynamic.firstRowIndex : state.totalRowCount;
  const start = Math.max(fromRow, state.trimmedRowCount);
  let toRow = Math.min(options.toRow ?? end, end, start + (options.maxRowCount ?? Number.POSITIVE_INFINITY));
  if (options.stopAtStoreEnd === true) {
    const store = state.sealed[storePosition(state.sealed, start)];
    toRow = Math.min(toRow, store === undefined ? end : store.firstRowIndex + store.rowCount);
  }
  if (start >= toRow) {
    return;
  }
  const bounds = { fromRow: start, toRow };
  const slices = readStores(chunks, storesWithin(state, format, bounds), bounds);
  if (options.maxDataWeight === undefined) {
    yield* slices;
  } else {
    yield* limitWeight(slices, options.maxDataWeight);
  }
}

function storesWithin(state: TabletState, format: RowFormat, bounds: ReadBounds): StoreSpan[] {
  const spans = overlappingStores(state.sealed, bounds);
  if (bounds.toRow > state.dynamic.firstRowIndex && dynamicRowCount(state) > 0) {
    spans.push(dynamicSpan(state, format));
  }
  return spans;
}

/** Ends with the row whose weight makes the sum reach the limit. */
function* limitWeight(
  slices: Generator<RowSlice, void, void>,
  maxDataWeight: number,
): Generator<RowSlice, void, void> {
  let left = maxDataWeight;
  for (const slice of slices) {
    const { block, from, to } = slice;
    const before = weightBefore(block, from);
    const weightThrough = (row: number): number =>
      block.cumulativeWeightAt(row) - before + (row + 1 - from) * indexColumnsWeight;
    const total = weightThrough(to - 1);
    if (total < left) {
      left -= total;
      yield slice;
      continue;
    }
    let low = from;
    let high = to - 1;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (weightThrough(middle) >= left) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    yield { ...slice, to: low + 1 };
    return;
  }
}

function weightBefore(block: RowBlock, row: number): number {
  return row === 0 ? block.baseCumulativeWeight : block.cumulativeWeightAt(row - 1);
}

/** The first visible row whose commit timestamp is not below `timestamp`; the total when there is none. */
export function findRowByTimestamp(
  chunks: ChunkManager,
  state: TabletState,
  format: RowFormat,
  timestamp: bigint,
): number {
  return findRow(chunks, state, format, {
    ofChunk: (chunk) => chunk.maxTimestamp >= timestamp,
    ofDynamic: state.dynamic.maxTimestamp >= timestamp,
    ofRow: (block, row) => block.timestampAt(row) >= timestamp,
  });
}

/** The first visible row whose cumulative data weight is not below `weight`; the total when there is none. */
export function findRowByCumulativeWeight(
  chunks: ChunkManager,
  state: TabletState,
  format: RowFormat,
  weight: number,
): number {
  return findRow(chunks, state, format, {
    ofChunk: (chunk) => chunk.baseCumulativeWeight + chunk.dataWeight >= weight,
    ofDynamic: state.cumulativeDataWeight >= weight,
    ofRow: (block, row) => block.cumulativeWeightAt(row) >= weight,
  });
}

interface Bound {
  /** Whether some row of the chunk reaches the bound: by its last row. */
  ofChunk(chunk: TabletState["sealed"][number]["chunk"]): boolean;
  readonly ofDynamic: boolean;
  ofRow(block: RowBlock, row: number): boolean;
}

/** Joining tablets can break the order between chunks, never inside one: so chunks are taken one by one. */
function findRow(chunks: ChunkManager, state: TabletState, format: RowFormat, bound: Bound): number {
  const { trimmedRowCount, totalRowCount } = state;
  const search = (span: StoreSpan): number => {
    const from = Math.max(0, trimmedRowCount - span.firstRowIndex);
    return span.firstRowIndex + searchStore(chunks, span, from, span.rowCount, bound.ofRow);
  };
  for (const ref of state.sealed) {
    if (bound.ofChunk(ref.chunk)) {
      return search(ref);
    }
  }
  if (bound.ofDynamic && dynamicRowCount(state) > 0 && trimmedRowCount < totalRowCount) {
    return search(dynamicSpan(state, format));
  }
  return totalRowCount;
}

/** Timestamp and cumulative weight of one visible row; undefined when it is not there. */
export function rowFacts(
  chunks: ChunkManager,
  state: TabletState,
  format: RowFormat,
  rowIndex: number,
): RowFacts | undefined {
  for (const { block, from } of readTablet(chunks, () => state, format, rowIndex, { toRow: rowIndex + 1 })) {
    return { timestamp: block.timestampAt(from), cumulativeDataWeight: block.cumulativeWeightAt(from) };
  }
  return undefined;
}

/**
 * Index of the first row of the first store (a chunk, or the dynamic store) that holds a row committed at
 * the timestamp or later: so many rows may go without losing one so young. The total when there is none.
 * A store that is trimmed in part begins below the trimmed row count. Timestamps need not grow from store to
 * store: joined tablets break their order.
 *
 * Specified in: yt/yt/server/node/query_agent/query_service.cpp (GetOrderedTabletSafeTrimRowCount).
 */
export function safeTrimRowCount(state: TabletState, timestamp: bigint): number {
  if (state.trimmedRowCount >= state.totalRowCount) {
    return state.totalRowCount;
  }
  for (const { chunk, firstRowIndex } of state.sealed) {
    if (chunk.maxTimestamp >= timestamp) {
      return firstRowIndex;
    }
  }
  return dynamicRowCount(state) > 0 && state.dynamic.maxTimestamp >= timestamp
    ? state.dynamic.firstRowIndex
    : state.totalRowCount;
}
