/** Which tablet has a key; ordered tablets that come and go with their tables. */
import { assert } from "@qyt/base";
import type { Draft } from "../../cypress/index.ts";
import { OrderedTablet } from "../ordered/index.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { tabletFormatOf } from "./row-format.ts";
import type { TableState, TabletRecord } from "./table-state.ts";

export const tabletObjectType = 702;

/** The tablet of a sorted table whose range of keys holds the key. */
export function tabletOfKey(tablets: readonly TabletRecord[], key: Buffer): TabletRecord {
  let low = 0;
  let high = tablets.length;
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (Buffer.compare(tablets[middle]?.pivotKey ?? key, key) <= 0) {
      low = middle;
    } else {
      high = middle;
    }
  }
  const found = tablets[low];
  assert(found !== undefined, "a dynamic table has a tablet");
  return found;
}

/** A tablet that exists from the moment the mutation is durable. */
export function createOrderedTablet(
  environment: TableEnvironment,
  draft: Draft,
  state: TableState,
  options: {
    readonly tabletId: string;
    readonly tableId: string;
    readonly trimmedRowCount?: number;
    readonly cumulativeDataWeight?: number;
    readonly sealed?: OrderedTablet["visible"]["sealed"];
  },
): void {
  const { tablet, ...prepared } = OrderedTablet.create(environment.cell, environment.chunks, draft.batch, {
    ...options,
    format: tabletFormatOf(state),
    merger: environment.merger,
    visibleTimestamp: () => environment.visibleTimestamp(),
  });
  environment.orderedTablets.set(options.tabletId, tablet);
  attach(draft, {
    onDurable: () => prepared.onDurable(),
    onFailed: () => {
      prepared.onFailed();
      environment.orderedTablets.delete(options.tabletId);
    },
  });
}

/** The tablet's rows go when the mutation is durable. */
export function destroyOrderedTablet(environment: TableEnvironment, draft: Draft, tabletId: string): void {
  const tablet = environment.orderedTablets.get(tabletId);
  if (tablet === undefined) {
    return;
  }
  environment.stopWrites(draft, tabletId);
  const prepared = tablet.prepareDestroy(draft.batch);
  attach(draft, {
    onDurable: () => {
      prepared.onDurable();
      environment.orderedTablets.delete(tabletId);
      tablet.close();
    },
    onFailed: () => prepared.onFailed(),
  });
}
