/** Rows of dynamic tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { Attributed, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import { executeQuery, parseQuery, prepareQuery, type QueryStatistics, statisticsToYson } from "@qyt/ql";
import { createRowWriter, isOrdinaryTimestamp, type RowValue, syncLastCommittedTimestamp } from "@qyt/schema";
import { parseRichPath, type RichPath, writeYsonList } from "@qyt/yson";
import { type DynamicTable, orderedSource, type RowVersion, sortedSource } from "../../tablets/index.ts";
import type { CommandResponse } from "../command.ts";
import { type CommandContext, defineCommand, stream } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { readRows } from "../rows.ts";
import { valueToYson } from "../values.ts";

const tabular = { input: "tabular", output: "structured", outputV3: "null", isVolatile: true, isHeavy: true } as const;

const writeParameters = {
  path: parameter.path,
  require_sync_replica: withDefault(parameter.boolean, true),
  atomicity: withDefault(parameter.oneOf("EAtomicity", ["full", "none"]), "full"),
  durability: withDefault(parameter.oneOf("EDurability", ["sync", "async"]), "sync"),
};

interface WriteOptions {
  readonly atomicity: "full" | "none";
  readonly durability: "sync" | "async";
}

/** Runs a change in the caller's tablet transaction, or in an own one that is committed before the answer. */
async function change(
  context: CommandContext,
  options: WriteOptions,
  work: (transaction: ReturnType<CommandContext["services"]["transactions"]["begin"]>) => void,
): Promise<void> {
  const { transactions } = context.services;
  const id = context.common.transaction_id;
  if (id !== undefined) {
    work(transactions.get(id));
    return;
  }
  const transaction = transactions.begin({ user: context.user, isBlind: true, ...options });
  try {
    work(transaction);
    await transaction.commit();
  } catch (error) {
    transaction.abort();
    throw error;
  }
}

function writableTable(context: CommandContext, path: RichPath): DynamicTable {
  return context.services.tables.dynamicTable({ user: context.user }, path, { permission: "write" });
}

/**
 * With `tablet_layout_revision` rows for a queue are refused (1704, nothing written) unless its tablets have
 * that layout, now and at the commit: for rows whose `$tablet_index` was chosen by it. The revision is the
 * attribute `@tablet_layout_revision` of the queue.
 */
const insertRows = defineCommand({
  ...tabular,
  name: "insert_rows",
  access: "write",
  summary: "Writes rows into a dynamic table: appends to a queue, replaces or updates in a sorted table.",
  parameters: {
    ...writeParameters,
    update: withDefault(parameter.boolean, false),
    aggregate: withDefault(parameter.boolean, false),
    allow_missing_key_columns: withDefault(parameter.boolean, false),
    lock_type: withDefault(parameter.oneOf("ELockType", ["exclusive", "shared_write"]), "exclusive"),
    tablet_layout_revision: optional(parameter.uint64),
  },
  async execute(context, parameters) {
    const table = writableTable(context, parameters.path);
    if (!table.sorted && parameters.update) {
      throw new YtError('Cannot use "update" mode for ordered tables');
    }
    if (parameters.tablet_layout_revision !== undefined) {
      // Before the rows are read: their tablets may not exist any more.
      table.requireLayout(parameters.tablet_layout_revision);
    }
    const rows = await readRows(context, table.writeSchema, {
      rowKind: "insert",
      keepAbsent: parameters.update,
      ...(table.sorted ? { requireKeys: !parameters.allow_missing_key_columns } : { tabletCount: table.tabletCount }),
    });
    await change(context, parameters, (transaction) => {
      transaction.insertRows(table, rows, {
        update: parameters.update,
        aggregate: parameters.aggregate,
        lockType: parameters.lock_type,
        requireSyncReplica: parameters.require_sync_replica,
        layoutRevision: parameters.tablet_layout_revision,
      });
    });
    return { kind: "empty" };
  },
});

const deleteRows = defineCommand({
  ...tabular,
  name: "delete_rows",
  access: "write",
  summary: "Removes rows of a sorted table by key.",
  parameters: writeParameters,
  async execute(context, parameters) {
    const table = writableTable(context, parameters.path);
    requireSorted(table);
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    await change(context, parameters, (transaction) => transaction.deleteRows(table, keys));
    return context.nothing();
  },
});

