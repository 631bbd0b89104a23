/**
 * The state of an ordered tablet: an immutable value. A prepared change makes the next one; readers see
 * the newest durable one, later changes build on the newest prepared one, and taking a failed change back
 * means returning to the value before it.
 *
 * On disk: one small record of counters, written with every change, and one record for each chunk.
 */
import { assert } from "@qyt/base";
import { readSafeU64be, writeU64be } from "../../cell/index.ts";
import type { RowFormat } from "../chunks/chunk.ts";
import type { StoreSpan } from "../chunks/store-reader.ts";
import type { StoreRef } from "../chunks/store-ref.ts";

/** The store that takes new rows. */
export interface DynamicStore {
  readonly storeId: bigint;
  /** Index in the tablet of its first row: all rows below are in chunks, or were. */
  readonly firstRowIndex: number;
  /** Cumulative data weight of the tablet before its first row. */
  readonly baseCumulativeWeight: number;
  /** Commit timestamps of its first and last row; 0 while it is empty. */
  readonly minTimestamp: bigint;
  readonly maxTimestamp: bigint;
  /** Bytes of its blocks as they were written. */
  readonly byteSize: number;
}

export interface TabletState {
  /** Chunks, oldest first, without holes between them. */
  readonly sealed: readonly StoreRef[];
  readonly dynamic: DynamicStore;
  /** Index of the first row that is still there. */
  readonly trimmedRowCount: number;
  /** Index of the next row. */
  readonly totalRowCount: number;
  /** Running counter of data weight; never reduced by trimming. */
  readonly cumulativeDataWeight: number;
  /** Data weight of the chunks that trimming has taken away. */
  readonly trimmedDataWeight: number;
  /** Commit timestamp of the newest rows; 0 when never written. */
  readonly lastWriteTimestamp: bigint;
}

export function emptyDynamicStore(storeId: bigint, firstRowIndex: number, weight: number): DynamicStore {
  return {
    storeId,
    firstRowIndex,
    baseCumulativeWeight: weight,
    minTimestamp: 0n,
    maxTimestamp: 0n,
    byteSize: 0,
  };
}

/** The larger of two timestamps. */
export function laterOf(left: bigint, right: bigint): bigint {
  if (left > right) {
    return left;
  }
  return right;
}

/** The smaller of two timestamps. */
export function earlierOf(left: bigint, right: bigint): bigint {
  if (left < right) {
    return left;
  }
  return right;
}

/** Rows of the dynamic store. */
export function dynamicRowCount(state: TabletState): number {
  return state.totalRowCount - state.dynamic.firstRowIndex;
}

/** The dynamic store as a reader sees it. */
export function dynamicSpan(state: TabletState, format: RowFormat): StoreSpan {
  return {
    storeId: state.dynamic.storeId,
    chunkId: undefined,
    firstRowIndex: state.dynamic.firstRowIndex,
    rowCount: dynamicRowCount(state),
    format,
  };
}

const recordVersion = 1;
const recordBytes = 1 + 11 * 8;

/** The record of counters. The chunks are not in it. */
export function encodeTabletState(state: TabletState): Buffer {
  const { dynamic } = state;
  const bytes = Buffer.allocUnsafe(recordBytes);
  bytes[0] = recordVersion;
  let position = 1;
  const count = (value: number): void => {
    position = writeU64be(bytes, value, position);
  };
  const word = (value: bigint): void => {
    position = bytes.writeBigUInt64BE(value, position);
  };
  count(state.trimmedRowCount);
  count(state.totalRowCount);
  count(state.cumulativeDataWeight);
  count(state.trimmedDataWeight);
  word(state.lastWriteTimestamp);
  word(dynamic.storeId);
  count(dynamic.firstRowIndex);
  count(dynamic.baseCumulativeWeight);
  word(dynamic.minTimestamp);
  word(dynamic.maxTimestamp);
  count(dynamic.byteSize);
  return bytes;
}

/** @throws AssertionError when the record is of no known version */
export function decodeTabletState(bytes: Buffer, sealed: readonly StoreRef[]): TabletState {
  assert(
    bytes[0] === recordVersion && bytes.length === recordBytes,
    "A tablet has a record of an unknown version",
  );
  let position = 1;
  const count = (): number => {
    const value = readSafeU64be(bytes, position);
    position += 8;
    return value;
  };
  const word = (): bigint => {
    const value = bytes.readBigUInt64BE(position);
    position += 8;
    return value;
  };
  return {
    sealed,
    trimmedRowCount: count(),
    totalRowCount: count(),
    cumulativeDataWeight: count(),
    trimmedDataWeight: count(),
    lastWriteTimestamp: word(),
    dynamic: {
      storeId: word(),
      firstRowIndex: count(),
      baseCumulativeWeight: count(),
      minTimestamp: word(),
      maxTimestamp: word(),
      byteSize: count(),
    },
  };
}

/** That chunks and dynamic store join, as they must after every change. */
export function checkTabletState(tabletId: string, state: TabletState): void {
  let row = state.sealed[0]?.firstRowIndex ?? state.dynamic.firstRowIndex;
  for (const ref of state.sealed) {
    assert(ref.firstRowIndex === row, `Tablet ${tabletId} has a hole before row ${ref.firstRowIndex}`);
    row += ref.rowCount;
  }
  assert(state.dynamic.firstRowIndex === row, `Tablet ${tabletId} has a hole before row ${row}`);
  assert(state.totalRowCount >= row, `Tablet ${tabletId} has fewer rows than its chunks`);
  assert(state.trimmedRowCount <= state.totalRowCount, `Tablet ${tabletId} is trimmed beyond its end`);
}
