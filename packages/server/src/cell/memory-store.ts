/** A store without a disk, for tests and throw-away clusters. What it forgets at exit, it forgets. */
import { YtError } from "@qyt/base";
import { CommitQueue } from "./commit-queue.ts";
import { type EntriesImage, SortedEntries } from "./sorted-entries.ts";
import type { Entry, RangeOptions, Snapshot, Store, StoreMetrics } from "./store.ts";
import type { WriteBatch } from "./write-batch.ts";

export class MemoryStore implements Store {
  readonly #entries = new SortedEntries();
  readonly #queue = new CommitQueue({ flush: async (group) => this.#apply(group) });
  #isClosed = false;

  get metrics(): StoreMetrics {
    return this.#queue.metrics;
  }

  get(key: Uint8Array): Buffer | undefined {
    return copy(this.#image().get(key));
  }

  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    return copies(this.#image(), from, to, options);
  }

  snapshot(): Snapshot {
    return new MemorySnapshot(this.#image());
  }

  commit(batch: WriteBatch): Promise<void> {
    return this.#queue.commit(batch);
  }

  async close(): Promise<void> {
    await this.#queue.close();
    this.#isClosed = true;
  }

  #image(): EntriesImage {
    if (this.#isClosed) {
      throw new YtError("Store is closed");
    }
    return this.#entries.image();
  }

  #apply(group: readonly WriteBatch[]): void {
    for (const batch of group) {
      for (const { key, value } of batch.entries) {
        if (value === undefined) {
          this.#entries.remove(key);
        } else {
          this.#entries.put(key, value);
        }
      }
    }
  }
}

class MemorySnapshot implements Snapshot {
  #image: EntriesImage | undefined;

  constructor(image: EntriesImage) {
    this.#image = image;
  }

  get(key: Uint8Array): Buffer | undefined {
    return copy(this.#open().get(key));
  }

  range(from: Uint8Array, to: Uint8Array, options?: RangeOptions): Iterable<Entry> {
    return copies(this.#open(), from, to, options);
  }

  release(): void {
    this.#image = undefined;
  }

  #open(): EntriesImage {
    if (this.#image === undefined) {
      throw new YtError("Snapshot is released");
    }
    return this.#image;
  }
}

/** Readers get copies, as from a disk: one who writes into his does not change the store. */
function copy(value: Buffer | undefined): Buffer | undefined {
  return value === undefined ? undefined : Buffer.from(value);
}

function* copies(
  image: EntriesImage,
  from: Uint8Array,
  to: Uint8Array,
  options: RangeOptions | undefined,
): IterableIterator<Entry> {
  for (const { key, value } of image.range(from, to, options)) {
    yield { key: Buffer.from(key), value: Buffer.from(value) };
  }
}
