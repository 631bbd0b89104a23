/** Rates of requests, on a clock that the test moves. */
import { YtError } from "@qyt/base";
import { FakeClock, settle } from "@qyt/testing";
import { describe, expect, it } from "vitest";
import { allCommands } from "./commands/index.ts";
import { limitedCommands, RequestLimits, type UserRequestLimits } from "./request-limits.ts";

const get = {
  name: "get",
  inputType: "null",
  outputType: "structured",
  isVolatile: false,
  isHeavy: false,
} as const;
const create = { ...get, name: "create", isVolatile: true } as const;
const { signal } = new AbortController();
const u = { user: "u", signal };

function start(limits: Partial<UserRequestLimits> = {}): { clock: FakeClock; limits: RequestLimits } {
  const clock = new FakeClock();
  const all = { readRate: 10, writeRate: 10, queueSize: 2, ...limits };
  return { clock, limits: new RequestLimits(clock, () => all) };
}

/** Sends as many as pass at once. */
function drain(limits: RequestLimits, command: typeof get | typeof create = get): number {
  for (let count = 0; ; count++) {
    if (limits.admit(u, command) !== undefined) {
      return count;
    }
  }
}

describe("the limits of a user", () => {
  it("let a second's worth of requests pass at once, then one after the other", async () => {
    const { clock, limits } = start();
    expect(drain(limits)).toBe(11);
    let passed = false;
    void limits.admit(u, get)?.then(() => {
      passed = true;
    });
    await clock.advance(199);
    expect(passed).toBe(false);
    await clock.advance(1);
    await settle();
    expect(passed).toBe(true);
  });

  it("refuse with 904 when too many wait, and take requests again when they do not", async () => {
    const { clock, limits } = start();
    drain(limits);
    const second = limits.admit(u, get);
    expect(() => limits.admit(u, get)).toThrow(YtError);
    expect(() => limits.admit(u, get)).toThrow(/"u" has exceeded its request queue size limit/);
    await clock.advance(1000);
    await second;
    expect(limits.admit(u, get)).toBeUndefined();
  });

  it("count reads and writes, and users, apart", () => {
    const { limits } = start();
    drain(limits);
    expect(limits.admit(u, create)).toBeUndefined();
    expect(limits.admit({ user: "v", signal }, get)).toBeUndefined();
  });

  it("do not count rows", () => {
    const { limits } = start({ writeRate: 0 });
    expect(limits.admit(u, { ...create, name: "insert_rows", isHeavy: true })).toBeUndefined();
    expect(() => limits.admit(u, create)).toThrow(/may send no write requests/);
  });

  it("give the place of a client that has left to the next one", async () => {
    const { clock, limits } = start({ queueSize: 1 });
    const filler = new AbortController();
    while (limits.admit({ user: "u", signal: filler.signal }, get)?.catch(() => {}) === undefined) {}
    expect(() => limits.admit(u, get)).toThrow(YtError);
    filler.abort();
    await settle();
    const next = limits.admit(u, get);
    await clock.advance(1000);
    await next;
  });

  it("name commands that there are", () => {
    const names = new Set(allCommands.flatMap(({ name, aliases }) => [name, ...aliases]));
    expect([...limitedCommands].filter((name) => !names.has(name))).toEqual([]);
  });
});
