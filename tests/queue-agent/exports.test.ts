/** Exports of real queues to static tables by an agent with fast passes. */
import { YtError } from "@qyt/base";
import type { QueueAgent } from "@qyt/queue-agent";
import { messagesOf } from "@qyt/testing";
import { errorFromYson, fromYson } from "@qyt/yson";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { AgentWorld, dataOf, eventually, failureOf, fastDynamicConfig } from "./agent-fixture.ts";

let world: AgentWorld;
let agent: QueueAgent;
let count = 0;
let queue: ObjectReference;
let queueId: string;
let directory: string;

/** Failed tasks are tried again soon. */
function config(exporter: string): string {
  return fastDynamicConfig.replace(
    "controller={",
    `controller={queue_exporter={pass_period=100;retry_backoff={min_backoff=200;max_backoff=500};${exporter}};`,
  );
}

beforeAll(async () => {
  world = await AgentWorld.start();
  agent = await world.startAgent({ dynamicConfig: config("") });
});
afterAll(() => world?.stop());
beforeEach(async () => {
  queue = { cluster: "primary", path: `//tmp/queue-${++count}` };
  directory = `${queue.path}-exports`;
  queueId = await world.createQueue(queue, { tabletCount: 2 });
  await createDirectory(directory);
});

async function createDirectory(path: string, originatingQueueId = queueId): Promise<void> {
  await world.client().create("map_node", path, { recursive: true, ignoreExisting: true });
  await world.set(
    `${path}/@queue_static_export_destination`,
    `{originating_queue_id="${originatingQueueId}"}`,
  );
}

async function setImplementation(implementation: "old" | "new", more = ""): Promise<void> {
  await world.set("//sys/queue_agents/config", config(`implementation=${implementation};${more}`));
  await eventually(async () => {
    const effective = fromYson(await world.orchid(agent, "/dynamic_config_manager/effective_config"));
    expect(Object(effective).queue_agent.controller.queue_exporter.implementation).toBe(implementation);
  });
}

/** Sets `@static_export_config`; the directory and a period of a second are given unless named. */
async function configure(exports: Readonly<Record<string, string>>): Promise<void> {
  const entries = Object.entries(exports).map(([name, options]) => {
    const path = options.includes("export_directory") ? "" : `export_directory="${directory}";`;
    const period = options.includes("export_period") ? "" : "export_period=1000;";
    return `"${name}"={${path}${period}${options}}`;
  });
  await world.set(`${queue.path}/@static_export_config`, `{${entries.join(";")}}`);
}

async function pushFlushed(texts: readonly string[], tablet = 0): Promise<void> {
  await world.push(queue, texts, tablet);
  await world.flush(queue);
}

async function tables(path = directory): Promise<string[]> {
  const children = fromYson(await world.client().list(path));
  return (Array.isArray(children) ? children : [])
    .map(String)
    .filter((name) => name !== "queue")
    .sort();
}

/** The `data` of all exported rows, in order of tables. */
async function exported(path = directory): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const name of await tables(path)) {
    rows.push(...(await dataOf(world.client(), `${path}/${name}`)));
  }
  return rows;
}

function expectExported(texts: readonly string[], path = directory): Promise<void> {
  return eventually(async () => expect(await exported(path)).toEqual(texts), 20_000);
}

async function expectAlert(category: string, text: RegExp): Promise<YtError> {
  return eventually(async () => {
    const error = (await world.alerts(queue)).get(category) ?? new YtError("no alert");
    expect(messagesOf(error).join("; ")).toMatch(text);
    return error;
  });
}

const failed = "queue_agent_queue_controller_static_export_failed";
const misconfigured = "queue_agent_queue_controller_static_export_misconfiguration";
const trimFailed = "queue_agent_queue_controller_trim_failed";

