/** Attribute values that a mutation is about to change a part of. */
import { type YsonValue, YtError } from "@qyt/base";
import { builtinOf } from "../attributes/apply.ts";
import type { Node } from "../node.ts";
import type { Draft } from "../node-type.ts";

/** The value now; `undefined` when the node has no such attribute. @throws YtError for a read-only one */
export function currentValue(draft: Draft, node: Node, name: string): YsonValue | undefined {
  const builtin = builtinOf(draft, node, name);
  if (builtin === undefined) {
    return node.attributes.get(name);
  }
  if (builtin.set === undefined) {
    throw new YtError(`Attribute "${name}" cannot be set`);
  }
  return builtin.get(node, draft);
}
