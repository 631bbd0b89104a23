/**
 * Copies of large sorted tables. The rows are copied before the mutation that makes the table, a part at a time and
 * seen by nobody, and the mutation names them. What a crash leaves before that is removed at the next start.
 */
import { defined, turn } from "@qyt/base";
import { keyAfter, prefixRange, WriteBatch } from "../../cell/index.ts";
import type { Node, View } from "../../cypress/index.ts";
import { commitPrepared } from "../chunks/commit-prepared.ts";
import { rowsPrefix } from "../sorted/index.ts";
import { putStaged } from "../sorted/retained-record.ts";
import type { TableEnvironment } from "./environment.ts";
import { dropSortedStaged } from "./sorted-switch.ts";
import { sortedFigures } from "./sorted-tablets.ts";
import type { StagedCopy } from "./staged-copy.ts";
import { isSortedDynamic, type TableState, tableObjectType } from "./table-state.ts";

/** A table with fewer versions is copied within the mutation. */
const largeVersionCount = 20_000;
const recordsPerCommit = 1_000;

/**
 * Copies the rows of the large sorted tables at or below a node, calls `work`, and removes what that has not taken.
 * Tables that cannot be copied, as they are mounted, are left to `work`.
 */
export async function withStagedCopies<T>(
  environment: TableEnvironment,
  view: View,
  source: Node,
  work: () => Promise<T>,
): Promise<T> {
  const tables = largeTables(environment, view, source);
  if (tables.length === 0) {
    return work();
  }
  const copies = new Map<string, StagedCopy>();
  const rowsIds = tables.map(({ state }) => defined(state.rowsId, "rows of a sorted table"));
  for (const rowsId of rowsIds) {
    environment.keepVersions(rowsId);
  }
  try {
    for (const { id, state } of tables) {
      const copy: StagedCopy = {
        state,
        rowsId: environment.cell.newObjectId(tableObjectType),
        isTaken: false,
      };
      copies.set(id, copy);
      await copyRows(environment, defined(state.rowsId, "rows of a sorted table"), copy.rowsId);
    }
    environment.stagedCopies.add(copies);
    return await work();
  } finally {
    environment.stagedCopies.delete(copies);
    for (const rowsId of rowsIds) {
      environment.releaseVersions(rowsId);
    }
    for (const { isTaken, rowsId } of copies.values()) {
      if (!isTaken) {
        await dropSortedStaged(environment, rowsId);
      }
    }
  }
}

function largeTables(environment: TableEnvironment, view: View, source: Node): Node<TableState>[] {
  const found: Node<TableState>[] = [];
  for (const node of view.nodesOfType("table")) {
    const table = node as Node<TableState>;
    const { state } = table;
    if (
      isSortedDynamic(state) &&
      sortedFigures(environment, state).versionCount > largeVersionCount &&
      state.tablets.every((tablet) => tablet.state !== "mounted") &&
      isInside(view, table, source)
    ) {
      found.push(table);
    }
  }
  return found;
}

function isInside(view: View, node: Node, directory: Node): boolean {
  for (let current: Node | undefined = node; current !== undefined; ) {
    if (current.id === directory.id) {
      return true;
    }
    current = current.parentId === undefined ? undefined : view.node(current.parentId);
  }
  return false;
}

async function copyRows({ cell }: TableEnvironment, rowsId: string, targetId: string): Promise<void> {
  // Compaction that began before is durable when this is.
  await commitPrepared(cell, (batch) => putStaged(batch, targetId));
  const prefix = rowsPrefix(rowsId);
  const target = rowsPrefix(targetId);
  const range = prefixRange(prefix);
  for (let from: Buffer | undefined = range.from; from !== undefined; ) {
    const batch = new WriteBatch();
    let next: Buffer | undefined;
    for (const { key, value } of cell.range(from, range.to, { limit: recordsPerCommit })) {
      batch.put(Buffer.concat([target, key.subarray(prefix.length)]), value);
      next = keyAfter(key);
    }
    if (batch.entryCount > 0) {
      await cell.commit({ batch });
    }
    from = next;
    await turn();
  }
}
