/**
 * `read_table`: rows of static and dynamic tables as a stream in a row format.
 * Specified in: yt/yt/client/driver/table_commands.cpp (TReadTableCommand), documentation "Static tables",
 * yt/yt/library/formats/schemaless_writer_adapter.cpp (control records).
 */
import { bare, isList, mapOf, turn, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import type { TableSchema } from "@qyt/schema";
import type { DataFormat, RichPath } from "@qyt/yson";
import type { Node, View } from "../../cypress/index.ts";
import type { TableContext, TableManager } from "../tables/manager.ts";
import { isOrderedDynamic, isSortedDynamic, type TableState } from "../tables/table-state.ts";
import type { TabletTransactions } from "../transactions/index.ts";
import { readRanges, type TableKind } from "./read-limits.ts";
import { releasing } from "./releasing.ts";
import { OrderedSource, type RowPiece, type RowSource, SortedSource, StaticSource } from "./row-sources.ts";
import { createTableRowWriter, type TableRowWriter } from "./table-row-writer.ts";

export interface ControlAttributes {
  readonly tableIndex: boolean;
  readonly rowIndex: boolean;
  /** Only together with `rowIndex`. */
  readonly rangeIndex: boolean;
  readonly tabletIndex: boolean;
}

export interface ReadTableOptions {
  readonly path: RichPath;
  readonly format: DataFormat;
  readonly control: ControlAttributes;
  /** Answers with the response parameters and no rows. */
  readonly startRowIndexOnly: boolean;
  readonly omitInaccessibleColumns: boolean;
  /** Ends the read, whether its stream was asked for or not. */
  readonly signal: AbortSignal;
}

export interface TableRead {
  readonly chunks: AsyncIterable<Buffer>;
  /** Complete when the first chunk has come. */
  responseParameters(): YsonMap;
}

/** A chunk of output is about so long, in bytes. */
const outputBytes = 64 * 1024;
/** Others get a turn after so many blocks at the latest. */
const piecesPerTurn = 16;

/**
 * Begins a read: what is visible now is read. Nothing of it may be awaited between the call and the view of
 * the table, so this is not asynchronous.
 * @throws YtError 500, 901, 1, 2700 before anything is read
 */
export function readTable(
  tables: TableManager,
  transactions: TabletTransactions,
  context: TableContext,
  options: ReadTableOptions,
): TableRead {
  const { path } = options;
  const { source, columns, state } = openForReading(
    tables,
    transactions,
    context,
    path,
    options.omitInaccessibleColumns,
  );
  let writer: TableRowWriter;
  try {
    writer = createTableRowWriter(options.format, state.schema, columns.wanted, source.formats);
  } catch (error) {
    source.release();
    throw error;
  }
  const rows = options.startRowIndexOnly ? nothing() : writeRows(source, writer, options.control);
  return {
    chunks: releasing(rows, options.signal, () => source.release()),
    responseParameters: () =>
      mapOf({
        start_row_index: source.firstRowIndex === undefined ? undefined : BigInt(source.firstRowIndex),
        approximate_row_count: source.rowCount === undefined ? undefined : BigInt(source.rowCount),
        omitted_inaccessible_columns: options.omitInaccessibleColumns ? columns.omitted : undefined,
      }),
  };
}

/** A table at the beginning of a read; the caller releases the source. */
export interface OpenTable {
  readonly source: RowSource;
  readonly columns: Columns;
  readonly state: TableState;
}

/** Finds a table, checks access to its columns, and takes hold of what it shows now. @throws YtError 500, 901 */
export function openForReading(
  tables: TableManager,
  transactions: TabletTransactions,
  context: TableContext,
  path: RichPath,
  omitsInaccessible: boolean,
): OpenTable {
  const transactionId = bare(path.attributes.get("transaction_id") ?? null);
  const { node, view } = tables.find(
    typeof transactionId === "string" ? { ...context, transactionId } : context,
    path,
  );
  const columns = accessibleColumns(view, context.user, node, path, omitsInaccessible);
  const source = openSource(tables, transactions, node, path, context.user);
  tables.cypress.noteRead(context, node);
  return { source, columns, state: node.state };
}

interface Columns {
  /** Undefined for all. */
  readonly wanted: ReadonlySet<string> | undefined;
  readonly omitted: readonly string[];
}

/** @throws YtError 901 */
function accessibleColumns(
  view: View,
  user: string,
  node: Node<TableState>,
  path: RichPath,
  omitsInaccessible: boolean,
): Columns {
  const asked = columnsOf(path);
  if (!omitsInaccessible) {
    view.check(user, "read", node, { columns: asked ?? "all" });
    return { wanted: asked === undefined ? undefined : new Set(asked), omitted: [] };
  }
  view.check(user, "read", node);
  const names = asked ?? namesOf(node.state.schema);
  const decisions = view.decide(user, "read", node, { columns: asked ?? "all" }).columns ?? [];
  const omitted = decisions.filter(({ action }) => action === "deny").map(({ column }) => column);
  if (omitted.length === 0) {
    return { wanted: asked === undefined ? undefined : new Set(asked), omitted };
  }
  // Of a table whose rows may have any columns, those of its schema are left: the others cannot be listed.
  const denied = new Set(omitted);
  return { wanted: new Set(names.filter((name) => !denied.has(name))), omitted };
}

function namesOf(schema: TableSchema): string[] {
  return schema.columns.map(({ name }) => name);
}

function columnsOf(path: RichPath): string[] | undefined {
  const value: YsonValue = bare(path.attributes.get("columns") ?? null);
  if (value === null) {
    return undefined;
  }
  if (!isList(value)) {
    throw new YtError('Attribute "columns" of a path must be a list of names', {
      code: "InvalidColumnFilter",
    });
  }
  return value.map((item) => {
    const name = bare(item);
    if (typeof name !== "string") {
      throw new YtError('Attribute "columns" of a path must be a list of names', {
        code: "InvalidColumnFilter",
      });
    }
    return name;
  });
}

function openSource(
  tables: TableManager,
  transactions: TabletTransactions,
  node: Node<TableState>,
  path: RichPath,
  user: string,
): RowSource {
  const { environment } = tables;
  const { state } = node;
  if (state.isReplicated === true) {
    throw new YtError(
      "A replicated table has no rows of its own: read the table of a replica, or this one with select_rows, lookup_rows or pull_queue",
      { attributes: { table_id: node.id } },
    );
  }
  const kind: TableKind = isSortedDynamic(state) ? "sorted" : isOrderedDynamic(state) ? "ordered" : "static";
  const ranges = readRanges(path, kind, state.schema.isSorted);
  switch (kind) {
    case "static":
      return new StaticSource(environment, state, ranges);
    case "ordered":
      return new OrderedSource(environment, state, ranges);
    case "sorted": {
      // A transaction that only stands there keeps the row versions of its start readable.
      const guard = transactions.begin({ user });
      const timestamp = timestampOf(path) ?? guard.startTimestamp;
      const rows = environment.sortedRows(node, () => tables.cypress.view().pathOf(node));
      return new SortedSource(rows, ranges, timestamp, () => guard.abort());
    }
  }
}

function timestampOf(path: RichPath): bigint | undefined {
  const value = bare(path.attributes.get("timestamp") ?? null);
  return value instanceof Uint64 ? value.value : typeof value === "bigint" ? value : undefined;
}

async function* nothing(): AsyncGenerator<Buffer, void, void> {}

async function* writeRows(
  source: RowSource,
  writer: TableRowWriter,
  control: ControlAttributes,
): AsyncGenerator<Buffer, void, void> {
  const records = new ControlRecords(writer, control);
  let pieces = 0;
  for await (const piece of source.pieces()) {
    records.before(piece);
    if (piece.kind === "slice") {
      writer.writeSlice(piece.slice, piece.tabletIndex);
    } else {
      for (const row of piece.rows) {
        writer.writeRow(row);
      }
    }
    pieces++;
    if (writer.length >= outputBytes) {
      yield writer.take();
      await turn();
    } else if (pieces % piecesPerTurn === 0) {
      await turn();
    }
  }
  const rest = writer.finish();
  if (rest.length > 0) {
    yield rest;
  }
}

/** The control records before rows, each only where its value changes. */
class ControlRecords {
  readonly #writer: TableRowWriter;
  readonly #wanted: ControlAttributes;
  #hasTable = false;
  #rangeIndex = -1;
  #tabletIndex = -1;
  #nextRow = -1;

  constructor(writer: TableRowWriter, wanted: ControlAttributes) {
    this.#writer = writer;
    this.#wanted = wanted;
  }

  before(piece: RowPiece): void {
    const wanted = this.#wanted;
    let isJump = false;
    if (!this.#hasTable) {
      this.#hasTable = true;
      isJump = true;
      if (wanted.tableIndex) {
        this.#writer.writeControl("table_index", 0n);
      }
    }
    if (this.#rangeIndex !== piece.rangeIndex) {
      this.#rangeIndex = piece.rangeIndex;
      isJump = true;
      if (wanted.rangeIndex && wanted.rowIndex) {
        this.#writer.writeControl("range_index", BigInt(piece.rangeIndex));
      }
    }
    if (piece.kind === "values") {
      return;
    }
    const { slice, tabletIndex } = piece;
    if (this.#tabletIndex !== tabletIndex) {
      this.#tabletIndex = tabletIndex;
      isJump = true;
      if (wanted.tabletIndex) {
        this.#writer.writeControl("tablet_index", BigInt(tabletIndex));
      }
    }
    const row = slice.block.firstRowIndex + slice.from;
    if (wanted.rowIndex && (isJump || row !== this.#nextRow)) {
      this.#writer.writeControl("row_index", BigInt(row));
    }
    this.#nextRow = slice.block.firstRowIndex + slice.to;
  }
}
