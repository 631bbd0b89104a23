/**
 * The log of a replicated table as transactions use it, and which of its replicas has which rows of it.
 *
 * Invariant: in the store a replica has exactly the rows of each tablet of the log below its progress, since
 * all three are written in one batch. A synchronous replica that lacks rows takes no new ones: the replicator
 * brings them first.
 * Specified in: yt/yt/server/node/tablet_node/tablet_cell_write_manager.cpp (ValidateReplicaWritable),
 * yt/yt/ytlib/api/native/transaction.cpp (SubmitRows), tablet_helpers.cpp (in-sync replicas).
 */
import { bare, isMap, YtError } from "@qyt/base";
import type { EncodedRows } from "@qyt/schema";
import type { WriteBatch } from "../../cell/index.ts";
import type { Prepared } from "../chunks/prepared.ts";
import type { LoggedAppend, Replication, SyncReplica } from "../dynamic-table.ts";
import type { OrderedTablet } from "../ordered/index.ts";
import type { RowWrite } from "../sorted/index.ts";
import type { DynamicTableHandle } from "../tables/dynamic-table-handle.ts";
import { settingOf } from "../tables/settings.ts";
import { encodeChanges, requireFit, translator } from "./log-rows.ts";
import type { ReplicationProgress } from "./progress.ts";
import type { ReplicaIndex, ReplicaNode } from "./replica-state.ts";

export interface ReplicationServices {
  readonly progress: ReplicationProgress;
  readonly index: ReplicaIndex;
  /** The dynamic table at a path of this cluster. @throws YtError 500 */
  readonly tableAt: (path: string) => DynamicTableHandle;
  readonly tabletById: (id: string) => OrderedTablet;
  /** Rows have come into the log. */
  readonly onAppended: (tableId: string) => void;
}

export class ReplicatedLog implements Replication {
  readonly table: DynamicTableHandle;
  readonly #services: ReplicationServices;

  constructor(services: ReplicationServices, table: DynamicTableHandle) {
    this.#services = services;
    this.table = table;
  }

  get replicas(): readonly ReplicaNode[] {
    return this.#services.index.of(this.table.id);
  }

  requireSyncReplica(): void {
    const { replicas } = this;
    if (replicas.length > 0 && !replicas.some(takesPart)) {
      throw new YtError(
        `Table ${this.table.path} has no synchronous replicas and "require_sync_replica" option is set`,
        { code: "NoSyncReplicas", attributes: { path: this.table.path } },
      );
    }
  }

  syncReplicas(): readonly SyncReplica[] {
    return this.replicas.filter(takesPart).map((replica) => this.bound(replica));
  }

  /** The replica with its table. @throws YtError 316, 500, 1718 */
  bound(replica: ReplicaNode): SyncReplica & { readonly table: DynamicTableHandle } {
    const table = this.#services.tableAt(replica.state.replicaPath);
    requireBound(table, replica.id);
    requireFit(this.table, table);
    let translate: ((write: RowWrite) => RowWrite) | undefined;
    return {
      id: replica.id,
      table,
      translate: (write) => {
        translate ??= translator(this.table, table);
        return translate(write);
      },
    };
  }

  prepareAppend(
    batch: WriteBatch,
    prepared: Prepared[],
    append: LoggedAppend,
    commitTimestamp: bigint,
    replicas: readonly SyncReplica[],
  ): void {
    const { tabletIndex, rows, selection } = append;
    const log = this.table.writableTablet(tabletIndex);
    for (const { id } of replicas) {
      this.#requireCaughtUp(id, log, tabletIndex);
    }
    const appended = log.prepareAppend(batch, rows, selection, commitTimestamp);
    prepared.push(appended);
    const rowIndex = appended.firstRowIndex + appended.rowCount;
    for (const { id, table } of replicas) {
      if (!this.table.sorted) {
        const tablet = table.writableTablet(this.targetIndex(tabletIndex, table));
        prepared.push(tablet.prepareAppend(batch, rows, selection, commitTimestamp));
      }
      const { progress } = this.#services;
      const broughtAt = progress.pending(id, log.tabletId)?.broughtAt ?? 0n;
      const next = { rowIndex, timestamp: commitTimestamp, broughtAt };
      prepared.push(progress.prepare(batch, id, log.tabletId, next));
    }
    prepared.push({
      onDurable: () => this.#services.onAppended(this.table.id),
      onFailed: () => undefined,
    });
  }

  encodeChanges(writes: readonly RowWrite[]): EncodedRows {
    return encodeChanges(writes);
  }

  tabletIndexOf(tabletId: string): number {
    return this.table.state.tablets.findIndex(({ id }) => id === tabletId);
  }

  /** The tablet of the replica that gets the rows of a tablet of a queue. @throws YtError 1 */
  targetIndex(tabletIndex: number, replica: Pick<DynamicTableHandle, "tabletCount" | "path">): number {
    if (replica.tabletCount === this.table.tabletCount) {
      return tabletIndex;
    }
    const config = settingOf(this.table.state, "mount_config");
    const isPreserved = isMap(config) && bare(config.get("preserve_tablet_index") ?? null) === true;
    if (isPreserved) {
      throw new YtError(
        `Replica table ${replica.path} has ${replica.tabletCount} tablets and ${this.table.path} has ${this.table.tabletCount}, so that "preserve_tablet_index" cannot be kept; reshard the replica`,
        { attributes: { path: this.table.path, replica_path: replica.path } },
      );
    }
    return tabletIndex % replica.tabletCount;
  }

