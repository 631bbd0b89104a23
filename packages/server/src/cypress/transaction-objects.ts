/**
 * Transactions and locks dressed as nodes, so that `#<id>/@title` and `//sys/transactions` go the way of
 * everything else.
 */
import { emptyMap } from "@qyt/base";
import type { Ace } from "../access/index.ts";
import type { Node } from "./node.ts";
import type { LockRecord, TransactionRecord, TreeReader } from "./state.ts";

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

function objectNode<State>(
  id: string,
  type: string,
  timeUs: number,
  owner: string,
  attributes: Node["attributes"],
  state: State,
): Node<State> {
  return {
    id,
    type,
    creationTimeUs: timeUs,
    modificationTimeUs: timeUs,
    accessTimeUs: timeUs,
    accessCounter: 0,
    attributeRevision: 0n,
    contentRevision: 0n,
    account: "sys",
    owner,
    acl: transactionAcl,
    inheritAcl: false,
    attributes,
    state,
  };
}

export function transactionNode(record: TransactionRecord): Node<TransactionRecord> {
  const type = record.parentId === undefined ? "transaction" : "nested_transaction";
  return objectNode(record.id, type, record.startTimeUs, record.owner, record.attributes, record);
}

export function lockNode(record: LockRecord): Node<LockRecord> {
  return objectNode(record.id, "lock", record.creationTimeUs, "root", emptyMap, record);
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
