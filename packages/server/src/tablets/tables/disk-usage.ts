/**
 * Disk space by account: what tables and files have stored, summed up in the background, and who has no room
 * for more. As in the real system a limit is not looked at row by row: writes are refused from the moment at
 * which the account is known to be full, a second or two later.
 * Specified in: yt/yt/server/node/tablet_node/security_manager.cpp (ValidateResourceLimits).
 */
import { turn } from "@qyt/base";
import { timestampSeconds } from "@qyt/schema";
import { type Cell, type KeyRange, keyAfter, prefixRange } from "../../cell/index.ts";
import { type Excess, fullAccounts, limitExceeded, type View } from "../../cypress/index.ts";
import { rowsPrefix } from "../sorted/index.ts";
import { isSortedDynamic, type TableState } from "./table-state.ts";

/** Rows of sorted tables are weighed by reading them: so many stored records in one round, then on with others. */
const recordsPerRound = 5_000;
/** About a millisecond. */
const recordsPerTurn = 500;
const nodesPerTurn = 100;
/** A table that is written all the time is weighed anew after so many milliseconds, the lighter the sooner. */
function weighPeriodMs({ bytes }: Weight): number {
  return Math.min(60_000, 2_000 + bytes / 10_000);
}
/** After so long compaction has had its turn. */
const settlingMs = 150_000;
/** When a pass takes longer than this, in milliseconds, the next one waits for ten times as long. */
const maxPassMs = 50;

interface Weight {
  readonly bytes: number;
  /** Newest write that may not be in it. */
  readonly lastWrite: bigint;
  readonly atMs: number;
  /** False while compaction may still find something of the last writes. */
  readonly isSettled: boolean;
}

interface Weighing {
  readonly rowsId: string;
  readonly lastWrite: bigint;
  range: KeyRange;
  bytes: number;
}

export class DiskLedger {
  readonly #cell: Cell;
  /** Newest write into a sorted table's tablets. */
  readonly #lastWriteOf: (state: TableState) => bigint;
  readonly #weights = new Map<string, Weight>();
  #weighing: Weighing | undefined;
  #full: ReadonlyMap<string, Excess> = new Map();
  #notBeforeMs = 0;

  constructor(cell: Cell, lastWriteOf: (state: TableState) => bigint) {
    this.#cell = cell;
    this.#lastWriteOf = lastWriteOf;
  }

  /** Bytes that the rows of a sorted table take, all versions of them; 0 until they have been weighed. */
  sortedBytes(rowsId: string): number {
    return this.#weights.get(rowsId)?.bytes ?? 0;
  }

  /** @throws YtError 902 when the account, or one above it, is known to be full */
  requireRoom(view: () => View, account: () => string): void {
    if (this.#full.size === 0) {
      return;
    }
    const name = account();
    const excess = this.#full.get(name);
    if (excess !== undefined) {
      throw limitExceeded(view(), name, excess);
    }
  }

  /** One round in the background. @param present the committed tree */
  async update(present: () => View): Promise<void> {
    const startMs = this.#cell.clock.monotonic();
    if (startMs < this.#notBeforeMs) {
      return;
    }
    await this.#weigh(present());
    const usage = await this.#sum(present());
    this.#full = fullAccounts(present(), usage);
    const passMs = this.#cell.clock.monotonic() - startMs;
    this.#notBeforeMs = passMs > maxPassMs ? startMs + 10 * passMs : 0;
  }

  /** Own usage by account, in bytes. */
  async #sum(view: View): Promise<Map<string, number>> {
    const usage = new Map<string, number>();
    let nodeCount = 0;
    for (const type of view.types.all()) {
      if (type.usage === undefined) {
        continue;
      }
      for (const node of view.nodesOfType(type.name)) {
        const bytes = type.usage(node, view).diskSpaceBytes ?? 0;
        usage.set(node.account, (usage.get(node.account) ?? 0) + bytes);
        if (++nodeCount % nodesPerTurn === 0) {
          await turn();
        }
      }
    }
    return usage;
  }

  async #weigh(view: View): Promise<void> {
    let budget = recordsPerRound;
    while (budget > 0) {
      this.#weighing ??= this.#nextWeighing(view);
      const weighing = this.#weighing;
      if (weighing === undefined) {
        return;
      }
      budget -= recordsPerTurn;
      let isDone = true;
      try {
        isDone = this.#weighPart(weighing);
      } finally {
        // A table that cannot be read to its end keeps neither the others nor the next round waiting.
        if (isDone) {
          this.#noteWeight(weighing);
        }
      }
      await turn();
    }
  }

  #noteWeight({ rowsId, bytes, lastWrite }: Weighing): void {
    const isSettled = this.#cell.clock.now() - timestampSeconds(lastWrite) * 1000 > settlingMs;
    this.#weights.set(rowsId, { bytes, lastWrite, isSettled, atMs: this.#cell.clock.monotonic() });
    this.#weighing = undefined;
  }

  /** True when it was the last part. @throws YtError 721 for a damaged record */
  #weighPart(weighing: Weighing): boolean {
    let count = 0;
    for (const { key, value } of this.#cell.range(weighing.range.from, weighing.range.to)) {
      weighing.bytes += key.length + value.length;
      if (++count === recordsPerTurn) {
        weighing.range = { ...weighing.range, from: keyAfter(key) };
        return false;
      }
    }
    return true;
  }

  /** The first sorted table that was written since it was weighed; forgets those that are gone. */
  #nextWeighing(view: View): Weighing | undefined {
    const nowMs = this.#cell.clock.monotonic();
    const present = new Set<string>();
    let next: Weighing | undefined;
    for (const node of view.nodesOfType("table")) {
      const state = node.state as TableState;
      const { rowsId } = state;
      if (rowsId === undefined || !isSortedDynamic(state)) {
        continue;
      }
      present.add(rowsId);
      const known = this.#weights.get(rowsId);
      const lastWrite = this.#lastWriteOf(state);
      const isDue =
        known === undefined ||
        (nowMs - known.atMs >= weighPeriodMs(known) && (lastWrite > known.lastWrite || !known.isSettled));
      if (isDue) {
        next ??= { rowsId, lastWrite, bytes: 0, range: prefixRange(rowsPrefix(rowsId)) };
      }
    }
    for (const rowsId of this.#weights.keys()) {
      if (!present.has(rowsId)) {
        this.#weights.delete(rowsId);
      }
    }
    return next;
  }
}
