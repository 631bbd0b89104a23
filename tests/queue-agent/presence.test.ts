/** An agent must not trim by what may be old: when the others do not count on it any more, or it cannot read. */

import { mapOf, Uint64, YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
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

let queueCount = 0;

/** An agent that leads the queue, with a state that it can read or not, and the trims that it would do. */
async function setUp(clock: FakeClock) {
  queueCount += 1;
  const queue = reference(`primary://tmp/q${queueCount}`);
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
  const { context } = await world.context({ clock });
  const state: DynamicState = {
    queues: new Map([[referenceToString(queue), row]]),
    consumers: new Map(),
    registrations: [],
    mapping: new Map([[referenceToString(queue), context.agentId]]),
  };
  const presence = { isPresent: true };
  const reading = { fails: false };
  const trimmed: number[] = [];
  const pass = new AgentPass(
    { ...context, isPresent: () => presence.isPresent },
    {
      stateReader: {
        async read() {
          if (reading.fails) {
            throw new YtError("Error while reading dynamic state");
          }
          return state;
        },
      },
      alerts: new AlertManager(),
      trimmer: {
        async trim() {
          trimmed.push(clock.monotonic());
          return 0;
        },
      },
    },
  );
  await pass.runOnce();
  return { pass, presence, reading, trimmed };
}

it("trims only while it is present", async () => {
  const { pass, presence, trimmed } = await setUp(new FakeClock());
  presence.isPresent = false;
  await pass.runControllers();
  await pass.runControllers();
  expect(trimmed).toHaveLength(0);
  presence.isPresent = true;
  await pass.runControllers();
  expect(trimmed).toHaveLength(1);
  await pass.stop();
});

it("trims no more when it cannot read registrations for ten seconds, and says so", async () => {
  const clock = new FakeClock();
  const { pass, reading, trimmed } = await setUp(clock);
  const alerts = (): string => {
    pass.collectAlerts();
    const active = [...pass.registry.queues.values()].flatMap((object) => [
      ...(object.leadership?.alerts.active() ?? []),
    ]);
    return active.map(({ error }) => error.message).join();
  };
  reading.fails = true;
  for (let second = 0; second < 15; second += 1) {
    await clock.advance(1_000);
    await pass.runOnce();
    await pass.runControllers();
  }
  expect(trimmed.at(-1)).toBe(10_000);
  expect(alerts()).toContain("Trimming iteration skipped due to outdated registrations");
  reading.fails = false;
  await pass.runOnce();
  await pass.runControllers();
  expect(trimmed.at(-1)).toBe(15_000);
  expect(alerts()).toBe("");
  await pass.stop();
});
