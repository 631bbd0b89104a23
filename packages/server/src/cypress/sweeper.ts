/**
 * What happens by itself: expired transactions are aborted, expired nodes removed, accesses written down.
 * Decisions are functions of the state and the time; `Cypress` runs them on its clock.
 * Specified in: yt/yt/server/master/cypress_server/expiration_tracker.cpp, access_tracker.cpp,
 * yt/yt/server/master/transaction_server/transaction_manager.cpp (leases).
 */
import { YtError } from "@qyt/base";
import type { AccessTracker } from "./access-tracker.ts";
import type { TreeDraft } from "./draft.ts";
import { acquiredLocks } from "./locks.ts";
import type { Node } from "./node.ts";
import type { View } from "./node-type.ts";
import type { TreeReader } from "./state.ts";
import { abortTransaction } from "./transactions.ts";

/** Largest number of nodes that one sweep removes or writes accesses of. */
const maxPerSweep = 500;

/** Transactions that nobody has pinged for their timeout, or whose deadline has come. */
export function expiredTransactions(
  tree: TreeReader,
  lastPingMs: (id: string) => number,
  nowMs: number,
): string[] {
  return [...tree.transactions.entries()].flatMap(([id, record]) => {
    const lapsed = nowMs - lastPingMs(id) > record.timeoutMs;
    const overdue = record.deadlineUs !== undefined && nowMs * 1000 >= record.deadlineUs;
    return lapsed || overdue ? [id] : [];
  });
}

/**
 * Aborts them; one that went with its parent is left out, and so is one that was pinged meanwhile: the
 * decision is made again inside the mutation.
 */
export function abortExpired(
  draft: TreeDraft,
  ids: readonly string[],
  lastPingMs: (id: string) => number,
  nowMs: number,
): void {
  const expired = new Set(expiredTransactions(draft.layers, lastPingMs, nowMs));
  for (const id of ids) {
    if (expired.has(id) && draft.layers.transactions.get(id) !== undefined) {
      abortTransaction(draft, id);
    }
  }
}

function isExpired(view: View, node: Node, nowUs: number): boolean {
  const { expirationTimeUs, expirationTimeoutMs } = node;
  if (expirationTimeUs !== undefined && nowUs >= expirationTimeUs) {
    return true;
  }
  return expirationTimeoutMs !== undefined && nowUs - view.touchTimeUs(node) >= expirationTimeoutMs * 1000;
}

function isHeld(tree: TreeReader, nodeId: string): boolean {
  return acquiredLocks(tree, nodeId).some(
    ({ mode, childKey, attributeKey }) =>
      mode === "exclusive" || (mode === "shared" && childKey === undefined && attributeKey === undefined),
  );
}

/** A transaction works on the node, or on the whole of something above it. */
function isBlocked(view: View, node: Node): boolean {
  if (acquiredLocks(view.tree, node.id).some(({ mode }) => mode !== "snapshot")) {
    return true;
  }
  for (let id = node.parentId; id !== undefined; id = view.node(id)?.parentId) {
    if (isHeld(view.tree, id)) {
      return true;
    }
  }
  return false;
}

/** Nodes whose time has come and that nothing holds back. */
export function expiredNodes(view: View, nowUs: number): string[] {
  const expired: string[] = [];
  for (const [id] of view.tree.expiring.entries()) {
    const node = view.tree.nodes.get(id);
    if (node !== undefined && isExpired(view, node, nowUs) && !isBlocked(view, node)) {
      expired.push(id);
      if (expired.length >= maxPerSweep) {
        break;
      }
    }
  }
  return expired;
}

/**
 * Removes one expired node, unless its time was prolonged or it was locked since it was chosen; a lock
 * inside of its subtree leaves it for a later sweep.
 */
export function removeExpired(draft: TreeDraft, id: string, nowUs: number): void {
  const node = draft.layers.nodes.get(id);
  if (node === undefined || !isExpired(draft, node, nowUs) || isBlocked(draft, node)) {
    return;
  }
  try {
    draft.removeNode(id);
  } catch (error) {
    if (!(error instanceof YtError) || !error.has("ConcurrentTransactionLockConflict")) {
      throw error;
    }
  }
}

/** Puts accesses into the records of the nodes; gives what to do once that is durable. */
export function writeAccesses(draft: TreeDraft, accesses: AccessTracker): () => void {
  const written: [id: string, counter: number][] = [];
  for (const [id, pending] of accesses.entries()) {
    if (written.length >= maxPerSweep) {
      break;
    }
    const node = draft.layers.nodes.get(id);
    written.push([id, pending.counter]);
    if (node !== undefined) {
      const { expirationTimeoutMs } = node;
      draft.layers.putNode({
        ...node,
        accessCounter: node.accessCounter + pending.counter,
        accessTimeUs: Math.max(node.accessTimeUs, pending.timeUs),
        ...(expirationTimeoutMs === undefined ? {} : { touchTimeUs: draft.touchTimeUs(node) }),
      });
    }
  }
  return () => {
    for (const [id, counter] of written) {
      accesses.written(id, counter);
    }
  };
}
