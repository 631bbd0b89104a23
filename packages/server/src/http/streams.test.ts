/** The protocol over a real socket: streamed replies, framing, encodings of streams. */
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { decompress } from "@bokuweb/zstd-wasm";
import { type Clock, emptyMap, mapOf, systemClock, YtError } from "@qyt/base";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Harness, startHarness } from "./testing/harness.ts";

const keepAliveFrameMs = 5_000;
let http: Harness;
let onSilence: (() => void) | undefined;

/** Time stands still, but for keep-alive frames, whose time comes at once when a test asks for it. */
const clock: Clock = {
  ...systemClock,
  after(delayMs, callback) {
    const hook = onSilence;
    if (delayMs !== keepAliveFrameMs || hook === undefined) {
      return { cancel() {} };
    }
    const handle = setImmediate(() => {
      hook();
      callback();
    });
    return { cancel: () => clearImmediate(handle) };
  },
};

beforeEach(async () => {
  onSilence = undefined;
  http = await startHarness({ keepAliveFrameMs, clock });
});
afterEach(async () => {
  await http.close();
});

/** A promise with its handle. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function* chunksOf(...chunks: readonly (string | Promise<void> | YtError)[]): AsyncGenerator<Buffer> {
  for (const chunk of chunks) {
    if (chunk instanceof YtError) {
      throw chunk;
    }
    if (typeof chunk === "string") {
      yield Buffer.from(chunk);
    } else {
      await chunk;
    }
  }
}

/** The next turn of the event loop but some, so that what came before was surely sent. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function serveStream(name: string, chunks: () => AsyncIterable<Buffer>, parameters?: () => undefined): void {
  http.driver.scripts.set(name, () => ({
    kind: "stream",
    chunks: chunks(),
    ...(parameters === undefined ? {} : { responseParameters: parameters }),
  }));
}

test("[http 93] rows are chunked, with trailers announced and no response parameters of select_rows", async () => {
  serveStream(
    "select_rows",
    () => chunksOf('{"k":1}\n', turns(), '{"k":2}\n'),
    () => undefined,
  );
  const reply = await http.callWith("/api/v4/select_rows", '{query="k from [//t]";output_format=json}');
  expect(reply.text).toBe('{"k":1}\n{"k":2}\n');
  expect(reply.headers["transfer-encoding"]).toBe("chunked");
  expect(reply.headers.trailer).toBe("X-YT-Error, X-YT-Response-Code, X-YT-Response-Message");
  expect(reply.headers["x-yt-response-parameters"]).toBeUndefined();
  expect(reply.headers["content-type"]).toBe("application/json");
  expect(reply.trailers).toEqual({});
});

test("[http 94] response parameters are written in header format", async () => {
  http.driver.scripts.set("select_rows", () => ({
    kind: "stream",
    chunks: chunksOf("x"),
    responseParameters: () => mapOf({ name: "п\n", n: 1n }),
  }));
  const text = await http.callWith("/api/v4/select_rows", "{query=x}");
  expect(text.headers["x-yt-response-parameters"]).toBe('{"name"="\\xD0\\xBF\\n";"n"=1;}');
  const json = await http.call("/api/v4/select_rows?query=x");
  expect(json.headers["x-yt-response-parameters"]).toBe('{"name":"\\u00d0\\u00bf\\n","n":1}');
});

test("a stream of nothing is a whole reply in every encoding", async () => {
  serveStream("select_rows", () => chunksOf());
  const call = (name: string) => http.call("/api/v4/select_rows", { headers: { "Accept-Encoding": name } });
  expect((await call("identity")).text).toBe("");
  expect(gunzipSync((await call("gzip")).body).length).toBe(0);
  expect(brotliDecompressSync((await call("br")).body).length).toBe(0);
  expect((await call("z-zstd_3")).body.toString("hex")).toBe(`0c5b0800000000000000${"00".repeat(8)}`);
});

test("[http 112] framing", async () => {
  serveStream("read_table", () => chunksOf("12345678"));
  const reply = await http.callWith("/api/v4/read_table", '{path="//t"}', {
    headers: { "X-YT-Accept-Framing": "1" },
  });
  expect(reply.headers["x-yt-framing"]).toBe("1");
  expect(reply.body.toString("latin1")).toBe("\x01\x08\x00\x00\x0012345678");
});

test("[http 113] an error before the first data of a framed reply", async () => {
  serveStream("read_table", () => chunksOf(new YtError("No such table", { code: "ResolveError" })));
  const reply = await http.callWith("/api/v4/read_table", '{path="//t"}', {
    headers: { "X-YT-Accept-Framing": "1" },
  });
  expect(reply.status).toBe(400);
  expect(JSON.parse(reply.text)).toMatchObject({ code: 500, attributes: { path: "//t" } });
  expect(reply.headers["x-yt-framing"]).toBeUndefined();
  expect(reply.headers.trailer).toBeUndefined();
  expect(reply.headers["content-encoding"]).toBeUndefined();
});

test("[http 114] an error after the first data is in the trailers, in every encoding", async () => {
  serveStream("read_table", () => chunksOf("rows", turns(), new YtError("Disk\nbroke", { code: "IOError" })));
  for (const encoding of ["identity", "gzip", "br", "z-zstd_3"]) {
    const reply = await http.callWith("/api/v4/read_table", '{path="//t"}', {
      headers: { "Accept-Encoding": encoding },
    });
    expect(reply.status).toBe(200);
    expect(reply.headers["x-yt-error"]).toBeUndefined();
    expect(JSON.parse(String(reply.trailers["x-yt-error"]))).toMatchObject({
      code: 711,
      message: "Disk\nbroke",
    });
    expect(reply.trailers["x-yt-response-code"]).toBe("711");
    expect(reply.trailers["x-yt-response-message"]).toBe("Disk\\nbroke");
    expect(reply.body.length).toBeGreaterThanOrEqual(4);
  }
});

test("a late error breaks the connection of a client that cannot read trailers", async () => {
  serveStream("read_table", () => chunksOf("rows", turns(), new YtError("Disk broke")));
  const call = http.callWith("/api/v4/read_table", '{path="//t"}', {
    headers: { "X-YT-Omit-Trailers": "1" },
  });
  await expect(call).rejects.toThrow();
});

test("or is dumped into the body if the client asked for it", async () => {
  serveStream("read_table", () => chunksOf("rows", turns(), new YtError("Disk broke")));
  const reply = await http.callWith("/api/v4/read_table", '{path="//t";dump_error_into_response=%true}', {
    headers: { "X-YT-Omit-Trailers": "1" },
  });
  const delimiter = `\n${"=".repeat(80)}\n`;
  expect(reply.text.startsWith(`rows${delimiter}{`)).toBe(true);
  expect(reply.text.endsWith(`}${delimiter}`)).toBe(true);
  expect(JSON.parse(reply.text.slice(4).replaceAll("=", ""))).toMatchObject({ message: "Disk broke" });
  expect(reply.headers.trailer).toBeUndefined();
});

test("a framed reply tells that it is alive, even before its first data", async () => {
  const { opened, open } = gate();
  let silences = 0;
  onSilence = () => {
    silences++;
    if (silences === 3) {
      open();
    }
  };
  serveStream("read_table", () => chunksOf(opened, "data"));
  const reply = await http.call("/api/v4/read_table?path=//t", { headers: { "X-YT-Accept-Framing": "1" } });
  expect(reply.body[0]).toBe(0x02);
  const data = reply.body.filter((_, i) => i >= reply.body.indexOf(0x01));
  expect(Buffer.from(data).toString("latin1")).toBe("\x01\x04\x00\x00\x00data");
});

test("a structured reply can be framed too", async () => {
  const reply = await http.call("/api/v4/get?path=//tmp/@type", {
    headers: { "X-YT-Accept-Framing": "1", "Accept-Encoding": "gzip" },
  });
  expect(gunzipSync(reply.body).toString("latin1")).toBe('\x01\x14\x00\x00\x00{"value":"map_node"}');
  expect(reply.headers["x-yt-response-parameters"]).toBe("{}");
});

test("[http 119] files", async () => {
  http.driver.scripts.set("read_file", () => ({
    kind: "stream",
    chunks: chunksOf("hello"),
    entityTag: "1-2-3-4:7",
  }));
  const reply = await http.call("/api/v4/read_file?path=//home/my.txt");
  expect(reply.headers["content-type"]).toBe("application/octet-stream");
  expect(reply.headers["content-disposition"]).toBe('attachment; filename="yt___home_my.txt"');
  expect(reply.headers.etag).toBe("1-2-3-4:7");
  const again = await http.call("/api/v4/read_file?path=//f", { headers: { "If-None-Match": "1-2-3-4:7" } });
  expect([again.status, again.text]).toEqual([304, ""]);
  expect((await http.call("/ping")).isReusedConnection).toBe(true);
});

test("[http 120] zstd blocks", async () => {
  const rows = Buffer.alloc(600 * 1024, "row;");
  serveStream("select_rows", () => chunksOf(rows.toString(), turns(), "end"));
  const { body, headers } = await http.call("/api/v4/select_rows", {
    headers: { "Accept-Encoding": "z-zstd_3" },
  });
  expect(headers["content-encoding"]).toBe("z-zstd_3");
  const contents: Buffer[] = [];
  let position = 0;
  for (;;) {
    expect(body.readUInt16LE(position)).toBe(23308);
    const payload = body.subarray(position + 10, position + 10 + Number(body.readBigUInt64LE(position + 2)));
    position += 10 + payload.length;
    const size = Number(payload.readBigUInt64LE(0));
    if (size === 0) {
      expect(payload.length).toBe(8);
      break;
    }
    expect(size).toBeLessThanOrEqual(256 * 1024);
    contents.push(Buffer.from(decompress(payload.subarray(8))));
    expect(contents.at(-1)?.length).toBe(size);
  }
  expect(position).toBe(body.length);
  expect(Buffer.concat(contents).toString()).toBe(`${rows}end`);
});

test("much data over a slow reader arrives whole, in every encoding", async () => {
  const piece = "0123456789abcdef".repeat(8192);
  for (const encoding of ["identity", "gzip"]) {
    serveStream("read_table", () => chunksOf(...Array.from({ length: 64 }, () => piece)));
    const reply = await http.call("/api/v4/read_table?path=//t", {
      headers: { "Accept-Encoding": encoding },
    });
    const body = encoding === "gzip" ? gunzipSync(reply.body) : reply.body;
    expect(body.equals(Buffer.from(piece.repeat(64)))).toBe(true);
  }
});

test("the Go client gets response parameters of read_table only", async () => {
  serveStream("read_table", () => chunksOf("x"));
  const headers = { "User-Agent": "go-yt-client" };
  expect(
    (await http.call("/api/v4/get?path=//tmp/@type", { headers })).headers["x-yt-response-parameters"],
  ).toBeUndefined();
  expect(
    (await http.call("/api/v4/read_table?path=//t", { headers })).headers["x-yt-response-parameters"],
  ).toBe("{}");
});

test("HEAD and HTTP/1.0 get no trailers", async () => {
  http.driver.scripts.set("read_table", () => ({
    kind: "stream",
    chunks: chunksOf("rows"),
    responseParameters: () => emptyMap,
  }));
  expect((await http.call("/api/v4/read_table?path=//t", { method: "HEAD" })).status).toBe(200);
  const answer = await http.raw("GET /api/v4/read_table?path=//t HTTP/1.0\r\n\r\n");
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer).not.toMatch(/trailer/i);
  expect(answer.endsWith("\r\n\r\nrows")).toBe(true);
});

test("a client that goes away stops the command", async () => {
  const stopped = gate();
  const started = gate();
  let signal: AbortSignal | undefined;
  http.driver.scripts.set("read_table", (request) => {
    signal = request.signal;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          yield Buffer.alloc(1 << 20);
          started.open();
        }
      } finally {
        stopped.open();
      }
    }
    return { kind: "stream", chunks: endless() };
  });
  const controller = new AbortController();
  const reply = fetch(`http://${http.server.address}/api/v4/read_table?path=//t`, {
    signal: controller.signal,
  });
  await reply;
  await started.opened;
  controller.abort();
  await stopped.opened;
  expect(signal?.aborted).toBe(true);
});
