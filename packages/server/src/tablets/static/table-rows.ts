/**
 * Which chunk lists the versions of a static table name, and who holds them.
 *
 * A version is the node in the tree, what a transaction has made of it, or what a snapshot lock has
 * frozen. Overwriting puts a new list in place of the old ones. Appending outside of transactions adds a
 * chunk to the list, or to a copy of it when somebody else holds it too. Appending in a transaction adds
 * a list of its own, so that several transactions append at a time; the commit moves its chunks over.
 *
 * Every holder counts one on each of its lists; a version that only inherits its rows counts nothing.
 */
import type { Draft, Node } from "../../cypress/index.ts";
import type { Chunk, ChunkListStatistics, StoreRef } from "../chunks/index.ts";
import { layOutChunks, type StaticChunkList } from "../chunks/index.ts";
import { attach, type TableEnvironment } from "../tables/environment.ts";

/** The part of a node's state that tells its rows; files have the same. */
export interface ListedRows {
  readonly chunkListId?: string;
  readonly deltaListIds?: readonly string[];
  readonly rowsHolder?: string;
}

interface NewRows {
  readonly chunkListId?: string | undefined;
  readonly deltaListIds?: readonly string[] | undefined;
  readonly rowsHolder?: string | undefined;
}

/** The same state with other rows. */
export function withRows<State extends ListedRows>(state: State, rows: NewRows): State {
  const { chunkListId: _, deltaListIds: __, rowsHolder: ___, ...rest } = state;
  const next = {
    ...rest,
    ...(rows.chunkListId === undefined ? {} : { chunkListId: rows.chunkListId }),
    ...(rows.deltaListIds === undefined || rows.deltaListIds.length === 0
      ? {}
      : { deltaListIds: rows.deltaListIds }),
    ...(rows.rowsHolder === undefined ? {} : { rowsHolder: rows.rowsHolder }),
  };
  // The three fields are optional and nothing else is left out.
  return next as unknown as State;
}

/** The table's lists in the order of their rows. */
export function listIdsOf(state: ListedRows): string[] {
  return [...(state.chunkListId === undefined ? [] : [state.chunkListId]), ...(state.deltaListIds ?? [])];
}

/** The chunks of a static table or file, each at the index of its first row. */
export function staticChunks(environment: TableEnvironment, state: ListedRows): readonly StoreRef[] {
  const lists = listIdsOf(state).map((id) => environment.chunkList(id).refs);
  const [first = [], ...others] = lists;
  return others.length === 0
    ? first
    : layOutChunks(
        lists.flat().map(({ chunk }) => chunk),
        0,
      );
}

/** Sums over the chunks of a static table or file. */
export function staticStatistics(environment: TableEnvironment, state: ListedRows): ChunkListStatistics {
  let sum: ChunkListStatistics = { chunkCount: 0, rowCount: 0, dataWeight: 0, byteSize: 0 };
  for (const id of listIdsOf(state)) {
    const one = environment.chunkList(id).statistics();
    sum = {
      chunkCount: sum.chunkCount + one.chunkCount,
      rowCount: sum.rowCount + one.rowCount,
      dataWeight: sum.dataWeight + one.dataWeight,
      byteSize: sum.byteSize + one.byteSize,
    };
  }
  return sum;
}

/** One holder fewer of a list; its chunks go with the last one. */
export function releaseList(environment: TableEnvironment, draft: Draft, id: string): void {
  const list = environment.chunkList(id);
  attach(draft, list.prepareRelease(draft.batch));
  if (list.holderCount === 0) {
    draft.onDurable(() => environment.forgetChunkList(id));
  }
}

export function releaseRows(environment: TableEnvironment, draft: Draft, state: ListedRows): void {
  for (const id of listIdsOf(state)) {
    releaseList(environment, draft, id);
  }
}

export function holdRows(environment: TableEnvironment, draft: Draft, state: ListedRows): void {
  for (const id of listIdsOf(state)) {
    attach(draft, environment.chunkList(id).prepareHold(draft.batch));
  }
}

/** Rows that a change puts into a table: one new chunk, or chunks that are in other lists already. */
export type NewChunks =
  | { readonly kind: "new"; readonly chunk: Chunk }
  | { readonly kind: "shared"; readonly chunkIds: readonly string[] };

function addTo(list: StaticChunkList, draft: Draft, added: NewChunks): void {
  attach(
    draft,
    added.kind === "new"
      ? list.prepareAdopt(draft.batch, added.chunk)
      : list.prepareShare(draft.batch, added.chunkIds),
  );
}

function newList(environment: TableEnvironment, draft: Draft, added: NewChunks): string {
  const list = environment.newChunkList();
  addTo(list, draft, added);
  return list.id;
}

