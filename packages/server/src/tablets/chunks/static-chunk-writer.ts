/**
 * Writes a chunk of a static table: rows go to the disk over many commits, seen by nobody, until a final
 * mutation of the caller puts the chunk into a chunk list. What a crash leaves before that is removed when
 * the cell is opened again.
 */
import { assert } from "@qyt/base";
import { type EncodedRows, mergeBlocks, packBlocks, RowBlock } from "@qyt/schema";
import { WriteBatch } from "../../cell/index.ts";
import type { Chunk, RowFormat } from "./chunk.ts";
import type { ChunkManager } from "./chunk-manager.ts";
import type { Prepared } from "./prepared.ts";

/** A commit takes about so many bytes: well under the limit of a batch, well over the price of a flush. */
const commitBytes = 512 * 1024;
/** Rows are packed in pieces of about so many bytes: some tenths of a millisecond each. */
const packBytes = 128 * 1024;
/** Blocks are put together when there are this many times more than their bytes need. */
const sparseFactor = 2;
const usualBlockBytes = 8_000;

type PackedBlock = ReturnType<typeof packBlocks>[number];

export class StaticChunkWriter {
  readonly #chunks: ChunkManager;
  readonly #format: RowFormat;
  #storeId: bigint | undefined;
  #rowCount = 0;
  #dataWeight = 0;
  #byteSize = 0;
  #waiting: PackedBlock[] = [];
  #waitingBytes = 0;
  #state: "open" | "closed" | "finished" | "aborted" = "open";

  /** @param format of the rows to come, without system columns unless their cells are in the rows */
  constructor(chunks: ChunkManager, format: RowFormat) {
    this.#chunks = chunks;
    this.#format = format;
  }

  get rowCount(): number {
    return this.#rowCount;
  }

  get dataWeight(): number {
    return this.#dataWeight;
  }

  /** Takes rows; resolves when more may come. Calls must not overlap. */
  async write(rows: EncodedRows): Promise<void> {
    assert(this.#state === "open", "The chunk writer is closed");
    let from = 0;
    while (from < rows.rowCount) {
      const to = endOfPiece(rows, from);
      const blocks = packBlocks(rows, from, to, {
        firstRowIndex: this.#rowCount,
        baseCumulativeWeight: this.#dataWeight,
        timestamp: 0n,
        countSystemWeight: 0,
      });
      for (const block of blocks) {
        this.#waiting.push(block);
        this.#waitingBytes += block.bytes.length;
        this.#dataWeight = block.cumulativeWeight;
      }
      this.#rowCount += to - from;
      from = to;
      if (this.#waitingBytes >= commitBytes) {
        await this.#commit();
      }
    }
  }

  /** Writes what waits. After it, `finish` or `abort` ends the upload. */
  async close(): Promise<void> {
    assert(this.#state === "open", "The chunk writer is closed");
    this.#state = "closed";
    await this.#commit();
  }

  /**
   * Makes the rows a chunk with one reference, which the caller gives to a chunk list in the same batch.
   * @throws AssertionError when there are no rows: a chunk has some
   */
  finish(batch: WriteBatch): Prepared & { readonly chunk: Chunk } {
    assert(
      this.#state === "closed" && this.#storeId !== undefined,
      "The chunk writer is not closed, or has no rows",
    );
    const upload = this.#chunks.finishUpload(batch, {
      storeId: this.#storeId,
      rowCount: this.#rowCount,
      dataWeight: this.#dataWeight,
      baseCumulativeWeight: 0,
      byteSize: this.#byteSize,
      minTimestamp: 0n,
      maxTimestamp: 0n,
      format: this.#format,
    });
    this.#state = "finished";
    return {
      chunk: upload.chunk,
      onDurable: () => upload.onDurable(),
      onFailed: () => {
        upload.onFailed();
        this.#state = "closed";
      },
    };
  }

  /** Gives the upload up and has its rows removed. */
  async abort(): Promise<void> {
    assert(this.#state !== "finished", "The chunk is finished");
    if (this.#state === "aborted") {
      return;
    }
    this.#state = "aborted";
    this.#waiting = [];
    if (this.#storeId !== undefined) {
      const batch = new WriteBatch();
      const removal = this.#chunks.abortUpload(batch, this.#storeId);
      await this.#chunks.cell.commit({ batch, onDurable: () => removal.onDurable() });
    }
  }

  async #commit(): Promise<void> {
    if (this.#waiting.length === 0) {
      return;
    }
    const batch = new WriteBatch();
    if (this.#storeId === undefined) {
      this.#storeId = this.#chunks.newStoreId();
      this.#chunks.registerUpload(batch, this.#storeId);
    }
    const isSparse = this.#waiting.length > (sparseFactor * this.#waitingBytes) / usualBlockBytes + 1;
    const blocks = isSparse
      ? mergeBlocks(this.#waiting.map((block) => RowBlock.parse(block.bytes)))
      : this.#waiting;
    for (const block of blocks) {
      this.#chunks.storage.put(batch, this.#storeId, block.firstRowIndex, block.bytes);
      this.#byteSize += block.bytes.length;
    }
    this.#waiting = [];
    this.#waitingBytes = 0;
    await this.#chunks.cell.commit({ batch });
  }
}

/** The end of a piece of rows that begins with `from`. */
function endOfPiece(rows: EncodedRows, from: number): number {
  const limit = rows.rowStart(from) + packBytes;
  let to = from + 1;
  while (to < rows.rowCount && rows.rowEnd(to) <= limit) {
    to++;
  }
  return to;
}
