/** The requests of the web UI, replayed from the first page to the tabs of a queue with a real agent behind them. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { AgentWorld, eventually, reference } from "../queue-agent/agent-fixture.ts";
import {
  clusterRequests,
  navigation,
  queueDialogs,
  queueTabs,
  type RecordedCommand,
  recordedRoutes,
  systemRequests,
} from "./recorded-requests.ts";
import { type Replayed, replayCommand, replayRoute } from "./replay.ts";

const queue = reference("primary://tmp/q");
const consumer = reference("primary://tmp/c");

let world: AgentWorld;
let origin: string;
beforeAll(async () => {
  world = await AgentWorld.start();
  origin = `http://${world.address()}`;
  await world.startAgent();
  const client = world.client();
  await world.createQueue(queue, { tabletCount: 2 });
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true });
  await world.push(queue, ["one", "two"]);
  await world.push(queue, ["three"], 1);
  await world.advance(consumer, queue, 0, 1n);
  await client.create("map_node", "//tmp/папка");
  await client.create("map_node", "//tmp/папка/внутри");
  await client.execute("link", { target_path: "//tmp/папка", link_path: "//tmp/a-link" });
  const schema = [
    new Map([
      ["name", "key"],
      ["type", "int64"],
      ["sort_order", "ascending"],
    ]),
    new Map([
      ["name", "value"],
      ["type", "string"],
    ]),
  ];
  await client.create("table", "//tmp/t", {
    attributes: new Map<string, boolean | typeof schema>([
      ["dynamic", true],
      ["schema", schema],
    ]),
  });
  await world.mount("//tmp/t");
  await client.insertRows("//tmp/t", [
    { key: 1n, value: "first" },
    { key: 2n, value: "second" },
    { key: 3n, value: null },
  ]);
  await client.create("table", "//tmp/s");
  const written = await fetch(`${origin}/api/v3/write_table?path=//tmp/s`, {
    method: "PUT",
    headers: { "X-YT-Input-Format": '{"$value":"json","$attributes":{"encode_utf8":false}}' },
    body: '{"number":1,"text":"перо"}\n{"number":2,"other":[1,{"deep":true}]}\n',
  });
  expect(written.status).toBe(200);
});
afterAll(() => world?.stop());

/** The answer, which has to be 200. */
async function answer(recorded: RecordedCommand): Promise<Replayed> {
  const replayed = await replayCommand(origin, recorded);
  expect(replayed.status, `${recorded.page}: ${replayed.text}`).toBe(200);
  return replayed;
}

async function json(recorded: RecordedCommand): Promise<unknown> {
  return JSON.parse((await answer(recorded)).text);
}

/** Items of a batch: all have an output, or say that there is no such node where the UI expects that. */
async function items(recorded: RecordedCommand): Promise<readonly Record<string, unknown>[]> {
  const parsed = Object(await json(recorded));
  const results: readonly Record<string, unknown>[] = recorded.api === "v4" ? parsed.results : parsed;
  for (const [index, item] of results.entries()) {
    const isMissing = recorded.mayBeMissing?.includes(index) === true && Object(item.error).code === 500;
    expect(item, `${recorded.page}, item ${index}`).toSatisfy(() => isMissing || item.error === undefined);
  }
  return results;
}

/** The one recorded request of a page. */
function recorded(page: string): RecordedCommand {
  const found = [...clusterRequests, ...navigation, ...systemRequests].find((one) => one.page === page);
  if (found === undefined) {
    throw new Error(`Nothing is recorded for ${page}`);
  }
  return found;
}

/** A value in JSON with types and strings, as plain text. */
function plain(value: unknown): unknown {
  return Object(value).$value;
}

