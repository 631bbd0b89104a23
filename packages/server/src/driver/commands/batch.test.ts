/** How a batch shares the process with other requests. */
import { mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { expect, it } from "vitest";
import { open } from "../access.ts";
import { defineCommand, structured } from "../define.ts";
import { CommandDriver } from "../driver.ts";
import type { Services } from "../services.ts";
import { batchCommands } from "./batch.ts";

/** Every look at it is a millisecond later. */
class PassingClock extends FakeClock {
  #looks = 0;

  override monotonic(): number {
    return ++this.#looks;
  }
}

async function runBatch(clock: FakeClock, count: number): Promise<{ results: YsonValue; turns: number }> {
  const look = defineCommand({
    name: "look",
    input: "null",
    output: "structured",
    isVolatile: false,
    isHeavy: false,
    access: open("it is a test"),
    summary: "",
    parameters: {},
    execute: async () => structured(1n),
  });
  const services = {
    cell: { clock },
    access: { checkUser: () => undefined },
    driver: () => driver,
  } as unknown as Services;
  const driver = new CommandDriver(services, [...batchCommands, look], clock);
  let isOver = false;
  let turns = 0;
  const watch = (): void => {
    if (!isOver) {
      turns += 1;
      setImmediate(watch);
    }
  };
  setImmediate(watch);
  const requests = Array.from({ length: count }, () => mapOf({ command: "look", parameters: mapOf({}) }));
  const response = await driver.execute({
    apiVersion: 4,
    command: "execute_batch",
    parameters: mapOf({ requests }),
    user: "root",
    peer: undefined,
    requestId: "",
    signal: new AbortController().signal,
    async *body() {},
    readBody: async () => Buffer.alloc(0),
  });
  isOver = true;
  return { results: response.kind === "structured" ? response.value : null, turns };
}

it("gives others a turn every few milliseconds, whatever its concurrency", async () => {
  const { results, turns } = await runBatch(new PassingClock(), 1000);
  expect(results).toEqual(mapOf({ results: new Array(1000).fill(mapOf({ output: 1n })) }));
  // Between two turns at most three milliseconds pass, and the requests that all workers have begun.
  expect(turns).toBeGreaterThan(10);
});

it("takes no turn when its requests take no time", async () => {
  const { turns } = await runBatch(new FakeClock(), 1000);
  expect(turns).toBe(0);
});
