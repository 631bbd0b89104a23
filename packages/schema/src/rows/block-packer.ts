/**
 * Packs encoded rows into row blocks and merges small blocks into large ones. A block is cut so that it fits one
 * stored value; only a single row that is longer makes a longer block, which the tablet layer stores in parts.
 */
import { assert, limits } from "@qyt/base";
import type { EncodedRows } from "./encoded-rows.ts";
import {
  blockFlag,
  blockVersion,
  fixedHeaderBytes,
  type RowBlock,
  runBytes,
  systemWeightShift,
} from "./row-block.ts";
import { viewOf } from "./row-output.ts";

/** The longest block that fits one stored record with its checksum. */
export const maxBlockBytes = limits.maxStoreValueBytes - 4;
/** Below this a block is worth merging. */
export const smallBlockBytes = maxBlockBytes >> 2;

/** The largest offset and weight that take two bytes. */
const narrowLimit = 0xffff;
/** Row count is a u16. */
const maxRowsPerBlock = 0xffff;

/** A packed block. `bytes` is longer than `maxBlockBytes` only if `rowCount` is 1. */
export interface Block {
  readonly firstRowIndex: number;
  readonly rowCount: number;
  /** Cumulative weight at the end of the block. */
  readonly cumulativeWeight: number;
  readonly bytes: Buffer;
}

export interface PackOptions {
  readonly firstRowIndex: number;
  readonly baseCumulativeWeight: number;
  readonly timestamp: bigint;
  /** What the system columns add to the weight of each row: 0, 8 or 16 bytes. */
  readonly countSystemWeight: number;
  /** The longest block, for tests. */
  readonly maxBytes?: number;
}

/** Packs rows `[from, to)`. */
export function packBlocks(rows: EncodedRows, from: number, to: number, options: PackOptions): Block[] {
  return pack(rows, undefined, from, to, options);
}

/** Packs the rows of the list, in its order. */
export function packBlocksOf(
  rows: EncodedRows,
  indexes: readonly number[] | Uint32Array,
  options: PackOptions,
): Block[] {
  return pack(rows, indexes, 0, indexes.length, options);
}

function pack(
  rows: EncodedRows,
  indexes: readonly number[] | Uint32Array | undefined,
  from: number,
  to: number,
  options: PackOptions,
): Block[] {
  const maxBytes = options.maxBytes ?? maxBlockBytes;
  const blocks: Block[] = [];
  let arena = Buffer.alloc(0);
  let arenaUsed = 0;
  let base = options.baseCumulativeWeight;
  let start = from;
  while (start < to) {
    // How many rows fit, first with narrow fields; a row that makes a field wide starts a new block.
    let end = start;
    let bytes = 0;
    let weight = 0;
    while (end < to && end - start < maxRowsPerBlock) {
      const row = indexes === undefined ? end : (indexes[end] ?? 0);
      const nextBytes = bytes + rows.rowEnd(row) - rows.rowStart(row);
      const nextWeight = weight + (rows.weights[row] ?? 0) + options.countSystemWeight;
      const isTooLong = fixedHeaderBytes + 8 + (end - start + 1) * 4 + nextBytes > maxBytes;
      if (end > start && (isTooLong || nextBytes > narrowLimit || nextWeight > narrowLimit)) {
        break;
      }
      bytes = nextBytes;
      weight = nextWeight;
      end++;
    }
    const shape: BlockShape = {
      rowCount: end - start,
      rowBytes: bytes,
      weight,
      runCount: 0,
      firstRowIndex: options.firstRowIndex + start - from,
      baseCumulativeWeight: base,
      systemWeight: options.countSystemWeight,
    };
    const size = blockSize(shape);
    if (arenaUsed + size > arena.length) {
      // One allocation for the blocks of a batch; a rough guess is enough, for there may be another.
      const ahead =
        indexes === undefined
          ? rows.rowEnd(to - 1) - rows.rowStart(start)
          : (to - start) * (bytes / (end - start));
      arena = Buffer.allocUnsafe(Math.max(size, Math.ceil(Math.min(ahead + (to - start) * 5 + 64, 1 << 20))));
      arenaUsed = 0;
    }
    const target = arena.subarray(arenaUsed, arenaUsed + size);
    arenaUsed += size;
    const writer = new BlockWriter(target, shape);
    writer.timestamp(options.timestamp);
    if (indexes === undefined) {
      writer.rows(rows, start, end);
    } else {
      for (let at = start; at < end; at++) {
        writer.rows(rows, indexes[at] ?? 0, (indexes[at] ?? 0) + 1);
      }
    }
    base += weight;
    blocks.push({
      firstRowIndex: shape.firstRowIndex,
      rowCount: shape.rowCount,
      cumulativeWeight: base,
      bytes: target,
    });
    start = end;
  }
  return blocks;
}

