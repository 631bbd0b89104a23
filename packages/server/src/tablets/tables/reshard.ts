/**
 * `reshard_table`. Ordered tables get empty tablets or join the last ones; sorted tables get other
 * ranges of keys. No row moves.
 *
 * Specified in: yt/yt/server/master/tablet_server/tablet_manager.cpp, documentation "Resharding".
 */
import { type YsonValue, YtError } from "@qyt/base";
import { decodeKey } from "@qyt/schema";
import type { Draft, Node } from "../../cypress/index.ts";
import { prepareJoin } from "../ordered/index.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { resolveRange, type TabletRange, withNewLayout } from "./lifecycle.ts";
import { choosePivotsByRows, chooseUniformPivots } from "./pivot-choice.ts";
import { replaceSortedTablets } from "./sorted-tablets.ts";
import { hasOrderedTablets, isSortedDynamic, type TableState, type TabletRecord } from "./table-state.ts";
import { checkTabletCount, parsePivotKeys, parsePreset } from "./tablet-layout.ts";
import { createOrderedTablet, destroyOrderedTablet, tabletObjectType } from "./tablets.ts";

export interface ReshardOptions extends TabletRange {
  readonly tabletCount?: number;
  readonly pivotKeys?: YsonValue;
  /** Chooses pivot keys by the values that the first key column may have, not by the rows. */
  readonly uniform?: boolean;
  readonly trimmedRowCounts?: YsonValue;
  readonly cumulativeDataWeights?: YsonValue;
}

/** Pivot keys that were chosen by the rows of a range of tablets, before the mutation. */
export interface ChosenPivots {
  /** The tablets as they were then. */
  readonly layout: TableState["tablets"];
  readonly pivots: readonly Buffer[];
}

/** Chooses pivot keys where `reshardTable` will need some. Takes its time over large tables. */
export async function choosePivots(
  environment: TableEnvironment,
  node: Node<TableState>,
  path: string,
  options: ReshardOptions,
): Promise<ChosenPivots | undefined> {
  const { state } = node;
  const { tabletCount } = options;
  if (!isSortedDynamic(state) || options.uniform === true || tabletCount === undefined || tabletCount < 2) {
    return undefined;
  }
  checkTabletCount(tabletCount);
  const { first, last } = resolveRange(state, options);
  requireUnmounted(state, first, last);
  const rows = environment.sortedRows(node, () => path);
  const span = {
    lower: state.tablets[first]?.pivotKey ?? Buffer.alloc(0),
    upper: state.tablets[last + 1]?.pivotKey,
  };
  const pivots = await choosePivotsByRows(environment.cell, rows, span, tabletCount);
  return { layout: state.tablets, pivots };
}

export function reshardTable(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  options: ReshardOptions,
  chosen: ChosenPivots | undefined,
): void {
  const { state } = node;
  if (!state.dynamic) {
    throw new YtError("Cannot reshard a static table", { attributes: { path: draft.pathOf(node) } });
  }
  if (options.tabletCount !== undefined && options.pivotKeys !== undefined) {
    throw new YtError('Cannot specify both "pivot_keys" and "tablet_count"');
  }
  if (options.tabletCount === undefined && options.pivotKeys === undefined) {
    throw new YtError('Must specify either "pivot_keys" or "tablet_count"');
  }
  const { first, last } = resolveRange(state, options);
  requireUnmounted(state, first, last);
  if (state.isReplicated === true) {
    requireEmptyLog(environment, draft.pathOf(node), state);
  }
  const replacement = isSortedDynamic(state)
    ? reshardSorted(environment, draft, node, first, last, options, chosen)
    : reshardOrdered(environment, draft, node, first, last, options);
  const tablets = [...state.tablets.slice(0, first), ...replacement, ...state.tablets.slice(last + 1)];
  checkTabletCount(tablets.length);
  draft.checkAccountRoom(node.account, { tabletCount: tablets.length - state.tablets.length });
  const next = { ...state, tablets };
  draft.update(node.id, { state: isSortedDynamic(state) ? next : withNewLayout(draft, next) });
}

/** The rows of a log belong to its tablets: replicas know how far they are in each. @throws YtError */
function requireEmptyLog(environment: TableEnvironment, path: string, state: TableState): void {
  const written = state.tablets.find(({ id }) => environment.orderedTablet(id).pending.totalRowCount > 0);
  if (written !== undefined) {
    throw new YtError(
      `Cannot reshard replicated table ${path} since it has been written to: its tablets keep what replicas have`,
      { attributes: { path, tablet_id: written.id } },
    );
  }
}

/** @throws YtError 1706 when one of the tablets is mounted or frozen */
function requireUnmounted(state: TableState, first: number, last: number): void {
  const mounted = state.tablets.slice(first, last + 1).find((tablet) => tablet.state !== "unmounted");
  if (mounted !== undefined) {
    throw new YtError(`Cannot reshard table since tablet ${mounted.id} is not unmounted`, {
      code: "InvalidTabletState",
      attributes: { tablet_id: mounted.id, state: mounted.state },
    });
  }
}

