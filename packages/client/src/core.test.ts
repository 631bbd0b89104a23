/** What is sent again after a failure, and what is not. */
import { type Clock, errorCodes, seededRandom, YtError } from "@qyt/base";
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
