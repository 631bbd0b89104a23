/**
 * The committed state of the tree in memory: tables of immutable records, and the layered form that a
 * mutation works on.
 */
import type { YsonMap } from "@qyt/base";
import type { Node, NodePatch } from "./node.ts";
import {
  Layer1,
  Layer2,
  type Reader1,
  type Reader2,
  type Store1,
  type Store2,
  Table1,
  Table2,
} from "./tables.ts";

/** A patch as a branch keeps it: with the stamps of its last change. */
export interface StoredPatch extends NodePatch {
  readonly modificationTimeUs?: number;
  readonly attributeRevision?: bigint;
  readonly contentRevision?: bigint;
}

/**
 * What one transaction has made of one node.
 *
 * - `created`: the node exists only there (and in what is nested in it)
 * - `changed`: a patch over what the transaction above sees
 * - `snapshot`: a frozen copy, with its children
 * - `removed`: gone for this transaction
 */
export type Branch =
  | { readonly kind: "created"; readonly node: Node }
  | { readonly kind: "changed"; readonly patch: StoredPatch }
  | { readonly kind: "snapshot"; readonly node: Node; readonly children: ReadonlyMap<string, string> }
  | { readonly kind: "removed" };

export interface TransactionRecord {
  readonly id: string;
  readonly parentId?: string;
  readonly startTimeUs: number;
  readonly timeoutMs: number;
  readonly deadlineUs?: number;
  readonly owner: string;
  readonly attributes: YsonMap;
  readonly prerequisiteTransactionIds: readonly string[];
}

export type LockMode = "snapshot" | "shared" | "exclusive";

export interface LockRecord {
  readonly id: string;
  readonly nodeId: string;
  readonly transactionId: string;
  readonly mode: LockMode;
  readonly childKey?: string;
  readonly attributeKey?: string;
  readonly state: "pending" | "acquired";
  readonly implicit: boolean;
  readonly creationTimeUs: number;
  /** Order among the locks of a node; pending ones are granted in it. */
  readonly sequence: bigint;
}

/** Row of `branchChildren`: children as one transaction has changed them. */
export function branchRow(transactionId: string, parentId: string): string {
  return `${transactionId}/${parentId}`;
}

/** Reading side, the same for committed state and for a mutation in progress. */
export interface TreeReader {
  readonly nodes: Reader1<Node>;
  /** (parent id, name) → child id. Derived from `nodes`. */
  readonly children: Reader2<string>;
  /** (transaction id, node id). */
  readonly branches: Reader2<Branch>;
  /** (transaction id / parent id, name) → child id, "" when removed. Derived from `branches`. */
  readonly branchChildren: Reader2<string>;
  readonly transactions: Reader1<TransactionRecord>;
  /** (node id, lock id). */
  readonly locks: Reader2<LockRecord>;
  /** (transaction id, lock id) → node id. Derived. */
  readonly transactionLocks: Reader2<string>;
  /** lock id → node id. Derived. */
  readonly lockNodes: Reader1<string>;
  /** (parent transaction id, id) → "". Derived. */
  readonly nestedTransactions: Reader2<string>;
  /** (type, node id) → "". Derived, for types that are asked for as a whole. */
  readonly nodesByType: Reader2<string>;
  /** Committed nodes with an expiration. Derived. */
  readonly expiring: Reader1<true>;
  /** account → number of committed nodes. Derived. */
  readonly accountNodeCounts: Reader1<number>;
  /** account → number of tablets of committed nodes. Derived. */
  readonly accountTabletCounts: Reader1<number>;
  /** account → number of nodes that transactions have created or given to it, and not committed yet. Derived. */
  readonly pendingNodeCounts: Reader1<number>;
  /** account → number of tablets of nodes that they have created. Derived. */
  readonly pendingTabletCounts: Reader1<number>;
}

/**
 * What a mutation stands on: the committed state, or that with changes that are not durable yet. The setters keep
 * the derived tables in step.
 */
export abstract class TreeBase implements TreeReader {
  abstract readonly nodes: Store1<Node>;
  abstract readonly children: Store2<string>;
  abstract readonly branches: Store2<Branch>;
  abstract readonly branchChildren: Store2<string>;
  abstract readonly transactions: Store1<TransactionRecord>;
  abstract readonly locks: Store2<LockRecord>;
  abstract readonly transactionLocks: Store2<string>;
  abstract readonly lockNodes: Store1<string>;
  abstract readonly nestedTransactions: Store2<string>;
  abstract readonly nodesByType: Store2<string>;
  abstract readonly expiring: Store1<true>;
  abstract readonly accountNodeCounts: Store1<number>;
  abstract readonly accountTabletCounts: Store1<number>;
  abstract readonly pendingNodeCounts: Store1<number>;
  abstract readonly pendingTabletCounts: Store1<number>;
  /** How many tablets a node has: its type knows. */
  abstract readonly tabletCountOf: (node: Node) => number;
  abstract revision: bigint;

