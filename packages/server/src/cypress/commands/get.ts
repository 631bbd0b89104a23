/**
 * `get`, `list` and `exists`.
 * Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (GetSelf, ListSelf),
 * yt/yt/core/ytree/{virtual,ypath_detail}.cpp.
 */
import { type YsonValue, YtError } from "@qyt/base";
import type { Node } from "../node.ts";
import type { View } from "../node-type.ts";
import { type InnerStep, noSuchAttribute, resolveTarget, type Target } from "../resolve.ts";
import { findInValue, getInValue } from "../yson-path.ts";
import {
  type AttributeFilter,
  allAttributes,
  emptyFilter,
  filteredAttributes,
  parseAttributeFilter,
  type RemoteValues,
  readWithRemoteValues,
} from "./attribute-filter.ts";
import { contentOf, listNode, listValue, readNode } from "./read-tree.ts";
import { askRemote, existsRemotely, remotePart } from "./remote.ts";

export interface ReadParameters {
  readonly path: string;
  /** A list of names, or `{keys; paths}`. */
  readonly attributes?: YsonValue;
  readonly maxSize?: number;
}

/** Told which nodes were read, for access counters and expiration timeouts. */
export interface ReadObserver {
  /** The content was read. */
  accessed(node: Node): void;
  /** The node was touched in any other way. */
  touched(node: Node): void;
}

/** Reads that may take a while: others have their turns, and the tree stays as it was when they began. */
export interface LongReads {
  run<T>(read: (view: View) => Generator<void, T, void>): Promise<T>;
}

export async function getAt(
  view: View,
  user: string,
  parameters: ReadParameters,
  observer: ReadObserver,
  longReads: LongReads,
): Promise<YsonValue> {
  const target = resolveTarget(view, parameters.path, { method: "Get" });
  const filter = parseAttributeFilter(parameters.attributes);
  const node = nodeOf(target);
  view.check(user, "read", node);
  observe(target, observer);
  const remote = remotePart(view, target);
  if (remote !== undefined) {
    return askRemote(remote, "get", parameters.path);
  }
  return readWithRemoteValues((values) => {
    switch (target.kind) {
      case "node":
        return longReads.run((current) =>
          readNode({ view: current, user, filter: filter ?? emptyFilter, values }, node, parameters.maxSize),
        );
      case "inner":
        return getInValue(contentOf(view, node), target.steps, `Node ${view.pathOf(node)}`);
      case "attribute":
        return getAttribute(view, node, target, filter, parameters.path, values);
      default:
        throw new YtError(`Cannot get ${parameters.path}`);
    }
  });
}

export async function listAt(
  view: View,
  user: string,
  parameters: ReadParameters,
  observer: ReadObserver,
  longReads: LongReads,
): Promise<YsonValue> {
  const target = resolveTarget(view, parameters.path, { method: "List" });
  const filter = parseAttributeFilter(parameters.attributes);
  const node = nodeOf(target);
  view.check(user, "read", node);
  observe(target, observer);
  const remote = remotePart(view, target);
  if (remote !== undefined) {
    return askRemote(remote, "list", parameters.path);
  }
  return readWithRemoteValues((values) => {
    switch (target.kind) {
      case "node":
        return longReads.run((current) =>
          listNode({ view: current, user, filter: filter ?? emptyFilter, values }, node, parameters.maxSize),
        );
      case "inner":
        return listValue(getInValue(contentOf(view, node), target.steps, `Node ${view.pathOf(node)}`));
      case "attribute":
        return target.name === undefined
          ? [...allAttributes(view, node).keys()]
          : listValue(getAttribute(view, node, target, undefined, parameters.path, values));
      default:
        throw new YtError(`Cannot list ${parameters.path}`);
    }
  });
}

export async function existsAt(view: View, path: string, observer: ReadObserver): Promise<boolean> {
  let target: Target;
  try {
    target = resolveTarget(view, path, { allowMissing: true, method: "Exists" });
  } catch (error) {
    if (error instanceof YtError && error.has("ResolveError")) {
      return false;
    }
    throw error;
  }
  if (target.kind === "node") {
    observer.touched(target.node);
    return true;
  }
  const isPart = target.kind === "inner" || (target.kind === "attribute" && target.steps.length > 0);
  const remote = isPart ? remotePart(view, target) : undefined;
  return remote === undefined ? existsInTree(view, target) : existsRemotely(remote);
}

function existsInTree(view: View, target: Target): boolean {
  switch (target.kind) {
    case "missing":
      return false;
    case "inner":
      return findInValue(contentOf(view, target.node), target.steps) !== undefined;
    case "attribute": {
      const { node, name, steps } = target;
      if (name === undefined) {
        return true;
      }
      const value = ownValue(view, node, name);
      return value !== undefined && findInValue(value, steps) !== undefined;
    }
    default:
      return true;
  }
}

function nodeOf(target: Target): Node {
  if (target.kind === "missing") {
    throw new YtError("Node does not exist", { code: "ResolveError" });
  }
  return target.node;
}

function observe(target: Target, observer: ReadObserver): void {
  if (target.kind === "node" || target.kind === "inner") {
    observer.accessed(target.node);
  } else if (target.kind === "attribute") {
    observer.touched(target.node);
  }
}

function getAttribute(
  view: View,
  node: Node,
  target: { readonly name: string | undefined; readonly steps: readonly InnerStep[] },
  filter: AttributeFilter | undefined,
  path: string,
  values: RemoteValues,
): YsonValue {
  const { name, steps } = target;
  if (name === undefined) {
    return filter === undefined ? allAttributes(view, node) : filteredAttributes(view, node, filter, values);
  }
  const value = ownValue(view, node, name);
  try {
    if (value === undefined) {
      throw noSuchAttribute(name);
    }
    return getInValue(value, steps, `Attribute "${name}"`);
  } catch (error) {
    throw error instanceof YtError
      ? error.wrap(`Error resolving path ${path}`, { path, method: "Get" })
      : error;
  }
}

/** An attribute whose value is here. */
function ownValue(view: View, node: Node, name: string): YsonValue | undefined {
  const builtin = view.types.attributesOf(node.type).get(name);
  return builtin === undefined ? node.attributes.get(name) : builtin.get(node, view);
}
