/** Who sends a request: the question as `http` puts it, and the answer where everybody is trusted. */
import type { IncomingMessage } from "node:http";
import { headerOf, repeatedHeader } from "./request-headers.ts";

export interface AuthenticationInput {
  readonly method: string;
  /** `undefined` for `/auth/whoami`. */
  readonly command: string | undefined;
  /** Whether the command changes something, whatever the method. */
  readonly isVolatile: boolean;
  readonly authorization: string | undefined;
  readonly cookie: string | undefined;
  readonly csrfToken: string | undefined;
  /** The value of `X-YT-User-Name`. */
  readonly userName: string | undefined;
  /** A header of the above that came more than once. */
  readonly repeatedHeader: string | undefined;
  readonly skipCsrfCheck: boolean;
  readonly remoteAddress: string | undefined;
}

export interface Identity {
  readonly user: string;
  readonly realm?: string;
  /** The cluster that sends the request in the name of the user, when it is a trusted one. */
  readonly peer?: string;
  /** A fresh cookie for the browser. */
  readonly setCookie?: string;
}

/** @throws YtError with codes 110, 111, 900 (401), 901, 903 (403); any other error is 503 */
export type Authenticate = (input: AuthenticationInput) => Identity | Promise<Identity>;

/** Authentication is off: everyone is who he says he is, `root` by default. */
export const trustEveryone: Authenticate = (input) => ({ user: input.userName ?? "root" });

const credentialHeaders = ["authorization", "x-yt-user-name", "x-csrf-token"] as const;

export function authenticationInput(
  message: IncomingMessage,
  command: { readonly name: string; readonly isVolatile: boolean } | undefined,
  skipCsrfCheck: boolean,
): AuthenticationInput {
  return {
    method: message.method ?? "GET",
    command: command?.name,
    isVolatile: command?.isVolatile ?? false,
    authorization: headerOf(message, "authorization"),
    cookie: message.headers.cookie,
    csrfToken: headerOf(message, "x-csrf-token"),
    userName: headerOf(message, "x-yt-user-name"),
    repeatedHeader: repeatedHeader(message, credentialHeaders),
    skipCsrfCheck,
    remoteAddress: message.socket.remoteAddress,
  };
}