  /** Index of the first row of a tablet that the replica does not have, as readers see it or as it will be. */
  position(replicaId: string, tabletIndex: number, kind: "visible" | "pending"): number {
    const record = this.table.state.tablets[tabletIndex];
    if (record === undefined) {
      return 0;
    }
    const { index, progress, tabletById } = this.#services;
    const { trimmedRowCount } = tabletById(record.id)[kind];
    return progress.firstLacking(
      kind,
      { id: replicaId, state: index.find(replicaId)?.state },
      { id: record.id, index: tabletIndex, trimmedRowCount },
    );
  }

  /** How many rows of a tablet the replica lacks, of those that readers see. */
  lag(replicaId: string, tabletIndex: number): number {
    const record = this.table.state.tablets[tabletIndex];
    if (record === undefined) {
      return 0;
    }
    const { totalRowCount } = this.#services.tabletById(record.id).visible;
    return Math.max(0, totalRowCount - this.position(replicaId, tabletIndex, "visible"));
  }

  /** Whether the replica has all rows of a tablet that were committed up to a timestamp. */
  hasRowsUpTo(replicaId: string, tabletIndex: number, timestamp: bigint): boolean {
    const record = this.table.state.tablets[tabletIndex];
    const next =
      record === undefined
        ? undefined
        : this.#services.tabletById(record.id).rowFacts(this.position(replicaId, tabletIndex, "visible"));
    return next === undefined || next.timestamp > timestamp;
  }

  /** Whether the replica has all rows that readers see. */
  isInSync(replicaId: string): boolean {
    return this.table.state.tablets.every((_, index) => this.lag(replicaId, index) === 0);
  }

  /** The synchronous replicas that have all rows. */
  inSyncReplicas(): readonly ReplicaNode[] {
    return this.replicas.filter((replica) => takesPart(replica) && this.isInSync(replica.id));
  }

  /**
   * @param timestamp of a read of sorted rows: rows that were brought later would be missed
   * @throws YtError 1736 when no replica can be read, with what is the matter with each
   */
  readTarget(timestamp?: bigint): DynamicTableHandle {
    const failures: YtError[] = [];
    for (const replica of this.inSyncReplicas()) {
      if (timestamp !== undefined && this.#broughtAt(replica.id) > timestamp) {
        failures.push(
          new YtError(`Replica ${replica.id} has caught up only after the timestamp of the read`, {
            attributes: { replica_id: replica.id },
          }),
        );
        continue;
      }
      try {
        const { table } = this.bound(replica);
        table.requireReadable();
        return table;
      } catch (thrown) {
        if (!(thrown instanceof YtError)) {
          throw thrown;
        }
        failures.push(thrown);
      }
    }
    throw new YtError(
      `No in-sync replicas found for table ${this.table.path}; enable a synchronous replica (alter_table_replica), mount its table, or read the table of a replica`,
      { code: "NoInSyncReplicas", inner: failures, attributes: { path: this.table.path } },
    );
  }

  /** When rows were last brought to the replica by the replicator. */
  #broughtAt(replicaId: string): bigint {
    let latest = 0n;
    for (const { id } of this.table.state.tablets) {
      const at = this.#services.progress.visible(replicaId, id)?.broughtAt ?? 0n;
      latest = at > latest ? at : latest;
    }
    return latest;
  }

  #requireCaughtUp(replicaId: string, log: OrderedTablet, tabletIndex: number): void {
    const { totalRowCount } = log.pending;
    const current = this.position(replicaId, tabletIndex, "pending");
    if (current !== totalRowCount) {
      throw new YtError(
        `Replica ${replicaId} of tablet ${log.tabletId} is not synchronously writeable since some rows are not replicated yet; write again in a moment`,
        {
          code: "SyncReplicaNotInSync",
          attributes: {
            replica_id: replicaId,
            current_replication_row_index: BigInt(current),
            total_row_count: BigInt(totalRowCount),
          },
        },
      );
    }
  }
}

function takesPart({ state }: ReplicaNode): boolean {
  return state.enabled && state.mode === "sync";
}

/** @throws YtError 1718 */
function requireBound(table: DynamicTableHandle, replicaId: string): void {
  const { upstreamReplicaId } = table;
  if (upstreamReplicaId === replicaId) {
    return;
  }
  throw new YtError(
    upstreamReplicaId === undefined
      ? `Table ${table.path} is not bound to any upstream replica but replica ${replicaId} was given; set its upstream_replica_id with alter_table`
      : `Mismatched upstream replica of table ${table.path}: expected ${upstreamReplicaId}, got ${replicaId}`,
    { code: "UpstreamReplicaMismatch", attributes: { path: table.path, replica_id: replicaId } },
  );
}