/**
 * The same rows in as few blocks as they fit. The blocks must join without gaps; timestamps are kept row by row.
 * Blocks of different system weight are not put together.
 */
export function mergeBlocks(blocks: readonly RowBlock[], maxBytes: number = maxBlockBytes): Block[] {
  const result: Block[] = [];
  let segments: Segment[] = [];
  let plan = emptyPlan;
  const flush = (): void => {
    if (segments.length > 0) {
      result.push(writeMerged(segments, plan));
      segments = [];
      plan = emptyPlan;
    }
  };
  let previous: RowBlock | undefined;
  for (const block of blocks) {
    if (previous !== undefined) {
      assert(
        block.firstRowIndex === previous.firstRowIndex + previous.rowCount,
        "Blocks to merge must join without gaps",
      );
      if (
        block.systemWeight !== previous.systemWeight ||
        block.baseCumulativeWeight !== previous.lastCumulativeWeight
      ) {
        flush();
      }
    }
    for (let row = 0; row < block.rowCount; row++) {
      let next = addRow(plan, segments, block, row);
      if (
        plan.rowCount > 0 &&
        (mergedSize(next) > maxBytes || next.weight > narrowLimit || next.rowBytes > narrowLimit)
      ) {
        flush();
        next = addRow(plan, segments, block, row);
      }
      plan = next;
      const last = segments.at(-1);
      if (last?.block === block) {
        last.to = row + 1;
      } else {
        segments.push({ block, from: row, to: row + 1 });
      }
    }
    previous = block;
  }
  flush();
  return result;
}

interface Segment {
  readonly block: RowBlock;
  readonly from: number;
  to: number;
}

interface MergePlan {
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly weight: number;
  readonly runCount: number;
  readonly timestamp: bigint;
}

const emptyPlan: MergePlan = { rowCount: 0, rowBytes: 0, weight: 0, runCount: 0, timestamp: 0n };

function addRow(plan: MergePlan, segments: readonly Segment[], block: RowBlock, row: number): MergePlan {
  const timestamp = block.timestampAt(row);
  const isNewRun = segments.length === 0 || plan.rowCount === 0 || timestamp !== plan.timestamp;
  return {
    rowCount: plan.rowCount + 1,
    rowBytes: plan.rowBytes + block.rowEnd(row) - block.rowStart(row),
    weight: plan.weight + block.weightAt(row),
    runCount: plan.runCount + (isNewRun ? 1 : 0),
    timestamp,
  };
}

function mergedSize(plan: MergePlan): number {
  return blockSize({ ...plan, runCount: plan.runCount === 1 ? 0 : plan.runCount });
}

function writeMerged(segments: readonly Segment[], plan: MergePlan): Block {
  const first = segments[0];
  assert(first !== undefined, "A merged block has rows");
  const { block, from } = first;
  const shape: BlockShape = {
    rowCount: plan.rowCount,
    rowBytes: plan.rowBytes,
    weight: plan.weight,
    runCount: plan.runCount === 1 ? 0 : plan.runCount,
    firstRowIndex: block.firstRowIndex + from,
    baseCumulativeWeight: block.cumulativeWeightAt(from) - block.weightAt(from),
    systemWeight: block.systemWeight,
  };
  const bytes = Buffer.allocUnsafe(blockSize(shape));
  const writer = new BlockWriter(bytes, shape);
  if (shape.runCount === 0) {
    writer.timestamp(plan.timestamp);
  }
  for (const segment of segments) {
    writer.blockRows(segment.block, segment.from, segment.to);
  }
  return {
    firstRowIndex: shape.firstRowIndex,
    rowCount: shape.rowCount,
    cumulativeWeight: shape.baseCumulativeWeight + plan.weight,
    bytes,
  };
}

interface BlockShape {
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly weight: number;
  /** 0 when all rows have one timestamp. */
  readonly runCount: number;
  readonly firstRowIndex: number;
  readonly baseCumulativeWeight: number;
  readonly systemWeight: number;
}

type SizeShape = Pick<BlockShape, "rowCount" | "rowBytes" | "weight" | "runCount">;

