/** Attribute values inside of mutations, where nothing can be waited for. */
import { type YsonValue, YtError } from "@qyt/base";
import { builtinOf } from "../attributes/apply.ts";
import type { Node } from "../node.ts";
import type { Draft } from "../node-type.ts";

/** The value now; `undefined` when the node has no such attribute. */
export function currentValue(draft: Draft, node: Node, name: string): YsonValue | undefined {
  const builtin = builtinOf(draft, node, name);
  if (builtin === undefined) {
    return node.attributes.get(name);
  }
  const value = builtin.get(node, draft);
  if (value instanceof Promise) {
    throw new YtError(`Attribute "${name}" cannot be set`);
  }
  return value;
}
