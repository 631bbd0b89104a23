/** Automatic trimming of real queues by an agent with fast passes. */
import type { QueueAgent } from "@qyt/queue-agent";
import { messagesOf } from "@qyt/testing";
import { errorFromYson, fromYson } from "@qyt/yson";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { AgentWorld, eventually, fastDynamicConfig } from "./agent-fixture.ts";

let world: AgentWorld;
let agent: QueueAgent;
let count = 0;
let queue: ObjectReference;

beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent();
});
afterAll(() => world?.stop());
beforeEach(() => {
  queue = { cluster: "primary", path: `//tmp/queue-${++count}` };
});

const texts = (rows: number): string[] => Array.from({ length: rows }, (_, index) => `row-${index}`);

async function createQueue(options: { tabletCount?: number; autoTrim?: string } = {}): Promise<void> {
  await world.createQueue(queue, { tabletCount: options.tabletCount ?? 1 });
  await autoTrim(options.autoTrim ?? "{enable=%true}");
}

function autoTrim(yson: string): Promise<void> {
  return world.set(`${queue.path}/@auto_trim_config`, yson);
}

async function createConsumer(vital: boolean, partitions?: readonly bigint[]): Promise<ObjectReference> {
  const consumer = { cluster: "primary", path: `//tmp/consumer-${++count}` };
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital, ...(partitions === undefined ? {} : { partitions }) });
  return consumer;
}

async function expectTrimmed(counts: readonly bigint[]): Promise<void> {
  await eventually(async () => expect(await world.trimmed(queue)).toEqual(counts));
}

/** Several whole passes of everything, after which what was to happen has happened. */
async function passes(): Promise<void> {
  const index = async (): Promise<bigint> => {
    const value = await world.orchid(agent, "/queue_agent/pass_index");
    return typeof value === "bigint" ? value : 0n;
  };
  const start = await eventually(index);
  await eventually(async () => expect(await index()).toBeGreaterThan(start + 8n));
}

describe("vital consumers", () => {
  test("[queue-agent 43] [queue-agent 44] [queue-agent 45] the slowest one of each partition is the limit", async () => {
    await createQueue({ tabletCount: 2 });
    const [c1, c2, c3] = [
      await createConsumer(true),
      await createConsumer(false),
      await createConsumer(true),
    ];
    await world.push(queue, texts(5), 0);
    await world.push(queue, texts(7), 1);
    await world.advance(c1, queue, 0, 3n);
    await world.advance(c2, queue, 0, 5n);
    await world.advance(c1, queue, 1, 3n);
    await world.advance(c2, queue, 1, 1n);
    await world.advance(c3, queue, 1, 2n);
    await expectTrimmed([0n, 2n]);
    await world.advance(c3, queue, 0, 2n);
    await expectTrimmed([2n, 2n]);
    await world.advance(c3, queue, 0, 4n);
    await expectTrimmed([3n, 2n]);
  });

  test("[queue-agent 54] changes of vitality change the limit", async () => {
    await createQueue();
    const [c1, c2] = [await createConsumer(true), await createConsumer(true)];
    await world.push(queue, texts(6));
    await world.advance(c1, queue, 0, 1n);
    await world.advance(c2, queue, 0, 3n);
    await expectTrimmed([1n]);
    await world.register(queue, c1, { vital: false });
    await expectTrimmed([3n]);
    const c3 = await createConsumer(true);
    await world.advance(c3, queue, 0, 2n);
    await world.advance(c2, queue, 0, 5n);
    await passes();
    await expectTrimmed([3n]);
    await world.register(queue, c3, { vital: false });
    await expectTrimmed([5n]);
  });

  test("[queue-agent 55] one that cannot be read keeps everything", async () => {
    await createQueue();
    const [c1, c2] = [await createConsumer(true), await createConsumer(true)];
    await world.push(queue, texts(6));
    await world.advance(c1, queue, 0, 2n);
    await world.advance(c2, queue, 0, 1n);
    await expectTrimmed([1n]);
    await world.unmount(c1.path);
    await world.advance(c2, queue, 0, 3n);
    await eventually(async () => {
      const error = (await world.alerts(queue)).get("queue_agent_queue_controller_trim_failed");
      expect(JSON.stringify(error === undefined ? "" : messagesOf(error))).toMatch(
        /erroneous queue sub-snapshot in registered vital consumer/,
      );
    });
    await expectTrimmed([1n]);
    await world.mount(c1.path);
    await expectTrimmed([2n]);
  });

  test("those of some partitions hold back only these", async () => {
    await createQueue({ tabletCount: 2 });
    const consumer = await createConsumer(true, [0n]);
    await world.push(queue, texts(4), 0);
    await world.push(queue, texts(4), 1);
    await world.advance(consumer, queue, 0, 3n);
    await expectTrimmed([3n, 0n]);
    await eventually(async () => expect(await world.alerts(queue)).toEqual(new Map()));
  });
});

