/**
 * `remove`. Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (RemoveSelf),
 * yt/yt/core/ytree/ypath_detail.cpp (RemoveAttribute).
 */
import { YtError } from "@qyt/base";
import { builtinOf, permissionToSet, removeAttribute, setAttribute } from "../attributes/apply.ts";
import type { TreeDraft } from "../draft.ts";
import type { Node } from "../node.ts";
import { noSuchAttribute, noSuchChild, resolveTarget, type Target } from "../resolve.ts";
import { removeInValue } from "../yson-path.ts";
import { currentValue } from "./attribute-values.ts";
import { checkMayRemove } from "./shared.ts";

export interface RemoveParameters {
  readonly path: string;
  readonly recursive?: boolean;
  readonly force?: boolean;
}

/** A large subtree goes in slices. */
export function* removeAt(draft: TreeDraft, parameters: RemoveParameters): Generator<void, void, void> {
  const force = parameters.force === true;
  const target = resolveTarget(draft, parameters.path, {
    allowMissing: true,
    keepLastLink: true,
    method: "Remove",
  });
  switch (target.kind) {
    case "missing":
      if (!force) {
        throw noSuchChild(draft, target.parent, target.names[0] ?? "").wrap(
          `Error resolving path ${parameters.path}`,
          { path: parameters.path, method: "Remove" },
        );
      }
      return;
    case "node":
      yield* removeWhole(draft, target.node, parameters.recursive !== false);
      return;
    case "children":
      for (const [, id] of [...draft.children(target.node.id)]) {
        yield* removeWhole(draft, draft.nodeOrThrow(id), parameters.recursive !== false);
      }
      return;
    case "allAttributes":
      draft.check(draft.user, "write", target.node);
      removeUserAttributes(draft, target.node);
      return;
    case "attribute":
      draft.check(
        draft.user,
        permissionToSet(target.name === undefined ? undefined : builtinOf(draft, target.node, target.name)),
        target.node,
      );
      removeAttributeAt(draft, target, force);
      return;
    case "inner":
      draft.check(draft.user, "write", target.node);
      removeInner(draft, target, force);
  }
}

function* removeWhole(draft: TreeDraft, node: Node, recursive: boolean): Generator<void, void, void> {
  if (node.id === draft.rootId) {
    throw new YtError("Node / cannot be removed");
  }
  if (node.type === "transaction" || node.type === "nested_transaction" || node.type === "lock") {
    throw new YtError(`${draft.describe(node)} cannot be removed`);
  }
  checkMayRemove(draft, node);
  if (!recursive && draft.typeOf(node).content === "map" && draft.childCount(node.id) > 0) {
    throw new YtError("Cannot remove non-empty composite node", {
      code: "CannotRemoveNonemptyCompositeNode",
    });
  }
  yield* draft.removeNodeInSlices(node.id);
}

function removeUserAttributes(draft: TreeDraft, node: Node): void {
  const names = [...node.attributes.keys()];
  if (names.length > 0) {
    draft.update(node.id, { attributes: new Map(names.map((name) => [name, undefined])) });
  }
}

function removeAttributeAt(
  draft: TreeDraft,
  target: Extract<Target, { kind: "attribute" }>,
  force: boolean,
): void {
  const { node, name, steps } = target;
  if (name === undefined) {
    throw new YtError("Attributes cannot be removed as a whole; use /@*");
  }
  if (steps.length === 0) {
    removeAttribute(draft, node, name, force);
    return;
  }
  const value = currentValue(draft, node, name);
  if (value === undefined) {
    if (force) {
      return;
    }
    throw noSuchAttribute(name);
  }
  const kept = removeInValue(value, steps, { force, where: `Attribute "${name}"` });
  builtinOf(draft, node, name)?.authorizeSet?.(draft, node);
  setAttribute(draft, node, name, kept);
}

function removeInner(draft: TreeDraft, target: Extract<Target, { kind: "inner" }>, force: boolean): void {
  const { node, steps } = target;
  const type = draft.typeOf(node);
  const content = type.getContent?.(node) ?? null;
  const kept = removeInValue(content, steps, { force, where: `Node ${draft.pathOf(node)}` });
  draft.update(node.id, { state: type.setContent?.(node, kept) });
}
