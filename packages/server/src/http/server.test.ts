/** The protocol over a real socket: discovery, parameters, formats, encodings. */
import { brotliDecompressSync, gunzipSync, inflateSync } from "node:zlib";
import { Attributed, mapOf, YtError } from "@qyt/base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Harness, type Reply, startHarness } from "./testing/harness.ts";

let http: Harness;
beforeEach(async () => {
  http = await startHarness();
});
afterEach(async () => {
  await http.close();
});

const guid = /^[0-9a-f]{1,8}(-[0-9a-f]{1,8}){3}$/;
const yson = { "X-YT-Header-Format": "<format=text>yson" };
const typePath = "/api/v4/get?path=//tmp/@type";

/** The error of a reply, after a check that header, body and code agree. */
function errorOf(reply: Reply): {
  code: number;
  message: string;
  attributes: Record<string, unknown>;
  inner_errors?: unknown[];
} {
  const error = JSON.parse(reply.text);
  expect(reply.headers["content-type"]).toBe("application/json");
  expect(JSON.parse(String(reply.headers["x-yt-error"]))).toEqual(error);
  expect(reply.headers["x-yt-error-content-type"]).toBe("application/json");
  expect(reply.headers["x-yt-response-code"]).toBe(String(error.code));
  expect(reply.headers["x-yt-response-message"]).toBe(error.message);
  expect(reply.headers["content-encoding"]).toBeUndefined();
  expect(
    Object.keys(error).filter((key) => !["code", "message", "attributes", "inner_errors"].includes(key)),
  ).toEqual([]);
  return error;
}

test("[http 1] the API versions", async () => {
  for (const path of ["/api", "/api/", "/API"]) {
    expect((await http.call(path)).text).toBe('["v3","v4"]');
  }
});

test("[http 2] the commands of v4", async () => {
  const reply = await http.call("/api/v4");
  const commands: { name: string }[] = JSON.parse(reply.text);
  expect(commands).toContainEqual({
    name: "get",
    input_type: "null",
    output_type: "structured",
    is_volatile: false,
    is_heavy: false,
  });
  expect(commands).toContainEqual({
    name: "insert_rows",
    input_type: "tabular",
    output_type: "structured",
    is_volatile: true,
    is_heavy: true,
  });
  expect(commands.map((command) => command.name)).not.toContain("start_tx");
});

test("[http 3] the commands of v3", async () => {
  const commands: { name: string; output_type: string }[] = JSON.parse((await http.call("/api/v3/")).text);
  expect(commands.find((command) => command.name === "set")?.output_type).toBe("null");
  expect(commands.map((command) => command.name)).toContain("start_tx");
  expect(commands.map((command) => command.name)).not.toContain("start_transaction");
});

test("[http 4] an unknown API version is 400", async () => {
  const reply = await http.call("/api/v2/get");
  expect(reply.status).toBe(400);
  expect(errorOf(reply).code).toBe(1);
});

test("[http 5] an unknown command is 404", async () => {
  const reply = await http.call("/api/v4/find_meaning");
  expect(reply.status).toBe(404);
  expect(errorOf(reply)).toMatchObject({ code: 1, message: 'Command "find_meaning" is not registered' });
});

test("[http 6] a malformed command name is 404", async () => {
  for (const name of ["get-x", "get/x", "g%65t"]) {
    const reply = await http.call(`/api/v4/${name}`);
    expect(reply.status).toBe(404);
    expect(errorOf(reply).message).toMatch(/^Malformed command name/);
  }
});

test("[http 7] case of the path does not matter", async () => {
  expect((await http.call("/API/V4/GET?path=//tmp/@type")).text).toBe('{"value":"map_node"}');
});

test("[http 8] hosts", async () => {
  const own = `127.0.0.1:${http.server.port}`;
  expect(http.server.address).toBe(own);
  expect(JSON.parse((await http.call("/hosts")).text)).toEqual([own]);
  expect(JSON.parse((await http.call("/hosts/sas")).text)).toEqual([own]);
});

