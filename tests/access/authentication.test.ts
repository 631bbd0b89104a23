/** Authentication that is on: tokens, passwords, sessions, bans. */
import { isList, mapOf } from "@qyt/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { basic, bearer, GuardedCluster, sha256 } from "./guarded-cluster.ts";

const password = "  :  -_-";
let cluster: GuardedCluster;
let token: string;

beforeAll(async () => {
  cluster = await GuardedCluster.start();
  token = await cluster.user("u");
  await cluster.setPassword("u", password);
});
afterAll(() => cluster.close());

const anything = "/api/v4/get?path=//@";

describe("tokens", () => {
  it("[http 126] a request without credentials is refused", async () => {
    for (const headers of [[], [["Authorization", "OAuth "]], [["Cookie", "other=1"]]] as const) {
      const reply = await cluster.send(anything, { headers: [...headers] });
      expect(reply).toMatchObject({ status: 401, code: 111, message: "Client is missing credentials" });
    }
  });

  it("[http 127] an unknown token is refused, whoami included", async () => {
    for (const path of [anything, "/auth/whoami"]) {
      const reply = await cluster.send(path, { method: "POST", headers: [bearer("bad")] });
      expect(reply).toMatchObject({ status: 401, code: 900, message: "Authentication failed" });
      expect(reply.headers.get("x-yt-error")).toContain(sha256("bad"));
      expect(reply.text).not.toContain('"bad"');
    }
  });

  it.each(["Bearer x", "oauth x", "OAuthx", "Basic dTpw", "OAuth\tx"])(
    "[http 128] the scheme of %j is refused",
    async (value) => {
      const reply = await cluster.send(anything, { headers: [["Authorization", value]] });
      expect(reply).toMatchObject({ status: 401, code: 111 });
    },
  );

  it("[http 129] a token stands for its user, and for nobody else", async () => {
    const mine = [bearer(token)] as const;
    const reply = await cluster.send("/api/v4/get_current_user", { headers: mine });
    expect([reply.status, reply.text]).toEqual([200, '{"user":"u"}']);
    for (const name of ["root", "u", "nobody"]) {
      const other = await cluster.send("/api/v4/get_current_user", {
        headers: [...mine, ["X-YT-User-Name", name]],
      });
      expect(other).toMatchObject({ status: 401, code: 111 });
    }
    const root = await cluster.send("/api/v4/get_current_user", {
      headers: [bearer(cluster.rootToken), ["X-YT-User-Name", "u"]],
    });
    expect(root).toMatchObject({ status: 401, code: 111 });
  });

  it("[http 134] what a user may not do is refused as always", async () => {
    await cluster.root.execute("create", {
      type: "map_node",
      path: "//tmp/secret",
      attributes: mapOf({ inherit_acl: false, acl: [] }),
    });
    const reply = await cluster.call("get", { path: "//tmp/secret" }, { headers: [bearer(token)] });
    expect(reply).toMatchObject({ status: 400, code: 901 });
  });

  it("[tables 201] are issued, listed by digest, revoked, and good for nothing then", async () => {
    const own = { headers: [bearer(token)] };
    const credentials = { user: "u", password_sha256: sha256(password) };
    const issued = await cluster.call("issue_token", { ...credentials, description: "for tests" }, own);
    const second: unknown = JSON.parse(issued.text);
    expect(second).toMatch(/^[0-9a-f]{32}$/);
    const digest = sha256(String(second));
    const listed = await cluster.call("list_user_tokens", credentials, own);
    const digests: unknown = JSON.parse(listed.text);
    expect(new Set(Array.isArray(digests) ? digests : [])).toEqual(new Set([sha256(token), digest]));
    const described = await cluster.call("list_user_tokens", { ...credentials, with_metadata: true }, own);
    expect(JSON.parse(described.text)).toMatchObject({
      [digest]: { description: "for tests", token_prefix: String(second).slice(0, 4) },
    });
    expect(String(described.text)).not.toContain(second);
    expect((await cluster.send(anything, { headers: [bearer(String(second))] })).status).toBe(200);
    const revoked = await cluster.call("revoke_token", { ...credentials, token_sha256: digest }, own);
    expect(revoked.status).toBe(200);
    expect(await cluster.send(anything, { headers: [bearer(String(second))] })).toMatchObject({ code: 900 });
  });

  it("made by hand are good too, as in the real system", async () => {
    await cluster.root.execute("create", {
      type: "document",
      path: `//sys/cypress_tokens/${sha256("XXX")}`,
      attributes: mapOf({ user: "u", token_prefix: "" }),
    });
    expect((await cluster.send("/api/v4/get_current_user", { headers: [bearer("XXX")] })).text).toBe(
      '{"user":"u"}',
    );
    await cluster.root.execute("revoke_token", { user: "u", token_sha256: sha256("XXX") });
    expect((await cluster.send(anything, { headers: [bearer("XXX")] })).code).toBe(900);
  });

  it("end with their user, and a new one of the name does not get them", async () => {
    const old = await cluster.user("shortlived");
    await cluster.root.remove("//sys/users/shortlived");
    await cluster.user("shortlived");
    expect((await cluster.send(anything, { headers: [bearer(old)] })).code).toBe(900);
  });

  it("are nobody's who does not exist", async () => {
    const headers = [bearer(cluster.rootToken)];
    expect((await cluster.call("issue_token", { user: "missing" }, { headers })).code).toBe(910);
    expect((await cluster.call("list_user_tokens", { user: "missing" }, { headers })).code).toBe(910);
  });

  it("are not for the pseudo-user that stands for owners, however they are made", async () => {
    const headers = [bearer(cluster.rootToken)];
    for (const [command, more] of [
      ["issue_token", {}],
      ["set_user_password", { new_password_sha256: sha256("x") }],
    ] as const) {
      const reply = await cluster.call(command, { user: "owner", ...more }, { headers });
      expect(reply).toMatchObject({ status: 400, code: 1 });
      expect(reply.message).toContain('User "owner" stands for whoever owns an object');
    }
    await cluster.root.execute("create", {
      type: "document",
      path: `//sys/cypress_tokens/${sha256("OWNER")}`,
      attributes: mapOf({ user: "owner" }),
    });
    expect((await cluster.send(anything, { headers: [bearer("OWNER")] })).code).toBe(900);
  });

  it("of another user are not one's business", async () => {
    const other = await cluster.user("other");
    const headers = [bearer(token)];
    for (const [command, more] of [
      ["issue_token", {}],
      ["list_user_tokens", {}],
      ["revoke_token", { token_sha256: sha256(other) }],
      ["set_user_password", { new_password_sha256: sha256("x") }],
    ] as const) {
      const reply = await cluster.call(command, { user: "other", ...more }, { headers });
      expect(reply).toMatchObject({ status: 400, code: 1 });
      expect(reply.message).toContain("either by user theirselves or by a superuser");
    }
    // Under the own name it is still not one's own token.
    const reply = await cluster.call(
      "revoke_token",
      { user: "u", password_sha256: sha256(password), token_sha256: sha256(other) },
      { headers },
    );
    expect(reply.message).toBe('Provided token is not recognized as a valid token for user "u"');
  });
});

