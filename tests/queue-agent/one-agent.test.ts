/** One agent on one cluster: objects appear, change and go; a lost table stops nothing. */
import type { QueueAgent } from "@qyt/queue-agent";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AgentWorld, eventually, reference } from "./agent-fixture.ts";

let world: AgentWorld;
let agent: QueueAgent;
beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent();
});
afterAll(() => world.stop());

const queue = reference("primary://tmp/q");

async function orchid(path: string): Promise<unknown> {
  return fromYson(await world.orchid(agent, path));
}

it("[queue-agent 1] shows the status of a queue of its stage", async () => {
  await world.createQueue(queue);
  await eventually(async () => {
    expect(await orchid("/queue_agent/queues/primary:\\/\\/tmp\\/q/status")).toMatchObject({
      partition_count: 1n,
    });
    expect(fromYson(await world.get("//tmp/q/@queue_status"))).toMatchObject({ partition_count: 1n });
  });
});
