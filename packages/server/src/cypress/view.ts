/**
 * The tree as a transaction sees it: committed records below, the branches of the transaction and of
 * those around it on top.
 */
import { type YsonValue, YtError } from "@qyt/base";
import { escapeYPathLiteral } from "@qyt/yson";
import {
  type Ace,
  type AclHolder,
  type Asker,
  accessDenied,
  type CollectedAce,
  collectEntries,
  decide,
  decideColumns,
  everyoneGroup,
  type Permission,
  type Question,
  restrictedColumns,
  type SubjectDirectory,
  userBanned,
} from "../access/index.ts";
import type { AccessTracker } from "./access-tracker.ts";
import type { Node } from "./node.ts";
import type {
  CheckOptions,
  NodeType,
  NodeTypes,
  PermissionDecision,
  UsageIncrease,
  View,
} from "./node-type.ts";
import { applyPatch } from "./patch.ts";
import { resolveTarget } from "./resolve.ts";
import { branchRow, type StoredPatch, type TreeReader } from "./state.ts";
import { findTransactionObject, transactionChain } from "./transaction-objects.ts";

/** What all views of one tree share. */
export interface ViewEnvironment {
  readonly clusterName: string;
  readonly cellTag: number;
  readonly accesses: AccessTracker;
  readonly rootId: string;
  readonly types: NodeTypes;
  readonly findObject: ((view: View, id: string) => Node | undefined) | undefined;
  /** @throws YtError 905, 902 when the account, or one above it, has no room for that */
  checkAccount(view: View, account: string, increase: UsageIncrease): void;
  /** Directory of the committed state. */
  subjects(): SubjectDirectory;
}

const readForEveryone: Ace = {
  action: "allow",
  subjects: [everyoneGroup],
  permissions: ["read"],
  inheritanceMode: "object_and_descendants",
};

export class TreeView implements View {
  readonly tree: TreeReader;
  readonly transactionId: string | undefined;
  protected readonly environment: ViewEnvironment;

  constructor(environment: ViewEnvironment, tree: TreeReader, transactionId: string | undefined) {
    this.environment = environment;
    this.tree = tree;
    this.transactionId = transactionId;
  }

  get clusterName(): string {
    return this.environment.clusterName;
  }

  get cellTag(): number {
    return this.environment.cellTag;
  }

  get rootId(): string {
    return this.environment.rootId;
  }

  get types(): NodeTypes {
    return this.environment.types;
  }

  get subjects(): SubjectDirectory {
    return this.environment.subjects();
  }

  node(id: string): Node | undefined {
    return (
      this.treeNode(id) ?? findTransactionObject(this.tree, id) ?? this.environment.findObject?.(this, id)
    );
  }

  /** The node among the stored ones. */
  protected treeNode(id: string): Node | undefined {
    const patches: StoredPatch[] = [];
    let node: Node | undefined;
    for (const transactionId of transactionChain(this.tree, this.transactionId)) {
      const branch = this.tree.branches.get(transactionId, id);
      if (branch?.kind === "removed") {
        return undefined;
      }
      if (branch?.kind === "changed") {
        patches.push(branch.patch);
      } else if (branch !== undefined) {
        node = branch.node;
        break;
      }
    }
    node ??= this.tree.nodes.get(id);
    if (node === undefined) {
      return undefined;
    }
    for (let index = patches.length - 1; index >= 0; index -= 1) {
      const patch = patches[index];
      if (patch !== undefined) {
        node = applyPatch(node, patch);
      }
    }
    return node;
  }

  nodeOrThrow(id: string): Node {
    const node = this.node(id);
    if (node === undefined) {
      throw new YtError(`No such object ${id}`, { code: "ResolveError" });
    }
    return node;
  }

  resolveNode(path: string): Node {
    const target = resolveTarget(this, path);
    if (target.kind !== "node") {
      throw new YtError(`Path ${path} does not point to a node`, { code: "ResolveError" });
    }
    return target.node;
  }

