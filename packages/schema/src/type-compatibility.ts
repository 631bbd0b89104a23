/**
 * Whether values of an old column type are also values of a new one, so that rows already written stay
 * valid. Specified in: yt/yt/client/complex_types/check_type_compatibility.cpp.
 */
import { bare, isList, isMap, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { formatTypeV3, sameTypeV3 } from "./type-v3.ts";

/**
 * Checks a change of type; both in the normal form of `type_v3`. `field` names the column in the message.
 * @throws YtError 316 when some old value may not be a value of the new type
 */
export function checkTypeChange(oldType: YsonValue, newType: YsonValue, field: string): void {
  const before = unwrap(oldType);
  const after = unwrap(newType);
  // One level of optional may be added; it may not be removed, nor may levels be mixed.
  if (before.nesting !== after.nesting && !(before.nesting === 0 && after.nesting === 1)) {
    throw changed(oldType, newType, field);
  }
  checkUnwrapped(before.type, after.type, field);
}

/** The type inside of optionals and tags, and how many optionals there were. */
function unwrap(type: YsonValue): { readonly type: YsonValue; readonly nesting: number } {
  let nesting = 0;
  let current = bare(type);
  while (isMap(current)) {
    const name = current.get("type_name");
    if (name === "optional") {
      nesting += 1;
    } else if (name !== "tagged") {
      break;
    }
    current = bare(current.get("item") ?? null);
  }
  return { type: current, nesting };
}

function checkUnwrapped(oldType: YsonValue, newType: YsonValue, field: string): void {
  const before = bare(oldType);
  const after = bare(newType);
  if (typeof before === "string" && typeof after === "string") {
    if (!isSimpleWidening(before, after)) {
      throw changed(oldType, newType, field);
    }
    return;
  }
  if (!isMap(before) || !isMap(after) || before.get("type_name") !== after.get("type_name")) {
    throw changed(oldType, newType, field);
  }
  const item = (key: string): void =>
    checkTypeChange(before.get(key) ?? null, after.get(key) ?? null, `${field}.<${key}>`);
  switch (before.get("type_name")) {
    case "list":
      item("item");
      return;
    case "dict":
      item("key");
      item("value");
      return;
    case "struct":
      checkMembers(before, after, field, { mayGrow: true, newMustBeOptional: true });
      return;
    case "variant":
      checkMembers(before, after, field, { mayGrow: true, newMustBeOptional: false });
      return;
    case "tuple":
      checkMembers(before, after, field, { mayGrow: false, newMustBeOptional: false });
      return;
    default:
      if (!sameTypeV3(before, after)) {
        throw changed(oldType, newType, field);
      }
  }
}

interface MemberRules {
  readonly mayGrow: boolean;
  readonly newMustBeOptional: boolean;
}

function checkMembers(before: YsonMap, after: YsonMap, field: string, rules: MemberRules): void {
  const oldMembers = membersOf(before);
  const newMembers = membersOf(after);
  if (before.has("members") !== after.has("members")) {
    throw changed(before, after, field);
  }
  if (oldMembers.length > newMembers.length) {
    throw incompatible(`Some members of "${field}" are removed`);
  }
  if (!rules.mayGrow && oldMembers.length !== newMembers.length) {
    throw incompatible(`Added new elements to tuple "${field}"`);
  }
  for (const [index, newMember] of newMembers.entries()) {
    const oldMember = oldMembers[index];
    if (oldMember === undefined) {
      if (rules.newMustBeOptional && !isNullable(newMember.type)) {
        throw incompatible(`Newly added member "${field}.${newMember.name}" is not optional`);
      }
    } else if (oldMember.name !== newMember.name) {
      throw incompatible(
        `Member name mismatch in "${field}": old name "${oldMember.name}", new name "${newMember.name}"`,
      );
    } else {
      checkTypeChange(oldMember.type, newMember.type, `${field}.${newMember.name}`);
    }
  }
}

/** Members by name, or elements with their position as the name. */
function membersOf(node: YsonMap): readonly { readonly name: string; readonly type: YsonValue }[] {
  const parts = node.get("members") ?? node.get("elements") ?? null;
  return (isList(parts) ? parts : []).map((part, index) => {
    const member = isMap(part) ? part : new Map<string, YsonValue>();
    const name = member.get("name");
    return { name: typeof name === "string" ? name : String(index), type: member.get("type") ?? null };
  });
}

function isNullable(type: YsonValue): boolean {
  const node = bare(type);
  if (!isMap(node)) {
    return node === "null" || node === "void";
  }
  const name = node.get("type_name");
  return name === "optional" || (name === "tagged" && isNullable(node.get("item") ?? null));
}

/** Each line from narrow to wide. */
const families: readonly (readonly string[])[] = [
  ["int8", "int16", "int32", "int64"],
  ["uint8", "uint16", "uint32", "uint64"],
  ["float", "double"],
  ["utf8", "string"],
];

const castableToYson: ReadonlySet<string> = new Set([
  ...families.flat(),
  ...["bool", "date", "datetime", "timestamp", "interval", "yson"],
]);

function isSimpleWidening(before: string, after: string): boolean {
  if (before === after) {
    return true;
  }
  if (after === "yson") {
    return castableToYson.has(before);
  }
  const family = families.find((names) => names.includes(before));
  return family !== undefined && family.indexOf(after) > family.indexOf(before);
}

function changed(oldType: YsonValue, newType: YsonValue, field: string): YtError {
  return new YtError(`Type of "${field}" field is modified in non backward compatible manner`, {
    code: "IncompatibleSchemas",
    attributes: { old_type: formatTypeV3(oldType), new_type: formatTypeV3(newType) },
  });
}

function incompatible(message: string): YtError {
  return new YtError(message, { code: "IncompatibleSchemas" });
}
