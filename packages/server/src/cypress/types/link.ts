/**
 * Links. Resolution follows them (see `resolve.ts`); here is what the link itself is, reached with `&`.
 * Specified in: yt/yt/server/master/cypress_server/link_node_type_handler.cpp.
 */
import { assert, YtError } from "@qyt/base";
import { parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { NodeType, View } from "../node-type.ts";

/** Path of the target, as it was given. */
export type LinkState = string;

export function linkTarget(node: Node): string {
  assert(typeof node.state === "string", "state of a link is its target path");
  return node.state;
}

function isBroken(node: Node, view: View): boolean {
  try {
    return view.findNode(linkTarget(node)) === undefined;
  } catch {
    return true;
  }
}

export const linkType: NodeType<LinkState> = {
  name: "link",
  objectType: 417,
  content: "entity",
  attributes: new Map([
    ["target_path", { get: (node: Node<LinkState>) => node.state }],
    ["broken", { get: (node: Node<LinkState>, view: View) => isBroken(node, view) }],
  ]),
  encodeState: (state) => state,
  decodeState: (value) => parseString(value),
  create(_draft, input) {
    const target = input.attributes.get("target_path");
    if (target === undefined) {
      throw new YtError('Attribute "target_path" is not found');
    }
    input.attributes.delete("target_path");
    return parseString(target);
  },
};
