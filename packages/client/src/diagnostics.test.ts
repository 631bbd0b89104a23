/** What the client tells those who listen, and that listeners can add headers. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { seededRandom } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { afterEach, expect, it } from "vitest";
import { createClient } from "./client.ts";
import { channelNames } from "./diagnostics.ts";
import type { TransportRequest, TransportResponse } from "./transport.ts";

const listening: (() => void)[] = [];
afterEach(() => {
  for (const stop of listening.splice(0)) {
    stop();
  }
});

function listen(name: keyof typeof channelNames, onMessage: (message: unknown) => void): void {
  subscribe(channelNames[name], onMessage);
  listening.push(() => unsubscribe(channelNames[name], onMessage));
}

async function* bytes(text: string): AsyncIterable<Buffer> {
  yield Buffer.from(text);
}

function clientOver(answers: readonly string[]): {
  client: ReturnType<typeof createClient>;
  sent: TransportRequest[];
} {
  const sent: TransportRequest[] = [];
  const transport = {
    async send(request: TransportRequest): Promise<TransportResponse> {
      sent.push(request);
      const text = answers[sent.length - 1] ?? "";
      const headers = new Map(text.startsWith('{"code"') ? [["x-yt-error", text]] : []);
      return { status: headers.size > 0 ? 503 : 200, headers, body: bytes(text), trailers: () => new Map() };
    },
    close: async () => undefined,
  };
  const retries = { attempts: 3, minDelayMs: 0, maxDelayMs: 0 };
  const client = createClient({
    proxy: "p",
    transport,
    clock: new FakeClock(),
    random: seededRandom(1),
    retries,
  });
  return { client, sent };
}

it("tells of each attempt, and takes headers for it", async () => {
  const told: unknown[] = [];
  listen("requestStart", (message) => {
    told.push(message);
    if (
      typeof message === "object" &&
      message !== null &&
      "headers" in message &&
      Array.isArray(message.headers)
    ) {
      message.headers.push(["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]);
    }
  });
  listen("requestEnd", (message) => told.push(message));
  const { client, sent } = clientOver(['{"value"=5}']);
  await client.get("//a");
  expect(told).toMatchObject([
    { command: "get", attempt: 1 },
    { command: "get", attempt: 1, durationMs: 0, error: undefined },
  ]);
  const headers = new Map(sent[0]?.headers);
  expect(headers.get("traceparent")).toMatch(/^00-/);
  expect(told[0]).toMatchObject({ id: headers.get("x-yt-correlation-id") });
});

it("tells of an attempt that failed, and of the pause before the next", async () => {
  const told: unknown[] = [];
  listen("requestEnd", (message) => told.push(message));
  listen("requestRetry", (message) => told.push(message));
  const { client } = clientOver(['{"code":105,"message":"busy","attributes":{}}', '{"value"=5}']);
  const clock = client.requester.options.clock;
  const got = client.get("//a");
  if (clock instanceof FakeClock) {
    await clock.advance(1);
  }
  await got;
  expect(told).toMatchObject([
    { command: "get", attempt: 1, error: { code: 105 } },
    { command: "get", attempt: 1, error: { code: 105 } },
    { command: "get", attempt: 2, error: undefined },
  ]);
});

it("sends nothing more when nobody listens", async () => {
  const { client, sent } = clientOver(['{"value"=5}']);
  await client.get("//a");
  expect(new Map(sent[0]?.headers).has("x-yt-correlation-id")).toBe(false);
});