const lockRows = defineCommand({
  ...tabular,
  name: "lock_rows",
  access: "write",
  summary: "Locks rows of a sorted table for a tablet transaction.",
  parameters: {
    ...writeParameters,
    locks: withDefault(parameter.list(parameter.string), []),
    lock_type: withDefault(
      parameter.oneOf("ELockType", ["shared_strong", "shared_weak", "exclusive", "shared_write"]),
      "shared_strong",
    ),
  },
  async execute(context, parameters) {
    const table = writableTable(context, parameters.path);
    requireSorted(table);
    const id = context.common.transaction_id;
    if (id === undefined) {
      throw new YtError("Transaction is required");
    }
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    context.services.transactions.get(id).lockRows(table, keys, parameters.locks, parameters.lock_type);
    return context.nothing();
  },
});

/** The timestamp to read at: the caller's, the transaction's start, or the newest committed one. */
function readTimestamp(context: CommandContext, asked: bigint | undefined): bigint {
  const id = context.common.transaction_id;
  const start = id === undefined ? undefined : context.services.transactions.get(id).startTimestamp;
  const timestamp = asked ?? start ?? syncLastCommittedTimestamp;
  if (timestamp >= syncLastCommittedTimestamp) {
    if (timestamp > syncLastCommittedTimestamp + 3n) {
      throw new YtError(`Invalid read timestamp ${timestamp.toString(16)}`, { code: "TimestampOutOfRange" });
    }
    return context.services.transactions.visibleTimestamp;
  }
  if (!isOrdinaryTimestamp(timestamp)) {
    throw new YtError(`Invalid read timestamp ${timestamp.toString(16)}`, { code: "TimestampOutOfRange" });
  }
  return timestamp;
}

const lookupRows = defineCommand({
  name: "lookup_rows",
  input: "tabular",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: "read",
  summary: "Rows of a sorted table by key.",
  parameters: {
    path: parameter.path,
    column_names: optional(parameter.list(parameter.string)),
    keep_missing_rows: withDefault(parameter.boolean, false),
    versioned: withDefault(parameter.boolean, false),
    timestamp: optional(parameter.uint64),
  },
  async execute(context, parameters) {
    if (parameters.path.attributes.has("columns")) {
      throw new YtError('Columns cannot be specified with table path, use "column_names" instead');
    }
    if (parameters.path.attributes.has("ranges")) {
      throw new YtError("Ranges cannot be specified");
    }
    const table = context.services.tables.dynamicTable({ user: context.user }, parameters.path, { permission: "read" });
    requireSorted(table);
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    const timestamp = readTimestamp(context, parameters.timestamp);
    const positions = columnPositions(table, parameters.column_names);
    const encoded = Array.from({ length: keys.rowCount }, (_, index) => {
      const key = table.rows.encodeKey(
        table.completeRow(keys.decodeRow(index)).slice(0, table.schema.keyColumnCount).map((value) => value ?? null),
      );
      table.requireReadableKey(key);
      return key;
    });
    return parameters.versioned
      ? versionedRows(context, table, encoded, positions, timestamp, parameters.keep_missing_rows)
      : plainRows(context, table, encoded, positions, timestamp, parameters.keep_missing_rows);
  },
});

function columnPositions(table: DynamicTable, names: readonly string[] | undefined): number[] {
  if (names === undefined) {
    return table.schema.columns.map((_, position) => position);
  }
  return names.map((name) => {
    const position = table.schema.indexOf(name);
    if (position < 0) {
      throw new YtError(`No such column "${name}"`, { code: "ColumnNotFound", attributes: { column: name } });
    }
    return position;
  });
}

const rowsPerTurn = 200;

