/**
 * `set` and `multiset_attributes`.
 * Specified in: yt/yt/core/ytree/{ypath_detail,node_detail,convert}.cpp,
 * yt/yt/server/master/cypress_server/node_proxy_detail.cpp.
 */
import { attributesOf, bare, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import {
  builtinOf,
  permissionToSet,
  removableAttributes,
  removeAttribute,
  setAttribute,
} from "../attributes/apply.ts";
import type { TreeDraft } from "../draft.ts";
import type { Node } from "../node.ts";
import { type InnerStep, noSuchAttribute, resolveTarget, type Target } from "../resolve.ts";
import { emptyMapState } from "../types/map-node.ts";
import { typeNameOfValue } from "../types/scalars.ts";
import { setInValue } from "../yson-path.ts";
import { currentValue } from "./attribute-values.ts";
import { takeAway } from "./create.ts";
import { checkMayChangeChildren, checkNewNode, ensureParents, methodNotSupported } from "./shared.ts";

export interface SetParameters {
  readonly path: string;
  readonly value: YsonValue;
  readonly recursive?: boolean;
  readonly force?: boolean;
}

/** A large value becomes nodes in slices. */
export function* setAt(draft: TreeDraft, parameters: SetParameters): Generator<void, void, void> {
  const { path, value } = parameters;
  const target = resolveTarget(draft, path, { allowMissing: true, method: "Set" });
  switch (target.kind) {
    case "missing":
      yield* setMissing(draft, target, parameters);
      return;
    case "node":
      yield* overwrite(draft, target.node, value, parameters.force === true);
      return;
    case "inner":
      draft.check(draft.user, "write", target.node);
      setInner(draft, target, parameters);
      return;
    case "attribute":
      if (target.name === undefined) {
        replaceAttributes(draft, target.node, value);
      } else {
        setOneAttribute(draft, target.node, target.name, target.steps, value, parameters.recursive === true);
      }
      return;
    default:
      throw new YtError(`Cannot set ${path}`);
  }
}

function* setMissing(
  draft: TreeDraft,
  target: Extract<Target, { kind: "missing" }>,
  parameters: SetParameters,
): Generator<void, void, void> {
  if (target.hasAttribute) {
    resolveTarget(draft, parameters.path, { method: "Set" });
  }
  typeNameOfValue(parameters.value);
  const parent = ensureParents(draft, target.parent, target.names, parameters.recursive === true);
  checkMayChangeChildren(draft, draft.user, parent);
  yield* createFromValue(draft, parent, target.names.at(-1) ?? "", parameters.value);
}

/** Makes a node of a value, with its subtree; attributes on the values become attributes of the nodes. */
function* createFromValue(
  draft: TreeDraft,
  parent: Node,
  key: string,
  value: YsonValue,
): Generator<void, void, void> {
  const type = typeNameOfValue(value);
  const plain = bare(value);
  checkStringLength(draft, plain);
  const attributes = attributesOf(value);
  checkNewNode(draft, parent, type, attributes);
  const node = draft.createNode({
    type,
    parent,
    key,
    user: draft.user,
    attributes,
    state: isMap(plain) ? emptyMapState : plain,
  });
  if (isMap(plain)) {
    yield* fill(draft, node, plain);
  }
}

function* fill(draft: TreeDraft, node: Node, children: YsonMap): Generator<void, void, void> {
  for (const [name, child] of children) {
    yield* createFromValue(draft, node, name, child);
    yield;
  }
}

/** @throws YtError 503 */
function checkStringLength(draft: TreeDraft, value: YsonValue): void {
  if (typeof value === "string") {
    const length = stringToBytes(value).length;
    if (length > draft.limits.maxStringNodeBytes) {
      throw new YtError("String node length limit exceeded", {
        code: "MaxStringLengthViolation",
        attributes: { length: BigInt(length), limit: BigInt(draft.limits.maxStringNodeBytes) },
      });
    }
  }
}

function* overwrite(
  draft: TreeDraft,
  node: Node,
  value: YsonValue,
  force: boolean,
): Generator<void, void, void> {
  const type = draft.typeOf(node);
  draft.check(draft.user, "write", node);
  const plain = bare(value);
  if (type.content === "document" && node.type !== "list_node") {
    draft.update(node.id, { state: type.setContent?.(node, value) });
    return;
  }
  const newType = typeNameOfValue(value);
  if (type.content === "map") {
    if (!force) {
      throw new YtError(
        'Command "set" without "force" flag is forbidden for map nodes; consider using "force" or setting the children one by one',
        { attributes: { path: draft.pathOf(node) } },
      );
    }
    if (type.virtual !== undefined) {
      throw methodNotSupported(draft, node, "Set");
    }
    if (isMap(plain)) {
      yield* replaceChildren(draft, node, plain, attributesOf(value));
      return;
    }
  }
  if (type.content === "entity") {
    throw methodNotSupported(draft, node, "Set");
  }
  checkStringLength(draft, plain);
  if (newType !== node.type) {
    const { parent, key } = takeAway(draft, node);
    yield* createFromValue(draft, parent, key, value);
    return;
  }
  draft.update(node.id, { state: type.setContent?.(node, plain) });
  setAll(draft, node, attributesOf(value));
}

function* replaceChildren(
  draft: TreeDraft,
  node: Node,
  children: YsonMap,
  attributes: YsonMap,
): Generator<void, void, void> {
  draft.lockImplicitly(node.id, { mode: "exclusive" });
  for (const [, id] of [...draft.children(node.id)]) {
    draft.checkSubtree(draft.user, "remove", draft.nodeOrThrow(id));
    yield* draft.removeNodeInSlices(id);
  }
  yield* fill(draft, draft.nodeOrThrow(node.id), children);
  setAll(draft, node, attributes);
}

function setAll(draft: TreeDraft, node: Node, attributes: YsonMap): void {
  for (const [name, value] of attributes) {
    setChecked(draft, draft.nodeOrThrow(node.id), name, value);
  }
}

function setInner(
  draft: TreeDraft,
  target: Extract<Target, { kind: "inner" }>,
  parameters: SetParameters,
): void {
  const { node, steps } = target;
  const type = draft.typeOf(node);
  const content = type.getContent?.(node) ?? null;
  const changed = setInValue(content, steps, parameters.value, {
    recursive: parameters.recursive === true,
    where: `Node ${draft.pathOf(node)}`,
  });
  draft.update(node.id, { state: type.setContent?.(node, changed) });
}

/** Sets one attribute with the rights that this one needs. */
function setChecked(draft: TreeDraft, node: Node, name: string, value: YsonValue): void {
  const builtin = builtinOf(draft, node, name);
  draft.check(draft.user, permissionToSet(builtin), node);
  builtin?.authorizeSet?.(draft, node);
  setAttribute(draft, node, name, value);
}

function setOneAttribute(
  draft: TreeDraft,
  node: Node,
  name: string,
  steps: readonly InnerStep[],
  value: YsonValue,
  recursive: boolean,
): void {
  if (steps.length === 0) {
    setChecked(draft, node, name, value);
    return;
  }
  const current = currentValue(draft, node, name);
  if (current === undefined && !recursive) {
    throw noSuchAttribute(name);
  }
  const where = `Attribute "${name}"`;
  setChecked(draft, node, name, setInValue(current ?? new Map(), steps, value, { recursive, where }));
}

/** `set //n/@`: exactly these user attributes, and of the removable built-in ones only those named. */
function replaceAttributes(draft: TreeDraft, node: Node, value: YsonValue): void {
  draft.check(draft.user, "write", node);
  const wanted = bare(value);
  if (!isMap(wanted)) {
    throw new YtError("Attributes can only be set from a map");
  }
  for (const name of [...node.attributes.keys(), ...removableAttributes(draft, node)]) {
    if (!wanted.has(name)) {
      draft.check(draft.user, permissionToSet(builtinOf(draft, node, name)), node);
      removeAttribute(draft, draft.nodeOrThrow(node.id), name, true);
    }
  }
  setAll(draft, node, wanted);
}

export interface MultisetParameters {
  /** Ends in `/@`, or in `/@name` to set entries of a map attribute. */
  readonly path: string;
  readonly attributes: YsonMap;
  readonly force?: boolean;
}

export function multisetAt(draft: TreeDraft, parameters: MultisetParameters): void {
  const target = resolveTarget(draft, parameters.path, { method: "MultisetAttributes" });
  if (target.kind !== "attribute") {
    throw new YtError('Path of "multiset_attributes" must end with "/@"');
  }
  const { node, name, steps } = target;
  if (name === undefined) {
    setAll(draft, node, parameters.attributes);
    return;
  }
  for (const [key, value] of parameters.attributes) {
    const inner: InnerStep[] = [...steps, { kind: "child", name: key }];
    setOneAttribute(draft, draft.nodeOrThrow(node.id), name, inner, value, parameters.force === true);
  }
}
