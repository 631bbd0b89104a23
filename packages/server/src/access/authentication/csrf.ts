/**
 * Tokens that a page of a browser session has to show with each change: another site can make the browser
 * send its cookie, but cannot read the token.
 *
 * Specified in: yt/yt/library/auth_server/helpers.cpp (SignCsrfToken, CheckCsrfToken).
 */
import { createHmac, randomBytes } from "node:crypto";
import { type Clock, YtError } from "@qyt/base";
import { isSameSecret } from "./secrets.ts";

/** As in the real system. */
const lifetimeSeconds = 7 * 24 * 3600;

/** Signs and checks tokens with a key that lives as long as the process; a page asks for a new one. */
export class CsrfTokens {
  readonly #key = randomBytes(32);
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  sign(user: string): string {
    const seconds = Math.floor(this.#clock.now() / 1000);
    return `${this.#signature(user, seconds)}:${seconds}`;
  }

  /** @throws YtError 110 when the token is not one of this user, or too old */
  check(user: string, token: string): void {
    const match = /^([0-9a-f]{64}):(\d{1,12})$/.exec(token.trim());
    const seconds = Number(match?.[2]);
    if (match === null || !isSameSecret(match[1] ?? "", this.#signature(user, seconds))) {
      throw new YtError("Invalid CSRF token; get a new one from /auth/whoami", { code: "InvalidCsrfToken" });
    }
    if (seconds + lifetimeSeconds < this.#clock.now() / 1000) {
      throw new YtError("CSRF token expired; get a new one from /auth/whoami", {
        code: "InvalidCsrfToken",
        attributes: { sign_time: BigInt(seconds) },
      });
    }
  }

  #signature(user: string, seconds: number): string {
    return createHmac("sha256", this.#key).update(`${user}:${seconds}`).digest("hex");
  }
}