describe("passwords", () => {
  it("are asked for by the commands about oneself", async () => {
    const headers = [bearer(token)];
    for (const [command, more] of [
      ["issue_token", {}],
      ["issue_token", { password_sha256: sha256("wrong") }],
      ["list_user_tokens", {}],
      ["revoke_token", { token_sha256: sha256(token) }],
      ["set_user_password", { new_password_sha256: sha256("x") }],
    ] as const) {
      const reply = await cluster.call(command, { user: "u", ...more }, { headers });
      expect(reply).toMatchObject({ status: 400, code: 1, message: "User provided invalid password" });
    }
  });

  it("cannot be set by who has none: the administrator sets the first", async () => {
    const fresh = await cluster.user("fresh");
    const parameters = { user: "fresh", new_password_sha256: sha256("p") };
    const reply = await cluster.call("set_user_password", parameters, { headers: [bearer(fresh)] });
    expect(reply.message).toBe("User provided invalid password");
    const root = await cluster.call("set_user_password", parameters, {
      headers: [bearer(cluster.rootToken)],
    });
    expect(root.status).toBe(200);
  });

  it("can be changed by who knows them, however the digest is written", async () => {
    const own = [bearer(await cluster.user("changer"))];
    await cluster.setPassword("changer", "first");
    const change = {
      user: "changer",
      current_password_sha256: sha256("first").toUpperCase(),
      new_password_sha256: sha256("second"),
    };
    expect((await cluster.call("set_user_password", change, { headers: own })).status).toBe(200);
    expect((await cluster.call("set_user_password", change, { headers: own })).status).toBe(400);
    expect(await cluster.login("changer", "second")).toMatch(/^[0-9A-F]{64}$/);
  });

  it("are refused as plain text", async () => {
    const reply = await cluster.call(
      "set_user_password",
      { user: "u", new_password_sha256: "secret" },
      { headers: [bearer(cluster.rootToken)] },
    );
    expect(reply.message).toContain("64 hexadecimal digits");
  });

  it("are shown to nobody, not as hashes either", async () => {
    const all = await cluster.root.get("//sys/users/u/@");
    expect(JSON.stringify([...(all instanceof Map ? all.keys() : [])])).not.toMatch(/hash|salt/);
    for (const name of ["hashed_password", "password_salt", "settings"]) {
      await expect(cluster.root.get(`//sys/users/u/@${name}`)).rejects.toMatchObject({ code: 500 });
    }
  });
});

