/** Background work on an ordered table: flushing dynamic stores and trimming by age. */
import { WriteBatch } from "../../cell/index.ts";
import type { Node } from "../../cypress/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { TableEnvironment } from "./environment.ts";
import { flushSettings, ttlSettings } from "./settings.ts";
import type { TableState } from "./table-state.ts";

/** Flushes and trims the table's mounted tablets where their settings ask for it. */
export async function maintainTablet(
  environment: TableEnvironment,
  node: Node<TableState>,
  nowMs: number,
): Promise<void> {
  const flush = flushSettings(node.attributes, node.state);
  const ttl = ttlSettings(node.attributes, node.state);
  for (const record of node.state.tablets) {
    const tablet = environment.orderedTablets.get(record.id);
    if (tablet === undefined || record.state !== "mounted" || environment.isLeaving(record.id)) {
      continue;
    }
    const batch = new WriteBatch();
    const prepared: Prepared[] = [];
    if (tablet.needFlush(flush, nowMs)) {
      prepared.push(tablet.prepareFlush(batch));
    }
    const trimTo = tablet.planTtlTrim(ttl, nowMs);
    if (trimTo > tablet.pending.trimmedRowCount) {
      prepared.push(tablet.prepareTrim(batch, trimTo));
    }
    if (batch.entryCount > 0) {
      await environment.cell.commit({
        batch,
        onDurable: () => {
          for (const part of prepared) {
            part.onDurable();
          }
        },
        onFailed: () => {
          for (const part of prepared.toReversed()) {
            part.onFailed();
          }
        },
      });
    }
  }
}