  findNode(path: string): Node | undefined {
    const target = resolveTarget(this, path, { allowMissing: true });
    return target.kind === "node" ? target.node : undefined;
  }

  child(parentId: string, name: string): Node | undefined {
    for (const transactionId of transactionChain(this.tree, this.transactionId)) {
      const branch = this.tree.branches.get(transactionId, parentId);
      if (branch === undefined) {
        continue;
      }
      const changed =
        branch.kind === "snapshot"
          ? (branch.children.get(name) ?? "")
          : this.tree.branchChildren.get(branchRow(transactionId, parentId), name);
      if (changed !== undefined) {
        return changed === "" ? undefined : this.node(changed);
      }
    }
    const id = this.tree.children.get(parentId, name);
    return id === undefined ? this.#virtualChild(parentId, name) : this.node(id);
  }

  #virtualChild(parentId: string, name: string): Node | undefined {
    const parent = this.tree.nodes.get(parentId);
    return parent === undefined ? undefined : this.typeOf(parent).virtual?.child(this, name);
  }

  children(parentId: string): Iterable<readonly [name: string, id: string]> {
    const chain = transactionChain(this.tree, this.transactionId).filter(
      (transactionId) => this.tree.branches.get(transactionId, parentId) !== undefined,
    );
    if (chain.length === 0) {
      return this.tree.children.row(parentId);
    }
    let merged = new Map(this.tree.children.row(parentId));
    for (const transactionId of chain.reverse()) {
      const branch = this.tree.branches.get(transactionId, parentId);
      if (branch?.kind === "snapshot") {
        merged = new Map(branch.children);
        continue;
      }
      for (const [name, id] of this.tree.branchChildren.row(branchRow(transactionId, parentId))) {
        if (id === "") {
          merged.delete(name);
        } else {
          merged.set(name, id);
        }
      }
    }
    return merged;
  }

  childCount(parentId: string): number {
    const children = this.children(parentId);
    return children instanceof Map ? children.size : this.tree.children.rowSize(parentId);
  }

  pathOf(node: Node): string {
    const names: string[] = [];
    let current = node;
    while (current.id !== this.rootId) {
      const { parentId, key } = current;
      const parent = parentId === undefined ? undefined : this.node(parentId);
      if (parent === undefined || key === undefined || this.child(parent.id, key)?.id !== current.id) {
        return names.length === 0 ? `#${node.id}` : `#${current.id}/${names.reverse().join("/")}`;
      }
      names.push(escapeYPathLiteral(key));
      current = parent;
    }
    return names.length === 0 ? "/" : `//${names.reverse().join("/")}`;
  }

  typeOf(node: Node): NodeType {
    return this.types.get(node.type);
  }

  describe(node: Node): string {
    return this.typeOf(node).describe?.(node, this) ?? `node ${this.pathOf(node)}`;
  }

  inherited(directory: Node, name: string): YsonValue | undefined {
    for (const holder of this.#upward(directory)) {
      const value = this.typeOf(holder).inheritable?.(holder, name);
      if (value !== undefined) {
        return value;
      }
    }
    return undefined;
  }

  *#upward(node: Node): Iterable<Node> {
    for (let current: Node | undefined = node; current !== undefined; ) {
      yield current;
      current = current.parentId === undefined ? undefined : this.node(current.parentId);
    }
  }

  /** The node and those whose entries it inherits. */
  *#holders(node: Node): Iterable<Node> {
    for (let current: Node | undefined = node; current !== undefined; ) {
      yield current;
      const above: string | undefined = this.typeOf(current).aclParent?.(current, this) ?? current.parentId;
      current = above === undefined ? undefined : this.node(above);
    }
  }

  /** Entries that count for the node, its own and inherited. */
  entriesOf(node: Node): CollectedAce[] {
    const chain: AclHolder[] = [...this.#holders(node)];
    const entries = collectEntries(chain);
    const top = chain.at(-1);
    // What was removed while a snapshot lock keeps it has lost the entries above it.
    if (top !== undefined && top.id !== this.rootId && this.typeOf(node).isObject !== true) {
      entries.push({ ace: readForEveryone, holder: top });
    }
    return entries;
  }

  decide(user: string, permission: Permission, node: Node, options: CheckOptions = {}): PermissionDecision {
    const subject = this.subjects.user(user);
    if (subject.banned) {
      return { action: "deny" };
    }
    if (this.subjects.isSuperuser(subject.name)) {
      return { action: "allow" };
    }
    const entries = this.entriesOf(node);
    const asker: Asker = { name: subject.name, groups: this.subjects.closureOf(subject.name) };
    const question: Question = { permission, owner: node.owner, vital: options.vital === true };
    const decision = decide(entries, asker, question);
    if (options.columns === undefined) {
      return decision;
    }
    const columns = options.columns === "all" ? [...restrictedColumns(entries)] : options.columns;
    return { ...decision, columns: decideColumns(entries, asker, columns, question) };
  }

  isAllowed(user: string, permission: Permission, node: Node, options: CheckOptions = {}): boolean {
    const decision = this.decide(user, permission, node, options);
    return decision.action === "allow" && (decision.columns ?? []).every(({ action }) => action === "allow");
  }

  check(user: string, permission: Permission, node: Node, options: CheckOptions = {}): void {
    const decision = this.decide(user, permission, node, options);
    const denied =
      decision.action === "deny" ? decision : decision.columns?.find(({ action }) => action === "deny");
    if (denied === undefined) {
      return;
    }
    if (this.subjects.user(user).banned) {
      throw userBanned(user);
    }
    if (permission === "full_read") {
      // Who may not even read is told so: to read may be enough.
      this.check(user, "read", node);
    }
    const holder = denied.holderId === undefined ? undefined : this.node(denied.holderId);
    const column = "column" in denied ? String(denied.column) : undefined;
    throw accessDenied({
      user,
      permission,
      objectId: node.id,
      objectType: node.type,
      objectName: this.describe(node),
      ...(this.typeOf(node).isObject === true ? {} : { path: this.pathOf(node) }),
      ...(column === undefined ? {} : { column }),
      ...(holder === undefined
        ? {}
        : {
            deniedBy: this.describe(holder),
            deniedById: holder.id,
            deniedFor: denied.subject ?? "",
            deniedForId: this.subjects.find(denied.subject ?? "")?.id ?? "",
          }),
    });
  }

  checkSubtree(user: string, permission: Permission, node: Node): void {
    if (this.subjects.isSuperuser(this.subjects.user(user).name)) {
      return;
    }
    this.check(user, permission, node);
    for (const [, id] of this.children(node.id)) {
      const child = this.node(id);
      if (child !== undefined) {
        this.checkSubtree(user, permission, child);
      }
    }
  }

  effectiveAcl(node: Node): Ace[] {
    return this.entriesOf(node).map(({ ace }) => ace);
  }

  accessOf(node: Node): { readonly counter: number; readonly timeUs: number } {
    const pending = this.environment.accesses.get(node.id);
    return {
      counter: node.accessCounter + (pending?.counter ?? 0),
      timeUs: Math.max(node.accessTimeUs, pending?.timeUs ?? 0),
    };
  }

  touchTimeUs(node: Node): number {
    const pending = this.environment.accesses.get(node.id)?.touchTimeUs;
    return Math.max(node.touchTimeUs ?? node.creationTimeUs, pending ?? 0);
  }

  *nodesOfType(type: string): Iterable<Node> {
    for (const [id] of this.tree.nodesByType.row(type)) {
      const node = this.tree.nodes.get(id);
      if (node !== undefined) {
        yield node;
      }
    }
  }
}
