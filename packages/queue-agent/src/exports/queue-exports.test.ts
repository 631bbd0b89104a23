/** Exports of a queue on a cluster in memory: what is made when, by both implementations. */
import { YtError } from "@qyt/base";
import { describe, expect, test } from "vitest";
import { ExportAgent, ExportWorld, errorTree, exportDirectory } from "../testing/export-world.ts";
import { queueRow } from "../testing/snapshots.ts";

const both = ["old", "new"] as const;

describe.each(both)("both implementations: %s", (implementation) => {
  test("[queue-agent 90] flushed rows only, one table per period that has some; foreign locks do not matter", async () => {
    const world = new ExportWorld({ implementation });
    world.cluster.lockDirectory(exportDirectory, null);
    await world.toMiddle();
    world.queue.pushFlushed(0, 3);
    world.queue.push(0, 2);
    await world.run(25);
    expect(world.tables()).toEqual({ "0-10": 3 });
    world.queue.flush(0);
    await world.run(10);
    expect(Object.values(world.tables())).toEqual([3, 2]);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1", "0:2", "0:3", "0:4"]);
    expect(world.agent.alerts()).toEqual([]);
  });

  test("[queue-agent 91] no table before the boundary", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { exportPeriodSeconds: 15 } };
    await world.run(15);
    await world.toMiddle();
    world.queue.pushFlushed(0, 1);
    await world.run(14);
    expect(world.tables()).toEqual({});
    await world.run(2);
    expect(world.tables()).toEqual({ "15-15": 1 });
  });

  test("[queue-agent 92] rows are ordered by partition, whichever was flushed first", async () => {
    const world = new ExportWorld({ implementation, tablets: 3 });
    for (const tablet of [2, 1, 0]) {
      world.queue.pushFlushed(tablet, 2);
    }
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1", "1:0", "1:1", "2:0", "2:1"]);
  });

  test("[queue-agent 94] several exports have all the data each; a removed one alone stops", async () => {
    const world = new ExportWorld({ implementation });
    world.cluster.createDirectory("//tmp/other", world.queue.id);
    const other = { exportDirectory: "//tmp/other", exportPeriodSeconds: 5 };
    world.configs = { default: {}, other };
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    expect(world.cluster.exportedRows("//tmp/other")).toEqual(["0:0"]);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
    world.configs = { other };
    world.queue.pushFlushed(0, 1);
    await world.run(20);
    expect(world.cluster.exportedRows("//tmp/other")).toEqual(["0:0", "0:1"]);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
  });

  test("[queue-agent 97] a directory for another queue: no table, one alert that names the ids and the export", async () => {
    const world = new ExportWorld({ implementation });
    world.cluster.createDirectory(exportDirectory, "9-9-9-9");
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    expect(world.tables()).toEqual({});
    const [alert, ...others] = world.agent.alerts();
    expect(others).toEqual([]);
    expect(alert?.kind.category).toBe("queue_agent_queue_controller_static_export_failed");
    expect(Object.fromEntries(alert?.tags ?? [])).toEqual({ export_name: "default" });
    const text = [alert?.error, ...(alert?.error.innerErrors ?? [])].map((error) => error?.message).join();
    expect(text).toMatch(/configured id 9-9-9-9 does not match queue id/);
  });

  test("[queue-agent 99] names with the lower bound lie before their rows", async () => {
    const world = new ExportWorld({ implementation });
    await world.run(12);
    world.queue.pushFlushed(0, 1);
    await world.run(10);
    expect(world.tables()).toEqual({ "10-10": 1 });
  });

  test("[queue-agent 100] export_ttl: the table goes after it", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { exportTtlMs: 3_000 } };
    world.queue.pushFlushed(0, 1);
    await world.run(10);
    await world.toMiddle();
    expect(world.tables()).toEqual({ "0-10": 1 });
    const [name = ""] = world.cluster.tableNames(exportDirectory);
    const { attributes } = world.cluster.table(`${exportDirectory}/${name}`);
    expect(attributes.get("expiration_timeout")).toBe(3_000n);
    expect(attributes.get("expiration_time")).toMatch(/^2025-01-23T14:00:1[34]\.\d{6}Z$/);
    await world.run(4);
    expect(world.tables()).toEqual({});
  });

  test("[queue-agent 105] a foreign lock on the directory is an alert; when it goes, the export is made up for", async () => {
    const world = new ExportWorld({ implementation });
    const unlock = world.cluster.lockDirectory(exportDirectory, "queue_static_exporter");
    world.queue.pushFlushed(0, 2);
    await world.run(15);
    world.queue.pushFlushed(0, 3);
    await world.run(10);
    expect(world.tables()).toEqual({});
    const errors = world.agent.alerts().map(({ error }) => [error, ...error.innerErrors].at(-1)?.message);
    expect(errors).toEqual([
      expect.stringContaining('Cannot take lock for attribute "queue_static_exporter" of node'),
    ]);
    unlock();
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toHaveLength(5);
    expect(Object.values(world.tables())).toEqual(implementation === "old" ? [5] : [2, 3]);
    expect(world.agent.alerts()).toEqual([]);
  });

  test("a queue that the directory is not for, as a copy of the right one, does not come for the lock", async () => {
    const world = new ExportWorld({ implementation });
    world.cluster.createDirectory(exportDirectory, "9-9-9-9");
    world.cluster.lockDirectory(exportDirectory, "queue_static_exporter");
    world.queue.pushFlushed(0, 2);
    await world.run(12);
    const texts = world.agent.alerts().map(({ error }) => JSON.stringify(errorTree(error)));
    expect(texts).toEqual([expect.stringContaining("configured id 9-9-9-9 does not match queue id")]);
  });

  test("[queue-agent 86] a banned queue exports nothing, and makes up for it afterwards", async () => {
    const world = new ExportWorld({ implementation });
    world.agent.exports.disable(new YtError("Exports are disabled, since this queue is banned"));
    world.queue.pushFlushed(0, 1);
    await world.run(25, []);
    expect(world.tables()).toEqual({});
    expect(world.agent.status()).toMatchObject({
      error: { inner_errors: [{ message: "Exports are disabled, since this queue is banned" }] },
    });
    expect(world.agent.exports.progress().kind).toBe("error");
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
    world.agent.exports.disable(new YtError("Exports are disabled, since this queue is banned"));
    world.queue.pushFlushed(0, 1);
    await world.run(25, []);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
  });

  test("a name that is taken is an alert that names pattern and table, and no row is lost", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { outputTableNamePattern: "daily-%Y-%m-%d" } };
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    world.queue.pushFlushed(0, 2);
    await world.run(10);
    const texts = world.agent.alerts().map(({ error }) => JSON.stringify(errorTree(error)));
    expect(texts).toEqual([
      expect.stringContaining(`Table ${exportDirectory}/daily-2025-01-23 already exists`),
    ]);
    expect(texts[0]).toContain("daily-%Y-%m-%d");
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
    world.configs = { default: { outputTableNamePattern: "%UNIX_TS" } };
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory).sort()).toEqual(["0:0", "0:1", "0:2"]);
    expect(world.agent.alerts()).toEqual([]);
  });

  test("brakes: a full directory pauses the export with an alert, and keeps the rows", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { maxTableCount: 1 } };
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    world.queue.pushFlushed(0, 2);
    await world.run(20);
    expect(world.tables()).toEqual({ "0-10": 1 });
    const texts = world.agent.alerts().map(({ error }) => JSON.stringify(errorTree(error)));
    expect(texts).toEqual([expect.stringContaining("Export is paused")]);
    expect(world.agent.exports.progress()).toEqual({ kind: "rows", rowCounts: new Map([[0, 1n]]) });
    expect(world.agent.status()).toMatchObject({
      state: { default: { paused: true, pending_table_count: 1n, pending_row_count: 2n } },
    });
    const [name = ""] = world.cluster.tableNames(exportDirectory);
    world.cluster.tables.delete(`${exportDirectory}/${name}`);
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:1", "0:2"]);
    expect(world.agent.alerts()).toEqual([]);
    // 10 bytes a row in this cluster.
    world.configs = { default: { maxDataWeight: 20n } };
    world.queue.pushFlushed(0, 1);
    await world.run(20);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:1", "0:2"]);
    expect(world.agent.alerts()).toHaveLength(1);
  });

  test("rows trimmed behind the export do not disturb it", async () => {
    const world = new ExportWorld({ implementation });
    world.queue.pushFlushed(0, 2);
    await world.run(12);
    world.queue.tablet(0).chunks = [];
    world.queue.pushFlushed(0, 3);
    await world.run(10);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1", "0:2", "0:3", "0:4"]);
  });

  test("what a stopped agent began is undone, and the next agent goes on from the stored progress", async () => {
    const world = new ExportWorld({ implementation });
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    await world.agent.exports.stop();
    const next = new ExportAgent(world);
    next.context.configureExporter({ implementation });
    world.queue.pushFlushed(0, 1);
    await world.run(2, [next]);
    // Known before the first task, so that trimming need not wait for it.
    expect(next.exports.progress()).toEqual({ kind: "rows", rowCounts: new Map([[0, 1n]]) });
    await world.run(20, [next]);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1"]);
  });

  test("exports that are switched off stay listed, hold trimming, and go on when switched on", async () => {
    const world = new ExportWorld({ implementation });
    world.agent.context.configureExporter({ enable: false });
    world.queue.pushFlushed(0, 1);
    await world.run(25);
    expect(world.tables()).toEqual({});
    expect(world.agent.exports.progress()).toEqual({ kind: "rows", rowCounts: new Map() });
    world.agent.context.configureExporter({ enable: true });
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0"]);
  });
});

