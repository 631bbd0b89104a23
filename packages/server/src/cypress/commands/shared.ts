/** What several commands do in the same way. */
import { emptyMap, type YsonMap, YtError } from "@qyt/base";
import type { TreeDraft } from "../draft.ts";
import type { Node } from "../node.ts";
import type { View } from "../node-type.ts";
import { noSuchChild } from "../resolve.ts";
import { emptyMapState } from "../types/map-node.ts";
import { checkMayCreate } from "../types/objects.ts";

/** `write` on the parent, or the weaker `modify_children`. @throws YtError 901 */
export function checkMayChangeChildren(view: View, user: string, parent: Node): void {
  if (!view.isAllowed(user, "modify_children", parent)) {
    view.check(user, "write", parent);
  }
}

/**
 * Rights that a new node needs besides those on its directory: `create` on the type's schema object, `use` on
 * the account that pays, and `administer` on the directory for entries of its own.
 * @throws YtError 901, 905
 */
export function checkNewNode(draft: TreeDraft, parent: Node, type: string, attributes: YsonMap): void {
  checkMayCreate(draft, draft.user, type);
  if (attributes.has("acl") || attributes.has("inherit_acl")) {
    draft.check(draft.user, "administer", parent);
  }
  const account = attributes.get("account");
  if (account === undefined || typeof account === "string") {
    draft.checkAccountUse(account ?? parent.account);
  }
}

/** Creates the missing directories above the last name; gives the parent of that. @throws YtError 500 */
export function ensureParents(
  draft: TreeDraft,
  parent: Node,
  names: readonly string[],
  recursive: boolean,
): Node {
  const [first, ...rest] = names;
  if (first === undefined || rest.length === 0) {
    return parent;
  }
  if (!recursive) {
    throw noSuchChild(draft, parent, first);
  }
  checkMayChangeChildren(draft, draft.user, parent);
  checkNewNode(draft, parent, "map_node", emptyMap);
  const created = draft.createNode({
    type: "map_node",
    parent,
    key: first,
    user: draft.user,
    state: emptyMapState,
  });
  return ensureParents(draft, created, rest, recursive);
}

/** @throws YtError 501 */
export function alreadyExists(view: View, node: Node): YtError {
  return new YtError(`Node ${view.pathOf(node)} already exists`, {
    code: "AlreadyExists",
    attributes: { type: node.type, id: node.id },
  });
}

/** Rights for taking a node with its subtree away. @throws YtError 901 */
export function checkMayRemove(draft: TreeDraft, node: Node): void {
  const parent = node.parentId === undefined ? undefined : draft.node(node.parentId);
  if (draft.typeOf(node).isObject === true) {
    draft.check(draft.user, "remove", node);
    return;
  }
  if (parent !== undefined) {
    checkMayChangeChildren(draft, draft.user, parent);
  }
  draft.checkSubtree(draft.user, "remove", node);
}

export function methodNotSupported(view: View, node: Node, method: string): YtError {
  return new YtError(`"${method}" method is not supported for ${view.describe(node)}`, {
    code: "NoSuchMethod",
  });
}
