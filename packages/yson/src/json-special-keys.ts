/** `$attributes`, `$type`, `$incomplete`, `$value`: how a JSON object stands for another value. */
import { Attributed, isMap, Uint64, type YsonMap, type YsonValue } from "@qyt/base";

/** The members of one object whose keys begin with a single `$`. */
export type SpecialKeys = Map<string, YsonValue>;

export type Joined =
  | { readonly value: YsonValue; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: string };

const known = new Set(["$attributes", "$type", "$incomplete", "$value"]);

/** The value that the special members describe; ordinary members beside `$value` do not count. */
export function joinSpecial(special: SpecialKeys): Joined {
  for (const key of special.keys()) {
    if (!known.has(key)) {
      return {
        error: `Key "${key}" starts with single "$"; use "$${key}" to encode this key in JSON format`,
      };
    }
  }
  const value = special.get("$value");
  if (value === undefined) {
    return { error: `Found key "${[...special.keys()].join('", "')}" without key "$value"` };
  }
  const type = special.get("$type");
  const typed = type === undefined ? { value } : convertTo(type, value);
  const attributes = special.get("$attributes");
  if (typed.error !== undefined || attributes === undefined) {
    return typed;
  }
  if (!isMap(attributes)) {
    return { error: 'Value of "$attributes" must be a map' };
  }
  return attach(attributes, typed.value);
}

function attach(attributes: YsonMap, value: YsonValue): Joined {
  if (attributes.size === 0) {
    return { value };
  }
  if (value instanceof Attributed) {
    return { error: "Value cannot have several attribute maps" };
  }
  return { value: new Attributed(attributes, value) };
}

function convertTo(type: YsonValue, value: YsonValue): Joined {
  const mismatch: Joined = { error: `Type mismatch in JSON: the value is not of type "${String(type)}"` };
  switch (type) {
    case "string":
      return typeof value === "string" ? { value } : mismatch;
    case "boolean":
      if (value === "true" || value === "false") {
        return { value: value === "true" };
      }
      return typeof value === "boolean" ? { value } : mismatch;
    case "double":
      return convertToDouble(value) ?? mismatch;
    case "int64": {
      const integer = integerOf(value);
      return integer !== undefined && BigInt.asIntN(64, integer) === integer ? { value: integer } : mismatch;
    }
    case "uint64": {
      const integer = integerOf(value);
      return integer !== undefined && BigInt.asUintN(64, integer) === integer
        ? { value: new Uint64(integer) }
        : mismatch;
    }
    default:
      return {
        error:
          typeof type === "string"
            ? `Unexpected "$type" value "${type}"`
            : 'Value of "$type" must be a string',
      };
  }
}

function convertToDouble(value: YsonValue): Joined | undefined {
  if (typeof value === "number") {
    return { value };
  }
  if (value === "nan" || value === "inf" || value === "-inf") {
    return { value: value === "nan" ? Number.NaN : value === "inf" ? Infinity : -Infinity };
  }
  if (typeof value === "bigint" || value instanceof Uint64) {
    return { value: Number(value.toString()) };
  }
  return typeof value === "string" && doublePattern.test(value) ? { value: Number(value) } : undefined;
}

function integerOf(value: YsonValue): bigint | undefined {
  if (typeof value === "bigint") {
    return value;
  }
  if (value instanceof Uint64) {
    return value.value;
  }
  return typeof value === "string" && /^-?[0-9]{1,20}$/.test(value) ? BigInt(value) : undefined;
}

const doublePattern = /^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/;
