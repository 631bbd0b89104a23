/** The protocol over a real socket: request bodies, whole and damaged, and what becomes of the connection. */
import { connect } from "node:net";
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  BlockDecoder,
  blockCodecs,
  encodeBlock,
  encodeLastBlock,
  prepareBlockCodecs,
} from "./block-codecs.ts";
import { type Call, type Harness, type Reply, startHarness } from "./testing/harness.ts";

let http: Harness;
let received: Buffer[];
const fast = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const unhandled: unknown[] = [];
const onUnhandled = (reason: unknown): void => {
  unhandled.push(reason);
};

beforeEach(async () => {
  http = await startHarness();
  received = [];
  http.driver.scripts.set("insert_rows", async (request) => {
    received.push(await request.readBody(8 * 1024 * 1024));
    return { kind: "empty" };
  });
  http.driver.scripts.set("write_file", async (request) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request.body()) {
      chunks.push(chunk);
    }
    received.push(Buffer.concat(chunks));
    return { kind: "empty" };
  });
  unhandled.length = 0;
  process.on("unhandledRejection", onUnhandled);
});
afterEach(async () => {
  await http.close();
  process.off("unhandledRejection", onUnhandled);
  expect(unhandled).toEqual([]);
});

function put(
  body: string | Buffer,
  headers: Record<string, string> = {},
  command = "insert_rows",
): Promise<Reply> {
  return http.callWith(`/api/v4/${command}`, '{path="//t";input_format=json}', {
    method: "PUT",
    body,
    headers,
  });
}

async function expectUsable(): Promise<void> {
  const reply = await http.call("/ping");
  expect([reply.status, reply.isReusedConnection]).toEqual([200, true]);
}

test("[http 83] rows without encoding, chunked; the reply has no body at all", async () => {
  const reply = await put('{"k":1}\n{"k":2}\n', { "Transfer-Encoding": "chunked" });
  expect([reply.status, reply.body.length]).toEqual([200, 0]);
  expect(received[0]?.toString()).toBe('{"k":1}\n{"k":2}\n');
});

test("[http 84] every encoding of rows, whatever the header calls a zlib stream", async () => {
  const rows = Buffer.from('{"k":1}\n'.repeat(1000));
  const bodies: [string, Buffer][] = [
    ["gzip", gzipSync(rows)],
    ["gzip", deflateSync(rows)],
    ["deflate", deflateSync(rows)],
    ["deflate", gzipSync(rows)],
    ["br", brotliCompressSync(rows)],
  ];
  for (const codec of blockCodecs.values()) {
    const block = (from: number, to: number) => encodeBlock(codec, rows.subarray(from, to));
    bodies.push([codec.name, Buffer.concat([block(0, 5), block(5, rows.length), encodeLastBlock(codec)])]);
  }
  for (const command of ["insert_rows", "write_file"]) {
    for (const [name, body] of bodies) {
      received = [];
      const reply = await put(body, { "Content-Encoding": name }, command);
      expect([name, reply.status]).toEqual([name, 200]);
      expect(received[0]?.equals(rows)).toBe(true);
    }
  }
  await expectUsable();
});

test("an empty body is empty in every encoding", async () => {
  for (const command of ["insert_rows", "write_file"]) {
    for (const name of ["gzip", "br", "z-zstd_3", "identity"]) {
      received = [];
      expect((await put("", { "Content-Encoding": name }, command)).status).toBe(200);
      expect(received[0]?.length).toBe(0);
    }
  }
});

test("large compressed bodies do not pass through the short way", async () => {
  const rows = Buffer.alloc(3 * 1024 * 1024);
  for (let i = 0; i < rows.length; i += 4) {
    rows.writeUInt32LE((i * 2654435761) >>> 0, i);
  }
  for (const [name, body] of [
    ["gzip", gzipSync(rows, { level: 1 })],
    ["br", brotliCompressSync(rows, fast)],
  ] as const) {
    expect((await put(body, { "Content-Encoding": name })).status).toBe(200);
    expect(received.pop()?.equals(rows)).toBe(true);
  }
});

test("damaged bodies are a clean 400 and the connection stays", async () => {
  const rows = Buffer.from('{"k":1}\n'.repeat(1000));
  const zstd = blockCodecs.get("z-zstd_3");
  const nothing = blockCodecs.get("z-null");
  if (zstd === undefined || nothing === undefined) {
    throw new Error("codecs are missing");
  }
  const block = encodeBlock(zstd, rows);
  const lying = Buffer.from(block);
  lying.writeBigUInt64LE(1n << 40n, 10);
  const huge = Buffer.from(block);
  huge.writeBigUInt64LE(1n << 62n, 2);
  const bodies: [string, Buffer][] = [
    ["gzip", gzipSync(rows).subarray(0, -12)],
    ["gzip", rows],
    ["gzip", deflateRawSync(rows)],
    ["br", Buffer.from([0xff, 0xff, 0xff, 0xff])],
    ["br", brotliCompressSync(rows).subarray(0, 10)],
    ["z-zstd_3", block.subarray(0, -1)],
    ["z-zstd_3", lying],
    ["z-zstd_3", huge],
    ["z-zstd_3", encodeBlock(nothing, rows)],
    ["z-zstd_3", Buffer.concat([encodeLastBlock(zstd), Buffer.from("x")])],
    ["z-zlib", Buffer.concat([block, encodeLastBlock(zstd)])],
  ];
  for (const command of ["insert_rows", "write_file"]) {
    for (const [name, body] of bodies) {
      const reply = await put(body, { "Content-Encoding": name }, command);
      expect([name, reply.status]).toEqual([name, 400]);
      expect(JSON.parse(reply.text).message).toMatch(/^Error decompressing request body/);
      await expectUsable();
    }
  }
  expect(received).toEqual([]);
});

