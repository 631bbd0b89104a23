/**
 * The client's door to the network over `node:http`: loading undici takes longer than a whole command may.
 * Bodies that are streams are sent as they come, with back-pressure.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { pipeline, Readable } from "node:stream";
import type { Transport, TransportRequest, TransportResponse } from "@qyt/client";

type Agents = { readonly http: HttpAgent; https?: typeof import("node:https"); httpsAgent?: HttpAgent };

/** @param ca PEM of the authorities to trust for https; default: those that Node trusts */
export function nodeTransport(ca: string | undefined): Transport {
  const agents: Agents = { http: new HttpAgent({ keepAlive: true }) };
  return {
    async send(request) {
      if (request.url.startsWith("https:")) {
        agents.https ??= await import("node:https");
        agents.httpsAgent ??= new agents.https.Agent({
          keepAlive: true,
          ...(ca === undefined ? {} : { ca }),
        });
      }
      return send(request, agents);
    },
    async close() {
      agents.http.destroy();
      agents.httpsAgent?.destroy();
    },
  };
}

async function send(request: TransportRequest, agents: Agents): Promise<TransportResponse> {
  const { body } = request;
  const isStream = body !== undefined && !(body instanceof Uint8Array);
  const headers = Object.fromEntries(request.headers);
  if (!isStream && request.method !== "GET") {
    headers["content-length"] = String(body?.length ?? 0);
  }
  const options: RequestOptions = {
    method: request.method,
    headers,
    agent: agents.httpsAgent ?? agents.http,
    // While a stream is being sent, only its source knows how long it may take.
    ...(isStream ? {} : { timeout: request.timeoutMs }),
    ...(request.signal === undefined ? {} : { signal: request.signal }),
  };
  const sent = (agents.https?.request ?? httpRequest)(request.url, options);
  sent.on("timeout", () => sent.destroy(new Error(`no answer within ${request.timeoutMs} ms`)));
  const answered = answerOf(sent);
  if (isStream) {
    pipeline(Readable.from(body), sent, () => undefined);
  } else {
    sent.end(body);
  }
  const response = await answered;
  return {
    status: response.statusCode ?? 0,
    headers: toMap(response.headers),
    body: response,
    trailers: () => toMap(response.trailers),
  };
}

/** A server that refuses answers before it has read everything: a broken pipe after that is no failure. */
function answerOf(sent: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sent.once("response", resolve);
    sent.on("error", reject);
  });
}

function toMap(headers: NodeJS.Dict<string | string[]>): ReadonlyMap<string, string> {
  const map = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) {
      map.set(name.toLowerCase(), Array.isArray(value) ? value.join(", ") : value);
    }
  }
  return map;
}
