/** What nobody gets without proving who he is, and how nobody passes for somebody else. */
import { Attributed, mapOf, type YsonMap } from "@qyt/base";
import { allCommands } from "@qyt/server";
import { writeYsonText } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { routes } from "../../packages/server/src/http/router.ts";
import { basic, bearer, GuardedCluster, type Header, sha256 } from "./guarded-cluster.ts";

let cluster: GuardedCluster;
let token: string;
let cookie: string;

beforeAll(async () => {
  cluster = await GuardedCluster.start();
  token = await cluster.user("u");
  await cluster.setPassword("root", "r");
  cookie = await cluster.login("root", "r");
});
afterAll(() => cluster.close());

const methods = ["GET", "POST", "PUT", "HEAD", "DELETE"];

describe("without credentials", () => {
  it("discovery alone is open", async () => {
    const open: string[] = [];
    for (const path of routes.keys()) {
      for (const variant of [path, `${path}/`]) {
        const reply = await cluster.send(variant);
        if (reply.status === 200) {
          open.push(variant);
        } else {
          expect([variant, reply.status, reply.code]).toEqual([variant, 401, 111]);
        }
      }
    }
    expect(open.filter((path) => !path.endsWith("/"))).toEqual([
      "/hosts",
      "/hosts/all",
      "/ping",
      "/version",
      "/service",
      "/cluster_connection",
      "/internal/discover_versions/v2",
    ]);
    expect([...routes].filter(([, { isOpen }]) => isOpen).map(([path]) => path)).toEqual(
      open.filter((path) => !path.endsWith("/")),
    );
  });

  it("what is open tells of addresses, names of commands and the version only", async () => {
    const known = new RegExp(`${cluster.rootToken}|${sha256(cluster.rootToken)}|${cookie}|cypress_cookies`);
    for (const path of [...routes.keys(), "/api", "/api/v3", "/api/v4", "/hosts/x", "/login"]) {
      expect((await cluster.send(path)).text).not.toMatch(known);
    }
  });

  it("no command is served, by whatever verb and version", async () => {
    let count = 0;
    for (const { name, aliases, versions } of allCommands) {
      for (const version of versions) {
        for (const command of [name, ...aliases]) {
          for (const method of version === 4 ? methods : ["POST"]) {
            const reply = await cluster.send(`/api/v${version}/${command}?path=//tmp&user=root`, { method });
            expect([command, method, reply.status, reply.code]).toEqual([command, method, 401, 111]);
            count++;
          }
        }
      }
    }
    expect(count).toBeGreaterThan(5 * 60);
  });

  it("nor what is no command, nor a path written otherwise", async () => {
    for (const path of [
      "/api/v4/no_such_command",
      "/API/V4/GET?path=//tmp",
      "/api/v4/Get?path=//tmp",
      "//api/v4/get?path=//tmp",
      "/api//v4/get?path=//tmp",
      "/api/v4/get/?path=//tmp",
      "/api/v4/../v4/get?path=//tmp",
      "/ping/../api/v4/get?path=//tmp",
      "/hosts/../api/v4/get?path=//tmp",
      "/api/v4/%67et?path=//tmp",
      "/auth/whoami/",
      "/AUTH/WHOAMI",
      "/query",
      "/",
    ]) {
      const reply = await cluster.send(path);
      const isDiscovery = path.startsWith("/hosts/") || reply.text === '["v3","v4"]';
      expect([path, isDiscovery || [400, 401, 404].includes(reply.status)]).toEqual([path, true]);
      expect(reply.text).not.toContain('"value"');
    }
  });
});

/** Who the request acts for; `undefined` when it is refused. */
async function actsAs(headers: readonly Header[], path = "/api/v4/get_current_user", body?: string) {
  const reply = await cluster.send(path, {
    method: body === undefined ? "GET" : "POST",
    headers,
    ...(body === undefined ? {} : { body }),
  });
  return reply.status === 200 ? JSON.parse(reply.text).user : undefined;
}

function parts(name: string, value: YsonMap): Header[] {
  const encoded = Buffer.from(writeYsonText(value)).toString("base64");
  const middle = encoded.length >> 1;
  return [
    [`${name}0`, encoded.slice(0, middle)],
    [`${name}-1`, encoded.slice(middle)],
  ];
}

