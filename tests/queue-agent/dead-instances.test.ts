/** Nodes of instances that are gone for good do not pile up. */
import { mapOf, systemClock } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AlertManager } from "../../packages/queue-agent/src/alerts/alert-manager.ts";
import { InstanceRegistration } from "../../packages/queue-agent/src/election/instance-registration.ts";
import { ShardingManager } from "../../packages/queue-agent/src/sharding/sharding-manager.ts";
import { AgentWorld, logger } from "./agent-fixture.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start();
});
afterAll(() => world.stop());

async function instances(): Promise<string[]> {
  return Object.keys(Object(fromYson(await world.get("//sys/queue_agents/instances"))));
}

async function createNode(id: string, attributes: Record<string, boolean> = {}): Promise<void> {
  await world.client().create("map_node", `//sys/queue_agents/instances/${id}`, {
    attributes: mapOf({ queue_agent_stage: "production", ...attributes }),
  });
}

it("removes the node of an instance that has been dead for ten minutes, but no banned one", async () => {
  const clock = new FakeClock();
  const { context, tables, stateReader } = await world.context({ clock });
  const { root, agentId, stage } = context;
  const registration = new InstanceRegistration({
    client: () => world.client(),
    clock: systemClock,
    logger,
    root,
    agentId,
    stage,
    annotations: mapOf({}),
    transactionTimeoutMs: 10_000,
  });
  await registration.start(new AbortController().signal);
  await createNode("dead:1");
  await createNode("banned:1", { banned: true });
  const manager = new ShardingManager({
    context,
    tables,
    stateReader,
    alerts: new AlertManager(),
    isPresent: () => true,
  });
  await manager.pass.runOnce();
  await clock.advance(599_000);
  await manager.pass.runOnce();
  expect((await instances()).sort()).toEqual([agentId, "banned:1", "dead:1"]);
  await clock.advance(2_000);
  await manager.pass.runOnce();
  expect((await instances()).sort()).toEqual([agentId, "banned:1"]);
  await registration.stop();
  expect(await instances()).toEqual(["banned:1"]);
});
