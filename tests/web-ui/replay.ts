/**
 * Sends a recorded request of the web UI the way its server forwards it: parameters as base64 JSON in numbered
 * header parts, parameters of batches as a JSON body that is encoded twice, gzip, and no redirect.
 */
import type { RecordedCommand, RecordedRoute } from "./recorded-requests.ts";

export interface Replayed {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const correlationId = "8f5e0c6f-0b7a-4c7e-9a3f-5f0e4d0f3a11.web-ui-test";
/** How many characters of base64 one header part has. */
const partLength = 64 * 1024;

/** The answer to a command. @param origin `http://host:port` */
export function replayCommand(origin: string, recorded: RecordedCommand): Promise<Replayed> {
  const headers: Record<string, string> = {
    Accept: "application/json",
    "Accept-Encoding": "gzip",
    "X-YT-Suppress-Redirect": "1",
    "X-YT-Correlation-Id": correlationId,
  };
  const method =
    recorded.command === "execute_batch" || recorded.command === "get_tablet_errors" ? "POST" : "GET";
  const init: RequestInit = { method, headers };
  if (method === "POST") {
    headers["Content-Type"] = "application/json";
  }
  if (recorded.command === "execute_batch") {
    init.body = twiceEncoded(JSON.stringify(recorded.parameters));
  } else {
    headers["X-YT-Header-Format"] = "<encode_utf8=%false>json";
    const encoded = Buffer.from(
      JSON.stringify({ ...recorded.parameters, suppress_access_tracking: "true" }),
    ).toString("base64");
    for (let at = 0, part = 0; at < encoded.length; at += partLength, part++) {
      headers[`X-YT-Parameters-${part}`] = encoded.slice(at, at + partLength);
    }
  }
  return send(`${origin}/api/${recorded.api}/${recorded.command}`, init);
}

/** The answer to a route that is no command. */
export function replayRoute(origin: string, { path }: RecordedRoute): Promise<Replayed> {
  return send(`${origin}${path}`, { headers: { "X-YT-Correlation-Id": correlationId } });
}

async function send(url: string, init: RequestInit): Promise<Replayed> {
  const response = await fetch(url, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** Each byte of the UTF-8 form as a character of its own, which is encoded once more on its way. */
function twiceEncoded(text: string): string {
  return Buffer.from(text).toString("latin1");
}
