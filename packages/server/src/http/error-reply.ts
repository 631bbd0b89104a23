/**
 * Error replies: headers and body, and trailers for what fails after the first byte.
 * Specified in: yt/yt/core/http/helpers.cpp (FillYTErrorHeaders); http-api §9.
 */
import { bare, emptyMap, toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { type DataFormat, errorToYson, writeStructured } from "@qyt/yson";
import type { Exchange } from "./exchange.ts";
import { escapeHeaderValue, mimeOf, writeForHeader } from "./formats.ts";
import { HttpError } from "./http-error.ts";

/** Clients have limits for headers, Node's is 16 KiB for all of them. */
const maxErrorHeaderLength = 6 * 1024;
const maxMessageHeaderLength = 1024;
const maxInnerErrorDepth = 16;

const jsonFormat: DataFormat = { name: "json", attributes: emptyMap };

const authenticationCodes: ReadonlySet<number> = new Set([110, 111, 900]);
const bannedCodes: ReadonlySet<number> = new Set([901, 903]);

/** Sorts what was thrown by a command or on the way to it. What is no `YtError` is a bug: 500. */
export function toHttpError(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) {
    return thrown;
  }
  const error = toYtError(thrown);
  return new HttpError(thrown instanceof YtError ? 400 : 500, error);
}

/** Sorts what was thrown by authentication: bad credentials, not allowed, authentication is out of order. */
export function toAuthenticationError(thrown: unknown): HttpError {
  if (thrown instanceof HttpError) {
    return thrown;
  }
  const error = toYtError(thrown);
  const status = authenticationCodes.has(error.code) ? 401 : bannedCodes.has(error.code) ? 403 : 503;
  return new HttpError(status, error, status === 503 ? 60 : undefined);
}

/** The error as the client sees it: with the path it was about, and where and when it came up. */
export function enrichError(error: YtError, exchange: Exchange, parameters: YsonMap | undefined): YtError {
  const path = bare(parameters?.get("path") ?? null);
  return error.withAttributes({
    ...(typeof path === "string" ? { path } : {}),
    host: exchange.headers["X-YT-Proxy"] ?? "",
    datetime: new Date(exchange.context.clock.now()).toISOString(),
  });
}

/** Replies with an error. Nothing of the reply may have been sent. */
export function replyError(
  exchange: Exchange,
  failure: HttpError,
  options: { parameters?: YsonMap | undefined; errorFormat?: DataFormat | undefined } = {},
): void {
  if (failure.status === 500) {
    exchange.context.logger.error(
      { requestId: exchange.requestId, command: exchange.command, err: failure.error.cause ?? failure.error },
      "request failed by a defect",
    );
  }
  const error = enrichError(failure.error, exchange, options.parameters);
  exchange.error = error;
  if (exchange.isClosed) {
    return;
  }
  const format = options.errorFormat ?? jsonFormat;
  const { headers } = exchange;
  for (const name of ["Content-Encoding", "Vary", "Trailer", "X-YT-Framing", "Content-Disposition"]) {
    delete headers[name];
  }
  const body = writeStructured(errorToYson(shallow(error, maxInnerErrorDepth)), format);
  Object.assign(headers, errorHeaders(error, format, body.length));
  headers["Content-Type"] = mimeOf(format);
  if (failure.retryAfter !== undefined) {
    headers["Retry-After"] = String(failure.retryAfter);
  }
  exchange.reply(failure.status, body);
}

/** The four fields of an error, as headers or trailers. `bodyBytes`: its length in full, if known. */
export function errorHeaders(
  error: YtError,
  format: DataFormat = jsonFormat,
  bodyBytes = 0,
): Record<string, string> {
  return {
    "X-YT-Error": writeErrorHeader(error, format, bodyBytes),
    "X-YT-Error-Content-Type": mimeOf(format),
    "X-YT-Response-Code": String(error.code),
    "X-YT-Response-Message": escapeHeaderValue(error.message.slice(0, maxMessageHeaderLength)),
  };
}

/** The error pretty-printed between two lines of `=`, for clients that cannot see trailers. */
export function errorForBody(error: YtError): Buffer {
  const delimiter = `\n${"=".repeat(80)}\n`;
  const attributes = new Map<string, YsonValue>([["format", "pretty"]]);
  return Buffer.concat([
    Buffer.from(delimiter),
    writeStructured(errorToYson(shallow(error, maxInnerErrorDepth)), { name: "json", attributes }),
    Buffer.from(delimiter),
  ]);
}

function writeErrorHeader(error: YtError, format: DataFormat, bodyBytes: number): string {
  const whole = shallow(error, maxInnerErrorDepth);
  let text = "";
  for (const shorten of bodyBytes > maxErrorHeaderLength ? reductions.slice(1) : reductions) {
    text = writeForHeader(errorToYson(shorten(whole)), format);
    if (text.length <= maxErrorHeaderLength) {
      break;
    }
  }
  return text;
}

/** Ever shorter forms of an error; the last one fits always. */
const reductions: readonly ((error: YtError) => YtError)[] = [
  (error) => error,
  (error) => mapError(error, (level) => ({ attributes: shortAttributes(level.attributes) })),
  (error) =>
    mapError(error, (level) => ({
      attributes: level === error ? shortAttributes(level.attributes) : emptyMap,
    })),
  (error) => mapError(shallow(error, 3), () => ({ attributes: emptyMap, message: 256, inner: 4 })),
  (error) => mapError(error, () => ({ attributes: emptyMap, message: 256, inner: 0 })),
];

function shortAttributes(attributes: YsonMap): YsonMap {
  const short = new Map<string, YsonValue>();
  for (const [key, value] of attributes) {
    const isScalar = value === null || typeof value !== "object";
    if (
      isScalar &&
      (typeof value !== "string" || value.length <= 256) &&
      key.length <= 64 &&
      short.size < 16
    ) {
      short.set(key, value);
    }
  }
  return short;
}

function mapError(
  error: YtError,
  limitsOf: (level: YtError) => { attributes: YsonMap; message?: number; inner?: number },
): YtError {
  const { attributes, message, inner } = limitsOf(error);
  return new YtError(error.message.slice(0, message ?? 1024), {
    code: error.code,
    attributes,
    inner: error.innerErrors.slice(0, inner ?? 16).map((child) => mapError(child, limitsOf)),
  });
}

/** At most `depth` levels of inner errors. */
function shallow(error: YtError, depth: number): YtError {
  if (!isDeeperThan(error, depth)) {
    return error;
  }
  return new YtError(error.message, {
    code: error.code,
    attributes: error.attributes,
    inner: depth === 0 ? [] : error.innerErrors.map((child) => shallow(child, depth - 1)),
  });
}

function isDeeperThan(error: YtError, depth: number): boolean {
  return (
    error.innerErrors.length > 0 &&
    (depth === 0 || error.innerErrors.some((child) => isDeeperThan(child, depth - 1)))
  );
}
