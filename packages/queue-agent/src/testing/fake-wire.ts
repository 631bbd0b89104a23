/** Requests and answers of the HTTP API, as far as the cluster in memory has to do with them. */
import { isMap, type YsonMap, type YsonValue } from "@qyt/base";
import type { TransportRequest, TransportResponse } from "@qyt/client";
import { parseYson } from "@qyt/yson";

/** The body of a request; the agent streams none. */
export function bodyOf({ body }: TransportRequest): Uint8Array | undefined {
  if (body === undefined || body instanceof Uint8Array) {
    return body;
  }
  throw new Error("a request has a stream as its body");
}

/** What the client sent. */
export function decodeRequest(request: TransportRequest): {
  readonly command: string;
  readonly parameters: YsonMap;
  readonly body: Uint8Array | undefined;
} {
  const command = request.url.slice(request.url.lastIndexOf("/") + 1);
  const header = request.headers.find(([name]) => name === "x-yt-parameters")?.[1];
  const source = header === undefined ? bodyOf(request) : Buffer.from(header, "latin1");
  const parameters = source === undefined ? new Map<string, YsonValue>() : parseYson(source);
  return {
    command,
    parameters: isMap(parameters) ? parameters : new Map(),
    body: header === undefined ? undefined : bodyOf(request),
  };
}

/** The answer of a proxy. */
export function answer(status: number, body: Uint8Array): TransportResponse {
  return {
    status,
    headers: new Map(),
    body: (async function* () {
      yield Buffer.from(body);
    })(),
    trailers: () => new Map(),
  };
}
