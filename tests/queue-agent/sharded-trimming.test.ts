/** A queue and its vital consumers, led by several agents: the leader of the queue follows the others' consumers. */
import type { QueueAgent } from "@qyt/queue-agent";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AgentWorld, eventually, fastDynamicConfig, reference, referenceToString } from "./agent-fixture.ts";

const agentCount = 3;
const queue = reference("primary://tmp/queue");
/** The first one is the slowest: each has read one row more than the one before. */
const consumers = Array.from({ length: 10 }, (_, index) => reference(`primary://tmp/consumer-${index}`));
const stepLimitMs = 30_000;

let world: AgentWorld;
let agents: readonly QueueAgent[];

beforeAll(async () => {
  world = await AgentWorld.start();
  agents = await Promise.all(
    // Nobody dies here, so a busy machine must not make anybody look dead.
    Array.from({ length: agentCount }, () =>
      world.startAgent({
        membershipTimeoutMs: 10_000,
        dynamicConfig: fastDynamicConfig.replaceAll("=50", "=100"),
      }),
    ),
  );
});
afterAll(() => world.stop());

async function expectTrimmed(count: bigint): Promise<void> {
  await eventually(async () => {
    const tablet = Object(fromYson(await world.get(`${queue.path}/@tablets/0`)));
    expect(tablet.trimmed_row_count).toBe(count);
  }, stepLimitMs);
}

it("[queue-agent 67] is trimmed further with each of its slowest that is not vital any more", async () => {
  await world.createQueue(queue);
  await Promise.all(
    consumers.map(async (consumer, index) => {
      await world.createConsumer(consumer);
      await world.register(queue, consumer, { vital: true });
      await world.advance(consumer, queue, 0, BigInt(index + 1));
    }),
  );
  await world.push(
    queue,
    consumers.map((_, index) => `row-${index}`),
  );
  await eventually(async () => {
    const hosts = await world.mapping();
    expect([...hosts.keys()].sort()).toEqual([queue, ...consumers].map(referenceToString).sort());
    const ofAgents = agents.map(({ agentId }) => agentId);
    expect(ofAgents).toEqual(expect.arrayContaining([...hosts.values()]));
    // Most consumers are not with the queue.
    const used = new Set(consumers.map((consumer) => hosts.get(referenceToString(consumer))));
    expect(used.size).toBeGreaterThanOrEqual(2);
  }, stepLimitMs);
  await world.set(`${queue.path}/@auto_trim_config`, "{enable=%true}");
  await expectTrimmed(1n);

  for (const [index, slowest] of consumers.slice(0, -1).entries()) {
    await world.register(queue, slowest, { vital: false });
    await expectTrimmed(BigInt(index + 2));
  }
}, 120_000);