test("[http 9] hosts as text", async () => {
  const reply = await http.call("/hosts", { headers: { Accept: "text/plain" } });
  expect(reply.text).toBe(`127.0.0.1:${http.server.port}\n`);
});

test("[http 10] hosts of a role nobody has", async () => {
  expect((await http.call("/hosts?role=control")).text).toBe("[]");
});

test("[http 11] hosts with parameters of other networks", async () => {
  const reply = await http.call("/hosts?address_type=http");
  expect(JSON.parse(reply.text)).toEqual([`127.0.0.1:${http.server.port}`]);
});

test("[http 12] all hosts", async () => {
  const hosts = JSON.parse((await http.call("/hosts/all")).text);
  expect(hosts).toHaveLength(1);
  expect(hosts[0]).toMatchObject({ banned: false, dead: false, role: "data" });
});

test("[http 13] ping", async () => {
  const reply = await http.call("/ping");
  expect([reply.status, reply.text]).toEqual([200, ""]);
});

test("[http 14] version", async () => {
  const reply = await http.call("/version");
  expect(reply.text).toMatch(/\d+\.\d+\.\d+/);
  expect(reply.headers["content-type"]).toBe("text/plain");
});

test("[http 15] service", async () => {
  expect(Object.keys(JSON.parse((await http.call("/service")).text))).toEqual(["start_time", "version"]);
});

test("[http 16] whoami", async () => {
  const reply = await http.call("/auth/whoami", { method: "POST" });
  expect(JSON.parse(reply.text)).toEqual({
    login: "root",
    realm: "YT",
    csrf_token: expect.stringMatching(/./),
  });
  expect(reply.headers["x-yt-error"]).toBeUndefined();
  expect(reply.headers["x-content-type-options"]).toBe("nosniff");
});

test("[http 17] an unknown path is 404 without a body", async () => {
  for (const path of ["/nothing", "/", "/cluster_connection/x", "/query"]) {
    const reply = await http.call(path);
    expect([reply.status, reply.text]).toEqual([404, ""]);
  }
});

test("[http 18] a preflight", async () => {
  const origin = "http://localhost:3000";
  const reply = await http.call("/api/v4/get", { method: "OPTIONS", headers: { Origin: origin } });
  expect(reply.status).toBe(200);
  expect(reply.headers["access-control-allow-origin"]).toBe(origin);
  expect(reply.headers["access-control-allow-credentials"]).toBe("true");
  expect(reply.headers["access-control-allow-headers"]).toContain("X-YT-Parameters-0");
});

test("[http 19] a page of another origin sees our headers", async () => {
  const reply = await http.call(typePath, { headers: { Origin: "http://localhost:3000" } });
  expect(reply.headers["access-control-expose-headers"]).toContain("X-YT-Response-Parameters");
});

test("[http 20] parameters of the query reach a command", async () => {
  http.driver.scripts.set("discover_proxies", () => ({
    kind: "structured",
    value: mapOf({ proxies: ["localhost:8000"] }),
  }));
  const reply = await http.call("/api/v4/discover_proxies?type=http");
  expect(reply.text).toBe('{"proxies":["localhost:8000"]}');
  expect(http.driver.parameters.get("type")).toBe("http");
});

test("[http 21] the headers of every command", async () => {
  const reply = await http.call(typePath);
  expect(reply.headers["x-yt-request-id"]).toMatch(guid);
  expect(reply.headers["x-yt-trace-id"]).toMatch(guid);
  expect(reply.headers["x-yt-proxy"]).toBe(http.server.address);
  expect(reply.headers["cache-control"]).toBe("no-store");
  expect(reply.headers["x-yt-response-parameters"]).toBe("{}");
  expect(reply.headers["content-length"]).toBe("20");
});

test("[http 22] JSON is the default of a structured command", async () => {
  const reply = await http.call(typePath);
  expect([reply.status, reply.headers["content-type"], reply.text]).toEqual([
    200,
    "application/json",
    '{"value":"map_node"}',
  ]);
});

