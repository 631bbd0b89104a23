/** What Prometheus gets from a real agent. */
import type { QueueAgent } from "@qyt/queue-agent";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseMetrics, type Sample } from "../../packages/queue-agent/src/testing/metrics.ts";
import { AgentWorld, eventually, reference } from "./agent-fixture.ts";

const queue = reference("primary://tmp/q");
const consumer = reference("primary://tmp/c");

let world: AgentWorld;
let agent: QueueAgent;
beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent();
  await world.createQueue(queue, { tabletCount: 2, attributes: { queue_profiling_tag: "billing" } });
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true });
});
afterAll(() => world.stop());

async function scrape(): Promise<ReadonlyMap<string, readonly Sample[]>> {
  const response = await fetch(`http://${agent.agentId}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return parseMetrics(await response.text());
}

/** The sample of a sensor of partition 0, or the only one. */
async function value(name: string): Promise<number | undefined> {
  const samples = (await scrape()).get(`yt_queue_agent_${name}`) ?? [];
  return samples.find(({ labels }) => (labels["partition_index"] ?? "0") === "0")?.value;
}

describe("GET /metrics", () => {
  test("[queue-agent 131] shows the lag of a consumer that has read nothing", async () => {
    await eventually(async () => expect(await value("consumer_partition_offset")).toBe(0));
    await world.push(queue, ["foo", "foo", "foo"]);
    await eventually(async () => {
      expect(await value("consumer_partition_lag_rows")).toBe(3);
      expect(await value("consumer_partition_rows_consumed")).toBe(0);
      expect(await value("consumer_partition_lag_time")).toBeGreaterThan(0);
      expect(await value("queue_partition_rows_written")).toBe(3);
      expect(await value("queue_partition_data_weight_written")).toBe(60);
      expect(await value("queue_partition_row_count")).toBe(3);
    });
  });

  test("[queue-agent 132] follows it as it advances", async () => {
    await world.advance(consumer, queue, 0, 1n);
    await eventually(async () => {
      expect(await value("consumer_partition_lag_rows")).toBe(2);
      expect(await value("consumer_partition_lag_data_weight")).toBe(40);
    });
    await world.advance(consumer, queue, 0, 3n);
    await eventually(async () => {
      expect(await value("consumer_partition_lag_rows")).toBe(0);
      expect(await value("consumer_partition_lag_data_weight")).toBe(0);
      expect(await value("consumer_partition_lag_time")).toBe(0);
      expect(await value("consumer_partition_rows_consumed")).toBe(3);
    });
  });

  test("[queue-agent 133] has the profiling tag of the queue, and none for the consumer", async () => {
    await eventually(async () => {
      const [offset] = (await scrape()).get("yt_queue_agent_consumer_partition_offset") ?? [];
      expect(offset?.labels).toMatchObject({ queue_tag: "billing", consumer_tag: "none" });
    });
  });

  test("[queue-agent 134] has the passes of the process and of its controllers", async () => {
    const samples = await scrape();
    const kinds = ["", "cypress_synchronizer_", "queue_agent_sharding_manager_", "queue_controller_"];
    for (const kind of [...kinds, "consumer_controller_"]) {
      const of = (name: string): number =>
        Math.max(...(samples.get(`yt_queue_agent_${kind}${name}`) ?? []).map((sample) => sample.value));
      expect(of("pass_index")).toBeGreaterThan(0);
      expect(Date.now() / 1_000 - of("pass_start_time")).toBeLessThan(10);
      expect(of("pass_duration_sum") / of("pass_duration_count")).toBeLessThan(10);
      expect(of("pass_errors")).toBe(0);
    }
  });

  test("[queue-agent 134] counts tasks of exports", async () => {
    await world.client().create("map_node", "//tmp/export");
    const id = await world.get(`${queue.path}/@id`);
    await world.set(
      "//tmp/export/@queue_static_export_destination",
      `{originating_queue_id="${String(id)}"}`,
    );
    await world.flush(queue);
    await world.set(
      `${queue.path}/@static_export_config`,
      '{hourly={export_directory="//tmp/export";export_period=1000}}',
    );
    await eventually(async () => {
      expect(await value("queue_static_export_exported_tables")).toBe(1);
      expect(await value("queue_static_export_exported_rows")).toBe(3);
      expect(await value("queue_static_export_pass_index")).toBeGreaterThan(0);
      expect(await value("queue_static_export_time_lag")).toBeGreaterThanOrEqual(0);
    });
  });

  test("the sensors of a removed queue are gone", async () => {
    await world.client().remove(queue.path);
    await eventually(async () => {
      const samples = await scrape();
      expect(samples.get("yt_queue_agent_queue_partition_row_count")).toBeUndefined();
      expect(samples.get("yt_queue_agent_queue_static_export_exported_tables")).toBeUndefined();
    });
  });
});
