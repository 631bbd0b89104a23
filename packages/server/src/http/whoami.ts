/** `/auth/whoami`: the name of the caller. Specified in: yt/yt/server/http_proxy/http_authenticator.cpp; http-api §8. */
import { type Authenticate, authenticationInput } from "./authentication.ts";
import { replyError, toAuthenticationError } from "./error-reply.ts";
import type { Exchange } from "./exchange.ts";

export async function handleWhoAmI(
  exchange: Exchange,
  authenticate: Authenticate,
  csrfTokenFor: (user: string) => string,
): Promise<void> {
  const { headers } = exchange;
  headers.Pragma = "nocache";
  headers.Expires = "Thu, 01 Jan 1970 00:00:01 GMT";
  headers["Cache-Control"] = "max-age=0, must-revalidate, proxy-revalidate, no-cache, no-store, private";
  headers["X-Content-Type-Options"] = "nosniff";
  headers["X-Frame-Options"] = "SAMEORIGIN";
  headers["X-DNS-Prefetch-Control"] = "off";
  try {
    const identity = await authenticate(authenticationInput(exchange.message, undefined, true));
    exchange.user = identity.user;
    if (identity.setCookie !== undefined) {
      headers["Set-Cookie"] = identity.setCookie;
    }
    headers["Content-Type"] = "application/json";
    exchange.reply(
      200,
      JSON.stringify({
        login: identity.user,
        realm: identity.realm ?? "YT",
        csrf_token: csrfTokenFor(identity.user),
      }),
    );
  } catch (error) {
    replyError(exchange, toAuthenticationError(error));
  }
}