describe.each(["old", "new"] as const)("both implementations: %s", (implementation) => {
  beforeAll(() => setImplementation(implementation));

  test("[queue-agent 90] [queue-agent 92] flushed rows by partition, with the queue's schema and its own chunks", async () => {
    await world.push(queue, ["right"], 1);
    await pushFlushed(["left"], 0);
    await configure({ default: "" });
    await expectExported(["left", "right"]);
    const [name = ""] = await tables();
    const table = `${directory}/${name}`;
    expect(await world.get(`${table}/@dynamic`)).toBe(false);
    expect(await world.get(`${table}/@schema`)).toEqual(await world.get(`${queue.path}/@schema`));
    expect(await world.get(`${table}/@chunk_ids`)).toEqual(await world.get(`${queue.path}/@chunk_ids`));
    await world.push(queue, ["not flushed"]);
    const before = await world.get(`${directory}/@queue_static_export_progress`);
    await eventually(async () =>
      expect(await world.get(`${directory}/@queue_static_export_progress`)).not.toEqual(before),
    );
    expect(await exported()).toEqual(["left", "right"]);
    await world.flush(queue);
    await expectExported(["left", "right", "not flushed"]);
    expect((await world.alerts(queue)).size).toBe(0);
  });

  test("[queue-agent 93] into the directory that contains the queue", async () => {
    const folder = `${queue.path}-folder`;
    queue = { cluster: "primary", path: `${folder}/queue` };
    queueId = await world.createQueue(queue);
    directory = folder;
    await createDirectory(folder);
    await pushFlushed(["one"]);
    await configure({ default: "" });
    await expectExported(["one"]);
  });

  test("[queue-agent 94] two exports have all rows each; a removed one alone stops", async () => {
    await createDirectory(`${directory}-other`);
    await pushFlushed(["one"]);
    const other = `export_directory="${directory}-other";export_period=2000`;
    await configure({ default: "", other });
    await expectExported(["one"]);
    await expectExported(["one"], `${directory}-other`);
    await configure({ other });
    await pushFlushed(["two"]);
    await expectExported(["one", "two"], `${directory}-other`);
    expect(await exported()).toEqual(["one"]);
  });

  test("[queue-agent 97] a directory that is for another queue", async () => {
    await createDirectory(directory, "1-2-3-4");
    await pushFlushed(["one"]);
    await configure({ default: "" });
    const error = await expectAlert(failed, /configured id 1-2-3-4 does not match queue id/);
    expect(error.innerErrors.map(({ attributes }) => attributes.get("export_name"))).toEqual(["default"]);
    expect(await tables()).toEqual([]);
    await createDirectory(directory);
    await expectExported(["one"]);
    await eventually(async () => expect((await world.alerts(queue)).size).toBe(0));
  });

  test("[queue-agent 98] names by a pattern, with the upper bound", async () => {
    const startMs = world.clock.now();
    await pushFlushed(["one"]);
    await configure({
      default:
        'use_upper_bound_for_table_names=%true;output_table_name_pattern="%ISO-period-is-%PERIOD-fmt-%Y.%m.%d.%H.%M.%S"',
    });
    await expectExported(["one"]);
    const [name = ""] = await tables();
    const [, iso = "", formatted = ""] = /^(.*Z)-period-is-1-fmt-(.*)$/.exec(name) ?? [];
    expect(iso.replace(/[-:T]/g, ".").replace("Z", "")).toBe(formatted);
    expect(Date.parse(iso)).toBeGreaterThan(startMs - 1_000);
    expect(Date.parse(iso)).toBeLessThanOrEqual(world.clock.now());
  });

  test("[queue-agent 100] export_ttl", async () => {
    await pushFlushed(["one"]);
    await configure({ default: "export_ttl=3000" });
    await eventually(async () => expect(await tables()).toHaveLength(1));
    await eventually(async () => expect(await tables()).toEqual([]));
  });

  test("[queue-agent 104] stored progress without queue_object_id is gone on with", async () => {
    await pushFlushed(["one"]);
    await configure({ default: "" });
    await expectExported(["one"]);
    await world.client().remove(`${queue.path}/@static_export_config`);
    await eventually(async () => expect(await exportsStatus()).toEqual({ progress: {} }));
    await world.client().remove(`${directory}/@queue_static_export_progress/queue_object_id`);
    await pushFlushed(["two"]);
    await configure({ default: "" });
    await expectExported(["one", "two"]);
    expect(fromYson(await world.get(`${directory}/@queue_static_export_progress/queue_object_id`))).toBe(
      queueId,
    );
  });

  test("[queue-agent 105] a foreign lock of the exporter's key, then none", async () => {
    const transactionId = await world.client().startTransaction();
    await world.client().execute("lock", {
      path: directory,
      mode: "shared",
      attribute_key: "queue_static_exporter",
      transaction_id: transactionId,
    });
    await pushFlushed(["one"]);
    await configure({ default: "" });
    await expectAlert(failed, /Cannot take lock for attribute "queue_static_exporter" of node/);
    expect(await tables()).toEqual([]);
    await world.client().abortTransaction(transactionId);
    await expectExported(["one"]);
    await eventually(async () => expect((await world.alerts(queue)).size).toBe(0));
  });

  test("a name that is taken: an alert with pattern and table, and no row is lost", async () => {
    await world.client().create("table", `${directory}/same`);
    await pushFlushed(["one"]);
    await configure({ default: 'output_table_name_pattern="same"' });
    const error = await expectAlert(
      failed,
      /Table .*\/same already exists: output table name pattern "same"/,
    );
    expect(error.has("AlreadyExists")).toBe(true);
    await configure({ default: "" });
    await expectExported(["one"]);
  });

  test("a name with a slash: an alert, also where a link of the directory leads to another one", async () => {
    const elsewhere = `${directory}-elsewhere`;
    await world.client().create("map_node", elsewhere);
    await world.client().execute("link", { target_path: elsewhere, link_path: `${directory}/link` });
    await pushFlushed(["one"]);
    await configure({ default: 'output_table_name_pattern="link/%UNIX_TS"' });
    await expectAlert(failed, /Output table name pattern "link\/%UNIX_TS" gives .* no name of a table/);
    expect(await world.client().list(elsewhere)).toEqual([]);
    await world.client().remove(`${directory}/link`);
    await configure({ default: "" });
    await expectExported(["one"]);
  });

  test("brakes: the directory is full", async () => {
    await world.client().create("table", `${directory}/0`);
    await pushFlushed(["one"]);
    await configure({ default: "max_table_count=1" });
    await expectAlert(failed, /Export is paused: directory .* holds 1 tables and "max_table_count" is 1/);
    await configure({ default: "max_table_count=2" });
    await expectExported(["one"]);
  });
});

