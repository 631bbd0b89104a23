/**
 * Watches the blocks that a tablet appends and hands runs of adjacent small ones to the merger. Kept in
 * memory only: after a restart the last run stays as it is, which costs some reading and nothing else.
 */
import type { BlockMerger } from "./block-merger.ts";
import { isSmall } from "./policies.ts";

interface AppendedBlock {
  readonly firstRowIndex: number;
  readonly rowCount: number;
  readonly bytes: Buffer;
}

export class SmallBlockTracker {
  readonly #merger: BlockMerger;
  #storeId = 0n;
  #fromRow = 0;
  #toRow = 0;
  #length = 0;
  #bytes = 0;

  constructor(merger: BlockMerger) {
    this.#merger = merger;
  }

  /** Durable blocks at the end of a store. */
  append(storeId: bigint, blocks: readonly AppendedBlock[]): void {
    if (storeId !== this.#storeId) {
      this.seal();
      this.#storeId = storeId;
    }
    const { settings } = this.#merger;
    for (const block of blocks) {
      if (!isSmall({ byteSize: block.bytes.length }, settings)) {
        this.seal();
        continue;
      }
      if (this.#length === 0) {
        this.#fromRow = block.firstRowIndex;
      }
      this.#length++;
      this.#bytes += block.bytes.length;
      this.#toRow = block.firstRowIndex + block.rowCount;
      if (this.#length >= settings.maxRunLength || this.#bytes >= settings.maxRunBytes) {
        this.seal();
      }
    }
  }

  /** The run ends here: a big block follows, or the store is sealed. */
  seal(): void {
    if (this.#length >= this.#merger.settings.minRunLength) {
      this.#merger.add({ storeId: this.#storeId, fromRow: this.#fromRow, toRow: this.#toRow });
    }
    this.#length = 0;
    this.#bytes = 0;
  }
}