describe("sessions", () => {
  it("[http 132] /login asks for name and password, and tells no reason", async () => {
    for (const path of ["/login", "/login/", "/login/foo?bar=a&baz=b"]) {
      const reply = await cluster.send(path);
      expect(reply.status).toBe(401);
      expect(reply.headers.get("www-authenticate")).toBe("Basic");
    }
    for (const [user, wrong] of [
      ["u", "wrong"],
      ["nobody", password],
      ["other", ""],
    ] as const) {
      const reply = await cluster.send("/login", { headers: [basic(user, wrong)] });
      expect(reply).toMatchObject({ status: 401, message: "Incorrect login or password" });
      expect(reply.headers.get("www-authenticate")).toBe("Basic");
      expect(reply.headers.has("set-cookie")).toBe(false);
    }
    for (const malformed of ["Basic", "Basic !!!", "Basic dQ==", "Bearer x", "basic dTp4"]) {
      expect((await cluster.send("/login", { headers: [["Authorization", malformed]] })).status).toBe(400);
    }
    const reply = await cluster.send("/login", { headers: [basic("u", password)] });
    expect(reply.status).toBe(200);
    expect(reply.headers.get("set-cookie")).toMatch(
      /^YTCypressCookie=[0-9A-F]{64}; Expires=\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT; Secure; HttpOnly; Path=\/$/,
    );
  });

  it("[http 130] a session shows a token with all that changes something", async () => {
    const cookie: [string, string] = ["Cookie", `YTCypressCookie=${await cluster.login("u", password)}`];
    const send = (method: string, path: string, csrf?: string) =>
      cluster.send(path, {
        method,
        headers: [cookie, ...(csrf === undefined ? [] : [["X-Csrf-Token", csrf] as const])],
      });
    expect((await send("GET", anything)).status).toBe(200);
    expect(await send("POST", anything)).toMatchObject({
      status: 401,
      code: 111,
      message: "CSRF token is missing",
    });
    expect(await send("POST", anything, "x")).toMatchObject({ status: 401, code: 110 });
    const whoami = await send("POST", "/auth/whoami");
    const { login, csrf_token }: { login: string; csrf_token: string } = JSON.parse(whoami.text);
    expect(login).toBe("u");
    expect((await send("POST", anything, csrf_token)).status).toBe(200);
    const [signature = "", time = ""] = csrf_token.split(":");
    for (const forged of [signature, `${signature}:${Number(time) + 1}`, `${"0".repeat(64)}:${time}`]) {
      expect(await send("POST", anything, forged)).toMatchObject({ status: 401, code: 110 });
    }
    // A page can make the browser send a GET, and no verb stops a command from doing its work.
    const creating = "/api/v4/create?type=map_node&path=//tmp/csrf";
    expect(await send("GET", creating)).toMatchObject({ status: 401, code: 111 });
    expect((await send("GET", creating, csrf_token)).status).toBe(200);
  });

  it("the token of one user is not that of another", async () => {
    await cluster.setPassword("other", "o");
    const cookieOf = (value: string): [string, string] => ["Cookie", `YTCypressCookie=${value}`];
    const others = cookieOf(await cluster.login("other", "o"));
    const mine = cookieOf(await cluster.login("u", password));
    const whoami = await cluster.send("/auth/whoami", { headers: [others] });
    const { csrf_token }: { csrf_token: string } = JSON.parse(whoami.text);
    const reply = await cluster.send(anything, {
      method: "POST",
      headers: [mine, ["X-Csrf-Token", csrf_token]],
    });
    expect(reply).toMatchObject({ status: 401, code: 110 });
  });

  it("end when the password changes, and when somebody makes up a cookie", async () => {
    await cluster.user("sessions");
    await cluster.setPassword("sessions", "1");
    const first = await cluster.login("sessions", "1");
    const get = (cookie: string) =>
      cluster.send(anything, { headers: [["Cookie", `a=b; YTCypressCookie=${cookie}`]] });
    expect((await get(first)).status).toBe(200);
    await cluster.setPassword("sessions", "2");
    const second = await cluster.login("sessions", "2");
    expect(await get(first)).toMatchObject({ status: 401, code: 111 });
    expect((await get(second)).status).toBe(200);
    for (const made of ["ABCDDCBA", "", "*", "..", second.toLowerCase()]) {
      expect((await get(made)).status).toBe(401);
    }
  });

  it("are at most 100 for one user: the oldest end, those of others stay", async () => {
    const { credentials } = cluster.cluster.services;
    const expiresAtMs = Date.now() + 3_600_000;
    await cluster.user("neighbour");
    await cluster.setPassword("neighbour", "n");
    const others = await credentials.openSession("neighbour", expiresAtMs);
    const opened = [];
    for (let i = 0; i < 101; i++) {
      opened.push(await credentials.openSession("u", expiresAtMs + i));
    }
    const [first, second] = opened;
    expect(credentials.session(first?.value ?? "")).toBeUndefined();
    expect(credentials.session(second?.value ?? "")).toBeDefined();
    expect(credentials.session(others.value)).toBeDefined();
    const cookies = await cluster.root.list("//sys/cypress_cookies");
    expect(isList(cookies) && cookies.length).toBeLessThan(110);
  });
});

