/**
 * Authentication that is on: tokens, cookies of browser sessions, and clusters that act for their users.
 *
 * Specified in: yt/yt/server/http_proxy/http_authenticator.cpp,
 * yt/yt/library/auth_server/{cypress_token_authenticator,cypress_cookie_authenticator}.cpp; http-api §8.
 */
import { type Clock, toYtError, YtError } from "@qyt/base";
import { CsrfTokens, isSameSecret, sha256Hex } from "../access/authentication/index.ts";
import { commandsForBanned } from "../driver/access.ts";
import type { Authenticate, AuthenticationInput, Identity } from "./authentication.ts";

/** A browser session. */
export interface CookieSession {
  readonly value: string;
  readonly user: string;
  /** Unix time in milliseconds. */
  readonly expiresAtMs: number;
}

/** What is known of users and their secrets. */
export interface CredentialSource {
  userOfToken(token: string): string | undefined;
  session(cookieValue: string): CookieSession | undefined;
  openSession(user: string, expiresAtMs: number): Promise<CookieSession>;
  checkPassword(user: string, passwordSha256: string): Promise<boolean>;
  isSuperuser(user: string): boolean;
  /** @throws YtError 910, 903 */
  checkUser(user: string): void;
}

/** A cluster whose requests are made for users of its own. */
export interface TrustedPeer {
  readonly cluster: string;
  /** Whether it may act for superusers too. */
  readonly isSuperuserAllowed: boolean;
}

export interface AuthenticatorOptions {
  readonly credentials: CredentialSource;
  /** By the user as whom the other cluster authenticates. */
  readonly peersByUser: ReadonlyMap<string, TrustedPeer>;
  /** By the secret of a cluster in the same process. */
  readonly peersByToken: ReadonlyMap<string, TrustedPeer>;
  readonly clock: Clock;
}

const cookieName = "YTCypressCookie";

/** Both as in the real system, in milliseconds: how long a session lasts, and when it gets a fresh cookie. */
const dayMs = 24 * 3600 * 1000;
const sessionMs = 90 * dayMs;
const renewalMs = 30 * dayMs;

const realm = "YT";

export class Authenticator {
  readonly csrf: CsrfTokens;
  readonly #credentials: CredentialSource;
  readonly #peersByUser: ReadonlyMap<string, TrustedPeer>;
  readonly #peersByDigest: ReadonlyMap<string, TrustedPeer>;
  readonly #clock: Clock;
  /** The newest cookies, so that many requests at the end of a session make one new one. */
  readonly #renewed = new Map<string, CookieSession>();

  constructor(options: AuthenticatorOptions) {
    this.csrf = new CsrfTokens(options.clock);
    this.#credentials = options.credentials;
    this.#peersByUser = options.peersByUser;
    this.#peersByDigest = new Map([...options.peersByToken].map(([token, peer]) => [sha256Hex(token), peer]));
    this.#clock = options.clock;
  }

  /** @throws YtError 110, 111, 900, 903 */
  readonly authenticate: Authenticate = (input) => {
    if (input.repeatedHeader !== undefined) {
      throw refused(`Header "${input.repeatedHeader}" was sent more than once; send it once`);
    }
    const token = tokenOf(input.authorization);
    if (token !== undefined) {
      return this.#admit(this.#byToken(token, input.userName), input);
    }
    const cookie = cookieOf(input.cookie);
    if (cookie !== undefined) {
      return this.#byCookie(cookie, input);
    }
    throw refused("Client is missing credentials");
  };

