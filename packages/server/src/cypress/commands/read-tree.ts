/**
 * The values of whole nodes, as `get` and `list` answer them: generators, as they may go through very many nodes.
 * Specified in: yt/yt/server/master/cypress_server/node_proxy_detail.cpp (GetSelf, ListSelf).
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
import { type AttributeFilter, filteredAttributes, type RemoteValues } from "./attribute-filter.ts";
import { methodNotSupported } from "./shared.ts";

/** What a reading looks at, and for whom. */
export interface Reading {
  readonly view: View;
  readonly user: string;
  readonly filter: AttributeFilter;
  readonly values: RemoteValues;
}

const defaultVirtualLimit = 1000;
const incomplete: YsonMap = new Map([["incomplete", true]]);

/** The names in a directory, with the attributes that are asked for; at most `maxSize`. */
export function* listNode(
  reading: Reading,
  node: Node,
  maxSize: number | undefined,
): Generator<void, YsonValue, void> {
  const { view, user, filter, values } = reading;
  const type = view.typeOf(node);
  if (type.content === "document") {
    return listValue(contentOf(view, node));
  }
  if (type.content !== "map") {
    throw methodNotSupported(view, node, "List");
  }
  const { children, isIncomplete } = yield* childrenOf(view, node, maxSize);
  const wantsAttributes = filter.keys.length + filter.paths.length > 0;
  const items: YsonValue[] = [];
  for (const [name, child] of children) {
    if (wantsAttributes) {
      yield;
    }
    items.push(
      wantsAttributes && view.isAllowed(user, "read", child)
        ? withAttributes(name, filteredAttributes(view, child, filter, values))
        : name,
    );
  }
  return isIncomplete ? withAttributes(items, incomplete) : items;
}

/** The names in a map, or the indexes in a list. @throws YtError 113 for other values */
export function listValue(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (isMap(plain)) {
    return [...plain.keys()];
  }
  if (isList(plain)) {
    return plain.map((_, index) => String(index));
  }
  throw new YtError('"List" method is not supported', { code: "NoSuchMethod" });
}

/** The nested value of a node and all below it; at most `maxSize` of its own children. */
export function* readNode(
  reading: Reading,
  node: Node,
  maxSize: number | undefined,
): Generator<void, YsonValue, void> {
  const reader = new TreeReader(reading);
  return yield* reader.whole(node, maxSize);
}

export function contentOf(view: View, node: Node): YsonValue {
  return view.typeOf(node).getContent?.(node) ?? null;
}

class TreeReader {
  readonly #reading: Reading;
  readonly #wantsAttributes: boolean;
  readonly #readsAll: boolean;

  constructor(reading: Reading) {
    this.#reading = reading;
    const { view, user, filter } = reading;
    this.#wantsAttributes = filter.keys.length + filter.paths.length > 0;
    this.#readsAll = view.subjects.isSuperuser(user);
  }

  *whole(node: Node, maxSize: number | undefined): Generator<void, YsonValue, void> {
    return this.#isMap(node) ? yield* this.#map(node, maxSize) : this.#leaf(node);
  }

  *#below(node: Node): Generator<void, YsonValue, void> {
    const { view, user } = this.#reading;
    if (!this.#readsAll && !view.isAllowed(user, "read", node)) {
      return null;
    }
    if (node.opaque === true || view.typeOf(node).alwaysOpaque === true) {
      return withAttributes(null, this.#attributes(node));
    }
    return this.#isMap(node) ? yield* this.#map(node, undefined) : this.#leaf(node);
  }

  #isMap(node: Node): boolean {
    return this.#reading.view.typeOf(node).content === "map";
  }

  *#map(node: Node, maxSize: number | undefined): Generator<void, YsonValue, void> {
    const attributes = this.#attributes(node);
    const { children, isIncomplete } = yield* childrenOf(this.#reading.view, node, maxSize);
    const map = new Map<string, YsonValue>();
    for (const [name, child] of children) {
      yield;
      map.set(name, yield* this.#below(child));
    }
    if (isIncomplete) {
      attributes.set("incomplete", true);
    }
    return withAttributes(map, attributes);
  }

  #leaf(node: Node): YsonValue {
    const { view } = this.#reading;
    const attributes = this.#attributes(node);
    return view.typeOf(node).content === "entity"
      ? withAttributes(null, attributes)
      : withOwnAttributes(contentOf(view, node), attributes);
  }

  #attributes(node: Node): Map<string, YsonValue> {
    const { view, filter, values } = this.#reading;
    return this.#wantsAttributes ? new Map(filteredAttributes(view, node, filter, values)) : new Map();
  }
}

/** Names and nodes of the children, at most `maxSize`, and whether some are left out. */
function* childrenOf(
  view: View,
  node: Node,
  maxSize: number | undefined,
): Generator<void, { children: [string, Node][]; isIncomplete: boolean }, void> {
  const { virtual } = view.typeOf(node);
  const limit = maxSize ?? (virtual === undefined ? Number.POSITIVE_INFINITY : defaultVirtualLimit);
  const count = virtual === undefined ? view.childCount(node.id) : virtual.count(view);
  const children: [string, Node][] = [];
  if (limit > 0) {
    // The names are taken at once: a map that is changed is not to be walked through.
    const names =
      virtual === undefined
        ? [...view.children(node.id)]
        : [...virtual.keys(view, limit)].map((name) => [name, undefined] as const);
    for (const [name, id] of names) {
      const child = id === undefined ? virtual?.child(view, name) : view.node(id);
      if (child !== undefined) {
        children.push([name, child]);
      }
      if (children.length >= limit) {
        break;
      }
      yield;
    }
  }
  return { children, isIncomplete: count > children.length && children.length >= limit };
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
