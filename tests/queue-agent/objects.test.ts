/** Which objects an agent knows, who leads them, bans, and what the Orchid says of all of them. */
import { isMap, mapOf, Uint64, type YsonMap, type YsonValue, YtError } from "@qyt/base";
import { writeYson } from "@qyt/yson";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { AgentWorld, eventually, reference, referenceToString } from "./agent-fixture.ts";
import {
  asList,
  asMap,
  codesOf,
  fields,
  messagesOf,
  objectPath,
  plainQueue,
  WatchingAgent,
} from "./watching-fixture.ts";

let world: AgentWorld;
let agent: WatchingAgent;
let queueCount = 0;

beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await WatchingAgent.start(world);
});
afterAll(() => world.stop());

const made: ObjectReference[] = [];

async function newQueue(): Promise<ObjectReference> {
  const queue = reference(`primary://tmp/queue-${++queueCount}`);
  await world.createQueue(queue);
  await agent.putQueue(queue);
  made.push(queue);
  return queue;
}

afterEach(async () => {
  for (const queue of made.splice(0)) {
    await agent.removeObject("queues", queue);
    await agent.map(queue, null);
  }
  await agent.passes();
});

async function failure(work: Promise<unknown>): Promise<YtError> {
  const thrown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof YtError)) {
    throw new Error(`A YtError was expected, not ${String(thrown)}`);
  }
  return thrown;
}

test("[queue-agent 2] an object that is mapped to nobody gives a resolve error, until it is mapped", async () => {
  const queue = await newQueue();
  await agent.map(queue, null);
  await agent.passes();
  const error = await failure(agent.queueStatus(queue));
  expect(error.message).toBe(`Object ${referenceToString(queue)} is not mapped to any queue agent`);
  expect(error.code).toBe(3105);
  expect(error.has("ResolveError")).toBe(true);
  expect(await agent.ask("exists", objectPath("queues", queue))).toBe(false);
  await agent.map(queue, agent.context.agentId);
  await agent.passes();
  expect((await agent.queueStatus(queue)).get("partition_count")).toBe(1n);
});

test("[queue-agent 10] an object whose row goes is gone", async () => {
  const queue = await newQueue();
  await agent.passes();
  const name = referenceToString(queue);
  expect(await agent.ask("list", "/queue_agent/queues")).toContain(name);
  expect(await agent.ask("list", "/queue_agent/owned_queues")).toContain(name);
  await agent.removeObject("queues", queue);
  await agent.passes();
  expect(await agent.ask("list", "/queue_agent/queues")).not.toContain(name);
  expect(await agent.ask("list", "/queue_agent/owned_queues")).not.toContain(name);
  expect((await failure(agent.queueStatus(queue))).code).toBe(3104);
});