  putNode(node: Node): void {
    const before = this.nodes.get(node.id);
    this.nodes.set(node.id, node);
    if (node.expirationTimeUs !== undefined || node.expirationTimeoutMs !== undefined) {
      this.expiring.set(node.id, true);
    } else if (this.expiring.get(node.id) === true) {
      this.expiring.delete(node.id);
    }
    if (before?.account !== node.account) {
      this.#count(this.accountNodeCounts, before?.account, -1);
      this.#count(this.accountNodeCounts, node.account, 1);
    }
    if (before?.account !== node.account || before.state !== node.state) {
      this.#countTablets(this.accountTabletCounts, before, -1);
      this.#countTablets(this.accountTabletCounts, node, 1);
    }
    if (before === undefined) {
      this.nodesByType.set(node.type, node.id, "");
      if (node.parentId !== undefined && node.key !== undefined) {
        this.children.set(node.parentId, node.key, node.id);
      }
    }
  }

  deleteNode(node: Node): void {
    const before = this.nodes.get(node.id);
    this.#count(this.accountNodeCounts, before?.account, -1);
    this.#countTablets(this.accountTabletCounts, before, -1);
    this.nodes.delete(node.id);
    this.expiring.delete(node.id);
    this.nodesByType.delete(node.type, node.id);
    if (node.parentId !== undefined && node.key !== undefined) {
      if (this.children.get(node.parentId, node.key) === node.id) {
        this.children.delete(node.parentId, node.key);
      }
    }
  }

  putBranch(transactionId: string, nodeId: string, branch: Branch): void {
    this.#countPending(this.branches.get(transactionId, nodeId), -1);
    this.#countPending(branch, 1);
    this.branches.set(transactionId, nodeId, branch);
  }

  deleteBranch(transactionId: string, nodeId: string): void {
    this.#countPending(this.branches.get(transactionId, nodeId), -1);
    this.branches.delete(transactionId, nodeId);
  }

  putLock(lock: LockRecord): void {
    this.locks.set(lock.nodeId, lock.id, lock);
    this.transactionLocks.set(lock.transactionId, lock.id, lock.nodeId);
    this.lockNodes.set(lock.id, lock.nodeId);
  }

  deleteLock(lock: LockRecord): void {
    this.locks.delete(lock.nodeId, lock.id);
    this.transactionLocks.delete(lock.transactionId, lock.id);
    this.lockNodes.delete(lock.id);
  }

  putTransaction(record: TransactionRecord): void {
    this.transactions.set(record.id, record);
    if (record.parentId !== undefined) {
      this.nestedTransactions.set(record.parentId, record.id, "");
    }
  }

  deleteTransaction(record: TransactionRecord): void {
    this.transactions.delete(record.id);
    if (record.parentId !== undefined) {
      this.nestedTransactions.delete(record.parentId, record.id);
    }
  }

  #count(counts: Store1<number>, account: string | undefined, change: number): void {
    if (account !== undefined && change !== 0) {
      counts.set(account, (counts.get(account) ?? 0) + change);
    }
  }

  #countTablets(counts: Store1<number>, node: Node | undefined, sign: 1 | -1): void {
    if (node !== undefined) {
      this.#count(counts, node.account, sign * this.tabletCountOf(node));
    }
  }

  #countPending(branch: Branch | undefined, sign: 1 | -1): void {
    if (branch?.kind === "created") {
      this.#count(this.pendingNodeCounts, branch.node.account, sign);
      this.#countTablets(this.pendingTabletCounts, branch.node, sign);
    } else if (branch?.kind === "changed") {
      this.#count(this.pendingNodeCounts, branch.patch.account, sign);
    }
  }
}

export class TreeState extends TreeBase {
  readonly nodes = new Table1<Node>();
  readonly children = new Table2<string>();
  readonly branches = new Table2<Branch>();
  readonly branchChildren = new Table2<string>();
  readonly transactions = new Table1<TransactionRecord>();
  readonly locks = new Table2<LockRecord>();
  readonly transactionLocks = new Table2<string>();
  readonly lockNodes = new Table1<string>();
  readonly nestedTransactions = new Table2<string>();
  readonly nodesByType = new Table2<string>();
  readonly expiring = new Table1<true>();
  readonly accountNodeCounts = new Table1<number>();
  readonly accountTabletCounts = new Table1<number>();
  readonly pendingNodeCounts = new Table1<number>();
  readonly pendingTabletCounts = new Table1<number>();
  readonly tabletCountOf: (node: Node) => number;
  revision = 1n << 32n;
  /** What readers that take their time look at: the state as it was when they began. */
  readonly #snapshots = new Set<TreeLayers>();

  constructor(tabletCountOf: (node: Node) => number = () => 0) {
    super();
    this.tabletCountOf = tabletCountOf;
  }

