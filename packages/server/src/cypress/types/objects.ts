/**
 * What objects without a path have in common: they are children of a map under `//sys`, by name.
 */
import { type YsonValue, YtError } from "@qyt/base";
import { stringToBytes } from "@qyt/yson";
import { parseString } from "../attributes/values.ts";
import type { Draft, View } from "../node-type.ts";

/** The schema object of a type; its entries say who may create objects of the type. */
export function checkMayCreate(view: View, user: string, type: string): void {
  const schemas = view.findNode("//sys/schemas");
  const schema = schemas === undefined ? undefined : view.child(schemas.id, type);
  if (schema !== undefined) {
    view.check(user, "create", schema);
  }
}

export interface NamedObjectInput {
  readonly type: string;
  readonly mapPath: string;
  readonly attributes: Map<string, YsonValue>;
  readonly ignoreExisting: boolean;
}

/**
 * The name of an object, or another one that it is to be known by. The real system refuses empty names only;
 * one that cannot be read in a list, a log or a header would pass for another.
 * @param what begins the error's text
 * @throws YtError 1 when it is empty or has control characters, 505 when it is too long
 */
export function checkObjectName(draft: Draft, what: string, name: string): void {
  if (name === "") {
    throw new YtError(`${what} cannot be empty`);
  }
  const bytes = stringToBytes(name).length;
  if (bytes > draft.limits.maxNodeKeyBytes) {
    throw new YtError(`${what} is too long: ${bytes} bytes, limit ${draft.limits.maxNodeKeyBytes} bytes`, {
      code: "MaxKeyLengthViolation",
    });
  }
  const position = [...name].findIndex((character) => character < " " || character === "\x7f");
  if (position >= 0) {
    throw new YtError(
      `${what} cannot have control characters: there is one at position ${position}, counted from 0`,
    );
  }
}

/** Creates an object under its attribute `name`. @throws YtError 501, 901 */
export function createNamedObject(draft: Draft, input: NamedObjectInput): string {
  checkMayCreate(draft, draft.user, input.type);
  const name = input.attributes.get("name");
  if (name === undefined) {
    throw new YtError('Attribute "name" is not found', { code: "ResolveError" });
  }
  const key = parseString(name);
  checkObjectName(draft, "Object name", key);
  const map = draft.resolveNode(input.mapPath);
  const existing = draft.child(map.id, key);
  if (existing !== undefined) {
    if (input.ignoreExisting) {
      return existing.id;
    }
    const what = `${input.type.charAt(0).toUpperCase()}${input.type.slice(1).replaceAll("_", " ")}`;
    throw new YtError(`${what} "${key}" already exists`, { code: "AlreadyExists" });
  }
  const node = draft.createNode({
    type: input.type,
    parent: map,
    key,
    user: draft.user,
    account: "sys",
    attributes: input.attributes,
  });
  return node.id;
}
