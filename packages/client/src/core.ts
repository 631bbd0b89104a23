/**
 * One request and its answer: parameters out as YSON, errors in from headers, body or trailers, and
 * retries with back-off of what may be sent again.
 *
 * Specified in: yt/yt/server/http_proxy (protocol), yt/python/yt/wrapper/http_helpers.py (which answers
 * are retried).
 */
import { errorCodes, mapOf, retriableCodes, sleep, toYtError, type YsonValue, YtError } from "@qyt/base";
import { errorFromYson, parseJson, parseYson, writeYsonText } from "@qyt/yson";
import type { ResolvedOptions } from "./options.ts";
import type { TransportResponse } from "./transport.ts";

export interface Call {
  readonly command: string;
  /** The HTTP verb that the command's descriptor implies. */
  readonly method: "GET" | "POST" | "PUT";
  readonly parameters: Readonly<Record<string, YsonValue | undefined>>;
  /** A stream can be sent once only, so such a call is never repeated. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  /** A repeated send may do the work twice; such a call is retried only with a mutation id. */
  readonly isVolatile: boolean;
  /**
   * A repeated send does the work twice and no mutation id prevents it (`insert_rows` into a queue): sent
   * again only when it is certain that the server has not taken it.
   */
  readonly isUnsafeToRepeat?: boolean;
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
  /** How often it is sent at most; default: what the retry policy says. */
  readonly attempts?: number;
  /** The mutation id to use, where the caller repeats the call itself; `isRepeat` says that it does. */
  readonly mutationId?: string;
  readonly isRepeat?: boolean;
}

/** How much text of an undecodable error answer is quoted. */
const quotedBodyBytes = 512;

/** The largest value that goes in a header; the server takes 1 MiB, others on the way often 64 KiB. */
const maxHeaderBytes = 48 * 1024;

export class Requester {
  readonly options: ResolvedOptions;

  constructor(options: ResolvedOptions) {
    this.options = options;
  }

  /** Sends the call and hands the open answer over. @throws YtError for every refusal and failure */
  async send(call: Call): Promise<TransportResponse> {
    const { minDelayMs, maxDelayMs } = this.options.retries;
    const attempts = call.attempts ?? this.options.retries.attempts;
    const mutation = call.isVolatile ? { mutation_id: call.mutationId ?? this.newMutationId() } : {};
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#sendOnce(
          call,
          call.isVolatile ? { ...mutation, retry: call.isRepeat === true || attempt > 1 } : {},
        );
      } catch (thrown) {
        const error = toYtError(thrown);
        if (attempt >= attempts || call.signal?.aborted === true || !mayRepeat(call, error)) {
          throw error;
        }
        const ceiling = Math.min(maxDelayMs, minDelayMs * 2 ** (attempt - 1));
        await sleep(this.options.clock, ceiling * (0.5 + this.options.random.next()), call.signal);
      }
    }
  }

  /** Sends the call and reads the whole answer. */
  async receive(call: Call): Promise<Buffer> {
    return readAll(await this.send(call), call.command);
  }

  /** Sends the call and reads a structured answer; `undefined` for an empty body. */
  async receiveValue(call: Call): Promise<YsonValue | undefined> {
    const bytes = await this.receive({
      ...call,
      parameters: { ...call.parameters, output_format: "yson" },
    });
    return bytes.length === 0 ? undefined : parseYson(bytes);
  }

  async #sendOnce(call: Call, extra: Readonly<Record<string, YsonValue>>): Promise<TransportResponse> {
    const parameters = writeYsonText(mapOf({ ...call.parameters, ...extra }));
    const headers: (readonly [string, string])[] = [...this.options.headers];
    let body = call.body;
    if (call.method === "POST" && body === undefined) {
      headers.push(["content-type", "application/x-yt-yson-text"]);
      body = Buffer.from(parameters, "latin1");
    } else if (parameters.length <= maxHeaderBytes) {
      headers.push(["x-yt-parameters", parameters]);
    } else {
      const encoded = Buffer.from(parameters, "latin1").toString("base64");
      for (let start = 0, part = 0; start < encoded.length; start += maxHeaderBytes, part++) {
        headers.push([`x-yt-parameters-${part}`, encoded.slice(start, start + maxHeaderBytes)]);
      }
    }
    let response: TransportResponse;
    try {
      response = await this.options.transport.send({
        method: call.method,
        url: `${this.options.baseUrl}/api/v4/${call.command}`,
        headers,
        timeoutMs: call.timeoutMs ?? this.options.requestTimeoutMs,
        ...(body === undefined ? {} : { body }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
    } catch (thrown) {
      throw transportError(thrown, this.options.baseUrl, call.command);
    }
    if (response.status >= 200 && response.status < 300 && !response.headers.has("x-yt-error")) {
      return response;
    }
    throw await refusal(response, call.command);
  }

  /** The way to one proxy, for what only that one has: a tablet transaction lives where it was started. */
  pinned(): Requester {
    return this;
  }

  newMutationId(): string {
    const part = (): string => this.options.random.uint32().toString(16);
    return `${part()}-${part()}-${part()}-${part()}`;
  }
}

/** Reads a body to its end, then looks at the trailers: a late failure is reported there. */
export async function readAll(response: TransportResponse, command: string): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(response, command)) {
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks);
}

