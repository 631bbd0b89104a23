/**
 * What a type of node is to the tree. Tables, consumers and files register theirs, so that Cypress need
 * not know them. Also the two faces of the state that a type's code sees: `View` for reading and
 * `Draft` for changing it.
 */
import type { YsonMap, YsonValue } from "@qyt/base";
import type { Ace, ColumnDecision, Decision, SubjectDirectory } from "../access/index.ts";
import type { Permission } from "../access/permissions.ts";
import type { WriteBatch } from "../cell/index.ts";
import type { Node, NodePatch } from "./node.ts";
import type { LockMode, TreeReader } from "./state.ts";

/**
 * - `map`: has named children
 * - `scalar`: `content()` is the value of the node
 * - `document`: `content()` is a whole YSON tree with inner paths
 * - `entity`: `get` shows `#`
 */
export type NodeContent = "map" | "scalar" | "document" | "entity";

/** What `create` hands to a type. */
export interface CreateInput {
  readonly id: string;
  /** Built-in and user attributes of the request. A type deletes those that it has taken care of. */
  readonly attributes: Map<string, YsonValue>;
  readonly parent: Node;
  readonly key: string;
  readonly user: string;
}

/** What can be asked of a value in another process. */
export type RemoteMethod = "get" | "list" | "exists";

/** A value that another process has. It is asked for each time somebody reads it, and never kept here. */
export interface RemoteValue {
  /**
   * @param path the part that is wanted, as YPath text: "" for the whole value, "/a/b"
   * @throws YtError what the other process says, or why it could not be asked
   */
  ask(method: RemoteMethod, path: string): Promise<YsonValue>;
}

/** An attribute that the server computes or checks. Methods get the node as the transaction sees it. */
export interface BuiltinAttribute<State = unknown> {
  /** Shown as an entity by `get //x/@`; computed only when it is named. */
  readonly opaque?: boolean;
  /** The value; `undefined` while the node does not have the attribute. */
  get(node: Node<State>, view: View): YsonValue | undefined;
  /** Whether the node has the attribute, where `get` costs too much for that question. Opaque ones only. */
  isPresent?(node: Node<State>, view: View): boolean;
  /** The value is in another process: `get` gives an entity, and who names the attribute asks there. */
  remote?(node: Node<State>, view: View): RemoteValue;
  /** Setting it changes the content of the node: `content_revision` grows too. */
  readonly isContent?: boolean;
  /** The change that setting makes. Absent: read-only. What it throws is wrapped. */
  set?(draft: Draft, node: Node<State>, value: YsonValue): NodePatch<State>;
  /** Further rights that a value needs, at creation too: `use` on an account or bundle. @throws YtError 901 */
  authorizeValue?(draft: Draft, node: Node<State>, value: YsonValue): void;
  /** Further rights that setting needs on an existing node. @throws YtError 901 */
  authorizeSet?(draft: Draft, node: Node<State>): void;
  /** The change that removing makes. Absent: cannot be removed. */
  remove?(draft: Draft, node: Node<State>): NodePatch<State>;
  /** What setting needs on the node; `write` by default. */
  readonly setPermission?: Permission;
}

