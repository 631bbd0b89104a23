/**
 * The body of a request, content encoding removed: whole, or as it arrives.
 *
 * Small bodies of rows are the hot path: without encoding they are collected from `data` events and joined
 * once. Whatever is damaged, too long or torn off ends in one clean error.
 * Specified in: yt/yt/core/http/compression.cpp; http-api §6.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex, Readable } from "node:stream";
import { promisify } from "node:util";
import {
  brotliDecompress,
  brotliDecompressSync,
  createBrotliDecompress,
  createUnzip,
  unzip,
  unzipSync,
} from "node:zlib";
import { limits, YtError } from "@qyt/base";
import type { AdmissionTicket } from "./admission.ts";
import { BlockDecoder } from "./block-codecs.ts";
import type { ContentEncoding } from "./content-encoding.ts";
import { declaredLength } from "./request-headers.ts";

/** Up to these sizes (before and after) a body is decompressed at once, without the thread pool. */
const maxSyncCompressedBytes = 64 * 1024;
const maxSyncContentBytes = 1024 * 1024;

const unzipAsync = promisify(unzip);
const brotliDecompressAsync = promisify(brotliDecompress);

export class RequestBody {
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #encoding: ContentEncoding;
  readonly #ticket: AdmissionTicket;
  #expectsContinue: boolean;
  #isTaken = false;
  /** What made reading fail on our side: it decides the status even if a command wraps it. */
  refusal: unknown;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    options: { encoding: ContentEncoding; ticket: AdmissionTicket; expectsContinue: boolean },
  ) {
    this.#message = message;
    this.#response = response;
    this.#encoding = options.encoding;
    this.#ticket = options.ticket;
    this.#expectsContinue = options.expectsContinue;
  }

  /** Whether the client still waits for our leave to send. */
  get isContinuePending(): boolean {
    return this.#expectsContinue;
  }

  /** The whole body. @throws YtError when it is longer than `limitBytes`, damaged or torn off; HttpError 503 */
  async read(limitBytes: number): Promise<Buffer> {
    const limit = Math.min(limitBytes, limits.maxRequestBodyBytes);
    const encoding = this.#encoding;
    if (encoding.kind === "blocks") {
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of this.chunks()) {
        size += chunk.length;
        if (size > limit) {
          throw tooLarge(limit);
        }
        this.#reserve(chunk.length);
        chunks.push(chunk);
      }
      return join(chunks, size);
    }
    const bytes = await this.#collect(limit);
    if (encoding.kind === "identity" || bytes.length === 0) {
      return bytes;
    }
    const content = await decompress(encoding.kind, bytes, limit);
    this.#reserve(content.length);
    return content;
  }

  /**
   * The body piece by piece. A consumer that stops early leaves the rest on the wire.
   * @throws YtError when the body is longer than a request may be, damaged or torn off
   */
  async *chunks(): AsyncGenerator<Buffer, void, undefined> {
    let size = 0;
    for await (const chunk of this.#contents()) {
      size += chunk.length;
      if (size > limits.maxRequestBodyBytes) {
        throw tooLarge(limits.maxRequestBodyBytes);
      }
      yield chunk;
    }
  }

  async *#contents(): AsyncGenerator<Buffer, void, undefined> {
    this.#take();
    const encoding = this.#encoding;
    if (encoding.kind === "identity") {
      yield* received(this.#message, this.#message);
    } else if (encoding.kind === "blocks") {
      const decoder = new BlockDecoder(encoding.codec, limits.maxRequestBodyBytes);
      for await (const chunk of received(this.#message, this.#message)) {
        decoder.push(chunk);
        for (let content = decoder.next(); content !== undefined; content = decoder.next()) {
          yield content;
        }
      }
      decoder.finish();
    } else {
      yield* this.#decoded(encoding.kind === "br" ? createBrotliDecompress() : createUnzip());
    }
  }

  async *#decoded(decoder: Duplex): AsyncGenerator<Buffer, void, undefined> {
    const message = this.#message;
    const onClose = (): void => {
      if (!message.complete) {
        decoder.destroy(tornOff());
      }
    };
    message.once("close", onClose);
    // An empty body is an empty stream in every encoding; the decoders see a truncated one.
    let isEmpty = true;
    const onData = (): void => {
      isEmpty = false;
    };
    message.once("data", onData);
    message.pipe(decoder);
    try {
      yield* received(decoder, message);
    } catch (error) {
      if (!isEmpty) {
        throw error instanceof YtError ? error : corrupt(error);
      }
    } finally {
      message.off("close", onClose);
      message.off("data", onData);
      message.unpipe(decoder);
      decoder.destroy();
    }
  }

  /** The raw bytes, joined. */
  #collect(limit: number): Promise<Buffer> {
    this.#take();
    const message = this.#message;
    const declared = declaredLength(message);
    if (declared !== undefined) {
      if (declared > limit) {
        return Promise.reject(tooLarge(limit));
      }
      try {
        this.#reserve(declared);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let size = 0;
      const settle = (error: unknown, bytes?: Buffer): void => {
        message.off("data", onData);
        message.off("end", onEnd);
        message.off("close", onClose);
        if (bytes === undefined) {
          message.pause();
          reject(error);
        } else {
          resolve(bytes);
        }
      };
      const onData = (chunk: Buffer): void => {
        size += chunk.length;
        if (size > limit) {
          settle(tooLarge(limit));
          return;
        }
        if (declared === undefined) {
          try {
            this.#reserve(chunk.length);
          } catch (error) {
            settle(error);
            return;
          }
        }
        chunks.push(chunk);
      };
      const onEnd = (): void => settle(undefined, join(chunks, size));
      const onClose = (): void => settle(tornOff());
      message.on("data", onData);
      message.on("end", onEnd);
      message.on("close", onClose);
      if (message.readableEnded) {
        onEnd();
      } else if (message.destroyed) {
        onClose();
      }
    });
  }

  #reserve(bytes: number): void {
    try {
      this.#ticket.reserve(bytes);
    } catch (error) {
      this.refusal = error;
      throw error;
    }
  }

  #take(): void {
    if (this.#isTaken) {
      throw new YtError("Request body is already taken");
    }
    this.#isTaken = true;
    if (this.#expectsContinue) {
      this.#expectsContinue = false;
      this.#response.writeContinue();
    }
  }
}