describe("bans", () => {
  const banned = { ...plainQueue, queue_agent_banned: true };

  test("[queue-agent 83] a banned queue says since when, and comes back", async () => {
    const queue = await newQueue();
    await agent.passes();
    await agent.putQueue(queue, banned);
    await agent.passes();
    expect(await agent.get(objectPath("queues", queue, "/row/queue_agent_banned"))).toBe(true);
    const first = messagesOf((await agent.queueStatus(queue)).get("error"));
    expect(first).toMatch(
      /^Queue is banned by "queue_agent_banned" attribute \(BannedSince: \d{4}-\d\d-\d\dT[\d:.]+Z\)$/,
    );
    await agent.passes();
    expect(messagesOf((await agent.queueStatus(queue)).get("error"))).toBe(first);
    expect(messagesOf(asMap((await agent.queueStatus(queue)).get("exports")).get("error"))).toContain(
      "Exports are disabled, since this queue is banned",
    );
    for (const row of [{ ...plainQueue, queue_agent_banned: false }, plainQueue]) {
      await agent.putQueue(queue, row);
      await agent.passes();
      expect((await agent.queueStatus(queue)).has("error")).toBe(false);
      await agent.putQueue(queue, banned);
      await agent.passes();
      // Another ban, another time.
      expect(messagesOf((await agent.queueStatus(queue)).get("error"))).not.toBe(first);
    }
  });

  test("[queue-agent 84] a banned consumer likewise", async () => {
    const consumer = reference("primary://tmp/banned-consumer");
    await world.createConsumer(consumer);
    const schema = await world.get(`${consumer.path}/@schema`);
    const row = { row_revision: new Uint64(1n), object_type: "table", schema: [schema] };
    await agent.putConsumer(consumer, { ...row, queue_agent_banned: true });
    await agent.passes();
    expect(messagesOf((await agent.consumerStatus(consumer)).get("error"))).toMatch(
      /^Consumer is banned by "queue_agent_banned" attribute \(BannedSince: /,
    );
    await agent.putConsumer(consumer, { ...row, queue_agent_banned: null });
    await agent.passes();
    expect((await agent.consumerStatus(consumer)).has("error")).toBe(false);
  });
});

describe("controller_info", () => {
  async function info(): Promise<YsonMap> {
    return asMap(await agent.get("/queue_agent/controller_info"));
  }
  async function inactive(kind: string): Promise<readonly YsonMap[]> {
    return asList(asMap((await info()).get("inactive_objects")).get(kind)).map(asMap);
  }

  test("[queue-agent 87] lists as many healthy queues as may be shown, oldest pass first", async () => {
    for (let index = 0; index < 12; index++) {
      await newQueue();
    }
    await agent.passes();
    const listed = await inactive("leading_queues");
    expect(listed).toHaveLength(10);
    const instants = listed.map((item) => String(item.get("pass_instant")));
    expect(instants).toEqual([...instants].sort());
    expect(instants[0]).toBe(new Date(agent.clock.now()).toISOString().replace("Z", "000Z"));
    expect(await inactive("following_queues")).toEqual([]);
    expect(await inactive("following_consumers")).toEqual([]);
    expect([...asMap((await info()).get("per_cluster")).keys()]).toEqual(["primary"]);
  });

  test("[queue-agent 88] an object whose passes hang is first, with the time of its last pass", async () => {
    await newQueue();
    const slow = await newQueue();
    await agent.passes();
    const before = agent.clock.now();
    agent.config = {
      ...agent.config,
      agent: {
        ...agent.config.agent,
        controller: {
          ...agent.config.agent.controller,
          delayedObjects: new Set([referenceToString(slow)]),
          controllerDelayMs: 10_000,
        },
      },
    };
    await agent.clock.advance(1_000);
    const passes = agent.pass.runControllers();
    await agent.clock.advance(1_000);
    await eventually(async () => {
      const [first, second] = await inactive("leading_queues");
      expect(first?.get("path")).toMatchObject({ value: slow.path });
      expect(first?.get("pass_instant")).toBe(new Date(before).toISOString().replace("Z", "000Z"));
      expect(second?.get("pass_instant")).not.toBe(first?.get("pass_instant"));
    });
    await agent.clock.advance(10_000);
    await passes;
    const [first] = await inactive("leading_queues");
    expect(first?.get("path")).not.toMatchObject({ value: slow.path });
    agent.config = { ...agent.config, agent: { ...agent.config.agent, controller: defaultController() } };
  });

  function defaultController() {
    return { ...agent.config.agent.controller, delayedObjects: new Set<string>(), controllerDelayMs: 0 };
  }

  test("[queue-agent 89] counts objects in error, a ban not among them", async () => {
    const counts = async (): Promise<YsonValue[]> => {
      const map = asMap((await info()).get("erroneous_objects"));
      return [map.get("queue_count") ?? null, map.get("consumer_count") ?? null];
    };
    const error = mapOf({ code: 1n, message: "Cannot parse boolean value", attributes: mapOf({}) });
    const queue = await newQueue();
    const consumer = reference("primary://tmp/wrong-consumer");
    await agent.putQueue(queue, { ...plainQueue, synchronization_error: error });
    await agent.putConsumer(consumer, { row_revision: new Uint64(1n), synchronization_error: error });
    await agent.passes();
    expect(await counts()).toEqual([1n, 1n]);
    expect(messagesOf((await agent.consumerStatus(consumer)).get("error"))).toBe(
      "Consumer synchronization failed\nCannot parse boolean value",
    );
    await agent.putQueue(queue, { ...plainQueue, synchronization_error: null, queue_agent_banned: true });
    await agent.removeObject("consumers", consumer);
    await agent.passes();
    expect(await counts()).toEqual([0n, 0n]);
  });
});

describe("two agents", () => {
  test("an agent follows the other end of its registrations, and passes questions on to the leader", async () => {
    const other = await WatchingAgent.start(world);
    const queue = await newQueue();
    const consumer = reference("primary://tmp/shared-consumer");
    await world.createConsumer(consumer);
    await world.register(queue, consumer, { vital: true });
    await other.putConsumer(consumer);
    await agent.passes();
    await other.passes();
    await other.passes();
    // Led by the other one, whose own snapshot of the queue it needs for the lag.
    expect(other.pass.registry.queues.get(referenceToString(queue))?.isLeading).toBe(false);
    expect(fields((await other.consumerPartitions(consumer, queue))[0])).toMatchObject({
      unread_row_count: 0n,
    });
    expect(await agent.ask("list", "/queue_agent/owned_consumers")).not.toContain(
      referenceToString(consumer),
    );
    expect(await agent.ask("list", "/queue_agent/consumers")).toContain(referenceToString(consumer));
    expect(fields((await agent.consumerPartitions(consumer, queue))[0])).toMatchObject({
      unread_row_count: 0n,
    });
    expect(await agent.ask("exists", objectPath("consumers", consumer, "/status/nothing"))).toBe(false);
    expect((await failure(agent.get(objectPath("owned_consumers", consumer, "/status")))).code).toBe(3104);
    const followed = asMap(await other.get("/queue_agent/controller_info"));
    expect(asList(asMap(followed.get("inactive_objects")).get("following_queues"))).toHaveLength(1);
    // When it no longer answers, that is an error that says to try again.
    await other.server.close();
    const error = await failure(agent.consumerStatus(consumer));
    expect(error.code).toBe(3104);
    expect(error.message).toContain(other.context.agentId);
  });
});

describe("the server", () => {
  async function post(body: string | Buffer): Promise<{ status: number; text: string }> {
    const response = await fetch(`http://${agent.server.address}/orchid`, { method: "POST", body });
    return { status: response.status, text: await response.text() };
  }

  test("answers questions about any part of the tree", async () => {
    const queue = await newQueue();
    await agent.passes();
    const path = objectPath("queues", queue, "/status/write_row_count_rate/1m");
    const question = writeYson(mapOf({ method: "get", path }), "text");
    expect(await post(question)).toEqual({ status: 200, text: '{"value"=0.;}' });
    expect((await post('{method=list;path=""}')).text).toBe(
      '{"value"=["alerts";"queue_agent_sharding_manager";"cypress_synchronizer";"queue_agent";];}',
    );
    expect((await post('{method=exists;path="/queue_agent/pass_index"}')).text).toBe('{"value"=%true;}');
    expect((await post('{method=exists;path="/queue_agent/nothing/at/all"}')).text).toBe('{"value"=%false;}');
    expect((await post('{method=get;path="/queue_agent/producers/x/status"}')).text).toContain(
      'Node /queue_agent has no child with key \\"producers\\"',
    );
  });

  test("says what is wrong with a question, and takes no long one", async () => {
    expect((await post('{method=set;path=""}')).text).toContain("must be one of");
    expect((await post("{method=get;path=5}")).text).toContain("must be a string");
    expect((await post("{")).text).toContain('"error"');
    expect((await post(Buffer.alloc(200_000, 32))).status).toBe(413);
    expect((await fetch(`http://${agent.server.address}/orchid`)).status).toBe(405);
    expect((await fetch(`http://${agent.server.address}/elsewhere`)).status).toBe(404);
    expect(await (await fetch(`http://${agent.server.address}/healthz`)).text()).toBe("ok\n");
    expect((await fetch(`http://${agent.server.address}/metrics`)).status).toBe(404);
  });
});

test("a failed poll pass leaves the controllers running, and says why", async () => {
  const queue = await newQueue();
  await agent.passes();
  const client = world.client();
  await client.unmountTable("//sys/queue_agents/queues");
  await world.waitUntil(
    async () => (await client.get("//sys/queue_agents/queues/@tablet_state")) === "unmounted",
  );
  await world.push(queue, ["foo"]);
  await agent.passes();
  agent.alerts.collect();
  expect(codesOf(await agent.get("/queue_agent/pass_error"))).toContain(1702n);
  const alert = asMap(await agent.get("/alerts")).get("queue_agent_pass_failed");
  expect(messagesOf(alert)).toContain("Error while reading dynamic state");
  expect((await agent.queuePartitions(queue))[0]?.get("upper_row_index")).toBe(1n);
  await client.mountTable("//sys/queue_agents/queues");
  await world.waitUntil(
    async () => (await client.get("//sys/queue_agents/queues/@tablet_state")) === "mounted",
  );
  await agent.passes();
  agent.alerts.collect();
  expect(codesOf(await agent.get("/queue_agent/pass_error"))).toEqual([0n]);
  const alerts = await agent.get("/alerts");
  expect(isMap(alerts) ? alerts.size : undefined).toBe(0);
});
