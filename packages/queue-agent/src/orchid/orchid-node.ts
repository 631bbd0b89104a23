/**
 * The Orchid tree as nodes that know their value when asked, and the walk along a path into it.
 *
 * Specified in: yt/yt/core/ytree (virtual maps), ypath_detail.cpp (texts of resolve errors).
 */
import { Attributed, attributesOf, bare, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import { escapeYPathLiteral, tokenizeYPath, type YPathStep } from "@qyt/yson";

export type OrchidMethod = "get" | "list" | "exists";

export interface OrchidNode {
  /** The whole value below this node. */
  get(): YsonValue;
  /** `undefined`: this node is a plain value, whose parts are found in it. */
  readonly children?: {
    keys(): readonly string[];
    get(key: string): OrchidNode | undefined;
  };
  /** A node that answers for everything below it in its own way. */
  ask?(method: OrchidMethod, steps: readonly YPathStep[], path: string): Promise<YsonValue>;
}

/** A node with a value that is computed at each reading. */
export function valueNode(get: () => YsonValue): OrchidNode {
  return { get };
}

/** A map of nodes; keys without a node are left out. */
export function mapNode(nodes: Readonly<Record<string, OrchidNode | undefined>>): OrchidNode {
  const children = new Map<string, OrchidNode>();
  for (const [key, node] of Object.entries(nodes)) {
    if (node !== undefined) {
      children.set(key, node);
    }
  }
  return {
    get: () => new Map([...children].map(([key, node]) => [key, node.get()])),
    children: { keys: () => [...children.keys()], get: (key) => children.get(key) },
  };
}

/** Steps of a path inside the tree: "" is its root. @throws YtError for a path that is none */
export function orchidSteps(path: string): readonly YPathStep[] {
  return path === "" || path === "/" ? [] : tokenizeYPath(`/${path}`).steps;
}

/** The text of steps, as they stand in a path. */
export function stepsToText(steps: readonly YPathStep[]): string {
  return steps.map(stepToText).join("");
}

function stepToText(step: YPathStep): string {
  switch (step.kind) {
    case "child":
      return `/${escapeYPathLiteral(step.name)}`;
    case "attribute":
      return step.name === undefined ? "/@" : `/@${escapeYPathLiteral(step.name)}`;
    case "all":
      return "/*";
    case "allAttributes":
      return "/@*";
    case "ampersand":
      return "&";
  }
}

/** @throws YtError 500 for a path that leads nowhere; `exists` answers false then */
export async function askOrchid(
  root: OrchidNode,
  method: OrchidMethod,
  steps: readonly YPathStep[],
): Promise<YsonValue> {
  try {
    return await walk(root, method, steps, "");
  } catch (thrown) {
    if (method === "exists" && thrown instanceof YtError && thrown.has("ResolveError")) {
      return false;
    }
    throw thrown;
  }
}

async function walk(
  root: OrchidNode,
  method: OrchidMethod,
  steps: readonly YPathStep[],
  rootPath: string,
): Promise<YsonValue> {
  let node = root;
  let path = rootPath;
  for (let index = 0; ; index += 1) {
    const rest = steps.slice(index);
    if (node.ask !== undefined) {
      return node.ask(method, rest, path);
    }
    const [step] = rest;
    if (node.children === undefined || step === undefined) {
      return node.children !== undefined && method === "list"
        ? [...node.children.keys()]
        : answerFromValue(method === "exists" && step === undefined ? null : node.get(), method, rest, path);
    }
    if (step.kind !== "child") {
      return answerFromValue(node.get(), method, rest, path);
    }
    const child = node.children.get(step.name);
    if (child === undefined) {
      throw noChild(path, step.name);
    }
    node = child;
    path += `/${step.name}`;
  }
}

/** The part of a value that the steps name. @throws YtError 500 */
function answerFromValue(
  value: YsonValue,
  method: OrchidMethod,
  steps: readonly YPathStep[],
  path: string,
): YsonValue {
  let current = value;
  let here = path;
  for (const step of steps) {
    if (step.kind === "attribute") {
      const attributes = attributesOf(current);
      if (step.name === undefined) {
        current = attributes;
        continue;
      }
      const attribute = attributes.get(step.name);
      if (attribute === undefined) {
        throw new YtError(`Attribute "${step.name}" is not found`, { code: "ResolveError" });
      }
      current = attribute;
    } else if (step.kind === "child") {
      current = childOf(current, step.name, here);
      here += `/${step.name}`;
    } else if (step.kind !== "ampersand") {
      throw new YtError(`An Orchid path cannot contain "${stepsToText([step])}"`);
    }
  }
  switch (method) {
    case "get":
      return current;
    case "exists":
      return true;
    case "list":
      return keysOf(current, here);
  }
}

function childOf(value: YsonValue, name: string, path: string): YsonValue {
  const plain = bare(value);
  if (isMap(plain)) {
    const child = plain.get(name);
    if (child === undefined) {
      throw noChild(path, name);
    }
    return child;
  }
  if (isList(plain)) {
    const index = /^-?\d{1,9}$/.test(name) ? Number(name) : Number.NaN;
    const child = plain[index < 0 ? plain.length + index : index];
    if (child === undefined) {
      throw noChild(path, name);
    }
    return child;
  }
  throw new YtError(`Node ${path || "/"} cannot have children, so there is no child "${name}"`, {
    code: "ResolveError",
  });
}

function keysOf(value: YsonValue, path: string): YsonValue {
  const plain = value instanceof Attributed ? value.value : value;
  if (isMap(plain)) {
    return [...plain.keys()];
  }
  if (isList(plain)) {
    return plain.map((_, index) => String(index));
  }
  throw new YtError(`Node ${path || "/"} is no map and no list, so it cannot be listed`);
}

export function noChild(path: string, name: string): YtError {
  return new YtError(`Node ${path || "/"} has no child with key "${name}"`, { code: "ResolveError" });
}
