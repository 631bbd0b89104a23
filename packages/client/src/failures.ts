/** What went wrong with a request, as an error: refusals of the proxy, and failures of the line to it. */
import { errorCodes, YtError } from "@qyt/base";
import { errorFromYson, parseJson } from "@qyt/yson";
import type { TransportResponse } from "./transport.ts";

/** How much text of an undecodable error answer is quoted. */
const quotedBodyBytes = 512;

/** The error that an answer tells in its body or headers. */
export async function refusal(response: TransportResponse): Promise<YtError> {
  const header = response.headers.get("x-yt-error");
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response.body) {
      chunks.push(chunk);
    }
  } catch {
    // What came may do.
  }
  const body = Buffer.concat(chunks);
  for (const source of [body, header === undefined ? undefined : Buffer.from(header, "latin1")]) {
    if (source !== undefined && source.length > 0) {
      try {
        return errorFromText(source);
      } catch {
        // The next source may be readable.
      }
    }
  }
  return new YtError(`The proxy answered HTTP ${response.status} without an error document`, {
    code: response.status === 503 || response.status === 500 ? errorCodes.Unavailable : errorCodes.Generic,
    attributes: { http_status: BigInt(response.status), body: body.toString("latin1", 0, quotedBodyBytes) },
  });
}

/** @throws YtError 4000 when it is no error document */
export function errorFromText(bytes: Uint8Array): YtError {
  return errorFromYson(parseJson(bytes));
}

/** A failure of the line. `signal`: that of the request, which may be what ended it. */
export function transportError(
  thrown: unknown,
  command: string,
  where: { readonly proxy?: string; readonly signal?: AbortSignal | undefined } = {},
): YtError {
  const { proxy, signal } = where;
  if (thrown instanceof YtError) {
    return thrown;
  }
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  const aborted = cause.name === "AbortError" || signal?.aborted === true;
  return new YtError(
    aborted
      ? `Request "${command}" was canceled`
      : `Cannot reach the proxy${proxy === undefined ? "" : ` ${proxy}`}: ${cause.message || cause.name}; ${adviceOn(cause)}`,
    {
      code: aborted ? errorCodes.Canceled : errorCodes.TransportError,
      cause: thrown,
      attributes: wasRefusedAtConnect(cause) ? { never_sent: true } : {},
    },
  );
}

function adviceOn(cause: Error): string {
  return isCertificateRefused(cause)
    ? "check that the address is one that its certificate names, and give the certificate of its authority with the option ca"
    : "check that it runs and that the address is right";
}

/** The connection was not made, so nothing was sent over it. */
function wasRefusedAtConnect(cause: Error): boolean {
  return (
    ("code" in cause && (cause.code === "ECONNREFUSED" || cause.code === "UND_ERR_CONNECT_TIMEOUT")) ||
    isCertificateRefused(cause)
  );
}

/** Codes of OpenSSL's verification, and of Node's for the name in the certificate. */
function isCertificateRefused(cause: Error): boolean {
  return (
    "code" in cause &&
    typeof cause.code === "string" &&
    /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_|UNABLE_TO_(GET|VERIFY)_)/.test(
      cause.code,
    )
  );
}
