/**
 * Calls between controllers and workers over HTTP: `POST /flow/<method>` with binary YSON both ways. An error comes
 * back as one, with status 400.
 */
import http from "node:http";
import { toYtError, type YsonValue, YtError } from "@qyt/base";
import { errorFromYson, errorToYson, parseYson, writeYson } from "@qyt/yson";
import type { Network } from "./protocol.ts";

const pathPrefix = "/flow/";
const defaultTimeoutMs = 30_000;
/** Of one body, in bytes: a batch of messages is smaller. */
const maxBodySize = 256 * 2 ** 20;

/** Answers the calls of others. */
export type CallHandler = (method: string, body: YsonValue) => Promise<YsonValue>;

export interface HttpEndpoint {
  /** `host:port`, as others are to call it. */
  readonly address: string;
  close(): Promise<void>;
}

/**
 * Listens for calls.
 * @param host under which others reach this process
 * @param port 0 takes a free one
 */
export async function listenForCalls(
  handler: CallHandler,
  host: string,
  port: number,
): Promise<HttpEndpoint> {
  const server = http.createServer((request, response) => {
    void answer(handler, request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const bound = server.address();
  const boundPort = bound !== null && typeof bound === "object" ? bound.port : port;
  return {
    address: `${host}:${boundPort}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answer(
  handler: CallHandler,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): Promise<void> {
  let status = 200;
  let body: Uint8Array;
  try {
    const url = request.url ?? "";
    if (request.method !== "POST" || !url.startsWith(pathPrefix)) {
      throw new YtError(`There is only POST ${pathPrefix}<method> here`);
    }
    const result = await handler(url.slice(pathPrefix.length), parseYson(await readBody(request)));
    body = writeYson(result, "binary");
  } catch (thrown) {
    status = 400;
    body = writeYson(errorToYson(toYtError(thrown)), "binary");
  }
  response.writeHead(status, { "content-type": "application/x-yt-yson-binary" });
  response.end(body);
}

async function readBody(stream: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    size += bytes.length;
    if (size > maxBodySize) {
      throw new YtError(`The body is larger than ${maxBodySize} bytes`);
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}

/** Connections are kept; a call that is not answered in time rejects with error 3, one that breaks off with 100. */
export class HttpNetwork implements Network {
  readonly #agent = new http.Agent({ keepAlive: true });

  async call(
    address: string,
    method: string,
    body: YsonValue,
    options: { signal?: AbortSignal; timeoutMs?: number } = {},
  ): Promise<YsonValue> {
    const { status, bytes } = await this.#post(address, method, writeYson(body, "binary"), options);
    const value = parseYson(bytes);
    if (status !== 200) {
      throw errorFromYson(value);
    }
    return value;
  }

  close(): void {
    this.#agent.destroy();
  }

  #post(
    address: string,
    method: string,
    body: Uint8Array,
    options: { signal?: AbortSignal; timeoutMs?: number },
  ): Promise<{ status: number; bytes: Buffer }> {
    const timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    const timeout = AbortSignal.timeout(timeoutMs);
    const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout]);
    return new Promise((resolve, reject) => {
      const fail = (thrown: unknown): void => {
        const error = timeout.aborted
          ? new YtError(`${address} has not answered "${method}" within ${timeoutMs} ms`, { code: "Timeout" })
          : new YtError(`Call of "${method}" at ${address} failed`, {
              code: "TransportError",
              inner: [toYtError(thrown)],
            });
        reject(error);
      };
      const request = http.request(
        `http://${address}${pathPrefix}${method}`,
        { method: "POST", agent: this.#agent, signal, headers: { "content-length": body.length } },
        (response) => {
          readBody(response).then((bytes) => resolve({ status: response.statusCode ?? 0, bytes }), fail);
        },
      );
      request.on("error", fail);
      request.end(body);
    });
  }
}
