/**
 * `alter_table`: schema changes, and the switch between static and dynamic.
 * Specified in: table_node_proxy_detail.cpp, documentation "Dynamic tables: MapReduce operations".
 */
import { type YsonValue, YtError } from "@qyt/base";
import { checkAlter, TableSchema, toDynamicSchema } from "@qyt/schema";
import type { Draft, Node } from "../../cypress/index.ts";
import { releaseList, staticStatistics } from "../static/table-rows.ts";
import { parseReplicaId } from "./creation.ts";
import { dynamicSchema } from "./dynamic-schema.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { adoptRows, type StagedRows, stageSortedRows, stageStaticRows } from "./sorted-switch.ts";
import { isOrderedDynamic, isSortedDynamic, type TableState } from "./table-state.ts";
import { createOrderedTablet, destroyOrderedTablet, tabletObjectType } from "./tablets.ts";

export interface AlterOptions {
  readonly schema?: YsonValue;
  readonly dynamic?: boolean;
  /** `0-0-0-0` makes the table an ordinary one again. */
  readonly upstreamReplicaId?: string;
}

/**
 * The rows of a sorted table in its other form, where `alterTable` is to switch to it; undefined where it is not.
 * @param hold keeps what can be read now until it is let go
 * @throws YtError as `stageSortedRows` does
 */
export async function stageRows(
  environment: TableEnvironment,
  node: Node<TableState>,
  path: string,
  { dynamic, schema }: AlterOptions,
  hold: () => { readonly timestamp: bigint; readonly letGo: () => void },
): Promise<StagedRows | undefined> {
  const { state } = node;
  const isStill = state.tablets.every((tablet) => tablet.state === "unmounted");
  if (dynamic === undefined || dynamic === state.dynamic || !isStill || state.isReplicated === true) {
    return undefined;
  }
  if (dynamic) {
    const next = dynamicSchema(schema === undefined ? state.schema : TableSchema.fromYson(schema));
    return state.schema.isSorted && next.isSorted
      ? await stageSortedRows(environment, node, next, path)
      : undefined;
  }
  if (!isSortedDynamic(state)) {
    return undefined;
  }
  const { timestamp, letGo } = hold();
  try {
    return await stageStaticRows(environment, node, timestamp, path);
  } finally {
    letGo();
  }
}

export function alterTable(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  options: AlterOptions,
  staged?: StagedRows,
): void {
  const { state } = node;
  const path = draft.pathOf(node);
  if (state.tablets.some((tablet) => tablet.state !== "unmounted")) {
    throw new YtError(`Cannot change table ${path} since not all tablets are unmounted`, {
      code: "InvalidTabletState",
      attributes: { path },
    });
  }
  if (state.isReplicated === true && options.dynamic === false) {
    throw new YtError(`Replicated table ${path} cannot be made static`, { attributes: { path } });
  }
  if (options.dynamic !== undefined && draft.transactionId !== undefined) {
    throw new YtError('Operation cannot be performed in transaction: "dynamic" cannot be changed there');
  }
  let next = state;
  const becomesDynamic = options.dynamic ?? state.dynamic;
  if (options.schema !== undefined) {
    const parsed = TableSchema.fromYson(options.schema);
    const schema = becomesDynamic ? dynamicSchema(parsed) : parsed;
    const isEmpty = !state.dynamic && staticStatistics(environment, state).rowCount === 0;
    checkAlter(state.schema, schema, { dynamic: becomesDynamic, empty: isEmpty });
    const known = new Set(state.valueColumns);
    const added = schema.columns
      .slice(schema.keyColumnCount)
      .map(({ name }) => name)
      .filter((name) => !known.has(name));
    next = {
      ...next,
      schema,
      schemaMode: "strong",
      valueColumns: state.dynamic ? [...state.valueColumns, ...added] : state.valueColumns,
    };
  }
  if (options.dynamic !== undefined && options.dynamic !== state.dynamic) {
    next = options.dynamic
      ? toDynamic(environment, draft, node, next, staged)
      : toStatic(environment, draft, node, next, staged);
  }
  if (options.upstreamReplicaId !== undefined) {
    next = withUpstreamReplica(path, next, options.upstreamReplicaId);
  }
  // What was altered are attributes to clients too: `dynamic`, `schema`.
  draft.update(
    node.id,
    { state: next },
    { lock: { mode: "exclusive" }, revisions: ["attribute", "content"] },
  );
}

function withUpstreamReplica(path: string, state: TableState, given: string): TableState {
  if (!state.dynamic || state.isReplicated === true) {
    throw new YtError(
      `"upstream_replica_id" of table ${path} cannot be set: only dynamic tables that are not replicated can be replicas`,
      { attributes: { path } },
    );
  }
  const upstreamReplicaId = parseReplicaId(given);
  const { upstreamReplicaId: _, ...unbound } = state;
  return upstreamReplicaId === undefined ? unbound : { ...unbound, upstreamReplicaId };
}

function toDynamic(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  state: TableState,
  staged: StagedRows | undefined,
): TableState {
  const schema = toDynamicSchema(state.schema);
  draft.checkAccountRoom(node.account, { tabletCount: 1 });
  if (schema.keyColumnCount > 0) {
    return adoptRows(environment, draft, { ...state, schema }, stagedFor(draft, node, staged));
  }
  const refs = state.chunkListId === undefined ? [] : environment.chunkList(state.chunkListId).refs;
  const id = draft.newId(tabletObjectType);
  const dynamic: TableState = {
    ...state,
    schema,
    dynamic: true,
    tablets: [{ id, state: "unmounted", pivotKey: Buffer.alloc(0) }],
    valueColumns: schema.columns.map(({ name }) => name),
  };
  createOrderedTablet(environment, draft, dynamic, { tabletId: id, tableId: node.id, sealed: refs });
  if (state.chunkListId === undefined) {
    return dynamic;
  }
  releaseList(environment, draft, state.chunkListId);
  const { chunkListId: _, ...withoutList } = dynamic;
  return withoutList;
}

/** @throws YtError when nobody has written the rows anew, because the table was another one before */
function stagedFor(draft: Draft, node: Node<TableState>, staged: StagedRows | undefined): StagedRows {
  if (staged === undefined) {
    const path = draft.pathOf(node);
    throw new YtError(`Table ${path} was changed while it was to be altered; try again`, {
      attributes: { path },
    });
  }
  return staged;
}

function toStatic(
  environment: TableEnvironment,
  draft: Draft,
  node: Node<TableState>,
  state: TableState,
  staged: StagedRows | undefined,
): TableState {
  if (!isOrderedDynamic(state)) {
    return adoptRows(environment, draft, state, stagedFor(draft, node, staged));
  }
  const list = environment.newChunkList();
  const chunkIds = state.tablets.flatMap(({ id }) =>
    environment.orderedTablet(id).pending.sealed.map(({ chunk }) => chunk.id),
  );
  attach(draft, list.prepareShare(draft.batch, chunkIds));
  for (const { id } of state.tablets) {
    destroyOrderedTablet(environment, draft, id);
  }
  const { upstreamReplicaId: _, ...unbound } = state;
  return { ...unbound, dynamic: false, tablets: [], valueColumns: [], chunkListId: list.id };
}
