/**
 * Row blocks in the store: the only place that knows their keys and that a long block takes several
 * stored values.
 *
 * A block is found by (store id, index of its first row in that store). Indexes start at 0 in every
 * store, whatever the row index in a tablet: so a chunk is shared by tablets, copies and exports as it is.
 *
 *     0x06 · store id u64 · first row u64              the block, when it fits in one value
 *     0x06 · store id u64 · first row u64 · part u16   otherwise: part 0 begins with the part count u16
 */
import { assert, limits, YtError } from "@qyt/base";
import { type Cell, checksumBytes, readSafeU64be, rowBlockKey, type WriteBatch } from "../cell/index.ts";

/** A stored block as read: one or several values joined. */
export interface StoredBlock {
  readonly firstRowIndex: number;
  readonly bytes: Buffer;
  /** How many stored values it takes. */
  readonly partCount: number;
}

/** Bytes of one stored value after the record checksum. */
export const maxBlockBytes = limits.maxStoreValueBytes - checksumBytes;
const partHeaderBytes = 2;
const storePrefixBytes = 9;
const blockKeyBytes = storePrefixBytes + 8;
const partKeyBytes = blockKeyBytes + 2;
const maxParts = 0xffff;
/** Above every row index that a number can hold exactly. */
const endRow = Number.MAX_SAFE_INTEGER;

export class BlockStorage {
  readonly #cell: Cell;

  constructor(cell: Cell) {
    this.#cell = cell;
  }

  /** Writes a block, cutting it when it is longer than one stored value. */
  put(batch: WriteBatch, storeId: bigint, firstRowIndex: number, bytes: Buffer): void {
    if (bytes.length <= maxBlockBytes) {
      batch.put(rowBlockKey(storeId, firstRowIndex), bytes);
      return;
    }
    const partCount = Math.ceil((bytes.length + partHeaderBytes) / maxBlockBytes);
    assert(
      partCount <= maxParts,
      `A row block of ${bytes.length} bytes does not fit into ${maxParts} values`,
    );
    const header = Buffer.allocUnsafe(partHeaderBytes);
    header.writeUInt16BE(partCount);
    let start = maxBlockBytes - partHeaderBytes;
    batch.put(rowBlockKey(storeId, firstRowIndex, 0), Buffer.concat([header, bytes.subarray(0, start)]));
    for (let part = 1; part < partCount; part++) {
      batch.put(rowBlockKey(storeId, firstRowIndex, part), bytes.subarray(start, start + maxBlockBytes));
      start += maxBlockBytes;
    }
  }

  /** Removes a block that takes one value. */
  removeSmall(batch: WriteBatch, storeId: bigint, firstRowIndex: number): void {
    batch.remove(rowBlockKey(storeId, firstRowIndex));
  }

  /** The block with the greatest first row not above `rowIndex`: the one that holds the row, if any does. */
  seek(storeId: bigint, rowIndex: number): StoredBlock | undefined {
    const from = rowBlockKey(storeId, 0);
    const to = rowBlockKey(storeId, rowIndex + 1);
    for (const { key, value } of this.#cell.range(from, to, { reverse: true, limit: 1 })) {
      const firstRowIndex = rowOfKey(key);
      if (key.length === blockKeyBytes) {
        return { firstRowIndex, bytes: value, partCount: 1 };
      }
      return this.#readParts(storeId, firstRowIndex, partOfKey(key), value);
    }
    return undefined;
  }

  /**
   * Blocks whose first row is in [fromRow, toRow), in order: at most `maxBlocks`, and none begun beyond
   * `maxBytes`. The records are read before this returns; nothing of the store stays open.
   */
  scan(storeId: bigint, fromRow: number, toRow: number, maxBlocks: number, maxBytes: number): StoredBlock[] {
    const blocks: StoredBlock[] = [];
    let bytesRead = 0;
    let parts: PartCollector | undefined;
    for (const { key, value } of this.#cell.range(
      rowBlockKey(storeId, fromRow),
      rowBlockKey(storeId, toRow),
    )) {
      bytesRead += value.length;
      const firstRowIndex = rowOfKey(key);
      if (parts === undefined && key.length === partKeyBytes) {
        parts = new PartCollector(storeId, firstRowIndex);
      }
      if (parts === undefined) {
        blocks.push({ firstRowIndex, bytes: value, partCount: 1 });
      } else {
        parts.add(firstRowIndex, key.length === partKeyBytes ? partOfKey(key) : -1, value);
        if (!parts.isComplete) {
          continue;
        }
        blocks.push(parts.take());
        parts = undefined;
      }
      if (blocks.length >= maxBlocks || bytesRead >= maxBytes) {
        return blocks;
      }
    }
    if (parts !== undefined) {
      throw damagedParts(storeId, parts.firstRowIndex);
    }
    return blocks;
  }

  #readParts(storeId: bigint, firstRowIndex: number, lastPart: number, lastValue: Buffer): StoredBlock {
    const parts = new PartCollector(storeId, firstRowIndex);
    const from = rowBlockKey(storeId, firstRowIndex, 0);
    const to = rowBlockKey(storeId, firstRowIndex, lastPart);
    let part = 0;
    for (const { key, value } of this.#cell.range(from, to)) {
      parts.add(firstRowIndex, partOfKey(key), value);
      part++;
    }
    parts.add(firstRowIndex, lastPart, lastValue);
    if (!parts.isComplete || part !== lastPart) {
      throw damagedParts(storeId, firstRowIndex);
    }
    return parts.take();
  }
}

/** All keys of a store's blocks, as [from, to), for removing them. */
export function storeBlockRange(storeId: bigint): { from: Buffer; to: Buffer } {
  return { from: rowBlockKey(storeId, 0), to: rowBlockKey(storeId, endRow) };
}

/** Joins the values of one long block and refuses one that is not whole. */
class PartCollector {
  readonly firstRowIndex: number;
  readonly #storeId: bigint;
  readonly #parts: Buffer[] = [];
  #partCount = -1;

  constructor(storeId: bigint, firstRowIndex: number) {
    this.#storeId = storeId;
    this.firstRowIndex = firstRowIndex;
  }

  get isComplete(): boolean {
    return this.#parts.length === this.#partCount;
  }

  /** @throws YtError when the part is not the next one of this block */
  add(firstRowIndex: number, part: number, value: Buffer): void {
    if (firstRowIndex !== this.firstRowIndex || part !== this.#parts.length || this.isComplete) {
      throw damagedParts(this.#storeId, this.firstRowIndex);
    }
    if (part === 0) {
      if (value.length < partHeaderBytes) {
        throw damagedParts(this.#storeId, this.firstRowIndex);
      }
      this.#partCount = value.readUInt16BE();
      this.#parts.push(value.subarray(partHeaderBytes));
    } else {
      this.#parts.push(value);
    }
  }

  take(): StoredBlock {
    return {
      firstRowIndex: this.firstRowIndex,
      bytes: Buffer.concat(this.#parts),
      partCount: this.#partCount,
    };
  }
}

function damagedParts(storeId: bigint, firstRowIndex: number): YtError {
  return new YtError("Stored row is damaged: some of its parts are missing", {
    code: "ChunkBlockFetchFailed",
    attributes: { store_id: storeId, first_row_index: BigInt(firstRowIndex) },
  });
}

function rowOfKey(key: Buffer): number {
  return readSafeU64be(key, storePrefixBytes);
}

function partOfKey(key: Buffer): number {
  return key.readUInt16BE(blockKeyBytes);
}
