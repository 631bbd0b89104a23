/** Ordered tablets that come and go with their tables. */
import type { Draft } from "../../cypress/index.ts";
import { OrderedTablet } from "../ordered/index.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { tabletFormatOf } from "./row-format.ts";
import type { TableState } from "./table-state.ts";

export const tabletObjectType = 702;

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
