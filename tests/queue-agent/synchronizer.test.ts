/** The synchronizer against real clusters: what it writes into the state tables, by both policies. */
import { isMap, mapOf } from "@qyt/base";
import type { QueueAgent } from "@qyt/queue-agent";
import { fromYson, parseYson } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { insertYson, selectYson } from "../../packages/queue-agent/src/state/row-io.ts";
import { AgentWorld, eventually, reference } from "./agent-fixture.ts";

let world: AgentWorld;
let agent: QueueAgent;
beforeAll(async () => {
  world = await AgentWorld.start({ clusters: ["primary", "remote"] });
  agent = await world.startAgent();
});
afterAll(() => world.stop());

type Table = "queues" | "consumers";

async function rows(table: Table): Promise<Map<string, Record<string, unknown>>> {
  const found = await selectYson(world.client(), `* from [//sys/queue_agents/${table}]`);
  return new Map(found.map((row) => [`${row.get("cluster")}:${row.get("path")}`, Object(fromYson(row))]));
}

async function row(table: Table, key: string): Promise<Record<string, unknown> | undefined> {
  return (await rows(table)).get(key);
}

async function insert(table: Table, yson: string): Promise<void> {
  const value = parseYson(yson);
  await insertYson(world.client(), `//sys/queue_agents/${table}`, [isMap(value) ? value : mapOf({})]);
}

/** Waits until a pass of the synchronizer that began after now has ended. */
async function nextPass(): Promise<void> {
  const index = async () => Number(await world.orchid(agent, "/cypress_synchronizer/pass_index"));
  const before = await index();
  await world.waitUntil(async () => (await index()) >= before + 2, "a pass of the synchronizer");
}

const queue = reference("primary://tmp/q");
const consumer = reference("primary://tmp/c");

