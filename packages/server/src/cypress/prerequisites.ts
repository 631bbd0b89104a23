/**
 * Conditions of a request: transactions that must be alive, nodes that must not have changed.
 * Specified in: yt/yt/server/master/object_server/object_manager.cpp (ValidatePrerequisites).
 */
import { YtError } from "@qyt/base";
import { revisionOf } from "./node.ts";
import type { View } from "./node-type.ts";
import type { RequestContext } from "./request.ts";

/** @throws YtError 1000 */
export function checkPrerequisites(view: View, context: RequestContext): void {
  for (const id of context.prerequisiteTransactionIds ?? []) {
    if (view.tree.transactions.get(id) === undefined) {
      throw failed(`transaction ${id} is missing`);
    }
  }
  for (const { path, revision } of context.prerequisiteRevisions ?? []) {
    let node: ReturnType<View["findNode"]>;
    try {
      node = view.resolveNode(path);
    } catch (error) {
      throw new YtError(`Prerequisite check failed: failed to resolve path ${path}`, {
        code: "PrerequisiteCheckFailed",
        inner: error instanceof YtError ? [error] : [],
      });
    }
    const actual = revisionOf(node);
    if (actual !== revision) {
      throw failed(`node ${path} revision mismatch: expected ${revision}, found ${actual}`);
    }
  }
}

function failed(reason: string): YtError {
  return new YtError(`Prerequisite check failed: ${reason}`, { code: "PrerequisiteCheckFailed" });
}
