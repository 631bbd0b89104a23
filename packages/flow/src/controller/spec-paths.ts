/**
 * Reading and changing a part of a spec by a path such as `/computations/x/max_rows_per_batch`.
 * Specified in: yt/yt/flow/library/cpp/controller/flow_executor.cpp; YPath of the documentation, "Flow", CLI.
 */
import { bare, emptyMap, isList, isMap, type YsonValue, YtError } from "@qyt/base";
import { tokenizeYPath } from "@qyt/yson";

/** Names on the way; an empty path is the whole. @throws YtError 1 on a path that is none */
export function specPathSteps(path: string): readonly string[] {
  if (path === "" || path === "/") {
    return [];
  }
  if (!path.startsWith("/")) {
    throw new YtError(`Spec path "${path}" must begin with "/", for example "/computations/reader"`);
  }
  return tokenizeSteps(path);
}

/** The part at a path. @throws YtError 500 when there is none */
export function getAtPath(value: YsonValue, path: string): YsonValue {
  let part = value;
  for (const step of specPathSteps(path)) {
    const next = childOf(part, step);
    if (next === undefined) {
      throw new YtError(`Spec has no node at path "${path}": "${step}" is not found`, {
        code: "ResolveError",
      });
    }
    part = next;
  }
  return part;
}

/** The whole with another part; maps on the way are made when they are not there. */
export function setAtPath(value: YsonValue, path: string, part: YsonValue): YsonValue {
  return changed(value, specPathSteps(path), part, path);
}

/** The whole without a part. @throws YtError 500 when there is none, 1 when the path names the whole */
export function removeAtPath(value: YsonValue, path: string): YsonValue {
  const steps = specPathSteps(path);
  if (steps.length === 0) {
    throw new YtError('Parameter "spec_path" is required: the whole spec cannot be removed, only set');
  }
  getAtPath(value, path);
  return changed(value, steps, undefined, path);
}

function childOf(value: YsonValue, step: string): YsonValue | undefined {
  const plain = bare(value);
  if (isMap(plain)) {
    return plain.get(step);
  }
  return isList(plain) && /^\d+$/.test(step) ? plain[Number(step)] : undefined;
}

function changed(
  value: YsonValue,
  steps: readonly string[],
  part: YsonValue | undefined,
  path: string,
): YsonValue {
  const [step, ...rest] = steps;
  if (step === undefined) {
    return part ?? emptyMap;
  }
  const plain = bare(value);
  if (isList(plain)) {
    const index = Number(step);
    if (!(Number.isInteger(index) && index >= 0 && index < plain.length)) {
      throw new YtError(`Spec has no node at path "${path}": the list has no item "${step}"`, {
        code: "ResolveError",
      });
    }
    const items = plain.map((item, at) => (at === index ? changed(item, rest, part, path) : item));
    return rest.length === 0 && part === undefined ? plain.filter((_, at) => at !== index) : items;
  }
  if (!isMap(plain)) {
    throw new YtError(`Spec path "${path}" leads through "${step}" of a value that is no map`, {
      code: "ResolveError",
    });
  }
  const copy = new Map(plain);
  if (rest.length === 0 && part === undefined) {
    copy.delete(step);
  } else {
    copy.set(step, changed(copy.get(step) ?? emptyMap, rest, part, path));
  }
  return copy;
}

function tokenizeSteps(path: string): readonly string[] {
  return tokenizeYPath(`/${path}`).steps.map((step) => {
    if (step.kind !== "child") {
      throw new YtError(`Spec path "${path}" may hold only names, for example "/computations/reader"`);
    }
    return step.name;
  });
}