describe("watching", () => {
  it("[queue-agent 75] finds queues and consumers of all clusters, and drops those that go", async () => {
    await world.createQueue(queue);
    await world.createConsumer(consumer);
    await world.createQueue(reference("remote://tmp/q"));
    await eventually(async () => {
      expect([...(await rows("queues")).keys()]).toEqual(["primary://tmp/q", "remote://tmp/q"]);
      expect([...(await rows("consumers")).keys()]).toEqual(["primary://tmp/c"]);
    });
    await world.set("//tmp/c/@treat_as_queue_consumer", "%false");
    await eventually(async () => {
      expect((await rows("consumers")).size).toBe(0);
    });
    await world.set("//tmp/c/@treat_as_queue_consumer", "%true");
    await world.client("remote").remove("//tmp/q");
    await eventually(async () => {
      expect([...(await rows("queues")).keys()]).toEqual(["primary://tmp/q"]);
      expect([...(await rows("consumers")).keys()]).toEqual(["primary://tmp/c"]);
    });
  });

  it("copies what owners set", async () => {
    await world.set("//tmp/q/@auto_trim_config", "{enable=%true;retained_rows=3}");
    await world.set("//tmp/q/@queue_profiling_tag", "blue");
    const id = await world.get("//tmp/q/@id");
    const revision = async () => fromYson(await world.get("//tmp/q/@attribute_revision"));
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/q")).toMatchObject({
        object_type: "table",
        dynamic: true,
        sorted: false,
        auto_trim_config: { enable: true, retained_rows: 3n },
        queue_profiling_tag: "blue",
        queue_agent_stage: "production",
        object_id: id,
        revision: await revision(),
        synchronization_error: { code: 0n },
      });
      expect(await row("consumers", "primary://tmp/c")).toMatchObject({
        object_type: "table",
        treat_as_queue_consumer: true,
        is_multi_consumer: false,
        schema: [
          {
            $attributes: { strict: true, unique_keys: true },
            $value: expect.arrayContaining([expect.objectContaining({ name: "queue_cluster" })]),
          },
        ],
      });
    });
  });

  it("[queue-agent 73] does not write a row again because data was written or flushed", async () => {
    const before = await row("queues", "primary://tmp/q");
    await world.push(queue, ["a", "b"]);
    await world.flush(queue);
    await nextPass();
    expect(await row("queues", "primary://tmp/q")).toEqual(before);
  });

  it("[queue-agent 70] gives a queue that was made anew its new object id", async () => {
    await world.client().remove("//tmp/q");
    const id = await world.createQueue(queue);
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/q")).toMatchObject({ object_id: id });
    });
  });

  it("says what cannot be read of a queue, with its stage and revision, until it is set right", async () => {
    await world.set(
      "//tmp/q/@static_export_config",
      '{daily={export_directory="//tmp/e";export_period=1500}}',
    );
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/q")).toMatchObject({
        queue_agent_stage: "production",
        object_type: "table",
        dynamic: null,
        object_id: null,
        synchronization_error: { message: "Attributes of the object cannot be read" },
      });
    });
    const { row_revision } = (await row("queues", "primary://tmp/q")) ?? {};
    await nextPass();
    expect(await row("queues", "primary://tmp/q")).toMatchObject({ row_revision });
    await world.client().remove("//tmp/q/@static_export_config");
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/q")).toMatchObject({
        dynamic: true,
        synchronization_error: { code: 0n },
      });
    });
  });

  it("[queue-agent 82] tells multi-consumers from others", async () => {
    const schema = parseYson(
      "<unique_keys=%true;strict=%true>[{name=queue_consumer_name;type=string;sort_order=ascending;required=%true};{name=queue_cluster;type=string;sort_order=ascending;required=%true};{name=queue_path;type=string;sort_order=ascending;required=%true};{name=partition_index;type=uint64;sort_order=ascending;required=%true};{name=offset;type=uint64;required=%true};{name=meta;type=any}]",
    );
    await world.client().create("table", "//tmp/mc", {
      attributes: mapOf({ dynamic: true, treat_as_queue_consumer: true, schema }),
    });
    await eventually(async () => {
      expect(await row("consumers", "primary://tmp/mc")).toMatchObject({ is_multi_consumer: true });
      expect(await row("consumers", "primary://tmp/c")).toMatchObject({ is_multi_consumer: false });
    });
  });

  it("leaves the rows of a cluster that does not answer, names it in an alert, and serves the others", async () => {
    await world.createQueue(reference("remote://tmp/far"));
    await world.waitUntil(async () => (await rows("queues")).has("remote://tmp/far"));
    const proxy = await world.get("//sys/clusters/remote/proxy");
    await world.set("//sys/clusters/remote", '{proxy="http://127.0.0.1:1"}');
    const alert = "/alerts/cypress_synchronizer_unable_to_fetch_object_revisions";
    await eventually(async () => {
      expect(fromYson(await world.orchid(agent, alert))).toMatchObject({
        code: 3000n,
        inner_errors: [{ attributes: { cluster: "remote" } }],
      });
    });
    await world.createQueue(reference("primary://tmp/near"));
    await world.waitUntil(async () => (await rows("queues")).has("primary://tmp/near"));
    expect((await rows("queues")).has("remote://tmp/far")).toBe(true);
    await world.set("//sys/clusters/remote", `{proxy="${proxy}"}`);
    await eventually(async () => {
      expect(fromYson(await world.orchid(agent, "/alerts"))).toEqual({});
    });
  });
});

