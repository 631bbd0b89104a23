/**
 * The third version of column types: `type_v3`, a name or a map with nested types. Here it is checked,
 * brought to its normal form, and mapped to and from the first version (`type` and `required`).
 * Specified in: yt/yt/client/table_client/logical_type.cpp.
 */
import { bare, isList, isMap, limits, mapOf, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  type LogicalType,
  logicalTypeFromV3Name,
  logicalTypeToV3Name,
  type PhysicalType,
  physicalTypeOf,
} from "./value-type.ts";

/** A column type in all its forms. */
export interface ColumnType {
  /** Version 1: the simple type that stands for it; composite types show as `any`. */
  readonly type: LogicalType;
  readonly physical: PhysicalType;
  /** Whether null is refused. */
  readonly required: boolean;
  /** Version 3 in its normal form: simple types are bare names. */
  readonly typeV3: YsonValue;
}

/** The column type that `type` and `required` describe. */
export function columnTypeFromV1(type: LogicalType, required: boolean): ColumnType {
  const name = logicalTypeToV3Name(type);
  const physical = physicalTypeOf(type);
  if (physical === "null") {
    if (required) {
      throw invalidType(`Null type cannot be required`);
    }
    return { type, physical, required: false, typeV3: name };
  }
  return { type, physical, required, typeV3: required ? name : mapOf({ type_name: "optional", item: name }) };
}

/**
 * Parses a value of the field `type_v3`.
 * @throws YtError 314 when it is no type, or nested deeper than the limit
 */
export function columnTypeFromV3(value: YsonValue): ColumnType {
  const parsed = parseType(value, 1);
  return {
    type: parsed.type,
    physical: parsed.composite ? "any" : physicalTypeOf(parsed.type),
    required: !parsed.nullable,
    typeV3: parsed.normal,
  };
}

/** A type_v3 as one line, for messages: `optional<list<int64>>`. */
export function formatTypeV3(value: YsonValue): string {
  const node = bare(value);
  if (!isMap(node)) {
    return String(node);
  }
  const name = String(node.get("type_name"));
  const inner: string[] = [];
  for (const key of ["tag", "key", "value", "item", "precision", "scale"]) {
    const part = node.get(key);
    if (part !== undefined) {
      inner.push(formatTypeV3(part));
    }
  }
  for (const key of ["members", "elements"]) {
    for (const part of listOf(node.get(key))) {
      const member = mapOrThrow(part, key);
      const label = member.get("name");
      const type = formatTypeV3(member.get("type") ?? null);
      inner.push(label === undefined ? type : `${String(label)}=${type}`);
    }
  }
  return `${name}<${inner.join(";")}>`;
}

/** Whether two types, both in their normal form, are the same. */
export function sameTypeV3(left: YsonValue, right: YsonValue): boolean {
  if (isList(left) && isList(right)) {
    return (
      left.length === right.length && left.every((item, index) => sameTypeV3(item, right[index] ?? null))
    );
  }
  if (isMap(left) && isMap(right)) {
    return (
      left.size === right.size &&
      [...left].every(([key, item]) => right.has(key) && sameTypeV3(item, right.get(key) ?? null))
    );
  }
  return left === right;
}

/** Whether values of a type, in its normal form, have an order, so that it may be the type of a key. */
export function isComparable(typeV3: YsonValue): boolean {
  const node = bare(typeV3);
  if (!isMap(node)) {
    return node !== "yson";
  }
  switch (node.get("type_name")) {
    case "decimal":
      return true;
    case "optional":
    case "list":
    case "tagged":
      return isComparable(node.get("item") ?? null);
    case "tuple":
    case "variant":
      return listOf(node.get("elements") ?? node.get("members")).every(
        (part) => isMap(part) && isComparable(part.get("type") ?? null),
      );
    default:
      return false;
  }
}

interface ParsedType {
  readonly normal: YsonValue;
  readonly type: LogicalType;
  readonly nullable: boolean;
  readonly composite: boolean;
}

type Parser = (node: YsonMap, depth: number) => ParsedType;

const parsers: ReadonlyMap<string, Parser> = new Map<string, Parser>([
  ["optional", parseOptional],
  ["list", (node, depth) => composite({ type_name: "list", item: field(node, "item", depth).normal })],
  ["struct", (node, depth) => composite({ type_name: "struct", members: parseMembers(node, depth) })],
  ["tuple", (node, depth) => composite({ type_name: "tuple", elements: parseElements(node, depth) })],
  ["variant", parseVariant],
  ["dict", parseDict],
  ["tagged", parseTagged],
  ["decimal", parseDecimal],
]);

