/** Cross-origin requests of browsers. Specified in: yt/yt/core/http/helpers.cpp (MaybeHandleCors); http-api §7. */
import type { Exchange } from "./exchange.ts";

const headerList = [
  "Authorization",
  "Origin",
  "Content-Type",
  "Accept",
  "Cache-Control",
  "Request-Timeout",
  "X-Csrf-Token",
  "X-YT-Parameters",
  "X-YT-Parameters0",
  "X-YT-Parameters-0",
  "X-YT-Parameters1",
  "X-YT-Parameters-1",
  "X-YT-Response-Parameters",
  "X-YT-Input-Format",
  "X-YT-Input-Format0",
  "X-YT-Input-Format-0",
  "X-YT-Output-Format",
  "X-YT-Output-Format0",
  "X-YT-Output-Format-0",
  "X-YT-Error-Format",
  "X-YT-Header-Format",
  "X-YT-Suppress-Redirect",
  "X-YT-Omit-Trailers",
  "X-YT-Request-Format-Options",
  "X-YT-Response-Format-Options",
  "X-YT-Request-Id",
  "X-YT-Start-Time",
  "X-YT-Error",
  "X-YT-Response-Code",
  "X-YT-Response-Message",
  "X-YT-Trace-Id",
  "X-YT-User-Tag",
].join(", ");

/** Adds the headers for an allowed origin; answers a preflight. Returns whether the request is answered. */
export function handleCors(exchange: Exchange, isAllowed: (origin: string) => boolean): boolean {
  const { origin } = exchange.message.headers;
  if (origin === undefined || !isAllowed(origin)) {
    return false;
  }
  const { headers } = exchange;
  headers["Access-Control-Allow-Credentials"] = "true";
  headers["Access-Control-Allow-Origin"] = origin;
  headers["Access-Control-Allow-Methods"] = "POST, PUT, GET, OPTIONS";
  headers["Access-Control-Max-Age"] = "3600";
  if (exchange.message.method === "OPTIONS") {
    headers["Access-Control-Allow-Headers"] = headerList;
    exchange.reply(200);
    return true;
  }
  headers["Access-Control-Expose-Headers"] = headerList;
  return false;
}