async function exportsStatus(): Promise<unknown> {
  return fromYson(await world.get(`${queue.path}/@queue_status/exports`));
}

test("[queue-agent 109] the implementation is switched at run time", async () => {
  await configure({ default: "" });
  for (const [index, implementation] of (["old", "new", "old"] as const).entries()) {
    await setImplementation(implementation);
    await pushFlushed([String(index)]);
    await expectExported(Array.from({ length: index + 1 }, (_, at) => String(at)));
    const type = await world.orchid(
      agent,
      `/queue_agent/queues/primary:${queue.path.replaceAll("/", "\\/")}/exporters/default/@queue_exporter_implementation_type`,
    );
    expect(type).toBe(implementation);
  }
});

describe("exports and trimming", () => {
  beforeAll(() => setImplementation("new"));

  test("[queue-agent 118] [queue-agent 119] rows go when they are exported and read", async () => {
    await world.push(queue, ["a", "b"], 0);
    await pushFlushed(["c"], 1);
    await world.set(`${queue.path}/@auto_trim_config`, "{enable=%true}");
    await expectAlert(trimFailed, /no vital consumers and no configured static table exports/);
    await configure({ default: "" });
    await expectExported(["a", "b", "c"]);
    await eventually(async () => expect(await world.trimmed(queue)).toEqual([2n, 1n]));
    const consumer = { cluster: "primary", path: `${queue.path}-consumer` };
    await world.createConsumer(consumer);
    await world.register(queue, consumer, { vital: true });
    await world.advance(consumer, queue, 0, 3n);
    await pushFlushed(["d", "e"], 0);
    await expectExported(["a", "b", "c", "d", "e"]);
    await eventually(async () => expect(await world.trimmed(queue)).toEqual([3n, 1n]));
    // What has been exported stays readable when the queue is without it.
    expect(await exported()).toEqual(["a", "b", "c", "d", "e"]);
  });

  test("[queue-agent 120] [queue-agent 121] two exports with one directory", async () => {
    await configure({ left: "", right: "" });
    await expectAlert(misconfigured, /Static export config check failed; Duplicate directory in config/);
    expect([...(await world.alerts(queue)).keys()]).toEqual([misconfigured]);
    await world.set(`${queue.path}/@auto_trim_config`, "{enable=%true}");
    await expectAlert(trimFailed, /Incorrect queue exports/);
    expect([...(await world.alerts(queue)).keys()].sort()).toEqual([misconfigured, trimFailed]);
    expect(await exportsStatus()).toMatchObject({ error: { message: "Incorrect queue exports" } });
  });

  test("[queue-agent 86] a banned queue exports when it is not banned any more", async () => {
    await world.set(`${queue.path}/@queue_agent_banned`, "%true");
    await configure({ default: "" });
    await pushFlushed(["one"]);
    await eventually(async () =>
      expect(JSON.stringify(await exportsStatus(), replaceBigints)).toContain(
        "Exports are disabled, since this queue is banned",
      ),
    );
    expect(await tables()).toEqual([]);
    await world.set(`${queue.path}/@queue_agent_banned`, "%false");
    await expectExported(["one"]);
  });
});