export interface NodeType<State = unknown> {
  readonly name: string;
  /** Low 16 bits of the third word of an id. */
  readonly objectType: number;
  readonly content: NodeContent;
  /** Shown as an entity inside the parent's `get` always (documents; entities are anyway). */
  readonly alwaysOpaque?: boolean;
  /** An object outside of the tree proper (user, account): has no key, path or times. */
  readonly isObject?: boolean;
  readonly attributes: ReadonlyMap<string, BuiltinAttribute<State>>;
  encodeState(state: State): YsonValue;
  decodeState(value: YsonValue): State;
  /** The state of a new node. May throw and may put records into `draft.batch`. Not called by `copy`. */
  create(draft: Draft, input: CreateInput): State;
  /** Before an attribute of the user is set. @throws YtError when the type gives it a meaning, and the value has none */
  checkAttribute?(name: string, value: YsonValue): void;
  /**
   * Called after the node exists and all attributes of the request are set on it: the place for checks
   * over several attributes and for work that needs the node in place.
   */
  onCreated?(draft: Draft, node: Node<State>): void;
  /** Value of a scalar or a document. */
  getContent?(node: Node<State>): YsonValue;
  /** State after `set` of the whole content (scalars, documents). */
  setContent?(node: Node<State>, value: YsonValue): State;
  /** The content of the node, with all below it, is in another process. */
  remote?(node: Node<State>, view: View): RemoteValue;
  /** Called for every node that goes for good (also a created one whose transaction is aborted). */
  onRemove?(draft: Draft, node: Node<State>): void;
  /** State of the copy; by default the state is shared (it is immutable). */
  copy?(draft: Draft, source: Node<State>, targetId: string, options: { readonly move: boolean }): State;
  /** State of the parent (or trunk) when a transaction that changed the state commits; default: the branch's. */
  onCommit?(draft: Draft, branch: Node<State>, parent: Node<State>): State;
  /** A transaction that changed the state was aborted; `branch` is the version that disappears. */
  onAbort?(draft: Draft, branch: Node<State>): void;
  /** A snapshot lock froze this version of the node; and the lock went away. */
  onSnapshot?(draft: Draft, node: Node<State>): void;
  onSnapshotReleased?(draft: Draft, node: Node<State>): void;
  /** Children of a computed map; such a type has content `map` and no stored children. */
  readonly virtual?: VirtualChildren;
  /** A setting of this directory for what is created inside (`tablet_cell_bundle`). */
  inheritable?(node: Node<State>, name: string): YsonValue | undefined;
  /** Ids of the tablets of the node that are assigned to the tablet cell. */
  assignedTablets?(node: Node<State>): readonly string[];
  /** How many tablets the node has, mounted or not. */
  tabletCount?(state: State): number;
  /** Resources that the node takes of its account, for `@resource_usage`. */
  usage?(node: Node<State>, view: View): ResourceUsage;
  /** Creates an object without a path from its attributes; gives its id. Present on such types only. */
  createObject?(
    draft: Draft,
    attributes: Map<string, YsonValue>,
    options: { readonly ignoreExisting: boolean },
  ): string;
  /** Id of the object whose entries it inherits, where that is not the map that it is in (accounts). */
  aclParent?(node: Node<State>, view: View): string | undefined;
  /** Names the node in error texts, `account "a"`; by default `node <path>`. */
  describe?(node: Node<State>, view: View): string;
}

export interface VirtualChildren {
  count(view: View): number;
  keys(view: View, limit: number): Iterable<string>;
  child(view: View, key: string): Node | undefined;
}

export interface ResourceUsage {
  readonly diskSpaceBytes?: number;
  readonly chunkCount?: number;
  readonly tabletCount?: number;
  readonly tabletStaticMemoryBytes?: number;
}

/** What an account is to pay for beside what it pays for already. */
export interface UsageIncrease extends Pick<ResourceUsage, "tabletCount"> {
  readonly nodeCount?: number;
}

/** All known types. */
export interface NodeTypes {
  find(name: string): NodeType | undefined;
  /** @throws YtError for an unknown name */
  get(name: string): NodeType;
  all(): Iterable<NodeType>;
  /** Built-in attributes of a type: those of every node (or object) and its own. */
  attributesOf(name: string): ReadonlyMap<string, BuiltinAttribute>;
}

export interface PermissionDecision extends Decision {
  readonly columns?: readonly ColumnDecision[];
}

export interface CheckOptions {
  /** Asked vitality of `register_queue_consumer`. */
  readonly vital?: boolean;
  /** Columns that are read; `all` are those that some entry names, as the others need no right of their own. */
  readonly columns?: readonly string[] | "all";
}

/** Lock that a change needs. */
export interface LockRequest {
  readonly mode: LockMode;
  readonly childKey?: string;
  readonly attributeKey?: string;
}

