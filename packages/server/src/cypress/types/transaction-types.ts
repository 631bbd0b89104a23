/**
 * Attributes of transactions and locks, and the computed maps that list them.
 * Specified in: yt/yt/server/master/transaction_server/transaction_proxy.cpp, lock_proxy.cpp.
 */
import { mapOf, type YsonValue } from "@qyt/base";
import { formatTimeUs } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, NodeType, View, VirtualChildren } from "../node-type.ts";
import type { LockRecord, TransactionRecord } from "../state.ts";
import { lockNode, transactionNode } from "../transaction-objects.ts";
import { unstoredType } from "../unstored-objects.ts";
import { resourceMap } from "./accounts.ts";
import { emptyMapState, type MapState, mapType } from "./map-node.ts";

/** When a transaction was last pinged, which is kept in memory only. */
export type LastPing = (transactionId: string) => number | undefined;

function lockIds(node: Node<TransactionRecord>, view: View): [lockId: string, nodeId: string][] {
  return [...view.tree.transactionLocks.row(node.id)].map(([lockId, nodeId]) => [lockId, nodeId]);
}

function transactionAttributes(lastPing: LastPing): Map<string, BuiltinAttribute<TransactionRecord>> {
  return new Map<string, BuiltinAttribute<TransactionRecord>>([
    ["timeout", { get: (node) => BigInt(node.state.timeoutMs) }],
    [
      "deadline",
      { get: ({ state }) => (state.deadlineUs === undefined ? undefined : formatTimeUs(state.deadlineUs)) },
    ],
    [
      "last_ping_time",
      { get: (node) => formatTimeUs((lastPing(node.id) ?? node.state.startTimeUs / 1000) * 1000) },
    ],
    ["parent_id", { get: (node) => node.state.parentId ?? "0-0-0-0" }],
    ["start_time", { get: (node) => formatTimeUs(node.state.startTimeUs) }],
    [
      "nested_transaction_ids",
      { get: (node, view) => [...view.tree.nestedTransactions.row(node.id)].map(([id]) => id) },
    ],
    [
      "locked_node_ids",
      { get: (node, view) => [...new Set(lockIds(node, view).map(([, nodeId]) => nodeId))] },
    ],
    ["lock_ids", { get: (node, view) => lockIds(node, view).map(([lockId]) => lockId) }],
    [
      "branched_node_ids",
      { get: (node, view) => [...view.tree.branches.row(node.id)].map(([nodeId]) => nodeId) },
    ],
    ["staged_object_ids", { get: () => [] }],
    [
      "staged_node_ids",
      {
        get: (node, view) =>
          [...view.tree.branches.row(node.id)].flatMap(([id, { kind }]) => (kind === "created" ? [id] : [])),
      },
    ],
    ["prerequisite_transaction_ids", { get: (node) => [...node.state.prerequisiteTransactionIds] }],
    ["resource_usage", { get: (node, view) => mapOf({ [node.account]: usageOf(node, view) }) }],
  ]);
}

function usageOf(node: Node<TransactionRecord>, view: View): YsonValue {
  const created = [...view.tree.branches.row(node.id)].filter(([, { kind }]) => kind === "created");
  return resourceMap({}, created.length);
}

const lockAttributes = new Map<string, BuiltinAttribute<LockRecord>>([
  ["state", { get: (node) => node.state.state }],
  ["mode", { get: (node) => node.state.mode }],
  ["implicit", { get: (node) => node.state.implicit }],
  ["transaction_id", { get: (node) => node.state.transactionId }],
  ["node_id", { get: (node) => node.state.nodeId }],
  ["child_key", { get: (node) => node.state.childKey }],
  ["attribute_key", { get: (node) => node.state.attributeKey }],
]);

/** One entry of `@locks`. */
export function lockToYson(lock: LockRecord): YsonValue {
  return mapOf({
    id: lock.id,
    state: lock.state,
    transaction_id: lock.transactionId,
    mode: lock.mode,
    child_key: lock.childKey,
    attribute_key: lock.attributeKey,
  });
}

const transactions: VirtualChildren = {
  count: (view) => [...view.tree.transactions.entries()].length,
  *keys(view) {
    for (const [id] of view.tree.transactions.entries()) {
      yield id;
    }
  },
  child(view, key) {
    const record = view.tree.transactions.get(key);
    return record === undefined ? undefined : transactionNode(record);
  },
};

const topmostTransactions: VirtualChildren = {
  count: (view) => [...topmost(view)].length,
  keys: topmost,
  child(view, key) {
    const record = view.tree.transactions.get(key);
    return record === undefined || record.parentId !== undefined ? undefined : transactionNode(record);
  },
};

function* topmost(view: View): Iterable<string> {
  for (const [id, record] of view.tree.transactions.entries()) {
    if (record.parentId === undefined) {
      yield id;
    }
  }
}

const locks: VirtualChildren = {
  count: (view) => [...view.tree.lockNodes.entries()].length,
  *keys(view) {
    for (const [id] of view.tree.lockNodes.entries()) {
      yield id;
    }
  },
  child(view, key) {
    const nodeId = view.tree.lockNodes.get(key);
    const lock = nodeId === undefined ? undefined : view.tree.locks.get(nodeId, key);
    return lock === undefined ? undefined : lockNode(lock);
  },
};

/** A computed map: nothing stored below it. */
export function virtualMapType(name: string, code: number, virtual: VirtualChildren): NodeType<MapState> {
  const base = mapType(name, code);
  return {
    ...base,
    attributes: new Map([["count", { get: (_node, view) => BigInt(virtual.count(view)) }]]),
    create: () => emptyMapState,
    alwaysOpaque: true,
    virtual,
  };
}

/** Types of transactions, locks and the maps of them. */
export function transactionTypes(lastPing: LastPing): NodeType[] {
  const attributes = transactionAttributes(lastPing);
  const describe = (node: Node<TransactionRecord>): string => `transaction ${node.id}`;
  return [
    unstoredType({ name: "transaction", objectType: 1, attributes, describe }),
    unstoredType({ name: "nested_transaction", objectType: 4, attributes, describe }),
    unstoredType({
      name: "lock",
      objectType: 200,
      attributes: lockAttributes,
      describe: ({ id }) => `lock ${id}`,
    }),
    virtualMapType("transaction_map", 407, transactions),
    virtualMapType("topmost_transaction_map", 418, topmostTransactions),
    virtualMapType("lock_map", 422, locks),
  ];
}
