/**
 * Where secrets of users are kept: tokens and sessions as nodes under `//sys`, where only superusers come,
 * passwords on the user objects, where no request can read them. Of tokens and cookies only digests are
 * stored. The real system has cookies there as they are, in the names of nodes; but names of nodes are told
 * in error texts, to those too who may not read them. Everything is read from committed state,
 * so a revoked token ends with the request that revokes it.
 *
 * Specified in: yt/yt/ytlib/api/native/client_authentication_impl.cpp,
 * yt/yt/library/auth_server/{cypress_token_authenticator,cypress_cookie_store}.cpp.
 */
import { bare, isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import {
  generateCookieValue,
  generateToken,
  PasswordHasher,
  sha256Hex,
  tokenPrefix,
} from "../access/authentication/index.ts";
import { builtinUsers, guestUser, ownerSubject, rootUser, superusersGroup } from "../access/index.ts";
import { formatTimeUs } from "./attributes/values.ts";
import type { Cypress } from "./cypress.ts";
import type { Node } from "./node.ts";
import type { Draft, View } from "./node-type.ts";
import { userState } from "./types/subjects.ts";

const tokensPath = "//sys/cypress_tokens";
const cookiesPath = "//sys/cypress_cookies";

/** On the tokens' map: the administrator has been given his first token. */
const firstTokenMark = "first_token_issued";

/** So that nobody fills the memory with what he may have: tokens are refused, the oldest sessions end. */
const maxTokensPerUser = 1000;
const maxSessionsPerUser = 100;

/** Of each of the limits, as in the real system. */
const defaultRequestLimit = 100;

const system = { user: rootUser };

/** A browser session. */
export interface Session {
  /** The cookie. */
  readonly value: string;
  readonly user: string;
  /** Of the password with which it was opened. */
  readonly passwordRevision: bigint;
  /** Unix time in milliseconds. */
  readonly expiresAtMs: number;
}

export interface TokenMetadata {
  readonly description: string;
  readonly tokenPrefix: string;
  /** ISO 8601. */
  readonly creationTime: string;
}

export class Credentials {
  readonly #cypress: Cypress;
  readonly #hasher = new PasswordHasher();
  /** Users of this process's own services by digests of tokens that are never stored. */
  readonly #serviceTokens = new Map<string, string>();
  /** Names of session nodes by user, oldest first; filled when it is first needed. */
  #sessions: Map<string, string[]> | undefined;

  constructor(cypress: Cypress) {
    this.#cypress = cypress;
  }

  /** The user whose token this is; `undefined` when it is nobody's, or the user is gone. */
  userOfToken(token: string): string | undefined {
    const digest = sha256Hex(token);
    return this.#serviceTokens.get(digest) ?? userOfTokenNode(this.#cypress.view(), digest);
  }

  /** A token for a service in this process, good as long as the process. */
  issueServiceToken(user: string): string {
    const token = generateToken();
    this.#serviceTokens.set(sha256Hex(token), user);
    return token;
  }

  /** Whether the user may do everything, for others too. @throws YtError 910 */
  isSuperuser(user: string): boolean {
    const { subjects } = this.#cypress.view();
    const name = this.#canonical(user);
    return name === rootUser || subjects.closureOf(name).has(superusersGroup);
  }

  /** @throws YtError 910, 903 */
  checkUser(user: string): void {
    this.#cypress.access.checkUser(user);
  }

  /**
   * How many requests a second the user may send; built-in users, but for the guest, any number.
   * Specified in: yt/yt/server/master/security_server/security_manager.cpp (EnsureBuiltin…Initialized).
   */
  requestLimits(user: string): {
    readonly readRate: number | undefined;
    readonly writeRate: number | undefined;
    readonly queueSize: number;
  } {
    const view = this.#cypress.view();
    const { id, name } = view.subjects.user(user);
    const { settings } = userState(view.nodeOrThrow(id));
    const isUnlimited = name !== guestUser && builtinUsers.includes(name);
    const limit = (...keys: string[]): number | undefined => {
      const set = keys.map((key) => settings.get(key)).find((value) => typeof value === "bigint");
      return set === undefined ? (isUnlimited ? undefined : defaultRequestLimit) : Number(set);
    };
    return {
      readRate: limit("read_request_rate_limit", "request_rate_limit"),
      writeRate: limit("write_request_rate_limit", "request_rate_limit"),
      queueSize: limit("request_queue_size_limit") ?? Number.POSITIVE_INFINITY,
    };
  }

  /** @throws YtError 910 when there is no such user, 1 when he has too many already */
  async issueToken(user: string, description: string): Promise<string> {
    if (this.tokensOf(user).size >= maxTokensPerUser) {
      throw new YtError(
        `User "${user}" has ${maxTokensPerUser} tokens, which is the limit: revoke those that are not used any more`,
        { attributes: { user, limit: BigInt(maxTokensPerUser) } },
      );
    }
    const token = generateToken();
    await this.#cypress.mutate(system, (draft) => putToken(draft, user, token, description));
    return token;
  }

  /**
   * The administrator's first token. Does nothing if it has been issued before, here or at an earlier start.
   * @param save writes it down; called before it is good for anything
   * @returns whether it was issued
   */
  async issueFirstToken(token: string, save: () => Promise<void>): Promise<boolean> {
    const tokens = this.#cypress.view().findNode(tokensPath);
    if (tokens === undefined || tokens.attributes.has(firstTokenMark)) {
      return false;
    }
    await save();
    await this.#cypress.mutate(system, (draft) => {
      putToken(draft, rootUser, token, "first token, issued at the first start with authentication");
      const map = draft.resolveNode(tokensPath);
      draft.update(map.id, { attributes: new Map(map.attributes).set(firstTokenMark, true) });
    });
    return true;
  }

  /** @throws YtError 1 when the token is not one of the user's */
  checkTokenOwner(digest: string, user: string): void {
    if (userOfTokenNode(this.#cypress.view(), digest) !== this.#canonical(user)) {
      throw new YtError(`Provided token is not recognized as a valid token for user "${user}"`);
    }
  }

  async revokeToken(digest: string): Promise<void> {
    await this.#cypress.mutate(system, (draft) => {
      const node = tokenNode(draft, digest);
      if (node !== undefined) {
        draft.removeNode(node.id);
      }
    });
  }

  /** Digests of the user's tokens. @throws YtError 910 */
  tokensOf(user: string): ReadonlyMap<string, TokenMetadata> {
    const view = this.#cypress.view();
    const name = this.#canonical(user);
    const found = new Map<string, TokenMetadata>();
    const map = view.findNode(tokensPath);
    for (const [digest, id] of map === undefined ? [] : view.children(map.id)) {
      const node = view.node(id);
      if (node !== undefined && userOfTokenNode(view, digest) === name) {
        found.set(digest, {
          description: text(node.attributes.get("description")) ?? "",
          tokenPrefix: text(node.attributes.get("token_prefix")) ?? "",
          creationTime: formatTimeUs(node.creationTimeUs),
        });
      }
    }
    return found;
  }

  /** Whether this is the user's password. Takes as long for a user that does not exist or has none. */
  checkPassword(user: string, passwordSha256: string): Promise<boolean> {
    const view = this.#cypress.view();
    const subject = view.subjects.find(user);
    const node = subject?.kind === "user" ? view.node(subject.id) : undefined;
    const record = node === undefined ? undefined : text(userState(node).settings.get("hashed_password"));
    return this.#hasher.verify(passwordSha256.toLowerCase(), record);
  }

  /** Sessions that were opened with the old password end. @throws YtError 910 */
  async setPassword(user: string, passwordSha256: string, isTemporary: boolean): Promise<void> {
    this.#canonical(user);
    const record = await this.#hasher.hash(passwordSha256.toLowerCase());
    await this.#cypress.mutate(system, (draft) => {
      const node = draft.nodeOrThrow(draft.subjects.user(user).id);
      const state = userState(node);
      const settings = new Map(state.settings)
        .set("hashed_password", record)
        .set("password_revision", new Uint64(draft.nextTimestamp()))
        .set("password_is_temporary", isTemporary);
      draft.update(node.id, { state: { ...state, settings } });
    });
  }

  /** The session of a cookie; `undefined` when there is none, or its password is no longer the user's. */
  session(value: string): Session | undefined {
    const view = this.#cypress.view();
    const map = view.findNode(cookiesPath);
    const node = map === undefined ? undefined : view.child(map.id, sha256Hex(value));
    const session = node === undefined ? undefined : sessionOf(view, node, value);
    return session !== undefined && passwordRevisionOf(view, session.user) === session.passwordRevision
      ? session
      : undefined;
  }

  /** @throws YtError 910; 1 when the user has no password */
  async openSession(user: string, expiresAtMs: number): Promise<Session> {
    const value = generateCookieValue();
    const session = await this.#cypress.mutate(system, (draft) => {
      const { name } = draft.subjects.user(user);
      const passwordRevision = passwordRevisionOf(draft, name);
      if (passwordRevision === undefined) {
        throw new YtError(`User "${name}" has no password`);
      }
      const expiresAt = formatTimeUs(expiresAtMs * 1000);
      const parent = draft.resolveNode(cookiesPath);
      for (const key of this.#sessionsOf(name).slice(0, 1 - maxSessionsPerUser)) {
        const oldest = draft.child(parent.id, key);
        if (oldest !== undefined) {
          draft.removeNode(oldest.id);
        }
      }
      draft.createNode({
        type: "document",
        parent,
        key: sha256Hex(value),
        user: rootUser,
        state: mapOf({
          user: name,
          password_revision: new Uint64(passwordRevision),
          expires_at: expiresAt,
        }),
        attributes: mapOf({ expiration_time: expiresAt }),
      });
      return { value, user: name, passwordRevision, expiresAtMs };
    });
    const known = this.#sessionsOf(session.user);
    this.#sessions?.set(session.user, [...known, sha256Hex(value)]);
    return session;
  }

  /** Names of the user's session nodes, oldest first. */
  #sessionsOf(user: string): readonly string[] {
    const view = this.#cypress.view();
    const map = view.findNode(cookiesPath);
    if (this.#sessions === undefined) {
      const found: [expiresAtMs: number, user: string, key: string][] = [];
      for (const [key, id] of map === undefined ? [] : view.children(map.id)) {
        const node = view.node(id);
        const session = node === undefined ? undefined : sessionOf(view, node, "");
        if (session !== undefined) {
          found.push([session.expiresAtMs, session.user, key]);
        }
      }
      this.#sessions = new Map();
      for (const [, owner, key] of found.sort(([a], [b]) => a - b)) {
        this.#sessions.set(owner, [...(this.#sessions.get(owner) ?? []), key]);
      }
    }
    return (this.#sessions.get(user) ?? []).filter(
      (key) => map !== undefined && view.child(map.id, key) !== undefined,
    );
  }

  /** @throws YtError 910; 1 for the pseudo-user, with whose secrets one would be the owner of everything */
  #canonical(user: string): string {
    const { name } = this.#cypress.view().subjects.user(user);
    if (name === ownerSubject) {
      throw new YtError(
        `User "${name}" stands for whoever owns an object; it has no tokens and no password, name another user`,
        { attributes: { user: name } },
      );
    }
    return name;
  }
}

