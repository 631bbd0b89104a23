/**
 * `lock` and `unlock`.
 * Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (Lock, Unlock).
 */
import { Uint64, YtError } from "@qyt/base";
import type { TreeDraft } from "../draft.ts";
import { type Node, revisionOf } from "../node.ts";
import type { LockRequest } from "../node-type.ts";
import { resolveTarget } from "../resolve.ts";
import { releaseLocks, takeLock } from "../transactions.ts";

export interface LockParameters {
  readonly path: string;
  readonly mode: LockRequest["mode"];
  readonly waitable?: boolean;
  readonly childKey?: string;
  readonly attributeKey?: string;
}

export interface LockResult {
  readonly lockId: string;
  readonly nodeId: string;
  readonly revision: Uint64;
}

/** @throws YtError 400–403, 500, 901 */
export function lockAt(draft: TreeDraft, parameters: LockParameters): LockResult {
  const node = lockedNode(draft, parameters.path);
  draft.check(draft.user, parameters.mode === "snapshot" ? "read" : "write", node);
  const request: LockRequest = {
    mode: parameters.mode,
    ...(parameters.childKey === undefined ? {} : { childKey: parameters.childKey }),
    ...(parameters.attributeKey === undefined ? {} : { attributeKey: parameters.attributeKey }),
  };
  const lock = takeLock(draft, node, request, parameters.waitable === true);
  return { lockId: lock.id, nodeId: node.id, revision: new Uint64(revisionOf(node)) };
}

/** @throws YtError 500, 901, or that the transaction has changed the node */
export function unlockAt(draft: TreeDraft, path: string): void {
  const node = lockedNode(draft, path);
  draft.check(draft.user, "read", node);
  releaseLocks(draft, node);
}

function lockedNode(draft: TreeDraft, path: string): Node {
  const target = resolveTarget(draft, path, { method: "Lock" });
  if (target.kind !== "node") {
    throw new YtError(`Only nodes can be locked, and ${path} is not one`);
  }
  return target.node;
}
