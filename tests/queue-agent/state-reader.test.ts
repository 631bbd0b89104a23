import { mapOf } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import { insertYson } from "../../packages/queue-agent/src/state/row-io.ts";
import type { StateReader } from "../../packages/queue-agent/src/state/state-reader.ts";
import { stateTableSchema } from "../../packages/queue-agent/src/state/state-tables.ts";
import { AgentWorld, reference } from "./agent-fixture.ts";

let world: AgentWorld;
let reader: StateReader;
beforeAll(async () => {
  world = await AgentWorld.start();
  ({ stateReader: reader } = await world.context());
});
afterAll(() => world.stop());

const queue = reference("primary://tmp/q");
const consumer = reference("primary://tmp/c");

async function insert(table: string, yson: string): Promise<void> {
  const row = parseYson(yson);
  if (!(row instanceof Map)) {
    throw new Error("A row is a map");
  }
  await insertYson(world.client(), `//sys/queue_agents/${table}`, [row]);
}

it("reads what was written, and gives the same objects while nothing is", async () => {
  const before = await reader.read();
  expect(before.queues.size).toBe(0);
  await insert(
    "queues",
    `{cluster=primary;path="//tmp/q";row_revision=1u;revision=100u;object_type=table;dynamic=%true;sorted=%false;
      auto_trim_config={enable=%true;retained_rows=5;strange=1};queue_agent_stage=production}`,
  );
  const after = await reader.read();
  expect(after.queues.get("primary://tmp/q")).toMatchObject({
    reference: queue,
    rowRevision: 1n,
    revision: 100n,
    autoTrimConfig: { enable: true, retainedRows: 5n, retainedLifetimeDurationMs: null },
    staticExportConfig: null,
    synchronizationError: null,
  });
  expect(after.consumers).toBe(before.consumers);
  const again = await reader.read();
  expect(again.queues).toBe(after.queues);
  expect(again.registrations).toBe(after.registrations);
});

it("reads registrations with their vitality and partitions", async () => {
  await world.createQueue(queue, { tabletCount: 3 });
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true, partitions: [0n, 2n] });
  expect((await reader.read()).registrations).toEqual([
    { queue, consumer, consumerName: null, vital: true, partitions: [0n, 2n] },
  ]);
  await world.register(queue, consumer, { vital: false });
  expect((await reader.read()).registrations).toEqual([
    { queue, consumer, consumerName: null, vital: false, partitions: null },
  ]);
  await world.unregister(queue, consumer);
  expect((await reader.read()).registrations).toEqual([]);
});

it("gives a wrong row an error of its own", async () => {
  await insert("queues", `{cluster=primary;path="//tmp/bad";static_export_config={a={export_period=1500}}}`);
  const { queues } = await reader.read();
  expect(queues.get("primary://tmp/bad")?.synchronizationError?.message).toMatch(/row of the queue/);
  expect(queues.get("primary://tmp/q")?.synchronizationError).toBeNull();
});

it("says which table cannot be read, and reads again when it is back", async () => {
  const client = world.client();
  const path = "//sys/queue_agents/queues";
  await client.unmountTable(path);
  await world.waitUntil(async () => (await world.get(`${path}/@tablet_state`)) === "unmounted");
  const unmounted = await reader.read().catch((thrown) => thrown);
  expect(unmounted.message).toBe("Error while reading dynamic state");
  expect(unmounted.has("TabletNotMounted")).toBe(true);
  await client.remove(path);
  const removed = await reader.read().catch((thrown) => thrown);
  expect(removed.has("ResolveError")).toBe(true);
  expect(removed.innerErrors[0].attributes.get("path")).toBe(path);
  await client.create("table", path, {
    attributes: mapOf({ dynamic: true, schema: stateTableSchema("queues") }),
  });
  await client.mountTable(path);
  await world.waitUntil(async () => (await world.get(`${path}/@tablet_state`)) === "mounted");
  expect((await reader.read()).queues.size).toBe(0);
});
