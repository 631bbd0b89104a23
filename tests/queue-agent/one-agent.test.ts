/** One agent on one cluster: objects of its stage appear, and a lost state table stops nothing. */
import { mapOf, type YsonValue } from "@qyt/base";
import type { QueueAgent } from "@qyt/queue-agent";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stateTableSchema } from "../../packages/queue-agent/src/state/state-tables.ts";
import { AgentWorld, eventually, failureOf, reference } from "./agent-fixture.ts";

let world: AgentWorld;
let agent: QueueAgent;
beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent();
});
afterAll(() => world.stop());

const queue = reference("primary://tmp/q");
const statusPath = "/queue_agent/queues/primary:\\/\\/tmp\\/q/status";
const stateTables = ["queues", "consumers", "queue_agent_object_mapping"] as const;

async function orchid(path: string): Promise<unknown> {
  return fromYson(await world.orchid(agent, path));
}

async function passIndex(part: string): Promise<bigint> {
  const index = await orchid(`/${part}/pass_index`);
  return typeof index === "bigint" ? index : -2n;
}

async function alerts(): Promise<Record<string, unknown>> {
  return Object(await orchid("/alerts"));
}

async function createTable(name: (typeof stateTables)[number], schema: YsonValue): Promise<void> {
  const path = `//sys/queue_agents/${name}`;
  await world.client().create("table", path, { attributes: mapOf({ dynamic: true, schema }) });
  await world.mount(path);
}

describe("stages", () => {
  it("[queue-agent 1] shows the status of a queue of its stage", async () => {
    await world.createQueue(queue);
    await eventually(async () => {
      expect(await orchid(statusPath)).toMatchObject({ partition_count: 1n });
      expect(fromYson(await world.get("//tmp/q/@queue_status"))).toMatchObject({ partition_count: 1n });
    });
  });

  it("[queue-agent 2] does not know a queue that has gone to another stage, and knows it when it is back", async () => {
    await world.set("//tmp/q/@queue_agent_stage", "testing");
    const error = await eventually(() => failureOf(world.orchid(agent, statusPath)));
    expect(error.message).toMatch(/Error resolving path/);
    expect(error.has("QueueAgentObjectIsNotMapped")).toBe(true);
    await world.set("//tmp/q/@queue_agent_stage", "production");
    await eventually(async () => {
      expect(await orchid(statusPath)).toMatchObject({ partition_count: 1n });
    });
  });
});

describe("state tables", () => {
  it("[queue-agent 13] lets a healthy system have no alerts", async () => {
    await eventually(async () => {
      expect(await alerts()).toEqual({});
      expect(await orchid("/queue_agent/pass_error")).toEqual({ code: 0n, message: "" });
    });
  });

  it("[queue-agent 3] [queue-agent 12] [queue-agent 68] goes on when they are dropped, and says so", async () => {
    for (const name of stateTables) {
      await world.client().remove(`//sys/queue_agents/${name}`);
    }
    await eventually(async () => {
      expect(await world.orchidError(agent, "/queue_agent/pass_error")).toSatisfy((error) =>
        error.has("ResolveError"),
      );
      expect(await alerts()).toMatchObject({
        queue_agent_pass_failed: {
          code: 3025n,
          inner_errors: [{ message: "Error while reading dynamic state" }],
        },
        queue_agent_sharding_manager_pass_failed: { code: 3050n },
        cypress_synchronizer_pass_failed: { code: 3002n },
      });
    });
    // What it knew it still looks after.
    expect(await orchid(statusPath)).toMatchObject({ partition_count: 1n });
    const before = await passIndex("queue_agent");
    await world.waitUntil(async () => (await passIndex("queue_agent")) > before);
  });

  it("[queue-agent 4] names the column that a table lacks", async () => {
    const schema = stateTableSchema("queues");
    const withoutCluster = Array.isArray(schema) ? schema.slice(1) : [];
    await createTable("queues", withoutCluster);
    await eventually(async () => {
      expect(JSON.stringify(await orchid("/queue_agent/pass_error"), bigints)).toMatch(
        /No such column \\"cluster\\"/,
      );
    });
  });

  it("[queue-agent 5] is well again once they are right", async () => {
    await world.client().remove("//sys/queue_agents/queues");
    for (const name of stateTables) {
      await createTable(name, stateTableSchema(name));
    }
    await eventually(async () => {
      expect(await orchid("/queue_agent/pass_error")).toEqual({ code: 0n, message: "" });
      expect(await alerts()).toEqual({});
      expect(await orchid(statusPath)).toMatchObject({ partition_count: 1n });
    });
  });

  it("[queue-agent 69] tells of a synchronizer that cannot read its table", async () => {
    await world.unmount("//sys/queue_agents/queues");
    await eventually(async () => {
      expect(await alerts()).toMatchObject({ cypress_synchronizer_pass_failed: { code: 3002n } });
      expect(await world.orchidError(agent, "/cypress_synchronizer/pass_error")).toSatisfy((error) =>
        error.has("TabletNotMounted"),
      );
    });
    await world.mount("//sys/queue_agents/queues");
    await eventually(async () => {
      expect(await alerts()).toEqual({});
    });
  });
});

describe("dynamic configuration", () => {
  it("[queue-agent 15] stops the synchronizer, and lets it go on", async () => {
    await world.set("//sys/queue_agents/config", "{cypress_synchronizer={enable=%false}}");
    await eventually(async () => {
      const before = await passIndex("cypress_synchronizer");
      const shards = await passIndex("queue_agent_sharding_manager");
      await world.waitUntil(async () => (await passIndex("queue_agent_sharding_manager")) > shards + 3n);
      expect(await passIndex("cypress_synchronizer")).toBe(before);
    });
    const before = await passIndex("cypress_synchronizer");
    await world.set("//sys/queue_agents/config", "{cypress_synchronizer={enable=%true}}");
    await world.waitUntil(async () => (await passIndex("cypress_synchronizer")) > before);
  });

  it("keeps the one before when the new one is wrong, and names the option", async () => {
    const path = "/dynamic_config_manager";
    await world.set("//sys/queue_agents/config", "{queue_agent={inactive_object_display_limit=3;novelty=1}}");
    await eventually(async () => {
      expect(await orchid(path)).toMatchObject({
        effective_config: { queue_agent: { inactive_object_display_limit: 3n } },
        error: null,
        unrecognized_options: ["/queue_agent/novelty"],
      });
    });
    await world.set("//sys/queue_agents/config", "{queue_agent={inactive_object_display_limit=-3}}");
    await eventually(async () => {
      expect(await orchid(path)).toMatchObject({
        effective_config: { queue_agent: { inactive_object_display_limit: 3n } },
        error: {
          inner_errors: [{ attributes: { path: "/queue_agent/inactive_object_display_limit" } }],
        },
      });
    });
    await world.set("//sys/queue_agents/config", "{}");
    await eventually(async () => {
      expect(await orchid(path)).toMatchObject({
        effective_config: { queue_agent: { inactive_object_display_limit: 10n } },
        error: null,
      });
    });
  });
});

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}
