/** Copies and moves of tables. Specified in: tablet_manager.cpp (ValidateNodeCloneMode). */
import { assert, YtError } from "@qyt/base";
import { prefixRange } from "../../cell/index.ts";
import type { Draft, Node } from "../../cypress/index.ts";
import { rowsPrefix } from "../sorted/index.ts";
import { staticChunks, withRows } from "../static/table-rows.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { copiedSettings } from "./queue-attributes.ts";
import { createSortedTablet } from "./sorted-tablets.ts";
import { isOrderedDynamic, isSortedDynamic, type TableState, type TabletRecord } from "./table-state.ts";
import { createOrderedTablet, tabletObjectType } from "./tablets.ts";

/** How many records a mutation copies; those of larger tables are copied before it. */
const maxCopiedRecords = 100_000;

/** State of the copy, its rows included. @throws YtError for tablets that are mounted, or frozen in a move */
export function copyState(
  environment: TableEnvironment,
  draft: Draft,
  source: Node<TableState>,
  targetId: string,
  isMove: boolean,
): TableState {
  const state = isMove ? source.state : { ...source.state, settings: copiedSettings(source.state.settings) };
  if (!state.dynamic) {
    const chunkIds = staticChunks(environment, state).map(({ chunk }) => chunk.id);
    if (chunkIds.length === 0) {
      return withRows(state, {});
    }
    const list = environment.newChunkList();
    attach(draft, list.prepareShare(draft.batch, chunkIds));
    return withRows(state, { chunkListId: list.id });
  }
  requireStill(draft, source, isMove);
  const rowsId = isSortedDynamic(state)
    ? copySortedRows(environment, draft, source, targetId, isMove)
    : undefined;
  const tablets = state.tablets.map((tablet): TabletRecord => {
    if (!isOrderedDynamic(state)) {
      return createSortedTablet(environment, draft, tablet.pivotKey, environment.figures.pending(tablet.id));
    }
    const id = draft.newId(tabletObjectType);
    const { pending } = environment.orderedTablet(tablet.id);
    createOrderedTablet(environment, draft, state, {
      tabletId: id,
      tableId: targetId,
      sealed: pending.sealed,
      trimmedRowCount: pending.trimmedRowCount,
      cumulativeDataWeight: pending.cumulativeDataWeight,
    });
    return { id, state: "unmounted", pivotKey: tablet.pivotKey };
  });
  return { ...state, tablets, ...(rowsId === undefined ? {} : { rowsId }) };
}

function requireStill(draft: Draft, source: Node<TableState>, isMove: boolean): void {
  const moving = source.state.tablets.find(
    (tablet) => tablet.state === "mounted" || (isMove && tablet.state !== "unmounted"),
  );
  if (moving === undefined) {
    return;
  }
  const path = draft.pathOf(source);
  throw new YtError(
    isMove
      ? `Cannot move dynamic table ${path} since not all tablets are unmounted`
      : `Cannot copy dynamic table ${path} since not all tablets are frozen or unmounted`,
    {
      code: "InvalidTabletState",
      attributes: { path, tablet_id: moving.id, state: moving.state },
    },
  );
}

/** @returns the id under which the rows of the copy are stored */
function copySortedRows(
  environment: TableEnvironment,
  draft: Draft,
  source: Node<TableState>,
  targetId: string,
  isMove: boolean,
): string {
  const { rowsId } = source.state;
  assert(rowsId !== undefined, "a sorted table has rows");
  if (isMove && draft.transactionId === undefined) {
    // The source goes in the same mutation, and leaves its rows behind.
    const { rowsId: _, ...withoutRows } = source.state;
    draft.update(source.id, { state: withoutRows });
    return rowsId;
  }
  const retained = environment.retainedTimestamp(rowsId);
  for (const copies of environment.stagedCopies) {
    const copy = copies.get(source.id);
    if (copy?.state === source.state && !copy.isTaken) {
      copy.isTaken = true;
      draft.onFailed(() => {
        copy.isTaken = false;
      });
      environment.addSortedRows(draft.batch, copy.rowsId, retained);
      return copy.rowsId;
    }
  }
  environment.addSortedRows(draft.batch, targetId, retained);
  const prefix = rowsPrefix(rowsId);
  const target = rowsPrefix(targetId);
  const { from, to } = prefixRange(prefix);
  let count = 0;
  for (const { key, value } of environment.cell.range(from, to)) {
    if (++count > maxCopiedRecords) {
      throw new YtError(
        `Table ${draft.pathOf(source)} has changed while its rows were copied; copy it again`,
        { code: "Unavailable", attributes: { path: draft.pathOf(source) } },
      );
    }
    draft.batch.put(Buffer.concat([target, key.subarray(prefix.length)]), value);
  }
  return targetId;
}
