/**
 * One request and its reply: identity, headers that every reply has, the one place where a reply begins and
 * ends, and what is told about it afterwards.
 */
import diagnosticsChannel from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Clock, YtError } from "@qyt/base";
import type { Logger } from "pino";
import { declaredLength, hasBody } from "./request-headers.ts";

/** Published for every finished request, with a `RequestRecord`. */
export const requestChannel = diagnosticsChannel.channel("qyt.http.request");

export interface RequestRecord {
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  readonly command: string | undefined;
  readonly user: string | undefined;
  readonly status: number;
  readonly errorCode: number | undefined;
  readonly milliseconds: number;
  readonly requestBytes: number;
  readonly responseBytes: number;
  readonly isAborted: boolean;
}

/** What the exchanges of one server share. */
export interface ExchangeContext {
  readonly clock: Clock;
  readonly logger: Logger;
  /** True from the moment the server begins to close: connections are not kept any longer. */
  readonly isClosing: () => boolean;
  /** The own address as clients know it. */
  readonly addressFor: (message: IncomingMessage) => string;
}

/** How much of an unread body is read before its connection is given up, and for how long. */
const maxDrainBytes = 64 * 1024 * 1024;
const maxDrainMs = 10_000;

/**
 * How long a client that sends no more is waited for until its reply begins, in milliseconds. One that is gone
 * looks the same until something is sent to it.
 */
const halfClosedMs = 10_000;

export class Exchange {
  readonly message: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  readonly context: ExchangeContext;
  readonly path: string;
  readonly query: string;
  /** Headers of the reply. */
  readonly headers: Record<string, string>;
  /** The client waits for `100 Continue` and has not got it: it will not send its body after a final reply. */
  isContinuePending: () => boolean = () => false;
  command: string | undefined;
  user: string | undefined;
  error: YtError | undefined;
  responseBytes = 0;
  readonly #startedAt: number;
  #abort: AbortController | undefined;
  readonly #halfClose = new AbortController();
  #isClosed = false;
  #onClosed: (() => void)[] | undefined;

