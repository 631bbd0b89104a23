/**
 * Row blocks: the stored form of the rows of ordered tablets and of static tables. A block is a run of rows with
 * consecutive indexes; its header answers questions about index, weight and time without touching the rows.
 *
 * | offset | field                                                                      |
 * | ------ | -------------------------------------------------------------------------- |
 * | 0      | version, 1                                                                 |
 * | 1      | flags: 1 ends take 4 bytes, 2 weights take 4 bytes, 4 timestamps come in runs; bits 4…5: system weight of each row, in 8 bytes |
 * | 2      | row count, u16                                                             |
 * | 4      | index of the first row, f64                                                |
 * | 12     | cumulative weight before the first row, f64                                |
 * | 20     | timestamp, u64; or u16 count of runs, then for each u16 end row, u64 timestamp |
 * | …      | end of each row, u16 or u32, from the first row's start                    |
 * | …      | weight up to and including each row, u16 or u32, from the base             |
 * | …      | the rows                                                                   |
 *
 * All numbers are little-endian. The checksum is the record layer's.
 */
import { damaged } from "./row-errors.ts";
import { viewOf } from "./row-output.ts";

export const blockVersion = 1;
export const blockFlag = { wideEnds: 1, wideWeights: 2, runs: 4 } as const;
export const systemWeightShift = 4;
/** Bytes before the timestamps. */
export const fixedHeaderBytes = 20;
/** Bytes of one run of equal timestamps. */
export const runBytes = 10;

export class RowBlock {
  readonly bytes: Buffer;
  readonly view: DataView;
  readonly rowCount: number;
  /** Index of the first row in its tablet or table. */
  readonly firstRowIndex: number;
  /** Cumulative weight of all rows before this block. */
  readonly baseCumulativeWeight: number;
  /** What was added to the data weight of each row for its system columns, in bytes. */
  readonly systemWeight: number;
  /** Where the rows begin. */
  readonly rowsOffset: number;
  readonly #runCount: number;
  readonly #endsOffset: number;
  readonly #endSize: number;
  readonly #weightsOffset: number;
  readonly #weightSize: number;

