/**
 * `copy` and `move`.
 * Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (CopySelf),
 * yt/docs "Cypress: copying".
 */
import { YtError } from "@qyt/base";
import type { TreeDraft } from "../draft.ts";
import type { Node } from "../node.ts";
import { resolveTarget } from "../resolve.ts";
import { checkMayCreate } from "../types/objects.ts";
import { checkCreateOptions, takeAway } from "./create.ts";
import { alreadyExists, checkMayChangeChildren, checkMayRemove, ensureParents } from "./shared.ts";

export interface CopyParameters {
  readonly sourcePath: string;
  readonly destinationPath: string;
  readonly recursive?: boolean;
  readonly force?: boolean;
  readonly ignoreExisting?: boolean;
  readonly lockExisting?: boolean;
  readonly preserveAccount?: boolean;
  readonly preserveCreationTime?: boolean;
  readonly preserveModificationTime?: boolean;
  readonly preserveExpirationTime?: boolean;
  readonly preserveExpirationTimeout?: boolean;
  readonly preserveOwner?: boolean;
  readonly preserveAcl?: boolean;
}

interface Place {
  readonly parent: Node;
  readonly key: string;
}

/** A large subtree is copied in slices. @returns id of the node at the destination */
export function* copyTo(
  draft: TreeDraft,
  parameters: CopyParameters,
  move: boolean,
): Generator<void, string, void> {
  checkCreateOptions(parameters);
  const method = move ? "Move" : "Copy";
  const source = sourceNode(draft, parameters.sourcePath, move, method);
  const target = resolveTarget(draft, parameters.destinationPath, { allowMissing: true, method });
  if (target.kind !== "node" && target.kind !== "missing") {
    throw new YtError(`Destination ${parameters.destinationPath} must be a node`);
  }
  if (target.kind === "node" && target.node.id === source.id) {
    throw new YtError("Cannot copy or move a node to itself");
  }
  const below = target.kind === "node" ? target.node : target.parent;
  if (isInside(draft, below, source)) {
    throw new YtError("Cannot copy or move a node to its descendant");
  }
  if (target.kind === "node" && target.node.id === draft.rootId) {
    throw new YtError("Node / cannot be replaced");
  }
  if (target.kind === "node" && parameters.ignoreExisting === true) {
    if (parameters.lockExisting === true) {
      draft.lockImplicitly(target.node.id, { mode: "exclusive" });
    }
    return target.node.id;
  }
  yield* checkSource(draft, source, move);
  if (target.kind === "node" && parameters.force !== true) {
    throw alreadyExists(draft, target.node);
  }
  if (target.kind === "node" && isInside(draft, source, target.node)) {
    throw new YtError("Cannot replace an ancestor of the source");
  }
  const place: Place =
    target.kind === "node"
      ? takeAway(draft, target.node)
      : {
          parent: ensureParents(draft, target.parent, target.names, parameters.recursive === true),
          key: target.names.at(-1) ?? "",
        };
  checkMayChangeChildren(draft, draft.user, place.parent);
  if (parameters.preserveAcl === true) {
    draft.check(draft.user, "administer", place.parent);
  }
  const copier = new Copier(draft, parameters, move);
  const id = yield* copier.copy(source, place);
  if (move) {
    yield* draft.removeNodeInSlices(source.id);
  }
  return id;
}

function sourceNode(draft: TreeDraft, path: string, move: boolean, method: string): Node {
  const target = resolveTarget(draft, path, { keepLastLink: move, method });
  if (target.kind !== "node") {
    throw new YtError(`Source ${path} must be a node`);
  }
  if (target.node.id === draft.rootId && move) {
    throw new YtError("Node / cannot be removed");
  }
  return target.node;
}

/** Whether the node is the container or lies below it. */
function isInside(draft: TreeDraft, node: Node, container: Node): boolean {
  for (let current: Node | undefined = node; current !== undefined; ) {
    if (current.id === container.id) {
      return true;
    }
    current = current.parentId === undefined ? undefined : draft.node(current.parentId);
  }
  return false;
}

function* checkSource(draft: TreeDraft, source: Node, move: boolean): Generator<void, void, void> {
  for (const node of draft.subtree(source)) {
    const type = draft.typeOf(node);
    if (type.isObject === true || type.virtual !== undefined) {
      throw new YtError(`${draft.describe(node)} cannot be copied`);
    }
    draft.check(draft.user, "full_read", node);
    yield;
  }
  if (move) {
    checkMayRemove(draft, source);
  }
}

class Copier {
  readonly #draft: TreeDraft;
  readonly #parameters: CopyParameters;
  readonly #move: boolean;

  constructor(draft: TreeDraft, parameters: CopyParameters, move: boolean) {
    this.#draft = draft;
    this.#parameters = parameters;
    this.#move = move;
  }

  /** Copies the subtree; gives the id of its new top. */
  *copy(source: Node, place: Place): Generator<void, string, void> {
    const draft = this.#draft;
    const children = [...draft.children(source.id)];
    const type = draft.typeOf(source);
    checkMayCreate(draft, draft.user, source.type);
    const account = this.#parameters.preserveAccount === true ? source.account : place.parent.account;
    draft.checkAccountUse(account);
    const id = draft.newId(type.objectType);
    const state = type.copy?.(draft, source, id, { move: this.#move }) ?? source.state;
    const created = draft.createNode({
      type: source.type,
      parent: place.parent,
      key: place.key,
      user: draft.user,
      id,
      account,
      state,
      ...(this.#move ? { takesPlaceOf: source } : {}),
      overrides: this.#overrides(source),
    });
    for (const [key, childId] of children) {
      yield* this.copy(draft.nodeOrThrow(childId), { parent: draft.nodeOrThrow(created.id), key });
      yield;
    }
    if (this.#parameters.preserveModificationTime === true) {
      draft.stampModificationTime(id, source.modificationTimeUs);
    }
    return id;
  }

  /** What the copy keeps; the rest is as on a new node. */
  #overrides(source: Node): Partial<Node> {
    const keep = this.#parameters;
    const { expirationTimeUs, expirationTimeoutMs, opaque, annotation } = source;
    return {
      attributes: source.attributes,
      ...(opaque === undefined ? {} : { opaque }),
      ...(annotation === undefined ? {} : { annotation }),
      ...(keep.preserveCreationTime === true ? { creationTimeUs: source.creationTimeUs } : {}),
      ...(keep.preserveOwner === true ? { owner: source.owner } : {}),
      ...(keep.preserveAcl === true ? { acl: source.acl, inheritAcl: source.inheritAcl } : {}),
      ...(keep.preserveExpirationTime === true && expirationTimeUs !== undefined ? { expirationTimeUs } : {}),
      ...(keep.preserveExpirationTimeout === true && expirationTimeoutMs !== undefined
        ? { expirationTimeoutMs, touchTimeUs: this.#draft.nowUs }
        : {}),
    };
  }
}