describe("polling", () => {
  const q1 = reference("primary://tmp/p1");
  const q2 = reference("remote://tmp/p2");
  const c1 = reference("primary://tmp/pc");

  beforeAll(async () => {
    await world.set("//sys/queue_agents/config", "{cypress_synchronizer={policy=polling}}");
    const policy = "/dynamic_config_manager/effective_config/cypress_synchronizer/policy";
    await world.waitUntil(async () => (await world.orchid(agent, policy)) === "polling");
    await nextPass();
    await world.createQueue(q1);
    await world.createQueue(q2);
    await world.createConsumer(c1);
  });

  it("finds no objects by itself, and follows those in the tables", async () => {
    await nextPass();
    expect((await rows("queues")).has("primary://tmp/p1")).toBe(false);
    await insert("queues", '{cluster=primary;path="//tmp/p1"}');
    await insert("consumers", '{cluster=primary;path="//tmp/pc"}');
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/p1")).toMatchObject({ row_revision: 1n, dynamic: true });
      expect(await row("consumers", "primary://tmp/pc")).toMatchObject({ row_revision: 1n });
    });
  });

  it("[queue-agent 71] writes only the row of the object that changed", async () => {
    await insert("queues", '{cluster=remote;path="//tmp/p2"}');
    await world.set("//tmp/pc/@queue_agent_stage", "testing");
    await eventually(async () => {
      expect(await row("queues", "remote://tmp/p2")).toMatchObject({ row_revision: 1n });
      expect(await row("consumers", "primary://tmp/pc")).toMatchObject({
        row_revision: 2n,
        queue_agent_stage: "testing",
      });
    });
    expect(await row("queues", "primary://tmp/p1")).toMatchObject({ row_revision: 1n });
  });

  it("says of a cluster that does not answer what it asked for", async () => {
    const proxy = await world.get("//sys/clusters/remote/proxy");
    await world.set("//sys/clusters/remote", '{proxy="http://127.0.0.1:1"}');
    await eventually(async () => {
      expect(fromYson(await world.orchid(agent, "/alerts"))).toMatchObject({
        cypress_synchronizer_unable_to_fetch_object_revisions: {
          code: 3000n,
          message: "Error fetching object revisions from clusters",
          inner_errors: [{ attributes: { cluster: "remote" } }],
        },
      });
    });
    await world.set("//sys/clusters/remote", `{proxy="${proxy}"}`);
    await eventually(async () => {
      expect(fromYson(await world.orchid(agent, "/alerts"))).toEqual({});
    });
  });

  it("[queue-agent 72] goes on when its table is mounted again", async () => {
    await world.unmount("//sys/queue_agents/queues");
    await eventually(async () => {
      const error = await world.orchidError(agent, "/cypress_synchronizer/pass_error");
      expect(error.has("TabletNotMounted")).toBe(true);
    });
    await world.set("//tmp/p1/@queue_agent_stage", "testing");
    await world.mount("//sys/queue_agents/queues");
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/p1")).toMatchObject({ queue_agent_stage: "testing" });
      expect(fromYson(await world.orchid(agent, "/cypress_synchronizer/pass_error"))).toEqual({
        code: 0n,
        message: "",
      });
    });
  });

  it("[queue-agent 74] keeps the rows of objects that are gone, with the error, and heals them", async () => {
    await world.client().remove("//tmp/p1");
    await world.client().remove("//tmp/pc");
    const error = { synchronization_error: { code: 500n } };
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/p1")).toMatchObject(error);
      expect(await row("consumers", "primary://tmp/pc")).toMatchObject(error);
    });
    await world.createQueue(q1);
    await world.createConsumer(c1);
    await eventually(async () => {
      expect(await row("queues", "primary://tmp/p1")).toMatchObject({ synchronization_error: { code: 0n } });
      expect(await row("consumers", "primary://tmp/pc")).toMatchObject({
        synchronization_error: { code: 0n },
      });
    });
  });

  it("refuses to keep a mapping of replicated tables", async () => {
    await world.set(
      "//sys/queue_agents/config",
      "{cypress_synchronizer={policy=polling;write_replicated_table_mapping=%true}}",
    );
    await eventually(async () => {
      const error = await world.orchidError(agent, "/cypress_synchronizer/pass_error");
      expect(error.message).toBe("Cypress synchronizer cannot work with replicated objects in polling mode");
    });
  });
});
