/**
 * `write_table`: rows are checked and written to a new chunk as they come, seen by nobody. The last step is
 * one change of the tree that puts the chunk into the table. What fails before leaves the table as it was.
 * Specified in: yt/yt/client/driver/table_commands.cpp (TWriteTableCommand),
 * yt/yt/ytlib/table_client/schemaless_chunk_writer.cpp.
 */
import { turn, YtError } from "@qyt/base";
import {
  createRowReader,
  createSchemalessRowReader,
  type EncodedRows,
  type RowReader,
  type TableSchema,
} from "@qyt/schema";
import type { DataFormat, RichPath } from "@qyt/yson";
import type { Draft, Node, RequestContext } from "../../cypress/index.ts";
import { type RowFormat, type RowSlice, StaticChunkWriter, schemalessFormat } from "../chunks/index.ts";
import { readStore } from "../chunks/store-reader.ts";
import { attach, type TableEnvironment } from "../tables/environment.ts";
import type { TableManager } from "../tables/manager.ts";
import type { TableState } from "../tables/table-state.ts";
import { KeyColumns, type RowKey } from "./row-keys.ts";
import { RowOrder } from "./row-order.ts";
import { appendRows, replaceRows, staticChunks } from "./table-rows.ts";
import { planWrite, type WritePlan } from "./write-plan.ts";

export interface WriteTableOptions {
  readonly path: RichPath;
  readonly format: DataFormat;
  readonly body: AsyncIterable<Buffer>;
  /** Of one row, in bytes of data weight. */
  readonly maxKeyWeight?: number;
}

/** So much input is parsed at a time: one or two milliseconds. */
const pieceBytes = 32 * 1024;

/** Stored cells of a static table: all columns of a strict schema; otherwise rows are maps. */
export function staticRowFormat(schema: TableSchema): RowFormat {
  return schema.strict
    ? { columns: schema.columns.map(({ name }) => name), hasTimestamp: false, hasCumulativeDataWeight: false }
    : schemalessFormat;
}

/**
 * Writes the rows of the body into a static table.
 * @throws YtError 500, 901, 400–403; 307, 308, 321, 326 for a bad row, 301 and 306 for its place; whatever
 * the body throws
 */
export async function writeTable(
  tables: TableManager,
  context: RequestContext,
  options: WriteTableOptions,
): Promise<void> {
  const { environment, cypress } = tables;
  const table = tables.find(context, options.path);
  table.view.check(context.user, "write", table.node);
  environment.disk.requireRoom(
    () => cypress.view(),
    () => table.node.account,
  );
  const { state } = table.node;
  const plan = planWrite(options.path, table.path, state);
  await checkLock(tables, context, table.id, plan);
  const format = staticRowFormat(plan.schema);
  const readerOptions = { rowKind: "static" } as const;
  const reader = plan.schema.strict
    ? createRowReader(options.format, plan.schema, readerOptions)
    : createSchemalessRowReader(options.format, plan.schema, readerOptions);
  const order = plan.schema.isSorted ? new RowOrder(plan.schema, format, options.maxKeyWeight) : undefined;
  const writer = new StaticChunkWriter(environment.chunks, format);
  try {
    for await (const rows of readPieces(reader, options.body)) {
      order?.check(rows);
      await writer.write(rows);
    }
    await writer.close();
    await cypress.mutate(context, (draft) => {
      const node = draft.nodeOrThrow(table.id) as Node<TableState>;
      draft.check(context.user, "write", node);
      requireSameTable(node.state, state, table.path);
      putRows(environment, draft, node, { plan, writer, order });
    });
  } catch (error) {
    await writer.abort();
    throw error;
  }
  if (writer.rowCount === 0) {
    await writer.abort();
  }
}

