/** The life of a session, and clusters that act for their users, over secrets that the test holds. */
import { YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import type { AuthenticationInput, Identity } from "./authentication.ts";
import { Authenticator, type CookieSession, type CredentialSource } from "./authenticator.ts";

const dayMs = 24 * 3600 * 1000;

class Secrets implements CredentialSource {
  readonly sessions = new Map<string, CookieSession>();
  readonly tokens = new Map([
    ["token of u", "u"],
    ["token of freud", "freud-cluster"],
    ["token of kant", "kant-cluster"],
  ]);
  readonly bannedUsers = new Set(["banned"]);
  isOutOfOrder = false;
  #opened = 0;

  userOfToken(token: string): string | undefined {
    return this.tokens.get(token);
  }

  session(value: string): CookieSession | undefined {
    return this.sessions.get(value);
  }

  async openSession(user: string, expiresAtMs: number): Promise<CookieSession> {
    if (this.isOutOfOrder) {
      throw new YtError("The disk is full");
    }
    const session = { value: `COOKIE${this.#opened++}`, user, expiresAtMs };
    this.sessions.set(session.value, session);
    return session;
  }

  async checkPassword(user: string): Promise<boolean> {
    return user === "u";
  }

  isSuperuser(user: string): boolean {
    if (user === "missing") {
      throw new YtError("No such user", { code: "NoSuchUser" });
    }
    return user === "root";
  }

  checkUser(user: string): void {
    if (this.bannedUsers.has(user)) {
      throw new YtError("Banned", { code: "UserBanned" });
    }
  }
}

function start() {
  const clock = new FakeClock(Date.UTC(2026, 0, 1));
  const secrets = new Secrets();
  const authenticator = new Authenticator({
    credentials: secrets,
    peersByUser: new Map([
      ["freud-cluster", { cluster: "freud", isSuperuserAllowed: false }],
      ["kant-cluster", { cluster: "kant", isSuperuserAllowed: true }],
    ]),
    peersByToken: new Map([["neighbour", { cluster: "hume", isSuperuserAllowed: true }]]),
    clock,
  });
  const ask = async (input: Partial<AuthenticationInput>): Promise<Identity> =>
    authenticator.authenticate({
      method: "GET",
      command: "get",
      isVolatile: false,
      authorization: undefined,
      cookie: undefined,
      csrfToken: undefined,
      userName: undefined,
      repeatedHeader: undefined,
      skipCsrfCheck: false,
      remoteAddress: undefined,
      ...input,
    });
  const askAs = (token: string, userName?: string) => ask({ authorization: `OAuth ${token}`, userName });
  return { clock, secrets, authenticator, ask, askAs };
}

describe("a session", () => {
  it("lasts 90 days, gets a fresh cookie in the last 30, one for all requests, and ends", async () => {
    const { clock, secrets, authenticator, ask } = start();
    await authenticator.login("u", "p");
    const cookie = "YTCypressCookie=COOKIE0";
    expect(await ask({ cookie })).toEqual({ user: "u", realm: "YT" });
    await clock.advance(60 * dayMs);
    expect((await ask({ cookie })).setCookie).toMatch(/^YTCypressCookie=COOKIE1; Expires=Sun, 31 May 2026/);
    expect((await ask({ cookie })).setCookie).toContain("COOKIE1");
    expect((await ask({ cookie: "YTCypressCookie=COOKIE1" })).setCookie).toBeUndefined();
    // The password has changed meanwhile: the fresh one is gone, the next is another.
    secrets.sessions.delete("COOKIE1");
    expect((await ask({ cookie })).setCookie).toContain("COOKIE2");
    await clock.advance(30 * dayMs);
    await expect(ask({ cookie })).rejects.toMatchObject({ code: 111 });
  });

  it("still is one when no fresh cookie can be had", async () => {
    const { clock, secrets, authenticator, ask } = start();
    await authenticator.login("u", "p");
    await clock.advance(61 * dayMs);
    secrets.isOutOfOrder = true;
    expect(await ask({ cookie: "YTCypressCookie=COOKIE0" })).toEqual({ user: "u", realm: "YT" });
  });

  it("shows a CSRF token that is not too old", async () => {
    const { clock, authenticator, ask } = start();
    await authenticator.login("u", "p");
    const csrfToken = authenticator.csrf.sign("u");
    const change = { cookie: "YTCypressCookie=COOKIE0", method: "POST", csrfToken };
    await clock.advance(7 * dayMs);
    expect((await ask(change)).user).toBe("u");
    await clock.advance(1000);
    await expect(ask(change)).rejects.toMatchObject({
      code: 110,
      message: expect.stringContaining("expired"),
    });
  });

  it("is not opened with two cookies, nor for another user", async () => {
    const { authenticator, ask } = start();
    await authenticator.login("u", "p");
    const cookie = "YTCypressCookie=COOKIE0";
    await expect(ask({ cookie: `${cookie}; YTCypressCookie=x` })).rejects.toMatchObject({ code: 111 });
    await expect(ask({ cookie, userName: "root" })).rejects.toMatchObject({ code: 111 });
    // A token goes first, and a wrong one is not made good by a cookie.
    await expect(ask({ cookie, authorization: "OAuth wrong" })).rejects.toMatchObject({ code: 900 });
  });
});

describe("a cluster", () => {
  it("acts for its users when it is a trusted peer, and the request says which it was", async () => {
    const { askAs } = start();
    expect(await askAs("token of freud", "bob")).toEqual({ user: "bob", realm: "YT", peer: "freud" });
    expect(await askAs("token of freud")).toEqual({ user: "freud-cluster", realm: "YT" });
    expect(await askAs("neighbour", "root")).toEqual({ user: "root", realm: "YT", peer: "hume" });
  });

  it("is refused when it is none", async () => {
    const { askAs } = start();
    await expect(askAs("token of u", "bob")).rejects.toMatchObject({
      code: 111,
      message: expect.stringContaining('User "u" may not act for user "bob"'),
    });
  });

  it("acts for superusers only where its entry says so", async () => {
    const { askAs } = start();
    await expect(askAs("token of freud", "root")).rejects.toMatchObject({
      code: 111,
      message: expect.stringContaining("superusers=%true"),
    });
    expect((await askAs("token of kant", "root")).user).toBe("root");
  });

  it("acts for nobody who is banned or does not exist here, and for somebody", async () => {
    const { askAs } = start();
    await expect(askAs("token of freud", "banned")).rejects.toMatchObject({ code: 903 });
    await expect(askAs("token of freud", "missing")).rejects.toMatchObject({
      code: 111,
      message: expect.stringContaining("create the user on this cluster too"),
    });
    await expect(askAs("neighbour")).rejects.toMatchObject({ code: 111 });
  });

  it("acts for nobody when its own user is banned", async () => {
    const { secrets, askAs } = start();
    secrets.bannedUsers.add("freud-cluster");
    await expect(askAs("token of freud", "bob")).rejects.toMatchObject({ code: 903 });
    await expect(askAs("token of freud")).rejects.toMatchObject({ code: 903 });
  });
});
