/**
 * Setting and removing attributes by name, whether the server knows them or not.
 * Specified in: yt/yt/core/ytree/ypath_detail.cpp (attribute verbs).
 */
import { toYtError, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes, writeYson } from "@qyt/yson";
import type { Permission } from "../../access/index.ts";
import type { Node } from "../node.ts";
import type { BuiltinAttribute, Draft, UpdateOptions } from "../node-type.ts";
import { noSuchAttribute } from "../resolve.ts";
import { hasAttribute } from "./presence.ts";

export function builtinOf(draft: Draft, node: Node, name: string): BuiltinAttribute | undefined {
  return draft.types.attributesOf(node.type).get(name);
}

/** What setting, changing or removing the attribute needs on the node. */
export function permissionToSet(builtin: BuiltinAttribute | undefined): Permission {
  return builtin?.setPermission ?? "write";
}

/** @throws YtError 504 */
export function checkAttributeSize(draft: Draft, name: string, value: YsonValue): void {
  const limit = draft.limits.maxAttributeBytes;
  const size = typeof value === "string" ? stringToBytes(value).length : writeYson(value, "binary").length;
  if (size > limit) {
    throw new YtError("Attribute size limit exceeded", {
      code: "MaxAttributeSizeViolation",
      attributes: { attribute: name, size: BigInt(size), limit: BigInt(limit) },
    });
  }
}

/**
 * Sets one attribute of an existing node; checks values, not permissions on the node.
 * @throws YtError `Attribute "id" cannot be set`, or `Error setting builtin attribute "x"` around the reason
 */
export function setAttribute(draft: Draft, node: Node, name: string, value: YsonValue): void {
  if (name === "") {
    throw new YtError("Attribute key cannot be empty");
  }
  const builtin = builtinOf(draft, node, name);
  if (builtin === undefined) {
    checkAttributeSize(draft, name, value);
    draft.typeOf(node).checkAttribute?.(name, value);
    draft.update(node.id, { attributes: new Map([[name, value]]) });
    return;
  }
  if (builtin.set === undefined) {
    throw new YtError(`Attribute "${name}" cannot be set`);
  }
  builtin.authorizeValue?.(draft, node, value);
  try {
    const patch = builtin.set(draft, node, value);
    draft.update(node.id, patch, attributeChange(builtin, name));
  } catch (error) {
    throw wrapBuiltin(error, name);
  }
}

/** Whatever field of the node keeps it, a client has changed an attribute. */
function attributeChange(builtin: BuiltinAttribute, name: string): UpdateOptions {
  return {
    lock: { mode: "shared", attributeKey: name },
    revisions: builtin.isContent === true ? ["attribute", "content"] : ["attribute"],
  };
}

function wrapBuiltin(thrown: unknown, name: string): unknown {
  return thrown instanceof YtError
    ? toYtError(thrown).wrap(`Error setting builtin attribute "${name}"`)
    : thrown;
}

/** Sets the attributes of a request on a node that was just created. */
export function applyAttributes(draft: Draft, node: Node, attributes: ReadonlyMap<string, YsonValue>): void {
  const user = new Map<string, YsonValue>();
  for (const [name, value] of attributes) {
    if (builtinOf(draft, node, name) === undefined && name !== "") {
      checkAttributeSize(draft, name, value);
      draft.typeOf(node).checkAttribute?.(name, value);
      user.set(name, value);
    } else {
      setAttribute(draft, draft.nodeOrThrow(node.id), name, value);
    }
  }
  if (user.size > 0) {
    draft.update(node.id, { attributes: user });
  }
}

/**
 * Removes one attribute.
 * @throws YtError 500 when it is not there; `Attribute "key" cannot be removed` for a fixed one, whatever `force`
 */
export function removeAttribute(draft: Draft, node: Node, name: string, force: boolean): void {
  const builtin = builtinOf(draft, node, name);
  if (builtin === undefined) {
    if (!node.attributes.has(name)) {
      if (force) {
        return;
      }
      throw noSuchAttribute(name);
    }
    draft.update(node.id, { attributes: new Map([[name, undefined]]) });
    return;
  }
  if (builtin.remove === undefined) {
    throw new YtError(`Attribute "${name}" cannot be removed`);
  }
  if (!hasAttribute(builtin, node, draft)) {
    if (force) {
      return;
    }
    throw noSuchAttribute(name);
  }
  draft.update(node.id, builtin.remove(draft, node), attributeChange(builtin, name));
}

/** Built-in attributes that the node has now and that can be removed. */
export function removableAttributes(draft: Draft, node: Node): string[] {
  return [...draft.types.attributesOf(node.type)].flatMap(([name, builtin]) =>
    builtin.remove !== undefined && (builtin.get(node, draft) ?? null) !== null ? [name] : [],
  );
}
