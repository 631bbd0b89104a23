/** What is sent again after a failure, and what is not. */
import { type Clock, errorCodes, seededRandom, YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { expect, it } from "vitest";
import { createClient } from "./client.ts";
import type { Transport, TransportRequest, TransportResponse } from "./transport.ts";

/** A clock on which every wait is over at once. */
const impatient: Clock = {
  now: () => 0,
  monotonic: () => 0,
  after(_delayMs, callback) {
    queueMicrotask(callback);
    return { cancel: () => undefined };
  },
};

function ok(): TransportResponse {
  return { status: 200, headers: new Map(), body: bytes(""), trailers: () => new Map() };
}

function refused(status: number, code: number): TransportResponse {
  const error = JSON.stringify({ code, message: "no", attributes: {} });
  return { status, headers: new Map([["x-yt-error", error]]), body: bytes(error), trailers: () => new Map() };
}

async function* bytes(text: string): AsyncIterable<Buffer> {
  yield Buffer.from(text);
}

function clientOver(answers: readonly (() => TransportResponse)[]): {
  client: ReturnType<typeof createClient>;
  sent: TransportRequest[];
} {
  const sent: TransportRequest[] = [];
  const transport: Transport = {
    async send(request) {
      sent.push(request);
      return (answers[sent.length - 1] ?? ok)();
    },
    close: async () => undefined,
  };
  const client = createClient({ proxy: "localhost:1", transport, clock: impatient, random: seededRandom(1) });
  return { client, sent };
}

function lost(): never {
  throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
}

function unreachable(): never {
  throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
}

const rows = [{ data: "x" }];

it("does not append rows again when the answer was lost", async () => {
  const { client, sent } = clientOver([lost]);
  await expect(client.insertRows("//tmp/q", rows)).rejects.toMatchObject({ code: errorCodes.TransportError });
  expect(sent).toHaveLength(1);
});

it("appends rows again when the server was not reached or refused at the door", async () => {
  const { client, sent } = clientOver([unreachable, () => refused(503, 108)]);
  await client.insertRows("//tmp/q", rows);
  expect(sent).toHaveLength(3);
});

it("repeats a push under one mutation id when the answer was lost", async () => {
  const { client, sent } = clientOver([lost, () => refused(400, 3102)]);
  const push = client.pushQueueProducer("//tmp/p", "//tmp/q", "me", 0n, rows);
  await expect(push).rejects.toBeInstanceOf(YtError);
  const ids = sent.map(({ headers }) => {
    const parameters = headers.find(([name]) => name === "x-yt-parameters")?.[1] ?? "";
    return /"mutation_id"="([^"]+)"/.exec(parameters)?.[1];
  });
  expect(ids).toHaveLength(2);
  expect(ids[0]).toBeDefined();
  expect(ids[1]).toBe(ids[0]);
  expect(sent[1]?.headers.find(([name]) => name === "x-yt-parameters")?.[1]).toContain('"retry"=%true');
});

it("gives up at once on an error that a repeat would meet again", async () => {
  const { client, sent } = clientOver([() => refused(400, 500)]);
  await expect(client.get("//tmp/none")).rejects.toMatchObject({ code: 500 });
  expect(sent).toHaveLength(1);
});

it("asks again when an answer breaks off", async () => {
  const broken = (): TransportResponse => ({ ...ok(), body: breakingOff() });
  async function* breakingOff(): AsyncIterable<Buffer> {
    yield Buffer.from('{"val');
    throw Object.assign(new Error("terminated"), { code: "UND_ERR_SOCKET" });
  }
  const whole = (): TransportResponse => ({ ...ok(), body: bytes('{"value"=5}') });
  const { client, sent } = clientOver([broken, whole]);
  expect(await client.get("//tmp/a")).toBe(5n);
  expect(sent).toHaveLength(2);
});

it("gives up when all attempts together have taken as long as they may", async () => {
  const clock = new FakeClock();
  const sent: number[] = [];
  const transport: Transport = {
    send: async ({ timeoutMs }) => {
      sent.push(timeoutMs);
      return lost();
    },
    close: async () => undefined,
  };
  const client = createClient({ proxy: "p", transport, clock, random: seededRandom(1) });
  const got = client.get("//tmp/a", { totalTimeoutMs: 1_000 });
  got.catch(() => undefined);
  await clock.advance(1_000);
  await expect(got).rejects.toMatchObject({ code: errorCodes.TransportError });
  expect(sent.length).toBeGreaterThan(1);
  expect(sent.length).toBeLessThan(6);
  expect(sent[0]).toBe(1_000);
  expect(sent.at(-1)).toBeLessThan(1_000);
});

it("says that a request was canceled, whatever the signal's reason is", async () => {
  const controller = new AbortController();
  const { client } = clientOver([
    () => {
      controller.abort(new Error("enough"));
      throw controller.signal.reason;
    },
  ]);
  const got = client.get("//tmp/a", { signal: controller.signal });
  await expect(got).rejects.toMatchObject({ code: errorCodes.Canceled });
});
