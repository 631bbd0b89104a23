/**
 * One request and its answer: parameters out as YSON, errors in from headers, body or trailers, and
 * retries with back-off of what may be sent again.
 *
 * Specified in: yt/yt/server/http_proxy (protocol), yt/python/yt/wrapper/http_helpers.py (which answers
 * are retried).
 */
import { mapOf, retriableCodes, sleep, toYtError, type YsonValue, type YtError } from "@qyt/base";
import { parseYson, writeYsonText } from "@qyt/yson";
import { requestChannels, tellRetry } from "./diagnostics.ts";
import { errorFromText, refusal, transportError } from "./failures.ts";
import type { ResolvedOptions } from "./options.ts";
import { heavyCommands, type ProxyChoice, pinnedChoice, proxyChoice } from "./proxies.ts";
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
  /** How long all attempts together may take, in milliseconds. */
  readonly totalTimeoutMs?: number;
  /** How often it is sent at most; default: what the retry policy says. */
  readonly attempts?: number;
  /** The mutation id to use, where the caller repeats the call itself; `isRepeat` says that it does. */
  readonly mutationId?: string;
  readonly isRepeat?: boolean;
}

/** The largest value that goes in a header; the server takes 1 MiB, others on the way often 64 KiB. */
const maxHeaderBytes = 48 * 1024;

export class Requester {
  readonly options: ResolvedOptions;
  readonly #proxies: ProxyChoice;

  constructor(options: ResolvedOptions, proxies: ProxyChoice = proxyChoice(options)) {
    this.options = options;
    this.#proxies = proxies;
  }

  /** Sends the call and hands the open answer over. @throws YtError for every refusal and failure */
  send(call: Call): Promise<TransportResponse> {
    return this.#repeat(call, (attempt) => this.#sendOnce(call, attempt));
  }

  /** Sends the call and reads the whole answer; an answer that breaks off is asked for again. */
  receive(call: Call): Promise<Buffer> {
    return this.#repeat(call, async (attempt) => readAll(await this.#sendOnce(call, attempt), call.command));
  }

  /** Sends the call and reads a structured answer; `undefined` for an empty body. */
  async receiveValue(call: Call): Promise<YsonValue | undefined> {
    const bytes = await this.receive({
      ...call,
      parameters: { ...call.parameters, output_format: "yson" },
    });
    return bytes.length === 0 ? undefined : parseYson(bytes);
  }

  /** The way to one proxy, for what only that one has: a tablet transaction lives where it was started. */
  pinned(): Requester {
    return new Requester(this.options, pinnedChoice(this.#proxies));
  }

  newMutationId(): string {
    const part = (): string => this.options.random.uint32().toString(16);
    return `${part()}-${part()}-${part()}-${part()}`;
  }

  async #repeat<T>(call: Call, run: (attempt: Attempt) => Promise<T>): Promise<T> {
    const { clock, random, requestTimeoutMs, retries } = this.options;
    const attempts = call.attempts ?? retries.attempts;
    const endMs = clock.monotonic() + (call.totalTimeoutMs ?? Number.POSITIVE_INFINITY);
    const mutationId = call.isVolatile ? (call.mutationId ?? this.newMutationId()) : undefined;
    for (let number = 1; ; number++) {
      const leftMs = Math.max(1, endMs - clock.monotonic());
      const timeoutMs = Math.min(call.timeoutMs ?? requestTimeoutMs, leftMs);
      const isRepeat = call.isRepeat === true || number > 1;
      try {
        return await this.#observed(call, { number, timeoutMs, mutationId, isRepeat, headers: [] }, run);
      } catch (thrown) {
        const error = toYtError(thrown);
        const ceilingMs = Math.min(retries.maxDelayMs, retries.minDelayMs * 2 ** (number - 1));
        const pauseMs = ceilingMs * (0.5 + random.next());
        if (number >= attempts || call.signal?.aborted === true || !mayRepeat(call, error)) {
          throw error;
        }
        if (clock.monotonic() + pauseMs >= endMs) {
          throw error;
        }
        tellRetry({ command: call.command, attempt: number, pauseMs, error });
        await sleep(clock, pauseMs, call.signal);
      }
    }
  }

  /** Runs an attempt and tells about it those who listen. */
  async #observed<T>(call: Call, attempt: Attempt, run: (attempt: Attempt) => Promise<T>): Promise<T> {
    if (!requestChannels.areObserved) {
      return run(attempt);
    }
    const { clock } = this.options;
    const { command } = call;
    const headers: [string, string][] = [];
    const told = { id: this.newMutationId(), command, attempt: attempt.number, headers };
    headers.push(["x-yt-correlation-id", told.id]);
    requestChannels.start(told);
    const startMs = clock.monotonic();
    try {
      const result = await run({ ...attempt, headers });
      requestChannels.end({ ...told, durationMs: clock.monotonic() - startMs, error: undefined });
      return result;
    } catch (thrown) {
      const error = toYtError(thrown);
      requestChannels.end({ ...told, durationMs: clock.monotonic() - startMs, error });
      throw error;
    }
  }

  async #sendOnce(call: Call, attempt: Attempt): Promise<TransportResponse> {
    const { mutationId } = attempt;
    const mutation = mutationId === undefined ? {} : { mutation_id: mutationId, retry: attempt.isRepeat };
    const parameters = writeYsonText(mapOf({ ...call.parameters, ...mutation }));
    const headers: (readonly [string, string])[] = [...this.options.headers, ...attempt.headers];
    let body = call.body;
    if (call.method === "POST" && body === undefined) {
      headers.push(["content-type", "application/x-yt-yson-text"]);
      body = Buffer.from(parameters, "latin1");
    } else {
      headers.push(...parameterHeaders(parameters));
    }
    const proxy = await this.#proxies.choose(heavyCommands.has(call.command));
    let response: TransportResponse;
    try {
      response = await this.options.transport.send({
        method: call.method,
        url: `${proxy}/api/v4/${call.command}`,
        headers,
        timeoutMs: attempt.timeoutMs,
        ...(body === undefined ? {} : { body }),
        ...(call.signal === undefined ? {} : { signal: call.signal }),
      });
    } catch (thrown) {
      if (call.signal?.aborted !== true) {
        this.#proxies.avoid(proxy);
      }
      throw transportError(thrown, call.command, { proxy, signal: call.signal });
    }
    if (response.status >= 200 && response.status < 300 && !response.headers.has("x-yt-error")) {
      return response;
    }
    const error = await refusal(response);
    if (error.has("ProxyBanned")) {
      this.#proxies.avoid(proxy);
    }
    throw error;
  }
}

/** One of the times that a call is sent. */
interface Attempt {
  readonly number: number;
  readonly timeoutMs: number;
  readonly mutationId: string | undefined;
  readonly isRepeat: boolean;
  /** Headers beside the usual ones. */
  readonly headers: readonly (readonly [string, string])[];
}

/** Parameters in one header, or, when they are too long for one, in several. */
function parameterHeaders(parameters: string): (readonly [string, string])[] {
  if (parameters.length <= maxHeaderBytes) {
    return [["x-yt-parameters", parameters]];
  }
  const headers: (readonly [string, string])[] = [];
  const encoded = Buffer.from(parameters, "latin1").toString("base64");
  for (let start = 0, part = 0; start < encoded.length; start += maxHeaderBytes, part++) {
    headers.push([`x-yt-parameters-${part}`, encoded.slice(start, start + maxHeaderBytes)]);
  }
  return headers;
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
    throw transportError(thrown, command);
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
