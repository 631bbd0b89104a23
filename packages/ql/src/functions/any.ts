/**
 * Functions over values of type `any`: getters by YPath, lists, making of YSON.
 *
 * Specified in: yt/yt/library/query/engine/udf (ypath_get, list_contains, make_map, to_any …).
 */
import { attributesOf, bare, isList, isMap, mapOf, Uint64, type YsonValue, YtError } from "@qyt/base";
import { type PhysicalType, type RowValue, YsonAny } from "@qyt/schema";
import { bytesToString, parseYson, stringToBytes, writeYson, writeYsonText } from "@qyt/yson";
import { sameYsonScalar } from "../compare.ts";
import { TypeSet, valueTypes } from "../types.ts";
import { asAny, asBytes, asText } from "../values.ts";
import { type FunctionBody, type FunctionDefinition, signature } from "./signature.ts";

const scalarTypes = TypeSet.of("int64", "uint64", "double", "boolean", "string");

export const anyFunctions: Readonly<Record<string, FunctionDefinition>> = {
  ...getters(["int64", "uint64", "double", "boolean", "string", "any"]),
  to_any: {
    signature: signature([valueTypes], "any"),
    prepare:
      ([type = "any"]) =>
      (values) =>
        toAny(values[0] ?? null, type),
  },
  yson_string_to_any: {
    signature: signature(["string"], "any"),
    prepare: () => (values) => encode(parseYson(asBytes(values[0]))),
  },
  any_to_yson_string: {
    signature: signature(["any"], "string"),
    prepare: () => (values) => Buffer.from(writeYsonText(decode(values[0])), "latin1"),
  },
  yson_length: {
    signature: signature(["any"], "int64"),
    prepare: () => (values) => {
      const value = bare(decode(values[0]));
      if (isList(value)) {
        return BigInt(value.length);
      }
      if (isMap(value)) {
        return BigInt(value.size);
      }
      throw new YtError("Function yson_length expects a list or a map");
    },
  },
  list_contains: {
    signature: signature(["any", scalarTypes], "boolean"),
    prepare:
      ([, type = "any"]) =>
      (values) => {
        const wanted = toYson(values[1] ?? null, type);
        return decodeList(values[0], "list_contains").some((item) => sameYsonScalar(item, wanted));
      },
  },
  list_has_intersection: {
    signature: signature(["any", "any"], "boolean"),
    prepare: () => (values) => {
      const left = new Set(decodeList(values[0], "list_has_intersection").map(scalarKey));
      return decodeList(values[1], "list_has_intersection").some((item) => left.has(scalarKey(item)));
    },
  },
  make_map: {
    signature: signature([], "any", { slot: valueTypes, each: true }),
    takesNulls: true,
    prepare: makeMapBody,
  },
  make_list: {
    signature: signature([], "any", { slot: valueTypes, each: true }),
    takesNulls: true,
    prepare: (types) => (values) =>
      encode(values.map((value, index) => toYson(value, types[index] ?? "any"))),
  },
  make_entity: {
    signature: signature([], "any"),
    prepare: () => {
      const entity = encode(null);
      return () => entity;
    },
  },
};

/** The YSON value of a row value of a type. */
export function toYson(value: RowValue, type: PhysicalType): YsonValue {
  if (value instanceof YsonAny) {
    return parseYson(value.bytes);
  }
  if (value instanceof Uint8Array) {
    return bytesToString(value);
  }
  return typeof value === "bigint" && type === "uint64" ? new Uint64(value) : value;
}

/** The row value of type `any` for a YSON value. */
export function encode(value: YsonValue): YsonAny {
  return new YsonAny(writeYson(value, "binary"));
}

function toAny(value: RowValue, type: PhysicalType): RowValue {
  return value === null || value instanceof YsonAny ? value : encode(toYson(value, type));
}

function decode(value: RowValue | undefined): YsonValue {
  return parseYson(asAny(value).bytes);
}

function decodeList(value: RowValue | undefined, functionName: string): readonly YsonValue[] {
  const list = bare(decode(value));
  if (!isList(list)) {
    throw new YtError(`Function ${functionName} expects a list`);
  }
  return list;
}

