/** The answer as a whole: passes, objects, alerts and exports. */
import { YtError } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { expect, test } from "vitest";
import { alertKinds } from "../alerts/alert-kinds.ts";
import { AlertManager } from "../alerts/alert-manager.ts";
import { ObjectRegistry, type QueueObject } from "../controllers/object-registry.ts";
import { type ExporterState, emptyExporterState } from "../exports/exporter-state.ts";
import { valueNode } from "../orchid/orchid-node.ts";
import { PassStatus } from "../pass-status.ts";
import { PassTotals } from "../pass-totals.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { parseMetrics, type Sample, textOf } from "../testing/metrics.ts";
import { consumerSnapshot, queueSnapshot, testQueue } from "../testing/snapshots.ts";
import { AgentMetrics } from "./agent-metrics.ts";
import { allSensors, seriesNames } from "./sensors.ts";

const queueLabels = { queue_cluster: "pythia", queue_path: "//tmp/q", queue_tag: "none" };

class World {
  readonly clock = new FakeClock();
  readonly registry = new ObjectRegistry();
  readonly poll = new PassStatus(this.clock);
  readonly synchronizer = new PassStatus(this.clock);
  readonly shardingManager = new PassStatus(this.clock);
  readonly alerts = new AlertManager();
  readonly exportManager = { waiting: 0, passes: new PassTotals() };
  readonly metrics = new AgentMetrics(this.clock);
  readonly queueAlerts = new AlertManager();
  readonly exporters = new Map<string, ExporterState>();
  isBanned = false;

  constructor() {
    const usage = () => ({ cpuSeconds: 1, residentBytes: 2, heapBytes: 3 });
    this.metrics.attach({ ...this, isBanned: () => this.isBanned, usage, controllersPassMs: () => 30 });
  }

  lead(snapshot: QueueSnapshot): void {
    const queue: QueueObject = {
      reference: testQueue,
      isLeading: true,
      isStateless: false,
      isPassing: false,
      snapshot,
      orchid: valueNode(() => null),
      leadership: { alerts: this.queueAlerts, exports: { states: () => this.exporters } },
      update() {},
      async pass() {},
      collectAlerts() {},
      async stop() {},
    };
    this.registry.replace(new Map([["pythia://tmp/q", queue]]), new Map());
    this.metrics.profiler.retain?.(this.registry);
  }

  async read(name: string): Promise<readonly Sample[]> {
    const text = await textOf((sink) => this.metrics.write(sink));
    return parseMetrics(text).get(`yt_queue_agent_${name}`) ?? [];
  }
}

test("before the agent has started the answer is empty", async () => {
  const metrics = new AgentMetrics(new FakeClock());
  expect(await textOf((sink) => metrics.write(sink))).toBe("");
  expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
});

test("[queue-agent 134] passes of all six kinds have index, start, duration and errors", async () => {
  const world = new World();
  const { clock } = world;
  const second = async (): Promise<void> => clock.advance(1_000);
  for (const status of [world.poll, world.synchronizer, world.shardingManager]) {
    await status.measure(second);
    await status.measure(second);
  }
  world.synchronizer.fail(new YtError("The table is not mounted"));
  const snapshot = { ...queueSnapshot(), passInstantMs: clock.now() };
  world.metrics.profiler.passEnded?.(snapshot, true, 250);
  world.metrics.profiler.passEnded?.({ ...snapshot, error: new YtError("No table") }, true, 250);
  world.metrics.profiler.passEnded?.(
    { ...consumerSnapshot("c", []), passInstantMs: clock.now() },
    false,
    500,
  );
  world.exportManager.passes.record(clock.now(), 500, false);
  const kinds: readonly (readonly [string, Readonly<Record<string, string>>, readonly number[]])[] = [
    ["", {}, [1, 2, 2, 0]],
    ["cypress_synchronizer_", {}, [1, 2, 2, 1]],
    ["queue_agent_sharding_manager_", {}, [1, 2, 2, 0]],
    ["queue_controller_", { leading: "true", object_type: "table" }, [2, 0.5, 2, 1]],
    ["consumer_controller_", { leading: "false", object_type: "table" }, [1, 0.5, 1, 0]],
    ["queue_static_export_", {}, [1, 0.5, 1, 0]],
  ];
  for (const [prefix, labels, [index, duration, count, errors]] of kinds) {
    expect(await world.read(`${prefix}pass_index`)).toEqual([{ labels, value: index }]);
    expect(await world.read(`${prefix}pass_duration_sum`)).toEqual([{ labels, value: duration }]);
    expect(await world.read(`${prefix}pass_duration_count`)).toEqual([{ labels, value: count }]);
    expect(await world.read(`${prefix}pass_errors`)).toEqual([{ labels, value: errors }]);
    const [start] = await world.read(`${prefix}pass_start_time`);
    expect(clock.now() / 1_000 - (start?.value ?? 0)).toBeLessThan(10);
  }
});

