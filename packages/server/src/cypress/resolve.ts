/**
 * From a path to what it names. Follows links, stops at attributes and inside documents.
 * Specified in: yt/yt/server/master/object_server/path_resolver.cpp, yt/yt/core/ytree/ypath_detail.cpp.
 */
import { YtError } from "@qyt/base";
import { escapeYPathLiteral, tokenizeYPath, type YPathStep } from "@qyt/yson";
import type { Node } from "./node.ts";
import type { View } from "./node-type.ts";
import { linkTarget } from "./types/link.ts";

/** Steps inside a value: into a map or list, or to the attributes of a value. */
export type InnerStep =
  | { readonly kind: "child"; readonly name: string }
  | { readonly kind: "attribute"; readonly name: string | undefined };

export type Target =
  | { readonly kind: "node"; readonly node: Node }
  /** Inside the value of a document, or of a node whose content is in another process. */
  | { readonly kind: "inner"; readonly node: Node; readonly steps: readonly InnerStep[] }
  /** `/@` (name absent) or `/@name` with what follows. */
  | {
      readonly kind: "attribute";
      readonly node: Node;
      readonly name: string | undefined;
      readonly steps: readonly InnerStep[];
    }
  /** Children that do not exist, below the last node that does; only when asked for. */
  | {
      readonly kind: "missing";
      readonly parent: Node;
      readonly names: readonly string[];
      /** What follows the missing names starts with an attribute. */
      readonly hasAttribute: boolean;
    }
  /** `/*` */
  | { readonly kind: "children"; readonly node: Node }
  /** `/@*` */
  | { readonly kind: "allAttributes"; readonly node: Node };

export interface ResolveOptions {
  /** Gives a `missing` target instead of the error. */
  readonly allowMissing?: boolean;
  /** A link at the very end is the target itself, as if it had `&` behind it. */
  readonly keepLastLink?: boolean;
  /** Name of the verb for the error, "Get". */
  readonly method?: string;
}

const maxRedirections = 256;

function resolveError(message: string): YtError {
  return new YtError(message, { code: "ResolveError" });
}

/** @throws YtError 500 `Node //tmp has no child with key "a"` */
export function noSuchChild(view: View, parent: Node, name: string): YtError {
  return resolveError(`${capitalized(view.describe(parent))} has no child with key "${name}"`);
}

export function noSuchAttribute(name: string): YtError {
  return resolveError(`Attribute "${name}" is not found`);
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Resolves a path in a view.
 * @throws YtError 500 wrapped as `Error resolving path <path>`; syntax errors of the path as they are
 */
export function resolveTarget(view: View, path: string, options: ResolveOptions = {}): Target {
  const parsed = tokenizeYPath(path);
  try {
    return new Walk(view, options).run(parsed.root, parsed.steps);
  } catch (error) {
    if (error instanceof YtError && error.code === 500) {
      throw error.wrap(`Error resolving path ${path}`, {
        path,
        ...(options.method === undefined ? {} : { method: options.method }),
      });
    }
    throw error;
  }
}

type Root = ReturnType<typeof tokenizeYPath>["root"];

class Walk {
  readonly #view: View;
  readonly #options: ResolveOptions;

  constructor(view: View, options: ResolveOptions) {
    this.#view = view;
    this.#options = options;
  }

  run(root: Root, steps: readonly YPathStep[]): Target {
    let node = this.#view.nodeOrThrow(root.kind === "root" ? this.#view.rootId : root.id);
    for (let index = 0; ; index += 1) {
      let step = steps[index];
      if (step?.kind === "ampersand") {
        index += 1;
        step = steps[index];
      } else if (node.type === "link" && !(step === undefined && this.#options.keepLastLink === true)) {
        node = new LinkWalk(this.#view).through(node);
      }
      if (step === undefined) {
        return { kind: "node", node };
      }
      const rest = steps.slice(index + 1);
      switch (step.kind) {
        case "attribute":
          return { kind: "attribute", node, name: step.name, steps: innerSteps(rest) };
        case "allAttributes":
          return { kind: "allAttributes", node };
        case "all":
          return { kind: "children", node };
        case "ampersand":
          throw resolveError('Unexpected "ampersand" token "&" in YPath');
        case "child":
          break;
      }
      const type = this.#view.typeOf(node);
      if (type.content === "document" || type.remote !== undefined) {
        return { kind: "inner", node, steps: innerSteps(steps.slice(index)) };
      }
      if (type.content !== "map") {
        throw resolveError(`${capitalized(this.#view.describe(node))} cannot have children`);
      }
      const child = this.#view.child(node.id, step.name);
      if (child === undefined) {
        return this.#missing(node, step.name, rest);
      }
      node = child;
    }
  }

  #missing(parent: Node, name: string, rest: readonly YPathStep[]): Target {
    if (this.#options.allowMissing !== true) {
      throw noSuchChild(this.#view, parent, name);
    }
    const names = [name];
    for (const step of rest) {
      if (step.kind !== "child") {
        return { kind: "missing", parent, names, hasAttribute: step.kind !== "ampersand" };
      }
      names.push(step.name);
    }
    return { kind: "missing", parent, names, hasAttribute: false };
  }
}

/** The walk along the target path of a link: it must end at a node. */
class LinkWalk {
  readonly #view: View;
  #redirections = 0;

  constructor(view: View) {
    this.#view = view;
  }

  /** The node that a link leads to, through further links. */
  through(link: Node): Node {
    this.#redirections += 1;
    if (this.#redirections > maxRedirections) {
      throw resolveError("Number of path resolution steps exceeds the limit");
    }
    const { root, steps } = tokenizeYPath(linkTarget(link));
    let node = this.#view.nodeOrThrow(root.kind === "root" ? this.#view.rootId : root.id);
    for (const [index, step] of steps.entries()) {
      if (step.kind === "ampersand") {
        continue;
      }
      if (step.kind !== "child") {
        throw resolveError("Link target does not point to a node");
      }
      if (node.type === "link" && steps[index - 1]?.kind !== "ampersand") {
        node = this.through(node);
      }
      const child = this.#view.child(node.id, step.name);
      if (child === undefined) {
        throw noSuchChild(this.#view, node, step.name);
      }
      node = child;
    }
    return node.type === "link" && steps.at(-1)?.kind !== "ampersand" ? this.through(node) : node;
  }
}

function innerSteps(steps: readonly YPathStep[]): InnerStep[] {
  return steps.map((step) => {
    if (step.kind === "child" || step.kind === "attribute") {
      return step;
    }
    throw resolveError(`Unexpected "${step.kind === "ampersand" ? "ampersand" : "asterisk"}" token in YPath`);
  });
}

/** The text form of inner steps, for error texts. */
export function innerPathText(steps: readonly InnerStep[]): string {
  return steps
    .map((step) =>
      step.kind === "child"
        ? `/${escapeYPathLiteral(step.name)}`
        : `/@${escapeYPathLiteral(step.name ?? "")}`,
    )
    .join("");
}
