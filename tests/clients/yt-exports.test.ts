/**
 * The chapter on exports of the Queue API document, line by line with the real `yt` and the agent that `qyt up`
 * starts. Its periods of minutes are seconds here, and the queues are flushed when the test says so.
 */
import { isList, isMap, type YsonValue } from "@qyt/base";
import { parseYson, parseYsonList } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ClustersForYt, hasEnvironment, soon } from "./real-yt.ts";

const schema =
  '[{name=data;type=string};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';

describe.skipIf(!hasEnvironment("full"))("the document's chapter on exports", { timeout: 240_000 }, () => {
  let clusters: ClustersForYt;
  beforeAll(async () => {
    clusters = await ClustersForYt.start(["pythia"]);
    clusters.prelude = "set -eu; export YT_PROXY=pythia";
  });
  afterAll(() => clusters?.stop());

  /** What the lines print. */
  async function yt(lines: string): Promise<string> {
    const { stdout, stderr, exit } = await clusters.bash("full", lines);
    expect({ lines, exit, stderr }).toEqual({ lines, exit: 0, stderr: "" });
    return stdout.trim();
  }

  /** A queue, and a directory for each of its exports; prints the queue's id. */
  function prepare(queue: string, directories: readonly string[], tabletCount = 1): Promise<string> {
    return yt(`
      yt create table ${queue} --attributes '{dynamic=true;tablet_count=${tabletCount};schema=${schema}}' > /dev/null
      yt mount-table ${queue} --sync
      ${directories.map((directory) => `yt create map_node ${directory} > /dev/null`).join("\n")}
      yt get ${queue}/@id`);
  }

  const flush = (queue: string): Promise<string> =>
    yt(`yt freeze-table ${queue} --sync; yt unfreeze-table ${queue} --sync`);

  const get = async (path: string): Promise<YsonValue> => parseYson(await yt(`yt get '${path}'`));

  const idsOf = async (path: string): Promise<string[]> => strings(await get(`${path}/@chunk_ids`));

  /** Names of the tables, oldest first. */
  const tables = async (directory: string): Promise<string[]> =>
    (await yt(`yt list ${directory}`))
      .split(/\s+/)
      .filter((name) => name !== "")
      .sort();

  async function rowsOf(table: string): Promise<unknown[]> {
    const text = await yt(`yt read-table ${table} --format '<format=text>yson'`);
    return parseYsonList(Buffer.from(text)).map((row) => (isMap(row) ? row.get("data") : undefined));
  }

  /** The first table of a directory, as soon as there is one. */
  const firstTable = (directory: string): Promise<string> =>
    soon(async () => {
      const [name] = await tables(directory);
      expect(name).toBeDefined();
      return `${directory}/${name}`;
    });

  const alertsOf = (queue: string): Promise<YsonValue> => get(`${queue}/@queue_status/alerts`);

  it("[tables 178] exports to the two directories of the document, table by table", async () => {
    const directories = ["//tmp/path/export/dir", "//tmp/path/another/export/dir"];
    const queue = "//tmp/some-queue";
    await yt(
      `yt create map_node //tmp/path/export -r > /dev/null; yt create map_node //tmp/path/another/export -r > /dev/null`,
    );
    const id = await prepare(queue, directories, 3);
    expect(id).toMatch(/^"[0-9a-f]+(-[0-9a-f]+){3}"$/);
    for (const directory of directories) {
      await yt(`yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${id}}'`);
    }
    await yt(`yt set ${queue}/@static_export_config '{
    default={
        export_period=3000;
        export_directory="//tmp/path/export/dir";
    };
    another_export={
        export_period=1000;
        export_directory="//tmp/path/another/export/dir";
    };
}'`);
    await yt(
      `echo '{data=c;"$tablet_index"=2};{data=a;"$tablet_index"=0};{data=b;"$tablet_index"=1};{data=d;"$tablet_index"=2}' | yt insert-rows ${queue} --format yson`,
    );
    await flush(queue);
    const chunks = await idsOf(queue);
    expect(chunks).toHaveLength(3);
    for (const [index, directory] of directories.entries()) {
      const first = await firstTable(directory);
      const period = index === 0 ? 3 : 1;
      const [, lower = "", shown] = /\/(\d+)-(\d+)$/.exec(first) ?? [];
      expect([Number(lower) % period, shown]).toEqual([0, String(period)]);
      expect(await rowsOf(first)).toEqual(["a", "b", "c", "d"]);
      expect(await idsOf(first)).toEqual(chunks);
    }

    await yt(`echo '{data=e;"$tablet_index"=0}' | yt insert-rows ${queue} --format yson`);
    await flush(queue);
    for (const directory of directories) {
      const names = await soon(async () => {
        const found = await tables(directory);
        expect(found).toHaveLength(2);
        return found;
      });
      expect(await rowsOf(`${directory}/${names[1]}`)).toEqual(["e"]);
    }
    expect(await alertsOf(queue)).toEqual(new Map());
  });

  it("[tables 179] makes no table of rows that are not flushed, and alert 3035 where the id is another", async () => {
    const [queue, directory] = ["//tmp/wary-queue", "//tmp/wary"];
    const id = await prepare(queue, [directory]);
    await yt(`
      yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${id}}'
      yt set ${queue}/@static_export_config '{default={export_period=1000;export_directory="${directory}"}}'
      echo '{data=kept}' | yt insert-rows ${queue} --format yson`);
    const success = `${queue}/@queue_status/exports/progress/default/last_successful_export_iteration_instant`;
    const before = await soon(() => get(success));
    await soon(async () => expect(await get(success)).not.toEqual(before));
    expect(await tables(directory)).toEqual([]);

    await yt(`yt set ${directory}/@queue_static_export_destination '{originating_queue_id="1-2-3-4"}'`);
    await flush(queue);
    const alerts = await soon(async () => {
      const found = await alertsOf(queue);
      expect(isMap(found) ? [...found.keys()] : []).toEqual([
        "queue_agent_queue_controller_static_export_failed",
      ]);
      return found;
    });
    const alert = isMap(alerts) ? alerts.get("queue_agent_queue_controller_static_export_failed") : null;
    expect(isMap(alert ?? null) ? Object(alert).get("code") : undefined).toBe(3035n);
    expect(await yt(`yt get ${queue}/@queue_status/alerts`)).toContain(
      `configured id 1-2-3-4 does not match queue id ${id.replaceAll('"', "")}`,
    );
    expect(await tables(directory)).toEqual([]);

    // Set right, what was held back comes, and the alert goes.
    await yt(`yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${id}}'`);
    expect(await rowsOf(await firstTable(directory))).toEqual(["kept"]);
    await soon(async () => expect(await alertsOf(queue)).toEqual(new Map()));
  });

  it("goes on with another queue in the directory, its progress removed as the document says", async () => {
    const [first, second, directory] = ["//tmp/first-queue", "//tmp/second-queue", "//tmp/taken-over"];
    const config = `{default={export_period=1000;export_directory="${directory}"}}`;
    const firstId = await prepare(first, [directory]);
    await yt(`
      echo '{data=old}' | yt insert-rows ${first} --format yson
      yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${firstId}}'
      yt set ${first}/@static_export_config '${config}'`);
    await flush(first);
    await firstTable(directory);
    await yt(`yt remove ${first}/@static_export_config`);

    const secondId = await prepare(second, []);
    await yt(`
      echo '{data=new}' | yt insert-rows ${second} --format yson
      yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${secondId}}'
      yt remove ${directory}/@queue_static_export_progress
      yt set ${second}/@static_export_config '${config}'`);
    await flush(second);
    const names = await soon(async () => {
      const found = await tables(directory);
      expect(found).toHaveLength(2);
      return found;
    });
    expect(await rowsOf(`${directory}/${names[1]}`)).toEqual(["new"]);
  });

  it("[tables 181] names tables by the upper bound, in the patterns of the document", async () => {
    const [queue, directory] = ["//tmp/named-queue", "//tmp/named"];
    const id = await prepare(queue, [directory]);
    await yt(`
      echo '{data=x}' | yt insert-rows ${queue} --format yson
      yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${id}}'
      yt set ${queue}/@static_export_config '{default={export_period=2000;export_directory="${directory}";output_table_name_pattern="%UNIX_TS %ISO %PERIOD %Y.%m.%d %H-%M-%S";use_upper_bound_for_table_names=%true}}'`);
    await flush(queue);
    const [name = ""] = await soon(async () => {
      const found = (await yt(`yt list ${directory}`)).split("\n");
      expect(found).not.toEqual([""]);
      return found;
    });
    const bound = Number(name.split(" ")[0]);
    const iso = new Date(bound * 1_000).toISOString().replace(".000Z", "Z");
    const [day, time] = [iso.slice(0, 10).replaceAll("-", "."), iso.slice(11, 19).replaceAll(":", "-")];
    expect(name).toBe(`${bound} ${iso} 2 ${day} ${time}`);
    const [row] = parseYsonList(
      Buffer.from(await yt(`yt read-table '${directory}/${name}' --format '<format=text>yson'`)),
    );
    const timestamp = isMap(row ?? null) ? Object(row).get("$timestamp") : undefined;
    expect(Number(Object(timestamp).value >> 30n)).toBeLessThan(bound);
    expect(bound % 2).toBe(0);
  });

  it("exports a million rows without copying one", async () => {
    const [queue, directory] = ["//tmp/large-queue", "//tmp/large"];
    const id = await prepare(queue, [directory]);
    await yt(`
      yes '{data=x};' | head -n 100000 > rows
      for portion in {1..10}; do yt insert-rows ${queue} --format yson < rows; done
      yt set ${directory}/@queue_static_export_destination '{originating_queue_id=${id}}'
      yt set ${queue}/@static_export_config '{default={export_period=1000;export_directory="${directory}"}}'`);
    await flush(queue);
    const table = await firstTable(directory);
    expect(await get(`${table}/@row_count`)).toBe(1_000_000n);
    expect(await idsOf(table)).toEqual(await idsOf(queue));
    // Trimmed away in the queue, they are still in the table.
    await yt(`yt set ${queue}/@auto_trim_config '{enable=true}'`);
    await soon(async () => expect(await get(`${queue}/@queue_partitions/0/available_row_count`)).toBe(0n));
    expect(
      parseYsonList(Buffer.from(await yt(`yt read-table '${table}[#999999:]' --format '<format=text>yson'`))),
    ).toHaveLength(1);
  });
});

function strings(value: YsonValue): string[] {
  return isList(value) ? value.map(String) : [];
}
