/** The growing index of a batch of encoded rows: ends, weights and, where rows have them, system values. */
import { EncodedRows, noTabletIndex } from "./encoded-rows.ts";

const minRows = 64;
const maxInitialRows = 16 * 1024;
/** A guess at the input of one row, so that the index of a large batch is made once. */
const usualRowBytes = 64;

export class RowBatch {
  rowCount = 0;
  readonly #initialRows: number;
  #ends: Uint32Array;
  #weights: Uint32Array;
  #tabletIndexes: Int32Array | undefined;
  #sequenceNumbers: BigInt64Array | undefined;
  #hasSequenceNumber: Uint8Array | undefined;

  /** @param expectedBytes how much input is to be expected */
  constructor(expectedBytes = 0) {
    this.#initialRows = Math.min(maxInitialRows, Math.max(minRows, Math.ceil(expectedBytes / usualRowBytes)));
    this.#ends = new Uint32Array(this.#initialRows);
    this.#weights = new Uint32Array(this.#initialRows);
  }

  /** Adds a row that ends at `end` in the bytes of the batch. */
  add(end: number, weight: number, tabletIndex: number): void {
    const row = this.rowCount;
    if (row >= this.#ends.length) {
      this.#grow();
    }
    this.#ends[row] = end;
    this.#weights[row] = weight;
    if (tabletIndex !== noTabletIndex || this.#tabletIndexes !== undefined) {
      this.#tabletIndexes ??= new Int32Array(this.#ends.length).fill(noTabletIndex);
      this.#tabletIndexes[row] = tabletIndex;
    }
    this.rowCount = row + 1;
  }

  /** Gives the last row a sequence number. */
  setSequenceNumber(value: bigint): void {
    const row = this.rowCount - 1;
    this.#sequenceNumbers ??= new BigInt64Array(this.#ends.length);
    this.#hasSequenceNumber ??= new Uint8Array(this.#ends.length);
    this.#sequenceNumbers[row] = value;
    this.#hasSequenceNumber[row] = 1;
  }

  /** The rows with their bytes; the batch begins anew. */
  take(bytes: Buffer): EncodedRows {
    const count = this.rowCount;
    const rows = new EncodedRows({
      rowCount: count,
      bytes,
      ends: this.#ends.subarray(0, count),
      weights: this.#weights.subarray(0, count),
      ...(this.#tabletIndexes === undefined ? {} : { tabletIndexes: this.#tabletIndexes.subarray(0, count) }),
      ...(this.#sequenceNumbers === undefined || this.#hasSequenceNumber === undefined
        ? {}
        : {
            sequenceNumbers: this.#sequenceNumbers.subarray(0, count),
            hasSequenceNumber: this.#hasSequenceNumber.subarray(0, count),
          }),
    });
    this.rowCount = 0;
    this.#ends = new Uint32Array(this.#initialRows);
    this.#weights = new Uint32Array(this.#initialRows);
    this.#tabletIndexes = undefined;
    this.#sequenceNumbers = undefined;
    this.#hasSequenceNumber = undefined;
    return rows;
  }

  #grow(): void {
    const size = this.#ends.length * 2;
    this.#ends = copied(this.#ends, new Uint32Array(size));
    this.#weights = copied(this.#weights, new Uint32Array(size));
    if (this.#tabletIndexes !== undefined) {
      this.#tabletIndexes = copied(this.#tabletIndexes, new Int32Array(size).fill(noTabletIndex));
    }
    if (this.#sequenceNumbers !== undefined && this.#hasSequenceNumber !== undefined) {
      const numbers = new BigInt64Array(size);
      numbers.set(this.#sequenceNumbers);
      this.#sequenceNumbers = numbers;
      this.#hasSequenceNumber = copied(this.#hasSequenceNumber, new Uint8Array(size));
    }
  }
}

function copied<T extends Uint8Array | Uint32Array | Int32Array>(old: T, larger: T): T {
  larger.set(old);
  return larger;
}