test("[http 23] v3 is bare", async () => {
  expect((await http.call("/api/v3/get?path=//tmp/@type")).text).toBe('"map_node"');
});

test("[http 24] text YSON by header", async () => {
  const reply = await http.call(typePath, {
    headers: { ...yson, "X-YT-Output-Format": "<format=text>yson" },
  });
  expect(reply.headers["content-type"]).toBe("application/x-yt-yson-text");
  expect(reply.text).toBe('{"value"="map_node";}');
});

test("[http 25] pretty YSON by header", async () => {
  const reply = await http.call(typePath, {
    headers: { ...yson, "X-YT-Output-Format": "<format=pretty>yson" },
  });
  expect(reply.text).toContain('\n    "value" = "map_node";\n');
});

test("[http 26] bare yson is binary", async () => {
  const reply = await http.call(typePath, { headers: { ...yson, "X-YT-Output-Format": "yson" } });
  expect(reply.body.toString("hex")).toBe("7b010a76616c75653d01106d61705f6e6f64653b7d");
  expect(reply.headers["content-type"]).toBe("application/x-yt-yson-binary");
});

test("[http 27] output_format among the parameters", async () => {
  const reply = await http.callWith(
    "/api/v4/get",
    '{path="//tmp/@type";return_only_value=%true;output_format=json}',
    { headers: { "X-YT-Output-Format": "yson" } },
  );
  expect(reply.text).toBe('"map_node"');
  expect(reply.headers["content-type"]).toBe("application/json");
});

test("[http 28] JSON is the default header format", async () => {
  const reply = await http.call("/api/v4/get", { headers: { "X-YT-Parameters": '{"path":"//tmp/@type"}' } });
  expect(reply.status).toBe(200);
});

const encodedParameters = "eyJwYXRoIjoiLy90bXAvQHR5cGUifQ==";

test("[http 29] base64 parameters", async () => {
  const reply = await http.call("/api/v4/get", {
    headers: { "X-YT-Header-Format": "<encode_utf8=%false>json", "X-YT-Parameters-0": encodedParameters },
  });
  expect(reply.text).toBe('{"value":"map_node"}');
});

test("[http 30] base64 parameters in parts", async () => {
  const reply = await http.call("/api/v4/get", {
    headers: {
      "X-YT-Header-Format": "<encode_utf8=%false>json",
      "X-YT-Parameters0": encodedParameters.slice(0, 9),
      "X-YT-Parameters1": encodedParameters.slice(9),
    },
  });
  expect(reply.text).toBe('{"value":"map_node"}');
});

test("[http 31] headers win over the query string", async () => {
  expect((await http.callWith("/api/v4/get?path=//no", '{path="//tmp/@type"}')).status).toBe(200);
});

test("[http 32] the first of two header formats", async () => {
  const reply = await http.callWith("/api/v4/get", '{path="//tmp/@type"}', {
    headers: { "X-YT-Header-Format": ["yson", "<format=text>yson"] },
  });
  expect(reply.status).toBe(200);
});

test("[http 33] lists in the query string", async () => {
  http.driver.scripts.set("get", () => ({
    kind: "structured",
    value: mapOf({ value: new Attributed(mapOf({ type: "map_node" }), mapOf({})) }),
  }));
  const reply = await http.call(
    "/api/v4/get?path=//tmp&attributes[]=type&attributes[]=id&output_format=json",
  );
  expect(reply.text).toBe('{"value":{"$attributes":{"type":"map_node"},"$value":{}}}');
  expect(http.driver.parameters.get("attributes")).toEqual(["type", "id"]);
});

test("[http 34] formats by MIME type", async () => {
  const reply = await http.call(typePath, { headers: { Accept: "application/x-yt-yson-text" } });
  expect(reply.text).toBe('{"value"="map_node";}');
  for (const accept of ["*/*", "application/json, text/plain, */*", "text/html;q=0.9"]) {
    expect((await http.call(typePath, { headers: { Accept: accept } })).text).toBe('{"value":"map_node"}');
  }
});