/** Adds to the list, or to a copy of it if others hold it too. Gives the id of the list with the rows. */
function appendToList(
  environment: TableEnvironment,
  draft: Draft,
  id: string | undefined,
  added: NewChunks,
): string {
  if (id === undefined) {
    return newList(environment, draft, added);
  }
  const list = environment.chunkList(id);
  if (list.holderCount === 1) {
    addTo(list, draft, added);
    return id;
  }
  const chunkIds = list.pendingRefs.map(({ chunk }) => chunk.id);
  const copy = environment.newChunkList();
  addTo(copy, draft, { kind: "shared", chunkIds });
  addTo(copy, draft, added);
  releaseList(environment, draft, id);
  return copy.id;
}

/** Who holds the rows that the draft's transaction writes: absent outside of one and for a node it made. */
function holderOf(draft: Draft, node: Node): string | undefined {
  const { transactionId } = draft;
  return transactionId === undefined || draft.tree.branches.get(transactionId, node.id)?.kind === "created"
    ? undefined
    : transactionId;
}

/**
 * The state after an overwrite; the old rows are released if this version holds them.
 * @param next schema and settings of the table from now on
 */
export function replaceRows<State extends ListedRows>(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<State>,
  next: State,
  added: NewChunks | undefined,
): State {
  const holder = holderOf(draft, node);
  // The new list first: it may name chunks that are in no other list than the old one.
  const chunkListId = added === undefined ? undefined : newList(environment, draft, added);
  if (holder === node.state.rowsHolder) {
    releaseRows(environment, draft, node.state);
  }
  return withRows(next, { chunkListId, rowsHolder: holder });
}

/** The state after an append. */
export function appendRows<State extends ListedRows>(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<State>,
  next: State,
  added: NewChunks,
): State {
  const { state } = node;
  const holder = holderOf(draft, node);
  if (holder === state.rowsHolder) {
    return appendToOwn(environment, draft, state, next, added);
  }
  holdRows(environment, draft, state);
  const delta = newList(environment, draft, added);
  return withRows(next, {
    chunkListId: state.chunkListId,
    deltaListIds: [...(state.deltaListIds ?? []), delta],
    rowsHolder: holder,
  });
}

/** Appends to the last list of a version that holds its lists. */
function appendToOwn<State extends ListedRows>(
  environment: TableEnvironment,
  draft: Draft,
  state: ListedRows,
  next: State,
  added: NewChunks,
): State {
  const deltas = state.deltaListIds ?? [];
  const last = deltas.at(-1);
  return last === undefined
    ? withRows(next, {
        chunkListId: appendToList(environment, draft, state.chunkListId, added),
        rowsHolder: state.rowsHolder,
      })
    : withRows(next, {
        chunkListId: state.chunkListId,
        deltaListIds: [...deltas.slice(0, -1), appendToList(environment, draft, last, added)],
        rowsHolder: state.rowsHolder,
      });
}

/** What the version above has after the commit of a transaction that changed the state. */
export function commitRows<State extends ListedRows>(
  environment: TableEnvironment,
  draft: Draft,
  branch: Node<State>,
  above: Node<State>,
): State {
  const { state } = branch;
  const transaction = state.rowsHolder;
  if (transaction === undefined || transaction === above.state.rowsHolder) {
    // Something else was changed: the rows are inherited from above.
    return withRows(state, above.state);
  }
  const target = draft.tree.transactions.get(transaction)?.parentId;
  const targetBranch = target === undefined ? undefined : draft.tree.branches.get(target, branch.id);
  if (targetBranch?.kind === "snapshot") {
    // The transaction above has frozen the table meanwhile: what was done to it below is lost.
    releaseRows(environment, draft, state);
    return withRows(state, above.state);
  }
  const isNode = target === undefined || targetBranch?.kind === "created";
  const holder = isNode ? undefined : target;
  if (above.state.rowsHolder !== holder) {
    // The version above has no rows of its own yet.
    return withRows(state, { ...state, rowsHolder: holder });
  }
  const deltas = state.deltaListIds ?? [];
  const delta = deltas.at(-1);
  if (delta === undefined) {
    releaseRows(environment, draft, above.state);
    return withRows(state, { ...state, rowsHolder: holder });
  }
  if (state.chunkListId === undefined && deltas.length === 1 && listIdsOf(above.state).length === 0) {
    return withRows(state, { chunkListId: delta, rowsHolder: holder });
  }
  for (const id of listIdsOf(state).slice(0, -1)) {
    releaseList(environment, draft, id);
  }
  const chunkIds = environment.chunkList(delta).pendingRefs.map(({ chunk }) => chunk.id);
  const result = appendToOwn(environment, draft, above.state, state, { kind: "shared", chunkIds });
  releaseList(environment, draft, delta);
  return result;
}

/** A transaction's version goes: its lists lose their holder, if it is the one. */
export function abortRows(environment: TableEnvironment, draft: Draft, branch: Node<ListedRows>): void {
  const { state } = branch;
  if (state.rowsHolder === undefined) {
    return;
  }
  const own = draft.tree.branches.get(state.rowsHolder, branch.id);
  if (own?.kind === "changed" && own.patch.state === state) {
    releaseRows(environment, draft, state);
  }
}
