/**
 * Replies of commands: whole for values, streamed for rows and bytes.
 *
 * The head of a streamed reply goes out with its first data, so that whatever fails before is an ordinary
 * error reply; what fails later is told in trailers.
 * Specified in: yt/yt/server/http_proxy/context.cpp; http-api §7.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { emptyMap, type YsonMap, type YtError } from "@qyt/base";
import type { DataFormat } from "@qyt/yson";
import type { CommandResponse, StreamResponse } from "../driver/command.ts";
import { writeDocumentInTurns } from "../driver/documents.ts";
import { type ContentEncoding, identityEncoding } from "./content-encoding.ts";
import { enrichError, errorForBody, errorHeaders, toHttpError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";
import { writeForHeader } from "./formats.ts";
import { dataFrameHeader, keepAliveFrame } from "./framing.ts";
import type { RequestPlan } from "./request-plan.ts";
import { type BodyWriter, createBodyWriter, encodeWhole } from "./response-encoding.ts";

export interface ReplyOptions {
  readonly plan: RequestPlan;
  readonly encoding: ContentEncoding;
  readonly isFramed: boolean;
  readonly omitTrailers: boolean;
  readonly omitResponseParameters: boolean;
  readonly keepAliveFrameMs: number;
}

/** Sends the reply. Throws only as long as an error reply is still possible. */
export async function replyCommand(
  exchange: Exchange,
  response: CommandResponse,
  options: ReplyOptions,
): Promise<void> {
  const { plan } = options;
  const { headers } = exchange;
  if (plan.reply.contentDisposition !== undefined) {
    headers["Content-Disposition"] = plan.reply.contentDisposition;
  }
  switch (response.kind) {
    case "empty":
      setContentHeaders(exchange, plan.reply.contentType, identityEncoding);
      setResponseParameters(exchange, emptyMap, options);
      exchange.reply(200);
      return;
    case "structured": {
      const { outputFormat } = plan.reply;
      const written = writeDocumentInTurns(response.value, outputFormat, exchange.context.clock);
      const body = written instanceof Promise ? await written : written;
      if (options.isFramed) {
        const parameters = response.responseParameters;
        await new StreamReply(exchange, streamOf(body, parameters), options).run();
        return;
      }
      const encoded = encodeWhole(options.encoding, body);
      const bytes = encoded instanceof Promise ? await encoded : encoded;
      setContentHeaders(exchange, plan.reply.contentType, options.encoding);
      setResponseParameters(exchange, response.responseParameters ?? emptyMap, options);
      exchange.reply(200, bytes);
      return;
    }
    case "stream":
      await new StreamReply(exchange, response, options).run();
  }
}

function streamOf(body: Buffer, responseParameters: YsonMap | undefined): StreamResponse {
  async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
    yield body;
  }
  return { kind: "stream", chunks: chunks(), responseParameters: () => responseParameters ?? emptyMap };
}

function setContentHeaders(
  exchange: Exchange,
  contentType: string | undefined,
  encoding: ContentEncoding,
): void {
  if (contentType !== undefined) {
    exchange.headers["Content-Type"] = contentType;
  }
  exchange.headers["Content-Encoding"] = encoding.name;
  exchange.headers.Vary = "Content-Encoding";
}

function setResponseParameters(
  exchange: Exchange,
  parameters: YsonMap | undefined,
  options: ReplyOptions,
): void {
  if (parameters !== undefined && !options.omitResponseParameters) {
    exchange.headers["X-YT-Response-Parameters"] =
      parameters.size === 0 ? "{}" : writeResponseParameters(parameters, options.plan.headerFormat);
  }
}

function writeResponseParameters(parameters: YsonMap, format: DataFormat): string {
  return writeForHeader(parameters, format);
}

/** A reply whose body is sent while it is made. */
class StreamReply {
  readonly #exchange: Exchange;
  readonly #stream: StreamResponse;
  readonly #options: ReplyOptions;
  readonly #iterator: AsyncIterator<Buffer>;
  #writer: BodyWriter | undefined;

  constructor(exchange: Exchange, stream: StreamResponse, options: ReplyOptions) {
    this.#exchange = exchange;
    this.#stream = stream;
    this.#options = options;
    this.#iterator = stream.chunks[Symbol.asyncIterator]();
  }

  async run(): Promise<void> {
    if (await this.#replyNotModified()) {
      return;
    }
    const { whole } = this.#stream;
    if (whole !== undefined) {
      await this.#sendWhole(whole);
      return;
    }
    try {
      const first = await this.#next(this.#iterator.next());
      if (first.done === true) {
        await this.#sendWhole(undefined);
        return;
      }
      if (this.#writer === undefined && (await this.#sendSingle(first.value))) {
        return;
      }
      await this.#pump(first.value);
    } catch (error) {
      await this.#stop();
      if (this.#writer === undefined) {
        throw error;
      }
      await this.#failLate(toHttpError(error).error);
    }
  }