test("[http 35] parameters in a POST body are YSON", async () => {
  const reply = await http.call("/api/v4/create", { method: "POST", body: '{type=map_node;path="//tmp/a"}' });
  expect(reply.text).toBe('{"node_id":"1-2-3012f-4"}');
  expect(http.driver.parameters.get("path")).toBe("//tmp/a");
});

test("[http 36] or JSON, if the content type says so", async () => {
  const reply = await http.call("/api/v4/create", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: '{"type":"map_node","path":"//tmp/b"}',
  });
  expect(reply.status).toBe(200);
  expect(http.driver.parameters.get("path")).toBe("//tmp/b");
});

test("[http 37] JSON without a content type is no YSON", async () => {
  const reply = await http.call("/api/v4/create", {
    method: "POST",
    body: '{"type":"map_node","path":"//tmp/b"}',
  });
  expect(reply.status).toBe(400);
  expect(reply.text).toContain('"code":4000');
});

test("[http 38] an empty POST body is no parameters", async () => {
  for (const headers of [{ "Content-Length": "0" }, { "Transfer-Encoding": "chunked" }]) {
    const reply = await http.call("/api/v4/create", {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json", "X-YT-Parameters": '{"path":"//tmp/c"}' },
    });
    expect(reply.status).toBe(200);
  }
});

test("[http 39] a compressed POST body is refused", async () => {
  const reply = await http.call("/api/v4/create", {
    method: "POST",
    headers: { "Content-Encoding": "gzip" },
    body: "whatever",
  });
  expect(reply.status).toBe(400);
  expect(errorOf(reply).message).toBe("Content-Encoding not supported in POST body");
});

test("[http 40] a format that is no string", async () => {
  const reply = await http.call(typePath, { headers: { ...yson, "X-YT-Output-Format": "5" } });
  expect(reply.status).toBe(400);
  expect(errorOf(reply).code).toBe(2800);
  expect(reply.text).toContain("Invalid format name");
});

test("[http 41] gzip", async () => {
  const reply = await http.call(typePath, { headers: { "Accept-Encoding": "gzip" } });
  expect([reply.headers["content-encoding"], reply.headers.vary]).toEqual(["gzip", "Content-Encoding"]);
  expect(gunzipSync(reply.body).toString()).toBe('{"value":"map_node"}');
});

test("[http 42] the first name wins, quality has no say", async () => {
  const reply = await http.call(typePath, { headers: { "Accept-Encoding": "br;q=0, gzip" } });
  expect(reply.headers["content-encoding"]).toBe("br");
  expect(brotliDecompressSync(reply.body).toString()).toBe('{"value":"map_node"}');
  const deflated = await http.call(typePath, { headers: { "Accept-Encoding": "zstd, deflate" } });
  expect(inflateSync(deflated.body).toString()).toBe('{"value":"map_node"}');
});

test("[http 43] no feasible encoding of the reply is 415", async () => {
  const reply = await http.call(typePath, { headers: { "Accept-Encoding": "compress" } });
  expect(reply.status).toBe(415);
  errorOf(reply);
});

test("[http 44] an unknown encoding of the body is 415", async () => {
  const reply = await http.call("/api/v4/set?path=//tmp/x", {
    method: "PUT",
    headers: { "Content-Encoding": "compress" },
    body: "1",
  });
  expect(reply.status).toBe(415);
});

test("[http 45] identity is the default", async () => {
  expect((await http.call(typePath)).headers["content-encoding"]).toBe("identity");
});

test("[http 46] zero ids and unknown parameters are the command's business", async () => {
  const reply = await http.callWith(
    "/api/v4/get",
    '{path="//tmp/@type";transaction_id="0-0-0-0";ping=%true;some_unknown=1}',
  );
  expect(reply.status).toBe(200);
  expect(http.driver.parameters.get("some_unknown")).toBe(1n);
});

