/**
 * One mutation in progress: a view over layers, with the primitive changes. Commands are made of these.
 * Nothing here touches the committed state; `Cypress.mutate` pours the layers in when they are durable.
 */
import { assert, atOnce, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import { SubjectDirectory } from "../access/index.ts";
import { type Cell, WriteBatch } from "../cell/index.ts";
import { applyAttributes } from "./attributes/apply.ts";
import { forgetSubject } from "./forget-subject.ts";
import { acquiredLocks, findLockConflict, isCovered } from "./locks.ts";
import type { Node, NodePatch } from "./node.ts";
import type {
  CreateNodeInput,
  Draft,
  LockRequest,
  TreeLimits,
  UpdateOptions,
  UsageIncrease,
} from "./node-type.ts";
import { applyPatch, mergePatches } from "./patch.ts";
import { branchRow, type LockRecord, type StoredPatch, type TreeLayers } from "./state.ts";
import { subjectsOf } from "./subject-index.ts";
import { transactionChain } from "./transaction-objects.ts";
import { TreeView, type ViewEnvironment } from "./view.ts";

export interface DraftOptions {
  readonly environment: ViewEnvironment;
  readonly layers: TreeLayers;
  readonly cell: Cell;
  readonly limits: TreeLimits;
  readonly user: string;
  readonly transactionId: string | undefined;
  readonly suppressModificationTracking: boolean;
}

const objectTypeOfLock = 200;
const subjectTypes: ReadonlySet<string> = new Set(["user", "group"]);
/** Fields of a patch that are attributes of their own for the locks, with the attribute's name. */
const lockedFields = [
  ["account", "account"],
  ["owner", "owner"],
  ["acl", "acl"],
  ["inheritAcl", "inherit_acl"],
  ["opaque", "opaque"],
  ["annotation", "annotation"],
  ["removeAnnotation", "annotation"],
  ["expirationTimeUs", "expiration_time"],
  ["expirationTimeoutMs", "expiration_timeout"],
] as const;

export class TreeDraft extends TreeView implements Draft {
  readonly layers: TreeLayers;
  readonly user: string;
  readonly now: number;
  readonly batch = new WriteBatch();
  readonly limits: TreeLimits;
  readonly cell: Cell;
  /** All changes of one mutation have the same revision. */
  readonly revision: bigint;
  readonly durableCallbacks: (() => void)[] = [];
  readonly failedCallbacks: (() => void)[] = [];
  readonly #options: DraftOptions;
  #subjects: SubjectDirectory | undefined;
  subjectsChanged = false;

  constructor(options: DraftOptions) {
    super(options.environment, options.layers, options.transactionId);
    this.#options = options;
    this.layers = options.layers;
    this.user = options.user;
    this.cell = options.cell;
    this.limits = options.limits;
    this.now = options.cell.clock.now();
    options.layers.revision += 1n;
    this.revision = options.layers.revision;
  }

  get nowUs(): number {
    return Math.round(this.now * 1000);
  }

  override get subjects(): SubjectDirectory {
    if (!this.subjectsChanged) {
      return super.subjects;
    }
    this.#subjects ??= new SubjectDirectory(subjectsOf(this));
    return this.#subjects;
  }

  #noteChange(type: string): void {
    if (subjectTypes.has(type)) {
      this.subjectsChanged = true;
      this.#subjects = undefined;
    }
  }

  onDurable(callback: () => void): void {
    this.durableCallbacks.push(callback);
  }

  onFailed(callback: () => void): void {
    this.failedCallbacks.push(callback);
  }

  newId(objectType: number): string {
    return this.cell.newObjectId(objectType);
  }

  nextTimestamp(): bigint {
    return this.cell.nextTimestamp();
  }

  /** The same layers as another transaction sees them. */
  view(transactionId: string | undefined): TreeView {
    return transactionId === this.transactionId
      ? this
      : new TreeView(this.environment, this.layers, transactionId);
  }

  update(nodeId: string, patch: NodePatch, options: UpdateOptions = {}): Node {
    const node = this.nodeOrThrow(nodeId);
    if (node.type === "transaction" || node.type === "nested_transaction") {
      return this.#updateTransaction(node, patch);
    }
    this.requireStored(node);
    if (options.lock === undefined) {
      for (const request of implicitLocks(patch)) {
        this.lockImplicitly(nodeId, request);
      }
    } else if (options.lock !== false) {
      this.lockImplicitly(nodeId, options.lock);
    }
    const keepTime = options.keepModificationTime === true || this.#options.suppressModificationTracking;
    const revisions = options.revisions ?? changedRevisions(patch);
    const stamped: StoredPatch = {
      ...patch,
      ...(revisions.includes("content") ? { contentRevision: this.revision } : {}),
      ...(revisions.includes("attribute") ? { attributeRevision: this.revision } : {}),
      ...(keepTime ? {} : { modificationTimeUs: this.nowUs }),
    };
    this.#put(node, stamped);
    this.#noteChange(node.type);
    return this.nodeOrThrow(nodeId);
  }

  /** @throws YtError for a lock, a chunk and what else only has an id: it is shown, and not kept, as a node */
  requireStored(node: Node): void {
    if (this.treeNode(node.id) === undefined) {
      throw new YtError(`${this.describe(node)} is not a node: it can be neither changed nor locked`, {
        code: "InvalidObjectType",
        attributes: { id: node.id, type: node.type },
      });
    }
  }

  #put(node: Node, patch: StoredPatch): void {
    if (this.transactionId === undefined) {
      const trunk = this.layers.nodes.get(node.id);
      assert(trunk !== undefined, `node ${node.id} is not in the tree`);
      this.layers.putNode(applyPatch(trunk, patch));
      return;
    }
    const branch = this.layers.branches.get(this.transactionId, node.id);
    assert(branch?.kind !== "snapshot" && branch?.kind !== "removed", "branch can be changed");
    this.layers.putBranch(
      this.transactionId,
      node.id,
      branch?.kind === "created"
        ? { kind: "created", node: applyPatch(branch.node, patch) }
        : { kind: "changed", patch: branch === undefined ? patch : mergePatches(branch.patch, patch) },
    );
  }

  #updateTransaction(node: Node, patch: NodePatch): Node {
    const record = this.layers.transactions.get(node.id);
    assert(record !== undefined, `transaction ${node.id} exists`);
    const attributes = new Map(record.attributes);
    for (const [name, value] of patch.attributes ?? []) {
      if (value === undefined) {
        attributes.delete(name);
      } else {
        attributes.set(name, value);
      }
    }
    this.layers.putTransaction({
      ...record,
      attributes,
      ...(patch.owner === undefined ? {} : { owner: patch.owner }),
    });
    return this.nodeOrThrow(node.id);
  }

  lockImplicitly(nodeId: string, request: LockRequest): void {
    const node = this.nodeOrThrow(nodeId);
    const conflict = findLockConflict(this, node, this.transactionId, request);
    if (conflict !== undefined) {
      throw conflict;
    }
    if (this.transactionId !== undefined) {
      this.putLock(node, this.transactionId, request, "acquired", true);
    }
  }

  /** Writes the lock down unless one that the transaction has already covers it. */
  putLock(
    node: Node,
    transactionId: string,
    request: LockRequest,
    state: "pending" | "acquired",
    implicit: boolean,
  ): LockRecord {
    if (implicit) {
      for (const held of acquiredLocks(this.layers, node.id)) {
        if (held.transactionId === transactionId && isCovered(held, request)) {
          return held;
        }
      }
    }
    const lock: LockRecord = {
      id: this.newId(objectTypeOfLock),
      nodeId: node.id,
      transactionId,
      mode: request.mode,
      ...(request.childKey === undefined ? {} : { childKey: request.childKey }),
      ...(request.attributeKey === undefined ? {} : { attributeKey: request.attributeKey }),
      state,
      implicit,
      creationTimeUs: this.nowUs,
      sequence: this.revision,
    };
    this.layers.putLock(lock);
    return lock;
  }

  createNode(input: CreateNodeInput): Node {
    const { parent, key, user } = input;
    const type = this.types.get(input.type);
    this.#checkNewChild(parent, key);
    this.lockImplicitly(parent.id, { mode: "shared", childKey: key });
    const id = input.id ?? this.newId(type.objectType);
    const attributes = new Map(input.attributes ?? []);
    const account = this.#accountOf(input, attributes);
    const state = "state" in input ? input.state : type.create(this, { id, attributes, parent, key, user });
    const node: Node = {
      id,
      type: input.type,
      parentId: parent.id,
      key,
      creationTimeUs: this.nowUs,
      modificationTimeUs: this.nowUs,
      accessTimeUs: this.nowUs,
      accessCounter: 0,
      attributeRevision: this.revision,
      contentRevision: this.revision,
      account,
      owner: user,
      acl: [],
      inheritAcl: true,
      attributes: new Map(),
      state,
      ...input.overrides,
    };
    this.#checkRoom(node, input.takesPlaceOf);
    this.#insert(node, parent);
    applyAttributes(this, node, attributes);
    const created = this.nodeOrThrow(id);
    type.onCreated?.(this, created);
    this.touch(parent);
    return this.nodeOrThrow(id);
  }

  checkAccountUse(account: string): void {
    const accounts = this.findNode("//sys/accounts");
    const node = accounts === undefined ? undefined : this.child(accounts.id, account);
    if (node === undefined) {
      throw new YtError(`No such account "${account}"`, { code: "NoSuchAccount" });
    }
    this.check(this.user, "use", node);
  }

  checkAccountRoom(account: string, increase: UsageIncrease): void {
    this.environment.checkAccount(this, account, increase);
  }

  #insert(node: Node, parent: Node): void {
    if (this.transactionId === undefined) {
      this.layers.putNode(node);
    } else {
      this.layers.putBranch(this.transactionId, node.id, { kind: "created", node });
      this.layers.branchChildren.set(branchRow(this.transactionId, parent.id), node.key ?? "", node.id);
      this.touch(parent);
      this.putLock(node, this.transactionId, { mode: "exclusive" }, "acquired", true);
    }
    this.#noteChange(node.type);
  }

  #accountOf(input: CreateNodeInput, attributes: Map<string, YsonValue>): string {
    const asked = attributes.get("account");
    if (typeof asked === "string") {
      attributes.delete("account");
    }
    const account = input.account ?? (typeof asked === "string" ? asked : input.parent.account);
    return account;
  }

  /** @throws YtError 902, 905 */
  #checkRoom(node: Node, replaced: Node | undefined): void {
    if (replaced?.account !== node.account) {
      const tabletCount = this.typeOf(node).tabletCount?.(node.state) ?? 0;
      this.environment.checkAccount(this, node.account, { nodeCount: 1, tabletCount });
    }
  }

  /** @throws YtError 501, 502, 505 */
  #checkNewChild(parent: Node, key: string): void {
    const parentType = this.typeOf(parent);
    if (parentType.content !== "map" || parentType.virtual !== undefined) {
      throw new YtError(`Cannot create children in ${this.describe(parent)}`);
    }
    if (key === "") {
      throw new YtError("Child key cannot be empty");
    }
    const bytes = stringToBytes(key).length;
    if (bytes > this.limits.maxNodeKeyBytes) {
      throw new YtError(
        `Key of a child of ${this.describe(parent)} is too long: ${bytes} bytes, limit ${this.limits.maxNodeKeyBytes} bytes`,
        { code: "MaxKeyLengthViolation" },
      );
    }
    if (this.child(parent.id, key) !== undefined) {
      throw new YtError(`${this.describe(parent)} already has child "${key}"`, { code: "AlreadyExists" });
    }
    if (this.#hasTooManyChildren(parent)) {
      throw new YtError(
        `Composite ${this.describe(parent)} is not allowed to contain more than ${this.limits.maxChildCount} items`,
        { code: "MaxChildCountViolation" },
      );
    }
  }

  /** Counts exactly only when the records of all transactions on the way could be too many. */
  #hasTooManyChildren(parent: Node): boolean {
    let atMost = this.layers.children.rowSize(parent.id);
    for (const transactionId of transactionChain(this.layers, this.transactionId)) {
      atMost += this.layers.branchChildren.rowSize(branchRow(transactionId, parent.id));
    }
    const limit = this.limits.maxChildCount;
    return atMost >= limit && this.childCount(parent.id) >= limit;
  }

  /** A child came or went. */
  touch(parent: Node): void {
    const keepTime = this.#options.suppressModificationTracking;
    this.#put(parent, {
      contentRevision: this.revision,
      ...(keepTime ? {} : { modificationTimeUs: this.nowUs }),
    });
  }

  /** Gives a copy the modification time of its source, after its children have come. */
  stampModificationTime(nodeId: string, modificationTimeUs: number): void {
    this.#put(this.nodeOrThrow(nodeId), { modificationTimeUs });
  }

  forgetSubject(name: string): void {
    forgetSubject(this, this.layers, name);
  }

  removeNode(nodeId: string): void {
    atOnce(this.removeNodeInSlices(nodeId));
  }

  /** The same for a subtree that may be large; stops after each node. */
  *removeNodeInSlices(nodeId: string): Generator<void, void, void> {
    const node = this.nodeOrThrow(nodeId);
    const parent = node.parentId === undefined ? undefined : this.node(node.parentId);
    if (parent === undefined || node.key === undefined) {
      throw new YtError(`${this.describe(node)} cannot be removed`);
    }
    this.lockImplicitly(parent.id, { mode: "shared", childKey: node.key });
    const subtree = [...this.subtree(node)];
    for (const each of subtree) {
      this.lockImplicitly(each.id, { mode: "exclusive" });
      yield;
    }
    for (const each of subtree.reverse()) {
      this.#removeOne(each);
      yield;
    }
    this.touch(parent);
  }

  /** The node and everything below it that is stored, parents first. */
  *subtree(node: Node): Iterable<Node> {
    yield node;
    for (const [, id] of this.children(node.id)) {
      const child = this.node(id);
      if (child !== undefined) {
        yield* this.subtree(child);
      }
    }
  }

  #removeOne(node: Node): void {
    const type = this.typeOf(node);
    this.#noteChange(node.type);
    if (this.transactionId === undefined) {
      this.dropNode(node);
      return;
    }
    const branch = this.layers.branches.get(this.transactionId, node.id);
    if (node.parentId !== undefined && node.key !== undefined) {
      this.layers.branchChildren.set(branchRow(this.transactionId, node.parentId), node.key, "");
    }
    if (branch?.kind === "created") {
      this.layers.deleteBranch(this.transactionId, node.id);
      this.#clearRow(branchRow(this.transactionId, node.id));
      this.dropLocks(node.id, true);
      type.onRemove?.(this, node);
      return;
    }
    if (branch?.kind === "changed" && "state" in branch.patch) {
      type.onAbort?.(this, node);
    }
    this.layers.putBranch(this.transactionId, node.id, { kind: "removed" });
  }

  #clearRow(row: string): void {
    for (const [name] of [...this.layers.branchChildren.row(row)]) {
      this.layers.branchChildren.delete(row, name);
    }
  }

  /** Takes a committed node out for good. Snapshots of it live on in their transactions. */
  dropNode(node: Node): void {
    this.layers.deleteNode(node);
    this.dropLocks(node.id, false);
    this.typeOf(node).onRemove?.(this, node);
    this.#noteChange(node.type);
  }

  dropLocks(nodeId: string, snapshotsToo: boolean): void {
    for (const [, lock] of [...this.layers.locks.row(nodeId)]) {
      if (snapshotsToo || lock.mode !== "snapshot") {
        this.layers.deleteLock(lock);
      }
    }
  }
}

function changedRevisions(patch: NodePatch): ("content" | "attribute")[] {
  const touchesAttributes = Object.keys(patch).some((field) => field !== "state" && field !== "touchTimeUs");
  return [
    ...("state" in patch ? ["content" as const] : []),
    ...(touchesAttributes ? ["attribute" as const] : []),
  ];
}

function implicitLocks(patch: NodePatch): LockRequest[] {
  if ("state" in patch) {
    return [{ mode: "exclusive" }];
  }
  const keys = new Set(patch.attributes?.keys() ?? []);
  for (const [field, name] of lockedFields) {
    if (patch[field] !== undefined) {
      keys.add(name);
    }
  }
  return [...keys].map((attributeKey) => ({ mode: "shared", attributeKey }));
}
