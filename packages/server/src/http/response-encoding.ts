/**
 * Content encodings of replies: a whole body at once, or a stream of it.
 *
 * The speed of a queue counts more than the last percent of size, hence the low levels.
 * Specified in: yt/yt/core/http/compression.cpp; http-api §6.
 */
import type { Transform, Writable } from "node:stream";
import { promisify } from "node:util";
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  deflate,
  deflateSync,
  gzip,
  gzipSync,
} from "node:zlib";
import { turn, YtError } from "@qyt/base";
import { type BlockCodec, blockContentBytes, encodeBlock, encodeLastBlock } from "./block-codecs.ts";
import type { ContentEncoding } from "./content-encoding.ts";
import type { Exchange } from "./exchange.ts";

/** Up to this size a body is compressed on the spot, without the thread pool. */
const maxSyncBytes = 64 * 1024;
const zlibOptions = { level: 3 };
const brotliQuality = 2;
const brotliMaxWindowBits = 20;

const gzipAsync = promisify(gzip);
const deflateAsync = promisify(deflate);
const brotliAsync = promisify(brotliCompress);

/** The whole body in its encoding. */
export function encodeWhole(encoding: ContentEncoding, body: Buffer): Buffer | Promise<Buffer> {
  const isSmall = body.length <= maxSyncBytes;
  switch (encoding.kind) {
    case "identity":
      return body;
    case "gzip":
      return isSmall ? gzipSync(body, zlibOptions) : gzipAsync(body, zlibOptions);
    case "deflate":
      return isSmall ? deflateSync(body, zlibOptions) : deflateAsync(body, zlibOptions);
    case "br": {
      const options = brotliOptions(body.length);
      return isSmall ? brotliCompressSync(body, options) : brotliAsync(body, options);
    }
    case "blocks":
      return body.length <= blockContentBytes
        ? Buffer.concat([...encodeBlocks(encoding.codec, body), encodeLastBlock(encoding.codec)])
        : encodeManyBlocks(encoding.codec, body);
  }
}

/** Blocks are compressed here and not in the thread pool: between two of them others have a turn. */
async function encodeManyBlocks(codec: BlockCodec, body: Buffer): Promise<Buffer> {
  const blocks: Buffer[] = [];
  for (const block of encodeBlocks(codec, body)) {
    blocks.push(block);
    await turn();
  }
  return Buffer.concat([...blocks, encodeLastBlock(codec)]);
}

function brotliOptions(sizeHint: number): { params: Record<number, number> } {
  // A window beyond the content costs only the time to allocate it.
  const windowBits = sizeHint === 0 ? brotliMaxWindowBits : Math.max(10, Math.ceil(Math.log2(sizeHint + 16)));
  return {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
      [constants.BROTLI_PARAM_LGWIN]: Math.min(windowBits, brotliMaxWindowBits),
      [constants.BROTLI_PARAM_SIZE_HINT]: sizeHint,
    },
  };
}

function* encodeBlocks(codec: BlockCodec, content: Buffer): Generator<Buffer, void, undefined> {
  for (let position = 0; position < content.length; position += blockContentBytes) {
    yield encodeBlock(codec, content.subarray(position, position + blockContentBytes));
  }
}

/** Takes the content of a streamed reply, gives encoded bytes to the connection. */
export interface BodyWriter {
  /** A promise when the connection has enough for now. Rejects (code 2) when the client is gone. */
  write(chunk: Buffer): Promise<void> | undefined;
  /** Lets go of what is held back for better compression. */
  flush(): void;
  /** Writes the rest of the encoded body; the reply itself stays open for trailers. */
  end(): Promise<void>;
}

export function createBodyWriter(exchange: Exchange, encoding: ContentEncoding): BodyWriter {
  switch (encoding.kind) {
    case "identity":
      return {
        write: (chunk) => send(exchange, chunk),
        flush() {},
        end: () => Promise.resolve(),
      };
    case "gzip":
      return streamWriter(exchange, createGzip(zlibOptions));
    case "deflate":
      return streamWriter(exchange, createDeflate(zlibOptions));
    case "br":
      return streamWriter(exchange, createBrotliCompress(brotliOptions(0)));
    case "blocks":
      return new BlockWriter(exchange, encoding.codec);
  }
}

/** Gives bytes to the connection. */
function send(exchange: Exchange, bytes: Buffer): Promise<void> | undefined {
  if (exchange.isClosed) {
    return Promise.reject(clientGone());
  }
  exchange.responseBytes += bytes.length;
  return exchange.response.write(bytes) ? undefined : drained(exchange, exchange.response);
}

/** Waits until `stream` takes more; rejects when the client goes away before. */
function drained(exchange: Exchange, stream: Writable): Promise<void> {
  return new Promise((resolve, reject) => {
    const onDrain = (): void => {
      exchange.response.off("close", onClose);
      resolve();
    };
    const onClose = (): void => {
      stream.off("drain", onDrain);
      reject(clientGone());
    };
    stream.once("drain", onDrain);
    exchange.response.once("close", onClose);
  });
}

function clientGone(): YtError {
  return new YtError("Client has closed the connection", { code: "Canceled" });
}

function streamWriter(
  exchange: Exchange,
  compressor: Transform & { flush(kind: number): void; flush(): void },
): BodyWriter {
  const { response } = exchange;
  compressor.on("data", (bytes: Buffer) => {
    exchange.responseBytes += bytes.length;
    if (!exchange.isClosed && !response.write(bytes)) {
      compressor.pause();
      response.once("drain", () => compressor.resume());
    }
  });
  const ended = new Promise<void>((resolve, reject) => {
    compressor.once("end", resolve);
    compressor.once("error", reject);
    exchange.onClosed(() => {
      reject(clientGone());
      compressor.destroy();
    });
  });
  // Only the one who ends the body waits for it.
  ended.catch(() => {});
  return {
    write(chunk) {
      if (exchange.isClosed) {
        return Promise.reject(clientGone());
      }
      return compressor.write(chunk) ? undefined : drained(exchange, compressor);
    },
    flush: () => compressor.flush(),
    end() {
      compressor.end();
      return ended;
    },
  };
}

/** Collects content into blocks. */
class BlockWriter implements BodyWriter {
  readonly #exchange: Exchange;
  readonly #codec: BlockCodec;
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(exchange: Exchange, codec: BlockCodec) {
    this.#exchange = exchange;
    this.#codec = codec;
  }

  write(chunk: Buffer): Promise<void> | undefined {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    return this.#heldBytes < blockContentBytes ? undefined : this.#sendHeld();
  }

  flush(): void {
    this.#sendHeld()?.catch(() => {});
  }

  async end(): Promise<void> {
    await this.#sendHeld();
    await send(this.#exchange, encodeLastBlock(this.#codec));
  }

  #sendHeld(): Promise<void> | undefined {
    if (this.#heldBytes === 0) {
      return undefined;
    }
    const content = Buffer.concat(this.#held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    let last: Promise<void> | undefined;
    for (const block of encodeBlocks(this.#codec, content)) {
      last?.catch(() => {});
      last = send(this.#exchange, block);
    }
    return last;
  }
}