test("[http 47] [http 48] an answer of attributes", async () => {
  http.driver.scripts.set("parse_ypath", () => ({
    kind: "structured",
    value: mapOf({ path: new Attributed(mapOf({ cluster: "pythia" }), "//tmp/q") }),
  }));
  const reply = await http.callWith("/api/v4/parse_ypath", '{path="pythia://tmp/q"}');
  expect(reply.text).toBe('{"path":{"$attributes":{"cluster":"pythia"},"$value":"//tmp/q"}}');
});

test("[http 49] a command's error is 400 with the path it was about", async () => {
  http.driver.scripts.set("parse_ypath", () => {
    throw new YtError("Bad path");
  });
  const reply = await http.callWith("/api/v4/parse_ypath", '{path="tmp/q"}');
  expect(reply.status).toBe(400);
  expect(errorOf(reply).attributes).toMatchObject({ path: "tmp/q", host: http.server.address });
});

test("cluster connection", async () => {
  expect((await http.call("/cluster_connection/?x=1")).text).toBe('{"cluster_name":"test"}');
});

test("component versions", async () => {
  const versions = JSON.parse((await http.call("/internal/discover_versions/v2")).text);
  expect(versions.summary.total.http_proxy).toEqual({ total: 1, banned: 0, offline: 0 });
  expect(versions.details[0].type).toBe("http_proxy");
});

test("layers of parameters are merged key by key", async () => {
  await http.call(
    "/api/v4/create?attributes[a]=1&attributes[b]=x&n=-5&big=99999999999999999999&q=a%2Bb+c%zz",
    {
      method: "POST",
      headers: { ...yson, "X-YT-Parameters": "{attributes={b=y;c=<u=1>{d=1}}}" },
      body: "{attributes={c=<v=2>{e=2}}}",
    },
  );
  expect(http.driver.parameters.get("attributes")).toEqual(
    mapOf({ a: 1n, b: "y", c: new Attributed(mapOf({ u: 1n, v: 2n }), mapOf({ d: 1n, e: 2n })) }),
  );
  expect(http.driver.parameters.get("n")).toBe(-5n);
  expect(http.driver.parameters.get("big")).toBe("99999999999999999999");
  expect(http.driver.parameters.get("q")).toBe("a+b c%zz");
});

test("the same text of headers is parsed to the same parameters, other text to others", async () => {
  await http.callWith("/api/v4/get", '{path="//tmp/@type";x=1}');
  const first = http.driver.parameters;
  await http.callWith("/api/v4/get", '{path="//tmp/@type";x=1}');
  expect(http.driver.parameters).toBe(first);
  await http.callWith("/api/v4/get?y=1", '{path="//tmp/@type";x=1}');
  expect(http.driver.parameters.get("y")).toBe(1n);
});

test("arbitrary bytes in a query survive", async () => {
  await http.call("/api/v4/create?path=%ff%d0%bf");
  expect(http.driver.parameters.get("path")).toBe("\udcffп");
});

test("default formats go to the driver as nodes", async () => {
  await http.call("/api/v4/insert_rows", { method: "PUT", body: "{}" });
  expect(http.driver.parameters.get("input_format")).toEqual(
    new Attributed(mapOf({ format: "text" }), "yson"),
  );
  expect(http.driver.parameters.get("output_format")).toBe("json");
});

test("a change whose answer cannot be written is told to be done", async () => {
  http.driver.scripts.set("create", () => ({ kind: "structured", value: Number.NaN }));
  http.driver.scripts.set("get", () => ({ kind: "structured", value: Number.NaN }));
  const created = await http.call("/api/v4/create", { method: "POST" });
  expect(created.status).toBe(400);
  expect(created.text).toContain("The command is done, but its answer cannot be written");
  const read = await http.call("/api/v4/get?path=//tmp");
  expect(read.status).toBe(400);
  expect(read.text).not.toContain("is done");
});
