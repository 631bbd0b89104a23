/**
 * The HTTP server of one agent: `POST /orchid` answers questions about its tree, `GET /metrics` gives the
 * metrics, `GET /healthz` says that the process lives.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { bare, isMap, mapOf, toYtError, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { errorToYson, parseYson, writeYson } from "@qyt/yson";
import { askOrchid, type OrchidMethod, type OrchidNode, orchidSteps } from "./orchid-node.ts";

export interface AgentServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly orchid: OrchidNode;
  /** Absent: 404. */
  readonly metrics?: MetricsSource;
}

interface MetricsSource {
  readonly contentType: string;
  /** Gives away the text piece by piece, each when the one before has been taken. */
  write(sink: (piece: Buffer) => Promise<void>): Promise<void>;
}

export interface AgentServer {
  /** `host:port`. */
  readonly address: string;
  /** Ends connections that do nothing, and lets answers under way go out. */
  close(): Promise<void>;
}

/** A question is a method and a path of at most 64 KiB. */
const maxQuestionBytes = 128 * 1024;
const maxQuestionDepth = 4;
const requestTimeoutMs = 30_000;
const maxHeaderBytes = 16 * 1024;
const maxConnections = 1_024;
const yson = "application/x-yt-yson-text";

/** @throws Error of the system when the address is not free */
export async function startAgentServer(options: AgentServerOptions): Promise<AgentServer> {
  const server = createServer(
    { maxHeaderSize: maxHeaderBytes, requestTimeout: requestTimeoutMs, keepAliveTimeout: 75_000 },
    (request, response) => {
      serve(options, request, response).catch((thrown: unknown) => {
        // What is left is a client that went away, or an answer half sent.
        response.destroy(thrown instanceof Error ? thrown : undefined);
      });
    },
  );
  server.maxConnections = maxConnections;
  await listen(server, options.host, options.port);
  const bound = server.address();
  const port = bound === null || typeof bound === "string" ? options.port : bound.port;
  return {
    address: `${options.host.includes(":") ? `[${options.host}]` : options.host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

async function serve(
  options: AgentServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = (request.url ?? "/").split("?")[0];
  const isReading = request.method === "GET" || request.method === "HEAD";
  if (path === "/orchid") {
    return request.method === "POST"
      ? answerQuestion(options.orchid, request, response)
      : refuse(response, 405, 'Ask by POST with a body {method=get; path="/..."}', { allow: "POST" });
  }
  if (path === "/healthz" && isReading) {
    return send(response, 200, "text/plain; charset=utf-8", "ok\n");
  }
  if (path === "/metrics" && isReading && options.metrics !== undefined) {
    return sendMetrics(options.metrics, request.method === "HEAD", response);
  }
  refuse(response, 404, "There are /orchid, /metrics and /healthz here");
}

async function sendMetrics(metrics: MetricsSource, isHead: boolean, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": metrics.contentType });
  if (!isHead) {
    await metrics.write(async (piece) => {
      if (response.destroyed) {
        throw new YtError("The reader of the metrics has gone");
      }
      if (!response.write(piece)) {
        await drained(response);
      }
    });
  }
  response.end();
}

/** Resolves when more may be written, and when the other side has gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off("drain", done);
      response.off("close", done);
      resolve();
    };
    response.on("drain", done);
    response.on("close", done);
  });
}

async function answerQuestion(
  orchid: OrchidNode,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await readBody(request);
  if (body === undefined) {
    return refuse(response, 413, `A question is at most ${maxQuestionBytes} bytes long`, {
      connection: "close",
    });
  }
  let answer: YsonMap;
  try {
    const { method, path } = parseQuestion(body);
    answer = mapOf({ value: await askOrchid(orchid, method, orchidSteps(path)) });
  } catch (thrown) {
    answer = mapOf({ error: errorToYson(toYtError(thrown)) });
  }
  send(response, 200, yson, writeYson(answer, "text"));
}

function parseQuestion(body: Buffer): { readonly method: OrchidMethod; readonly path: string } {
  const question = bare(parseYson(body, { maxDepth: maxQuestionDepth }));
  const field = (name: string): YsonValue => (isMap(question) ? bare(question.get(name) ?? null) : null);
  const method = field("method") ?? "get";
  const path = field("path") ?? "";
  if (method !== "get" && method !== "list" && method !== "exists") {
    throw new YtError('"method" must be one of "get", "list", "exists"');
  }
  if (typeof path !== "string") {
    throw new YtError('"path" must be a string such as "/queue_agent/pass_index"');
  }
  return { method, path };
}

/** `undefined`: too long. */
async function readBody(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false })) {
    const bytes: Buffer = Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk));
    length += bytes.length;
    if (length > maxQuestionBytes) {
      return undefined;
    }
    chunks.push(bytes);
  }
  return Buffer.concat(chunks, length);
}

function refuse(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, status, yson, writeYson(mapOf({ error: errorToYson(new YtError(text)) }), "text"), headers);
}

function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: Buffer | string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    ...headers,
    "content-type": contentType,
    "content-length": String(Buffer.byteLength(body)),
  });
  response.end(body);
}