/** The rows of the input as they become complete. */
async function* readPieces(
  reader: RowReader,
  body: AsyncIterable<Buffer>,
): AsyncGenerator<EncodedRows, void, void> {
  for await (const chunk of body) {
    for (let start = 0; start < chunk.length; start += pieceBytes) {
      reader.feed(chunk.subarray(start, start + pieceBytes));
      const rows = reader.drain();
      if (rows.rowCount > 0) {
        yield rows;
      }
      await turn();
    }
  }
  const rest = reader.finish();
  if (rest.rowCount > 0) {
    yield rest;
  }
}

/** Thrown to give a draft up that was only to tell whether it could be made. */
class NothingToDo extends Error {
  override readonly name = "NothingToDo";
}

/** Finds out before the rows are read whether somebody else has locked the table. @throws YtError 400–403, 1000 */
async function checkLock(
  tables: TableManager,
  context: RequestContext,
  tableId: string,
  plan: WritePlan,
): Promise<void> {
  try {
    await tables.cypress.mutate(context, (draft) => {
      draft.lockImplicitly(tableId, plan.lock);
      throw new NothingToDo();
    });
  } catch (error) {
    if (!(error instanceof NothingToDo)) {
      throw error;
    }
  }
}

/** The rows were checked against what the table was when the write began. */
function requireSameTable(now: TableState, before: TableState, path: string): void {
  if (now.dynamic || now.schemaMode !== before.schemaMode || !now.schema.equals(before.schema)) {
    throw new YtError(`Table ${path} was altered while its rows were written`, {
      code: "IncompatibleSchemas",
      attributes: { path },
    });
  }
}

interface Upload {
  readonly plan: WritePlan;
  readonly writer: StaticChunkWriter;
  readonly order: RowOrder | undefined;
}

function putRows(environment: TableEnvironment, draft: Draft, node: Node<TableState>, upload: Upload): void {
  const { plan, writer, order } = upload;
  draft.lockImplicitly(node.id, plan.lock);
  const isEmpty = writer.rowCount === 0;
  if (plan.append && isEmpty) {
    return;
  }
  if (plan.append && order?.first !== undefined) {
    checkSeam(environment, node.state, plan.schema, order, order.first);
  }
  const next: TableState = { ...node.state, schema: plan.schema, schemaMode: plan.schemaMode };
  if (isEmpty) {
    draft.update(
      node.id,
      { state: replaceRows(environment, draft, node, next, undefined) },
      { lock: plan.lock },
    );
    return;
  }
  const { chunk, ...prepared } = writer.finish(draft.batch);
  attach(draft, prepared);
  const added = { kind: "new", chunk } as const;
  const state = plan.append
    ? appendRows(environment, draft, node, next, added)
    : replaceRows(environment, draft, node, next, added);
  draft.update(node.id, { state }, { lock: plan.lock });
}

/** That the new rows come behind those that are there. @throws YtError 301, 306 */
function checkSeam(
  environment: TableEnvironment,
  state: TableState,
  schema: TableSchema,
  order: RowOrder,
  first: RowKey,
): void {
  const last = lastKey(environment, state, schema);
  if (last !== undefined) {
    order.checkPair(last, first, 0);
  }
}

/** The key of the last row of a static table. */
export function lastKey(
  environment: TableEnvironment,
  state: TableState,
  schema: TableSchema,
): RowKey | undefined {
  const ref = staticChunks(environment, state).at(-1);
  return ref === undefined ? undefined : keyOfRow(environment, ref, ref.rowCount - 1, new KeyColumns(schema));
}

/** The key of one row of a chunk, counted from the start of the chunk. */
export function keyOfRow(
  environment: TableEnvironment,
  ref: ReturnType<typeof staticChunks>[number],
  row: number,
  keys: KeyColumns,
): RowKey | undefined {
  const slices: Iterable<RowSlice> = readStore(environment.chunks, ref, row, row + 1);
  for (const { block, from } of slices) {
    return keys.read(ref.format, block.bytes, block.rowStart(from), block.rowEnd(from));
  }
  return undefined;
}
