import { mapOf, seededRandom, type YsonValue } from "@qyt/base";
import { createClient, type TransportResponse } from "@qyt/client";
import { FakeClock, settle } from "@qyt/testing";
import { writeJson, writeYson } from "@qyt/yson";
import { expect, it, vi } from "vitest";
import { PingedTransaction } from "./pinged-transaction.ts";

type Answer = YsonValue | { readonly errorCode: bigint } | "silence";

/** A proxy that answers as it is told, and notes what it was asked. */
function setUp() {
  const clock = new FakeClock(0);
  const asked: string[] = [];
  const proxy: { answer: (command: string) => Answer } = {
    answer: () => mapOf({ transaction_id: "1-2-3-4" }),
  };
  const client = createClient({
    proxy: "fake:1",
    clock,
    random: seededRandom(1),
    retries: false,
    transport: {
      async send({ url, signal }): Promise<TransportResponse> {
        const command = url.slice(url.lastIndexOf("/") + 1);
        asked.push(command);
        const answer = proxy.answer(command);
        if (answer === "silence") {
          return new Promise((_, reject) => {
            signal?.addEventListener("abort", () => reject(new DOMException("stop", "AbortError")));
          });
        }
        const isError = answer !== null && typeof answer === "object" && "errorCode" in answer;
        const body = isError
          ? writeJson(mapOf({ code: answer.errorCode, message: "no", attributes: mapOf({}) }))
          : writeYson(answer, "binary");
        return {
          status: isError ? 400 : 200,
          headers: new Map(),
          body: (async function* () {
            yield Buffer.from(body);
          })(),
          trailers: () => new Map(),
        };
      },
      close: async () => {},
    },
  });
  const start = () =>
    PingedTransaction.start(
      { client, clock, timeoutMs: 4_000, attributes: mapOf({ host: "a:1" }) },
      new AbortController().signal,
    );
  return { clock, asked, proxy, start };
}

it("lives as long as its pings are answered, and is aborted at its end", async () => {
  const { clock, asked, start } = setUp();
  const transaction = await start();
  await clock.advance(60_000);
  expect(transaction.isAlive).toBe(true);
  expect(asked.filter((command) => command === "ping_transaction").length).toBeGreaterThanOrEqual(60);
  await transaction.close();
  expect(asked.at(-1)).toBe("abort_transaction");
  expect(transaction.isAlive).toBe(false);
  expect(clock.timerCount).toBe(0);
});

it("is over when the cluster does not know it any more", async () => {
  const { clock, proxy, start } = setUp();
  const transaction = await start();
  await settle();
  proxy.answer = () => ({ errorCode: 11_000n });
  await clock.advance(1_000);
  expect(transaction.isAlive).toBe(false);
  await transaction.endedOr(new AbortController().signal);
});

it("is not trusted any more, by the own clock, before the cluster can have ended it", async () => {
  const { clock, proxy, start } = setUp();
  const transaction = await start();
  await settle();
  proxy.answer = () => ({ errorCode: 105n });
  await clock.advance(3_000);
  expect(transaction.isAlive).toBe(true);
  await clock.advance(300);
  expect(transaction.isAlive).toBe(false);
});

it("is not trusted at once after a pause of the process, before anything could be asked", async () => {
  const { clock, proxy, start } = setUp();
  const transaction = await start();
  await settle();
  const { answer } = proxy;
  proxy.answer = () => "silence";
  // Nothing runs during a pause: the time is another when the process goes on.
  const paused = clock.advance(10_000);
  expect(transaction.isAlive).toBe(true);
  await paused;
  expect(transaction.isAlive).toBe(false);
  proxy.answer = answer;
  await transaction.close();
});

it("goes on when the proxy is back in time", async () => {
  const { clock, proxy, start } = setUp();
  const transaction = await start();
  await settle();
  const { answer } = proxy;
  proxy.answer = () => ({ errorCode: 105n });
  await clock.advance(2_500);
  proxy.answer = answer;
  await clock.advance(10_000);
  expect(transaction.isAlive).toBe(true);
  await transaction.close();
});

it("is committed once, and neither pinged nor aborted afterwards", async () => {
  const { clock, asked, start } = setUp();
  const transaction = await start();
  await transaction.commit(new AbortController().signal);
  expect(asked).toContain("commit_transaction");
  asked.length = 0;
  await transaction.close();
  await clock.advance(60_000);
  expect(asked).toEqual([]);
  expect(clock.timerCount).toBe(0);
});

it("is aborted when its commit fails", async () => {
  const { asked, proxy, start } = setUp();
  const transaction = await start();
  proxy.answer = (command) => (command === "commit_transaction" ? { errorCode: 1n } : mapOf({}));
  await expect(transaction.commit(new AbortController().signal)).rejects.toThrow("no");
  await transaction.close();
  expect(asked.slice(-2)).toEqual(["commit_transaction", "abort_transaction"]);
});

it("leaves no listener behind on a signal that outlives it", async () => {
  const { start } = setUp();
  const signal = new AbortController().signal;
  const transaction = await start();
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  const ended = transaction.endedOr(signal);
  await transaction.close();
  await ended;
  expect(removed).toHaveBeenCalledTimes(added.mock.calls.length);
});
