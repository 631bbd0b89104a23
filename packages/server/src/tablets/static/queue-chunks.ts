/**
 * The chunks of a queue, for its exports: which rows are flushed and how young they are, and a static table
 * made of them without copying a row.
 *
 * Extensions: the real system fetches chunk specs from the master and attaches chunks through its native
 * API (yt/yt/server/queue_agent/queue_exporter.cpp), which has no commands.
 */
import { limits, mapOf, turn, Uint64, type YsonMap, YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { Draft, Node, RequestContext, View } from "../../cypress/index.ts";
import type { StoreRef } from "../chunks/index.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import type { TableContext, TableManager } from "../tables/manager.ts";
import { isOrderedDynamic, type TableState } from "../tables/table-state.ts";
import { appendRows } from "./table-rows.ts";
import { planWrite } from "./write-plan.ts";

/** Describing so many chunks takes a millisecond or two. */
const chunksPerTurn = 1_000;
/** Attaching takes about 10 µs for each, in one mutation. */
const maxAttachedChunks = 10_000;

/**
 * Describes the chunks of a queue, those that are in its tablets now, in row order. Rows of dynamic stores are
 * left out. Mounted or not, the answer is the same.
 *
 * @param tabletIndexes of the tablets wanted; undefined for all
 * @returns `object_id` of the queue and `tablets`; a chunk's `start_row_index` and `row_count` count its
 * trimmed rows too
 * @throws YtError 500, 901, 1701 for a wrong index, 1 for a table that is no queue
 */
export async function fetchQueueChunks(
  tables: TableManager,
  context: TableContext,
  path: RichPath,
  tabletIndexes: readonly number[] | undefined,
): Promise<YsonMap> {
  if (tabletIndexes !== undefined && tabletIndexes.length > limits.maxTabletCount) {
    throw new YtError(
      `Too many tablet indexes: ${tabletIndexes.length}, limit ${limits.maxTabletCount}; a table has no more tablets`,
    );
  }
  const { node, view, id } = tables.find(context, path);
  view.check(context.user, "read", node);
  requireQueue(view, node);
  const { environment } = tables;
  // Taken before the first pause, so that the answer shows one moment.
  const wanted = (tabletIndexes ?? node.state.tablets.map((_, index) => index)).map((tabletIndex) => {
    const record = node.state.tablets[tabletIndex];
    const tablet = record === undefined ? undefined : environment.orderedTablets.get(record.id);
    if (tablet === undefined) {
      throw new YtError(
        `Invalid tablet index for table ${view.pathOf(node)}: expected in range [0,${node.state.tablets.length - 1}], got ${tabletIndex}`,
        { code: "NoSuchTablet", attributes: { tablet_index: BigInt(tabletIndex) } },
      );
    }
    return { tabletIndex, state: tablet.visible };
  });
  const found: YsonMap[] = [];
  let described = 0;
  for (const { tabletIndex, state } of wanted) {
    const chunks: YsonMap[] = [];
    for (const ref of state.sealed) {
      chunks.push(describeChunk(ref));
      if (++described % chunksPerTurn === 0) {
        await turn();
      }
    }
    found.push(
      mapOf({
        tablet_index: BigInt(tabletIndex),
        trimmed_row_count: BigInt(state.trimmedRowCount),
        chunks,
      }),
    );
  }
  return mapOf({ object_id: id, tablets: found });
}

function describeChunk({ chunk, firstRowIndex }: StoreRef): YsonMap {
  return mapOf({
    id: chunk.id,
    start_row_index: BigInt(firstRowIndex),
    row_count: BigInt(chunk.rowCount),
    data_weight: BigInt(chunk.dataWeight),
    max_timestamp: new Uint64(chunk.maxTimestamp),
    min_timestamp: new Uint64(chunk.minTimestamp),
  });
}

export interface AttachOptions {
  /** An existing static table, not sorted, with the schema of the queue. */
  readonly destination: RichPath;
  readonly source: RichPath;
  /** In the order in which their rows are to follow those of the table. */
  readonly chunkIds: readonly string[];
}

/**
 * Puts chunks of a queue behind the rows of a static table, in the master transaction of the context if
 * there is one. The chunks are shared: whoever goes first, queue or table, the other keeps its rows.
 *
 * @throws YtError 500, 901, 400–403; 316 when the schemas differ; 708 for a chunk that is not in the queue (any
 * more); 1 for tables of other kinds and for a chunk named twice. Then nothing has changed.
 */
export async function attachQueueChunks(
  tables: TableManager,
  context: RequestContext,
  options: AttachOptions,
): Promise<void> {
  const { chunkIds } = options;
  if (chunkIds.length > maxAttachedChunks) {
    throw new YtError(
      `Too many chunks to attach: ${chunkIds.length}, limit ${maxAttachedChunks}; attach them in several requests within one transaction`,
    );
  }
  const { environment } = tables;
  await tables.cypress.mutate(context, (draft) => {
    const queue = tableAt(draft, options.source);
    const destination = tableAt(draft, options.destination);
    draft.check(context.user, "full_read", queue);
    draft.check(context.user, "write", destination);
    requireQueue(draft, queue);
    const plan = requireDestination(draft, destination, queue);
    requireChunks(draft, environment, queue, chunkIds);
    draft.lockImplicitly(destination.id, plan.lock);
    if (chunkIds.length > 0) {
      const { state } = destination;
      const next = appendRows(environment, draft, destination, state, { kind: "shared", chunkIds });
      draft.update(destination.id, { state: next }, { lock: plan.lock });
    }
  });
}

function tableAt(draft: Draft, path: RichPath): Node<TableState> {
  const node = draft.resolveNode(path.path);
  if (node.type !== "table") {
    throw new YtError(`Type of ${draft.describe(node)} is "${node.type}", but it must be a table`, {
      code: "InvalidObjectType",
      attributes: { path: draft.pathOf(node), type: node.type },
    });
  }
  return node as Node<TableState>;
}

function requireQueue(view: View, node: Node<TableState>): void {
  if (!isOrderedDynamic(node.state)) {
    const path = view.pathOf(node);
    throw new YtError(
      `Table ${path} is not ${node.state.dynamic ? "ordered" : "dynamic"}: only an ordered dynamic table is a queue`,
      { attributes: { path } },
    );
  }
}

function requireDestination(
  draft: Draft,
  destination: Node<TableState>,
  queue: Node<TableState>,
): ReturnType<typeof planWrite> {
  const path = draft.pathOf(destination);
  const plan = planWrite({ path, attributes: mapOf({ append: true }) }, path, destination.state);
  if (plan.schema.isSorted) {
    throw new YtError(`Cannot attach chunks of a queue to sorted table ${path}`, { attributes: { path } });
  }
  if (plan.schemaMode !== "strong" || !plan.schema.equals(queue.state.schema)) {
    throw new YtError(
      `Schema of table ${path} differs from that of queue ${draft.pathOf(queue)}; create the table with the queue's "schema"`,
      {
        code: "IncompatibleSchemas",
        attributes: {
          path,
          source_schema: queue.state.schema.toYson(),
          destination_schema: plan.schema.toYson(),
        },
      },
    );
  }
  return plan;
}

/** Chunks that a trim or a removal in flight takes away are not the queue's any more. */
function requireChunks(
  draft: Draft,
  environment: TableEnvironment,
  queue: Node<TableState>,
  chunkIds: readonly string[],
): void {
  const present = new Set<string>();
  for (const { id } of queue.state.tablets) {
    for (const { chunkId } of environment.orderedTablets.get(id)?.pending.sealed ?? []) {
      present.add(chunkId);
    }
  }
  const named = new Set<string>();
  for (const chunkId of chunkIds) {
    if (!present.has(chunkId)) {
      const path = draft.pathOf(queue);
      throw new YtError(
        `Chunk ${chunkId} is not among the chunks of queue ${path}: it may have been trimmed; fetch the chunks again`,
        { code: "NoSuchChunk", attributes: { chunk_id: chunkId, path } },
      );
    }
    if (named.has(chunkId)) {
      throw new YtError(`Chunk ${chunkId} is named twice`, { attributes: { chunk_id: chunkId } });
    }
    named.add(chunkId);
  }
}
