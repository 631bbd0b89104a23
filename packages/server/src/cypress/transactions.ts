/**
 * Master transactions: start, commit into the parent or the tree, abort, and explicit locks.
 * Specified in: yt/yt/server/master/transaction_server/transaction_manager.cpp,
 * yt/yt/server/master/cypress_server/cypress_manager.cpp (branching and merging).
 */
import { limits, type YsonMap, YtError } from "@qyt/base";
import type { TreeDraft } from "./draft.ts";
import { findLockConflict, findPendingConflict, pendingLocks, validateLockRequest } from "./locks.ts";
import type { Node } from "./node.ts";
import type { LockRequest } from "./node-type.ts";
import { applyPatch, mergePatches } from "./patch.ts";
import { type Branch, branchRow, type LockRecord, type TransactionRecord, type TreeReader } from "./state.ts";

export interface StartTransactionInput {
  readonly parentId?: string;
  readonly timeoutMs: number;
  readonly deadlineMs?: number;
  readonly attributes?: YsonMap;
  readonly prerequisiteTransactionIds?: readonly string[];
}

const transactionType = 1;
const nestedTransactionType = 4;

/** @throws YtError 11000 */
export function getTransaction(tree: TreeReader, id: string): TransactionRecord {
  const record = tree.transactions.get(id);
  if (record === undefined) {
    throw new YtError(`No such transaction ${id}`, { code: "NoSuchTransaction" });
  }
  return record;
}

export function startTransaction(draft: TreeDraft, input: StartTransactionInput): string {
  const { parentId } = input;
  if (parentId !== undefined) {
    getTransaction(draft.layers, parentId);
  }
  for (const id of input.prerequisiteTransactionIds ?? []) {
    if (draft.layers.transactions.get(id) === undefined) {
      throw new YtError(`Prerequisite check failed: transaction ${id} is missing`, {
        code: "PrerequisiteCheckFailed",
      });
    }
  }
  const id = draft.newId(parentId === undefined ? transactionType : nestedTransactionType);
  draft.layers.putTransaction({
    id,
    ...(parentId === undefined ? {} : { parentId }),
    startTimeUs: draft.nowUs,
    timeoutMs: Math.min(Math.max(input.timeoutMs, 1), limits.maxTransactionTimeoutMs),
    ...(input.deadlineMs === undefined ? {} : { deadlineUs: Math.round(input.deadlineMs * 1000) }),
    owner: draft.user,
    attributes: input.attributes ?? new Map(),
    prerequisiteTransactionIds: input.prerequisiteTransactionIds ?? [],
  });
  return id;
}

/** Takes an explicit lock, or queues for it. @throws YtError 400–403 */
export function takeLock(draft: TreeDraft, node: Node, request: LockRequest, waitable: boolean): LockRecord {
  validateLockRequest(request);
  const transactionId = draft.transactionId;
  if (transactionId === undefined) {
    throw new YtError("A valid master transaction is required");
  }
  draft.requireStored(node);
  const conflict =
    findLockConflict(draft, node, transactionId, request) ?? findPendingConflict(draft, node, request);
  if (conflict !== undefined) {
    if (!waitable || conflict.has("SameTransactionLockConflict")) {
      throw conflict;
    }
    return draft.putLock(node, transactionId, request, "pending", false);
  }
  if (request.mode === "snapshot") {
    freeze(draft, node, transactionId);
  }
  return draft.putLock(node, transactionId, request, "acquired", false);
}

/** Keeps the node as the transaction sees it now. */
function freeze(draft: TreeDraft, node: Node, transactionId: string): void {
  if (draft.layers.branches.get(transactionId, node.id) !== undefined) {
    return;
  }
  const view = draft.view(transactionId);
  const children = new Map(view.children(node.id));
  draft.layers.putBranch(transactionId, node.id, { kind: "snapshot", node, children });
  draft.typeOf(node).onSnapshot?.(draft, node);
}

/** Gives up the explicit locks of the transaction on a node. @throws YtError when it has changed the node */
export function releaseLocks(draft: TreeDraft, node: Node): void {
  const transactionId = draft.transactionId;
  if (transactionId === undefined) {
    throw new YtError("A valid master transaction is required");
  }
  const mine = [...draft.layers.locks.row(node.id)]
    .map(([, lock]) => lock)
    .filter((lock) => lock.transactionId === transactionId && !lock.implicit);
  const branch = draft.layers.branches.get(transactionId, node.id);
  if (mine.length > 0 && branch !== undefined && branch.kind !== "snapshot") {
    throw new YtError(
      `${draft.describe(node)} cannot be unlocked: it was modified by transaction ${transactionId}`,
    );
  }
  for (const lock of mine) {
    draft.layers.deleteLock(lock);
  }
  if (branch?.kind === "snapshot") {
    draft.layers.deleteBranch(transactionId, node.id);
    draft.typeOf(node).onSnapshotReleased?.(draft, branch.node);
  }
  grantPending(draft, node.id);
}

