/** What the passes of a leading queue controller do beside looking: trimming when due, alerts, metrics. */
import { YtError } from "@qyt/base";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import type { QueueSnapshot } from "../../packages/queue-agent/src/snapshots/queue-snapshot.ts";
import type { TrimView } from "../../packages/queue-agent/src/trimming/trim-plan.ts";
import { AgentWorld, reference, referenceToString } from "./agent-fixture.ts";
import { asMap, fields, messagesOf, plainQueue, WatchingAgent } from "./watching-fixture.ts";

let world: AgentWorld;
let agent: WatchingAgent;
/** Passes in which a queue was trimmed. */
const trims: TrimView[] = [];
let trimError: YtError | undefined;
const profiled: (readonly [previous: QueueSnapshot, next: QueueSnapshot])[] = [];

beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await WatchingAgent.start(world, {
    parts: {
      trimmer: {
        async trim(view) {
          trims.push(view);
          if (trimError !== undefined) {
            throw trimError;
          }
          return 0;
        },
      },
      profiler: { queuePass: (previous, next) => profiled.push([previous, next]) },
    },
  });
});
afterAll(() => world.stop());

let queueCount = 0;

async function newQueue(): Promise<ObjectReference> {
  const queue = reference(`primary://tmp/queue-${++queueCount}`);
  await world.createQueue(queue);
  await agent.putQueue(queue);
  await agent.passes();
  return queue;
}

function configure(controller: Partial<typeof agent.config.agent.controller>): void {
  agent.config = {
    ...agent.config,
    agent: { ...agent.config.agent, controller: { ...agent.config.agent.controller, ...controller } },
  };
}

/** In which of the next passes the queue is trimmed. */
async function trimsOf(queue: ObjectReference, passCount: number): Promise<readonly number[]> {
  const indexes: number[] = [];
  for (let pass = 0; pass < passCount; pass++) {
    trims.length = 0;
    await agent.passes();
    if (trims.some((view) => view.queue.reference.path === queue.path)) {
      indexes.push(agent.pass.registry.queue(queue)?.passIndex ?? -1);
    }
  }
  return indexes;
}

test("a queue is trimmed with every pass, or with as many as the period says, or not at all", async () => {
  const queue = await newQueue();
  expect(await trimsOf(queue, 3)).toHaveLength(3);
  configure({ passPeriodMs: 1_000, trimmingPeriodMs: 2_500 });
  const indexes = await trimsOf(queue, 6);
  expect(indexes).toHaveLength(2);
  expect(indexes.map((index) => index % 3)).toEqual([0, 0]);
  configure({ trimmingPeriodMs: null, enableAutomaticTrimming: false });
  expect(await trimsOf(queue, 2)).toEqual([]);
  configure({ enableAutomaticTrimming: true });
});

test("what trimming fails with is alert 3036 of the queue, until a pass without it", async () => {
  const queue = await newQueue();
  const alerts = async () => asMap((await agent.queueStatus(queue)).get("alerts"));
  trimError = new YtError("No vital consumer is known");
  await agent.passes();
  expect((await alerts()).size).toBe(0);
  agent.pass.collectAlerts();
  const alert = asMap((await alerts()).get("queue_agent_queue_controller_trim_failed"));
  expect(alert.get("code")).toBe(3036n);
  expect(messagesOf(alert)).toContain("No vital consumer is known");
  trimError = undefined;
  await agent.passes();
  agent.pass.collectAlerts();
  expect((await alerts()).size).toBe(0);
});

test("a queue in error is still given to the trimmer; a banned one is neither trimmed nor measured", async () => {
  const queue = await newQueue();
  await world.client().remove(queue.path);
  expect(await trimsOf(queue, 1)).toHaveLength(1);
  await world.createQueue(queue);
  await agent.putQueue(queue, { ...plainQueue, queue_agent_banned: true });
  profiled.length = 0;
  expect(await trimsOf(queue, 2)).toEqual([]);
  expect(profiled.filter(([, next]) => next.reference.path === queue.path)).toEqual([]);
  await agent.putQueue(queue);
  await agent.passes();
  const measured = profiled.filter(([, next]) => next.reference.path === queue.path);
  expect(measured.map(([previous, next]) => [previous.error === null, next.error])).toEqual([[false, null]]);
});

test("a row with a new configuration comes together with the registrations of its time", async () => {
  const queue = await newQueue();
  const consumer = reference("primary://tmp/vital-consumer");
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true });
  await agent.putQueue(queue, { ...plainQueue, auto_trim_config: new Map([["enable", true]]) });
  trims.length = 0;
  await agent.passes();
  const view = trims.find(
    ({
      queue: {
        reference: { path },
      },
    }) => path === queue.path,
  );
  expect(view?.queue.row.autoTrimConfig?.enable).toBe(true);
  expect(view?.queue.registrations).toHaveLength(1);
});

test("a follower looks, and does nothing else", async () => {
  const queue = await newQueue();
  const done: string[] = [];
  const follower = await WatchingAgent.start(world, {
    parts: {
      trimmer: {
        async trim({ queue }) {
          done.push(`trim ${queue.reference.path}`);
          return 0;
        },
      },
      profiler: { queuePass: (_, next) => done.push(`measure ${next.reference.path}`) },
    },
  });
  const consumer = reference("primary://tmp/followers-consumer");
  await world.createConsumer(consumer);
  await world.register(queue, consumer);
  await follower.putConsumer(consumer);
  await follower.passes();
  await world.push(queue, ["foo"]);
  await follower.passes();
  const object = follower.pass.registry.queues.get(referenceToString(queue));
  expect(object?.isLeading).toBe(false);
  expect(done).toEqual([]);
  expect(object?.snapshot.partitions[0]?.upperRowIndex).toBe(1n);
  const status = asMap(asMap(object?.orchid.get()).get("status"));
  expect(messagesOf(asMap(status.get("exports")).get("error"))).toBe(
    "Following queue controller can't track exports progress",
  );
  expect(fields((await follower.consumerPartitions(consumer, queue))[0])).toMatchObject({
    unread_row_count: 1n,
  });
});

test("an agent that takes over a queue leads it with a new controller", async () => {
  const queue = await newQueue();
  const before = agent.pass.registry.queues.get(referenceToString(queue));
  await agent.map(queue, "127.0.0.1:9");
  await agent.passes();
  expect(agent.pass.registry.queues.has(referenceToString(queue))).toBe(false);
  const index = before?.snapshot.passIndex;
  await before?.pass();
  expect(before?.snapshot.passIndex).toBe(index);
  await agent.map(queue, agent.context.agentId);
  await agent.passes();
  expect(agent.pass.registry.queues.get(referenceToString(queue))).not.toBe(before);
  expect(agent.pass.registry.queue(queue)?.error).toBe(null);
});
