/**
 * `get`, `list` and `exists`.
 * Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (GetSelf, ListSelf),
 * yt/yt/core/ytree/{virtual,ypath_detail}.cpp.
 */
import {
  Attributed,
  attributesOf,
  type BareYsonValue,
  bare,
  isList,
  isMap,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
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
import { askRemote, existsRemotely, remotePart } from "./remote.ts";
import { methodNotSupported } from "./shared.ts";

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

const defaultVirtualLimit = 1000;
const incomplete: YsonMap = new Map([["incomplete", true]]);

export async function getAt(
  view: View,
  user: string,
  parameters: ReadParameters,
  observer: ReadObserver,
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
        return new TreeReader(view, user, filter ?? emptyFilter, values).whole(node, parameters.maxSize);
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
        return listNode(view, user, node, filter ?? emptyFilter, parameters.maxSize, values);
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

function contentOf(view: View, node: Node): YsonValue {
  return view.typeOf(node).getContent?.(node) ?? null;
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

function listValue(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (isMap(plain)) {
    return [...plain.keys()];
  }
  if (isList(plain)) {
    return plain.map((_, index) => String(index));
  }
  throw new YtError('"List" method is not supported', { code: "NoSuchMethod" });
}

/** Names and nodes of the children, at most `limit`, and whether some are left out. */
function childrenOf(
  view: View,
  node: Node,
  maxSize: number | undefined,
): { children: [string, Node][]; isIncomplete: boolean } {
  const { virtual } = view.typeOf(node);
  const limit = maxSize ?? (virtual === undefined ? Number.POSITIVE_INFINITY : defaultVirtualLimit);
  const count = virtual === undefined ? view.childCount(node.id) : virtual.count(view);
  const children: [string, Node][] = [];
  const add = (name: string, child: Node | undefined): boolean => {
    if (child !== undefined) {
      children.push([name, child]);
    }
    return children.length < limit;
  };
  if (limit > 0 && virtual !== undefined) {
    for (const name of virtual.keys(view, limit)) {
      if (!add(name, virtual.child(view, name))) {
        break;
      }
    }
  } else if (limit > 0) {
    for (const [name, id] of view.children(node.id)) {
      if (!add(name, view.node(id))) {
        break;
      }
    }
  }
  return { children, isIncomplete: count > children.length && children.length >= limit };
}

function listNode(
  view: View,
  user: string,
  node: Node,
  filter: AttributeFilter,
  maxSize: number | undefined,
  values: RemoteValues,
): YsonValue {
  const type = view.typeOf(node);
  if (type.content === "document") {
    return listValue(contentOf(view, node));
  }
  if (type.content !== "map") {
    throw methodNotSupported(view, node, "List");
  }
  const { children, isIncomplete } = childrenOf(view, node, maxSize);
  const wantsAttributes = filter.keys.length + filter.paths.length > 0;
  const items = children.map(([name, child]): YsonValue => {
    if (!wantsAttributes || !view.isAllowed(user, "read", child)) {
      return name;
    }
    return withAttributes(name, filteredAttributes(view, child, filter, values));
  });
  return isIncomplete ? withAttributes(items, incomplete) : items;
}

/** Builds the nested value of `get`. */
class TreeReader {
  readonly #view: View;
  readonly #user: string;
  readonly #filter: AttributeFilter;
  readonly #values: RemoteValues;
  readonly #wantsAttributes: boolean;
  readonly #readsAll: boolean;

  constructor(view: View, user: string, filter: AttributeFilter, values: RemoteValues) {
    this.#view = view;
    this.#user = user;
    this.#filter = filter;
    this.#values = values;
    this.#wantsAttributes = filter.keys.length + filter.paths.length > 0;
    this.#readsAll = view.subjects.isSuperuser(user);
  }

  whole(node: Node, maxSize: number | undefined): YsonValue {
    return this.#node(node, maxSize, true);
  }

  #node(node: Node, maxSize: number | undefined, isTop: boolean): YsonValue {
    if (!isTop && !this.#readsAll && !this.#view.isAllowed(this.#user, "read", node)) {
      return null;
    }
    const type = this.#view.typeOf(node);
    const attributes: Map<string, YsonValue> = this.#wantsAttributes
      ? new Map(filteredAttributes(this.#view, node, this.#filter, this.#values))
      : new Map();
    if (!isTop && (node.opaque === true || type.alwaysOpaque === true)) {
      return withAttributes(null, attributes);
    }
    switch (type.content) {
      case "entity":
        return withAttributes(null, attributes);
      case "map": {
        const { children, isIncomplete } = childrenOf(this.#view, node, maxSize);
        const map = new Map<string, YsonValue>();
        for (const [name, child] of children) {
          map.set(name, this.#node(child, undefined, false));
        }
        if (isIncomplete) {
          attributes.set("incomplete", true);
        }
        return withAttributes(map, attributes);
      }
      default:
        return withOwnAttributes(contentOf(this.#view, node), attributes);
    }
  }
}

/** Attributes of the value itself stay below those of the node. */
function withOwnAttributes(value: YsonValue, attributes: YsonMap): YsonValue {
  if (attributes.size === 0) {
    return value;
  }
  const plain: BareYsonValue = bare(value);
  return value instanceof Attributed
    ? withAttributes(plain, new Map([...attributesOf(value), ...attributes]))
    : withAttributes(plain, attributes);
}
