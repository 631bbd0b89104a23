/**
 * Replicated queues and their replicas before the agent: replicas are queues of their own, but for trimming;
 * replicated tables are not followed, and say so.
 */
import { mapOf, type YsonValue } from "@qyt/base";
import { errorFromYson, fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { AgentWorld, eventually, fastDynamicConfig, queueSchema, reference } from "./agent-fixture.ts";
import { asMap, messagesOf } from "./watching-fixture.ts";

const replicated = reference("primary://tmp/replicated");
const replica = reference("primary://tmp/replica");
const consumer = reference("primary://tmp/consumer");
const directory = "//tmp/exports";

let world: AgentWorld;
let replicaTableId = "";

beforeAll(async () => {
  world = await AgentWorld.start();
  await world.startAgent({
    dynamicConfig: fastDynamicConfig.replace(
      "controller={",
      "controller={queue_exporter={implementation=new;pass_period=100};",
    ),
  });
  await createReplicated();
});
afterAll(() => world.stop());

/** A replicated queue with one synchronous replica. */
async function createReplicated(): Promise<void> {
  const client = world.client();
  const attributes = { dynamic: true, schema: queueSchema };
  await client.create("replicated_table", replicated.path, { attributes: mapOf(attributes) });
  await world.mount(replicated.path);
  const answer = await client.execute("create", {
    type: "table_replica",
    attributes: mapOf({
      table_path: replicated.path,
      cluster_name: "primary",
      replica_path: replica.path,
      mode: "sync",
    }),
  });
  const replicaId = asMap(answer).get("object_id") ?? null;
  replicaTableId = await world.createQueue(replica, { attributes: { upstream_replica_id: replicaId } });
  await client.execute("alter_table_replica", { replica_id: replicaId, enabled: true });
}

async function trimmed(queue: ObjectReference): Promise<unknown> {
  return Object(fromYson(await world.get(`${queue.path}/@tablets/0`))).trimmed_row_count;
}

function trimAlert(): Promise<string> {
  return eventually(async () => {
    const path = `${replica.path}/@queue_status/alerts/queue_agent_queue_controller_trim_failed`;
    return messagesOf(await world.get(path));
  });
}

async function statusOf(queue: ObjectReference): Promise<ReadonlyMap<string, YsonValue>> {
  return asMap(await world.get(`${queue.path}/@queue_status`));
}

test("a replica exports, but is not trimmed while it is one, though its exports have all rows", async () => {
  await world.createConsumer(consumer);
  await world.register(replicated, consumer, { vital: true });
  await world.push(replicated, ["a", "b", "c"]);
  await world.client().create("map_node", directory);
  await world.set(
    `${directory}/@queue_static_export_destination`,
    `{originating_queue_id="${replicaTableId}"}`,
  );
  await world.set(`${replica.path}/@auto_trim_config`, "{enable=%true}");
  await world.set(
    `${replica.path}/@static_export_config`,
    `{default={export_directory="${directory}";export_period=1000}}`,
  );
  await world.flush(replica);
  await eventually(async () => {
    const progress = await world.get(`${directory}/@queue_static_export_progress/tablets/0/row_count`);
    expect(progress).toBe(3n);
  });
  expect(await trimAlert()).toMatch(/"primary:\/\/tmp\/replica" is a replica, .* does not follow/);
  expect(await trimmed(replica)).toBe(0n);

  await world.client().execute("trim_rows", { path: replica.path, tablet_index: 0n, trimmed_row_count: 1n });
  expect(await trimmed(replica)).toBe(1n);

  await world.unmount(replica.path);
  await world.client().execute("alter_table", { path: replica.path, upstream_replica_id: "0-0-0-0" });
  await world.mount(replica.path);
  await eventually(async () => expect(await trimmed(replica)).toBe(3n));
});

test("a replicated queue says that it is not followed, and that exports belong on its replicas", async () => {
  const message = /^No replicated table mapping row is known for replicated queue: .* its replicas/;
  await eventually(async () =>
    expect(messagesOf((await statusOf(replicated)).get("error"))).toMatch(message),
  );
  expect(fromYson((await statusOf(replicated)).get("exports") ?? null)).toEqual({ progress: {} });
  expect(await world.get(`${replicated.path}/@queue_partitions`)).toEqual([]);

  await world.set(
    `${replicated.path}/@static_export_config`,
    `{default={export_directory="${directory}";export_period=1000}}`,
  );
  await eventually(async () => {
    const exports = asMap((await statusOf(replicated)).get("exports"));
    const error = errorFromYson(exports.get("error") ?? null);
    expect(error.innerErrors[0]?.message).toMatch(
      /^Attribute "static_export_config" can only be set on replicas, not on a replicated_table/,
    );
  });
});