/** Gives pending locks what has become free, in order. */
function grantPending(draft: TreeDraft, nodeId: string): void {
  for (const lock of pendingLocks(draft.layers, nodeId)) {
    const view = draft.view(lock.transactionId);
    const node = view.node(nodeId);
    if (node === undefined) {
      draft.layers.deleteLock(lock);
      continue;
    }
    if (findLockConflict(view, node, lock.transactionId, lock) !== undefined) {
      return;
    }
    draft.layers.putLock({ ...lock, state: "acquired" });
    if (lock.mode === "snapshot") {
      freeze(draft, node, lock.transactionId);
    }
  }
}

/** Commits into the parent, or into the tree. Nested transactions that are still alive are aborted. */
export function commitTransaction(draft: TreeDraft, id: string): void {
  const record = getTransaction(draft.layers, id);
  for (const prerequisite of record.prerequisiteTransactionIds) {
    if (draft.layers.transactions.get(prerequisite) === undefined) {
      throw new YtError(`Prerequisite check failed: transaction ${prerequisite} is missing`, {
        code: "PrerequisiteCheckFailed",
      });
    }
  }
  abortNested(draft, id);
  mergeBranches(draft, record);
  const touched = promoteLocks(draft, record);
  finish(draft, record, touched);
}

/** Drops everything the transaction and those nested in it have done. */
export function abortTransaction(draft: TreeDraft, id: string): void {
  const record = getTransaction(draft.layers, id);
  abortNested(draft, id);
  for (const [nodeId, branch] of [...draft.layers.branches.row(id)]) {
    dropBranch(draft, id, nodeId, branch);
  }
  const touched: string[] = [];
  for (const [lockId, nodeId] of [...draft.layers.transactionLocks.row(id)]) {
    const lock = draft.layers.locks.get(nodeId, lockId);
    if (lock !== undefined) {
      draft.layers.deleteLock(lock);
      touched.push(nodeId);
    }
  }
  finish(draft, record, touched);
}

function abortNested(draft: TreeDraft, id: string): void {
  for (const [nested] of [...draft.layers.nestedTransactions.row(id)]) {
    abortTransaction(draft, nested);
  }
}

function dropBranch(draft: TreeDraft, transactionId: string, nodeId: string, branch: Branch): void {
  switch (branch.kind) {
    case "created":
      draft.typeOf(branch.node).onRemove?.(draft, branch.node);
      break;
    case "changed":
      if ("state" in branch.patch) {
        const node = draft.view(transactionId).node(nodeId);
        if (node !== undefined) {
          draft.typeOf(node).onAbort?.(draft, node);
        }
      }
      break;
    case "snapshot":
      draft.typeOf(branch.node).onSnapshotReleased?.(draft, branch.node);
      break;
    case "removed":
      break;
  }
  forgetBranch(draft, transactionId, nodeId);
}

function forgetBranch(draft: TreeDraft, transactionId: string, nodeId: string): void {
  draft.layers.deleteBranch(transactionId, nodeId);
  const row = branchRow(transactionId, nodeId);
  for (const [name] of [...draft.layers.branchChildren.row(row)]) {
    draft.layers.branchChildren.delete(row, name);
  }
}

/** Removals first, so that a new node finds the place of an old one free; then changes, then new nodes. */
function mergeBranches(draft: TreeDraft, record: TransactionRecord): void {
  const branches = [...draft.layers.branches.row(record.id)];
  const target = record.parentId;
  for (const [nodeId, branch] of branches) {
    if (branch.kind === "removed") {
      mergeRemoval(draft, target, nodeId);
    }
  }
  for (const [nodeId, branch] of branches) {
    if (branch.kind === "changed") {
      mergeChange(draft, record, nodeId, branch);
    }
  }
  for (const [, branch] of branches) {
    if (branch.kind === "created") {
      mergeCreation(draft, target, branch.node);
    } else if (branch.kind === "snapshot") {
      draft.typeOf(branch.node).onSnapshotReleased?.(draft, branch.node);
    }
  }
  for (const [nodeId] of branches) {
    forgetBranch(draft, record.id, nodeId);
  }
}

