/** The protocol over a real socket: identity, admission, error forms, logs, closing. */
import { connect } from "node:net";
import { mapOf, YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AuthenticationInput } from "./authentication.ts";
import { type RequestRecord, requestChannel } from "./exchange.ts";
import { type Harness, startHarness } from "./testing/harness.ts";

let http: Harness;
let inputs: AuthenticationInput[];
const passes: Record<string, () => { user: string }> = {
  "OAuth good": () => ({ user: "u" }),
  "OAuth bad": () => {
    throw new YtError("Authentication failed", { code: "SecurityAuthenticationError" });
  },
  "OAuth banned": () => {
    throw new YtError('User "u" is banned', { code: "UserBanned" });
  },
  "OAuth broken": () => {
    throw new YtError("Storage is away", { code: "Unavailable" });
  },
};

beforeEach(async () => {
  inputs = [];
  http = await startHarness({
    admission: { maxConcurrentRequests: 2, maxConcurrentRequestsPerUser: 2, maxBufferedBodyBytes: 1000 },
    authenticate(input) {
      inputs.push(input);
      const pass = passes[input.authorization ?? ""];
      return pass === undefined ? { user: input.userName ?? "root" } : pass();
    },
  });
});
afterEach(async () => {
  await http.close();
});

const typePath = "/api/v4/get?path=//tmp/@type";

/** A command that waits until it is let go. */
function hold(name: string): { started: Promise<void>; release: () => void } {
  let release = (): void => {};
  let start = (): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  http.driver.scripts.set(name, async () => {
    start();
    await held;
    return { kind: "structured", value: mapOf({ ok: true }) };
  });
  return { started, release };
}

test("[http 127] [http 131] the status of an authentication error follows its code", async () => {
  const call = (authorization: string, path = typePath) =>
    http.call(path, { headers: { Authorization: authorization } });
  for (const path of [typePath, "/auth/whoami"]) {
    const bad = await call("OAuth bad", path);
    expect([bad.status, JSON.parse(bad.text).code]).toEqual([401, 900]);
    expect(bad.headers["x-yt-error"]).toBeDefined();
    expect((await call("OAuth banned", path)).status).toBe(403);
    const broken = await call("OAuth broken", path);
    expect([broken.status, broken.headers["retry-after"]]).toEqual([503, "60"]);
  }
  expect((await call("OAuth good")).status).toBe(200);
  expect(http.driver.calls.map((request) => request.user)).toEqual(["u"]);
});

test("[http 133] the user is the one of the header", async () => {
  await http.call(typePath, { headers: { "X-YT-User-Name": "alice", Cookie: "c=1", "X-Csrf-Token": "t" } });
  expect(http.driver.calls[0]?.user).toBe("alice");
  expect(inputs[0]).toMatchObject({
    command: "get",
    userName: "alice",
    cookie: "c=1",
    csrfToken: "t",
    skipCsrfCheck: false,
  });
  await http.call("/auth/whoami");
  expect(inputs[1]).toMatchObject({ command: undefined, skipCsrfCheck: true });
});

test("discovery asks nobody", async () => {
  for (const path of [
    "/api",
    "/api/v4",
    "/hosts",
    "/hosts/all",
    "/ping",
    "/version",
    "/service",
    "/cluster_connection",
  ]) {
    expect((await http.call(path, { headers: { Authorization: "OAuth bad" } })).status).toBe(200);
  }
  expect(inputs).toEqual([]);
});

test("beyond the number of requests at once the answer is 503, to be tried again", async () => {
  const { started, release } = hold("create");
  http.agent.maxSockets = 8;
  const held = [http.call("/api/v4/create"), http.call("/api/v4/create")];
  await started;
  while (http.driver.calls.length < 2) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  const refused = await http.call(typePath);
  expect([refused.status, refused.headers["retry-after"], JSON.parse(refused.text).code]).toEqual([
    503,
    "60",
    108,
  ]);
  expect((await http.call("/ping")).status).toBe(200);
  release();
  expect((await Promise.all(held)).map((reply) => reply.status)).toEqual([200, 200]);
  expect((await http.call(typePath)).status).toBe(200);
});

