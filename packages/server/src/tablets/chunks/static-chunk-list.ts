/**
 * The rows of a static table (or of a version of it inside a master transaction): a list of chunks, under
 * an id of its own (object type 101), so that a table changes its contents by naming another list.
 *
 * Versions of tables hold lists: the tree's, those of transactions, those frozen by snapshot locks. A list
 * goes with its last holder.
 */
import { assert } from "@qyt/base";
import type { Cell, WriteBatch } from "../../cell/index.ts";
import type { Chunk } from "./chunk.ts";
import type { ChunkManager } from "./chunk-manager.ts";
import { listHoldersKey } from "./keys.ts";
import { combinePrepared, type Prepared } from "./prepared.ts";
import { overlappingStores, type RowSlice, readStores } from "./store-reader.ts";
import {
  dropStoreRefs,
  endOfStores,
  layOutChunks,
  loadStoreRefs,
  putStoreRef,
  type StoreRef,
  shareStoreRefs,
} from "./store-ref.ts";

/** Object type of a chunk list. */
export const chunkListObjectType = 101;

export interface ChunkListStatistics {
  readonly chunkCount: number;
  readonly rowCount: number;
  readonly dataWeight: number;
  readonly byteSize: number;
}

export class StaticChunkList {
  readonly id: string;
  readonly #chunks: ChunkManager;
  #visible: readonly StoreRef[];
  #pending: readonly StoreRef[];
  #holderCount: number;

  private constructor(chunks: ChunkManager, id: string, refs: readonly StoreRef[], holderCount: number) {
    assert((refs[0]?.firstRowIndex ?? 0) === 0, `Chunk list ${id} does not begin with row 0`);
    this.id = id;
    this.#chunks = chunks;
    this.#visible = refs;
    this.#pending = refs;
    this.#holderCount = holderCount;
  }

  /** Reads the list; one never written is empty. */
  static open(cell: Cell, chunks: ChunkManager, id: string): StaticChunkList {
    const holders = cell.get(listHoldersKey(id))?.readUInt32BE() ?? 1;
    return new StaticChunkList(chunks, id, loadStoreRefs(cell, chunks, id), holders);
  }

  /** A list that has nothing stored yet, under a new id, with one holder. */
  static create(cell: Cell, chunks: ChunkManager): StaticChunkList {
    return new StaticChunkList(chunks, cell.newObjectId(chunkListObjectType), [], 1);
  }

  /** The chunks in order, durable ones. */
  get refs(): readonly StoreRef[] {
    return this.#visible;
  }

  /** The chunks in order, changes in flight included. */
  get pendingRefs(): readonly StoreRef[] {
    return this.#pending;
  }

  /** How many versions of tables hold the list, changes in flight included. */
  get holderCount(): number {
    return this.#holderCount;
  }

  get rowCount(): number {
    return endOfStores(this.#visible, 0);
  }

  statistics(): ChunkListStatistics {
    let dataWeight = 0;
    let byteSize = 0;
    for (const { chunk } of this.#visible) {
      dataWeight += chunk.dataWeight;
      byteSize += chunk.byteSize;
    }
    return { chunkCount: this.#visible.length, rowCount: this.rowCount, dataWeight, byteSize };
  }

  /** Appends a chunk just created, whose first reference is meant for this list. */
  prepareAdopt(batch: WriteBatch, chunk: Chunk): Prepared {
    const added = layOutChunks([chunk], endOfStores(this.#pending, 0));
    for (const ref of added) {
      putStoreRef(batch, this.id, ref);
    }
    return this.#prepare([...this.#pending, ...added]);
  }

  /** Appends chunks that stay in their other lists too, in the given order. @throws YtError 708 */
  prepareShare(batch: WriteBatch, chunkIds: readonly string[]): Prepared {
    const shared = chunkIds.map((id) => this.#chunks.get(id));
    const added = layOutChunks(shared, endOfStores(this.#pending, 0));
    const refs = shareStoreRefs(batch, this.#chunks, this.id, added);
    return combinePrepared([refs, this.#prepare([...this.#pending, ...added])]);
  }

  /** One more holder: from now on the list must not change. */
  prepareHold(batch: WriteBatch): Prepared {
    return this.#prepareHolders(batch, this.#holderCount + 1);
  }

  /** One holder fewer. The last one empties the list. */
  prepareRelease(batch: WriteBatch): Prepared {
    assert(this.#holderCount > 0, `Chunk list ${this.id} has a holder`);
    const holders = this.#prepareHolders(batch, this.#holderCount - 1);
    return this.#holderCount > 0 ? holders : combinePrepared([holders, this.prepareClear(batch)]);
  }

  /** Empties the list; chunks in no other list go. */
  prepareClear(batch: WriteBatch): Prepared {
    const drops = dropStoreRefs(batch, this.#chunks, this.id, this.#pending);
    return combinePrepared([this.#prepare([]), drops]);
  }

  /** Rows [fromRow, toRow) that are visible when the first slice is asked for. */
  *read(fromRow = 0, toRow = Number.MAX_SAFE_INTEGER): Generator<RowSlice, void, void> {
    const refs = this.#visible;
    const bounds = { fromRow, toRow: Math.min(toRow, endOfStores(refs, 0)) };
    if (bounds.fromRow < bounds.toRow) {
      yield* readStores(this.#chunks, overlappingStores(refs, bounds), bounds);
    }
  }

  #prepareHolders(batch: WriteBatch, count: number): Prepared {
    const previous = this.#holderCount;
    this.#holderCount = count;
    if (count > 1) {
      const value = Buffer.allocUnsafe(4);
      value.writeUInt32BE(count);
      batch.put(listHoldersKey(this.id), value);
    } else {
      batch.remove(listHoldersKey(this.id));
    }
    return {
      onDurable: () => undefined,
      onFailed: () => {
        this.#holderCount = previous;
      },
    };
  }

  #prepare(next: readonly StoreRef[]): Prepared {
    const previous = this.#pending;
    this.#pending = next;
    return {
      onDurable: () => {
        this.#visible = next;
      },
      onFailed: () => {
        this.#pending = previous;
      },
    };
  }
}