describe("floors", () => {
  test("[queue-agent 46] [queue-agent 47] retained_rows", async () => {
    await createQueue({ autoTrim: "{enable=%true;retained_rows=3}" });
    const consumer = await createConsumer(true);
    await world.push(queue, texts(5));
    await world.advance(consumer, queue, 0, 3n);
    await expectTrimmed([2n]);
    await world.push(queue, texts(5));
    await expectTrimmed([3n]);
    await world.advance(consumer, queue, 0, 9n);
    await expectTrimmed([7n]);
    await autoTrim("{enable=%true}");
    await expectTrimmed([9n]);
  });

  test("[queue-agent 48] [queue-agent 49] retained_lifetime_duration", async () => {
    await createQueue({ autoTrim: "{enable=%true;retained_lifetime_duration=18000000}" });
    const consumer = await createConsumer(true);
    await world.push(queue, texts(3));
    await world.flush(queue);
    await world.push(queue, texts(5));
    await world.advance(consumer, queue, 0, 7n);
    await passes();
    await expectTrimmed([0n]);
    await autoTrim("{enable=%true;retained_lifetime_duration=1000}");
    await expectTrimmed([7n]);
  });

  test("[queue-agent 51] [queue-agent 52] both together", async () => {
    await createQueue({ autoTrim: "{enable=%true;retained_lifetime_duration=18000000;retained_rows=6}" });
    const consumer = await createConsumer(true);
    await world.push(queue, texts(8));
    await world.advance(consumer, queue, 0, 6n);
    await passes();
    await expectTrimmed([0n]);
    await autoTrim("{enable=%true;retained_rows=6}");
    await expectTrimmed([2n]);
    await autoTrim("{enable=%true}");
    await expectTrimmed([6n]);
  });
});

describe("partitions and queues that cannot be trimmed", () => {
  test("[queue-agent 56] an unmounted partition waits, the others go on", async () => {
    await createQueue({ tabletCount: 2 });
    const consumer = await createConsumer(true);
    await world.push(queue, texts(4), 0);
    await world.push(queue, texts(4), 1);
    await world.client().execute("unmount_table", {
      path: queue.path,
      first_tablet_index: 0n,
      last_tablet_index: 0n,
    });
    await world.waitUntil(async () => (await world.get(`${queue.path}/@tablets/0/state`)) === "unmounted");
    await world.advance(consumer, queue, 0, 2n);
    await world.advance(consumer, queue, 1, 3n);
    await expectTrimmed([0n, 3n]);
    await world.mount(queue.path);
    await expectTrimmed([2n, 3n]);
  });

  test("[queue-agent 57] an unmounted queue does not hold up another", async () => {
    await createQueue();
    const other = queue;
    await world.unmount(other.path);
    queue = { cluster: "primary", path: `${other.path}-mounted` };
    await createQueue();
    const consumer = await createConsumer(true);
    await world.push(queue, texts(4));
    await world.advance(consumer, queue, 0, 3n);
    await expectTrimmed([3n]);
  });

  test("[queue-agent 60] a frozen queue is trimmed when it is not frozen any more", async () => {
    await createQueue();
    const consumer = await createConsumer(true);
    await world.push(queue, texts(4));
    await world.client().execute("freeze_table", { path: queue.path });
    await world.waitUntil(async () => (await world.get(`${queue.path}/@tablet_state`)) === "frozen");
    await world.advance(consumer, queue, 0, 3n);
    await passes();
    await expectTrimmed([0n]);
    expect((await world.alerts(queue)).size).toBe(0);
    await world.client().execute("unfreeze_table", { path: queue.path });
    await expectTrimmed([3n]);
  });

  test("[queue-agent 85] a banned queue is trimmed when it is not banned any more", async () => {
    await createQueue();
    const consumer = await createConsumer(true);
    await world.push(queue, texts(4));
    await world.set(`${queue.path}/@queue_agent_banned`, "%true");
    await eventually(async () =>
      expect(fromYson(await world.get(`${queue.path}/@queue_status/error/message`))).toMatch(
        /Queue is banned/,
      ),
    );
    await world.advance(consumer, queue, 0, 3n);
    await passes();
    await expectTrimmed([0n]);
    await world.set(`${queue.path}/@queue_agent_banned`, "%false");
    await expectTrimmed([3n]);
  });
});

