/** Which agents are asked, in which order, and for how long, on a clock that stands still. */
import { mapOf, seededRandom, type YsonValue, YtError } from "@qyt/base";
import type { Transport } from "@qyt/client";
import { FakeClock } from "@qyt/testing";
import { parseYson, withAttributes, writeYson } from "@qyt/yson";
import { beforeEach, expect, it } from "vitest";
import { ClusterDirectory } from "./directory.ts";
import { OrchidClient } from "./orchid-client.ts";
import { QueueAgents } from "./queue-agents.ts";

type Behaviour = "answers" | "is silent" | "refuses" | "is moving" | "talks nonsense";

let clock: FakeClock;
/** By "host:port". */
let behaviours: Map<string, Behaviour>;
let asked: string[];
/** How often the agents of the own cluster were looked for. */
let listings: number;
let agents: QueueAgents;

const present = [mapOf({ state: "acquired", mode: "shared", attribute_key: "presence" })];

function answerOf(behaviour: Behaviour | undefined): YsonValue {
  switch (behaviour) {
    case "answers":
      return mapOf({ value: 5n });
    case "is moving":
      return mapOf({ error: mapOf({ code: 3104n, message: "Not mine any more", attributes: mapOf({}) }) });
    default:
      return mapOf({});
  }
}

const transport: Transport = {
  async send({ url, signal, body }) {
    const address = /^http:\/\/(.*)\/orchid$/.exec(url)?.[1] ?? "";
    const behaviour = behaviours.get(address);
    expect(parseYson(body instanceof Uint8Array ? body : Buffer.alloc(0))).toEqual(
      mapOf({ method: "get", path: "/queue_agent/queues/primary:\\/\\/tmp\\/q/status/a" }),
    );
    asked.push(address);
    if (behaviour === "refuses") {
      throw new YtError("connect ECONNREFUSED", { code: "TransportError" });
    }
    if (behaviour === "is silent") {
      await new Promise((_, reject) => signal?.addEventListener("abort", () => reject(new Error("aborted"))));
    }
    const answer = writeYson(answerOf(behaviour), "binary");
    async function* chunks(): AsyncGenerator<Buffer> {
      yield answer;
    }
    return { status: 200, headers: new Map(), body: chunks(), trailers: () => new Map() };
  },
  close: async () => undefined,
};

function instances(): YsonValue {
  return [...behaviours.keys()].map((address) =>
    withAttributes(address, mapOf({ queue_agent_stage: "production", locks: present })),
  );
}

beforeEach(() => {
  clock = new FakeClock();
  behaviours = new Map();
  asked = [];
  listings = 0;
  agents = new QueueAgents({
    clusters: new ClusterDirectory({ localName: "primary", lookup: () => undefined, clock }),
    orchids: new OrchidClient({ clock, transport }),
    own: {
      get: async () => mapOf({}),
      list: async () => {
        listings += 1;
        return instances();
      },
    },
    clock,
    random: seededRandom(7),
  });
});

function ask(): Promise<YsonValue> {
  const part = agents.about({ kind: "queue", path: "//tmp/q", stage: "production", part: "status" });
  return part.ask("get", "/a");
}

/** What comes of a question while the clock moves on, and the milliseconds that it took. */
async function outcome(): Promise<{ value?: YsonValue; error?: YtError; tookMs: number }> {
  const startMs = clock.monotonic();
  const asking = ask().then(
    (value) => ({ value, tookMs: clock.monotonic() - startMs }),
    (error: unknown) => {
      expect(error).toBeInstanceOf(YtError);
      return { error: error as YtError, tookMs: clock.monotonic() - startMs };
    },
  );
  let isOver = false;
  void asking.then(() => {
    isOver = true;
  });
  await clock.advanceUntil(() => isOver, 100, 60_000);
  return asking;
}

it("an agent that does not answer is given up after 10 s, by name", async () => {
  behaviours.set("a:1", "is silent");
  const { error, tookMs } = await outcome();
  expect(tookMs).toBe(10_000);
  expect(error?.message).toBe("Queue agent a:1 did not answer");
  expect(error?.innerErrors[0]?.message).toBe("a:1 did not answer within 10000 ms");
  expect(error?.has("Timeout")).toBe(true);
});

it("while there is another one, a silent agent is waited for 3 s once, and then asked last", async () => {
  behaviours.set("a:1", "is silent").set("b:2", "answers");
  const times: number[] = [];
  for (let repeat = 0; repeat < 20; repeat += 1) {
    const { value, tookMs } = await outcome();
    expect(value).toBe(5n);
    times.push(tookMs);
  }
  expect(times.filter((tookMs) => tookMs > 0)).toEqual([3000]);
  expect(asked.filter((address) => address === "a:1")).toHaveLength(1);
});

it("a silent agent is asked again when it has had time to recover", async () => {
  behaviours.set("a:1", "is silent").set("b:2", "is silent");
  await outcome();
  behaviours.set("a:1", "answers").set("b:2", "answers");
  await clock.advance(10_000);
  asked = [];
  for (let repeat = 0; repeat < 40; repeat += 1) {
    await outcome();
  }
  expect(new Set(asked)).toEqual(new Set(["a:1", "b:2"]));
});

it("an agent that is just losing the object is like one that does not answer, without suspicion", async () => {
  behaviours.set("a:1", "is moving").set("b:2", "is moving");
  const { error } = await outcome();
  expect(error?.message).toBe('None of the 2 queue agents of stage "production" can answer now');
  expect(error?.code).toBe(3104);
  behaviours.set("b:2", "answers");
  expect((await outcome()).value).toBe(5n);
});

it("one that refuses connections or talks nonsense is passed over", async () => {
  behaviours.set("a:1", "refuses").set("b:2", "talks nonsense").set("c:3", "answers");
  for (let repeat = 0; repeat < 10; repeat += 1) {
    expect((await outcome()).value).toBe(5n);
  }
});

it("an instance whose name is no address is no way to send requests anywhere", async () => {
  behaviours.set("evil/path?x=1#:80", "answers");
  const { error } = await outcome();
  expect(error?.innerErrors[0]?.message).toContain('expected "host:port"');
  expect(asked).toEqual([]);
});

it("many who ask at the same moment look for the agents once", async () => {
  behaviours.set("a:1", "answers");
  const answers = await Promise.all(Array.from({ length: 100 }, ask));
  expect(answers).toEqual(new Array(100).fill(5n));
  expect(listings).toBe(1);
  await ask();
  expect(listings).toBe(2);
});