function reshardOrdered(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  first: number,
  last: number,
  options: ReshardOptions,
): readonly TabletRecord[] {
  const { state } = node;
  const count = options.tabletCount;
  if (count === undefined) {
    throw new YtError("Table is ordered; must provide tablet count");
  }
  checkTabletCount(count);
  const old = state.tablets.slice(first, last + 1);
  const added = Math.max(0, count - old.length);
  const trimmed = preset("trimmed_row_counts", options.trimmedRowCounts, added);
  const weights = preset("cumulative_data_weights", options.cumulativeDataWeights, added);
  if (added > 0) {
    const fresh = Array.from({ length: added }, (_, index): TabletRecord => {
      const id = draft.newId(tabletObjectType);
      createOrderedTablet(environment, draft, state, {
        tabletId: id,
        tableId: node.id,
        trimmedRowCount: trimmed?.[index] ?? 0,
        cumulativeDataWeight: weights?.[index] ?? 0,
      });
      return { id, state: "unmounted", pivotKey: Buffer.alloc(0) };
    });
    return [...old, ...fresh];
  }
  const dropped = old.slice(count);
  const kept = old.slice(0, count);
  const lastKept = kept.at(-1);
  if (dropped.length > 0 && lastKept !== undefined) {
    const joined = prepareJoin(
      draft.batch,
      environment.chunks,
      environment.orderedTablet(lastKept.id),
      dropped.map(({ id }) => environment.orderedTablet(id)),
    );
    attach(draft, {
      onDurable: () => {
        joined.onDurable();
        for (const { id } of dropped) {
          environment.orderedTablets.get(id)?.close();
          environment.orderedTablets.delete(id);
        }
      },
      onFailed: () => joined.onFailed(),
    });
  }
  return kept;
}

function preset(name: string, value: YsonValue | undefined, count: number): number[] | undefined {
  return value === undefined || value === null ? undefined : parsePreset(name, value, count);
}

function reshardSorted(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  first: number,
  last: number,
  options: ReshardOptions,
  chosen: ChosenPivots | undefined,
): readonly TabletRecord[] {
  const { state } = node;
  for (const name of ["trimmedRowCounts", "cumulativeDataWeights"] as const) {
    if (options[name] !== undefined && options[name] !== null) {
      throw new YtError("Row counts and weights can only be preset for ordered tables");
    }
  }
  const lower = state.tablets[first]?.pivotKey ?? Buffer.alloc(0);
  const upper = state.tablets[last + 1]?.pivotKey;
  let pivots: Buffer[];
  if (options.pivotKeys !== undefined) {
    pivots = parsePivots(state, options.pivotKeys, first === 0, lower);
  } else if (options.tabletCount === 1) {
    pivots = [lower];
  } else if (options.tabletCount === last - first + 1) {
    pivots = state.tablets.slice(first, last + 1).map(({ pivotKey }) => pivotKey);
  } else if (options.uniform === true) {
    checkTabletCount(options.tabletCount ?? 0);
    const types = state.schema.columns.slice(0, state.schema.keyColumnCount).map(({ physical }) => physical);
    const edges = { lower: decodeKey(lower, types)[0], upper: decodeKey(upper ?? Buffer.alloc(0), types)[0] };
    pivots = chooseUniformPivots(types, edges, lower, options.tabletCount ?? 1);
  } else {
    checkTabletCount(options.tabletCount ?? 0);
    if (chosen === undefined || chosen.layout !== state.tablets) {
      throw new YtError("Tablets have changed while pivot keys were being chosen", { code: "Unavailable" });
    }
    pivots = [...chosen.pivots];
  }
  const final = pivots.at(-1);
  if (upper !== undefined && final !== undefined && Buffer.compare(final, upper) >= 0) {
    throw new YtError(
      "Last pivot key must be strictly less than that of the tablet which follows the resharded range",
    );
  }
  const old = state.tablets.slice(first, last + 1);
  if (!hasOrderedTablets(state)) {
    return replaceSortedTablets(environment, draft, old, pivots);
  }
  for (const { id } of old) {
    destroyOrderedTablet(environment, draft, id);
  }
  return pivots.map((pivotKey): TabletRecord => {
    const id = draft.newId(tabletObjectType);
    createOrderedTablet(environment, draft, state, { tabletId: id, tableId: node.id });
    return { id, state: "unmounted", pivotKey };
  });
}

function parsePivots(state: TableState, value: YsonValue, isFromStart: boolean, lower: Buffer): Buffer[] {
  if (isFromStart) {
    return parsePivotKeys(state.schema, value);
  }
  const list = Array.isArray(value) ? [[], ...value] : value;
  const pivots = parsePivotKeys(state.schema, list).slice(1);
  if (pivots[0] === undefined || !pivots[0].equals(lower)) {
    throw new YtError("First pivot key must match that of the first tablet in the resharded range");
  }
  return pivots;
}