test("objects are counted by cluster, leadership, stage and type", async () => {
  const world = new World();
  world.lead(queueSnapshot({ partitions: [{}, {}] }));
  const labels = {
    yt_cluster: "pythia",
    leading_status: "leader",
    queue_agent_stage: "production",
    object_type: "table",
  };
  expect(await world.read("queues")).toEqual([{ labels, value: 1 }]);
  expect(await world.read("partitions")).toEqual([{ labels, value: 2 }]);
  expect(await world.read("trimmed_queues")).toEqual([{ labels, value: 1 }]);
  expect(await world.read("erroneous_queues")).toEqual([{ labels, value: 0 }]);
  world.lead(queueSnapshot({ autoTrim: { enable: false }, error: new YtError("No table") }));
  expect(await world.read("trimmed_queues")).toEqual([{ labels, value: 0 }]);
  expect(await world.read("erroneous_queues")).toEqual([{ labels, value: 1 }]);
});

test("the passes of all controllers together have a time", async () => {
  expect(await new World().read("controllers_pass_time")).toEqual([{ labels: {}, value: 0.03 }]);
});

test("a banned instance says so", async () => {
  const world = new World();
  expect(await world.read("banned")).toEqual([{ labels: {}, value: 0 }]);
  world.isBanned = true;
  expect(await world.read("banned")).toEqual([{ labels: {}, value: 1 }]);
});

test("an alert is 1 while it is there and 0 afterwards, until its queue is gone", async () => {
  const world = new World();
  world.lead(queueSnapshot());
  const collector = world.queueAlerts.collector();
  const tags = new Map([["export_name", "hourly"]]);
  collector.stage(alertKinds.staticExportFailed, new YtError("No directory"), tags);
  collector.publish();
  world.queueAlerts.collect();
  const labels = {
    category: "queue_agent_queue_controller_static_export_failed",
    ...queueLabels,
    object_type: "table",
    export_name: "hourly",
  };
  expect(await world.read("alerts")).toEqual([{ labels, value: 1 }]);
  collector.publish();
  world.queueAlerts.collect();
  expect(await world.read("alerts")).toEqual([{ labels, value: 0 }]);
  world.registry.replace(new Map(), new Map());
  expect(await world.read("alerts")).toEqual([]);
});

test("alerts of the process have no queue", async () => {
  const world = new World();
  const collector = world.alerts.collector();
  collector.stage(alertKinds.agentPassFailed, new YtError("Error while reading dynamic state"));
  collector.publish();
  world.alerts.collect();
  expect(await world.read("alerts")).toEqual([{ labels: { category: "queue_agent_pass_failed" }, value: 1 }]);
});

test("an export shows what it made, how far behind it is and what is left", async () => {
  const world = new World();
  await world.clock.advance(7_250_000);
  const boundary = Math.floor(world.clock.now() / 3_600_000) * 3_600;
  const exports = new Map([
    [
      "hourly",
      {
        exportDirectory: "//tmp/export",
        exportPeriodSeconds: 3_600,
        exportTtlMs: 0,
        outputTableNamePattern: "%UNIX_TS",
        useUpperBoundForTableNames: false,
        maxTableCount: null,
        maxDataWeight: null,
      },
    ],
  ]);
  world.lead(queueSnapshot({ exports }));
  const labels = { ...queueLabels, export_name: "hourly" };
  world.exporters.set("hourly", emptyExporterState);
  expect(await world.read("queue_static_export_exported_tables")).toEqual([{ labels, value: 0 }]);
  expect(await world.read("queue_static_export_time_lag")).toEqual([]);
  world.exporters.set("hourly", {
    ...emptyExporterState,
    isPaused: true,
    pending: { tableCount: 2, chunkCount: 5, rowCount: 70n },
    counters: { ...emptyExporterState.counters, exportedTables: 4, exportedRows: 90n },
    progress: {
      lastSuccessMs: 5_000,
      lastTaskMs: 5_000,
      lastFragmentMs: 0,
      lastExportTime: boundary - 5_400,
      tablets: new Map(),
      queueObjectId: null,
    },
  });
  expect(await world.read("queue_static_export_exported_tables")).toEqual([{ labels, value: 4 }]);
  expect(await world.read("queue_static_export_exported_rows")).toEqual([{ labels, value: 90 }]);
  expect(await world.read("queue_static_export_time_lag")).toEqual([{ labels, value: 5_400 }]);
  expect(await world.read("queue_static_export_table_lag")).toEqual([{ labels, value: 2 }]);
  expect(await world.read("queue_static_export_pending_tables")).toEqual([{ labels, value: 2 }]);
  expect(await world.read("queue_static_export_pending_rows")).toEqual([{ labels, value: 70 }]);
  expect(await world.read("queue_static_export_paused")).toEqual([{ labels, value: 1 }]);
  expect(await world.read("queue_static_export_last_success_time")).toEqual([{ labels, value: 5 }]);
});

test("names are unique and those that Prometheus takes, and each help ends with the unit", () => {
  const names = allSensors.flatMap(seriesNames);
  expect(new Set(names).size).toBe(names.length);
  for (const { name, help, labels } of allSensors) {
    expect(name).toMatch(/^[a-z][a-z_]*$/);
    expect(help).toMatch(/ \([^()]+\)$/);
    expect(labels.every((label) => /^[a-z_]+$/.test(label))).toBe(true);
  }
});
