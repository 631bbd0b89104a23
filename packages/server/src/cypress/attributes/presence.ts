/** Whether a node has a built-in attribute, without computing what costs something. */
import type { Node } from "../node.ts";
import type { BuiltinAttribute, View } from "../node-type.ts";

/** For a removal: the attribute is there. */
export function hasAttribute(builtin: BuiltinAttribute, node: Node, view: View): boolean {
  return builtin.isPresent?.(node, view) ?? builtin.get(node, view) !== undefined;
}

/** For listings: an opaque attribute that says nothing about its presence is there. */
export function isListed(builtin: BuiltinAttribute, node: Node, view: View): boolean {
  return (builtin.opaque === true && builtin.isPresent === undefined) || hasAttribute(builtin, node, view);
}
