/**
 * `create` and `link`.
 * Specified in: yt/yt/client/driver/cypress_commands.cpp (option conflicts),
 * yt/yt/server/master/cypress_server/node_proxy_detail.cpp (CreateSelf).
 */
import { emptyMap, type YsonMap, YtError } from "@qyt/base";
import type { TreeDraft } from "../draft.ts";
import type { Node } from "../node.ts";
import type { View } from "../node-type.ts";
import { resolveTarget, type Target } from "../resolve.ts";
import { linkTarget } from "../types/link.ts";
import {
  alreadyExists,
  checkMayChangeChildren,
  checkMayRemove,
  checkNewNode,
  ensureParents,
} from "./shared.ts";

export interface CreateParameters {
  readonly type: string;
  /** Absent for objects such as users. */
  readonly path?: string;
  readonly attributes?: YsonMap;
  readonly recursive?: boolean;
  readonly force?: boolean;
  readonly ignoreExisting?: boolean;
  readonly lockExisting?: boolean;
  readonly ignoreTypeMismatch?: boolean;
  /** Further rights on a new node, for what is done with it next. Throwing undoes its creation. @throws YtError 901 */
  readonly authorize?: (view: View, node: Node) => void;
}

export interface LinkParameters {
  readonly targetPath: string;
  readonly linkPath: string;
  readonly attributes?: YsonMap;
  readonly recursive?: boolean;
  readonly force?: boolean;
  readonly ignoreExisting?: boolean;
  readonly lockExisting?: boolean;
}

type Existing = Pick<CreateParameters, "force" | "ignoreExisting" | "lockExisting" | "ignoreTypeMismatch">;

/** @throws YtError for options that exclude each other */
export function checkCreateOptions(options: Existing): void {
  if (options.ignoreExisting === true && options.force === true) {
    throw new YtError('Cannot specify both "ignore_existing" and "force" options simultaneously');
  }
  if (options.lockExisting === true && options.ignoreExisting !== true) {
    throw new YtError('Cannot specify "lock_existing" without "ignore_existing"');
  }
  if (options.ignoreTypeMismatch === true && options.ignoreExisting !== true) {
    throw new YtError('Cannot specify "ignore_type_mismatch" without "ignore_existing"');
  }
}

/** @returns id of the new or existing node */
export function createNodeAt(draft: TreeDraft, path: string, parameters: CreateParameters): string {
  const target = resolveTarget(draft, path, {
    allowMissing: true,
    keepLastLink: parameters.type === "link",
    method: "Create",
  });
  refuseUncreatable(draft, parameters.type);
  switch (target.kind) {
    case "node":
      return overExisting(draft, target.node, parameters);
    case "missing":
      return createMissing(draft, target, parameters);
    case "attribute":
    case "allAttributes":
      throw new YtError("Cannot create an attribute: path must point to a node");
    default:
      throw new YtError(`Cannot create a node at ${path}`, { code: "ResolveError" });
  }
}

function refuseUncreatable(draft: TreeDraft, typeName: string): void {
  const type = draft.types.get(typeName);
  if (typeName === "list_node") {
    throw new YtError("List nodes are deprecated and cannot be created");
  }
  if (type.isObject === true || type.virtual !== undefined || typeName === "sys_node") {
    throw new YtError(`Type "${typeName}" is not a Cypress node type that can be created at a path`);
  }
}

function overExisting(draft: TreeDraft, node: Node, parameters: CreateParameters): string {
  if (parameters.ignoreExisting === true) {
    if (node.type !== parameters.type && parameters.ignoreTypeMismatch !== true) {
      throw new YtError(
        `${draft.pathOf(node)} already exists and has type "${node.type}" while node of "${parameters.type}" type is about to be created`,
        { code: "AlreadyExists" },
      );
    }
    if (parameters.lockExisting === true) {
      draft.lockImplicitly(node.id, { mode: "exclusive" });
    }
    return node.id;
  }
  if (parameters.force !== true) {
    throw alreadyExists(draft, node);
  }
  const { parent, key } = takeAway(draft, node);
  return createChild(draft, parent, key, parameters);
}