describe("old implementation", () => {
  test("[queue-agent 95] a later export has all earlier rows in its first table", async () => {
    const world = new ExportWorld();
    for (let portion = 0; portion < 3; portion++) {
      world.queue.pushFlushed(0, 1);
      await world.run(10);
    }
    world.cluster.createDirectory("//tmp/late", world.queue.id);
    world.configs = { default: {}, late: { exportDirectory: "//tmp/late" } };
    await world.run(12);
    expect(Object.values(world.tables("//tmp/late"))).toEqual([3]);
  });

  test("[queue-agent 103] without new rows only the successful iteration moves on", async () => {
    const world = new ExportWorld();
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    const first = world.storedProgress();
    await world.run(10);
    const second = world.storedProgress();
    const [success, fragment] = [
      "last_successful_export_iteration_instant",
      "last_exported_fragment_iteration_instant",
    ];
    expect(second[success] ?? "").not.toBe(first[success]);
    expect(second[fragment] ?? "").toBe(first[fragment]);
    expect(Object.keys(world.tables())).toHaveLength(1);
  });
});

describe("the set of exports", () => {
  test("without exports the status is exactly {progress={}}, and trimming need not wait", async () => {
    const world = new ExportWorld();
    world.configs = {};
    await world.run(2);
    expect(world.agent.status()).toEqual({ progress: {} });
    expect(world.agent.exports.progress()).toEqual({ kind: "none" });
  });

  test("[queue-agent 120] [queue-agent 121] two exports with one directory: all stop, one alert", async () => {
    const world = new ExportWorld();
    world.configs = { left: {}, right: {} };
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    expect(world.tables()).toEqual({});
    expect(world.agent.alerts().map(({ kind, error }) => [kind.category, errorTree(error)])).toEqual([
      [
        "queue_agent_queue_controller_static_export_misconfiguration",
        {
          message: "Static export config check failed",
          inner: [
            {
              message: expect.stringContaining(`Duplicate directory in config (Value: ${exportDirectory})`),
              inner: [],
            },
          ],
        },
      ],
    ]);
    expect(world.agent.status()).toMatchObject({ error: { message: "Incorrect queue exports" } });
    world.configs = { left: {} };
    await world.run(12);
    expect(world.agent.alerts()).toEqual([]);
    expect(world.tables()).toEqual({ "10-10": 1 });
  });

  test("on the control object of a replicated queue exports are refused", () => {
    const world = new ExportWorld();
    const row = { ...queueRow({ exports: new Map() }), objectType: "replicated_table" };
    const configured = queueRow({ exports: new Map([["default", { ...defaults }]]) });
    world.agent.exports.update({ ...configured, objectType: row.objectType });
    expect(world.agent.alerts().map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^Attribute "static_export_config" can only be set on replicas, not /),
    ]);
  });

  test("a period below the flush period is a warning with both figures and the attribute to set", async () => {
    const world = new ExportWorld();
    await world.run(12);
    expect(world.agent.status()).toMatchObject({
      state: {
        default: {
          warnings: [
            expect.stringMatching(
              /every 900000 ms, and "export_period" is 10000 ms: set "dynamic_store_auto_flush_period" of the queue to at most 10000/,
            ),
          ],
          next_run_time: "2025-01-23T14:00:20.010000Z",
          last_success_time: expect.stringMatching(/^2025-01-23T14:00:10/),
          pending_table_count: 0n,
        },
      },
    });
    world.queue.attributes = new Map([["dynamic_store_auto_flush_period", 5_000n]]);
    await world.run(10);
    expect(world.agent.status()).toMatchObject({ state: { default: { warnings: [] } } });
  });

  test("[queue-agent 114] tasks of all exports of an instance share one limit", async () => {
    for (const limit of [5, 20]) {
      const world = new ExportWorld({ implementation: "new" });
      world.agent.context.setExportRateLimit(limit);
      world.agent.context.configureExporter({ maxExportedTableCountPerTask: 1 });
      const configs: Record<string, { exportDirectory: string }> = {};
      world.configs = {};
      for (let portion = 0; portion < 5; portion++) {
        world.queue.pushFlushed(0, 1);
        await world.run(10);
      }
      for (let index = 0; index < 20; index++) {
        configs[`export-${index}`] = { exportDirectory: `//tmp/many/${index}` };
        world.cluster.createDirectory(`//tmp/many/${index}`, world.queue.id);
      }
      world.configs = configs;
      const startSeconds = world.seconds;
      for (let second = 0; second < 60 && world.cluster.tables.size < 100; second++) {
        await world.run(1);
      }
      const expected = 100 / limit;
      expect(world.seconds - startSeconds).toBeGreaterThanOrEqual(expected * 0.5);
      expect(world.seconds - startSeconds).toBeLessThanOrEqual(expected * 1.5);
    }
  });

  const defaults = {
    exportDirectory,
    exportPeriodSeconds: 10,
    exportTtlMs: 0,
    outputTableNamePattern: "%UNIX_TS",
    useUpperBoundForTableNames: false,
    maxTableCount: null,
    maxDataWeight: null,
  };
});