  /**
   * Opens a session for who knows the password.
   * @returns the value of `Set-Cookie`; `undefined` when user or password is wrong
   * @throws YtError 108 when too many passwords are being checked
   */
  async login(user: string, password: string): Promise<string | undefined> {
    if (!(await this.#credentials.checkPassword(user, sha256Hex(password)))) {
      return undefined;
    }
    return cookieHeader(await this.#credentials.openSession(user, this.#clock.now() + sessionMs));
  }

  #byToken(token: string, actsFor: string | undefined): Identity {
    const digest = sha256Hex(token);
    const neighbour = this.#peersByDigest.get(digest);
    if (neighbour !== undefined) {
      if (actsFor === undefined) {
        throw refused(`Cluster "${neighbour.cluster}" did not say for whom it acts`);
      }
      return this.#actFor(neighbour, actsFor);
    }
    const user = this.#credentials.userOfToken(token);
    if (user === undefined) {
      throw new YtError("Authentication failed", {
        code: "SecurityAuthenticationError",
        inner: [
          new YtError("Token is missing in Cypress", {
            code: "InvalidCredentials",
            attributes: { token_hash: digest },
          }),
        ],
      });
    }
    if (actsFor === undefined) {
      return { user, realm };
    }
    const peer = this.#peersByUser.get(user);
    if (peer === undefined) {
      throw refused(
        `User "${user}" may not act for user "${actsFor}": only clusters that are named as peers with this user may`,
        { user, impersonated_user: actsFor },
      );
    }
    this.#credentials.checkUser(user);
    return this.#actFor(peer, actsFor);
  }

  #actFor(peer: TrustedPeer, user: string): Identity {
    const attributes = { peer: peer.cluster, user };
    let isSuperuser: boolean;
    try {
      isSuperuser = this.#credentials.isSuperuser(user);
    } catch (thrown) {
      throw new YtError(
        `Cluster "${peer.cluster}" acts for user "${user}", who does not exist here; create the user on this cluster too`,
        { code: "InvalidCredentials", attributes, inner: [toYtError(thrown)] },
      );
    }
    if (isSuperuser && !peer.isSuperuserAllowed) {
      throw refused(
        `Cluster "${peer.cluster}" may not act for superuser "${user}" here; act as another user, or allow it with superusers=%true in the entry of the peer`,
        attributes,
      );
    }
    return { user, realm, peer: peer.cluster };
  }

  #byCookie(value: string, input: AuthenticationInput): Identity | Promise<Identity> {
    if (input.userName !== undefined) {
      throw refused("A session cannot act for another user: leave X-YT-User-Name out");
    }
    const session = this.#credentials.session(value);
    if (session === undefined) {
      throw refused("Unknown credentials: log in again");
    }
    const now = this.#clock.now();
    if (session.expiresAtMs <= now) {
      throw refused("The session has expired: log in again");
    }
    // The verb has no say over what a command does, so neither has it here over what needs the token.
    if ((input.method !== "GET" || input.isVolatile) && !input.skipCsrfCheck) {
      if (input.csrfToken === undefined) {
        throw refused("CSRF token is missing");
      }
      this.csrf.check(session.user, input.csrfToken);
    }
    const identity = this.#admit({ user: session.user, realm }, input);
    return session.expiresAtMs > now + renewalMs ? identity : this.#renew(identity, session);
  }

  /** A session that cannot be made longer still is one. */
  async #renew(identity: Identity, session: CookieSession): Promise<Identity> {
    const known = this.#renewed.get(session.user);
    try {
      const isGood =
        known !== undefined &&
        known.expiresAtMs > this.#clock.now() + renewalMs &&
        this.#credentials.session(known.value) !== undefined;
      const fresh = isGood
        ? known
        : await this.#credentials.openSession(session.user, this.#clock.now() + sessionMs);
      this.#renewed.set(session.user, fresh);
      return { ...identity, setCookie: cookieHeader(fresh) };
    } catch {
      return identity;
    }
  }

  /** @throws YtError 903 */
  #admit(identity: Identity, input: AuthenticationInput): Identity {
    if (input.command === undefined || !commandsForBanned.has(input.command)) {
      this.#credentials.checkUser(identity.user);
    }
    return identity;
  }
}

function refused(message: string, attributes: Readonly<Record<string, string>> = {}): YtError {
  return new YtError(message, { code: "InvalidCredentials", attributes });
}

/** `undefined` when there is none, or an empty one. @throws YtError 111 for another scheme */
function tokenOf(authorization: string | undefined): string | undefined {
  // The parser of the runtime takes the space off an empty token.
  if (authorization === undefined || authorization === "OAuth") {
    return undefined;
  }
  const prefix = "OAuth ";
  if (!authorization.startsWith(prefix)) {
    throw refused('Malformed Authorization header: "OAuth <token>" is expected');
  }
  const token = authorization.slice(prefix.length).trim();
  return token === "" ? undefined : token;
}

/** @throws YtError 111 when two different cookies of the name are sent */
function cookieOf(header: string | undefined): string | undefined {
  const values = (header ?? "").split(";").flatMap((pair) => {
    const [name, ...rest] = pair.split("=");
    return name?.trim() === cookieName ? [rest.join("=").trim()] : [];
  });
  const [first, ...others] = values;
  if (first !== undefined && others.some((other) => !isSameSecret(other, first))) {
    throw refused(`Cookie "${cookieName}" was sent more than once`);
  }
  return first === "" ? undefined : first;
}

function cookieHeader({ value, expiresAtMs }: CookieSession): string {
  return `${cookieName}=${value}; Expires=${new Date(expiresAtMs).toUTCString()}; Secure; HttpOnly; Path=/`;
}
