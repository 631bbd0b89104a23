/** Replicated tables of the cluster: their logs, the work of the replicator, and changes of replicas. */
import { toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { isOrdinaryTimestamp } from "@qyt/schema";
import { parseRichPath } from "@qyt/yson";
import type { Cypress, Node, View } from "../../cypress/index.ts";
import { DynamicTableHandle } from "../tables/dynamic-table-handle.ts";
import type { TableEnvironment } from "../tables/environment.ts";
import { isTableType, type TableState } from "../tables/table-state.ts";
import type { TabletTransactions } from "../transactions/index.ts";
import { replicaInfos } from "./replica-attributes.ts";
import { replicatedTableTypeName } from "./replica-state.ts";
import { alterReplica, type ReplicaChange, replicationErrorsOf } from "./replica-type.ts";
import { ReplicatedLog, type ReplicationServices } from "./replicated-log.ts";
import { Replicator } from "./replicator.ts";

const root = { user: "root" };

export class TableReplication {
  readonly replicator: Replicator;
  readonly #environment: TableEnvironment;
  readonly #cypress: Cypress;
  readonly #services: ReplicationServices;

  constructor(environment: TableEnvironment, cypress: Cypress, transactions: TabletTransactions) {
    this.#environment = environment;
    this.#cypress = cypress;
    this.#services = {
      progress: environment.progress,
      index: environment.replicas,
      tableAt: (path) => this.#tableAt(path),
      tabletById: (id) => environment.orderedTablet(id),
      onAppended: (tableId) => this.replicator.wake(tableId),
    };
    this.replicator = new Replicator({
      environment,
      transactions,
      logOf: (tableId) => this.logOf(tableId),
    });
    environment.replicationOf = (table) => this.#log(table.id, table.path);
  }

  start(): void {
    this.replicator.wakeAll();
  }

  async close(): Promise<void> {
    await this.replicator.close();
  }

  /** The log of a replicated table; `undefined` when there is none. */
  logOf(tableId: string): ReplicatedLog | undefined {
    const view = this.#cypress.view();
    const node = view.node(tableId);
    return node?.type === replicatedTableTypeName ? this.#log(tableId, view.pathOf(node)) : undefined;
  }

  /** The log of the replicated table that a table is a replica of; `undefined` when there is none. */
  logOfReplica({
    upstreamReplicaId,
  }: {
    readonly upstreamReplicaId?: string | undefined;
  }): ReplicatedLog | undefined {
    const replica =
      upstreamReplicaId === undefined ? undefined : this.#environment.replicas.find(upstreamReplicaId);
    return replica === undefined ? undefined : this.logOf(replica.state.tableId);
  }

  /** `alter_table_replica`. @throws YtError 500, 901 */
  async alter(context: { readonly user: string }, replicaId: string, change: ReplicaChange): Promise<void> {
    await this.#cypress.mutate({ user: context.user }, (draft) => alterReplica(draft, replicaId, change));
    const tableId = this.#environment.replicas.find(replicaId)?.state.tableId;
    if (tableId !== undefined) {
      this.replicator.wake(tableId);
    }
  }

  /**
   * Ids of the replicas that have all rows up to a timestamp: of those that are synchronous, or, when the
   * timestamp is an ordinary one, of any that have come so far.
   * @throws YtError 1 for a table that is not replicated
   */
  inSyncReplicas(table: { readonly id: string; readonly path: string }, timestamp?: bigint): string[] {
    const log = this.logOf(table.id);
    if (log === undefined) {
      throw new YtError(`Table ${table.path} is not replicated`, { attributes: { path: table.path } });
    }
    if (timestamp === undefined || !isOrdinaryTimestamp(timestamp)) {
      return log.inSyncReplicas().map(({ id }) => id);
    }
    return log.replicas
      .filter(({ id }) => log.table.state.tablets.every((_, index) => log.hasRowsUpTo(id, index, timestamp)))
      .map(({ id }) => id);
  }

  /** `replica_infos` of a tablet; `undefined` for a table that is not replicated. */
  replicaInfos(tableId: string, tabletIndex: number): YsonValue[] | undefined {
    const table = this.#cypress.view().node(tableId);
    return table?.type === replicatedTableTypeName
      ? replicaInfos(this.#environment, table as Node<TableState>, tabletIndex)
      : undefined;
  }

  /** `{replica_id=[error]}`. */
  errorsOf(tableId: string): YsonMap {
    return replicationErrorsOf(this.#environment, tableId);
  }

  /** Looks at all replicas again, and removes those whose table went in a transaction. */
  async maintain(): Promise<void> {
    const view = this.#cypress.view();
    const left = this.#environment.replicas
      .all()
      .filter(({ state }) => view.node(state.tableId) === undefined);
    if (left.length > 0) {
      await this.#cypress.mutate(root, (draft) => {
        for (const { id } of left) {
          if (draft.node(id) !== undefined) {
            draft.removeNode(id);
          }
        }
      });
    }
    this.replicator.wakeAll();
  }

  #log(id: string, path: string): ReplicatedLog {
    return new ReplicatedLog(this.#services, this.#handle(id, path));
  }

  #tableAt(path: string): DynamicTableHandle {
    const view = this.#cypress.view();
    let node: Node;
    try {
      node = view.resolveNode(parseRichPath(path).path);
    } catch (thrown) {
      throw toYtError(thrown).wrap(`The table of the replica cannot be found`, { replica_path: path });
    }
    if (!isDynamicTable(node)) {
      throw new YtError(`Path ${path} of a replica does not lead to a dynamic table`, {
        code: "InvalidObjectType",
        attributes: { replica_path: path, type: node.type },
      });
    }
    return this.#handle(node.id, view.pathOf(node));
  }

  #handle(id: string, path: string): DynamicTableHandle {
    const view = (): View => this.#cypress.view();
    return new DynamicTableHandle(this.#environment, view, id, path);
  }
}

function isDynamicTable(node: Node): boolean {
  return isTableType(node.type) && (node as Node<TableState>).state.dynamic;
}
