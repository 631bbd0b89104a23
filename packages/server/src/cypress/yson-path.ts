/**
 * Reading and editing inside of a YSON value by path: attribute values (`/@a/b`) and documents.
 * Specified in: yt/yt/core/ytree/ypath_client.cpp (GetNodeByYPath, SetNodeByYPath, RemoveNodeByYPath).
 */
import {
  attributesOf,
  type BareYsonValue,
  bare,
  isList,
  isMap,
  withAttributes,
  type YsonList,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type InnerStep, innerPathText, noSuchAttribute } from "./resolve.ts";

function resolveError(message: string): YtError {
  return new YtError(message, { code: "ResolveError" });
}

function parseIndex(text: string, length: number): number | undefined {
  if (!/^-?\d{1,9}$/.test(text)) {
    return undefined;
  }
  const index = Number(text);
  const positive = index < 0 ? length + index : index;
  return positive >= 0 && positive < length ? positive : undefined;
}

/** The part of a value at the steps; `undefined` when it is not there. */
export function findInValue(value: YsonValue, steps: readonly InnerStep[]): YsonValue | undefined {
  let current: YsonValue | undefined = value;
  for (const step of steps) {
    if (current === undefined) {
      return undefined;
    }
    if (step.kind === "attribute") {
      const attributes: YsonMap = attributesOf(current);
      current = step.name === undefined ? attributes : attributes.get(step.name);
      continue;
    }
    const plain: BareYsonValue = bare(current);
    if (isMap(plain)) {
      current = plain.get(step.name);
    } else if (isList(plain)) {
      const index = parseIndex(step.name, plain.length);
      current = index === undefined ? undefined : plain[index];
    } else {
      return undefined;
    }
  }
  return current;
}

/** @param where how error texts call the value, `Attribute "a"` or `Node //tmp/d` */
export function getInValue(value: YsonValue, steps: readonly InnerStep[], where: string): YsonValue {
  for (let length = 1; length <= steps.length; length += 1) {
    if (findInValue(value, steps.slice(0, length)) === undefined) {
      throw missingStep(steps, length, where);
    }
  }
  const found = findInValue(value, steps);
  if (found === undefined) {
    throw missingStep(steps, steps.length, where);
  }
  return found;
}

function missingStep(steps: readonly InnerStep[], length: number, where: string): YtError {
  const step = steps[length - 1];
  if (step?.kind === "attribute") {
    return noSuchAttribute(step.name ?? "");
  }
  return resolveError(
    `${where}${innerPathText(steps.slice(0, length - 1))} has no child with key "${step?.name ?? ""}"`,
  );
}

export interface EditOptions {
  /** Makes missing maps on the way. */
  readonly recursive: boolean;
  readonly where: string;
}

/** The value with the part at the steps replaced or added. @throws YtError 500 when the way is not there */
export function setInValue(
  value: YsonValue,
  steps: readonly InnerStep[],
  replacement: YsonValue,
  options: EditOptions,
): YsonValue {
  const [step, ...rest] = steps;
  if (step === undefined) {
    return replacement;
  }
  const attributes = attributesOf(value);
  if (step.kind === "attribute") {
    return withAttributes(bare(value), setInAttributes(attributes, step.name, rest, replacement, options));
  }
  const plain = bare(value);
  if (isMap(plain)) {
    const map = new Map(plain);
    map.set(step.name, setInChild(plain.get(step.name), step, rest, replacement, options));
    return withAttributes(map, attributes);
  }
  if (isList(plain)) {
    return withAttributes(setInList(plain, step.name, rest, replacement, options), attributes);
  }
  throw resolveError(`${options.where} cannot have children`);
}

function setInChild(
  child: YsonValue | undefined,
  step: InnerStep,
  rest: readonly InnerStep[],
  replacement: YsonValue,
  options: EditOptions,
): YsonValue {
  if (child === undefined && rest.length > 0 && !options.recursive) {
    throw resolveError(`${options.where} has no child with key "${step.name ?? ""}"`);
  }
  const where = `${options.where}${innerPathText([step])}`;
  return setInValue(child ?? new Map(), rest, replacement, { ...options, where });
}

function setInAttributes(
  attributes: YsonMap,
  name: string | undefined,
  rest: readonly InnerStep[],
  replacement: YsonValue,
  options: EditOptions,
): YsonMap {
  if (name === undefined) {
    const plain = bare(replacement);
    if (!isMap(plain)) {
      throw new YtError("Attributes can only be set from a map");
    }
    return plain;
  }
  const changed = new Map(attributes);
  changed.set(
    name,
    setInChild(attributes.get(name), { kind: "attribute", name }, rest, replacement, options),
  );
  return changed;
}

function setInList(
  list: YsonList,
  position: string,
  rest: readonly InnerStep[],
  replacement: YsonValue,
  options: EditOptions,
): YsonList {
  const at = /^(before|after):(-?\d{1,9})$/.exec(position);
  const insertAt = (index: number): YsonList => {
    if (rest.length > 0) {
      throw resolveError(`${options.where} has no child with index ${position}`);
    }
    return [...list.slice(0, index), replacement, ...list.slice(index)];
  };
  if (position === "begin") {
    return insertAt(0);
  }
  if (position === "end") {
    return insertAt(list.length);
  }
  const index = parseIndex(at?.[2] ?? position, list.length);
  if (index === undefined) {
    throw resolveError(`${options.where} has no child with index ${position}`);
  }
  if (at !== null) {
    return insertAt(at[1] === "before" ? index : index + 1);
  }
  const step: InnerStep = { kind: "child", name: position };
  const changed = setInChild(list[index], step, rest, replacement, options);
  return list.map((item, i) => (i === index ? changed : item));
}

/**
 * The value without the part at the steps; the last one of a map, list or attributes.
 * @throws YtError 500 when it is not there and `force` is not set
 */
export function removeInValue(
  value: YsonValue,
  steps: readonly InnerStep[],
  options: { readonly force: boolean; readonly where: string },
): YsonValue {
  const last = steps.at(-1);
  if (last === undefined) {
    throw resolveError(`${options.where} cannot be removed`);
  }
  if (findInValue(value, steps) === undefined) {
    if (options.force) {
      return value;
    }
    getInValue(value, steps, options.where);
  }
  const before = steps.slice(0, -1);
  const parent = getInValue(value, before, options.where);
  return setInValue(value, before, withoutStep(parent, last), { recursive: false, where: options.where });
}

function withoutStep(parent: YsonValue, step: InnerStep): YsonValue {
  const attributes = attributesOf(parent);
  const plain = bare(parent);
  if (step.kind === "attribute") {
    const kept = new Map(attributes);
    if (step.name === undefined) {
      kept.clear();
    } else {
      kept.delete(step.name);
    }
    return withAttributes(plain, kept);
  }
  if (isMap(plain)) {
    const kept = new Map(plain);
    kept.delete(step.name);
    return withAttributes(kept, attributes);
  }
  if (isList(plain)) {
    const index = parseIndex(step.name, plain.length);
    return withAttributes(
      plain.filter((_, i) => i !== index),
      attributes,
    );
  }
  return parent;
}
