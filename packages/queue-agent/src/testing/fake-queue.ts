/** A queue of the cluster in memory: tablets with flushed chunks and rows that are not flushed. */
import { type Clock, type YsonMap, YtError } from "@qyt/base";
import { timestampFromMs } from "@qyt/schema";

/** What a queue needs of its cluster. */
interface QueueHome {
  readonly clock: Clock;
  newId(): string;
}

export interface FakeChunk {
  readonly id: string;
  readonly tabletIndex: number;
  readonly startRowIndex: bigint;
  readonly rowCount: bigint;
  readonly maxTimestamp: bigint;
}

interface FakeTablet {
  state: string;
  chunks: FakeChunk[];
  /** Rows that are not flushed. */
  unflushed: bigint;
  unflushedTimestamp: bigint;
  upperRowIndex: bigint;
  trimmedRowCount: bigint;
}

export class FakeQueue {
  readonly path: string;
  readonly id: string;
  readonly tablets: FakeTablet[];
  attributes: YsonMap = new Map();
  readonly #cluster: QueueHome;

  constructor(cluster: QueueHome, path: string, id: string, tabletCount: number) {
    this.#cluster = cluster;
    this.path = path;
    this.id = id;
    this.tablets = Array.from({ length: tabletCount }, () => ({
      state: "mounted",
      chunks: [],
      unflushed: 0n,
      unflushedTimestamp: 0n,
      upperRowIndex: 0n,
      trimmedRowCount: 0n,
    }));
  }

  /** Commits rows now. */
  push(tabletIndex: number, rowCount: number): void {
    const tablet = this.tablet(tabletIndex);
    tablet.unflushed += BigInt(rowCount);
    tablet.upperRowIndex += BigInt(rowCount);
    tablet.unflushedTimestamp = timestampFromMs(this.#cluster.clock.now()) + 1n;
  }

  flush(tabletIndex: number): void {
    const tablet = this.tablet(tabletIndex);
    if (tablet.unflushed === 0n) {
      return;
    }
    tablet.chunks.push({
      id: this.#cluster.newId(),
      tabletIndex,
      startRowIndex: tablet.upperRowIndex - tablet.unflushed,
      rowCount: tablet.unflushed,
      maxTimestamp: tablet.unflushedTimestamp,
    });
    tablet.unflushed = 0n;
  }

  /** Commits rows and flushes them at once. */
  pushFlushed(tabletIndex: number, rowCount: number): void {
    this.push(tabletIndex, rowCount);
    this.flush(tabletIndex);
  }

  tablet(tabletIndex: number): FakeTablet {
    const tablet = this.tablets[tabletIndex];
    if (tablet === undefined) {
      throw new YtError(`No tablet ${tabletIndex}`, { code: "NoSuchTablet" });
    }
    return tablet;
  }
}
