/** What a transaction asks of a table before it changes or reads rows. */
import { YtError } from "@qyt/base";
import type { RowValue } from "@qyt/schema";
import type { DynamicTable } from "../dynamic-table.ts";

/** @throws YtError 1718: only replication writes to a replica */
export function requireNoReplica(table: DynamicTable): void {
  const { upstreamReplicaId } = table;
  if (upstreamReplicaId !== undefined) {
    throw new YtError(
      `Table ${table.path} is bound to upstream replica ${upstreamReplicaId}; direct modifications are forbidden: write to the replicated table`,
      {
        code: "UpstreamReplicaMismatch",
        attributes: { path: table.path, upstream_replica_id: upstreamReplicaId },
      },
    );
  }
}

/** A row of a replica with the columns of its replicated table. */
export function inSchemaOf(table: DynamicTable, replica: DynamicTable, row: readonly RowValue[]): RowValue[] {
  return table.schema.columns.map(({ name }) => row[replica.schema.indexOf(name)] ?? null);
}

export function requireSorted(table: DynamicTable, action: "deletes" | "lock"): void {
  if (!table.sorted) {
    throw new YtError(`Cannot perform ${action} in a non-sorted table`, {
      code: "TableMustBeSorted",
      attributes: { table_path: table.path },
    });
  }
}