/** The body's chunks; throws the error of the trailers when the answer failed half way. */
export async function* readChunks(response: TransportResponse, command: string): AsyncIterable<Buffer> {
  try {
    yield* response.body;
  } catch (thrown) {
    throw transportError(thrown, undefined, command);
  }
  const late = response.trailers().get("x-yt-error");
  if (late !== undefined) {
    throw errorFromText(Buffer.from(late, "latin1"));
  }
}

export function isRetriable(error: YtError): boolean {
  for (const code of retriableCodes) {
    if (error.has(code)) {
      return true;
    }
  }
  return false;
}

/** Refusals at the door, and connections that were never made. */
const notTakenCodes = [
  "RequestQueueSizeLimitExceeded",
  "SecurityRequestQueueSizeLimitExceeded",
  "ProxyBanned",
] as const;

function mayRepeat({ body, isUnsafeToRepeat }: Call, error: YtError): boolean {
  if (body !== undefined && !(body instanceof Uint8Array)) {
    return false;
  }
  return isUnsafeToRepeat === true ? wasNotTaken(error) : isRetriable(error);
}

/** Whether the request certainly had no effect. */
export function wasNotTaken(error: YtError): boolean {
  return notTakenCodes.some((code) => error.has(code)) || error.attributes.get("never_sent") === true;
}

async function refusal(response: TransportResponse, command: string): Promise<YtError> {
  const header = response.headers.get("x-yt-error");
  let body: Buffer;
  try {
    body = await readAll(response, command);
  } catch {
    body = Buffer.alloc(0);
  }
  for (const source of [body, header === undefined ? undefined : Buffer.from(header, "latin1")]) {
    if (source !== undefined && source.length > 0) {
      try {
        return errorFromText(source);
      } catch {
        // The next source may be readable.
      }
    }
  }
  return new YtError(`The proxy answered HTTP ${response.status} without an error document`, {
    code: response.status === 503 || response.status === 500 ? errorCodes.Unavailable : errorCodes.Generic,
    attributes: { http_status: BigInt(response.status), body: body.toString("latin1", 0, quotedBodyBytes) },
  });
}

function errorFromText(bytes: Uint8Array): YtError {
  return errorFromYson(parseJson(bytes));
}

function transportError(thrown: unknown, proxy: string | undefined, command: string): YtError {
  if (thrown instanceof YtError) {
    return thrown;
  }
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  const aborted = cause.name === "AbortError";
  return new YtError(
    aborted
      ? `Request "${command}" was canceled`
      : `Cannot reach the proxy${proxy === undefined ? "" : ` ${proxy}`}: ${cause.message || cause.name}; ${adviceOn(cause)}`,
    {
      code: aborted ? errorCodes.Canceled : errorCodes.TransportError,
      cause: thrown,
      attributes: wasRefusedAtConnect(cause) ? { never_sent: true } : {},
    },
  );
}

function adviceOn(cause: Error): string {
  return isCertificateRefused(cause)
    ? "check that the address is one that its certificate names, and give the certificate of its authority with the option ca"
    : "check that it runs and that the address is right";
}

/** The connection was not made, so nothing was sent over it. */
function wasRefusedAtConnect(cause: Error): boolean {
  return (
    ("code" in cause && (cause.code === "ECONNREFUSED" || cause.code === "UND_ERR_CONNECT_TIMEOUT")) ||
    isCertificateRefused(cause)
  );
}

/** Codes of OpenSSL's verification, and of Node's for the name in the certificate. */
function isCertificateRefused(cause: Error): boolean {
  return (
    "code" in cause &&
    typeof cause.code === "string" &&
    /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_(GET|VERIFY)_)/.test(
      cause.code,
    )
  );
}