function mergeRemoval(draft: TreeDraft, target: string | undefined, nodeId: string): void {
  const { layers } = draft;
  if (target === undefined) {
    const node = layers.nodes.get(nodeId);
    if (node !== undefined) {
      draft.dropNode(node);
    }
    return;
  }
  const branch = layers.branches.get(target, nodeId);
  if (branch?.kind === "snapshot") {
    // The transaction above has frozen the node meanwhile: what was done to it below is lost.
    return;
  }
  const above = draft.view(target);
  const node = above.node(nodeId);
  if (node === undefined) {
    return;
  }
  if (node.parentId !== undefined && node.key !== undefined) {
    layers.branchChildren.set(branchRow(target, node.parentId), node.key, "");
  }
  if (branch?.kind === "created") {
    forgetBranch(draft, target, nodeId);
    draft.typeOf(node).onRemove?.(draft, node);
    return;
  }
  if (branch?.kind === "changed" && "state" in branch.patch) {
    draft.typeOf(node).onAbort?.(draft, node);
  }
  layers.putBranch(target, nodeId, { kind: "removed" });
}

function mergeChange(
  draft: TreeDraft,
  record: TransactionRecord,
  nodeId: string,
  branch: Extract<Branch, { kind: "changed" }>,
): void {
  const { layers } = draft;
  const target = record.parentId;
  const mine = draft.view(record.id).node(nodeId);
  const above = draft.view(target).node(nodeId);
  if (mine === undefined || above === undefined) {
    return;
  }
  const { patch } = branch;
  const state =
    "state" in patch ? { state: draft.typeOf(mine).onCommit?.(draft, mine, above) ?? mine.state } : {};
  const merged = {
    ...patch,
    ...state,
    ...(patch.contentRevision === undefined ? {} : { contentRevision: draft.revision }),
    ...(patch.attributeRevision === undefined ? {} : { attributeRevision: draft.revision }),
    ...(patch.modificationTimeUs === undefined ? {} : { modificationTimeUs: draft.nowUs }),
  };
  if (target === undefined) {
    layers.putNode(applyPatch(above, merged));
    return;
  }
  const before = layers.branches.get(target, nodeId);
  if (before?.kind === "created") {
    layers.putBranch(target, nodeId, { kind: "created", node: applyPatch(before.node, merged) });
  } else if (before?.kind === "changed") {
    layers.putBranch(target, nodeId, { kind: "changed", patch: mergePatches(before.patch, merged) });
  } else if (before === undefined) {
    layers.putBranch(target, nodeId, { kind: "changed", patch: merged });
  }
}

function mergeCreation(draft: TreeDraft, target: string | undefined, node: Node): void {
  const { layers } = draft;
  const stamped: Node = {
    ...node,
    contentRevision: draft.revision,
    attributeRevision: draft.revision,
  };
  if (target === undefined) {
    layers.putNode(stamped);
    return;
  }
  layers.putBranch(target, node.id, { kind: "created", node: stamped });
  if (node.parentId !== undefined && node.key !== undefined) {
    layers.branchChildren.set(branchRow(target, node.parentId), node.key, node.id);
  }
}

/** Whether the transaction sees the node, or has removed it: others must not touch what is about to go. */
function isInReachOf(draft: TreeDraft, transactionId: string, nodeId: string): boolean {
  return (
    draft.layers.branches.get(transactionId, nodeId)?.kind === "removed" ||
    draft.view(transactionId).node(nodeId) !== undefined
  );
}

/** Locks go to the parent; those of a topmost transaction, and snapshots, end. Gives the nodes concerned. */
function promoteLocks(draft: TreeDraft, record: TransactionRecord): string[] {
  const touched: string[] = [];
  for (const [lockId, nodeId] of [...draft.layers.transactionLocks.row(record.id)]) {
    const lock = draft.layers.locks.get(nodeId, lockId);
    if (lock === undefined) {
      continue;
    }
    draft.layers.deleteLock(lock);
    const promoted =
      record.parentId !== undefined &&
      lock.state === "acquired" &&
      lock.mode !== "snapshot" &&
      isInReachOf(draft, record.parentId, nodeId);
    if (promoted && record.parentId !== undefined) {
      draft.layers.putLock({ ...lock, transactionId: record.parentId });
    }
    touched.push(nodeId);
  }
  return touched;
}

/** The record goes; who waited for its locks gets them; who depended on it is aborted. */
function finish(draft: TreeDraft, record: TransactionRecord, touchedNodeIds: readonly string[]): void {
  draft.layers.deleteTransaction(record);
  for (const nodeId of new Set(touchedNodeIds)) {
    grantPending(draft, nodeId);
  }
  for (const [id, other] of [...draft.layers.transactions.entries()]) {
    if (
      other.prerequisiteTransactionIds.includes(record.id) &&
      draft.layers.transactions.get(id) !== undefined
    ) {
      abortTransaction(draft, id);
    }
  }
}