  constructor(
    context: ExchangeContext,
    message: IncomingMessage,
    response: ServerResponse,
    ids: { requestId: string; traceId: string },
  ) {
    this.context = context;
    this.message = message;
    this.response = response;
    this.requestId = ids.requestId;
    const url = pathAndQuery(message.url ?? "/");
    const question = url.indexOf("?");
    this.path = question < 0 ? url : url.slice(0, question);
    this.query = question < 0 ? "" : url.slice(question + 1);
    this.headers = {
      "X-YT-Request-Id": ids.requestId,
      "X-YT-Trace-Id": ids.traceId,
      "X-YT-Proxy": context.addressFor(message),
      "Cache-Control": "no-store",
    };
    this.#startedAt = context.clock.monotonic();
    response.once("close", () => this.#close());
    this.#watchHalfClose();
  }

  /** Aborts when the client goes away before it has the whole reply. */
  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#isClosed) {
        this.#abort.abort();
      }
    }
    return this.#abort.signal;
  }

  /** Aborts when the client will send no more: it may be gone, or wait for its reply, which should come soon then. */
  get halfCloseSignal(): AbortSignal {
    return this.#halfClose.signal;
  }

  #watchHalfClose(): void {
    const { socket } = this.message;
    const onEnd = (): void => {
      this.#halfClose.abort();
      const timer = this.context.clock.after(halfClosedMs, () => {
        if (!this.response.headersSent) {
          socket.destroy();
        }
      });
      this.onClosed(() => timer.cancel());
    };
    if (socket.readableEnded) {
      onEnd();
      return;
    }
    this.onClosed(whenHalfClosed(socket, onEnd));
  }

  /** Whether the client is gone. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Calls back when the reply is sent or the client is gone. */
  onClosed(callback: () => void): void {
    if (this.#isClosed) {
      callback();
    } else {
      this.#onClosed ??= [];
      this.#onClosed.push(callback);
    }
  }

  /** Sends the status line and the collected headers. */
  begin(status: number): void {
    if (this.context.isClosing()) {
      this.headers.Connection = "close";
    }
    this.response.writeHead(status, this.headers);
  }

  /** A whole reply. */
  reply(status: number, body?: Buffer | string): void {
    const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
    this.headers["Content-Length"] = String(bytes?.length ?? 0);
    this.responseBytes += bytes?.length ?? 0;
    if (this.message.complete || !hasBody(this.message)) {
      this.begin(status);
      this.response.end(bytes);
    } else {
      this.#replyBeforeEndOfRequest(status, bytes);
    }
  }

  /**
   * Many clients read no reply before they have sent their whole body, and the connection is of no use for
   * the next request until the body is off the wire. So the rest is read and thrown away, within bounds;
   * beyond them the connection is closed.
   */
  #replyBeforeEndOfRequest(status: number, bytes: Buffer | undefined): void {
    const { message, response, context } = this;
    if (this.isContinuePending()) {
      this.headers.Connection = "close";
      this.begin(status);
      response.end(bytes);
      return;
    }
    if ((declaredLength(message) ?? 0) > maxDrainBytes) {
      this.headers.Connection = "close";
    }
    this.begin(status);
    if (bytes !== undefined) {
      response.write(bytes);
    } else {
      response.flushHeaders();
    }
    let drained = 0;
    const finish = (): void => {
      timer.cancel();
      message.off("end", finish);
      message.off("data", onData);
      this.response.end();
    };
    const giveUp = (): void => {
      finish();
      message.socket.destroySoon();
    };
    const onData = (chunk: Buffer): void => {
      drained += chunk.length;
      if (drained > maxDrainBytes) {
        giveUp();
      }
    };
    const timer = context.clock.after(maxDrainMs, giveUp);
    this.onClosed(() => timer.cancel());
    message.on("data", onData);
    message.on("end", finish);
    message.resume();
  }

  #close(): void {
    this.#isClosed = true;
    const isAborted = !this.response.writableFinished;
    if (isAborted) {
      this.#halfClose.abort();
      this.#abort?.abort();
    }
    if (!this.message.complete) {
      // A reply that did not need the body: the rest must leave the connection.
      this.message.resume();
    }
    for (const callback of this.#onClosed ?? []) {
      callback();
    }
    if (this.context.isClosing()) {
      // A reply that began before the server was told to close has left its connection open.
      this.message.socket.destroySoon();
    }
    this.#report(isAborted);
  }

  #report(isAborted: boolean): void {
    const { logger } = this.context;
    const isFailure = this.error !== undefined || isAborted;
    if (!requestChannel.hasSubscribers && !logger.isLevelEnabled(isFailure ? "info" : "debug")) {
      return;
    }
    const record: RequestRecord = {
      requestId: this.requestId,
      method: this.message.method ?? "",
      path: this.path,
      command: this.command,
      user: this.user,
      status: this.response.statusCode,
      errorCode: this.error?.code,
      milliseconds: Math.round((this.context.clock.monotonic() - this.#startedAt) * 1000) / 1000,
      requestBytes: declaredLength(this.message) ?? 0,
      responseBytes: this.responseBytes,
      isAborted,
    };
    requestChannel.publish(record);
    if (isFailure) {
      logger.info({ ...record, error: this.error?.message }, "request failed");
    } else {
      logger.debug(record, "request done");
    }
  }
}

const halfCloseCallbacks = new WeakMap<Socket, Set<() => void>>();

/** Calls back when the other side ends its own. One listener a connection, however many requests are on it. */
function whenHalfClosed(socket: Socket, callback: () => void): () => void {
  let callbacks = halfCloseCallbacks.get(socket);
  if (callbacks === undefined) {
    const all = new Set<() => void>();
    callbacks = all;
    halfCloseCallbacks.set(socket, all);
    socket.once("end", () => {
      for (const each of all) {
        each();
      }
    });
  }
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

/** The part after the authority: a client of a forward proxy sends whole addresses. */
function pathAndQuery(url: string): string {
  if (url.startsWith("/")) {
    return url;
  }
  const slash = /^https?:\/\/[^/?]*/i.exec(url);
  return slash === null ? url : url.slice(slash[0].length) || "/";
}
