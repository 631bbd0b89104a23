/**
 * Sorted tables between static and dynamic: the rows are written anew in the other form, a part at a time and
 * seen by nobody, and the mutation that switches the table names them. What a crash leaves before that is removed
 * at the next start.
 * Specified in: documentation "Dynamic tables: MapReduce operations", "Converting a static table".
 */
import { turn, YtError } from "@qyt/base";
import { EncodedRowsBuilder, type RowValue, type TableSchema } from "@qyt/schema";
import { prefixRange, WriteBatch } from "../../cell/index.ts";
import type { Draft, Node } from "../../cypress/index.ts";
import { commitPrepared } from "../chunks/commit-prepared.ts";
import { StaticChunkWriter } from "../chunks/static-chunk-writer.ts";
import { readStore } from "../chunks/store-reader.ts";
import { addFigures, noFigures, type TabletFigures, versionWeight } from "../sorted/index.ts";
import { putStaged, removeRetained, stagedRows } from "../sorted/retained-record.ts";
import { encodeRowKey, rowsPrefix, versionStamp } from "../sorted/row-keys.ts";
import { putVersion } from "../sorted/stored-versions.ts";
import { releaseRows, staticChunks, withRows } from "../static/table-rows.ts";
import { attach, type TableEnvironment } from "./environment.ts";
import { outputColumns, rowValues } from "./slice-writer.ts";
import { createSortedTablet, removeSortedTablets } from "./sorted-tablets.ts";
import { type TableState, tableObjectType } from "./table-state.ts";

const rowsPerCommit = 500;

/** Rows of a table in the form that it is about to have. */
export type StagedRows =
  | {
      readonly kind: "sorted";
      readonly rowsId: string;
      readonly timestamp: bigint;
      readonly figures: TabletFigures;
    }
  | { readonly kind: "static"; readonly writer: StaticChunkWriter };

/**
 * The rows of a sorted static table as those of a dynamic one.
 * @param schema of the dynamic table
 * @throws YtError 306 for a key that is there twice, 308 for one that is too long, 316 unless keys are unique
 */
export async function stageSortedRows(
  environment: TableEnvironment,
  node: Node<TableState>,
  schema: TableSchema,
  path: string,
): Promise<StagedRows> {
  if (!node.state.schema.uniqueKeys) {
    throw new YtError(
      `Sorted table ${path} cannot become dynamic: its schema does not have "unique_keys"; write its rows to a table that has`,
      { code: "IncompatibleSchemas", attributes: { path } },
    );
  }
  const { cell, chunks } = environment;
  const rowsId = cell.newObjectId(tableObjectType);
  const refs = staticChunks(environment, node.state);
  for (const { storeId } of refs) {
    chunks.pin(storeId);
  }
  try {
    await commitPrepared(cell, (batch) => putStaged(batch, rowsId));
    const timestamp = cell.nextTimestamp();
    const sink = new VersionSink(schema, rowsId, timestamp, path);
    const names = schema.columns.map(({ name }) => name);
    let batch = new WriteBatch();
    let count = 0;
    for (const ref of refs) {
      for (const slice of readStore(chunks, ref, 0, ref.rowCount)) {
        const columns = outputColumns(schema, slice.format, names);
        for (let row = slice.from; row < slice.to; row++) {
          sink.put(batch, rowValues(slice, row, columns, 0));
          if (++count % rowsPerCommit === 0) {
            await cell.commit({ batch });
            batch = new WriteBatch();
          }
        }
        await turn();
      }
    }
    await cell.commit({ batch });
    return { kind: "sorted", rowsId, timestamp, figures: sink.figures };
  } catch (error) {
    await dropSortedStaged(environment, rowsId);
    throw error;
  } finally {
    for (const { storeId } of refs) {
      chunks.unpin(storeId);
    }
  }
}

/** Rows as versions of one time, in the order of their keys. */
class VersionSink {
  readonly #schema: TableSchema;
  readonly #keyTypes: readonly TableSchema["columns"][number]["physical"][];
  readonly #prefix: Buffer;
  readonly #stamp: Buffer;
  readonly #path: string;
  #last: Buffer | undefined;
  /** Of all that was put. */
  figures: TabletFigures;

  constructor(schema: TableSchema, rowsId: string, timestamp: bigint, path: string) {
    this.#schema = schema;
    this.#keyTypes = schema.columns.slice(0, schema.keyColumnCount).map(({ physical }) => physical);
    this.#prefix = rowsPrefix(rowsId);
    this.#stamp = versionStamp(timestamp);
    this.figures = { ...noFigures, lastCommitTimestamp: timestamp };
    this.#path = path;
  }