describe("status", () => {
  test("without exports it is exactly {progress={}}", async () => {
    await eventually(async () => expect(await exportsStatus()).toEqual({ progress: {} }));
  });

  test("progress, last success, next run, and a warning about rare flushes", async () => {
    await pushFlushed(["one"]);
    await configure({ default: "" });
    await expectExported(["one"]);
    await eventually(async () =>
      expect(await exportsStatus()).toMatchObject({
        progress: {
          default: { queue_object_id: queueId, tablets: { "0": { row_count: 1n, chunk_count: 1n } } },
        },
        state: {
          default: {
            pending_table_count: 0n,
            pending_row_count: 0n,
            paused: false,
            next_run_time: expect.stringMatching(/Z$/),
            last_success_time: expect.stringMatching(/^20/),
            warnings: [
              expect.stringMatching(
                /900000 ms, and "export_period" is 1000 ms: set "dynamic_store_auto_flush_period"/,
              ),
            ],
          },
        },
      }),
    );
  });

  test("a wrong value is taken by set, and the status says what is wrong", async () => {
    await configure({ default: "export_period=1500" });
    await eventually(async () => {
      const error = errorFromYson(await world.get(`${queue.path}/@queue_status/error`));
      expect(messagesOf(error).join()).toMatch(
        /The value of "export_period" must be a multiple of 1000 \(1 second\)/,
      );
    });
  });

  test("the queue of an export that is gone is an error, and nothing is left behind", async () => {
    await configure({ default: "" });
    await eventually(async () =>
      expect(Object.keys(Object(await exportsStatus()).progress)).toEqual(["default"]),
    );
    await world.client().remove(queue.path);
    await eventually(async () =>
      expect((await failureOf(world.get(`${queue.path}/@queue_status`))).has("ResolveError")).toBe(true),
    );
    await eventually(async () => expect(fromYson(await world.get(`${directory}/@locks`))).toEqual([]));
  });
});

function replaceBigints(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