describe("another user's name", () => {
  it("in headers does not count", async () => {
    const mine = bearer(token);
    const rootHeaders: Header[][] = [
      [mine, bearer(cluster.rootToken)],
      [bearer(cluster.rootToken), mine],
      [mine, ["authorization", `OAuth ${cluster.rootToken}`]],
      [mine, ["X-YT-User-Name", "root"]],
      [mine, ["x-yt-user-name", "root"]],
      [mine, ["X-YT-User-Name", "u"], ["X-YT-User-Name", "root"]],
      [
        ["Cookie", `YTCypressCookie=${cookie}`],
        ["X-YT-User-Name", "u"],
      ],
      [
        ["Cookie", `YTCypressCookie=x`],
        ["Cookie", `YTCypressCookie=${cookie}`],
      ],
    ];
    for (const headers of rootHeaders) {
      expect([headers, await actsAs(headers)]).toEqual([headers, undefined]);
    }
    // These are not looked at at all.
    const without: Header[][] = [
      [mine, ["X-YT-User-Name0", Buffer.from("root").toString("base64")]],
      [mine, ["X_YT_User_Name", "root"]],
      [mine, ["X-YT-Testing-User-Name", "root"]],
      [mine, ["X-Forwarded-User", "root"]],
      [mine, ["X-YT-User-Tag", "root"]],
      [mine, ["Proxy-Authorization", `OAuth ${cluster.rootToken}`]],
      [mine, ["Cookie", `YTCypressCookie=${cookie}`]],
    ];
    for (const headers of without) {
      expect([headers, await actsAs(headers)]).toEqual([headers, "u"]);
    }
  });

  it("in parameters does not count, in whichever of their layers", async () => {
    const mine = bearer(token);
    const smuggled = mapOf({
      user: "root",
      authenticated_user: "root",
      user_name: "root",
      "X-YT-User-Name": "root",
      token: cluster.rootToken,
      authorization: `OAuth ${cluster.rootToken}`,
      peer: "freud",
    });
    const format: Header = ["X-YT-Header-Format", "yson"];
    const text = writeYsonText(smuggled);
    expect(await actsAs([mine, format, ["X-YT-Parameters", text]])).toBe("u");
    expect(await actsAs([mine, format, ...parts("X-YT-Parameters", smuggled)])).toBe("u");
    expect(await actsAs([mine], "/api/v4/get_current_user?user=root&authenticated_user=root")).toBe("u");
    expect(await actsAs([mine], "/api/v4/get_current_user", text)).toBe("u");
    const item = mapOf({ command: "get_current_user", parameters: smuggled, user: "root", peer: "freud" });
    const batch = await cluster.call(
      "execute_batch",
      { requests: [item], user: "root" },
      { method: "POST", headers: [mine] },
    );
    expect(JSON.parse(batch.text)).toEqual({ results: [{ output: { user: "u" } }] });
  });

  it("cannot be had by a request inside of another one", async () => {
    const inner = `GET /api/v4/get_current_user HTTP/1.1\r\nHost: a\r\nX-YT-User-Name: root\r\n\r\n`;
    const twice = await cluster.raw(
      `POST /api/v4/get_current_user HTTP/1.1\r\nHost: a\r\nAuthorization: OAuth ${token}\r\nContent-Length: ${inner.length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    );
    expect(twice).toMatch(/^HTTP\/1\.1 400 /);
    expect(twice).not.toContain("root");
    // A header with a line end in its value ends there: what follows is another header, not another user.
    const injected = await cluster.raw(
      `GET /api/v4/get_current_user HTTP/1.1\r\nHost: a\r\nAuthorization: OAuth ${token}\r\nX-A: b\nX-YT-User-Name: root\r\nConnection: close\r\n\r\n`,
    );
    expect(injected).toMatch(/^HTTP\/1\.1 40[01] /);
  });

  it("a connection remembers nobody", async () => {
    const answer = await cluster.raw(
      `GET /api/v4/get_current_user HTTP/1.1\r\nHost: a\r\nAuthorization: OAuth ${cluster.rootToken}\r\n\r\n` +
        "GET /api/v4/get_current_user HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 401"]);
  });
});

describe("the secrets of others", () => {
  /** Texts of everything that a user can get at by a path. */
  async function readings(path: string): Promise<string> {
    const headers = [bearer(token)];
    const replies = [];
    for (const command of ["get", "list"]) {
      replies.push(await cluster.call(command, { path }, { headers }));
      replies.push(
        await cluster.call(
          command,
          { path, attributes: ["user", "user_id", "key", "value", "token_prefix", "path"] },
          { headers },
        ),
      );
    }
    return replies.map(({ text }) => text).join("\n");
  }

  it("are not found below //sys, by links, by ids, or past them with an ampersand", async () => {
    const tokens = String(await cluster.root.get("//sys/cypress_tokens/@id"));
    const cookies = String(await cluster.root.get("//sys/cypress_cookies/@id"));
    const one = String(await cluster.root.get(`//sys/cypress_cookies/${sha256(cookie)}/@id`));
    const headers = [bearer(token)];
    for (const [name, target_path] of [
      ["l1", "//sys/cypress_tokens"],
      ["l2", "//sys/cypress_cookies"],
      ["l3", "//sys"],
      ["l4", `#${cookies}`],
    ] as const) {
      const linked = await cluster.call(
        "link",
        { link_path: `//tmp/${name}`, target_path },
        { method: "POST", headers },
      );
      expect(linked.status).toBe(200);
    }
    const secrets = new RegExp(`${cookie}|${sha256(cluster.rootToken)}|hashed|scrypt`, "i");
    for (const path of [
      "/",
      "//sys",
      "//sys/@",
      "//sys/cypress_tokens",
      "//sys/cypress_tokens/@",
      "//sys/cypress_tokens&",
      "//sys/cypress_tokens&/@",
      "//sys/cypress_cookies",
      "//sys/cypress_cookies/@",
      "//sys/cypress_cookies&/@",
      "//sys/tokens",
      "//sys/users",
      "//sys/users/root",
      "//sys/users/root/@",
      "//tmp",
      "//tmp/l1",
      "//tmp/l1/@",
      "//tmp/l1&",
      "//tmp/l2",
      "//tmp/l2&/@",
      "//tmp/l3/cypress_cookies",
      "//tmp/l3/cypress_tokens",
      "//tmp/l4",
      `#${tokens}`,
      `#${tokens}/@`,
      `#${cookies}`,
      `#${cookies}/@`,
      `#${one}`,
      `#${one}/@`,
      `#${one}/@key`,
      `#${one}/@path`,
      "//sys/locks",
      "//sys/transactions",
      "//sys/accounts",
    ]) {
      expect([path, secrets.exec(await readings(path))?.[0]]).toEqual([path, undefined]);
    }
  });

  it("cannot be made: no token, no session, no password of another's", async () => {
    const headers = [bearer(token)];
    const ids = String(await cluster.root.get("//sys/cypress_tokens/@id"));
    const mine = sha256("made by u");
    await cluster.call(
      "link",
      { link_path: "//tmp/way", target_path: "//sys/cypress_tokens" },
      { method: "POST", headers },
    );
    for (const path of [
      `//sys/cypress_tokens/${mine}`,
      `//tmp/way/${mine}`,
      `#${ids}/${mine}`,
      `//sys/cypress_cookies/${mine}`,
      `//sys/tokens/${mine}`,
    ]) {
      const reply = await cluster.call(
        "create",
        { type: "document", path, attributes: mapOf({ user: "root" }) },
        { method: "POST", headers },
      );
      expect([path, reply.status]).toEqual([path, 400]);
      const set = await cluster.call("set", { path }, { method: "PUT", headers, body: '"root"' });
      expect([path, set.status]).toEqual([path, 400]);
    }
    for (const [command, parameters] of [
      ["move", { source_path: "//tmp/way&", destination_path: `//sys/cypress_tokens/${mine}` }],
      ["copy", { source_path: "//sys/cypress_tokens", destination_path: "//tmp/copied" }],
      ["move", { source_path: "//sys/cypress_cookies", destination_path: "//tmp/moved" }],
      ["remove", { path: `//sys/cypress_tokens/${sha256(cluster.rootToken)}` }],
      ["lock", { path: "//sys/cypress_tokens", mode: "snapshot" }],
      ["set", { path: "//sys/cypress_tokens/@inherit_acl" }],
      ["set", { path: "//sys/cypress_tokens/@acl/end" }],
      ["set", { path: "//sys/users/u/@user_id" }],
      ["set", { path: "//sys/users/root/@banned" }],
      ["add_member", { group: "superusers", member: "u" }],
    ] as const) {
      const method = command === "set" ? "PUT" : "POST";
      const body = command === "set" ? "true" : undefined;
      const reply = await cluster.call(command, parameters, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      expect([command, reply.status]).toEqual([command, 400]);
    }
    expect((await cluster.send("/api/v4/get?path=//@", { headers: [bearer("made by u")] })).code).toBe(900);
    expect((await cluster.send("/login", { headers: [basic("root", "guess")] })).status).toBe(401);
  });

  it("what a peer may say of consumers, a user may not", async () => {
    await cluster.root.create("table", "//tmp/queue", {
      attributes: mapOf({
        dynamic: true,
        schema: [mapOf({ name: "data", type: "string" })],
        inherit_acl: false,
        acl: [],
      }),
    });
    await cluster.root.mountTable("//tmp/queue");
    const parameters = {
      queue_path: "//tmp/queue",
      partition_index: 0n,
      consumer_path: new Attributed(mapOf({ cluster: "freud" }), "//tmp/consumer"),
    };
    const reply = await cluster.call("pull_queue", parameters, { headers: [bearer(token)] });
    expect([reply.status, reply.text.includes("901")]).toEqual([400, true]);
  });
});

describe("a page of another site", () => {
  it("is not told that it may call, unless its origin is allowed", async () => {
    const origin: Header = ["Origin", "https://evil.example"];
    for (const path of ["/auth/whoami", "/api/v4/get?path=//@", "/hosts"]) {
      for (const method of ["GET", "OPTIONS"]) {
        const reply = await cluster.send(path, { method, headers: [origin] });
        expect([...reply.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
      }
    }
    const open = await GuardedCluster.start({ allowedOrigins: ["https://ui.example"] });
    try {
      const allowed = await open.send("/auth/whoami", {
        method: "OPTIONS",
        headers: [["Origin", "https://ui.example"]],
      });
      expect(allowed.headers.get("access-control-allow-origin")).toBe("https://ui.example");
      const other = await open.send("/auth/whoami", { method: "OPTIONS", headers: [origin] });
      expect(other.headers.has("access-control-allow-origin")).toBe(false);
    } finally {
      await open.close();
    }
  });
});