test("beyond the memory for bodies the answer is 503 even if the command hides it", async () => {
  http.driver.scripts.set("insert_rows", async (request) => {
    try {
      await request.readBody(1 << 20);
    } catch (error) {
      throw new YtError("Cannot read rows", { cause: error });
    }
    return { kind: "empty" };
  });
  const put = (body: Buffer, headers = {}) =>
    http.call("/api/v4/insert_rows?path=//t", { method: "PUT", body, headers });
  for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
    const refused = await put(Buffer.alloc(1001), headers);
    expect([refused.status, JSON.parse(refused.text).code]).toEqual([503, 108]);
    for (let i = 0; i < 3; i++) {
      expect((await put(Buffer.alloc(1000), headers)).status).toBe(200);
    }
  }
});

test("[http 56] every error of a command is 400, whatever its code", async () => {
  const reply = await http.call("/api/v4/get?path=//tmp/none");
  expect([reply.status, reply.headers["x-yt-response-code"]]).toEqual([400, "500"]);
  expect(JSON.parse(reply.text).attributes).toMatchObject({ path: "//tmp/none", method: "Get" });
  http.driver.scripts.set("create", () => {
    throw new YtError("Queue is full", { code: "RequestQueueSizeLimitExceeded" });
  });
  expect((await http.call("/api/v4/create")).status).toBe(400);
});

test("a defect is 500 and goes to the log with its stack", async () => {
  http.driver.scripts.set("create", () => {
    throw new TypeError("x is not a function");
  });
  const reply = await http.call("/api/v4/create");
  expect([reply.status, JSON.parse(reply.text).code]).toEqual([500, 1]);
  expect(http.log).toContainEqual(
    expect.objectContaining({
      msg: "request failed by a defect",
      err: expect.objectContaining({ type: "TypeError" }),
    }),
  );
});

test("the error format is the client's choice", async () => {
  const reply = await http.call("/api/v4/get?path=//no", {
    headers: { "X-YT-Header-Format": "yson", "X-YT-Error-Format": "<format=text>yson" },
  });
  expect(reply.headers["content-type"]).toBe("application/x-yt-yson-text");
  expect(reply.headers["x-yt-error-content-type"]).toBe("application/x-yt-yson-text");
  expect(parseYson(reply.body)).toEqual(parseYson(String(reply.headers["x-yt-error"])));
  // Even when the rest of the headers cannot be read.
  const early = await http.call("/api/v4/get", {
    headers: {
      "X-YT-Header-Format": "yson",
      "X-YT-Error-Format": "<format=text>yson",
      "X-YT-Parameters": "{",
    },
  });
  expect(early.headers["content-type"]).toBe("application/x-yt-yson-text");
});

test("errors are safe in headers: no foreign characters, no great length", async () => {
  http.driver.scripts.set("create", () => {
    const inner = Array.from({ length: 100 }, (_, i) => {
      return new YtError(`inner ${i} ${"п".repeat(500)}`, { attributes: { text: "x".repeat(5000) } });
    });
    throw new YtError("Плохо\r\nX-Evil: 1", { code: 1700, attributes: { big: "y".repeat(100_000) }, inner });
  });
  const reply = await http.call("/api/v4/create");
  expect(reply.status).toBe(400);
  const header = String(reply.headers["x-yt-error"]);
  expect(header.length).toBeLessThanOrEqual(6 * 1024);
  expect(JSON.parse(header)).toMatchObject({ code: 1700 });
  expect(reply.headers["x-evil"]).toBeUndefined();
  expect(String(reply.headers["x-yt-response-message"])).toMatch(/^[\x20-\x7e]+$/);
  const body = JSON.parse(reply.text);
  expect(body.inner_errors).toHaveLength(100);
  expect(body.attributes.big).toHaveLength(100_000);
});

