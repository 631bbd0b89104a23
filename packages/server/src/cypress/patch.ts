/** Putting a patch on a node, and a later patch on an earlier one. */
import type { YsonValue } from "@qyt/base";
import type { Node } from "./node.ts";
import type { StoredPatch } from "./state.ts";

const plainFields = [
  "creationTimeUs",
  "modificationTimeUs",
  "attributeRevision",
  "contentRevision",
  "account",
  "owner",
  "acl",
  "inheritAcl",
] as const;
const optionalFields = ["opaque", "expirationTimeUs", "expirationTimeoutMs", "touchTimeUs"] as const;

function patchedAttributes(
  attributes: Node["attributes"],
  changes: ReadonlyMap<string, YsonValue | undefined>,
): Node["attributes"] {
  const patched = new Map(attributes);
  for (const [name, value] of changes) {
    if (value === undefined) {
      patched.delete(name);
    } else {
      patched.set(name, value);
    }
  }
  return patched;
}

/** The node after the patch. */
export function applyPatch(node: Node, patch: StoredPatch): Node {
  const patched: Record<string, unknown> = { ...node };
  for (const field of plainFields) {
    if (patch[field] !== undefined) {
      patched[field] = patch[field];
    }
  }
  for (const field of optionalFields) {
    const value = patch[field];
    if (value === null) {
      delete patched[field];
    } else if (value !== undefined) {
      patched[field] = value;
    }
  }
  if (patch.removeAnnotation === true) {
    delete patched.annotation;
  } else if (patch.annotation !== undefined) {
    patched.annotation = patch.annotation;
  }
  if (patch.attributes !== undefined) {
    patched.attributes = patchedAttributes(node.attributes, patch.attributes);
  }
  if ("state" in patch) {
    patched.state = patch.state;
  }
  // Every field of `Node` was copied from one and replaced by its own type only.
  return patched as unknown as Node;
}

/** One patch that does what `earlier` and then `later` do. */
export function mergePatches(earlier: StoredPatch, later: StoredPatch): StoredPatch {
  const attributes =
    earlier.attributes === undefined || later.attributes === undefined
      ? (later.attributes ?? earlier.attributes)
      : new Map([...earlier.attributes, ...later.attributes]);
  const { removeAnnotation, annotation, ...rest } = earlier;
  const keptAnnotation =
    later.removeAnnotation === true || later.annotation !== undefined
      ? {}
      : {
          ...(removeAnnotation === undefined ? {} : { removeAnnotation }),
          ...(annotation === undefined ? {} : { annotation }),
        };
  return {
    ...rest,
    ...keptAnnotation,
    ...later,
    ...(attributes === undefined ? {} : { attributes }),
  };
}
