/**
 * What the rows of one sorted table have in common, by whatever schema they are seen: a transaction's
 * snapshot of the table may have an older one, and still meets the same locks.
 */
import { Uint64, YtError } from "@qyt/base";
import { RowLocks } from "./row-locks.ts";
import type { RowSweep } from "./row-sweep.ts";
import type { RowWatch, WatchedRows } from "./row-watch.ts";
import type { RowWrite } from "./row-write-types.ts";

export class RowState implements WatchedRows {
  readonly locks = new RowLocks();
  readonly sweep: RowSweep;
  readonly watches = new Set<RowWatch>();
  #lastWriteTimestamp = 0n;
  #isGone = false;

  constructor(sweep: RowSweep) {
    this.sweep = sweep;
  }

  get lastWriteTimestamp(): bigint {
    return this.#lastWriteTimestamp;
  }

  /** A commit is about to write rows. */
  noteWrites(timestamp: bigint, writes: readonly RowWrite[]): void {
    if (timestamp > this.#lastWriteTimestamp) {
      this.#lastWriteTimestamp = timestamp;
    }
    this.sweep.noteWrite(timestamp);
    for (const watch of this.watches) {
      watch.note(timestamp, writes);
    }
  }

  /** The table is removed: from now on its rows go, a part at a time. */
  end(): void {
    this.#isGone = true;
  }

  /** @throws YtError 500 when the rows go already, 1708 when versions of that time are gone */
  requireReadable(timestamp: bigint, path: () => string): void {
    if (this.#isGone) {
      throw new YtError("The table has been removed: its rows cannot be read any more", {
        code: "ResolveError",
        attributes: { path: path() },
      });
    }
    const { retainedTimestamp } = this.sweep;
    if (timestamp < retainedTimestamp) {
      throw new YtError(
        `Timestamp ${timestamp} is less than retained timestamp ${retainedTimestamp} of table ${path()}`,
        {
          code: "TabletSnapshotExpired",
          attributes: {
            path: path(),
            timestamp: new Uint64(timestamp),
            retained_timestamp: new Uint64(retainedTimestamp),
          },
        },
      );
    }
  }
}
