/**
 * `/login`: name and password for the cookie of a session.
 * Specified in: yt/yt/library/auth_server/cypress_cookie_login.cpp; http-api §8.
 */
import { isUtf8 } from "node:buffer";
import { YtError } from "@qyt/base";
import { replyError, toAuthenticationError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";
import { HttpError } from "./http-error.ts";
import { headerOf, repeatedHeader } from "./request-headers.ts";

/** @returns the value of `Set-Cookie`; `undefined` when user or password is wrong */
export type Login = (user: string, password: string) => Promise<string | undefined>;

export async function handleLogin(exchange: Exchange, login: Login): Promise<void> {
  const { message, headers } = exchange;
  const authorization = headerOf(message, "authorization");
  if (authorization === undefined) {
    headers["WWW-Authenticate"] = "Basic";
    return exchange.reply(401);
  }
  try {
    if (repeatedHeader(message, ["authorization"]) !== undefined) {
      throw badRequest('Header "authorization" was sent more than once; send it once');
    }
    const { user, password } = basicCredentials(authorization);
    const cookie = await login(user, password);
    if (cookie === undefined) {
      headers["WWW-Authenticate"] = "Basic";
      throw new HttpError(401, new YtError("Incorrect login or password"));
    }
    exchange.user = user;
    headers["Set-Cookie"] = cookie;
    exchange.reply(200);
  } catch (error) {
    replyError(exchange, toAuthenticationError(error));
  }
}

/** The password may have colons in it, the name none. */
function basicCredentials(authorization: string): { readonly user: string; readonly password: string } {
  const space = authorization.indexOf(" ");
  if (space === -1) {
    throw badRequest('Malformed "Authorization" header: failed to parse authorization method');
  }
  const method = authorization.slice(0, space);
  if (method !== "Basic") {
    throw badRequest(`Unsupported authorization method "${method}"; "Basic" is expected`);
  }
  const encoded = authorization.slice(space + 1).trim();
  const bytes = Buffer.from(encoded, "base64");
  const text = /^[A-Za-z0-9+/]*={0,2}$/.test(encoded) && isUtf8(bytes) ? bytes.toString("utf8") : "";
  const colon = text.indexOf(":");
  if (colon === -1) {
    throw badRequest("Failed to parse user credentials");
  }
  return { user: text.slice(0, colon), password: text.slice(colon + 1) };
}

function badRequest(message: string): HttpError {
  return new HttpError(400, new YtError(message));
}