/** The tree as one transaction (or nobody in particular) sees it at this moment. */
export interface View {
  readonly transactionId: string | undefined;
  readonly clusterName: string;
  readonly cellTag: number;
  readonly rootId: string;
  /** The raw records; for this room only. */
  readonly tree: TreeReader;
  readonly subjects: SubjectDirectory;
  readonly types: NodeTypes;
  /** The node with this id, if it exists here (also transactions, locks and computed objects). */
  node(id: string): Node | undefined;
  /** The same. @throws YtError 500 `No such object <id>` */
  nodeOrThrow(id: string): Node;
  /** The node at a path, links followed. @throws YtError 500 */
  resolveNode(path: string): Node;
  findNode(path: string): Node | undefined;
  child(parentId: string, name: string): Node | undefined;
  /** Names and ids of the children, in order of names' creation. */
  children(parentId: string): Iterable<readonly [name: string, id: string]>;
  childCount(parentId: string): number;
  /** `//tmp/t`, escaped; `#<id>` for a node that is not attached to the root. */
  pathOf(node: Node): string;
  typeOf(node: Node): NodeType;
  /** How error texts name it: `node //tmp/t`, `account "a"`. */
  describe(node: Node): string;
  /** A setting of the node's directory or of the nearest one above it that has it (`tablet_cell_bundle`). */
  inherited(directory: Node, name: string): YsonValue | undefined;
  /** @throws YtError 901, 903, 910 */
  check(user: string, permission: Permission, node: Node, options?: CheckOptions): void;
  isAllowed(user: string, permission: Permission, node: Node, options?: CheckOptions): boolean;
  /** The decision with its reason. @throws YtError 910 */
  decide(user: string, permission: Permission, node: Node, options?: CheckOptions): PermissionDecision;
  /** Needs the permission on the node and on all below it. @throws YtError 901 for the first denial */
  checkSubtree(user: string, permission: Permission, node: Node): void;
  /** Own and inherited entries that count for the node. */
  effectiveAcl(node: Node): Ace[];
  /** Accesses, those included that are not written down yet. */
  accessOf(node: Node): { readonly counter: number; readonly timeUs: number };
  touchTimeUs(node: Node): number;
  /** Nodes of one type in the committed tree, whatever the transaction. */
  nodesOfType(type: string): Iterable<Node>;
}

export interface CreateNodeInput<State = unknown> {
  readonly type: string;
  readonly parent: Node;
  readonly key: string;
  readonly user: string;
  /** Built-in and user attributes; the type's `create` is called when `state` is absent. */
  readonly attributes?: YsonMap;
  readonly state?: State;
  readonly id?: string;
  readonly account?: string;
  /** Another node goes with the same mutation, and leaves its account to this one (moves). */
  readonly takesPlaceOf?: Node;
  /** Fields that differ from those of a new node (copies). */
  readonly overrides?: Partial<Node>;
}

/** Limits of the tree; tests lower them. */
export interface TreeLimits {
  readonly maxChildCount: number;
  readonly maxNodeKeyBytes: number;
  readonly maxStringNodeBytes: number;
  readonly maxAttributeBytes: number;
}

/** The tree in the middle of one mutation: committed state and the changes made so far. */
export interface Draft extends View {
  /** The same changes as another transaction (or nobody in particular) sees them. */
  view(transactionId: string | undefined): View;
  readonly user: string;
  readonly limits: TreeLimits;
  /** Unix time in milliseconds, the same during the whole mutation. */
  readonly now: number;
  /** Further records of this mutation. */
  readonly batch: WriteBatch;
  /** Runs after the batch is durable and the tree shows it, before the caller is answered. */
  onDurable(callback: () => void): void;
  onFailed(callback: () => void): void;
  newId(objectType: number): string;
  nextTimestamp(): bigint;
  /**
   * Changes a node; gives the new record. Takes the implicit locks: an attribute key for attributes,
   * exclusive for the state, unless another request (or `false` for none) is named.
   * @throws YtError 400–403
   */
  update(nodeId: string, patch: NodePatch, options?: UpdateOptions): Node;
  /** Takes the lock for the transaction, or makes sure that it could be taken when there is none. */
  lockImplicitly(nodeId: string, request: LockRequest): void;
  /** Needs `use` on the account. @throws YtError 901, 905 */
  checkAccountUse(account: string): void;
  /** Whether the account, and those above it, have room for that. @throws YtError 902, 905 */
  checkAccountRoom(account: string, increase: UsageIncrease): void;
  createNode(input: CreateNodeInput): Node;
  /** Removes the node with its subtree; checks locks, not permissions. */
  removeNode(nodeId: string): void;
  /** Takes a removed user or group out of all entries; what was its own is `guest`'s then. */
  forgetSubject(name: string): void;
}

export interface UpdateOptions {
  readonly lock?: LockRequest | false;
  /** Leaves `modification_time` alone. */
  readonly keepModificationTime?: boolean;
  /** Which revisions grow; by default that of the content for the state, that of the attributes for the rest. */
  readonly revisions?: readonly ("content" | "attribute")[];
}
