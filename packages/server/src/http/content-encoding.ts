/**
 * The names of content encodings and the choice of the one for a reply.
 * Specified in: yt/yt/core/http/compression.cpp; http-api §6.
 */
import { YtError } from "@qyt/base";
import { type BlockCodec, blockCodecs } from "./block-codecs.ts";
import { HttpError } from "./http-error.ts";

export type ContentEncoding =
  | { readonly kind: "identity" | "gzip" | "deflate" | "br"; readonly name: string }
  | { readonly kind: "blocks"; readonly name: string; readonly codec: BlockCodec };

export const identityEncoding: ContentEncoding = { kind: "identity", name: "identity" };

const encodings: ReadonlyMap<string, ContentEncoding> = new Map<string, ContentEncoding>([
  ["identity", identityEncoding],
  ["gzip", { kind: "gzip", name: "gzip" }],
  ["deflate", { kind: "deflate", name: "deflate" }],
  ["br", { kind: "br", name: "br" }],
  ...[...blockCodecs.values()].map((codec): [string, ContentEncoding] => [
    codec.name,
    { kind: "blocks", name: codec.name, codec },
  ]),
]);

/** The encoding of a request body. @throws HttpError 415 for an unknown one */
export function requestEncoding(header: string | undefined): ContentEncoding {
  if (header === undefined || header === "identity") {
    return identityEncoding;
  }
  const encoding = encodings.get(header.trim().toLowerCase());
  if (encoding === undefined) {
    throw new HttpError(415, new YtError(`Unsupported Content-Encoding "${header}"`));
  }
  return encoding;
}

/**
 * The encoding of a reply: the supported name whose text occurs first in `Accept-Encoding`; quality values
 * have no say. @throws HttpError 415 when no name occurs
 */
export function responseEncoding(header: string | undefined): ContentEncoding {
  if (header === undefined) {
    return identityEncoding;
  }
  let best: ContentEncoding | undefined;
  let bestPosition = Number.POSITIVE_INFINITY;
  for (const encoding of encodings.values()) {
    const position = header.indexOf(encoding.name);
    if (position >= 0 && position < bestPosition) {
      best = encoding;
      bestPosition = position;
    }
  }
  if (best === undefined) {
    throw new HttpError(
      415,
      new YtError("Could not determine feasible Content-Encoding given Accept-Encoding constraints", {
        attributes: { client_accept_encoding: header },
      }),
    );
  }
  return best;
}
