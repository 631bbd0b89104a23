/**
 * The chunks of a cell: which there are, how many chunk lists name each, and the removal of the blocks of
 * those that nobody names or reads any more.
 *
 * Removing takes two steps. The mutation that drops the last reference writes a small record that
 * condemns the store. Once no reader has it pinned, a mutation of its own hands the blocks to the cell's
 * background removal. A restart goes on from either record.
 */
import { assert, YtError } from "@qyt/base";
import { type Cell, WriteBatch } from "../../cell/index.ts";
import { BlockStorage, storeBlockRange } from "../block-storage.ts";
import { type Chunk, type ChunkMeta, decodeChunkRecord, encodeChunkRecord } from "./chunk.ts";
import {
  chunkIdOfKey,
  chunkKey,
  chunkRange,
  condemnedKey,
  condemnedRange,
  storeIdOfKey,
  uploadKey,
  uploadRange,
} from "./keys.ts";
import type { Prepared } from "./prepared.ts";

/** Low bits of an object id's third word. */
const chunkObjectType = 100;

interface ChunkEntry extends ChunkMeta {
  refCount: number;
}

export class ChunkManager {
  readonly cell: Cell;
  readonly storage: BlockStorage;
  readonly #chunks = new Map<string, ChunkEntry>();
  /** Running readers by store. */
  readonly #pins = new Map<bigint, number>();
  /** Condemned stores that wait for their readers. */
  readonly #condemned = new Set<bigint>();
  readonly #removals = new Set<Promise<void>>();

  private constructor(cell: Cell) {
    this.cell = cell;
    this.storage = new BlockStorage(cell);
  }

  /** Reads the chunks' records, and goes on with removals and cleans up uploads that a crash cut off. */
  static async open(cell: Cell): Promise<ChunkManager> {
    const manager = new ChunkManager(cell);
    for (const { key, value } of cell.range(chunkRange.from, chunkRange.to)) {
      const id = chunkIdOfKey(key);
      const { meta, refCount } = decodeChunkRecord(id, value);
      manager.#chunks.set(id, { ...meta, refCount });
    }
    const orphans = new WriteBatch();
    const left: bigint[] = [];
    for (const { key } of cell.range(uploadRange.from, uploadRange.to)) {
      const storeId = storeIdOfKey(key);
      orphans.remove(key);
      orphans.put(condemnedKey(storeId), emptyValue);
      left.push(storeId);
    }
    for (const { key } of cell.range(condemnedRange.from, condemnedRange.to)) {
      left.push(storeIdOfKey(key));
    }
    if (orphans.byteSize > 0) {
      await cell.commit({ batch: orphans });
    }
    for (const storeId of left) {
      manager.#startRemoval(storeId);
    }
    return manager;
  }

  get chunkCount(): number {
    return this.#chunks.size;
  }

  /** @throws YtError when there is no such chunk */
  get(id: string): Chunk {
    return this.#entry(id);
  }

  find(id: string): Chunk | undefined {
    return this.#chunks.get(id);
  }

  /** A store id never used before. Call it inside a mutation only: it is a timestamp of the cell. */
  newStoreId(): bigint {
    return this.cell.nextTimestamp();
  }

  /** Makes a sealed store a chunk, with one reference for the chunk list that the caller puts it into. */
  create(batch: WriteBatch, meta: Omit<ChunkMeta, "id">): Prepared & { readonly chunk: Chunk } {
    const entry: ChunkEntry = { ...meta, id: this.cell.newObjectId(chunkObjectType), refCount: 1 };
    assert(entry.rowCount > 0, "A chunk has rows");
    this.#chunks.set(entry.id, entry);
    batch.put(chunkKey(entry.id), encodeChunkRecord(entry, 1));
    return {
      chunk: entry,
      onDurable: () => undefined,
      onFailed: () => {
        this.#chunks.delete(entry.id);
      },
    };
  }

