/** What the tests that kill agents and their server share: a queue with two exports, its rows there, and the agents. */
import type { Random, YsonValue } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { pick } from "@qyt/testing";
import { fromYson, parseYson, writeYson } from "@qyt/yson";
import { dataOf, fastDynamicConfig, queueSchema } from "./agent-fixture.ts";

export const kills = Number(process.env.QYT_KILLS ?? 30);
export const queue = "//tmp/queue";
export const tablets = [0, 1];
export const exports = { fast: "//tmp/fast", slow: "//tmp/slow" };

/** The file of a new agent, which goes on from what one of the other kind of exports has stored. */
export function agentConfig(random: Random): string {
  const implementation = pick(random, ["old", "new"]);
  const exporter = `{implementation=${implementation};pass_period=100;retry_backoff={min_backoff=200;max_backoff=1000}}`;
  const dynamic = fastDynamicConfig.replace("controller={", `controller={queue_exporter=${exporter};`);
  return `{membership_timeout=1000;dynamic_config=${dynamic}}`;
}

/** The queue, mounted and flushed often, and its exports; it is not trimmed yet. */
export async function createExportedQueue(client: YtClient): Promise<void> {
  const attributes = new Map<string, YsonValue>([
    ["dynamic", true],
    ["schema", queueSchema],
    ["tablet_count", BigInt(tablets.length)],
    ["dynamic_store_auto_flush_period", 200n],
    ["dynamic_store_flush_period_splay", 0n],
  ]);
  const id = await client.create("table", queue, { attributes });
  await client.mountTable(queue);
  for (const directory of Object.values(exports)) {
    await client.create("map_node", directory);
    await set(client, `${directory}/@queue_static_export_destination`, `{originating_queue_id="${id}"}`);
  }
  await set(
    client,
    `${queue}/@static_export_config`,
    `{fast={export_directory="${exports.fast}";export_period=1000};slow={export_directory="${exports.slow}";export_period=3000}}`,
  );
}

export function trimAutomatically(client: YtClient): Promise<void> {
  return set(client, `${queue}/@auto_trim_config`, "{enable=%true}");
}

/** The `data` of all rows in the tables of a directory, in the order of their names. */
export async function exportedData(client: YtClient, directory: string): Promise<string[]> {
  const names = fromYson(await client.list(directory));
  const rows: string[] = [];
  for (const name of (Array.isArray(names) ? names : []).map(String).sort()) {
    rows.push(...(await dataOf(client, `${directory}/${name}`)).map(String));
  }
  return rows;
}

function set(client: YtClient, path: string, yson: string): Promise<void> {
  return client.set(path, writeYson(parseYson(yson), "binary"));
}
