/** The tables that a query names: found, checked against the user's rights, and opened for reading. */
import { YtError } from "@qyt/base";
import { type Plan, type RowSource, tablesOf } from "@qyt/ql";
import type { TableSchema } from "@qyt/schema";
import { parseRichPath } from "@qyt/yson";
import {
  type DynamicTableHandle,
  orderedSource,
  requireReadableRanges,
  sortedSource,
} from "../tablets/index.ts";
import type { CommandContext } from "./define.ts";
import { readColumn } from "./versioned-reads.ts";

interface QueryTable {
  /** As the query names it: rights are those on it. */
  readonly named: DynamicTableHandle;
  /** Where the rows are: a replicated table has them in a replica. */
  readonly table: DynamicTableHandle;
  readonly schema: TableSchema;
}

export class QueryTables {
  readonly #context: CommandContext;
  readonly #withTimestamps: boolean;
  readonly #tables = new Map<string, QueryTable>();

  /** @param withTimestamps columns `$timestamp:<name>` can be named */
  constructor(context: CommandContext, withTimestamps: boolean) {
    this.#context = context;
    this.#withTimestamps = withTimestamps;
  }

  /** @throws YtError 500, 901, and for a table that is not dynamic */
  schemaOf(path: string): TableSchema {
    return this.#find(path).schema;
  }

  /** @throws YtError 901 when a column that the plan reads may not be read */
  check(plan: Plan): void {
    for (const { tablePath, readColumns } of tablesOf(plan)) {
      const { named, schema } = this.#find(tablePath);
      named.check(
        this.#context.user,
        "read",
        readColumns.map((position) => readColumn(schema.columns[position]?.name ?? "")),
      );
    }
  }

  /** @throws YtError 1702 unless every tablet that the plan reads can be read */
  requireReadable(plan: Plan): void {
    for (const { tablePath, ranges } of tablesOf(plan)) {
      requireReadableRanges(this.#find(tablePath).table, ranges);
    }
  }

  /** The table's rows as of a timestamp. */
  sourceOf(path: string, timestamp: bigint): RowSource {
    const { named, table } = this.#find(path);
    if (table.sorted && named.readTarget(timestamp).id !== table.id) {
      throw new YtError(`The replicas of table ${named.path} have changed; send the query again`, {
        code: "NoInSyncReplicas",
        attributes: { path: named.path },
      });
    }
    return table.sorted
      ? sortedSource(table, timestamp, { withTimestamps: this.#withTimestamps })
      : orderedSource(table);
  }

  #find(path: string): QueryTable {
    let found = this.#tables.get(path);
    if (found === undefined) {
      const { services, user } = this.#context;
      const named = services.tables.dynamicHandle({ user }, parseRichPath(path), { permission: "read" });
      const table = named.readTarget();
      const schema = this.#withTimestamps ? table.timestampedSchema : table.querySchema;
      found = { named, table, schema };
      this.#tables.set(path, found);
    }
    return found;
  }
}