/**
 * The chunks of a stream. Unlike the stream's own iterator it leaves the stream alive when the consumer
 * stops: the connection is still needed for the reply.
 */
async function* received(stream: Readable, source: IncomingMessage): AsyncGenerator<Buffer, void, undefined> {
  let failure: unknown;
  let wake: (() => void) | undefined;
  const onEvent = (): void => wake?.();
  const onError = (error: unknown): void => {
    failure = error;
    wake?.();
  };
  stream.on("readable", onEvent);
  stream.on("end", onEvent);
  stream.on("close", onEvent);
  stream.on("error", onError);
  try {
    for (;;) {
      const chunk: unknown = stream.read();
      if (chunk instanceof Buffer) {
        yield chunk;
        continue;
      }
      if (failure !== undefined) {
        throw source.destroyed && !source.complete ? tornOff() : failure;
      }
      if (stream.readableEnded) {
        return;
      }
      if (stream.destroyed) {
        throw tornOff();
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      wake = undefined;
    }
  } finally {
    stream.off("readable", onEvent);
    stream.off("end", onEvent);
    stream.off("close", onEvent);
    stream.off("error", onError);
    // A late error of the stream must not be an unhandled one.
    stream.on("error", ignore);
  }
}

function ignore(): void {}

async function decompress(kind: "gzip" | "deflate" | "br", bytes: Buffer, limit: number): Promise<Buffer> {
  if (bytes.length <= maxSyncCompressedBytes) {
    const maxOutputLength = Math.min(limit, maxSyncContentBytes);
    try {
      return kind === "br"
        ? brotliDecompressSync(bytes, { maxOutputLength })
        : unzipSync(bytes, { maxOutputLength });
    } catch (error) {
      if (!isTooLarge(error)) {
        throw corrupt(error);
      }
      if (limit <= maxSyncContentBytes) {
        throw tooLarge(limit);
      }
    }
  }
  const options = { maxOutputLength: limit, chunkSize: 256 * 1024 };
  try {
    return await (kind === "br" ? brotliDecompressAsync(bytes, options) : unzipAsync(bytes, options));
  } catch (error) {
    throw isTooLarge(error) ? tooLarge(limit) : corrupt(error);
  }
}

function isTooLarge(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE";
}

function join(chunks: readonly Buffer[], size: number): Buffer {
  const [only] = chunks;
  return only !== undefined && chunks.length === 1 ? only : Buffer.concat(chunks, size);
}

function tooLarge(limit: number): YtError {
  return new YtError(`Request body is too large, limit ${limit} bytes`, {
    attributes: { limit: BigInt(limit) },
  });
}

function tornOff(): YtError {
  return new YtError("Client has closed the connection before the end of the request body", {
    code: "Canceled",
  });
}

function corrupt(cause: unknown): YtError {
  const reason = cause instanceof Error ? cause.message : "unknown failure";
  return new YtError(`Error decompressing request body: ${reason}`, { cause });
}