  /** Counts one more chunk list that names the chunk. @throws YtError when there is no such chunk */
  ref(batch: WriteBatch, id: string): Prepared {
    const entry = this.#entry(id);
    entry.refCount++;
    batch.put(chunkKey(id), encodeChunkRecord(entry, entry.refCount));
    return {
      onDurable: () => undefined,
      onFailed: () => {
        entry.refCount--;
      },
    };
  }

  /** Takes one reference back; the last one takes the chunk and its blocks with it. */
  unref(batch: WriteBatch, id: string): Prepared {
    const entry = this.#entry(id);
    entry.refCount--;
    if (entry.refCount > 0) {
      batch.put(chunkKey(id), encodeChunkRecord(entry, entry.refCount));
      return {
        onDurable: () => undefined,
        onFailed: () => {
          entry.refCount++;
        },
      };
    }
    this.#chunks.delete(id);
    batch.remove(chunkKey(id));
    const removal = this.condemn(batch, entry.storeId);
    return {
      onDurable: () => removal.onDurable(),
      onFailed: () => {
        removal.onFailed();
        entry.refCount++;
        this.#chunks.set(id, entry);
      },
    };
  }

  /** Has the blocks of a store that is in no chunk list removed once the batch is durable. */
  condemn(batch: WriteBatch, storeId: bigint): Prepared {
    batch.put(condemnedKey(storeId), emptyValue);
    return {
      onDurable: () => {
        if (this.#pins.has(storeId)) {
          this.#condemned.add(storeId);
        } else {
          this.#startRemoval(storeId);
        }
      },
      onFailed: () => undefined,
    };
  }

  /** Keeps the blocks of a store while a reader runs over them. */
  pin(storeId: bigint): void {
    this.#pins.set(storeId, (this.#pins.get(storeId) ?? 0) + 1);
  }

  unpin(storeId: bigint): void {
    const count = (this.#pins.get(storeId) ?? 0) - 1;
    assert(count >= 0, `Store ${storeId} is not pinned`);
    if (count > 0) {
      this.#pins.set(storeId, count);
      return;
    }
    this.#pins.delete(storeId);
    if (this.#condemned.delete(storeId)) {
      this.#startRemoval(storeId);
    }
  }

  /** Marks a store as being uploaded: if no chunk names it before a crash, the next open removes it. */
  registerUpload(batch: WriteBatch, storeId: bigint): void {
    batch.put(uploadKey(storeId), emptyValue);
  }

  /** The uploaded store becomes a chunk with one reference. */
  finishUpload(batch: WriteBatch, meta: Omit<ChunkMeta, "id">): Prepared & { readonly chunk: Chunk } {
    batch.remove(uploadKey(meta.storeId));
    return this.create(batch, meta);
  }

  /** Gives an upload up and removes its blocks. */
  abortUpload(batch: WriteBatch, storeId: bigint): Prepared {
    batch.remove(uploadKey(storeId));
    return this.condemn(batch, storeId);
  }

  /** Resolves when no removal waits to be handed to the cell; pinned stores do not count. */
  async settled(): Promise<void> {
    while (this.#removals.size > 0) {
      await Promise.all(this.#removals);
    }
  }

  #entry(id: string): ChunkEntry {
    const entry = this.#chunks.get(id);
    if (entry === undefined) {
      throw new YtError(`No such chunk ${id}`, { code: "NoSuchChunk", attributes: { chunk_id: id } });
    }
    return entry;
  }

  /** Hands the blocks to the cell. If the commit fails, the record stays and the next open tries again. */
  #startRemoval(storeId: bigint): void {
    const batch = new WriteBatch();
    batch.remove(condemnedKey(storeId));
    const { from, to } = storeBlockRange(storeId);
    this.cell.scheduleRangeRemoval(batch, from, to);
    const removal: Promise<void> = this.cell
      .commit({ batch })
      .catch(() => undefined)
      .finally(() => this.#removals.delete(removal));
    this.#removals.add(removal);
  }
}

const emptyValue = Buffer.alloc(0);