  put(batch: WriteBatch, row: readonly RowValue[]): void {
    const { columns, keyColumnCount } = this.#schema;
    const key = encodeRowKey(row.slice(0, keyColumnCount), this.#keyTypes);
    if (this.#last !== undefined && Buffer.compare(this.#last, key) >= 0) {
      throw new YtError(`Table ${this.#path} has a key twice: it cannot become a sorted dynamic table`, {
        code: "UniqueKeyViolation",
        attributes: { path: this.#path },
      });
    }
    this.#last = key;
    const cells = row.slice(keyColumnCount).flatMap((value, columnId) =>
      value === null
        ? []
        : [
            {
              columnId,
              value,
              aggregate: false,
              isUnsigned: columns[keyColumnCount + columnId]?.physical === "uint64",
            },
          ],
    );
    const version = { kind: "write", sharedWrite: false, cells } as const;
    const byteSize = putVersion(batch, this.#prefix, key, this.#stamp, version);
    this.figures = addFigures(this.figures, {
      ...noFigures,
      versionCount: 1,
      dataWeight: versionWeight(key, cells),
      byteSize,
    });
  }
}

/** The newest rows of a sorted dynamic table as those of a static one. @param timestamp that is held */
export async function stageStaticRows(
  environment: TableEnvironment,
  node: Node<TableState>,
  timestamp: bigint,
  path: string,
): Promise<StagedRows> {
  const { schema } = node.state;
  const writer = new StaticChunkWriter(environment.chunks, {
    columns: schema.columns.map(({ name }) => name),
    hasTimestamp: false,
    hasCumulativeDataWeight: false,
  });
  const rows = environment.sortedRows(node, () => path);
  const builder = new EncodedRowsBuilder(schema, { rowKind: "static" });
  try {
    for (let from: Buffer | undefined = Buffer.alloc(0); from !== undefined; ) {
      const found: ReturnType<typeof rows.scan> = rows.scan(from, undefined, timestamp, rowsPerCommit);
      for (const row of found.rows) {
        builder.addRow(row);
      }
      if (found.rows.length > 0) {
        await writer.write(builder.take());
      }
      from = found.next;
      await turn();
    }
    await writer.close();
    return { kind: "static", writer };
  } catch (error) {
    await writer.abort();
    throw error;
  }
}

/** The state of the table with the rows. `state` has the new schema already. */
export function adoptRows(
  environment: TableEnvironment,
  draft: Draft,
  state: TableState,
  staged: StagedRows,
): TableState {
  if (staged.kind === "sorted") {
    const { rowsId, timestamp } = staged;
    environment.addSortedRows(draft.batch, rowsId, timestamp);
    const tablet = createSortedTablet(environment, draft, Buffer.alloc(0), staged.figures);
    releaseRows(environment, draft, state);
    return {
      ...withRows(state, {}),
      dynamic: true,
      rowsId,
      tablets: [tablet],
      valueColumns: state.schema.columns.slice(state.schema.keyColumnCount).map(({ name }) => name),
    };
  }
  dropSortedRows(environment, draft, state);
  const { upstreamReplicaId: _, rowsId: __, ...rest } = state;
  const bare: TableState = { ...rest, dynamic: false, tablets: [], valueColumns: [] };
  if (staged.writer.rowCount === 0) {
    return bare;
  }
  const { chunk, ...prepared } = staged.writer.finish(draft.batch);
  attach(draft, prepared);
  const list = environment.newChunkList();
  attach(draft, list.prepareAdopt(draft.batch, chunk));
  return { ...bare, chunkListId: list.id };
}

/** The rows of a sorted dynamic table go when the mutation is durable. */
export function dropSortedRows(environment: TableEnvironment, draft: Draft, state: TableState): void {
  const { rowsId, tablets } = state;
  if (rowsId !== undefined) {
    const { from, to } = prefixRange(rowsPrefix(rowsId));
    for (const { id } of tablets) {
      environment.stopWrites(draft, id);
    }
    environment.cell.scheduleRangeRemoval(draft.batch, from, to);
    removeRetained(draft.batch, rowsId);
    draft.onDurable(() => environment.forgetSortedRows(rowsId));
  }
  removeSortedTablets(environment, draft, tablets);
}

/** Rows that no mutation has taken. */
export async function dropStaged(environment: TableEnvironment, staged: StagedRows): Promise<void> {
  await (staged.kind === "static" ? staged.writer.abort() : dropSortedStaged(environment, staged.rowsId));
}

/** The same for rows of a sorted table. */
export async function dropSortedStaged(environment: TableEnvironment, rowsId: string): Promise<void> {
  await commitPrepared(environment.cell, (batch) => {
    const { from, to } = prefixRange(rowsPrefix(rowsId));
    environment.cell.scheduleRangeRemoval(batch, from, to);
    removeRetained(batch, rowsId);
  });
}

/** What a crash has left. At the start, before anybody stages rows. */
export async function dropAllStaged(environment: TableEnvironment): Promise<void> {
  for (const rowsId of stagedRows(environment.cell)) {
    await dropSortedStaged(environment, rowsId);
  }
}