function plainRows(
  context: CommandContext,
  table: DynamicTable,
  keys: readonly Buffer[],
  positions: readonly number[],
  timestamp: bigint,
  keepMissing: boolean,
): CommandResponse {
  const columns = positions.map((position) => table.schema.columns[position]);
  const names = columns.map((column) => ({
    name: column?.name ?? "",
    source: { kind: "column", index: 0 } as const,
  }));
  const types = columns.map((column) => column?.physical ?? "any");
  const writer = createRowWriter(context.outputFormat(), names, { isSchemaful: true });
  const { rows } = table;
  return stream(
    (async function* () {
      for (const [index, key] of keys.entries()) {
        const row = rows.lookup(key, timestamp);
        if (row !== undefined) {
          writer.writeValues(
            positions.map((position) => row[position] ?? null),
            types,
          );
        } else if (keepMissing) {
          writer.writeMissing();
        }
        if (index % rowsPerTurn === rowsPerTurn - 1) {
          const bytes = writer.take();
          if (bytes.length > 0) {
            yield bytes;
          }
          await new Promise<void>((resolve) => setImmediate(resolve));
        }
      }
      yield writer.finish();
    })(),
  );
}

/** Versioned rows are written as YSON trees: a rare form, for YSON only. */
function versionedRows(
  context: CommandContext,
  table: DynamicTable,
  keys: readonly Buffer[],
  positions: readonly number[],
  timestamp: bigint,
  keepMissing: boolean,
): CommandResponse {
  const format = context.outputFormat();
  if (format.name !== "yson") {
    throw new YtError(`Versioned rows cannot be written in format "${format.name}"`);
  }
  const form = format.attributes.get("format");
  const { rows } = table;
  const items: YsonValue[] = [];
  for (const key of keys) {
    const versions = rows.versions(key, timestamp);
    const row = rows.lookup(key, timestamp);
    if (versions.length === 0) {
      if (keepMissing) {
        items.push(null);
      }
      continue;
    }
    items.push(versionedRow(table, key, row, versions, positions));
  }
  const bytes = writeYsonList(items, form === "text" || form === "pretty" ? form : "binary");
  return stream(
    (async function* () {
      yield bytes;
    })(),
  );
}

function versionedRow(
  table: DynamicTable,
  key: Buffer,
  row: readonly RowValue[] | undefined,
  versions: readonly RowVersion[],
  positions: readonly number[],
): YsonValue {
  const { columns, keyColumnCount } = table.schema;
  const keyValues = row ?? table.rows.decodeKey(key);
  const fields = new Map<string, YsonValue>();
  for (const position of positions) {
    const column = columns[position];
    if (column === undefined) {
      continue;
    }
    if (position < keyColumnCount) {
      fields.set(column.name, valueToYson(keyValues[position] ?? null, column.physical));
      continue;
    }
    const values: YsonValue[] = [];
    for (const version of versions) {
      const cell = version.cells.find(({ columnId }) => table.rows.positionOfColumn(columnId) === position);
      if (version.kind === "delete" || (cell === undefined && version.kind === "update")) {
        continue;
      }
      const value = valueToYson(cell?.value ?? null, column.physical);
      values.push(
        new Attributed(
          mapOf({
            timestamp: new Uint64(version.timestamp),
            ...(column.aggregate === undefined ? {} : { aggregate: cell?.aggregate ?? false }),
          }),
          value instanceof Attributed ? value.value : value,
        ),
      );
    }
    fields.set(column.name, values);
  }
  const stamps = (isDelete: boolean): YsonValue[] =>
    versions.filter(({ kind }) => (kind === "delete") === isDelete).map((version) => new Uint64(version.timestamp));
  return new Attributed(mapOf({ write_timestamps: stamps(false), delete_timestamps: stamps(true) }), fields);
}

