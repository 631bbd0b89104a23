/** Changes of rows of dynamic tables. Specified in: yt/yt/client/driver/table_commands.cpp. */
import { YtError } from "@qyt/base";
import type { RichPath } from "@qyt/yson";
import type { DynamicTable, TabletTransaction } from "../../tablets/index.ts";
import { needs, right } from "../access.ts";
import { type CommandContext, defineCommand } from "../define.ts";
import { optional, parameter, withDefault } from "../parameters.ts";
import { readRows } from "../rows.ts";
import { requireSorted } from "../tables.ts";

const tabular = {
  input: "tabular",
  output: "structured",
  outputV3: "null",
  isVolatile: true,
  isHeavy: true,
} as const;

const writing = needs(right("write", "node", "path"));

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
  work: (transaction: TabletTransaction) => Promise<void>,
): Promise<void> {
  const { transactions } = context.services;
  const id = context.common.transaction_id;
  if (id !== undefined) {
    await work(transactions.get(id));
    return;
  }
  const transaction = transactions.begin({ user: context.user, isBlind: true, ...options });
  try {
    await work(transaction);
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
  access: writing,
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
    const { schema } = table;
    const rows = await readRows(context, table.writeSchema, {
      rowKind: "insert",
      keepAbsent: parameters.update,
      ...(table.sorted
        ? { requireKeys: !parameters.allow_missing_key_columns }
        : { tabletCount: table.tabletCount }),
    });
    await change(context, parameters, (transaction) => {
      table.requireSchema(schema);
      return transaction.insertManyRows(table, rows, {
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
  access: writing,
  summary: "Removes rows of a sorted table by key.",
  parameters: writeParameters,
  async execute(context, parameters) {
    const table = writableTable(context, parameters.path);
    requireSorted(table);
    const { schema } = table;
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    await change(context, parameters, (transaction) => {
      table.requireSchema(schema);
      return transaction.deleteManyRows(table, keys, {
        requireSyncReplica: parameters.require_sync_replica,
      });
    });
    return context.nothing();
  },
});

const lockRows = defineCommand({
  ...tabular,
  name: "lock_rows",
  access: writing,
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
    const { schema } = table;
    const keys = await readRows(context, table.keySchema, { rowKind: "keys" });
    table.requireSchema(schema);
    const transaction = context.services.transactions.get(id);
    await transaction.lockManyRows(table, keys, parameters.locks, parameters.lock_type);
    return context.nothing();
  },
});

export const rowCommands = [insertRows, deleteRows, lockRows];
