/**
 * Placeholders of types that exist in the tree without content here: files and journals.
 */
import type { NodeType } from "../node-type.ts";

export function emptyEntityType(name: string, objectType: number): NodeType<null> {
  return {
    name,
    objectType,
    content: "entity",
    attributes: new Map(),
    encodeState: () => null,
    decodeState: () => null,
    create: () => null,
  };
}