describe("configuration", () => {
  test("[queue-agent 58] enable, unknown options, no attribute at all", async () => {
    await createQueue({ autoTrim: "{enable=%false}" });
    const consumer = await createConsumer(true);
    await world.push(queue, texts(6));
    await world.advance(consumer, queue, 0, 2n);
    await passes();
    await expectTrimmed([0n]);
    await autoTrim("{enable=%true;some_unrecognized_option=hello}");
    await expectTrimmed([2n]);
    await world.client().remove(`${queue.path}/@auto_trim_config`);
    await passes();
    await world.advance(consumer, queue, 0, 4n);
    await passes();
    await expectTrimmed([2n]);
  });

  test("[queue-agent 59] the switch and the period for all queues of the agent", async () => {
    const controller = async (options: string): Promise<void> => {
      const config = fastDynamicConfig.replace("controller={", `controller={${options};`);
      await world.set("//sys/queue_agents/config", config);
      await eventually(async () => {
        const effective = fromYson(await world.orchid(agent, "/dynamic_config_manager/effective_config"));
        const { enable_automatic_trimming, trimming_period } = Object(effective).queue_agent.controller;
        expect(options).toContain(`enable_automatic_trimming=%${enable_automatic_trimming}`);
        expect(options.includes("trimming_period")).toBe(trimming_period === 999_999n);
      });
    };
    await controller("enable_automatic_trimming=%false");
    await createQueue();
    const consumer = await createConsumer(true);
    await world.push(queue, texts(6));
    await world.advance(consumer, queue, 0, 2n);
    await passes();
    await expectTrimmed([0n]);
    await controller("enable_automatic_trimming=%true;trimming_period=999999");
    await passes();
    await expectTrimmed([0n]);
    await controller("enable_automatic_trimming=%true");
    await expectTrimmed([2n]);
  });

  test("with neither a vital consumer nor an export nothing is trimmed, and an alert says what to do", async () => {
    await createQueue();
    const consumer = await createConsumer(false);
    await world.push(queue, texts(6));
    await world.advance(consumer, queue, 0, 6n);
    await eventually(async () => {
      const error = (await world.alerts(queue)).get("queue_agent_queue_controller_trim_failed");
      const text = error === undefined ? "" : messagesOf(error).join();
      expect(text).toMatch(
        /no vital consumers and no configured static table exports: register a vital consumer/,
      );
    });
    await expectTrimmed([0n]);
    await world.register(queue, consumer, { vital: true });
    await expectTrimmed([6n]);
    await eventually(async () => expect((await world.alerts(queue)).size).toBe(0));
  });

  test("a wrong value is taken by set, and the status says what is wrong", async () => {
    await createQueue({ autoTrim: "{enable=%true;retained_lifetime_duration=1500}" });
    await eventually(async () => {
      const error = errorFromYson(await world.get(`${queue.path}/@queue_status/error`));
      expect(messagesOf(error).join()).toMatch(
        /The value of "retained_lifetime_duration" must be a multiple of 1000 \(1 second\)/,
      );
    });
  });
});

test("[queue-agent 53] a queue made anew is not trimmed by the configuration of the one before it", async () => {
  await createQueue();
  const consumer = await createConsumer(true);
  await world.push(queue, texts(4));
  await world.advance(consumer, queue, 0, 2n);
  await expectTrimmed([2n]);
  const settings = (enable: string): Promise<void> =>
    world.set(
      "//sys/queue_agents/config",
      fastDynamicConfig.replace("cypress_synchronizer={", `cypress_synchronizer={enable=${enable};`),
    );
  await settings("%false");
  await eventually(async () => {
    const effective = fromYson(await world.orchid(agent, "/dynamic_config_manager/effective_config"));
    expect(Object(effective).cypress_synchronizer.enable).toBe(false);
  });
  await world.client().remove(queue.path);
  await world.createQueue(queue);
  await world.push(queue, texts(4));
  await passes();
  await expectTrimmed([0n]);
  await settings("%true");
  await passes();
  await expectTrimmed([0n]);
  await autoTrim("{enable=%true}");
  await expectTrimmed([2n]);
});
