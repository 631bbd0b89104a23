/**
 * Which locks go together. Specified in: yt/yt/server/master/cypress_server/cypress_manager.cpp
 * (lock validation) and the documentation of master transactions.
 */
import { YtError } from "@qyt/base";
import type { Node } from "./node.ts";
import type { LockRequest, View } from "./node-type.ts";
import type { LockRecord, TreeReader } from "./state.ts";
import { transactionChain } from "./transaction-objects.ts";

type Relation = "same" | "ancestor" | "descendant" | "concurrent";

/** What the transaction of an existing lock is to the one that asks. */
function relationOf(tree: TreeReader, existing: string, mine: string | undefined): Relation {
  if (existing === mine) {
    return "same";
  }
  if (mine === undefined) {
    return "concurrent";
  }
  if (transactionChain(tree, mine).includes(existing)) {
    return "ancestor";
  }
  return transactionChain(tree, existing).includes(mine) ? "descendant" : "concurrent";
}

function sameKey(a: LockRequest, b: LockRequest): boolean {
  return (
    (a.childKey !== undefined && a.childKey === b.childKey) ||
    (a.attributeKey !== undefined && a.attributeKey === b.attributeKey)
  );
}

function areCompatible(wanted: LockRequest, held: LockRequest): boolean {
  if (wanted.mode === "snapshot" || held.mode === "snapshot") {
    return true;
  }
  if (wanted.mode === "exclusive" || held.mode === "exclusive") {
    return false;
  }
  return !sameKey(wanted, held);
}

/** Whether a lock that the transaction itself holds makes the request needless. */
export function isCovered(held: LockRecord, wanted: LockRequest): boolean {
  if (held.mode === wanted.mode) {
    return held.childKey === wanted.childKey && held.attributeKey === wanted.attributeKey;
  }
  return held.mode === "exclusive" && wanted.mode === "shared";
}

export function acquiredLocks(tree: TreeReader, nodeId: string): LockRecord[] {
  return [...tree.locks.row(nodeId)].map(([, lock]) => lock).filter(({ state }) => state === "acquired");
}

/** Pending locks in the order in which they are to be granted. */
export function pendingLocks(tree: TreeReader, nodeId: string): LockRecord[] {
  return [...tree.locks.row(nodeId)]
    .map(([, lock]) => lock)
    .filter(({ state }) => state === "pending")
    .sort((a, b) => (a.sequence < b.sequence ? -1 : 1));
}

function attributesOfConflict(lock: LockRecord): Record<string, string> {
  return { winner_transaction: lock.transactionId, lock_id: lock.id };
}

function conflictError(
  view: View,
  node: Node,
  wanted: LockRequest,
  held: LockRecord,
  relation: "descendant" | "concurrent",
): YtError {
  const code =
    relation === "concurrent" ? "ConcurrentTransactionLockConflict" : "DescendantTransactionLockConflict";
  const options = { code, attributes: attributesOfConflict(held) } as const;
  const holder = `${relation} transaction ${held.transactionId}`;
  const what = view.describe(node);
  if (wanted.childKey !== undefined && wanted.childKey === held.childKey) {
    return new YtError(
      `Cannot take lock for child "${wanted.childKey}" of ${what} since this child is locked by ${holder}`,
      options,
    );
  }
  if (wanted.attributeKey !== undefined && wanted.attributeKey === held.attributeKey) {
    return new YtError(
      `Cannot take lock for attribute "${wanted.attributeKey}" of ${what} since this attribute is locked by ${holder}`,
      options,
    );
  }
  return new YtError(
    `Cannot take "${wanted.mode}" lock for ${what} since "${held.mode}" lock is taken by ${holder}`,
    options,
  );
}

function sameTransactionError(view: View, node: Node, wanted: LockRequest, held: LockRecord): YtError {
  return new YtError(
    `Cannot take "${wanted.mode}" lock for ${view.describe(node)} since "${held.mode}" lock is already taken by same or parent transaction ${held.transactionId}`,
    { code: "SameTransactionLockConflict", attributes: attributesOfConflict(held) },
  );
}

/**
 * Why the lock cannot be taken now; `undefined` if it can. Locks of codes 400 cannot be waited for.
 * @param transactionId who asks; `undefined` for a request without a transaction
 */
export function findLockConflict(
  view: View,
  node: Node,
  transactionId: string | undefined,
  wanted: LockRequest,
): YtError | undefined {
  for (const held of acquiredLocks(view.tree, node.id)) {
    const relation = relationOf(view.tree, held.transactionId, transactionId);
    if (relation === "same" || relation === "ancestor") {
      const snapshotHeld = held.mode === "snapshot" && wanted.mode !== "snapshot";
      const snapshotWanted = relation === "same" && wanted.mode === "snapshot" && held.mode !== "snapshot";
      if (snapshotHeld || snapshotWanted) {
        return sameTransactionError(view, node, wanted, held);
      }
      continue;
    }
    if (!areCompatible(wanted, held)) {
      return conflictError(view, node, wanted, held, relation);
    }
  }
  return undefined;
}

/** Why an explicit lock has to queue behind others. */
export function findPendingConflict(view: View, node: Node, wanted: LockRequest): YtError | undefined {
  const pending = pendingLocks(view.tree, node.id);
  if (wanted.mode === "snapshot" || pending.length === 0) {
    return undefined;
  }
  return new YtError(
    `Cannot take "${wanted.mode}" lock for ${view.describe(node)} since there are ${pending.length} pending lock(s) for this node`,
    { code: "PendingLockConflict" },
  );
}

/** Rules of the request itself. @throws YtError */
export function validateLockRequest(request: LockRequest): void {
  if (request.mode !== "shared" && request.childKey !== undefined) {
    throw new YtError('"child_key" can only be specified for shared locks');
  }
  if (request.mode !== "shared" && request.attributeKey !== undefined) {
    throw new YtError('"attribute_key" can only be specified for shared locks');
  }
  if (request.childKey !== undefined && request.attributeKey !== undefined) {
    throw new YtError('Cannot specify both "child_key" and "attribute_key"');
  }
}
