/** What opens the tree, and what every request to it carries. */

import type { Node } from "./node.ts";
import type { BuiltinAttribute, NodeType, TreeLimits, View, VirtualChildren } from "./node-type.ts";
import type { RemoteAddress } from "./types/orchid.ts";

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
  /** Told of the committed nodes that a mutation has changed, or removed, once the tree shows it. */
  readonly onNodesChanged?: (
    changes: Iterable<readonly [id: string, node: Node | undefined]>,
    view: View,
  ) => void;
  /** How the nodes `orchid` reach other processes; absent: not at all. */
  readonly remoteAddress?: RemoteAddress;
  /** Address of this proxy, "localhost:8000", listed in `//sys/proxies` and `//sys/http_proxies`. */
  readonly proxyAddress?: string;
  /** How often expirations are looked for, and access times written down. */
  readonly sweepPeriodMs?: number;
  readonly limits?: Partial<TreeLimits>;
  readonly logger?: { warn(fields: object, message: string): void };
}

export interface PrerequisiteRevision {
  readonly path: string;
  readonly transactionId?: string;
  readonly revision: bigint;
}

/** Who asks, and the parameters that all commands of the family share. */
export interface RequestContext {
  readonly user: string;
  readonly transactionId?: string;
  readonly prerequisiteTransactionIds?: readonly string[];
  readonly prerequisiteRevisions?: readonly PrerequisiteRevision[];
  readonly suppressAccessTracking?: boolean;
  readonly suppressModificationTracking?: boolean;
  readonly suppressExpirationTimeoutRenewal?: boolean;
}
