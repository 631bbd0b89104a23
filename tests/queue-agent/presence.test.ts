/** An agent that the others do not count on any more must not trim: what it knows may be old. */

import { mapOf, Uint64 } from "@qyt/base";
import { afterAll, beforeAll, expect, it } from "vitest";
import { AlertManager } from "../../packages/queue-agent/src/alerts/alert-manager.ts";
import { AgentPass } from "../../packages/queue-agent/src/controllers/agent-pass.ts";
import type { DynamicState } from "../../packages/queue-agent/src/objects/state-rows.ts";
import { decodeQueueRow } from "../../packages/queue-agent/src/state/state-rows-codec.ts";
import { AgentWorld, reference, referenceToString } from "./agent-fixture.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start();
});
afterAll(() => world.stop());

const queue = reference("primary://tmp/q");

it("trims only while it is present", async () => {
  const objectId = await world.createQueue(queue);
  const row = decodeQueueRow(
    mapOf({
      ...queue,
      row_revision: new Uint64(1n),
      revision: new Uint64(1n),
      object_type: "table",
      dynamic: true,
      sorted: false,
      queue_agent_stage: "production",
      object_id: objectId,
      auto_trim_config: mapOf({ enable: true }),
    }),
  );
  const { context } = await world.context();
  const state: DynamicState = {
    queues: new Map([[referenceToString(queue), row]]),
    consumers: new Map(),
    registrations: [],
    mapping: new Map([[referenceToString(queue), context.agentId]]),
  };
  const presence = { isPresent: false };
  let trims = 0;
  const pass = new AgentPass(
    { ...context, isPresent: () => presence.isPresent },
    {
      stateReader: { read: async () => state },
      alerts: new AlertManager(),
      trimmer: {
        trim: async () => {
          trims += 1;
          return 0;
        },
      },
    },
  );
  await pass.runOnce();
  await pass.runControllers();
  await pass.runControllers();
  expect(trims).toBe(0);
  presence.isPresent = true;
  await pass.runControllers();
  expect(trims).toBe(1);
  await pass.stop();
});
