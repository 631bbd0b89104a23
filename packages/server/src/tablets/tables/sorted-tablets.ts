/** Tablets of sorted tables: ranges of keys, with the figures of what is in them. */
import { defined, turn } from "@qyt/base";
import { type KeyRange, keyAfter, prefixRange } from "../../cell/index.ts";
import type { Draft, Node } from "../../cypress/index.ts";
import { commitPrepared } from "../chunks/commit-prepared.ts";
import { combinePrepared } from "../chunks/prepared.ts";
import {
  addFigures,
  dividedFigures,
  lastPartKey,
  noFigures,
  readVersions,
  rowKeyOf,
  rowsPrefix,
  type TabletFigures,
  timestampOfKey,
  versionWeight,
} from "../sorted/index.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { hasOrderedTablets, isSortedDynamic, type TableState, type TabletRecord } from "./table-state.ts";
import { tabletObjectType, tabletOfKey } from "./tablets.ts";

/** Versions are counted so many at a time: a few milliseconds. */
const versionsPerTurn = 1_000;

/** Of all tablets of a sorted table, as readers see them. Nothing for other tables. */
export function sortedFigures(environment: TableEnvironment, { tablets }: TableState): TabletFigures {
  const { versionCount, dataWeight, byteSize, lastCommitTimestamp } = environment.figures.sum(
    tablets.map(({ id }) => id),
  );
  // A tablet that was divided may have lost more than its part.
  const shown = (value: number): number => Math.max(0, value);
  return {
    versionCount: shown(versionCount),
    dataWeight: shown(dataWeight),
    byteSize: shown(byteSize),
    lastCommitTimestamp,
  };
}

/** A tablet that exists from the moment the mutation is durable. */
export function createSortedTablet(
  environment: TableEnvironment,
  draft: Draft,
  pivotKey: Buffer,
  figures: TabletFigures = noFigures,
): TabletRecord {
  const id = draft.newId(tabletObjectType);
  attach(draft, environment.figures.prepareNew(draft.batch, id, figures));
  return { id, state: "unmounted", pivotKey };
}

/** Other tablets for the same rows: what the old ones have is divided evenly, as no row is read. */
export function replaceSortedTablets(
  environment: TableEnvironment,
  draft: Draft,
  old: readonly TabletRecord[],
  pivots: readonly Buffer[],
): TabletRecord[] {
  const { figures } = environment;
  const isSame =
    old.length === pivots.length && old.every(({ pivotKey }, index) => pivots[index]?.equals(pivotKey));
  const whole = old.reduce((sum, { id }) => addFigures(sum, figures.pending(id)), noFigures);
  const fresh = pivots.map((pivotKey, index) =>
    createSortedTablet(
      environment,
      draft,
      pivotKey,
      isSame
        ? figures.pending(defined(old[index], "tablet").id)
        : dividedFigures(whole, pivots.length, index),
    ),
  );
  const successor = defined(fresh[0], "tablet").id;
  removeSortedTablets(environment, draft, old, successor);
  return fresh;
}

/** @param successor who has the rows then; absent when they go too */
export function removeSortedTablets(
  environment: TableEnvironment,
  draft: Draft,
  tablets: readonly TabletRecord[],
  successor?: string,
): void {
  attach(
    draft,
    combinePrepared(tablets.map(({ id }) => environment.figures.prepareRemoval(draft.batch, id, successor))),
  );
}

/**
 * At the start: counts what is in tablets of a release that wrote down no figures, and forgets those of tablets that
 * are gone. Nobody writes meanwhile.
 */
export async function completeFigures(
  environment: TableEnvironment,
  tables: Iterable<Node<TableState>>,
): Promise<void> {
  const { cell, figures } = environment;
  const present = new Set<string>();
  const uncounted: TableState[] = [];
  for (const { state } of tables) {
    if (isSortedDynamic(state) && !hasOrderedTablets(state)) {
      for (const { id } of state.tablets) {
        present.add(id);
      }
      if (state.tablets.some(({ id }) => figures.find(id) === undefined)) {
        uncounted.push(state);
      }
    }
  }
  for (const state of uncounted) {
    const counted = await countVersions(environment, state);
    await commitPrepared(cell, (batch, prepared) => {
      for (const { id } of state.tablets) {
        prepared.push(figures.prepareNew(batch, id, counted.get(id) ?? noFigures));
      }
    });
  }
  const gone = [...figures.tabletIds()].filter((id) => !present.has(id));
  await commitPrepared(cell, (batch, prepared) => {
    for (const id of gone) {
      prepared.push(figures.prepareRemoval(batch, id));
    }
  });
}

async function countVersions(
  { cell }: TableEnvironment,
  { rowsId, tablets }: TableState,
): Promise<ReadonlyMap<string, TabletFigures>> {
  const counted = new Map<string, TabletFigures>();
  let range: KeyRange | undefined = rowsId === undefined ? undefined : prefixRange(rowsPrefix(rowsId));
  while (range !== undefined) {
    let next: KeyRange | undefined;
    let left = versionsPerTurn;
    for (const stored of readVersions(cell, range, () => `#${rowsId}`)) {
      const { version, byteSize } = stored;
      const key = rowKeyOf(stored.key);
      const { id } = tabletOfKey(tablets, key);
      const one: TabletFigures = {
        versionCount: 1,
        dataWeight: versionWeight(key, version.cells),
        byteSize,
        lastCommitTimestamp: timestampOfKey(stored.key),
      };
      counted.set(id, addFigures(counted.get(id) ?? noFigures, one));
      if (--left === 0) {
        next = { from: keyAfter(lastPartKey(stored)), to: range.to };
        break;
      }
    }
    range = next;
    await turn();
  }
  return counted;
}
