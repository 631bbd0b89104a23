/**
 * Reading request headers the way the original proxy does: the first of duplicates, values as bytes, long
 * values cut into numbered base64 parts. Specified in: yt/yt/server/http_proxy/helpers.cpp (GatherHeader).
 */
import type { IncomingMessage } from "node:http";
import { limits, YtError } from "@qyt/base";

/** A header by its lower-case name; of duplicates the first. */
export function headerOf(message: IncomingMessage, name: string): string | undefined {
  const value = message.headers[name];
  if (typeof value !== "string") {
    return value?.[0];
  }
  // Node joins duplicates by ", ". The text alone does not tell a duplicate from a value with a comma in it.
  return value.includes(", ") ? (firstRawHeader(message, name) ?? value) : value;
}

function firstRawHeader(message: IncomingMessage, name: string): string | undefined {
  const raw = message.rawHeaders;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const candidate = raw[i] ?? "";
    if (candidate.length === name.length && candidate.toLowerCase() === name) {
      return raw[i + 1];
    }
  }
  return undefined;
}

/** The first of the headers, by their lower-case names, that the request has more than once. */
export function repeatedHeader(message: IncomingMessage, names: readonly string[]): string | undefined {
  return names.find((name) => {
    let count = 0;
    for (let i = 0; i < message.rawHeaders.length; i += 2) {
      const raw = message.rawHeaders[i] ?? "";
      if (raw.length === name.length && raw.toLowerCase() === name && ++count > 1) {
        return true;
      }
    }
    return false;
  });
}

/** The text of a header that may be split. `isBase64` says that the text is that of joined parts. */
export interface GatheredHeader {
  readonly text: string;
  readonly isBase64: boolean;
}

/**
 * `NAME` as it is, else `NAME0` or `NAME-0`, `NAME1` or `NAME-1`, … joined.
 * @throws YtError when there are more than 1000 parts
 */
export function gatherHeader(message: IncomingMessage, name: string): GatheredHeader | undefined {
  const whole = headerOf(message, name);
  if (whole !== undefined) {
    return { text: whole, isBase64: false };
  }
  let text: string | undefined;
  for (let i = 0; ; i++) {
    const part = headerOf(message, `${name}${i}`) ?? headerOf(message, `${name}-${i}`);
    if (part === undefined) {
      return text === undefined ? undefined : { text, isBase64: true };
    }
    if (i >= limits.maxHeaderParts) {
      throw new YtError("Too many header parts", { attributes: { header_name: name } });
    }
    text = text === undefined ? part : text + part;
  }
}

/** The bytes of a gathered header. @throws YtError for text that is not base64 */
export function headerBytes(name: string, header: GatheredHeader): Buffer {
  if (!header.isBase64) {
    return Buffer.from(header.text, "latin1");
  }
  // Node skips what is not base64 in silence.
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(header.text) || header.text.replace(/=+$/, "").length % 4 === 1) {
    throw new YtError(`Invalid base64 in ${name} header`, { attributes: { header_name: name } });
  }
  return Buffer.from(header.text, "base64");
}

/** The value of `Content-Length`, `undefined` for a chunked body. */
export function declaredLength(message: IncomingMessage): number | undefined {
  const header = message.headers["content-length"];
  return header === undefined ? undefined : Number(header);
}

/** Whether there is a body at all; a chunked one may still turn out to be empty. */
export function hasBody(message: IncomingMessage): boolean {
  return message.headers["transfer-encoding"] !== undefined || (declaredLength(message) ?? 0) > 0;
}
