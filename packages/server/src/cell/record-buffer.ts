/**
 * Records on their way out of the store, one after the other in one piece of memory. A scan that makes buffers
 * of each key and each value spends most of its time on them.
 */
import { RowOutput } from "@qyt/schema";

const pieceBytes = 64 * 1024;

/**
 * The record that is being visited, and behind it whatever the visitor appends. Memory that is full is left to
 * those who look at it, so views of a record stay good; `length = 0` begins to use the present piece again.
 */
export class RecordBuffer extends RowOutput {
  keyStart = 0;
  keyEnd = 0;
  /** Behind the checksum, once it was verified. */
  valueStart = 0;
  valueEnd = 0;

  constructor(capacity = pieceBytes) {
    super(capacity);
  }

  /** Takes the key `source[start, end)` of the next record. */
  addKey(source: Uint8Array, view: DataView, start: number, end: number): void {
    if (this.length + end - start > this.bytes.length) {
      this.take(Math.max(pieceBytes, end - start));
    }
    this.keyStart = this.length;
    this.copy(source, view, start, end);
    this.keyEnd = this.length;
  }

  /** Takes the first `count` bytes as the value of the record whose key was added. */
  addValue(source: Uint8Array, view: DataView, count: number): void {
    if (this.length + count > this.bytes.length) {
      const { bytes, view: oldView, keyStart, keyEnd } = this;
      this.take(Math.max(pieceBytes, keyEnd - keyStart + count));
      this.keyStart = 0;
      this.copy(bytes, oldView, keyStart, keyEnd);
      this.keyEnd = this.length;
    }
    this.valueStart = this.length;
    this.copy(source, view, 0, count);
    this.valueEnd = this.length;
  }
}

/** Looks at a record; false ends the visit. */
export type RecordVisitor = (record: RecordBuffer) => boolean;
