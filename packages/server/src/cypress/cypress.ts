/**
 * Cypress: the tree of one cluster.
 */
import type { YsonMap, YsonValue } from "@qyt/base";
import type { Cell } from "../cell/index.ts";
import type { BuiltinAttribute, Draft, NodeType, View, VirtualChildren } from "./node-type.ts";
import type { Node } from "./node.ts";

export interface CypressOptions {
  readonly clusterName: string;
  /** Types beside the built-in ones (`table`, `queue_consumer`…). */
  readonly nodeTypes?: readonly NodeType[];
  /** More attributes for types of this room, by type name: `tablet_cell` → `tablet_ids`. */
  readonly attributeExtensions?: ReadonlyMap<string, ReadonlyMap<string, BuiltinAttribute>>;
  /** Computed maps under `//sys`: `tablets`, `chunks`, `tablet_actions`… */
  readonly virtualMaps?: ReadonlyMap<string, VirtualChildren>;
  /** Objects that are not nodes: `#<tablet id>`, `#<chunk id>`. The node's `type` must be registered. */
  readonly findObject?: (view: View, id: string) => Node | undefined;
  /** Address of this proxy, "localhost:8000", listed in `//sys/proxies` and `//sys/http_proxies`. */
  readonly proxyAddress?: string;
  /** How often expirations are looked for, and access times written down. */
  readonly sweepPeriodMs?: number;
}

/** Who asks, and the parameters that all commands of the family share. */
export interface RequestContext {
  readonly user: string;
  readonly transactionId?: string;
  readonly prerequisiteTransactionIds?: readonly string[];
  readonly prerequisiteRevisions?: readonly { path: string; transactionId?: string; revision: bigint }[];
  readonly suppressAccessTracking?: boolean;
  readonly suppressModificationTracking?: boolean;
  readonly suppressExpirationTimeoutRenewal?: boolean;
}

export interface CypressApi {
  /** Committed state. @throws YtError 11000 for an unknown transaction */
  view(transactionId?: string): View;
  /**
   * One mutation: `work` runs synchronously over committed state and its own changes; then one commit of
   * the cell. Readers see it when it is durable; if `work` throws or the commit fails nothing has changed.
   */
  mutate<T>(context: RequestContext, work: (draft: Draft) => T): Promise<T>;
  get(context: RequestContext, parameters: { path: string; attributes?: YsonValue; maxSize?: number }): Promise<YsonValue>;
  create(
    context: RequestContext,
    parameters: { type: string; path?: string; attributes?: YsonMap; recursive?: boolean; force?: boolean; ignoreExisting?: boolean; lockExisting?: boolean; ignoreTypeMismatch?: boolean },
  ): Promise<{ id: string; isNode: boolean }>;
}

export declare function openCypress(cell: Cell, options: CypressOptions): Promise<CypressApi>;
