/**
 * Which rows of a sorted table may have changed, for somebody who keeps a copy of them: instead of reading
 * the table again he looks those rows up. A copy that is brought up to date so is as fresh as a read.
 */
import type { RowWrite } from "./row-write-types.ts";

/** Beyond so many keys the copy is better read anew, in turns: they are looked up in one. */
const maxKeys = 300;

/** What a watch needs of the rows. */
export interface WatchedRows {
  /** Commit timestamp of the newest write so far, which may be in flight or have failed; 0: none since the start. */
  readonly lastWriteTimestamp: bigint;
  readonly watches: Set<RowWatch>;
}

export class RowWatch {
  /** A copy must be read at this timestamp or later: who wrote before was not noted. */
  readonly since: bigint;
  readonly #rows: WatchedRows;
  /** Newest commit timestamp by the key as latin1 text. */
  readonly #changes = new Map<string, bigint>();

  constructor(rows: WatchedRows) {
    this.#rows = rows;
    this.since = rows.lastWriteTimestamp;
    rows.watches.add(this);
  }

  /** Whether anything may be missing from what `changesUpTo` gives: the copy is of no use any more. */
  get hasEnded(): boolean {
    return !this.#rows.watches.has(this);
  }

  /** A commit is about to write rows. It may fail yet. */
  note(timestamp: bigint, writes: readonly RowWrite[]): void {
    for (const { name } of writes) {
      this.#changes.set(name, timestamp);
    }
    if (this.#changes.size > maxKeys) {
      this.end();
    }
  }

  /**
   * Row keys that the copy has to look up at this timestamp, which is never less than the last one. Those
   * that were written later stay noted.
   */
  changesUpTo(timestamp: bigint): Buffer[] {
    const keys: Buffer[] = [];
    for (const [name, written] of this.#changes) {
      keys.push(Buffer.from(name, "latin1"));
      if (written <= timestamp) {
        this.#changes.delete(name);
      }
    }
    return keys;
  }

  end(): void {
    this.#rows.watches.delete(this);
    this.#changes.clear();
  }
}