describe("a banned user", () => {
  it("[http 131] is refused with 403, but may ping", async () => {
    const banned = await cluster.user("banned");
    await cluster.setPassword("banned", "b");
    const headers = [bearer(banned)];
    const started = await cluster.call("start_transaction", {}, { method: "POST", headers });
    const { transaction_id }: { transaction_id: string } = JSON.parse(started.text);
    const cookie = await cluster.login("banned", "b");
    await cluster.set("//sys/users/banned/@banned", true);
    for (const credential of [headers, [["Cookie", `YTCypressCookie=${cookie}`] as const]]) {
      const reply = await cluster.send(anything, { headers: credential });
      expect(reply).toMatchObject({ status: 403, code: 903 });
    }
    const parsed = await cluster.call("parse_ypath", { path: "//tmp" }, { headers });
    expect(parsed).toMatchObject({ status: 200 });
    const ping = await cluster.call("ping_transaction", { transaction_id }, { method: "POST", headers });
    expect(ping.status).toBe(200);
  });
});

describe("the limits of a user", () => {
  it("answer 904 as an error of the command, for the parts of a batch too", async () => {
    const headers = [bearer(await cluster.user("limited"))];
    await cluster.set("//sys/users/limited/@read_request_rate_limit", 0n);
    expect(await cluster.call("get", { path: "//tmp/@id" }, { headers })).toMatchObject({
      status: 400,
      code: 904,
    });
    const part = mapOf({ command: "get", parameters: mapOf({ path: "//tmp/@id" }) });
    const batch = await cluster.call("execute_batch", { requests: [part] }, { method: "POST", headers });
    expect([batch.status, JSON.parse(batch.text)]).toMatchObject([
      200,
      { results: [{ error: { code: 904 } }] },
    ]);
    expect((await cluster.call("get_current_user", {}, { headers })).status).toBe(200);
    expect(
      (await cluster.call("get", { path: "//tmp/@id" }, { headers: [bearer(cluster.rootToken)] })).status,
    ).toBe(200);
  });
});

describe("names of users, groups and other objects", () => {
  it("are refused when they are empty, too long or have control characters, aliases too", async () => {
    const names = ["", "a\0b", "tab\t", "line\n", "\x7f", "x".repeat(5_000)];
    for (const type of ["user", "group", "account"]) {
      for (const name of names) {
        const created = cluster.root.execute("create", { type, attributes: mapOf({ name }) });
        await expect(created, `${type} ${name.slice(0, 10)}`).rejects.toThrow(/empty|control|too long/);
      }
    }
    for (const alias of names) {
      const named = mapOf({ name: "aliased", aliases: [alias] });
      const created = cluster.root.execute("create", { type: "user", attributes: named });
      await expect(created).rejects.toThrow(/^Alias .*(empty|control|too long)|Alias cannot be empty/s);
    }
    expect(await cluster.root.exists("//sys/users/aliased")).toBe(false);
  });
});
