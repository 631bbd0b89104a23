/**
 * Functions over strings, and between strings and numbers.
 *
 * Specified in: yt/yt/library/query/base/builtin_function_registry.cpp; yt/yt/library/query/engine/udf.
 */
import { YtError } from "@qyt/base";
import { bytesToString, stringToBytes } from "@qyt/yson";
import { compileRegex, escapeRegex, type Regex } from "../regex.ts";
import { numericTypes } from "../types.ts";
import { asBytes, asText } from "../values.ts";
import { type FunctionBody, type FunctionDefinition, signature } from "./signature.ts";

const maxInt64 = (1n << 63n) - 1n;
const maxUint64 = (1n << 64n) - 1n;

export const stringFunctions: Readonly<Record<string, FunctionDefinition>> = {
  length: {
    signature: signature(["string"], "int64"),
    prepare: () => (values) => BigInt(asBytes(values[0]).length),
  },
  lower: {
    signature: signature(["string"], "string"),
    prepare: () => (values) => mapAscii(asBytes(values[0]), 0x41, 0x5a, 0x20),
  },
  upper: {
    signature: signature(["string"], "string"),
    prepare: () => (values) => mapAscii(asBytes(values[0]), 0x61, 0x7a, -0x20),
  },
  concat: {
    signature: signature(["string", "string"], "string"),
    prepare: () => (values) => Buffer.concat([asBytes(values[0]), asBytes(values[1])]),
  },
  is_prefix: {
    signature: signature(["string", "string"], "boolean"),
    prepare: () => (values) => {
      const prefix = asBytes(values[0]);
      const text = asBytes(values[1]);
      return prefix.length <= text.length && Buffer.compare(prefix, text.subarray(0, prefix.length)) === 0;
    },
  },
  is_substr: {
    signature: signature(["string", "string"], "boolean"),
    prepare: () => (values) => toBuffer(asBytes(values[1])).includes(toBuffer(asBytes(values[0]))),
  },
  numeric_to_string: {
    signature: signature([numericTypes], "string"),
    prepare: () => (values) => Buffer.from(String(values[0]), "latin1"),
  },
  parse_int64: {
    signature: signature(["string"], "int64"),
    prepare: () => (values) => parseInteger(asText(values[0]), -maxInt64 - 1n, maxInt64, "int64"),
  },
  parse_uint64: {
    signature: signature(["string"], "uint64"),
    prepare: () => (values) => parseInteger(asText(values[0]), 0n, maxUint64, "uint64"),
  },
  parse_double: {
    signature: signature(["string"], "double"),
    prepare: () => (values) => parseDouble(asText(values[0])),
  },
  regex_full_match: {
    signature: signature(["string", "string"], "boolean"),
    prepare: () => regexBody((regex, values) => regex.matchesWhole(asText(values[1]))),
  },
  regex_partial_match: {
    signature: signature(["string", "string"], "boolean"),
    prepare: () => regexBody((regex, values) => regex.matchesPart(asText(values[1]))),
  },
  regex_replace_first: {
    signature: signature(["string", "string", "string"], "string"),
    prepare: () =>
      regexBody((regex, values) => toBytes(regex.replace(asText(values[1]), asText(values[2]), false))),
  },
  regex_replace_all: {
    signature: signature(["string", "string", "string"], "string"),
    prepare: () =>
      regexBody((regex, values) => toBytes(regex.replace(asText(values[1]), asText(values[2]), true))),
  },
  regex_extract: {
    signature: signature(["string", "string", "string"], "string"),
    prepare: () => regexBody((regex, values) => toBytes(regex.extract(asText(values[1]), asText(values[2])))),
  },
  regex_escape: {
    signature: signature(["string"], "string"),
    prepare: () => (values) => toBytes(escapeRegex(asText(values[0]))),
  },
};

function toBytes(text: string): Uint8Array {
  return stringToBytes(text);
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** Shifts the bytes of a range, which is how upstream changes case: ASCII only. */
function mapAscii(bytes: Uint8Array, from: number, to: number, shift: number): Uint8Array {
  return bytes.map((byte) => (byte >= from && byte <= to ? byte + shift : byte));
}

function parseInteger(text: string, minimum: bigint, maximum: bigint, type: string): bigint {
  // Longer than any 64-bit number with leading zeros: not even converted.
  const valid = /^[+-]?[0-9]+$/.test(text) && text.length <= 64;
  const value = valid ? BigInt(text.startsWith("+") ? text.slice(1) : text) : undefined;
  if (value === undefined || value < minimum || value > maximum) {
    throw parseFailure(text, type);
  }
  return value;
}

function parseDouble(text: string): number {
  if (/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/.test(text)) {
    return Number(text);
  }
  const special = /^([+-]?)(inf|nan)$/i.exec(text);
  if (special === null) {
    throw parseFailure(text, "double");
  }
  return special[2]?.toLowerCase() === "nan" ? Number.NaN : special[1] === "-" ? -Infinity : Infinity;
}

function parseFailure(text: string, type: string): YtError {
  const value = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new YtError(`Cannot parse ${type} value from string "${value}"`);
}

/** A body that compiles its first argument once for as long as it stays the same. */
function regexBody(
  apply: (regex: Regex, values: Parameters<FunctionBody>[0]) => ReturnType<FunctionBody>,
): FunctionBody {
  let pattern: string | undefined;
  let compiled: Regex | undefined;
  return (values) => {
    const text = bytesToString(asBytes(values[0]));
    if (compiled === undefined || text !== pattern) {
      compiled = compileRegex(text);
      pattern = text;
    }
    return apply(compiled, values);
  };
}
