/** What the JSON codec can be told. Specified in: yt/yt/core/json/config.h. */
import { bare, limits, Uint64, type YsonMap, YtError } from "@qyt/base";

export interface JsonOptions {
  /** Default true: every byte is one character U+0000…U+00FF. False: bytes are the UTF-8 text itself. */
  readonly encodeUtf8?: boolean;
  readonly attributesMode?: "never" | "on_demand" | "always";
  /** No special `$` keys at all; attributes are dropped. */
  readonly plain?: boolean;
  readonly stringify?: boolean;
  readonly annotateWithTypes?: boolean;
  /** Longest string written, in bytes. */
  readonly stringLengthLimit?: number;
  readonly supportInfinity?: boolean;
  readonly stringifyNanAndInfinity?: boolean;
  readonly format?: "text" | "pretty";
  /** For row writers; a single document always keeps its nulls. */
  readonly skipNullValues?: boolean;
  readonly nestingLevelLimit?: number;
  /** Integers beyond ±(2^53 − 1) are written as `{"$type","$value"}` with a string, for browsers. */
  readonly webJson?: boolean;
  /** Non-ASCII characters as `\uXXXX`: the output is pure ASCII, as HTTP headers need it. */
  readonly escapeNonAscii?: boolean;
}

/** Brackets that may be open at once, whatever the options say: keeps the call stack bounded. */
const depthCeiling = 1024;

export function depthLimit(options: JsonOptions): number {
  return Math.min(options.nestingLevelLimit ?? limits.maxJsonDepth, depthCeiling);
}

/**
 * Options from the attributes of a format node; unknown attributes are ignored.
 *
 * @throws YtError 2800 for a value of a wrong type, or two options that exclude each other
 */
export function jsonOptionsFromAttributes(attributes: YsonMap): JsonOptions {
  const options = {
    ...booleanOption(attributes, "encode_utf8", "encodeUtf8"),
    ...choiceOption(attributes, "attributes_mode", "attributesMode", ["never", "on_demand", "always"]),
    ...booleanOption(attributes, "plain", "plain"),
    ...booleanOption(attributes, "stringify", "stringify"),
    ...booleanOption(attributes, "annotate_with_types", "annotateWithTypes"),
    ...integerOption(attributes, "string_length_limit", "stringLengthLimit"),
    ...booleanOption(attributes, "support_infinity", "supportInfinity"),
    ...booleanOption(attributes, "stringify_nan_and_infinity", "stringifyNanAndInfinity"),
    ...choiceOption(attributes, "format", "format", ["text", "pretty"]),
    ...booleanOption(attributes, "skip_null_values", "skipNullValues"),
    ...integerOption(attributes, "nesting_level_limit", "nestingLevelLimit"),
  };
  if (options.supportInfinity === true && options.stringifyNanAndInfinity === true) {
    throw new YtError(
      '"support_infinity" and "stringify_nan_and_infinity" cannot be specified simultaneously',
      {
        code: "InvalidFormat",
      },
    );
  }
  return options;
}

function booleanOption<K extends string>(
  attributes: YsonMap,
  name: string,
  field: K,
): Partial<Record<K, boolean>> {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return {};
  }
  if (value === true || value === "true") {
    return record(field, true);
  }
  if (value === false || value === "false") {
    return record(field, false);
  }
  throw badOption(name, "a boolean");
}

function integerOption<K extends string>(
  attributes: YsonMap,
  name: string,
  field: K,
): Partial<Record<K, number>> {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return {};
  }
  const integer = value instanceof Uint64 ? value.value : value;
  if (typeof integer !== "bigint" || integer < 0n || integer > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw badOption(name, "a non-negative integer");
  }
  return record(field, Number(integer));
}

function choiceOption<K extends string, V extends string>(
  attributes: YsonMap,
  name: string,
  field: K,
  choices: readonly V[],
): Partial<Record<K, V>> {
  const value = bare(attributes.get(name) ?? null);
  if (value === null) {
    return {};
  }
  const choice = choices.find((item) => item === value);
  if (choice === undefined) {
    throw badOption(name, `one of ${choices.map((item) => `"${item}"`).join(", ")}`);
  }
  return record(field, choice);
}

function record<K extends string, V>(field: K, value: V): Partial<Record<K, V>> {
  const result: Partial<Record<K, V>> = {};
  result[field] = value;
  return result;
}

function badOption(name: string, expected: string): YtError {
  return new YtError(`Invalid format attribute "${name}": expected ${expected}`, { code: "InvalidFormat" });
}