function headerSize(shape: SizeShape): number {
  const timestamps = shape.runCount === 0 ? 8 : 2 + shape.runCount * runBytes;
  const perRow = (shape.rowBytes > narrowLimit ? 4 : 2) + (shape.weight > narrowLimit ? 4 : 2);
  return fixedHeaderBytes + timestamps + shape.rowCount * perRow;
}

function blockSize(shape: SizeShape): number {
  return headerSize(shape) + shape.rowBytes;
}

/** Fills the bytes of one block whose shape is known. */
class BlockWriter {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #rowsOffset: number;
  readonly #systemWeight: number;
  readonly #hasRuns: boolean;
  readonly #isWideEnd: boolean;
  readonly #isWideWeight: boolean;
  #row = 0;
  #weight = 0;
  #rowBytes = 0;
  #endAt: number;
  #weightAt: number;
  #runAt = fixedHeaderBytes + 2;
  #runTimestamp = -1n;

  constructor(bytes: Buffer, shape: BlockShape) {
    const view = viewOf(bytes);
    this.#bytes = bytes;
    this.#view = view;
    this.#systemWeight = shape.systemWeight;
    this.#hasRuns = shape.runCount > 0;
    this.#isWideEnd = shape.rowBytes > narrowLimit;
    this.#isWideWeight = shape.weight > narrowLimit;
    this.#rowsOffset = headerSize(shape);
    this.#endAt = fixedHeaderBytes + (this.#hasRuns ? 2 + shape.runCount * runBytes : 8);
    this.#weightAt = this.#endAt + shape.rowCount * (this.#isWideEnd ? 4 : 2);
    bytes[0] = blockVersion;
    bytes[1] =
      (this.#isWideEnd ? blockFlag.wideEnds : 0) |
      (this.#isWideWeight ? blockFlag.wideWeights : 0) |
      (this.#hasRuns ? blockFlag.runs : 0) |
      ((shape.systemWeight >> 3) << systemWeightShift);
    view.setUint16(2, shape.rowCount, true);
    view.setFloat64(4, shape.firstRowIndex, true);
    view.setFloat64(12, shape.baseCumulativeWeight, true);
    if (this.#hasRuns) {
      view.setUint16(fixedHeaderBytes, shape.runCount, true);
    }
  }

  /** The one timestamp of all rows. */
  timestamp(timestamp: bigint): void {
    this.#view.setBigUint64(fixedHeaderBytes, timestamp, true);
  }

  rows(rows: EncodedRows, from: number, to: number): void {
    const start = rows.rowStart(from);
    rows.bytes.copy(this.#bytes, this.#rowsOffset + this.#rowBytes, start, rows.rowEnd(to - 1));
    const shift = this.#rowBytes - start;
    for (let row = from; row < to; row++) {
      this.#index(rows.rowEnd(row) + shift, (rows.weights[row] ?? 0) + this.#systemWeight);
    }
  }

  blockRows(block: RowBlock, from: number, to: number): void {
    const start = block.rowStart(from);
    block.bytes.copy(this.#bytes, this.#rowsOffset + this.#rowBytes, start, block.rowEnd(to - 1));
    const shift = this.#rowBytes - start;
    for (let row = from; row < to; row++) {
      if (this.#hasRuns) {
        this.#run(block.timestampAt(row));
      }
      this.#index(block.rowEnd(row) + shift, block.weightAt(row));
    }
  }

  #index(end: number, weight: number): void {
    this.#rowBytes = end;
    this.#weight += weight;
    if (this.#isWideEnd) {
      this.#view.setUint32(this.#endAt, end, true);
      this.#endAt += 4;
    } else {
      this.#view.setUint16(this.#endAt, end, true);
      this.#endAt += 2;
    }
    if (this.#isWideWeight) {
      this.#view.setUint32(this.#weightAt, this.#weight, true);
      this.#weightAt += 4;
    } else {
      this.#view.setUint16(this.#weightAt, this.#weight, true);
      this.#weightAt += 2;
    }
    this.#row++;
  }

  #run(timestamp: bigint): void {
    if (timestamp !== this.#runTimestamp) {
      this.#runTimestamp = timestamp;
      this.#view.setBigUint64(this.#runAt + 2, timestamp, true);
      this.#runAt += runBytes;
    }
    // The end of the run moves on with each of its rows.
    this.#view.setUint16(this.#runAt - runBytes, this.#row + 1, true);
  }
}
