/**
 * Nodes that hold a value: scalars, whole documents, and lists (kept for what `set` writes; clients may
 * not `create` them).
 * Specified in: yt/yt/server/master/cypress_server/node_detail.h, document_node_type_handler.cpp.
 */
import { bare, isList, isMap, Uint64, type YsonValue, YtError } from "@qyt/base";
import { parseBoolean, parseInteger, parseString } from "../attributes/values.ts";
import type { Node } from "../node.ts";
import type { NodeContent, NodeType } from "../node-type.ts";

function valueType(
  name: string,
  objectType: number,
  initial: YsonValue,
  parse: (value: YsonValue) => YsonValue,
  content: NodeContent = "scalar",
): NodeType<YsonValue> {
  return {
    name,
    objectType,
    content,
    attributes: new Map(
      content === "document"
        ? [
            [
              "value",
              {
                opaque: true,
                isContent: true,
                get: (node: Node<YsonValue>) => node.state,
                set: (_draft: unknown, _node: unknown, value: YsonValue) => ({ state: value }),
              },
            ],
          ]
        : [],
    ),
    encodeState: (state) => state,
    decodeState: (value) => value,
    create(_draft, input) {
      const value = input.attributes.get("value");
      if (value === undefined) {
        return initial;
      }
      input.attributes.delete("value");
      return parse(value);
    },
    getContent: (node) => node.state,
    setContent: (_node, value) => parse(value),
  };
}

function parseUint64(value: YsonValue): Uint64 {
  const plain = bare(value);
  return plain instanceof Uint64 ? plain : new Uint64(parseInteger(value));
}

function parseDouble(value: YsonValue): number {
  const plain = bare(value);
  return typeof plain === "number" ? plain : Number(parseInteger(value));
}

function parseList(value: YsonValue): YsonValue {
  const plain = bare(value);
  if (!isList(plain)) {
    throw new YtError('Invalid type of "list" node: expected a list');
  }
  return plain;
}

export const documentType: NodeType<YsonValue> = {
  ...valueType("document", 421, null, (value) => value, "document"),
  alwaysOpaque: true,
};

export const listNodeType: NodeType<YsonValue> = valueType("list_node", 304, [], parseList, "document");

export const scalarTypes: readonly NodeType<YsonValue>[] = [
  valueType("string_node", 300, "", parseString),
  valueType("int64_node", 301, 0n, parseInteger),
  valueType("double_node", 302, 0, parseDouble),
  valueType("boolean_node", 305, false, parseBoolean),
  valueType("uint64_node", 306, new Uint64(0n), parseUint64),
];

/**
 * Type of node that `set` makes of a value; maps become map nodes.
 * @throws YtError for an entity
 */
export function typeNameOfValue(value: YsonValue): string {
  const plain = bare(value);
  if (plain === null) {
    throw new YtError("Entity nodes cannot be created");
  }
  if (isMap(plain)) {
    return "map_node";
  }
  if (isList(plain)) {
    return "list_node";
  }
  if (plain instanceof Uint64) {
    return "uint64_node";
  }
  switch (typeof plain) {
    case "string":
      return "string_node";
    case "bigint":
      return "int64_node";
    case "number":
      return "double_node";
    default:
      return "boolean_node";
  }
}
