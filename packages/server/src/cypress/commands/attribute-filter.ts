/**
 * The parameter `attributes` of `get` and `list`: names, or `{keys; paths}`, and collecting what it asks for.
 * Specified in: yt/yt/core/ytree/attribute_filter.cpp.
 */
import { bare, isList, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { tokenizeYPath } from "@qyt/yson";
import { isListed } from "../attributes/presence.ts";
import type { Node } from "../node.ts";
import type { RemoteValue, View } from "../node-type.ts";
import type { InnerStep } from "../resolve.ts";
import { findInValue } from "../yson-path.ts";

export interface AttributeFilter {
  readonly keys: readonly string[];
  /** Name of the attribute and the steps inside of its value. */
  readonly paths: readonly { readonly name: string; readonly steps: readonly InnerStep[] }[];
}

export const emptyFilter: AttributeFilter = { keys: [], paths: [] };

function strings(value: YsonValue | undefined): string[] {
  const plain = bare(value ?? []);
  if (!isList(plain)) {
    throw new YtError('Parameter "attributes" must be a list of names or a map with "keys" and "paths"');
  }
  return plain.map((item) => {
    const text = bare(item);
    if (typeof text !== "string") {
      throw new YtError("Attribute names must be strings");
    }
    return text;
  });
}

function parsePath(path: string): AttributeFilter["paths"][number] {
  const { steps } = tokenizeYPath(`/${path}`);
  const [first, ...rest] = steps;
  if (first?.kind !== "child") {
    throw new YtError(`Attribute path "${path}" must start with "/" and a name`);
  }
  const inner = rest.map((step): InnerStep => {
    if (step.kind === "child" || step.kind === "attribute") {
      return step;
    }
    throw new YtError(`Attribute path "${path}" may hold names only`);
  });
  return { name: first.name, steps: inner };
}

/** `undefined` and an entity mean "not given". */
export function parseAttributeFilter(value: YsonValue | undefined): AttributeFilter | undefined {
  const plain = value === undefined ? null : bare(value);
  if (plain === null) {
    return undefined;
  }
  if (isMap(plain)) {
    return { keys: strings(plain.get("keys")), paths: strings(plain.get("paths")).map(parsePath) };
  }
  return { keys: strings(plain), paths: [] };
}

/**
 * Values of remote attributes that a filter names. A reader runs once, learns which are missing, waits
 * for them, and runs again; most readers meet none and run once.
 */
export class RemoteValues {
  readonly #known = new Map<string, YsonValue>();
  readonly #pending = new Map<string, Promise<YsonValue>>();

  /** The value, or `undefined` for the time being. */
  read(node: Node, name: string, value: () => RemoteValue): YsonValue | undefined {
    const key = `${node.id}/${name}`;
    const known = this.#known.get(key);
    if (known === undefined && !this.#pending.has(key)) {
      const asked = value().ask("get", "");
      // The reader may fail for another reason before anybody waits for this.
      asked.catch(() => undefined);
      this.#pending.set(key, asked);
    }
    return known;
  }

  get isComplete(): boolean {
    return this.#pending.size === 0;
  }

  /** Waits for what was missing; then the reader has to run again. @throws YtError of the first that fails */
  async settle(): Promise<void> {
    const pending = [...this.#pending];
    this.#pending.clear();
    const values = await Promise.all(pending.map(([, value]) => value));
    for (const [index, [key]] of pending.entries()) {
      this.#known.set(key, values[index] ?? null);
    }
  }
}

/** Runs a reader that looks at one state of the tree until it has all values that it needs. */
export async function readWithRemoteValues(
  read: (values: RemoteValues) => YsonValue | Promise<YsonValue>,
): Promise<YsonValue> {
  const values = new RemoteValues();
  for (;;) {
    const reading = read(values);
    const result = reading instanceof Promise ? await reading : reading;
    if (values.isComplete) {
      return result;
    }
    await values.settle();
  }
}

/** One attribute, whoever knows it; `undefined` when the node does not have it. */
export function attributeValue(
  view: View,
  node: Node,
  name: string,
  values: RemoteValues,
): YsonValue | undefined {
  const builtin = view.types.attributesOf(node.type).get(name);
  if (builtin === undefined) {
    return node.attributes.get(name);
  }
  const value = builtin.get(node, view);
  const { remote } = builtin;
  return remote === undefined || value === undefined
    ? value
    : values.read(node, name, () => remote.call(builtin, node, view));
}

/** The attributes that the filter asks for and the node has. */
export function filteredAttributes(
  view: View,
  node: Node,
  filter: AttributeFilter,
  values: RemoteValues,
): YsonMap {
  const result = new Map<string, YsonValue>();
  for (const name of filter.keys) {
    const value = attributeValue(view, node, name, values);
    if (value !== undefined) {
      result.set(name, value);
    }
  }
  for (const { name, steps } of filter.paths) {
    if (filter.keys.includes(name)) {
      continue;
    }
    const value = attributeValue(view, node, name, values);
    const part = value === undefined ? undefined : findInValue(value, steps);
    if (part !== undefined) {
      result.set(name, graft(result.get(name), steps, part));
    }
  }
  return result;
}

/** Puts a part back at its place, in maps that hold nothing else. */
function graft(existing: YsonValue | undefined, steps: readonly InnerStep[], part: YsonValue): YsonValue {
  const [step, ...rest] = steps;
  if (step?.kind !== "child") {
    return part;
  }
  const plain = bare(existing ?? new Map());
  const map = new Map(isMap(plain) ? plain : []);
  map.set(step.name, graft(map.get(step.name), rest, part));
  return map;
}

/** All attributes, the opaque ones as entities. */
export function allAttributes(view: View, node: Node): YsonMap {
  const result = new Map<string, YsonValue>();
  for (const [name, builtin] of view.types.attributesOf(node.type)) {
    if (builtin.opaque === true) {
      if (isListed(builtin, node, view)) {
        result.set(name, null);
      }
      continue;
    }
    const value = builtin.get(node, view);
    if (value !== undefined) {
      result.set(name, value);
    }
  }
  for (const [name, value] of node.attributes) {
    result.set(name, value);
  }
  return result;
}
