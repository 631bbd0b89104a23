/** Transactions and locks dressed as nodes, for `#<id>/@title` and `//sys/transactions`. */
import type { Ace } from "../access/index.ts";
import type { Node } from "./node.ts";
import type { LockRecord, TransactionRecord, TreeReader } from "./state.ts";
import { objectNode } from "./unstored-objects.ts";

/** Anybody authenticated may act on a transaction whose id he knows. */
const transactionAcl: readonly Ace[] = [
  {
    action: "allow",
    subjects: ["users"],
    permissions: ["read", "write", "remove"],
    inheritanceMode: "object_and_descendants",
  },
  {
    action: "allow",
    subjects: ["everyone"],
    permissions: ["read"],
    inheritanceMode: "object_and_descendants",
  },
];

export function transactionNode(record: TransactionRecord): Node<TransactionRecord> {
  const type = record.parentId === undefined ? "transaction" : "nested_transaction";
  const { id, startTimeUs: timeUs, owner, attributes } = record;
  return objectNode({ id, type, timeUs, owner, acl: transactionAcl, attributes, state: record });
}

export function lockNode(record: LockRecord): Node<LockRecord> {
  const { id, creationTimeUs: timeUs } = record;
  return objectNode({ id, type: "lock", timeUs, acl: transactionAcl, state: record });
}

/** The transaction or lock with this id. */
export function findTransactionObject(tree: TreeReader, id: string): Node | undefined {
  const transaction = tree.transactions.get(id);
  if (transaction !== undefined) {
    return transactionNode(transaction);
  }
  const nodeId = tree.lockNodes.get(id);
  const lock = nodeId === undefined ? undefined : tree.locks.get(nodeId, id);
  return lock === undefined ? undefined : lockNode(lock);
}

/** The transaction and those around it, innermost first. */
export function transactionChain(tree: TreeReader, transactionId: string | undefined): string[] {
  const chain: string[] = [];
  for (let id = transactionId; id !== undefined; id = tree.transactions.get(id)?.parentId) {
    chain.push(id);
  }
  return chain;
}
