/** Pulls that wait: by the proxy, and, where it does not, by asking again; and what a pull tells. */
import { isMap, mapOf, seededRandom, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { parseYson, writeYsonList, writeYsonText } from "@qyt/yson";
import { expect, it } from "vitest";
import { createClient, type YtClient } from "./client.ts";
import type { Transport, TransportResponse } from "./transport.ts";

interface Asked {
  readonly atMs: number;
  readonly parameters: YsonMap;
  readonly timeoutMs: number;
}

interface Proxy {
  readonly client: YtClient;
  readonly clock: FakeClock;
  readonly asked: Asked[];
}

/** A proxy whose queue gets its row at a moment; `waits`: whether it knows `wait_timeout`. */
function proxyWith(options: { readonly rowAtMs?: number; readonly waits: boolean }): Proxy {
  const clock = new FakeClock();
  const asked: Asked[] = [];
  const rowAtMs = options.rowAtMs ?? Number.POSITIVE_INFINITY;
  const transport: Transport = {
    async send({ headers, timeoutMs }) {
      const text = headers.find(([name]) => name === "x-yt-parameters")?.[1] ?? "{}";
      const value = parseYson(text);
      const parameters: YsonMap = isMap(value) ? value : new Map();
      asked.push({ atMs: clock.monotonic(), parameters, timeoutMs });
      const wait = parameters.get("wait_timeout");
      if (options.waits && typeof wait === "bigint") {
        const untilMs = Math.min(rowAtMs - clock.monotonic(), Number(wait));
        await new Promise<void>((resolve) => clock.after(untilMs, resolve));
      }
      return answer(clock.monotonic() >= rowAtMs ? [mapOf({ data: "x" })] : []);
    },
    close: async () => undefined,
  };
  const client = createClient({ proxy: "localhost:1", transport, clock, random: seededRandom(1) });
  return { client, clock, asked };
}

function answer(rows: readonly YsonValue[], told?: YsonMap): TransportResponse {
  async function* body(): AsyncIterable<Buffer> {
    yield writeYsonList(rows, "binary");
  }
  const headers = told === undefined ? [] : [["x-yt-response-parameters", writeYsonText(told)] as const];
  return { status: 200, headers: new Map(headers), body: body(), trailers: () => new Map() };
}

async function finished<T>(clock: FakeClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const over = work.finally(() => {
    isOver = true;
  });
  over.catch(() => undefined);
  await clock.advanceUntil(() => isOver);
  return over;
}

it("asks once where the proxy waits, and gives the request that much more time", async () => {
  const { client, clock, asked } = proxyWith({ rowAtMs: 5_000, waits: true });
  const rows = await finished(clock, client.pullQueue("//tmp/q", 0n, 0, { waitTimeoutMs: 30_000 }));
  expect(rows).toHaveLength(1);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.parameters.get("wait_timeout")).toBe(30_000n);
  expect(asked[0]?.timeoutMs).toBe(60_000 + 30_000);
});

it("answers nothing when the time is over, without asking again", async () => {
  const { client, clock, asked } = proxyWith({ waits: true });
  const pull = client.pullQueueConsumer("//tmp/c", "//tmp/q", null, 0, { waitTimeoutMs: 1_000 });
  expect(await finished(clock, pull)).toEqual([]);
  expect(clock.monotonic()).toBe(1_000);
  expect(asked).toHaveLength(1);
});

it("asks again with growing pauses where the proxy answers at once", async () => {
  const { client, clock, asked } = proxyWith({ rowAtMs: 10_000, waits: false });
  const rows = await finished(clock, client.pullQueue("//tmp/q", 0n, 0, { waitTimeoutMs: 60_000 }));
  expect(rows).toHaveLength(1);
  const times = asked.map(({ atMs }) => atMs);
  // Soon at first, then about every second: a row waits no longer than a pause.
  expect(times[1]).toBeLessThanOrEqual(30);
  expect(times.length).toBeLessThan(30);
  expect(times.at(-1)).toBeLessThanOrEqual(11_500);
  const left = asked.map(({ parameters }) => Number(parameters.get("wait_timeout")));
  expect(left).toEqual(times.map((atMs) => Math.ceil(60_000 - atMs)));
});

it("looks a last time at the end", async () => {
  const { client, clock, asked } = proxyWith({ rowAtMs: 1_500, waits: false });
  const rows = await finished(clock, client.pullQueue("//tmp/q", 0n, 0, { waitTimeoutMs: 1_500 }));
  expect(rows).toHaveLength(1);
  expect(asked.at(-1)?.atMs).toBe(1_500);
  expect(asked.at(-1)?.parameters.has("wait_timeout")).toBe(false);
});

it("does not wait unless it is told to", async () => {
  const { client, asked } = proxyWith({ waits: false });
  expect(await client.pullQueue("//tmp/q", 0n, 0)).toEqual([]);
  expect(asked).toHaveLength(1);
  expect(asked[0]?.parameters.has("wait_timeout")).toBe(false);
});

it("stops waiting when it is told to", async () => {
  const { client, clock } = proxyWith({ waits: false });
  const controller = new AbortController();
  const pull = client.pullQueue("//tmp/q", 0n, 0, { waitTimeoutMs: 60_000, signal: controller.signal });
  pull.catch(() => undefined);
  await clock.advance(3_000);
  controller.abort();
  await expect(pull).rejects.toBeDefined();
  expect(clock.timerCount).toBe(0);
});

it("hands on what is told about the rows, as far as it is told", async () => {
  const told = mapOf({
    start_offset: 7n,
    start_row_index: 7n,
    skipped_row_count: 3n,
    tablet_layout_revision: new Uint64(2n ** 63n + 1n),
  });
  const answers = [answer([mapOf({ data: "x" })], told), answer([])];
  const transport: Transport = {
    send: async () => answers.shift() ?? answer([]),
    close: async () => undefined,
  };
  const client = createClient({ proxy: "localhost:1", transport });
  expect(await client.pullQueuePortion("//tmp/q", 4n, 0)).toEqual({
    rows: [{ data: "x" }],
    startOffset: 7n,
    skippedRowCount: 3n,
    layoutRevision: 2n ** 63n + 1n,
  });
  expect(await client.pullQueueConsumerPortion("//tmp/c", "//tmp/q", null, 0)).toEqual({
    rows: [],
    startOffset: undefined,
    skippedRowCount: 0n,
    layoutRevision: undefined,
  });
});
