/**
 * The formats of a request: from headers, MIME types and defaults, and the MIME type of a reply.
 * Specified in: yt/yt/server/http_proxy/{formats,context}.cpp; http-api §5.
 */
import { Attributed, emptyMap, mapOf, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, parseFormat, parseStructured, parseYson, writeStructured } from "@qyt/yson";
import type { DataType } from "../driver/command.ts";

const ysonBinary: YsonValue = new Attributed(mapOf({ format: "binary" }), "yson");
const ysonText: YsonValue = new Attributed(mapOf({ format: "text" }), "yson");
const ysonPretty: YsonValue = new Attributed(mapOf({ format: "pretty" }), "yson");

const formatsByMime: ReadonlyMap<string, YsonValue> = new Map<string, YsonValue>([
  ["application/json", "json"],
  ["application/x-yt-yson-binary", ysonBinary],
  ["application/x-yt-yson-text", ysonText],
  ["application/x-yt-yson-pretty", ysonPretty],
  ["application/x-yamr-delimited", yamr(false, false)],
  ["application/x-yamr-lenval", yamr(true, false)],
  ["application/x-yamr-subkey-delimited", yamr(false, true)],
  ["application/x-yamr-subkey-lenval", yamr(true, true)],
  ["text/csv", new Attributed(mapOf({ record_separator: ",", key_value_separator: ":" }), "dsv")],
  ["text/tab-separated-values", "dsv"],
  ["text/x-tskv", new Attributed(mapOf({ line_prefix: "tskv" }), "dsv")],
]);

function yamr(lenval: boolean, hasSubkey: boolean): YsonValue {
  return new Attributed(mapOf({ lenval, has_subkey: hasSubkey }), "yamr");
}

/** How `X-YT-Parameters` and its kin are written. Absent means JSON. */
export function parseHeaderFormat(text: string | undefined): DataFormat {
  if (text === undefined) {
    return { name: "json", attributes: emptyMap };
  }
  let format: DataFormat;
  try {
    format = parseFormat(parseYson(Buffer.from(text, "latin1")));
  } catch (error) {
    throw wrapParseError("Unable to parse X-YT-Header-Format header", error);
  }
  if (format.name !== "yson" && format.name !== "json") {
    throw new YtError(`Unsupported header format "${format.name}"`, { code: "InvalidFormat" });
  }
  return format;
}

/** A format named by a header such as `X-YT-Output-Format`, as a checked format node. */
export function parseFormatHeader(name: string, bytes: Buffer, headerFormat: DataFormat): YsonValue {
  try {
    const node = parseStructured(bytes, headerFormat);
    parseFormat(node);
    return node;
  } catch (error) {
    throw wrapParseError(`Unable to parse ${name} header`, error);
  }
}

/**
 * The format node for one direction: header, MIME type, default.
 * A body of parameters (`POST` on a command without input) is read in the input format too, so an input of
 * type `null` looks at its headers and falls back to YSON.
 */
export function chooseFormat(
  direction: "input" | "output",
  type: DataType,
  header: YsonValue | undefined,
  mime: string | undefined,
): YsonValue {
  if (type === "binary" || (type === "null" && direction === "output")) {
    return "yson";
  }
  return header ?? formatFromMime(mime) ?? defaultFormat(type);
}

function defaultFormat(type: DataType): YsonValue {
  switch (type) {
    case "structured":
      return "json";
    case "tabular":
      return ysonText;
    default:
      return "yson";
  }
}

/** The first type of a `Content-Type` or `Accept` header that stands for a format. */
function formatFromMime(header: string | undefined): YsonValue | undefined {
  if (header === undefined || header === "*/*") {
    return undefined;
  }
  for (const item of header.split(",")) {
    const [type = ""] = item.split(";", 1);
    const format = formatsByMime.get(type.trim().toLowerCase());
    if (format !== undefined) {
      return format;
    }
  }
  return undefined;
}

/** The MIME type of a format. */
export function mimeOf(format: DataFormat): string {
  switch (format.name) {
    case "json":
    case "web_json":
      return "application/json";
    case "yson":
      return `application/x-yt-yson-${ysonStyle(format)}`;
    case "dsv":
      if (format.attributes.get("record_separator") === ",") {
        return "text/csv";
      }
      return format.attributes.get("line_prefix") === "tskv" ? "text/x-tskv" : "text/tab-separated-values";
    case "schemaful_dsv":
    case "yamred_dsv":
      return "text/tab-separated-values";
    case "yamr":
      return `application/x-yamr-${format.attributes.get("has_subkey") === true ? "subkey-" : ""}${
        format.attributes.get("lenval") === true ? "lenval" : "delimited"
      }`;
    case "arrow":
      return "application/vnd.apache.arrow.stream";
    case "yaml":
      return "application/x-yaml";
    default:
      return "application/octet-stream";
  }
}

function ysonStyle(format: DataFormat): "binary" | "text" | "pretty" {
  const style = format.attributes.get("format");
  return style === "text" || style === "pretty" ? style : "binary";
}

/** A value in header format. YSON is text whatever its attributes say; nothing spans lines. */
export function writeForHeader(value: YsonValue, format: DataFormat): string {
  const attributes = new Map(format.attributes);
  attributes.set("format", "text");
  const text = writeStructured(value, { name: format.name, attributes }).toString("utf8");
  return escapeHeaderValue(text);
}

/**
 * Text that is safe in a header: control characters and what is not ASCII become `\u00NN`. Text YSON has none
 * of them; every JSON parser undoes the escapes; in plain messages they are at least readable.
 */
export function escapeHeaderValue(text: string): string {
  return /[^\x20-\x7e]/.test(text) ? text.replace(/[^\x20-\x7e]/g, escapeCharacter) : text;
}

function escapeCharacter(character: string): string {
  if (character === "\n") {
    return "\\n";
  }
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The thrown value as the inner error of `message`; the code of the inner error is kept on top. */
export function wrapParseError(message: string, thrown: unknown): YtError {
  if (!(thrown instanceof YtError)) {
    throw thrown;
  }
  return thrown.wrap(message);
}