  /** The state as it is now, whatever is committed later. To be closed, as it takes part in every commit. */
  openSnapshot(): TreeLayers {
    const snapshot = new TreeLayers(this);
    this.#snapshots.add(snapshot);
    return snapshot;
  }

  closeSnapshot(snapshot: TreeLayers): void {
    this.#snapshots.delete(snapshot);
  }

  /** Makes the changes of a mutation that is durable. */
  commit(changes: TreeLayers): void {
    for (const snapshot of this.#snapshots) {
      snapshot.keep(changes);
    }
    changes.applyTo(this);
  }
}

export class TreeLayers extends TreeBase {
  readonly nodes: Layer1<Node>;
  readonly children: Layer2<string>;
  readonly branches: Layer2<Branch>;
  readonly branchChildren: Layer2<string>;
  readonly transactions: Layer1<TransactionRecord>;
  readonly locks: Layer2<LockRecord>;
  readonly transactionLocks: Layer2<string>;
  readonly lockNodes: Layer1<string>;
  readonly nestedTransactions: Layer2<string>;
  readonly nodesByType: Layer2<string>;
  readonly expiring: Layer1<true>;
  readonly accountNodeCounts: Layer1<number>;
  readonly accountTabletCounts: Layer1<number>;
  readonly pendingNodeCounts: Layer1<number>;
  readonly pendingTabletCounts: Layer1<number>;
  readonly tabletCountOf: (node: Node) => number;
  revision: bigint;

  constructor(base: TreeBase) {
    super();
    this.tabletCountOf = base.tabletCountOf;
    this.nodes = new Layer1(base.nodes);
    this.children = new Layer2(base.children);
    this.branches = new Layer2(base.branches);
    this.branchChildren = new Layer2(base.branchChildren);
    this.transactions = new Layer1(base.transactions);
    this.locks = new Layer2(base.locks);
    this.transactionLocks = new Layer2(base.transactionLocks);
    this.lockNodes = new Layer1(base.lockNodes);
    this.nestedTransactions = new Layer2(base.nestedTransactions);
    this.nodesByType = new Layer2(base.nodesByType);
    this.expiring = new Layer1(base.expiring);
    this.accountNodeCounts = new Layer1(base.accountNodeCounts);
    this.accountTabletCounts = new Layer1(base.accountTabletCounts);
    this.pendingNodeCounts = new Layer1(base.pendingNodeCounts);
    this.pendingTabletCounts = new Layer1(base.pendingTabletCounts);
    this.revision = base.revision;
  }

  get isEmpty(): boolean {
    return (
      this.nodes.changes.size === 0 &&
      this.transactions.changes.size === 0 &&
      [...this.branches.changes.values()].every((row) => row.size === 0) &&
      [...this.locks.changes.values()].every((row) => row.size === 0)
    );
  }

  /** Keeps the state below as it is now where the changes are about to be made in it. */
  keep(changes: TreeLayers): void {
    this.nodes.keep(changes.nodes);
    this.children.keep(changes.children);
    this.branches.keep(changes.branches);
    this.branchChildren.keep(changes.branchChildren);
    this.transactions.keep(changes.transactions);
    this.locks.keep(changes.locks);
    this.transactionLocks.keep(changes.transactionLocks);
    this.lockNodes.keep(changes.lockNodes);
    this.nestedTransactions.keep(changes.nestedTransactions);
    this.nodesByType.keep(changes.nodesByType);
    this.expiring.keep(changes.expiring);
    this.accountNodeCounts.keep(changes.accountNodeCounts);
    this.accountTabletCounts.keep(changes.accountTabletCounts);
    this.pendingNodeCounts.keep(changes.pendingNodeCounts);
    this.pendingTabletCounts.keep(changes.pendingTabletCounts);
  }

  /** Makes the changes: in the committed state, or in layers that later mutations stand on. */
  applyTo(target: TreeBase): void {
    this.nodes.applyTo(target.nodes);
    this.children.applyTo(target.children);
    this.branches.applyTo(target.branches);
    this.branchChildren.applyTo(target.branchChildren);
    this.transactions.applyTo(target.transactions);
    this.locks.applyTo(target.locks);
    this.transactionLocks.applyTo(target.transactionLocks);
    this.lockNodes.applyTo(target.lockNodes);
    this.nestedTransactions.applyTo(target.nestedTransactions);
    this.nodesByType.applyTo(target.nodesByType);
    this.expiring.applyTo(target.expiring);
    this.accountNodeCounts.applyTo(target.accountNodeCounts);
    this.accountTabletCounts.applyTo(target.accountTabletCounts);
    this.pendingNodeCounts.applyTo(target.pendingNodeCounts);
    this.pendingTabletCounts.applyTo(target.pendingTabletCounts);
    target.revision = this.revision;
  }
}
