/**
 * Merges runs of small blocks in the background, one commit at a time: rows inserted one by one lie in a
 * block each, and a read would pay for every one. What the rows are does not change, so a reader sees
 * the same rows before and after; a merged block keeps the index of its first row.
 */
import { toYtError, type YtError } from "@qyt/base";
import { mergeBlocks, RowBlock } from "@qyt/schema";
import { WriteBatch } from "../../cell/index.ts";
import type { ChunkManager } from "../chunks/chunk-manager.ts";
import { defaultMergeSettings, type MergeSettings, planMerge } from "./policies.ts";

/** Rows [fromRow, toRow) of a store, in whole blocks that are durable. */
export interface MergeTask {
  readonly storeId: bigint;
  readonly fromRow: number;
  readonly toRow: number;
}

export interface BlockMergerOptions {
  readonly settings?: MergeSettings;
  /** A merge that failed is given up; the blocks stay as they are. */
  onError?(error: YtError): void;
}

/** Tasks beyond are dropped: the disk is far behind, and merging is only a saving. */
const maxQueuedTasks = 10_000;

export class BlockMerger {
  readonly settings: MergeSettings;
  readonly #chunks: ChunkManager;
  readonly #options: BlockMergerOptions;
  readonly #tasks: MergeTask[] = [];
  #running: Promise<void> | undefined;
  #isStopped = false;
  #mergedBlockCount = 0;

  constructor(chunks: ChunkManager, options: BlockMergerOptions = {}) {
    this.#chunks = chunks;
    this.#options = options;
    this.settings = options.settings ?? defaultMergeSettings;
  }

  /** Blocks that merging has made disappear. */
  get mergedBlockCount(): number {
    return this.#mergedBlockCount;
  }

  add(task: MergeTask): void {
    if (this.#isStopped || this.#tasks.length >= maxQueuedTasks) {
      return;
    }
    this.#chunks.pin(task.storeId);
    this.#tasks.push(task);
    this.#running ??= this.#run();
  }

  /** Resolves when no task is left. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Gives up what is queued and waits for the commit under way. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    // Off the stack of the commit hook that added the task.
    await Promise.resolve();
    for (let task = this.#tasks.shift(); task !== undefined; task = this.#tasks.shift()) {
      try {
        if (!this.#isStopped) {
          await this.#merge(task);
        }
      } catch (thrown) {
        this.#options.onError?.(toYtError(thrown));
      } finally {
        this.#chunks.unpin(task.storeId);
      }
    }
    this.#running = undefined;
  }

  /** From reading the blocks to joining the commit there is no await, so nobody changes them in between. */
  async #merge(task: MergeTask): Promise<void> {
    const { storage } = this.#chunks;
    const { maxRunLength, maxRunBytes } = this.settings;
    const stored = storage.scan(task.storeId, task.fromRow, task.toRow, maxRunLength, 2 * maxRunBytes);
    const candidates = stored.map((block) => ({ byteSize: block.bytes.length }));
    const batch = new WriteBatch();
    let saved = 0;
    for (const run of planMerge(candidates, this.settings)) {
      const old = stored.slice(run.from, run.to);
      const merged = mergeBlocks(old.map((block) => RowBlock.parse(block.bytes)));
      if (merged.length >= old.length) {
        continue;
      }
      for (const block of old) {
        storage.removeSmall(batch, task.storeId, block.firstRowIndex);
      }
      for (const block of merged) {
        storage.put(batch, task.storeId, block.firstRowIndex, block.bytes);
      }
      saved += old.length - merged.length;
    }
    if (saved > 0) {
      await this.#chunks.cell.commit({ batch });
      this.#mergedBlockCount += saved;
    }
  }
}
