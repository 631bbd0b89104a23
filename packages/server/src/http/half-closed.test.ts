/** Clients that end their sending side before they have their reply, and those that are gone. */
import { connect } from "node:net";
import { mapOf } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Harness, startHarness } from "./testing/harness.ts";

let http: Harness;
beforeEach(async () => {
  http = await startHarness();
});
afterEach(async () => {
  await http.close();
});

/** Sends `text`, ends its side, and gives what came back until the server has ended its own. */
function sendAndEnd(text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: http.server.port, host: "127.0.0.1", allowHalfOpen: true });
    let answer = "";
    socket.setEncoding("latin1").on("data", (chunk: string) => {
      answer += chunk;
    });
    socket.once("error", reject);
    socket.once("end", () => {
      socket.destroy();
      resolve(answer);
    });
    socket.end(text, "latin1");
  });
}

const put = ["PUT /api/v4/insert_rows?path=//t HTTP/1.1", "Host: x", "Content-Length: 5", "", "{a=1}"].join(
  "\r\n",
);

test("a client that ends its side after the body gets its reply, and the connection is over", async () => {
  http.driver.scripts.set("insert_rows", async (request) => {
    await request.readBody(100);
    while (request.halfCloseSignal?.aborted !== true) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
    return { kind: "structured", value: mapOf({ done: true }) };
  });
  const answer = await sendAndEnd(put);
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(answer).toContain('{"done":true}');
});

test("so does one that ends its side with several requests on the way", async () => {
  const get = "GET /api/v4/get?path=//tmp/@type HTTP/1.1\r\nHost: x\r\n\r\n";
  const answer = await sendAndEnd(get + get);
  expect(answer.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
});

test("a client that ends in the middle of its body is refused", async () => {
  const answer = await sendAndEnd(put.slice(0, -2));
  expect(answer).not.toContain("200 OK");
});

test("an idle connection that the client ends is ended", async () => {
  expect(await sendAndEnd("")).toBe("");
});

test("a client that is gone before its reply begins is given up after a while", async () => {
  const clock = new FakeClock();
  const patient = await startHarness({ clock });
  const ended = new Promise<AbortSignal>((resolve) => {
    patient.driver.scripts.set("get", async (request) => {
      socket.destroy();
      await once(request.halfCloseSignal);
      resolve(request.signal);
      await once(request.signal);
      throw new Error("The client is gone");
    });
  });
  const socket = connect(patient.server.port, "127.0.0.1");
  socket.write("GET /api/v4/get?path=//t HTTP/1.1\r\nHost: x\r\n\r\n");
  const signal = await ended;
  expect(signal.aborted).toBe(false);
  await clock.advance(10_000);
  await once(signal);
  expect(signal.aborted).toBe(true);
  await patient.close();
});

test("a client whose connection breaks is gone at once", async () => {
  const signals = new Promise<(AbortSignal | undefined)[]>((resolve) => {
    http.driver.scripts.set("get", async (request) => {
      socket.resetAndDestroy();
      const both = [request.signal, request.halfCloseSignal];
      await Promise.all(both.map(once));
      resolve(both);
      throw new Error("The client is gone");
    });
  });
  const socket = connect(http.server.port, "127.0.0.1");
  socket.write("GET /api/v4/get?path=//t HTTP/1.1\r\nHost: x\r\n\r\n");
  expect((await signals).map((signal) => signal?.aborted)).toEqual([true, true]);
});

function once(signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) {
      resolve();
    }
    signal?.addEventListener("abort", () => resolve(), { once: true });
  });
}