function parseType(value: YsonValue, depth: number): ParsedType {
  if (depth > limits.maxTypeDepth) {
    throw invalidType(`Type is too deep: limit ${limits.maxTypeDepth}`);
  }
  const node = bare(value);
  const name = isMap(node) ? bare(node.get("type_name") ?? null) : node;
  if (typeof name !== "string") {
    throw invalidType(
      isMap(node) ? `Missing required field "type_name" of a type` : "A type must be a string or a map",
    );
  }
  const parser = parsers.get(name);
  if (parser !== undefined) {
    if (!isMap(node)) {
      throw invalidType(`Type "${name}" must be a map with its parameters`);
    }
    return parser(node, depth);
  }
  const type = logicalTypeFromV3Name(name);
  if (type === undefined) {
    throw invalidType(`"${name}" is not a valid simple type`);
  }
  return { normal: name, type, nullable: physicalTypeOf(type) === "null", composite: false };
}

function parseOptional(node: YsonMap, depth: number): ParsedType {
  const item = field(node, "item", depth);
  const normal = mapOf({ type_name: "optional", item: item.normal });
  // An optional of what may be null already has two kinds of null, which one cell cannot tell apart.
  return item.nullable
    ? { normal, type: "any", nullable: true, composite: true }
    : { normal, type: item.type, nullable: true, composite: item.composite };
}

function parseVariant(node: YsonMap, depth: number): ParsedType {
  const hasMembers = node.has("members");
  if (hasMembers === node.has("elements")) {
    throw invalidType(`Type "variant" must have exactly one of fields "members" and "elements"`);
  }
  return composite(
    hasMembers
      ? { type_name: "variant", members: parseMembers(node, depth) }
      : { type_name: "variant", elements: parseElements(node, depth) },
  );
}

function parseDict(node: YsonMap, depth: number): ParsedType {
  const key = field(node, "key", depth);
  if (!isComparable(key.normal)) {
    throw invalidType(`Type of the key of a "dict" must be comparable`);
  }
  return composite({ type_name: "dict", key: key.normal, value: field(node, "value", depth).normal });
}

function parseTagged(node: YsonMap, depth: number): ParsedType {
  const tag = bare(node.get("tag") ?? null);
  if (typeof tag !== "string" || tag === "") {
    throw invalidType(`Field "tag" of type "tagged" must be a non-empty string`);
  }
  const item = field(node, "item", depth);
  return { ...item, normal: mapOf({ type_name: "tagged", tag, item: item.normal }) };
}

function parseDecimal(node: YsonMap): ParsedType {
  const precision = integerField(node, "precision");
  const scale = integerField(node, "scale");
  if (precision < 1n || precision > 76n) {
    throw invalidType(`Invalid decimal precision ${precision}, precision must be in range [1, 76]`);
  }
  if (scale < 0n || scale > precision) {
    throw invalidType(`Invalid decimal scale ${scale} (precision ${precision})`);
  }
  return {
    normal: mapOf({ type_name: "decimal", precision, scale }),
    type: "string",
    nullable: false,
    composite: false,
  };
}

function parseMembers(node: YsonMap, depth: number): YsonValue {
  const names = new Set<string>();
  return listField(node, "members").map((item) => {
    const member = mapOrThrow(item, "members");
    const name = bare(member.get("name") ?? null);
    if (typeof name !== "string" || name === "") {
      throw invalidType("Name of a member of a type must be a non-empty string");
    }
    if (names.has(name)) {
      throw invalidType(`Member name "${name}" is used more than once`);
    }
    names.add(name);
    return mapOf({ name, type: field(member, "type", depth).normal });
  });
}

function parseElements(node: YsonMap, depth: number): YsonValue {
  return listField(node, "elements").map((item) =>
    mapOf({ type: field(mapOrThrow(item, "elements"), "type", depth).normal }),
  );
}

function composite(normal: Readonly<Record<string, YsonValue>>): ParsedType {
  return { normal: mapOf(normal), type: "any", nullable: false, composite: true };
}

function field(node: YsonMap, name: string, depth: number): ParsedType {
  const value = node.get(name);
  if (value === undefined) {
    throw invalidType(`Missing required field "${name}" of a type`);
  }
  return parseType(value, depth + 1);
}

function integerField(node: YsonMap, name: string): bigint {
  const value = bare(node.get(name) ?? null);
  if (typeof value !== "bigint") {
    throw invalidType(`Field "${name}" of a type must be an integer`);
  }
  return value;
}

function listField(node: YsonMap, name: string): readonly YsonValue[] {
  const items = listOf(node.get(name));
  if (items.length === 0) {
    throw invalidType(`Field "${name}" of a type must be a non-empty list`);
  }
  return items;
}

function listOf(value: YsonValue | undefined): readonly YsonValue[] {
  const node = value === undefined ? null : bare(value);
  return isList(node) ? node : [];
}

function mapOrThrow(value: YsonValue, where: string): YsonMap {
  const node = bare(value);
  if (!isMap(node)) {
    throw invalidType(`Every item of "${where}" of a type must be a map`);
  }
  return node;
}

function invalidType(message: string): YtError {
  return new YtError(message, { code: "InvalidSchemaValue" });
}
