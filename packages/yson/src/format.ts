/**
 * Data formats as clients name them, and documents in the formats that serve whole documents.
 * Row formats are elsewhere. Specified in: yt/yt/client/formats/config.*, yt/yt/library/formats/format.cpp.
 */
import { attributesOf, bare, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type JsonOptions, jsonOptionsFromAttributes } from "./json-options.ts";
import { parseJson } from "./json-parser.ts";
import { writeJson } from "./json-writer.ts";
import { parseYson } from "./parser.ts";
import type { YsonParseOptions } from "./scanner.ts";
import { writeYson, type YsonFormat } from "./writer.ts";

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
      throw new YtError(`Unsupported output format "${format.name}"`);
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
    case "web_json": {
      const json = jsonOptionsOf(format);
      const depth = options?.maxDepth;
      return parseJson(bytes, depth === undefined ? json : { nestingLevelLimit: depth, ...json });
    }
    default:
      throw new YtError(`Unsupported input format "${format.name}"`);
  }
}
