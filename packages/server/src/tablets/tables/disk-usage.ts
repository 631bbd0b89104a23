/**
 * Disk space by account: what tables and files have stored, summed up in the background, and who has no room
 * for more. As in the real system a limit is not looked at row by row: writes are refused from the moment at
 * which the account is known to be full, a second or two later.
 * Specified in: yt/yt/server/node/tablet_node/security_manager.cpp (ValidateResourceLimits).
 */
import { turn } from "@qyt/base";
import type { Cell } from "../../cell/index.ts";
import { type Excess, fullAccounts, limitExceeded, type View } from "../../cypress/index.ts";

const nodesPerTurn = 100;
/** When a pass takes longer than this, in milliseconds, the next one waits for ten times as long. */
const maxPassMs = 50;

export class DiskLedger {
  readonly #cell: Cell;
  #full: ReadonlyMap<string, Excess> = new Map();
  #notBeforeMs = 0;

  constructor(cell: Cell) {
    this.#cell = cell;
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
}