  private constructor(bytes: Buffer, rowShift: number) {
    if (bytes.length < fixedHeaderBytes + 8 || bytes[0] !== blockVersion) {
      throw damaged("A row block has no valid header");
    }
    const view = viewOf(bytes);
    const flags = view.getUint8(1);
    this.bytes = bytes;
    this.view = view;
    this.rowCount = view.getUint16(2, true);
    this.firstRowIndex = view.getFloat64(4, true) + rowShift;
    this.baseCumulativeWeight = view.getFloat64(12, true);
    this.systemWeight = ((flags >> systemWeightShift) & 3) * 8;
    this.#runCount = (flags & blockFlag.runs) === 0 ? 0 : view.getUint16(fixedHeaderBytes, true);
    this.#endSize = (flags & blockFlag.wideEnds) === 0 ? 2 : 4;
    this.#weightSize = (flags & blockFlag.wideWeights) === 0 ? 2 : 4;
    this.#endsOffset =
      fixedHeaderBytes + ((flags & blockFlag.runs) === 0 ? 8 : 2 + this.#runCount * runBytes);
    this.#weightsOffset = this.#endsOffset + this.rowCount * this.#endSize;
    this.rowsOffset = this.#weightsOffset + this.rowCount * this.#weightSize;
    this.#validate(flags);
  }

  /**
   * @param rowShift added to the stored index of the first row: a chunk shared by several tablets keeps the
   * indexes of its own rows, from 0, and begins at another row in each
   * @throws YtError 721 when the bytes are no block
   */
  static parse(bytes: Uint8Array, rowShift = 0): RowBlock {
    return new RowBlock(
      Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
      rowShift,
    );
  }

  /** Offset in `bytes` of the first cell of the row. */
  rowStart(row: number): number {
    return row === 0 ? this.rowsOffset : this.rowEnd(row - 1);
  }

  /** Offset in `bytes` after the last cell of the row. */
  rowEnd(row: number): number {
    const at = this.#endsOffset + row * this.#endSize;
    return (
      this.rowsOffset + (this.#endSize === 2 ? this.view.getUint16(at, true) : this.view.getUint32(at, true))
    );
  }

  /** Cumulative weight up to and including the row, system columns included. */
  cumulativeWeightAt(row: number): number {
    return this.baseCumulativeWeight + this.#weightTo(row);
  }

  /** Weight of the row, system columns included. */
  weightAt(row: number): number {
    return this.#weightTo(row) - (row === 0 ? 0 : this.#weightTo(row - 1));
  }

  /** Cumulative weight at the end of the block. */
  get lastCumulativeWeight(): number {
    return this.cumulativeWeightAt(this.rowCount - 1);
  }

  /** Commit timestamp of the row. */
  timestampAt(row: number): bigint {
    return this.view.getBigUint64(this.timestampOffsetAt(row), true);
  }

  /** Offset in `bytes` of the row's timestamp: rows with the same offset have the same timestamp. */
  timestampOffsetAt(row: number): number {
    if (this.#runCount === 0) {
      return fixedHeaderBytes;
    }
    let low = 0;
    let high = this.#runCount - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (row < this.#runEnd(middle)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return fixedHeaderBytes + 2 + low * runBytes + 2;
  }

  /** The first row whose cumulative weight is at least `weight`; `rowCount` if there is none. */
  rowAtWeight(weight: number): number {
    let low = 0;
    let high = this.rowCount;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.cumulativeWeightAt(middle) >= weight) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  /** The first row whose timestamp is at least `timestamp`; `rowCount` if there is none. */
  rowAtTimestamp(timestamp: bigint): number {
    let row = 0;
    if (this.#runCount === 0) {
      return this.timestampAt(0) >= timestamp ? 0 : this.rowCount;
    }
    for (let run = 0; run < this.#runCount; run++) {
      if (this.view.getBigUint64(fixedHeaderBytes + 4 + run * runBytes, true) >= timestamp) {
        return row;
      }
      row = this.#runEnd(run);
    }
    return this.rowCount;
  }

  #runEnd(run: number): number {
    return this.view.getUint16(fixedHeaderBytes + 2 + run * runBytes, true);
  }

  #weightTo(row: number): number {
    const at = this.#weightsOffset + row * this.#weightSize;
    return this.#weightSize === 2 ? this.view.getUint16(at, true) : this.view.getUint32(at, true);
  }

  /** Checks everything that later reads rely on, so that none of them leaves the block. */
  #validate(flags: number): void {
    if (
      flags >> 6 !== 0 ||
      (flags & 8) !== 0 ||
      this.rowCount === 0 ||
      this.rowsOffset > this.bytes.length ||
      !Number.isSafeInteger(this.firstRowIndex) ||
      this.firstRowIndex < 0 ||
      !Number.isSafeInteger(this.baseCumulativeWeight)
    ) {
      throw damaged("A row block has no valid header");
    }
    let end = this.rowsOffset;
    let weight = 0;
    for (let row = 0; row < this.rowCount; row++) {
      const nextEnd = this.rowEnd(row);
      const nextWeight = this.#weightTo(row);
      if (nextEnd < end || nextWeight < weight) {
        throw damaged("The rows of a row block are not in order");
      }
      end = nextEnd;
      weight = nextWeight;
    }
    if (end !== this.bytes.length) {
      throw damaged("A row block has another length than its rows");
    }
    if ((flags & blockFlag.runs) !== 0) {
      this.#validateRuns();
    }
  }

  #validateRuns(): void {
    let row = 0;
    for (let run = 0; run < this.#runCount; run++) {
      const end = this.#runEnd(run);
      if (end <= row) {
        throw damaged("The timestamps of a row block are not in order");
      }
      row = end;
    }
    if (row !== this.rowCount) {
      throw damaged("The timestamps of a row block do not cover its rows");
    }
  }
}
