/**
 * Data formats as clients name them, and documents in the formats that serve whole documents.
 * Row formats are elsewhere. Specified in: yt/yt/client/formats/config.*, yt/yt/library/formats/format.cpp.
 */
import { Attributed, attributesOf, bare, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type JsonOptions, jsonOptionsFromAttributes } from "./json-options.ts";
import { parseJson, parseJsonInSlices } from "./json-parser.ts";
import { writeJson, writeJsonInSlices } from "./json-writer.ts";
import { parseYson } from "./parser.ts";
import type { YsonParseOptions } from "./scanner.ts";
import { parseYsonInSlices } from "./sliced-parser.ts";
import { writeYson, writeYsonInSlices, type YsonFormat } from "./writer.ts";

const formatNames = [
  "yson",
  "json",
  "web_json",
  "dsv",
  "schemaful_dsv",
  "yamr",
  "yamred_dsv",
  "skiff",
  "protobuf",
  "arrow",
  "yaml",
  "blob",
  "null",
] as const;

export type DataFormatName = (typeof formatNames)[number];

export interface DataFormat {
  readonly name: DataFormatName;
  readonly attributes: YsonMap;
}

/** A format node: a name with attributes. @throws YtError 2800 when it is no string or no known name */
export function parseFormat(value: YsonValue): DataFormat {
  const text = bare(value);
  if (typeof text !== "string") {
    throw new YtError("Invalid format name: a string is expected", { code: "InvalidFormat" });
  }
  const name = formatNames.find((known) => known === text);
  if (name === undefined) {
    throw new YtError(`Invalid format name "${text}"`, { code: "InvalidFormat" });
  }
  return { name, attributes: attributesOf(value) };
}

/** The form of a `yson` format, binary unless given. @throws YtError 2800 */
export function ysonFormatOf(format: DataFormat): YsonFormat {
  const form = bare(format.attributes.get("format") ?? "binary");
  if (form === "binary" || form === "text" || form === "pretty") {
    return form;
  }
  throw new YtError('Invalid format attribute "format": expected one of "binary", "text", "pretty"', {
    code: "InvalidFormat",
  });
}

/** The options of a `json` or `web_json` format. @throws YtError 2800 */
export function jsonOptionsOf(format: DataFormat): JsonOptions {
  const options = jsonOptionsFromAttributes(format.attributes);
  return format.name === "web_json" ? { encodeUtf8: false, ...options, webJson: true } : options;
}

/** A document in `yson`, `json` or `web_json`. @throws YtError code 1 for another format; 2800; what the writers throw */
export function writeStructured(value: YsonValue, format: DataFormat): Buffer {
  switch (format.name) {
    case "yson":
      return writeYson(value, ysonFormatOf(format));
    case "json":
    case "web_json":
      return writeJson(value, jsonOptionsOf(format));
    default:
      throw new YtError(
        `Unsupported output format "${format.name}": documents are written as yson, json or web_json`,
      );
  }
}

/** Reads a document in `yson`, `json` or `web_json`. @throws YtError as `writeStructured`, and what the parsers throw */
export function parseStructured(
  bytes: Uint8Array,
  format: DataFormat,
  options?: YsonParseOptions,
): YsonValue {
  switch (format.name) {
    case "yson":
      return parseYson(bytes, options);
    case "json":
    case "web_json":
      return parseJson(bytes, jsonParseOptions(format, options));
    default:
      throw new YtError(
        `Unsupported input format "${format.name}": documents are read as yson, json or web_json`,
      );
  }
}

/**
 * Whether a document is so large that it is written in slices: it has more than about a thousand nodes, or long
 * strings. Costs a look at those only.
 */
export function isLargeValue(value: YsonValue): boolean {
  return weigh(value, largeWeight) > largeWeight;
}

/** One for a node, and one more for each so many characters of a string. */
const charactersPerWeight = 32;
const largeWeight = 1_000;
/** Documents from this length on are read in slices. */
const largeDocumentBytes = 32 * 1024;

function weigh(value: YsonValue, limit: number): number {
  if (typeof value === "string") {
    return 1 + value.length / charactersPerWeight;
  }
  if (typeof value !== "object" || value === null || value instanceof Uint64) {
    return 1;
  }
  if (value instanceof Attributed) {
    const weight = weigh(value.attributes, limit);
    return weight > limit ? weight : weight + weigh(value.value, limit - weight);
  }
  let weight = 1;
  for (const item of value.values()) {
    weight += weigh(item, limit - weight);
    if (weight > limit) {
      break;
    }
  }
  return weight;
}

/** `writeStructured` in slices. */
export function writeStructuredInSlices(value: YsonValue, format: DataFormat): Generator<void, Buffer, void> {
  switch (format.name) {
    case "yson":
      return writeYsonInSlices(value, ysonFormatOf(format));
    case "json":
    case "web_json":
      return writeJsonInSlices(value, jsonOptionsOf(format));
    default:
      return asSlice(() => writeStructured(value, format));
  }
}

/** `parseStructured` in slices; small documents are one slice. */
export function parseStructuredInSlices(
  bytes: Uint8Array,
  format: DataFormat,
  options?: YsonParseOptions,
): Generator<void, YsonValue, void> {
  if (bytes.length >= largeDocumentBytes) {
    if (format.name === "yson") {
      return parseYsonInSlices(bytes, options);
    }
    if (format.name === "json" || format.name === "web_json") {
      return parseJsonInSlices(bytes, jsonParseOptions(format, options));
    }
  }
  return asSlice(() => parseStructured(bytes, format, options));
}

function jsonParseOptions(format: DataFormat, options: YsonParseOptions | undefined): JsonOptions {
  const json = jsonOptionsOf(format);
  const depth = options?.maxDepth;
  return depth === undefined ? json : { nestingLevelLimit: depth, ...json };
}

// biome-ignore lint/correctness/useYield: the work is one slice
function* asSlice<T>(work: () => T): Generator<void, T, void> {
  return work();
}
