/**
 * What the rows of one sorted table have in common, by whatever schema they are seen: a transaction's
 * snapshot of the table may have an older one, and still meets the same locks.
 */
import { YtError } from "@qyt/base";
import { RowLocks } from "./row-locks.ts";
import type { RowSweep } from "./row-sweep.ts";

export class RowState {
  readonly locks = new RowLocks();
  readonly sweep: RowSweep;
  #isGone = false;

  constructor(sweep: RowSweep) {
    this.sweep = sweep;
  }

  /** The table is removed: from now on its rows go, a part at a time. */
  end(): void {
    this.#isGone = true;
  }

  /** @throws YtError 500 when the rows are not all there any more */
  requirePresent(path: () => string): void {
    if (this.#isGone) {
      throw new YtError("The table has been removed: its rows cannot be read any more", {
        code: "ResolveError",
        attributes: { path: path() },
      });
    }
  }
}
