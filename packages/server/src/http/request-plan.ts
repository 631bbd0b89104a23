/**
 * What the headers of a command call say, before the command runs: formats and merged parameters.
 *
 * SDKs repeat the same header text again and again, so plans are kept by the exact text they came from.
 * Specified in: yt/yt/server/http_proxy/context.cpp; http-api §4, §5.
 */
import type { IncomingMessage } from "node:http";
import {
  Attributed,
  atOnce,
  attributesOf,
  bare,
  type Clock,
  inSlices,
  isMap,
  withAttributes,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { type DataFormat, parseFormat, parseStructured, parseStructuredInSlices } from "@qyt/yson";
import type { CommandDescriptor } from "../driver/command.ts";
import { chooseFormat, mimeOf, parseFormatHeader, parseHeaderFormat, wrapParseError } from "./formats.ts";
import { parseQueryString } from "./query-string.ts";
import { type GatheredHeader, gatherHeader, headerBytes, headerOf } from "./request-headers.ts";

/** Formats named by headers; they are known before the parameters are. */
export interface HeaderFormats {
  readonly headerFormat: DataFormat;
  readonly inputFormat: YsonValue;
  readonly outputFormat: YsonValue;
  readonly errorFormat: DataFormat | undefined;
}

/** The layers of parameters above the formats, merged: query string, headers. */
export interface RequestPlan extends HeaderFormats {
  readonly parameters: YsonMap;
  /** How the reply is written. */
  readonly reply: ReplyPlan;
}

/** What the final parameters mean for the reply. */
export interface ReplyPlan {
  readonly outputFormat: DataFormat;
  readonly contentType: string | undefined;
  readonly contentDisposition: string | undefined;
  readonly dumpErrorIntoResponse: boolean;
}

const maxCachedTextLength = 8 * 1024;
const maxCachedPlans = 1024;

/** Builds plans, remembering the recent ones. */
export class RequestPlanner {
  // Two generations: when the younger is full it becomes the older one. As good as an exact LRU here, and free.
  #young = new Map<string, RequestPlan>();
  #old = new Map<string, RequestPlan>();

  /** @throws YtError for headers and a query string that cannot be parsed */
  plan(
    message: IncomingMessage,
    descriptor: CommandDescriptor,
    commandKey: string,
    query: string,
  ): RequestPlan {
    const headers = readHeaders(message);
    const key = cacheKey(headers, commandKey, query);
    if (key === undefined) {
      return buildPlan(headers, descriptor, query);
    }
    const cached = this.#young.get(key) ?? this.#old.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const plan = buildPlan(headers, descriptor, query);
    if (this.#young.size >= maxCachedPlans) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(key, plan);
    return plan;
  }
}

interface PlanHeaders {
  readonly headerFormat: string | undefined;
  readonly parameters: GatheredHeader | undefined;
  readonly inputFormat: GatheredHeader | undefined;
  readonly outputFormat: GatheredHeader | undefined;
  readonly errorFormat: GatheredHeader | undefined;
  readonly contentType: string | undefined;
  readonly accept: string | undefined;
}

function readHeaders(message: IncomingMessage): PlanHeaders {
  return {
    headerFormat: headerOf(message, "x-yt-header-format"),
    parameters: gatherHeader(message, "x-yt-parameters"),
    inputFormat: gatherHeader(message, "x-yt-input-format"),
    outputFormat: gatherHeader(message, "x-yt-output-format"),
    errorFormat: gatherHeader(message, "x-yt-error-format"),
    contentType: headerOf(message, "content-type"),
    accept: headerOf(message, "accept"),
  };
}

/** A text equal for equal plans only; header values have no line breaks. */
function cacheKey(headers: PlanHeaders, commandKey: string, query: string): string | undefined {
  const key = `${commandKey}\n${query}\n${headers.headerFormat ?? "\t"}\n${keyOf(headers.parameters)}\n${keyOf(
    headers.inputFormat,
  )}\n${keyOf(headers.outputFormat)}\n${keyOf(headers.errorFormat)}\n${headers.contentType ?? "\t"}\n${
    headers.accept ?? "\t"
  }`;
  return key.length <= maxCachedTextLength ? key : undefined;
}

function keyOf(header: GatheredHeader | undefined): string {
  if (header === undefined) {
    return "\t";
  }
  return header.isBase64 ? `\tb${header.text}` : header.text;
}

function buildPlan(headers: PlanHeaders, descriptor: CommandDescriptor, query: string): RequestPlan {
  const formats = buildFormats(headers, descriptor);
  let parameters: YsonMap = new Map([
    ["input_format", formats.inputFormat],
    ["output_format", formats.outputFormat],
  ]);
  if (query !== "") {
    parameters = patchMap(parameters, parseQueryString(query));
  }
  if (headers.parameters !== undefined) {
    const bytes = headerBytes("X-YT-Parameters", headers.parameters);
    parameters = patchMap(parameters, parseParameters("X-YT-Parameters header", bytes, formats.headerFormat));
  }
  return { ...formats, parameters, reply: planReply(descriptor, parameters) };
}

/** Formats from headers alone. @throws YtError in the order of the original: header, input, output, error format */
function buildFormats(headers: PlanHeaders, descriptor: CommandDescriptor): HeaderFormats {
  const headerFormat = parseHeaderFormat(headers.headerFormat);
  const named = (name: string, header: GatheredHeader | undefined): YsonValue | undefined =>
    header === undefined ? undefined : parseFormatHeader(name, headerBytes(name, header), headerFormat);
  const input = named("X-YT-Input-Format", headers.inputFormat);
  const output = named("X-YT-Output-Format", headers.outputFormat);
  const error = named("X-YT-Error-Format", headers.errorFormat);
  return {
    headerFormat,
    inputFormat: chooseFormat("input", descriptor.inputType, input, headers.contentType),
    outputFormat: chooseFormat("output", descriptor.outputType, output, headers.accept),
    errorFormat: error === undefined ? undefined : parseFormat(error),
  };
}

/** The error format of a request whose plan could not be made; `undefined` when it is unreadable too. */
export function errorFormatOf(message: IncomingMessage): DataFormat | undefined {
  try {
    const header = gatherHeader(message, "x-yt-error-format");
    if (header === undefined) {
      return undefined;
    }
    const headerFormat = parseHeaderFormat(headerOf(message, "x-yt-header-format"));
    return parseFormat(parseStructured(headerBytes("X-YT-Error-Format", header), headerFormat));
  } catch {
    return undefined;
  }
}

/** The plan with the parameters of a `POST` body on top. @throws YtError for a body that is no map */
export async function withBodyParameters(
  plan: RequestPlan,
  descriptor: CommandDescriptor,
  body: Buffer,
  clock: Clock,
): Promise<RequestPlan> {
  const work = parametersInSlices("request body", body, parseFormat(plan.inputFormat));
  const layer = await inSlices(work, clock);
  const parameters = patchMap(plan.parameters, layer);
  return { ...plan, parameters, reply: planReply(descriptor, parameters) };
}

function parseParameters(what: string, bytes: Buffer, format: DataFormat): YsonMap {
  return atOnce(parametersInSlices(what, bytes, format));
}

function* parametersInSlices(
  what: string,
  bytes: Buffer,
  format: DataFormat,
): Generator<void, YsonMap, void> {
  let value: YsonValue;
  try {
    value = yield* parseStructuredInSlices(bytes, format);
  } catch (error) {
    throw wrapParseError(`Unable to parse parameters from ${what}`, error);
  }
  const map = bare(value);
  if (!isMap(map)) {
    throw new YtError(`Parameters in ${what} must be a map`);
  }
  return map;
}

/** Two maps merge key by key, attributes too; anything else replaces. */
function patch(base: YsonValue, over: YsonValue): YsonValue {
  const below = bare(base);
  const above = bare(over);
  if (!isMap(below) || !isMap(above)) {
    return over;
  }
  const merged = patchMap(below, above);
  if (!(base instanceof Attributed) && !(over instanceof Attributed)) {
    return merged;
  }
  return withAttributes(merged, new Map([...attributesOf(base), ...attributesOf(over)]));
}

function patchMap(base: YsonMap, over: YsonMap): YsonMap {
  const merged = new Map(base);
  for (const [key, value] of over) {
    const present = merged.get(key);
    merged.set(key, present === undefined ? value : patch(present, value));
  }
  return merged;
}

/** The formats of answers that are one value. */
const documentFormats: ReadonlySet<string> = new Set(["yson", "json", "web_json", "dsv"]);

function planReply(descriptor: CommandDescriptor, parameters: YsonMap): ReplyPlan {
  const outputFormat = parseFormat(parameters.get("output_format") ?? "yson");
  if (descriptor.outputType === "structured" && !documentFormats.has(outputFormat.name)) {
    // Said before the command has changed anything.
    throw new YtError(
      `Unsupported output format "${outputFormat.name}": documents are written as yson, json, web_json or dsv`,
    );
  }
  const disposition = dispositionOf(descriptor, parameters);
  const dump = parameters.get("dump_error_into_response");
  return {
    outputFormat,
    contentType: contentTypeOf(descriptor, outputFormat, disposition),
    contentDisposition: disposition,
    dumpErrorIntoResponse: dump === true || dump === "true" || dump === 1n,
  };
}

function contentTypeOf(
  descriptor: CommandDescriptor,
  format: DataFormat,
  disposition: string | undefined,
): string | undefined {
  switch (descriptor.outputType) {
    case "null":
      return undefined;
    case "binary":
      return disposition?.startsWith("inline") ? 'text/plain; charset="utf-8"' : "application/octet-stream";
    default:
      return mimeOf(format);
  }
}

const inlineCommands: ReadonlySet<string> = new Set(["get_job_stderr", "get_job_fail_context"]);
const commandsWithFileName: ReadonlySet<string> = new Set(["read_table", "read_file", "download"]);

/** Heavy commands offer their data as a file. */
function dispositionOf(descriptor: CommandDescriptor, parameters: YsonMap): string | undefined {
  if (!descriptor.isHeavy) {
    return undefined;
  }
  const disposition = inlineCommands.has(descriptor.name) ? "inline" : "attachment";
  const path = bare(parameters.get("path") ?? null);
  const passed = bare(parameters.get("filename") ?? null);
  const isNamedByPath = commandsWithFileName.has(descriptor.name) && typeof path === "string";
  const name = typeof passed === "string" ? passed : isNamedByPath ? `yt_${path}` : "";
  if (name === "") {
    return disposition;
  }
  return `${disposition}; filename="${name.slice(0, 1024).replace(/[^A-Za-z0-9.]/g, "_")}"`;
}
