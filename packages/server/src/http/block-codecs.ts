/**
 * Block codecs, the `z-*` content encodings (the defaults of the Go SDK).
 *
 *     stream  = block* last
 *     block   = u16 LE codec id, u64 LE payload length, payload
 *     payload = u64 LE length of the content, one compressed frame      (zstd, brotli, lz4, zlib)
 *             | a frame that begins with the length of its content      (snappy)
 *             | the content itself                                      (null)
 *     last    = a block of no content; nothing may follow
 *
 * Specified in: yt/yt/server/http_proxy/compression_opensource.cpp, library/cpp/blockcodecs.
 */
import { brotliCompressSync, brotliDecompressSync, constants, deflateSync, inflateSync } from "node:zlib";
import { compress as zstdCompress, decompress as zstdDecompress, init as zstdInit } from "@bokuweb/zstd-wasm";
import { YtError } from "@qyt/base";
import { lz4Compress, lz4Decompress } from "./lz4.ts";
import { murmurHash2 } from "./murmur-hash.ts";
import { snappyCompress, snappyContentLength, snappyDecompress } from "./snappy.ts";

/** The writer cuts the content into blocks of this size: the Go reader wants them small. */
export const blockContentBytes = 256 * 1024;

const maxBlockContentBytes = 128 * 1024 * 1024;
const blockHeaderBytes = 10;
const lengthPrefixBytes = 8;

export interface BlockCodec {
  /** The name of the encoding in HTTP, e.g. `z-zstd_3`. */
  readonly name: string;
  readonly id: number;
  /** Whether the payload begins with the length of its content. */
  readonly hasLengthPrefix: boolean;
  compress(content: Buffer): Uint8Array;
  /** `frame` back to exactly `contentLength` bytes. May throw anything, may return another length. */
  decompress(frame: Buffer, contentLength: number): Uint8Array;
  /** The length that a frame declares by itself; present where there is neither a prefix nor bare content. */
  readonly contentLength?: (frame: Buffer) => number;
}

/** Loads the compressor. Must have ended before a `z-zstd_*` codec is used. */
export function prepareBlockCodecs(): Promise<void> {
  prepared ??= zstdInit();
  return prepared;
}
let prepared: Promise<void> | undefined;

export const blockCodecs: ReadonlyMap<string, BlockCodec> = new Map(
  [
    defineCodec("z-null", "null", {
      hasLengthPrefix: false,
      compress: (content) => content,
      decompress: (frame) => frame,
    }),
    defineCodec("z-snappy", "snappy", {
      hasLengthPrefix: false,
      compress: snappyCompress,
      decompress: snappyDecompress,
      contentLength: snappyContentLength,
    }),
    defineCodec("z-lz4", "lz4-fast14-safe", {
      hasLengthPrefix: true,
      compress: lz4Compress,
      decompress: lz4Decompress,
    }),
    zstdCodec("z-zstd_1", "zstd08_1", 1),
    zstdCodec("z-zstd_3", "zstd08_3", 3),
    zstdCodec("z-zstd_7", "zstd08_7", 7),
    brotliCodec("z-brotli_1", "brotli_1", 1),
    brotliCodec("z-brotli_6", "brotli_6", 6),
    defineCodec("z-zlib", "zlib-6", {
      hasLengthPrefix: true,
      compress: (content) => deflateSync(content, { level: 6 }),
      decompress: (frame, length) => inflateSync(frame, { maxOutputLength: Math.max(length, 1) }),
    }),
  ].map((codec) => [codec.name, codec]),
);

function defineCodec(
  name: string,
  canonicalName: string,
  methods: Pick<BlockCodec, "hasLengthPrefix" | "compress" | "decompress" | "contentLength">,
): BlockCodec {
  const hash = murmurHash2(Buffer.from(canonicalName), 0);
  return { name, id: (hash >>> 16) ^ (hash & 0xffff), ...methods };
}