  async #replyNotModified(): Promise<boolean> {
    const { entityTag } = this.#stream;
    if (entityTag === undefined) {
      return false;
    }
    this.#exchange.headers.ETag = entityTag;
    if (this.#exchange.message.headers["if-none-match"] !== entityTag) {
      return false;
    }
    await this.#stop();
    this.#exchange.begin(304);
    this.#exchange.response.end();
    return true;
  }

  #lookahead: Promise<IteratorResult<Buffer>> | undefined;

  /** Sends everything at once if the first chunk turns out to be the only one. */
  async #sendSingle(chunk: Buffer): Promise<boolean> {
    const second = this.#iterator.next();
    second.catch(() => {});
    this.#lookahead = second;
    const outcome = await Promise.race([second, nextTurn(undefined)]);
    if (outcome?.done !== true) {
      return false;
    }
    await this.#sendWhole(chunk);
    return true;
  }

  async #sendWhole(chunk: Buffer | undefined): Promise<void> {
    if (this.#writer !== undefined) {
      await this.#finish();
      return;
    }
    const { isFramed, encoding } = this.#options;
    let body = chunk ?? Buffer.alloc(0);
    if (isFramed && body.length > 0) {
      body = Buffer.concat([dataFrameHeader(body.length), body]);
    }
    const encoded = encodeWhole(encoding, body);
    const bytes = encoded instanceof Promise ? await encoded : encoded;
    this.#begin();
    this.#exchange.responseBytes += bytes.length;
    this.#exchange.response.end(bytes.length > 0 ? bytes : undefined);
  }

  async #pump(first: Buffer): Promise<void> {
    let chunk = first;
    for (;;) {
      await this.#write(chunk);
      const pending = this.#lookahead ?? this.#iterator.next();
      this.#lookahead = undefined;
      const result = await this.#next(pending);
      if (result.done === true) {
        break;
      }
      chunk = result.value;
    }
    await this.#finish();
  }

  /** Waits for the next chunk; a framed reply tells the client meanwhile that it is alive. */
  async #next(pending: Promise<IteratorResult<Buffer>>): Promise<IteratorResult<Buffer>> {
    if (!this.#options.isFramed) {
      return await pending;
    }
    for (;;) {
      let wake: () => void = () => {};
      const silence = new Promise<undefined>((resolve) => {
        wake = () => resolve(undefined);
      });
      const timer = this.#exchange.context.clock.after(this.#options.keepAliveFrameMs, wake);
      const result = await Promise.race([pending, silence]).finally(() => timer.cancel());
      if (result !== undefined) {
        return result;
      }
      const writer = this.#startedWriter();
      await writer.write(keepAliveFrame);
      writer.flush();
    }
  }

  async #write(chunk: Buffer): Promise<void> {
    if (chunk.length === 0) {
      return;
    }
    const writer = this.#startedWriter();
    if (this.#options.isFramed) {
      const full = writer.write(dataFrameHeader(chunk.length));
      if (full !== undefined) {
        await full;
      }
    }
    const full = writer.write(chunk);
    if (full !== undefined) {
      await full;
    }
  }

  #startedWriter(): BodyWriter {
    if (this.#writer === undefined) {
      this.#begin();
      this.#writer = createBodyWriter(this.#exchange, this.#options.encoding);
    }
    return this.#writer;
  }

  #begin(): void {
    const exchange = this.#exchange;
    const options = this.#options;
    setContentHeaders(exchange, this.#stream.contentType ?? options.plan.reply.contentType, options.encoding);
    const parameters = this.#stream.responseParameters;
    setResponseParameters(exchange, parameters === undefined ? emptyMap : parameters(), options);
    if (options.isFramed) {
      exchange.headers["X-YT-Framing"] = "1";
    }
    if (!options.omitTrailers) {
      exchange.headers.Trailer = "X-YT-Error, X-YT-Response-Code, X-YT-Response-Message";
    }
    exchange.begin(200);
  }

  async #finish(): Promise<void> {
    await this.#startedWriter().end();
    this.#exchange.response.end();
  }

  async #failLate(failure: YtError): Promise<void> {
    const exchange = this.#exchange;
    const { plan, omitTrailers } = this.#options;
    const error = enrichError(failure, exchange, plan.parameters);
    exchange.error = error;
    if (exchange.isClosed) {
      return;
    }
    try {
      if (plan.reply.dumpErrorIntoResponse) {
        await this.#write(errorForBody(error));
      } else if (omitTrailers) {
        // Nothing else can tell the client that its data is not complete.
        exchange.response.destroy();
        return;
      }
      await this.#startedWriter().end();
      if (!omitTrailers) {
        exchange.response.addTrailers(errorHeaders(error, plan.errorFormat));
      }
      exchange.response.end();
    } catch {
      exchange.response.destroy();
    }
  }

  /** Lets the command clean up. */
  async #stop(): Promise<void> {
    try {
      await this.#iterator.return?.();
    } catch {
      // The command has failed already, and is told so.
    }
  }
}
