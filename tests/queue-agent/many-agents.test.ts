/** Several agents on one cluster: one synchronizer, objects shared, nothing lost when one goes. */
import type { QueueAgent } from "@qyt/queue-agent";
import { escapeYPathLiteral, fromYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentWorld, eventually, fastDynamicConfig, reference, referenceToString } from "./agent-fixture.ts";

const agentCount = 5;
/** Five agents share one processor here: passes that follow too fast would only wait for each other. */
const dynamicConfig = fastDynamicConfig.replaceAll("=50", "=250");
const queues = Array.from({ length: 4 }, (_, index) => reference(`primary://tmp/q${index}`));
const consumers = Array.from({ length: 40 }, (_, index) => reference(`primary://tmp/c${index}`));
/** Each consumer reads two queues, so each queue has 20 consumers. */
const registrations = consumers.flatMap((consumer, index) =>
  queues.filter((_, queue) => queue % 2 === index % 2).map((queue) => ({ queue, consumer })),
);

let world: AgentWorld;
let agents: QueueAgent[] = [];

beforeAll(async () => {
  world = await AgentWorld.start();
  agents = await Promise.all(
    // Nobody dies here, so a busy machine must not make anybody look dead.
    Array.from({ length: agentCount }, () =>
      world.startAgent({ membershipTimeoutMs: 10_000, dynamicConfig }),
    ),
  );
});
afterAll(() => world.stop());

interface Lock {
  readonly state: string;
  readonly transaction_id: string;
}

async function leaders(): Promise<string[]> {
  const indexes = await Promise.all(
    agents.map(async (agent) => ({
      id: agent.agentId,
      index: await world.orchid(agent, "/cypress_synchronizer/pass_index"),
    })),
  );
  return indexes.flatMap(({ id, index }) => (index === -1n ? [] : [id]));
}

/** The attribute `host` of the transactions that hold and await the leader's lock. */
async function lockHosts(): Promise<{ acquired: unknown[]; pending: unknown[] }> {
  const locks = fromYson(await world.get("//sys/queue_agents/leader_lock/@locks"));
  const result: { acquired: unknown[]; pending: unknown[] } = { acquired: [], pending: [] };
  for (const { state, transaction_id } of locks as unknown as Lock[]) {
    const host = await world.get(`#${transaction_id}/@host`);
    (state === "acquired" ? result.acquired : result.pending).push(host);
  }
  return result;
}

async function owned(agent: QueueAgent): Promise<string[]> {
  const names = await Promise.all(
    ["owned_queues", "owned_consumers"].map(async (kind) =>
      Object.keys(Object(fromYson(await world.orchid(agent, `/queue_agent/${kind}`)))),
    ),
  );
  return names.flat().sort();
}

/** Every object is on one of the agents, each agent knows its own, and statuses are right through any of them. */
async function expectAllServed(): Promise<void> {
  const map = await world.mapping();
  expect([...map.keys()].sort()).toEqual([...queues, ...consumers].map(referenceToString).sort());
  const ids = agents.map(({ agentId }) => agentId);
  for (const host of map.values()) {
    expect(ids).toContain(host);
  }
  for (const agent of agents) {
    const mapped = [...map].flatMap(([object, host]) => (host === agent.agentId ? [object] : []));
    expect(await owned(agent)).toEqual(mapped.sort());
  }
  for (const [index, queue] of queues.entries()) {
    const status = await statusThrough(index, "queues", referenceToString(queue));
    expect(status).not.toHaveProperty("error");
    expect(status.registrations).toHaveLength(20);
  }
  for (const [index, consumer] of consumers.entries()) {
    const status = await statusThrough(index, "consumers", referenceToString(consumer));
    expect(status).not.toHaveProperty("error");
    expect(status.registrations).toHaveLength(2);
    for (const part of Object.values(Object(status.queues))) {
      expect(part).not.toHaveProperty("error");
    }
  }
}

async function statusThrough(
  index: number,
  kind: "queues" | "consumers",
  object: string,
): Promise<Record<string, unknown>> {
  const agent = agents[index % agents.length];
  const path = `/queue_agent/${kind}/${escapeYPathLiteral(object)}/status`;
  return Object(fromYson(await world.orchid(agent ?? { agentId: "" }, path)));
}

describe("five agents", () => {
  it("[queue-agent 62] have exactly one that synchronizes, the holder of the lock", async () => {
    const [leader] = await eventually(async () => {
      const found = await leaders();
      expect(found).toHaveLength(1);
      return found;
    });
    await eventually(async () => {
      const { acquired, pending } = await lockHosts();
      expect(acquired).toEqual([leader]);
      expect(pending).toHaveLength(agentCount - 1);
    });
  });

  it("[queue-agent 64] [queue-agent 65] share all objects, and each of them answers for all", async () => {
    await Promise.all(queues.map((queue) => world.createQueue(queue)));
    await Promise.all(consumers.map((consumer) => world.createConsumer(consumer)));
    await Promise.all(registrations.map(({ queue, consumer }) => world.register(queue, consumer)));
    await eventually(expectAllServed, 60_000);
    expect(new Set((await world.mapping()).values()).size).toBeGreaterThanOrEqual(agentCount - 1);
  }, 120_000);

  it("[queue-agent 63] [queue-agent 66] go on without the one that leads; only its objects move", async () => {
    const before = await world.mapping();
    const [leader] = (await lockHosts()).acquired;
    const stopped = agents.find(({ agentId }) => agentId === leader);
    agents = agents.filter((agent) => agent !== stopped);
    await stopped?.stop();
    await eventually(async () => {
      const found = await leaders();
      expect(found).toHaveLength(1);
      expect(found).not.toContain(leader);
    });
    await eventually(expectAllServed, 60_000);
    const after = await world.mapping();
    for (const [object, host] of before) {
      if (host !== leader) {
        expect(after.get(object)).toBe(host);
      }
    }
  }, 120_000);

  it("give nothing to one that is banned, and share again when it is not", async () => {
    const before = await world.mapping();
    const banned = agents[0] ?? { agentId: "" };
    const path = `//sys/queue_agents/instances/${escapeYPathLiteral(banned.agentId)}/@banned`;
    await world.set(path, "%true");
    await eventually(async () => {
      expect([...(await world.mapping()).values()]).not.toContain(banned.agentId);
    });
    // The first one is banned, so the second maps the objects now.
    await eventually(async () => {
      expect(fromYson(await world.orchid(banned, "/queue_agent_sharding_manager/active"))).toBe(false);
    });
    await world.set(path, "%false");
    await eventually(async () => {
      expect(await world.mapping()).toEqual(before);
    });
  });

  it("[queue-agent 68] have one that tells of the mapping's failure: the first of them", async () => {
    await world.client().remove("//sys/queue_agents/queue_agent_object_mapping");
    await eventually(async () => {
      const alerting: string[] = [];
      for (const agent of agents) {
        const alerts = Object(fromYson(await world.orchid(agent, "/alerts")));
        if ("queue_agent_sharding_manager_pass_failed" in alerts) {
          alerting.push(agent.agentId);
        }
      }
      expect(alerting).toEqual([agents.map(({ agentId }) => agentId).sort()[0]]);
    });
  });
});
