/**
 * The client's door to the network: one port, so that tests can run in process or over a lossy line.
 */
import { Readable } from "node:stream";
import type { Agent } from "undici";

export interface TransportRequest {
  readonly method: "GET" | "POST" | "PUT";
  readonly url: string;
  readonly headers: readonly (readonly [string, string])[];
  /** Bytes, or a stream of them, which is read as fast as the server takes it. */
  readonly body?: Uint8Array | AsyncIterable<Uint8Array>;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface TransportResponse {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: AsyncIterable<Buffer>;
  /** Complete once the body has been read to its end. */
  trailers(): ReadonlyMap<string, string>;
}

export interface Transport {
  send(request: TransportRequest): Promise<TransportResponse>;
  close(): Promise<void>;
}

/** The real one, with connections kept alive and at most `connections` of them to a host. */
export function undiciTransport(
  options: {
    readonly connections?: number;
    /** How long a connection may take to come about, in milliseconds. Default: 10,000. */
    readonly connectTimeoutMs?: number;
    /** PEM of the certificate authorities to trust for https. Default: those that Node trusts. */
    readonly ca?: string;
  } = {},
): Transport {
  // Loaded with the first request: undici is most of what importing this package would cost.
  let loaded: Promise<Undici> | undefined;
  return {
    async send(request) {
      loaded ??= loadUndici(options);
      const { agent, undiciRequest } = await loaded;
      const sent = undiciRequest(request.url, {
        dispatcher: agent,
        method: request.method,
        headers: request.headers.flat(),
        body: streamOf(request.body),
        headersTimeout: request.timeoutMs,
        bodyTimeout: request.timeoutMs,
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      const response = await unlessAborted(sent, request.signal);
      return {
        status: response.statusCode,
        headers: toMap(response.headers),
        body: response.body,
        trailers: () => toMap(response.trailers),
      };
    },
    close: async () => (await loaded)?.agent.close(),
  };
}

interface Undici {
  readonly agent: Agent;
  readonly undiciRequest: typeof import("undici").request;
}

async function loadUndici(options: NonNullable<Parameters<typeof undiciTransport>[0]>): Promise<Undici> {
  const undici = await import("undici");
  const agent = new undici.Agent({
    connections: options.connections ?? 64,
    connect: {
      timeout: options.connectTimeoutMs ?? 10_000,
      ...(options.ca === undefined ? {} : { ca: options.ca }),
    },
    keepAliveTimeout: 30_000,
    pipelining: 1,
  });
  return { agent, undiciRequest: undici.request };
}

function streamOf(body: TransportRequest["body"]): Uint8Array | Readable | null {
  return body === undefined || body instanceof Uint8Array ? (body ?? null) : Readable.from(body);
}

/** undici looks at the signal of a request that waits for a connection only when that has come about. */
function unlessAborted<T>(sent: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) {
    return sent;
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    void sent.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function toMap(headers: Record<string, string | string[] | undefined>): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) {
      map.set(name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value);
    }
  }
  return map;
}