test("an error of a thousand levels is cut, not a failure", async () => {
  http.driver.scripts.set("create", () => {
    let error = new YtError("deepest");
    for (let i = 0; i < 1000; i++) {
      error = error.wrap("level");
    }
    throw error;
  });
  expect((await http.call("/api/v4/create")).status).toBe(400);
});

test("a record of every request is published, and failures are logged", async () => {
  const records: unknown[] = [];
  const onRecord = (record: unknown): void => {
    records.push(record);
  };
  requestChannel.subscribe(onRecord);
  try {
    await http.call(typePath);
    await http.call("/api/v4/get?path=//no");
    await http.call("/ping");
    while (records.length < 3) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    requestChannel.unsubscribe(onRecord);
  }
  const expected: Partial<RequestRecord>[] = [
    { command: "get", user: "root", status: 200, responseBytes: 20, errorCode: undefined, isAborted: false },
    { command: "get", user: "root", status: 400, errorCode: 500 },
    { command: undefined, path: "/ping", status: 200 },
  ];
  expect(records).toMatchObject(expected);
  const failures = http.log.filter((record) => record.msg === "request failed");
  expect(failures).toHaveLength(1);
  expect(failures[0]).toMatchObject({ command: "get", status: 400, errorCode: 500, user: "root" });
});

test("closing lets requests finish and then closes their connections", async () => {
  const { started, release } = hold("create");
  const reply = http.call("/api/v4/create");
  await started;
  const closed = http.server.close(10_000);
  await expect(fetch(`http://${http.server.address}/ping`)).rejects.toThrow();
  release();
  expect(await reply).toMatchObject({ status: 200, text: '{"ok":true}', headers: { connection: "close" } });
  await closed;
});

test("and cuts them off when the grace is over", async () => {
  const { started } = hold("create");
  const reply = http.call("/api/v4/create");
  const outcome = expect(reply).rejects.toThrow();
  await started;
  await http.server.close(20);
  await outcome;
});

test("requests of one connection may come without waiting for replies", async () => {
  const answer = await new Promise<string>((resolve, reject) => {
    const socket = connect(http.server.port, "127.0.0.1");
    let text = "";
    socket.on("error", reject);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
    });
    socket.on("close", () => resolve(text));
    const body = "PUT /api/v4/insert_rows?path=//t HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nrows";
    socket.write(`${body}${body}GET /ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  });
  expect(answer.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(3);
});

test("a server that listens everywhere gives the name by which it was reached", async () => {
  const everywhere = await startHarness({ host: "0.0.0.0" });
  try {
    expect(everywhere.server.address).toBe(`localhost:${everywhere.server.port}`);
    const named = await everywhere.call("/hosts", { headers: { Host: "queue.example:9000" } });
    expect(named.text).toBe('["queue.example:9000"]');
    const odd = await everywhere.call("/hosts", { headers: { Host: 'a"b' } });
    expect(odd.text).toBe(`["localhost:${everywhere.server.port}"]`);
  } finally {
    await everywhere.close();
  }
});

test("closing does not wait for connections that never sent anything", async () => {
  const socket = connect(http.server.port, "127.0.0.1");
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("connect", resolve));
  await http.call("/ping");
  socket.resume();
  await http.server.close(1_000_000);
  await closed;
});

test("closing does not wait for the next request of a stream that had begun before", async () => {
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  http.driver.scripts.set("read_table", () => {
    async function* chunks(): AsyncGenerator<Buffer> {
      yield Buffer.from("a");
      await finished;
      yield Buffer.from("b");
    }
    return { kind: "stream", chunks: chunks() };
  });
  const reply = await fetch(`http://${http.server.address}/api/v4/read_table?path=//t`);
  const closed = http.server.close(1_000_000);
  finish();
  expect(await reply.text()).toBe("ab");
  await closed;
});