function zstdCodec(name: string, canonicalName: string, level: number): BlockCodec {
  return defineCodec(name, canonicalName, {
    hasLengthPrefix: true,
    compress: (content) => zstdCompress(content, level),
    decompress(frame, length) {
      // The library allocates what the frame declares, so the declaration is checked before it sees the frame.
      const declared = zstdContentLength(frame);
      if (declared !== undefined && declared !== BigInt(length)) {
        throw new RangeError(`zstd frame declares ${declared} bytes instead of ${length}`);
      }
      return zstdDecompress(frame, { defaultHeapSize: Math.max(length, 1) });
    },
  });
}

function brotliCodec(name: string, canonicalName: string, quality: number): BlockCodec {
  return defineCodec(name, canonicalName, {
    hasLengthPrefix: true,
    compress: (content) =>
      brotliCompressSync(content, { params: { [constants.BROTLI_PARAM_QUALITY]: quality } }),
    decompress: (frame, length) => brotliDecompressSync(frame, { maxOutputLength: Math.max(length, 1) }),
  });
}

/** The content length in the header of a zstd frame, if it is there (RFC 8878 §3.1.1). */
function zstdContentLength(frame: Buffer): bigint | undefined {
  if (frame.length < 6 || frame.readUInt32LE(0) !== 0xfd2fb528) {
    throw new RangeError("Not a zstd frame");
  }
  const descriptor = frame[4] ?? 0;
  const isSingleSegment = (descriptor & 0x20) !== 0;
  const sizeFlag = descriptor >> 6;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const position = 5 + (isSingleSegment ? 0 : 1) + dictionaryBytes;
  switch (sizeFlag) {
    case 0:
      return isSingleSegment ? BigInt(frame.readUInt8(position)) : undefined;
    case 1:
      return BigInt(frame.readUInt16LE(position) + 256);
    case 2:
      return BigInt(frame.readUInt32LE(position));
    default:
      return frame.readBigUInt64LE(position);
  }
}

/** One block with `content`; one without any is the last. */
export function encodeBlock(codec: BlockCodec, content: Buffer): Buffer {
  const frame = codec.compress(content);
  const prefix = codec.hasLengthPrefix ? lengthPrefixBytes : 0;
  const block = Buffer.allocUnsafe(blockHeaderBytes + prefix + frame.length);
  block.writeUInt16LE(codec.id, 0);
  block.writeBigUInt64LE(BigInt(prefix + frame.length), 2);
  if (codec.hasLengthPrefix) {
    block.writeBigUInt64LE(BigInt(content.length), blockHeaderBytes);
  }
  block.set(frame, blockHeaderBytes + prefix);
  return block;
}

/**
 * The last block. With a length prefix the payload is eight zero bytes, with a length in the frame it is a frame: the
 * Go reader always reads them.
 */
export function encodeLastBlock(codec: BlockCodec): Buffer {
  if (codec.contentLength !== undefined) {
    return encodeBlock(codec, Buffer.alloc(0));
  }
  const prefix = codec.hasLengthPrefix ? lengthPrefixBytes : 0;
  const block = Buffer.alloc(blockHeaderBytes + prefix);
  block.writeUInt16LE(codec.id, 0);
  block.writeBigUInt64LE(BigInt(prefix), 2);
  return block;
}

/** Takes a stream of blocks apart; split at any byte. */
export class BlockDecoder {
  readonly #codec: BlockCodec;
  readonly #maxContentBytes: number;
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #isAtEnd = false;

  /** `maxContentBytes` limits the content of one block (128 MiB at most). */
  constructor(codec: BlockCodec, maxContentBytes: number) {
    this.#codec = codec;
    this.#maxContentBytes = Math.min(maxContentBytes, maxBlockContentBytes);
  }

  /** Takes more bytes. The blocks that are now complete come out of `next`. */
  push(chunk: Buffer): void {
    if (chunk.length === 0) {
      return;
    }
    if (this.#isAtEnd) {
      throw corrupt("bytes follow the last block");
    }
    this.#pending.push(chunk);
    this.#pendingBytes += chunk.length;
  }