test("a body that grows beyond its limit is refused before it is all in memory", async () => {
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024), { level: 1 });
  const zstd = blockCodecs.get("z-zstd_3");
  if (zstd === undefined) {
    throw new Error("codec is missing");
  }
  const zstdBomb = Buffer.concat(
    Array.from({ length: 4 }, () => encodeBlock(zstd, Buffer.alloc(4 * 1024 * 1024))),
  );
  const calls: [Buffer, string][] = [
    [bomb, "gzip"],
    [brotliCompressSync(Buffer.alloc(16 * 1024 * 1024), fast), "br"],
    [zstdBomb, "z-zstd_3"],
    [Buffer.alloc(9 * 1024 * 1024), "identity"],
  ];
  for (const [body, name] of calls) {
    const reply = await put(body, { "Content-Encoding": name });
    expect([name, reply.status, JSON.parse(reply.text).message]).toEqual([
      name,
      400,
      expect.stringMatching(/^Request body is too large, limit \d+ bytes$/),
    ]);
    await expectUsable();
  }
});

test("malformed headers are a clean 400 and the connection stays", async () => {
  const yson = { "X-YT-Header-Format": "yson" };
  const calls: Call[] = [
    { headers: { "X-YT-Parameters-0": "!!!not base64" } },
    { headers: { "X-YT-Parameters-0": "abcde" } },
    { headers: { "X-YT-Parameters": "{" } },
    { headers: { "X-YT-Parameters": "[1;2]", ...yson } },
    { headers: { "X-YT-Parameters": "{a=<", ...yson } },
    { headers: { "X-YT-Header-Format": "<<<" } },
    { headers: { "X-YT-Header-Format": "dsv" } },
    { headers: { "X-YT-Output-Format": "nonsense", ...yson } },
    { headers: { "X-YT-Error-Format": "{", ...yson } },
    { headers: { "X-YT-Parameters": '{output_format="nonsense"}', ...yson } },
  ];
  for (const call of calls) {
    const reply = await http.call("/api/v4/get?path=//tmp/@type", call);
    expect([call, reply.status]).toEqual([call, 400]);
    expect(reply.headers["x-yt-response-code"]).toMatch(/^[1-9]\d*$/);
    await expectUsable();
  }
});

test("malformed query strings are a clean 400, odd ones are text", async () => {
  for (const query of [
    "a[=1",
    "a[x][y][z][u][v][w][q]=1",
    "a[2000]=1",
    "a[-1]=1",
    "a=1&a=2",
    "a=1&a[b]=2",
    "a[]=1&a[b]=2",
  ]) {
    const reply = await http.call(`/api/v4/get?path=//tmp/@type&${query}`);
    expect([query, reply.status]).toEqual([query, 400]);
    await expectUsable();
  }
  expect((await http.call("/api/v4/create?path=%zz%&=&&x")).status).toBe(200);
  expect(http.driver.parameters.get("path")).toBe("%zz%");
});

test("parameters of 128 KiB fit into the headers, a megabyte does not", async () => {
  const path = "x".repeat(90 * 1024);
  const encoded = Buffer.from(JSON.stringify({ path })).toString("base64");
  const half = 64 * 1024;
  const reply = await http.call("/api/v4/create", {
    headers: { "X-YT-Parameters-0": encoded.slice(0, half), "X-YT-Parameters-1": encoded.slice(half) },
  });
  expect(reply.status).toBe(200);
  expect(http.driver.parameters.get("path")).toBe(path);
  const answer = await http.raw(`GET /ping HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(1024 * 1024)}\r\n\r\n`);
  expect(answer).toMatch(/^HTTP\/1\.1 431 /);
  expect((await http.call("/ping")).status).toBe(200);
});

test("what is no HTTP is told so", async () => {
  expect(await http.raw("\x16\x03\x01 hello\r\n\r\n")).toMatch(/^HTTP\/1\.1 400 /);
});

test("an error reply to an unread body leaves the connection usable", async () => {
  const body = Buffer.alloc(4 * 1024 * 1024);
  for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
    for (const path of ["/api/v4/unknown", "/nothing", "/ping", "/api/v4/get?path=//no"]) {
      const reply = await http.call(path, { method: "PUT", body, headers });
      expect(reply.status).toBeLessThan(500);
      await expectUsable();
    }
  }
});

