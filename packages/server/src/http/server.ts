/**
 * The HTTP server: sockets, their limits, and closing in good order.
 * Specified in: yt/yt/core/http/server.cpp, yt/yt/server/http_proxy/bootstrap.cpp.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { type Clock, limits, toYtError, type YsonValue, YtError } from "@qyt/base";
import type { Logger } from "pino";
import { CsrfTokens } from "../access/authentication/index.ts";
import type { Driver } from "../driver/command.ts";
import { Admission, type AdmissionLimits, defaultAdmissionLimits } from "./admission.ts";
import { type Authenticate, trustEveryone } from "./authentication.ts";
import { prepareBlockCodecs } from "./block-codecs.ts";
import type { ServerIdentity } from "./discovery.ts";
import { replyError } from "./error-reply.ts";
import { Exchange, type ExchangeContext } from "./exchange.ts";
import { defaultKeepAliveFrameMs } from "./framing.ts";
import { HttpError } from "./http-error.ts";
import type { Login } from "./login.ts";
import { createRequestIds, traceIdOf } from "./request-id.ts";
import { RequestPlanner } from "./request-plan.ts";
import { type RouterContext, route } from "./router.ts";

export interface HttpServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** `host:port` as clients reach the server; they use it for heavy commands. By default the bound address. */
  readonly publicAddress?: string;
  readonly driver: Driver;
  readonly identity: ServerIdentity;
  readonly authenticate?: Authenticate;
  /** What `/auth/whoami` gives a page to show with its changes; by default one that nobody checks. */
  readonly csrfTokenFor?: (user: string) => string;
  /** Absent: there is no `/login`. */
  readonly login?: Login;
  /** Absent: plain HTTP. */
  readonly tls?: TlsFiles;
  /** The value of `//sys/@cluster_connection`. */
  readonly clusterConnection: () => Promise<YsonValue>;
  /** Origins whose pages may call; by default all. */
  readonly isOriginAllowed?: (origin: string) => boolean;
  readonly admission?: Partial<AdmissionLimits>;
  readonly keepAliveFrameMs?: number;
  readonly logger: Logger;
  readonly clock: Clock;
}

/** A certificate with its chain, and its key; both PEM. */
export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export interface HttpServer {
  /** `host:port`. */
  readonly address: string;
  /** The port in use. */
  readonly port: number;
  /** From now on new connections get this certificate. @throws YtError 1 when the two do not fit; nothing changes then */
  replaceTls(files: TlsFiles): void;
  /** Takes no more connections, lets requests under way finish for `graceMs`, then cuts them off. */
  close(graceMs: number): Promise<void>;
}

const wildcardHosts: ReadonlySet<string> = new Set(["0.0.0.0", "::", ""]);

/** Starts to listen. Rejects with the system's error if the address is not free. */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  await prepareBlockCodecs();
  const { logger, clock } = options;
  const admission = new Admission({ ...defaultAdmissionLimits, ...options.admission });
  let isClosing = false;
  const { server, tlsServer } = createServers(options.tls);
  server.maxHeadersCount = 2 * limits.maxHeaderParts;
  // A client that has sent all it has to send may say so and still read; exchange.ts tells it from one that is gone.
  Object.assign(server, { httpAllowHalfOpen: true });
  await listen(server, options.host, options.port);
  const port = portOf(server);
  const address = formatAddress(options.host, port);
  const exchanges: ExchangeContext = {
    clock,
    logger,
    isClosing: () => isClosing,
    addressFor: createAddressOf(options, address, port),
  };
  const uncheckedTokens = new CsrfTokens(clock);
  const router: RouterContext = {
    commands: {
      driver: options.driver,
      authenticate: options.authenticate ?? trustEveryone,
      admission,
      planner: new RequestPlanner(),
      keepAliveFrameMs: options.keepAliveFrameMs ?? defaultKeepAliveFrameMs,
    },
    identity: options.identity,
    clusterConnection: options.clusterConnection,
    csrfTokenFor: options.csrfTokenFor ?? ((user) => uncheckedTokens.sign(user)),
    isOriginAllowed: options.isOriginAllowed ?? (() => true),
    login: options.login,
  };
  const nextRequestId = createRequestIds();
  const connections = new Connections();
  server.on(tlsServer === undefined ? "connection" : "secureConnection", (socket: Socket) =>
    connections.add(socket),
  );
  server.on("tlsClientError", (error: NodeJS.ErrnoException) =>
    logger.debug({ code: error.code }, "connection is not TLS"),
  );
  const serve = (message: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    const requestId = nextRequestId();
    const traceparent = message.headers.traceparent;
    const traceId = (typeof traceparent === "string" ? traceIdOf(traceparent) : undefined) ?? requestId;
    const exchange = new Exchange(exchanges, message, response, { requestId, traceId });
    connections.begin(message.socket);
    exchange.onClosed(() => connections.end(message.socket));
    serveExchange(router, exchange, expectsContinue);
  };
  server.on("request", (message, response) => serve(message, response, false));
  server.on("checkContinue", (message, response) => serve(message, response, true));
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => {
    logger.debug({ code: error.code }, "request is not HTTP");
    rejectMalformed(error, socket as Socket);
  });
  logger.info({ address }, "listening");
  return {
    address,
    port,
    replaceTls(files) {
      checkTls(files);
      tlsServer?.setSecureContext({ ...tlsDefaults, ...files });
    },
    async close(graceMs) {
      isClosing = true;
      await closeServer(server, connections, clock, graceMs);
    },
  };
}

