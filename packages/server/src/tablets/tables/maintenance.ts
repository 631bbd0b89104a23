/** Background work on an ordered table: flushing dynamic stores and trimming by age. */
import type { Node } from "../../cypress/index.ts";
import { commitPrepared } from "../chunks/commit-prepared.ts";
import type { OrderedTablet } from "../ordered/index.ts";
import type { TableEnvironment } from "./environment.ts";
import { flushSettings, logTtlSettings, ttlSettings } from "./settings.ts";
import { hasOrderedTablets, type TableState } from "./table-state.ts";

/**
 * Flushes and trims the table's mounted tablets where their settings ask for it.
 * @param present the table as it is now: it may change, or go, between two tablets
 */
export async function maintainTablets(
  environment: TableEnvironment,
  present: () => Node<TableState> | undefined,
  nowMs: number,
): Promise<void> {
  for (const { id } of present()?.state.tablets ?? []) {
    const node = present();
    const tablet = node === undefined ? undefined : mountedTablet(environment, node.state, id);
    if (node === undefined || tablet === undefined) {
      continue;
    }
    await commitPrepared(environment.cell, (batch, prepared) => {
      if (tablet.needFlush(flushSettings(node.attributes, node.state), nowMs)) {
        prepared.push(tablet.prepareFlush(batch));
      }
      const trimTo = planTrim(environment, node, tablet, nowMs);
      if (trimTo > tablet.pending.trimmedRowCount) {
        prepared.push(tablet.prepareTrim(batch, trimTo));
      }
    });
  }
}

/** Rows of a log go by age too, but none that a replica lacks. */
function planTrim(
  environment: TableEnvironment,
  node: Node<TableState>,
  tablet: OrderedTablet,
  nowMs: number,
): number {
  if (node.state.isReplicated !== true) {
    return tablet.planTtlTrim(ttlSettings(node.attributes, node.state), nowMs);
  }
  const index = node.state.tablets.findIndex(({ id }) => id === tablet.tabletId);
  const { trimmedRowCount } = tablet.visible;
  const replicated = environment.replicas
    .of(node.id)
    .map((replica) =>
      environment.progress.firstLacking("visible", replica, { id: tablet.tabletId, index, trimmedRowCount }),
    );
  const byAge = tablet.planTtlTrim(logTtlSettings(node.attributes, node.state), nowMs);
  return Math.min(byAge, ...replicated);
}

function mountedTablet(
  environment: TableEnvironment,
  state: TableState,
  tabletId: string,
): OrderedTablet | undefined {
  const record = state.tablets.find(({ id }) => id === tabletId);
  return hasOrderedTablets(state) && record?.state === "mounted" && !environment.isLeaving(tabletId)
    ? environment.orderedTablets.get(tabletId)
    : undefined;
}