test("an aborted upload ends the command and nothing else", async () => {
  for (const [command, encoding] of [
    ["insert_rows", "identity"],
    ["insert_rows", "gzip"],
    ["write_file", "identity"],
    ["write_file", "br"],
    ["write_file", "z-zstd_3"],
  ] as const) {
    const outcome = new Promise<unknown>((resolve) => {
      http.driver.scripts.set(command, async (request) => {
        try {
          if (command === "insert_rows") {
            await request.readBody(1 << 20);
          } else {
            for await (const chunk of request.body()) {
              expect(chunk.length).toBeGreaterThan(0);
            }
          }
          resolve("read");
        } catch (error) {
          resolve(error);
          throw error;
        }
        return { kind: "empty" };
      });
    });
    const socket = connect(http.server.port, "127.0.0.1", () => {
      socket.write(
        `PUT /api/v4/${command}?path=//t HTTP/1.1\r\nHost: x\r\nContent-Encoding: ${encoding}\r\nContent-Length: 1000\r\n\r\nab`,
        () => socket.destroy(),
      );
    });
    expect(await outcome).toMatchObject({ code: 2 });
  }
  expect((await http.call("/ping")).status).toBe(200);
});

test("a client that expects 100-continue sends its body when it is wanted, and not when it is refused", async () => {
  const wanted = await put("rows", { Expect: "100-continue" });
  expect(wanted.status).toBe(200);
  expect(received[0]?.toString()).toBe("rows");
  const head = "HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
  const refused = await http.raw(`PUT /api/v4/unknown ${head}`);
  expect(refused).toMatch(/^HTTP\/1\.1 404 /);
  expect(refused).toMatch(/connection: close/i);
});

test("a command may leave the rest of its body", async () => {
  http.driver.scripts.set("write_file", async (request) => {
    for await (const chunk of request.body()) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    return { kind: "empty" };
  });
  for (const encoding of ["identity", "gzip"]) {
    const content = Buffer.alloc(2 * 1024 * 1024, "abc");
    const body = encoding === "gzip" ? gzipSync(content, { level: 0 }) : content;
    expect((await put(body, { "Content-Encoding": encoding }, "write_file")).status).toBe(200);
    await expectUsable();
  }
});

test("block codecs have the numbers of the table", () => {
  const numbers = Object.fromEntries([...blockCodecs].map(([name, codec]) => [name, codec.id]));
  expect(numbers).toEqual({
    "z-null": 54476,
    "z-snappy": 50986,
    "z-lz4": 6051,
    "z-zstd_1": 55019,
    "z-zstd_3": 23308,
    "z-zstd_7": 33533,
    "z-brotli_1": 48947,
    "z-brotli_6": 63219,
    "z-zlib": 41057,
  });
});

test("blocks may be split at any byte", async () => {
  await prepareBlockCodecs();
  const pieces = fc.array(fc.uint8Array({ minLength: 1, maxLength: 200 }), { maxLength: 4 });
  fc.assert(
    fc.property(
      fc.constantFrom(...blockCodecs.values()),
      pieces,
      fc.constantFrom("none", "prefix", "empty"),
      fc.integer({ min: 1, max: 40 }),
      (codec, contents, ending, step) => {
        const empty = encodeLastBlock(codec).subarray(0, 10);
        empty.writeBigUInt64LE(0n, 2);
        const last =
          ending === "none" ? Buffer.alloc(0) : ending === "empty" ? empty : encodeLastBlock(codec);
        const stream = Buffer.concat([
          ...contents.map((content) => encodeBlock(codec, Buffer.from(content))),
          last,
        ]);
        const decoder = new BlockDecoder(codec, 1024);
        const decoded: Buffer[] = [];
        for (let i = 0; i < stream.length; i += step) {
          decoder.push(stream.subarray(i, i + step));
          for (let content = decoder.next(); content !== undefined; content = decoder.next()) {
            decoded.push(content);
          }
        }
        decoder.finish();
        expect(Buffer.concat(decoded).equals(Buffer.concat(contents))).toBe(true);
      },
    ),
  );
});

test("damaged blocks throw one kind of error", async () => {
  await prepareBlockCodecs();
  fc.assert(
    fc.property(
      fc.constantFrom(...blockCodecs.values()),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { minLength: 1, maxLength: 3 }),
      (codec, content, damages) => {
        const stream = Buffer.concat([encodeBlock(codec, Buffer.from(content)), encodeLastBlock(codec)]);
        for (const [at, byte] of damages) {
          stream[at % stream.length] = byte;
        }
        const decoder = new BlockDecoder(codec, 1024);
        let failure: unknown;
        try {
          decoder.push(stream);
          while (decoder.next() !== undefined) {}
          decoder.finish();
        } catch (error) {
          failure = error;
        }
        expect(failure === undefined || (failure instanceof Error && failure.name === "YtError")).toBe(true);
      },
    ),
    { numRuns: 300 },
  );
});