/** Equal for equal scalars; every composite value is equal to nothing. */
function scalarKey(value: YsonValue): unknown {
  const content = bare(value);
  if (content instanceof Uint64) {
    return content.value;
  }
  return typeof content === "string" ? `s${content}` : content;
}

function makeMapBody(types: readonly PhysicalType[]): FunctionBody {
  if (types.length % 2 !== 0) {
    throw new YtError(
      `Wrong number of arguments to function "make_map": expected an even number, got ${types.length}`,
    );
  }
  return (values) => {
    const map = new Map<string, YsonValue>();
    for (let index = 0; index + 1 < values.length; index += 2) {
      const key = values[index];
      if (!(key instanceof Uint8Array)) {
        throw new YtError(
          `Invalid type of key in "make_map": expected "string", got "${types[index] ?? "null"}"`,
          {
            attributes: mapOf({ argument_index: BigInt(index + 1) }),
          },
        );
      }
      map.set(bytesToString(key), toYson(values[index + 1] ?? null, types[index + 1] ?? "any"));
    }
    return encode(map);
  };
}

function getters(types: readonly PhysicalType[]): Record<string, FunctionDefinition> {
  const result: Record<string, FunctionDefinition> = {};
  for (const type of types) {
    result[`get_${type}`] = getter(type, true);
    result[`try_get_${type}`] = getter(type, false);
  }
  return result;
}

function getter(type: PhysicalType, strict: boolean): FunctionDefinition {
  return {
    signature: signature(["any", "string"], type),
    prepare: () => (values) => {
      const path = asText(values[1]);
      const found = followPath(decode(values[0]), path);
      const value = found === undefined ? undefined : fromYson(found, type);
      if (value === undefined && strict) {
        const reason = found === undefined ? "has no value" : "has a value of another type";
        throw new YtError(`Cannot get ${type} value: path "${path}" ${reason}`, {
          code: found === undefined ? "ResolveError" : "Generic",
          attributes: { ypath: path },
        });
      }
      return value ?? null;
    },
  };
}

/** The scalar of the wanted type; undefined when the value is of another type. */
function fromYson(value: YsonValue, type: PhysicalType): RowValue | undefined {
  if (type === "any") {
    return encode(value);
  }
  const content = bare(value);
  switch (type) {
    case "int64":
      return typeof content === "bigint" ? content : undefined;
    case "uint64":
      return content instanceof Uint64 ? content.value : undefined;
    case "double":
      return typeof content === "number" ? content : undefined;
    case "boolean":
      return typeof content === "boolean" ? content : undefined;
    default:
      return typeof content === "string" ? stringToBytes(content) : undefined;
  }
}

/** `/key/0/@attribute` inside a value; undefined when there is nothing there. */
function followPath(value: YsonValue, path: string): YsonValue | undefined {
  if (path === "") {
    return value;
  }
  const steps = splitPath(path);
  let current: YsonValue | undefined = value;
  for (const step of steps) {
    if (current === undefined) {
      return undefined;
    }
    current = step.attribute ? attributesOf(current).get(step.name) : child(current, step.name);
  }
  return current;
}

function child(value: YsonValue, name: string): YsonValue | undefined {
  const content = bare(value);
  if (isMap(content)) {
    return content.get(name);
  }
  if (isList(content) && /^-?[0-9]{1,15}$/.test(name)) {
    return content.at(Number(name));
  }
  return undefined;
}

/** @throws YtError when the path does not begin with a slash */
function splitPath(path: string): { name: string; attribute: boolean }[] {
  if (!path.startsWith("/")) {
    throw new YtError(`Invalid YPath "${path}": expected "/"`);
  }
  const steps: { name: string; attribute: boolean }[] = [];
  for (const match of path.matchAll(/\/(@?)((?:\\x[0-9A-Fa-f]{2}|\\.|[^\\/])*)/g)) {
    const name = (match[2] ?? "").replace(
      /\\(?:x([0-9A-Fa-f]{2})|(.))/g,
      (_, hex?: string, other?: string) =>
        hex === undefined ? (other ?? "") : String.fromCharCode(Number.parseInt(hex, 16)),
    );
    steps.push({ name, attribute: match[1] === "@" });
  }
  return steps;
}