describe("[http 140] the web UI", () => {
  it.each([...clusterRequests, ...navigation, ...systemRequests])("is answered: $page", async (request) => {
    if (request.command === "execute_batch") {
      await items(request);
    } else {
      await answer(request);
    }
  });

  it("opens the cluster: who is there, and which version", async () => {
    const answers = new Map<string, Replayed>();
    for (const route of recordedRoutes) {
      const replayed = await replayRoute(origin, route);
      expect(replayed.status, route.page).toBe(200);
      answers.set(route.path, replayed);
    }
    expect(JSON.parse(answers.get("/auth/whoami")?.text ?? "")).toEqual({
      login: "root",
      realm: "YT",
      csrf_token: expect.stringMatching(/./),
    });
    expect(answers.get("/version")?.text).toMatch(/\d+\.\d+\.\d+/);
    expect(JSON.parse(answers.get("/hosts")?.text ?? "")).toEqual([world.address()]);
    expect(JSON.parse(answers.get("/hosts/all")?.text ?? "")).toEqual([
      expect.objectContaining({ host: world.address(), role: "data", banned: false, dead: false }),
    ]);
    expect(JSON.parse(answers.get("/internal/discover_versions/v2")?.text ?? "")).toMatchObject({
      summary: { total: { http_proxy: { total: 1, banned: 0, offline: 0 } } },
      details: [{ address: world.address(), type: "http_proxy", version: "25.1.0-test" }],
    });
  });

  it("opens the cluster: media, and nothing that would be no cluster", async () => {
    const [media, ...missing] = await items(recorded("cluster: parameters"));
    expect(media?.output).toEqual(["default"]);
    expect(missing.map((item) => Object(item.error).code)).toEqual([500, 500, 500]);
    expect(await json(recorded("cluster: features"))).toMatchObject({
      features: { structured_web_json: true, primitive_types: expect.arrayContaining(["int64", "utf8"]) },
    });
  });

  it("shows //tmp with what is in it", async () => {
    const listed = await json(recorded("navigation of //tmp: nodes"));
    const nodes = new Map<string, Record<string, unknown>>();
    for (const { $value, $attributes } of Object(listed)) {
      nodes.set(Buffer.from($value, "latin1").toString(), $attributes);
    }
    expect([...nodes.keys()].sort()).toEqual(["a-link", "c", "q", "s", "t", "папка"]);
    expect(nodes.get("a-link")).toMatchObject({ type: "link", broken: false });
    expect(nodes.get("c")).toMatchObject({ type: "table", dynamic: true, treat_as_queue_consumer: true });
    expect(nodes.get("q")).toMatchObject({ type: "table", dynamic: true, sorted: false, account: "tmp" });
    expect(nodes.get("s")).toMatchObject({ type: "table", dynamic: false, row_count: 2, chunk_row_count: 2 });
    expect(nodes.get("t")).toMatchObject({ type: "table", sorted: true, tablet_state: "mounted" });
    const usage = await items(recorded("navigation of //tmp: resources"));
    expect(usage.map((item) => Object(item.output).node_count)).toEqual([1, 1, 1, 1, 1]);
  });

  it("shows the attributes of a table with their types", async () => {
    const [item] = await items(recorded("navigation of //tmp/t: attributes"));
    const attributes = Object(item?.output);
    expect(attributes).toMatchObject({
      type: { $type: "string", $value: "table" },
      dynamic: { $type: "boolean", $value: "true" },
      sorted: { $type: "boolean", $value: "true" },
      tablet_count: { $type: "int64", $value: "1" },
      tablet_state: { $type: "string", $value: "mounted" },
      key_columns: [{ $type: "string", $value: "key" }],
      path: { $type: "string", $value: "//tmp/t" },
    });
    expect(attributes.schema.$value.map((column: unknown) => plain(Object(column).name))).toEqual([
      "key",
      "value",
    ]);
    const [write, use] = await items(recorded("navigation of //tmp/t: permissions"));
    expect([Object(write?.output).action, Object(use?.output).action]).toEqual(["allow", "allow"]);
  });

  it("shows a page of a static table", async () => {
    const { headers, text } = await answer(recorded("static table: a page of rows"));
    expect(JSON.parse(headers.get("x-yt-response-parameters") ?? "")).toMatchObject({
      omitted_inaccessible_columns: [],
    });
    const document = JSON.parse(text);
    // The column "other" was not asked for.
    expect(document.incomplete_columns).toBe("true");
    expect(document.all_column_names).toEqual(["number", "other", "text"]);
    expect(document.rows.map((row: Record<string, [unknown, string]>) => row.number?.[0])).toEqual([
      "1",
      "2",
    ]);
    const [, typeIndex] = document.rows[0].number;
    expect(document.yql_type_registry[Number(typeIndex)]).toEqual(["DataType", "Int64"]);
    expect(JSON.parse((await answer(recorded("static table: its columns"))).text).rows).toEqual([]);
  });

  it("shows pages of a dynamic table, in both directions", async () => {
    const rows = async (page: string): Promise<unknown> =>
      JSON.parse((await answer(recorded(page))).text).rows;
    const int64 = (value: number): unknown => ({ $type: "int64", $value: String(value) });
    const string = (value: string): unknown => ({ $type: "string", $value: value });
    expect(await rows("dynamic table: its columns")).toEqual([]);
    expect(await rows("dynamic table: a page of rows")).toEqual([
      { key: int64(1), value: string("first") },
      { key: int64(2), value: string("second") },
      { key: int64(3), value: null },
    ]);
    expect(await rows("dynamic table: the page before")).toEqual([
      { key: int64(2), value: string("second") },
      { key: int64(1), value: string("first") },
    ]);
    // The names of columns that begin with $ are doubled in rows.
    expect(await rows("queue: rows of the next page")).toEqual([
      { $$tablet_index: int64(0), $$row_index: int64(1), data: string("two") },
      { $$tablet_index: int64(1), $$row_index: int64(0), data: string("three") },
    ]);
  });

  it("is told what is wrong with a query before any row", async () => {
    const page = recorded("dynamic table: a page of rows");
    const replayed = await replayCommand(origin, {
      ...page,
      parameters: { ...page.parameters, query: "[no] FROM [//tmp/t] LIMIT 1" },
    });
    expect(replayed.status).toBe(400);
    expect(JSON.parse(replayed.text)).toMatchObject({
      code: expect.any(Number),
      message: expect.any(String),
    });
  });

  it("draws the Queue tab: status, registrations and partitions", async () => {
    await eventually(async () => {
      const status = Object(await json(queueTabs.queueStatus));
      expect(status).toMatchObject({
        family: "ordered_dynamic_table",
        partition_count: 2,
        registrations: [{ consumer: "primary://tmp/c", vital: true }],
      });
      expect(Object.keys(status.write_row_count_rate)).toEqual(expect.arrayContaining(["1m", "1h", "1d"]));
      expect(Object.keys(status.write_data_weight_rate)).toEqual(expect.arrayContaining(["1m", "1h", "1d"]));
      const partitions = await json(queueTabs.queuePartitions);
      expect(partitions).toEqual([
        expect.objectContaining({ lower_row_index: 0, upper_row_index: 2, available_row_count: 2 }),
        expect.objectContaining({ lower_row_index: 0, upper_row_index: 1, available_row_count: 1 }),
      ]);
      // The tab reads these of each partition without asking whether they are there.
      for (const partition of [partitions].flat()) {
        expect(partition).toMatchObject({ meta: { cell_id: expect.any(String), host: expect.any(String) } });
      }
    });
    await items(queueTabs.queueExports);
  });

  it("draws the Consumer tab: status, queues and partitions", async () => {
    await eventually(async () => {
      const status = Object(await json(queueTabs.consumerStatus));
      expect(status.queues["primary://tmp/q"]).toMatchObject({ partition_count: 2 });
      expect(status.registrations).toEqual([
        { queue: "primary://tmp/q", consumer: "primary://tmp/c", vital: true },
      ]);
      const partitions = await json(queueTabs.consumerPartitions);
      expect(partitions).toEqual([
        expect.objectContaining({ next_row_index: 1, unread_row_count: 1 }),
        expect.objectContaining({ next_row_index: 0, unread_row_count: 1 }),
      ]);
    });
    const [ofQueue, ofConsumer] = await items(queueTabs.registrations);
    expect(ofQueue?.output).toEqual(ofConsumer?.output);
    expect(ofQueue?.output).toEqual([
      expect.objectContaining({
        queue_path: { $attributes: { cluster: "primary" }, $value: "//tmp/q" },
        consumer_path: { $attributes: { cluster: "primary" }, $value: "//tmp/c" },
        vital: true,
      }),
    ]);
  });

  it("unregisters and registers by the dialogs of the Queue tab", async () => {
    await items(queueDialogs.unregister);
    expect((await items(queueTabs.registrations))[0]?.output).toEqual([]);
    await items(queueDialogs.register);
    expect((await items(queueTabs.registrations))[0]?.output).toHaveLength(1);
  });
});
