/** Who sends a request: the question as `http` puts it to the access rules, and the answer without them. */
import { createHmac, randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { headerOf } from "./request-headers.ts";

export interface AuthenticationInput {
  readonly method: string;
  /** `undefined` for `/auth/whoami`. */
  readonly command: string | undefined;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly csrfToken: string | undefined;
  /** The value of `X-YT-User-Name`. */
  readonly userName: string | undefined;
  readonly skipCsrfCheck: boolean;
  readonly remoteAddress: string | undefined;
}

export interface Identity {
  readonly user: string;
  readonly realm?: string;
  /** For the page of a browser session; by default one is made up. */
  readonly csrfToken?: string;
}

/** @throws YtError with codes 110, 111, 900 (401), 901, 903 (403); any other error is 503 */
export type Authenticate = (input: AuthenticationInput) => Identity | Promise<Identity>;

/** Authentication is off: everyone is who he says he is, `root` by default. */
export const trustEveryone: Authenticate = (input) => ({ user: input.userName ?? "root" });

export function authenticationInput(
  message: IncomingMessage,
  command: string | undefined,
  skipCsrfCheck: boolean,
): AuthenticationInput {
  return {
    method: message.method ?? "GET",
    command,
    authorization: headerOf(message, "authorization"),
    cookie: message.headers.cookie,
    csrfToken: headerOf(message, "x-csrf-token"),
    userName: headerOf(message, "x-yt-user-name"),
    skipCsrfCheck,
    remoteAddress: message.socket.remoteAddress,
  };
}

/** Makes tokens for sessions that have none of their own: the web UI refuses to work without. */
export function createCsrfTokens(): (user: string) => string {
  const secret = randomBytes(32);
  return (user) => createHmac("sha256", secret).update(user).digest("hex");
}