function putToken(draft: Draft, user: string, token: string, description: string): void {
  const subject = draft.subjects.user(user);
  draft.createNode({
    type: "map_node",
    parent: draft.resolveNode(tokensPath),
    key: sha256Hex(token),
    user: rootUser,
    attributes: mapOf({ user_id: subject.id, description, token_prefix: tokenPrefix(token) }),
  });
}

function tokenNode(view: View, digest: string): Node | undefined {
  const map = view.findNode(tokensPath);
  return map === undefined ? undefined : view.child(map.id, digest);
}

/** Tokens made by hand name the user by `user`, as the older ones of the real system do. None is the owner's. */
function userOfTokenNode(view: View, digest: string): string | undefined {
  const attributes = tokenNode(view, digest)?.attributes;
  const id = text(attributes?.get("user_id"));
  let user: string | undefined;
  if (id !== undefined) {
    const node = view.node(id);
    user = node?.type === "user" ? userState(node).name : undefined;
  } else {
    const name = text(attributes?.get("user"));
    const subject = name === undefined ? undefined : view.subjects.find(name);
    user = subject?.kind === "user" ? subject.name : undefined;
  }
  return user === ownerSubject ? undefined : user;
}

function passwordRevisionOf(view: View, user: string): bigint | undefined {
  const subject = view.subjects.find(user);
  const node = subject?.kind === "user" ? view.node(subject.id) : undefined;
  const revision =
    node === undefined ? null : bare(userState(node).settings.get("password_revision") ?? null);
  return revision instanceof Uint64 ? revision.value : undefined;
}

function sessionOf(view: View, node: Node, value: string): Session | undefined {
  const content = bare(view.typeOf(node).getContent?.(node) ?? null);
  const fields: YsonMap = isMap(content) ? content : new Map();
  const revision = bare(fields.get("password_revision") ?? null);
  const user = text(fields.get("user"));
  const expiresAtMs = Date.parse(text(fields.get("expires_at")) ?? "");
  return user === undefined || !(revision instanceof Uint64) || Number.isNaN(expiresAtMs)
    ? undefined
    : { value, user, passwordRevision: revision.value, expiresAtMs };
}

function text(value: YsonValue | undefined): string | undefined {
  const plain = bare(value ?? null);
  return typeof plain === "string" ? plain : undefined;
}