/** Removes a node that is about to be replaced. */
export function takeAway(draft: TreeDraft, node: Node): { parent: Node; key: string } {
  const parent = node.parentId === undefined ? undefined : draft.node(node.parentId);
  if (parent === undefined || node.key === undefined) {
    throw new YtError(`Node ${draft.pathOf(node)} cannot be replaced`);
  }
  checkMayRemove(draft, node);
  draft.removeNode(node.id);
  return { parent: draft.nodeOrThrow(parent.id), key: node.key };
}

function createMissing(
  draft: TreeDraft,
  target: Extract<Target, { kind: "missing" }>,
  parameters: CreateParameters,
): string {
  if (target.hasAttribute) {
    throw new YtError("Cannot create an attribute: path must point to a node");
  }
  const parent = ensureParents(draft, target.parent, target.names, parameters.recursive === true);
  return createChild(draft, parent, target.names.at(-1) ?? "", parameters);
}

function createChild(draft: TreeDraft, parent: Node, key: string, parameters: CreateParameters): string {
  checkMayChangeChildren(draft, draft.user, parent);
  const attributes = parameters.attributes ?? emptyMap;
  checkNewNode(draft, parent, parameters.type, attributes);
  const { type } = parameters;
  const node = draft.createNode({ type, parent, key, user: draft.user, attributes });
  parameters.authorize?.(draft, node);
  return node.id;
}

/** @returns id of the link */
export function linkAt(draft: TreeDraft, parameters: LinkParameters): string {
  const { targetPath, linkPath } = parameters;
  checkCreateOptions(parameters);
  if (parameters.force !== true) {
    const target = resolveTarget(draft, targetPath, { method: "Create" });
    if (target.kind !== "node") {
      throw new YtError(`Link target ${targetPath} must be a node`);
    }
  }
  const existing = resolveTarget(draft, linkPath, { allowMissing: true, keepLastLink: true });
  if (existing.kind === "node" && existing.node.type !== "link" && parameters.ignoreExisting === true) {
    throw new YtError(
      `${draft.pathOf(existing.node)} already exists and has type "${existing.node.type}" while node of "link" type is about to be created`,
      { code: "AlreadyExists" },
    );
  }
  if (leadsToItself(draft, targetPath, existing)) {
    throw new YtError("Failed to create link: link is cyclic", {
      attributes: { target_path: targetPath, path: linkPath },
    });
  }
  const attributes = new Map(parameters.attributes ?? []);
  attributes.set("target_path", targetPath);
  return createNodeAt(draft, linkPath, { ...parameters, type: "link", attributes });
}

/** Whether following the target, through other links too, ends at the place of the link. */
function leadsToItself(draft: TreeDraft, targetPath: string, link: Target): boolean {
  const seen = new Set<string>();
  for (let path = targetPath; ; ) {
    const target = tryResolve(draft, path);
    if (target === undefined || target.kind !== "node") {
      return target !== undefined && isPlaceOf(target, link);
    }
    if (link.kind === "node" && target.node.id === link.node.id) {
      return true;
    }
    if (target.node.type !== "link" || seen.has(target.node.id)) {
      return false;
    }
    seen.add(target.node.id);
    path = linkTarget(target.node);
  }
}

function tryResolve(draft: TreeDraft, path: string): Target | undefined {
  try {
    return resolveTarget(draft, path, { allowMissing: true, keepLastLink: true });
  } catch (error) {
    if (error instanceof YtError && error.has("ResolveError")) {
      return undefined;
    }
    throw error;
  }
}

/** A missing target that is to come where the link comes, or below it. */
function isPlaceOf(target: Target, link: Target): boolean {
  return (
    target.kind === "missing" &&
    link.kind === "missing" &&
    target.parent.id === link.parent.id &&
    link.names.every((name, index) => target.names[index] === name)
  );
}
