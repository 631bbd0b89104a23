/**
 * What is left of a removed user or group in the tree: no entry names it, and nothing is its own. Otherwise
 * the next subject with its name would have its rights.
 * Specified in: yt/yt/server/master/security_server/acl.cpp (TAccessControlDescriptor::OnSubjectDestroyed).
 */
import { assert } from "@qyt/base";
import { guestUser, withoutSubject } from "../access/index.ts";
import type { Node, NodePatch } from "./node.ts";
import type { Draft } from "./node-type.ts";
import type { Branch, TreeLayers } from "./state.ts";

/** Takes the subject out of all entries and gives what it owned to `guest`, in transactions too. */
export function forgetSubject(draft: Draft, layers: TreeLayers, name: string): void {
  assert(draft.transactionId === undefined, "objects are removed outside of transactions");
  for (const [id, node] of [...layers.nodes.entries()]) {
    const change = forgotten(node, name);
    if (change !== undefined) {
      draft.update(id, change, { lock: false, keepModificationTime: true });
    }
  }
  for (const [transactionId, record] of [...layers.transactions.entries()]) {
    if (record.owner === name) {
      layers.putTransaction({ ...record, owner: guestUser });
    }
    for (const [nodeId, branch] of [...layers.branches.row(transactionId)]) {
      const changed = forgottenInBranch(branch, name);
      if (changed !== undefined) {
        layers.putBranch(transactionId, nodeId, changed);
      }
    }
  }
}

function forgotten(node: Pick<NodePatch, "owner" | "acl">, name: string): NodePatch | undefined {
  const acl = node.acl === undefined ? undefined : withoutSubject(node.acl, name);
  if (node.owner !== name && acl === node.acl) {
    return undefined;
  }
  return {
    ...(node.owner === name ? { owner: guestUser } : {}),
    ...(acl === node.acl || acl === undefined ? {} : { acl }),
  };
}

function forgottenInBranch(branch: Branch, name: string): Branch | undefined {
  if (branch.kind === "removed") {
    return undefined;
  }
  const change = forgotten(branch.kind === "changed" ? branch.patch : branch.node, name);
  if (change === undefined) {
    return undefined;
  }
  return branch.kind === "changed"
    ? { ...branch, patch: { ...branch.patch, ...change } }
    : { ...branch, node: withChange(branch.node, change) };
}

function withChange(node: Node, { owner = node.owner, acl = node.acl }: NodePatch): Node {
  return { ...node, owner, acl };
}
