/**
 * Kills the agent and the server, real processes, while rows are written, flushed, exported by two exports and
 * trimmed behind them: every row is in exactly one table of each export, in the order it has in its tablet.
 * `QYT_KILLS` says how many kills (default 30), `QYT_TEST_SEED` repeats a run's choices.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { YsonValue } from "@qyt/base";
import { createClient } from "@qyt/client";
import {
  between,
  freePort,
  ProgramProcess,
  pick,
  startProcess,
  temporaryDirectory,
  testRandom,
} from "@qyt/testing";
import { fromYson, parseYson, writeYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { eventually, fastDynamicConfig, queueSchema } from "./agent-fixture.ts";

const kills = Number(process.env.QYT_KILLS ?? 30);
const queue = "//tmp/queue";
const tabletCount = 2;
const directories = ["//tmp/fast", "//tmp/slow"];

function agentConfig(implementation: "old" | "new"): string {
  const exporter = `{implementation=${implementation};pass_period=100;retry_backoff={min_backoff=200;max_backoff=1000}}`;
  const dynamic = fastDynamicConfig.replace("controller={", `controller={queue_exporter=${exporter};`);
  return `{membership_timeout=1000;dynamic_config=${dynamic}}`;
}

it(`exports each row once over ${kills} kills`, { timeout: 120_000 + kills * 15_000 }, async () => {
  const random = testRandom("export kills");
  const folder = await temporaryDirectory("export-kills");
  const address = `127.0.0.1:${await freePort()}`;
  const serverArgs = [
    ...["--data-dir", join(folder.path, "data"), "--cluster", `primary=${address}`],
    "--no-queue-agent",
  ];
  const client = createClient({ proxy: address });
  const set = (path: string, yson: string): Promise<void> =>
    client.set(path, writeYson(parseYson(yson), "binary"));

  const startAgent = async (): Promise<ProgramProcess> => {
    const file = join(folder.path, "agent.yson");
    await writeFile(file, agentConfig(pick(random, ["old", "new"])));
    const agent = ProgramProcess.spawn({ args: ["queue-agent", "--config", file, "--proxy", address] });
    await agent.waitForOutput("qyt queue-agent is ready");
    return agent;
  };

  /** The `data` of all exported rows by table, in order of tables. */
  const exported = async (directory: string): Promise<number[]> => {
    const children = fromYson(await client.list(directory));
    const rows: number[] = [];
    for (const name of (Array.isArray(children) ? children : []).map(String).sort()) {
      const parts: Buffer[] = [];
      const parameters = { path: `${directory}/${name}`, output_format: "json" };
      for await (const part of client.streamRows("read_table", parameters)) {
        parts.push(part);
      }
      const lines = Buffer.concat(parts).toString().split("\n");
      rows.push(...lines.filter((line) => line !== "").map((line) => Number(Object(JSON.parse(line)).data)));
    }
    return rows;
  };

  let server = await startProcess({ args: serverArgs });
  let agent = await startAgent();
  try {
    const attributes = new Map<string, YsonValue>([
      ["dynamic", true],
      ["schema", queueSchema],
      ["tablet_count", BigInt(tabletCount)],
      ["dynamic_store_auto_flush_period", 200n],
      ["dynamic_store_flush_period_splay", 0n],
    ]);
    const id = await client.create("table", queue, { attributes });
    await client.mountTable(queue);
    for (const directory of directories) {
      await client.create("map_node", directory);
      await set(`${directory}/@queue_static_export_destination`, `{originating_queue_id="${id}"}`);
    }
    await set(
      `${queue}/@static_export_config`,
      '{fast={export_directory="//tmp/fast";export_period=1000};slow={export_directory="//tmp/slow";export_period=3000}}',
    );
    await set(`${queue}/@auto_trim_config`, "{enable=%true}");

    const written: number[][] = Array.from({ length: tabletCount }, () => []);
    let next = 0;
    for (let kill = 0; kill < kills; kill++) {
      for (const [tablet, numbers] of written.entries()) {
        const count = between(random, 1, 5);
        const fresh = Array.from({ length: count }, (_, index) => next + index);
        next += count;
        // Acknowledged, so they are there for good: nothing is killed while they are written.
        await client.insertRows(
          queue,
          fresh.map((data) => ({ $tablet_index: BigInt(tablet), data: String(data) })),
        );
        numbers.push(...fresh);
      }
      await new Promise((resolve) => setTimeout(resolve, between(random, 0, 1_500)));
      if (kill % 2 === 0) {
        await agent.kill();
        agent = await startAgent();
      } else {
        await server.kill();
        server = await startProcess({ args: serverArgs });
      }
    }
    for (const directory of directories) {
      const rows = await eventually(async () => {
        const found = await exported(directory);
        expect(found.length).toBeGreaterThanOrEqual(next);
        return found;
      }, 90_000);
      for (const numbers of written) {
        const mine = new Set(numbers);
        expect(rows.filter((row) => mine.has(row))).toEqual(numbers);
      }
      expect(rows).toHaveLength(next);
    }
    // Exported rows go from the queue, and only they.
    await eventually(async () => {
      const counts = fromYson(await client.get(`${queue}/@tablets`));
      expect(Array.isArray(counts) ? counts.map((tablet) => Object(tablet).trimmed_row_count) : []).toEqual(
        written.map((numbers) => BigInt(numbers.length)),
      );
    }, 30_000);
  } catch (thrown) {
    throw new Error(`${String(thrown)}\n--- agent:\n${agent.output}\n--- server:\n${server.output}`, {
      cause: thrown,
    });
  } finally {
    await agent.kill();
    await server.kill();
    await client.close();
    await folder.remove();
  }
});
