/** Exports by the new implementation: a table per period, retries with back-off, limits of a task. */
import { describe, expect, test } from "vitest";
import { type ExportAgent, ExportWorld, errorTree, exportDirectory } from "../testing/export-world.ts";

describe("new implementation", () => {
  const implementation = "new";

  test("[queue-agent 96] [queue-agent 106] a later export has a table for each earlier portion", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = {};
    for (let portion = 0; portion < 3; portion++) {
      world.queue.pushFlushed(0, portion + 1);
      await world.run(10);
    }
    world.configs = { default: {} };
    await world.run(5);
    expect(world.tables()).toEqual({ "0-10": 1, "10-10": 2, "20-10": 3 });
  });

  test("[queue-agent 101] rows older than the ttl: their table is gone at once, the progress has them", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = {};
    world.queue.pushFlushed(0, 1);
    await world.run(60);
    world.queue.pushFlushed(0, 2);
    await world.run(9);
    world.configs = { default: { exportTtlMs: 15_000 } };
    await world.run(4);
    expect(world.tables()).toEqual({ "60-10": 2 });
    expect(world.storedProgress()["tablets"]).toMatchObject({ "0": { row_count: 3n } });
  });

  test("[queue-agent 102] without new rows both instants move on, and are the same", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { exportPeriodSeconds: 2 } };
    await world.run(10);
    const first = world.storedProgress();
    await world.run(4);
    const second = world.storedProgress();
    expect(second["last_export_task_instant"]).not.toBe(first["last_export_task_instant"]);
    expect(second["last_export_task_instant"]).toBe(second["last_successful_export_task_instant"]);
    expect(world.tables()).toEqual({});
  });

  test("[queue-agent 107] rows flushed after their boundary go into the next table", async () => {
    const world = new ExportWorld({ implementation, tablets: 2 });
    world.queue.push(0, 1);
    world.queue.pushFlushed(1, 2);
    await world.run(12);
    expect(world.tables()).toEqual({ "0-10": 2 });
    world.queue.flush(0);
    await world.run(10);
    expect(world.tables()).toEqual({ "0-10": 2, "10-10": 1 });
  });

  test("[queue-agent 108] names that are taken: what could be made is kept, the rest follows", async () => {
    const world = new ExportWorld({ implementation });
    world.agent.context.configureExporter({
      retryBackoff: { minBackoffMs: 1_000, maxBackoffMs: 1_000, multiplier: 1, jitter: 0 },
    });
    world.configs = {};
    const start = world.clock.now() / 1_000;
    for (const portion of [0, 1, 2]) {
      world.queue.pushFlushed(0, 1);
      world.cluster.tables.set(`${exportDirectory}/${start + portion * 10}-10`, {
        attributes: new Map(),
        chunks: [],
        createdMs: 0,
      });
      await world.run(10);
    }
    world.configs = { default: {} };
    const remove = (portion: number) =>
      world.cluster.tables.delete(`${exportDirectory}/${start + portion * 10}-10`);
    await world.run(3);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual([]);
    expect(JSON.stringify(world.agent.alerts().map(({ error }) => errorTree(error)))).toMatch(
      /Queue export task part failed.*already exists/,
    );
    remove(0);
    await world.run(2);
    expect(world.tables()).toMatchObject({ "0-10": 1, "10-10": 0, "20-10": 0 });
    const progress = world.storedProgress();
    expect(progress["last_successful_export_task_instant"]).toBe("1970-01-01T00:00:00.000000Z");
    expect(progress["last_export_task_instant"]).not.toBe("1970-01-01T00:00:00.000000Z");
    // The user takes the first table away: it has been exported and does not come back.
    remove(0);
    remove(1);
    remove(2);
    await world.run(2);
    expect(world.tables()).toEqual({ "10-10": 1, "20-10": 1 });
    expect(world.agent.alerts()).toEqual([]);
  });

  test("[queue-agent 109] switched at run time, the export goes on from the stored progress", async () => {
    const world = new ExportWorld();
    for (const now of ["old", "new", "old", "new"] as const) {
      world.agent.context.configureExporter({ implementation: now });
      world.queue.pushFlushed(0, 1);
      await world.run(12);
      expect(JSON.stringify(typeOf(world.agent))).toContain(now);
    }
    await world.run(12);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1", "0:2", "0:3"]);
    expect(Object.values(world.tables())).toEqual([1, 1, 1, 1]);
  });

  test("[queue-agent 110] [queue-agent 111] failures are counted until one task is well", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { exportDirectory: "//tmp/absent" } };
    world.agent.context.configureExporter({
      retryBackoff: { minBackoffMs: 15_000, maxBackoffMs: 15_000, multiplier: 1, jitter: 0 },
    });
    await world.run(7);
    expect(world.agent.orchid("default")["retry_index"]).toBe(1n);
    await world.run(20);
    expect(world.agent.orchid("default")["retry_index"]).toBe(2n);
    world.cluster.createDirectory("//tmp/absent", world.queue.id);
    await world.run(20);
    expect(world.agent.orchid("default")["retry_index"]).toBe(0n);
  });

  test("[queue-agent 112] pauses between failures grow up to the maximum", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = { default: { exportDirectory: "//tmp/absent" } };
    world.agent.context.configureExporter({
      retryBackoff: { minBackoffMs: 3_000, maxBackoffMs: 12_000, multiplier: 2, jitter: 0 },
    });
    const starts: number[] = [];
    let known = 0n;
    for (let tenth = 0; tenth < 500; tenth++) {
      world.agent.pass(world);
      await world.clock.advance(100);
      const index = world.agent.orchid("default")["export_task_invocation_index"];
      if (typeof index === "bigint" && index !== known) {
        known = index;
        starts.push(Math.round(world.seconds));
      }
    }
    const pauses = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(pauses.slice(0, 4)).toEqual([3, 6, 12, 12]);
  });

  test("[queue-agent 113] a task makes so many tables at most, the next one goes on at once", async () => {
    const world = new ExportWorld({ implementation });
    world.configs = {};
    for (let portion = 0; portion < 4; portion++) {
      world.queue.pushFlushed(0, 1);
      await world.run(10);
    }
    world.agent.context.configureExporter({ maxExportedTableCountPerTask: 3, passPeriodMs: 2_000 });
    world.configs = { default: {} };
    await world.run(1);
    expect(Object.keys(world.tables())).toHaveLength(3);
    await world.run(2);
    expect(Object.keys(world.tables())).toHaveLength(4);
    expect(world.agent.orchid("default")["export_task_invocation_index"]).toBe(2n);
  });

  test("a wrong row count in the progress fails the export, unless the check is off", async () => {
    const world = new ExportWorld({ implementation });
    world.queue.pushFlushed(0, 2);
    await world.run(12);
    const path = `${exportDirectory}/@queue_static_export_progress`;
    const chunk = world.queue.tablet(0).chunks[0]?.id ?? "";
    world.cluster.attributes.set(
      path,
      new Map([
        [
          "tablets",
          new Map([
            [
              "0",
              new Map<string, string | bigint>([
                ["last_chunk", chunk],
                ["row_count", 1n],
              ]),
            ],
          ]),
        ],
      ]),
    );
    world.queue.pushFlushed(0, 1);
    await world.run(12);
    expect(JSON.stringify(world.agent.alerts().map(({ error }) => errorTree(error)))).toContain(
      "Mismatch between last chunk from tablet progress and row count from progress",
    );
    world.agent.context.configureExporter({ enableRowCountCheck: false });
    await world.run(60);
    expect(world.cluster.exportedRows(exportDirectory)).toEqual(["0:0", "0:1", "0:2"]);
  });

  function typeOf(agent: ExportAgent): unknown {
    const orchid = agent.exports.orchid();
    return orchid instanceof Map ? [...orchid.values()].map((one) => [...one.attributes.values()]) : [];
  }
});