  /** The content of the next complete block, `undefined` if there is none. @throws YtError for damaged input */
  next(): Buffer | undefined {
    if (this.#isAtEnd || this.#pendingBytes < blockHeaderBytes) {
      return undefined;
    }
    const header = this.#peek(blockHeaderBytes);
    const id = header.readUInt16LE(0);
    if (id !== this.#codec.id) {
      throw corrupt(`block has codec id ${id} instead of ${this.#codec.id}`);
    }
    const payloadBytes = header.readBigUInt64LE(2);
    // A frame of incompressible content is slightly longer than the content.
    const maxPayloadBytes = this.#maxContentBytes + (this.#maxContentBytes >> 7) + 1024;
    if (payloadBytes > BigInt(maxPayloadBytes)) {
      throw corrupt(`block of ${payloadBytes} bytes is too large`);
    }
    const blockBytes = blockHeaderBytes + Number(payloadBytes);
    if (this.#pendingBytes < blockBytes) {
      return undefined;
    }
    const content = this.#decode(this.#take(blockBytes).subarray(blockHeaderBytes));
    if (content.length > 0) {
      return content;
    }
    this.#isAtEnd = true;
    if (this.#pendingBytes > 0) {
      throw corrupt("bytes follow the last block");
    }
    return undefined;
  }

  /** To be called at the end of input. A missing last block is forgiven, a torn block is not. */
  finish(): void {
    if (this.#pendingBytes > 0) {
      throw corrupt("unexpected end of input");
    }
  }

  #decode(payload: Buffer): Buffer {
    if (payload.length === 0) {
      return payload;
    }
    if (this.#codec.contentLength !== undefined) {
      return this.#decodeDeclared(payload, this.#codec.contentLength);
    }
    if (!this.#codec.hasLengthPrefix) {
      return payload;
    }
    if (payload.length < lengthPrefixBytes) {
      throw corrupt("block without the length of its content");
    }
    const contentBytes = payload.readBigUInt64LE(0);
    if (contentBytes > BigInt(this.#maxContentBytes)) {
      throw corrupt(`content of ${contentBytes} bytes is too large`);
    }
    if (contentBytes === 0n) {
      return Buffer.alloc(0);
    }
    const content = this.#decompress(payload.subarray(lengthPrefixBytes), Number(contentBytes));
    if (content.length !== Number(contentBytes)) {
      throw corrupt(`frame has ${content.length} bytes of content instead of ${contentBytes}`);
    }
    return Buffer.from(content.buffer, content.byteOffset, content.length);
  }

  /** A frame that begins with the length of its content. */
  #decodeDeclared(frame: Buffer, contentLength: (frame: Buffer) => number): Buffer {
    let length: number;
    try {
      length = contentLength(frame);
    } catch (cause) {
      throw corrupt("compressed frame is damaged", cause);
    }
    if (length > this.#maxContentBytes) {
      throw corrupt(`content of ${length} bytes is too large`);
    }
    const content = this.#decompress(frame, length);
    return Buffer.from(content.buffer, content.byteOffset, content.length);
  }

  #decompress(frame: Buffer, contentLength: number): Uint8Array {
    try {
      return this.#codec.decompress(frame, contentLength);
    } catch (cause) {
      throw corrupt("compressed frame is damaged", cause);
    }
  }

  /** The first `length` pending bytes in one piece, left where they are. */
  #peek(length: number): Buffer {
    const [first] = this.#pending;
    if (first !== undefined && first.length >= length) {
      return first;
    }
    const joined = Buffer.concat(this.#pending, this.#pendingBytes);
    this.#pending = [joined];
    return joined;
  }

  #take(length: number): Buffer {
    const joined = this.#peek(length);
    this.#pendingBytes -= length;
    if (joined.length === length) {
      this.#pending.shift();
    } else {
      this.#pending[0] = joined.subarray(length);
    }
    return joined.subarray(0, length);
  }
}

function corrupt(what: string, cause?: unknown): YtError {
  return new YtError(`Error decompressing request body: ${what}`, { cause });
}