const tlsDefaults = { minVersion: "TLSv1.2" } as const;

/** A client that opens a connection and says nothing has it for so long, in milliseconds. */
const handshakeMs = 10_000;

function createServers(tls: TlsFiles | undefined): { server: Server; tlsServer?: TlsServer } {
  const options: ServerOptions = {
    maxHeaderSize: limits.maxHeaderBytes,
    keepAliveTimeout: limits.keepAliveMs,
    // A large upload over a slow line may take any time.
    requestTimeout: 0,
  };
  if (tls === undefined) {
    return { server: createServer(options) };
  }
  checkTls(tls);
  const tlsServer = createTlsServer({ ...options, ...tlsDefaults, ...tls, handshakeTimeout: handshakeMs });
  return { server: tlsServer, tlsServer };
}

/** @throws YtError 1 */
function checkTls(files: TlsFiles): void {
  try {
    createSecureContext({ ...tlsDefaults, ...files });
  } catch (thrown) {
    throw new YtError(
      `The TLS certificate and key cannot be used: ${toYtError(thrown).message}; both must be PEM, and the key that of the certificate`,
      { cause: thrown },
    );
  }
}

/** The outermost function of a request: whatever happens inside, the client gets a reply. */
function serveExchange(router: RouterContext, exchange: Exchange, expectsContinue: boolean): void {
  const onError = (error: unknown): void => {
    exchange.context.logger.error(
      { requestId: exchange.requestId, err: error },
      "request failed by a defect",
    );
    if (exchange.response.headersSent) {
      exchange.response.destroy();
      return;
    }
    try {
      replyError(exchange, new HttpError(500, toYtError(error)));
    } catch {
      exchange.response.destroy();
    }
  };
  // An aborted upload is told to the one who reads it.
  exchange.message.on("error", ignore);
  exchange.response.on("error", ignore);
  try {
    const pending = route(router, exchange, expectsContinue);
    if (pending instanceof Promise) {
      pending.catch(onError);
    }
  } catch (error) {
    onError(error);
  }
}

function ignore(): void {}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => reject(listenError(error, host, port));
    server.once("error", onError);
    server.listen(port, host === "" ? undefined : host, () => {
      server.off("error", onError);
      resolve();
    });
  });
}

/** What the user can do about an address that cannot be had. */
function listenError(error: Error, host: string, port: number): Error {
  if (!("code" in error) || error.code !== "EADDRINUSE") {
    return error;
  }
  const address = formatAddress(host, port);
  return new YtError(
    `Address ${address} is already in use: stop the program that listens there, or choose another port, as in --cluster NAME=${host}:PORT`,
    { cause: error, attributes: { address } },
  );
}

function portOf(server: Server): number {
  const bound = server.address();
  return bound !== null && typeof bound === "object" ? bound.port : 0;
}

function formatAddress(host: string, port: number): string {
  const name = wildcardHosts.has(host) ? "localhost" : host;
  return name.includes(":") ? `[${name}]:${port}` : `${name}:${port}`;
}

/**
 * The address that clients are told. A server that listens everywhere has no name of its own: the one by
 * which the client has just reached it is the best there is.
 */
function createAddressOf(
  options: HttpServerOptions,
  address: string,
  port: number,
): (message: IncomingMessage) => string {
  const { publicAddress } = options;
  if (publicAddress !== undefined) {
    return () => publicAddress;
  }
  if (!wildcardHosts.has(options.host)) {
    return () => address;
  }
  return (message) => {
    const { host } = message.headers;
    if (host === undefined || !/^[A-Za-z0-9.\-_]+(:\d{1,5})?$|^\[[0-9A-Fa-f:.]+\](:\d{1,5})?$/.test(host)) {
      return `localhost:${port}`;
    }
    return /:\d+$/.test(host) ? host : `${host}:80`;
  };
}

/** What the parser of the runtime cannot read is answered without it. */
function rejectMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === "ECONNRESET") {
    socket.destroy();
    return;
  }
  const status =
    error.code === "HPE_HEADER_OVERFLOW"
      ? "431 Request Header Fields Too Large"
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? "408 Request Timeout"
        : "400 Bad Request";
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}

/**
 * The open connections and how many requests are under way on each. Node's own notion of an idle connection
 * leaves out those that have not sent anything yet: browsers and SDKs open them ahead of time.
 */
class Connections {
  readonly #requests = new Map<Socket, number>();

  add(socket: Socket): void {
    this.#requests.set(socket, 0);
    socket.once("close", () => this.#requests.delete(socket));
  }

  begin(socket: Socket): void {
    this.#requests.set(socket, (this.#requests.get(socket) ?? 0) + 1);
  }

  end(socket: Socket): void {
    const count = this.#requests.get(socket);
    if (count !== undefined) {
      this.#requests.set(socket, count - 1);
    }
  }

  closeIdle(): void {
    for (const [socket, count] of this.#requests) {
      if (count === 0) {
        socket.destroySoon();
      }
    }
  }
}

function closeServer(server: Server, connections: Connections, clock: Clock, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(graceMs, () => server.closeAllConnections());
    server.close(() => {
      timer.cancel();
      resolve();
    });
    connections.closeIdle();
  });
}