const selectRows = defineCommand({
  name: "select_rows",
  input: "null",
  output: "tabular",
  isVolatile: false,
  isHeavy: true,
  access: "read on the table of the query",
  summary: "Runs a query over a dynamic table.",
  parameters: {
    query: parameter.string,
    timestamp: optional(parameter.uint64),
    input_row_limit: optional(parameter.int64),
    output_row_limit: optional(parameter.int64),
    range_expansion_limit: optional(parameter.int64),
    fail_on_incomplete_result: withDefault(parameter.boolean, true),
    allow_full_scan: withDefault(parameter.boolean, true),
    use_canonical_null_relations: withDefault(parameter.boolean, false),
    placeholder_values: optional(parameter.map),
    syntax_version: withDefault(parameter.int32, 1),
    enable_statistics: withDefault(parameter.boolean, false),
  },
  async execute(context, parameters) {
    const options = {
      inputRowLimit: toCount(parameters.input_row_limit),
      outputRowLimit: toCount(parameters.output_row_limit),
      rangeExpansionLimit: toCount(parameters.range_expansion_limit),
      failOnIncompleteResult: parameters.fail_on_incomplete_result,
      allowFullScan: parameters.allow_full_scan,
      useCanonicalNullRelations: parameters.use_canonical_null_relations,
      placeholderValues: parameters.placeholder_values,
      syntaxVersion: parameters.syntax_version === 2 ? (2 as const) : (1 as const),
    };
    const parsed = parseQuery(parameters.query, options);
    const path = parseRichPath(parsed.tablePath);
    const table = context.services.tables.dynamicHandle({ user: context.user }, path, { permission: "read" });
    const plan = prepareQuery(parsed, table.querySchema, options);
    const timestamp = readTimestamp(context, parameters.timestamp);
    table.requireReadable();
    const source = table.sorted ? sortedSource(table, timestamp) : orderedSource(table);
    const writer = createRowWriter(
      context.outputFormat(),
      plan.outputColumns.map(({ name }) => ({ name, source: { kind: "column", index: 0 } as const })),
      { isSchemaful: true },
    );
    const types = plan.outputColumns.map(({ type }) => type);
    let statistics: QueryStatistics | undefined;
    const chunks = pushed(async (push) => {
      statistics = await executeQuery(
        plan,
        source,
        (row) => {
          writer.writeValues(row, types);
          return writer.length >= chunkBytes ? push(writer.take()) : undefined;
        },
        context.request.signal,
      );
      await push(writer.finish());
    });
    return stream(chunks, {
      responseParameters: () =>
        parameters.enable_statistics ? (statistics === undefined ? mapOf({}) : statisticsToYson(statistics)) : undefined,
    });
  },
});

const chunkBytes = 64 * 1024;

function toCount(value: bigint | undefined): number | undefined {
  if (value === undefined) {
    return undefined;
  }
  if (value < 0n) {
    throw new YtError(`A row limit cannot be negative, got ${value}`);
  }
  return Number(value > BigInt(Number.MAX_SAFE_INTEGER) ? BigInt(Number.MAX_SAFE_INTEGER) : value);
}

/** Turns a producer that pushes chunks into an iterable that is pulled: each push waits until it is taken. */
async function* pushed(run: (push: (chunk: Buffer) => Promise<void>) => Promise<void>): AsyncIterable<Buffer> {
  let waiting: { readonly chunk: Buffer; readonly taken: () => void } | undefined;
  let wake: () => void = () => undefined;
  let isDone = false;
  let isClosed = false;
  let failure: { readonly error: unknown } | undefined;
  const running = run((chunk) => {
    if (chunk.length === 0) {
      return Promise.resolve();
    }
    if (isClosed) {
      return Promise.reject(new YtError("The reader is gone", { code: "Canceled" }));
    }
    return new Promise((resolve) => {
      waiting = { chunk, taken: resolve };
      wake();
    });
  }).then(
    () => {
      isDone = true;
      wake();
    },
    (error: unknown) => {
      failure = { error };
      isDone = true;
      wake();
    },
  );
  try {
    for (;;) {
      if (waiting !== undefined) {
        const { chunk, taken } = waiting;
        waiting = undefined;
        yield chunk;
        taken();
      } else if (isDone) {
        break;
      } else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    }
    await running;
    if (failure !== undefined) {
      throw failure.error;
    }
  } finally {
    isClosed = true;
    waiting?.taken();
  }
}

function requireSorted(table: DynamicTable): void {
  if (!table.sorted) {
    throw new YtError(`Table ${table.path} is not sorted`, { attributes: { path: table.path } });
  }
}

export const rowCommands = [insertRows, deleteRows, lockRows, lookupRows, selectRows];
