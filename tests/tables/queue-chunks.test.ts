/** The chunks of queues over HTTP: how far they can be trimmed by age, which there are, tables made of them. */
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf, numberedRows, type Row, rowsOf, TestCluster } from "./test-cluster.ts";

const exportable =
  "[{name=key;type=int64};{name=value;type=string};" +
  '{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]';

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

let tableCount = 0;
function newPath(): string {
  return `//tmp/t${++tableCount}`;
}

async function newQueue(tablets = 1): Promise<string> {
  const path = newPath();
  await cluster.createTable(path, `dynamic=%true;schema=${exportable};tablet_count=${tablets}`);
  await cluster.mount(path);
  return path;
}

async function idOf(path: string): Promise<string> {
  return String(await cluster.get(`${path}/@id`));
}

interface Chunk {
  readonly id: string;
  readonly start_row_index: number;
  readonly row_count: number;
  readonly data_weight: number;
}

interface Fetched {
  readonly object_id: string;
  readonly tablets: readonly {
    readonly tablet_index: number;
    readonly trimmed_row_count: number;
    readonly chunks: readonly Chunk[];
  }[];
}

async function fetchChunks(path: string, more = ""): Promise<Fetched> {
  return Object(await cluster.value("fetch_queue_chunks", `{path="${path}";${more}}`));
}

async function chunkIdsOf(path: string): Promise<string[]> {
  return (await fetchChunks(path)).tablets.flatMap(({ chunks }) => chunks.map(({ id }) => id));
}

async function attach(path: string, source: string, ids: readonly string[], more = ""): Promise<void> {
  await cluster.ok("attach_queue_chunks", attachParameters(path, source, ids, more));
}

function attachParameters(path: string, source: string, ids: readonly string[], more = ""): string {
  return `{path="${path}";source_path="${source}";chunk_ids=[${ids.map((id) => `"${id}"`).join(";")}];${more}}`;
}

describe("safe trim row count", () => {
  /** Commit timestamps, exact: JSON numbers would round them. */
  async function timestampsOf(path: string): Promise<bigint[]> {
    const text = await cluster.ok(
      "select_rows",
      `{query="[$timestamp] from [${path}]";output_format=<format=text>yson}`,
    );
    return [...text.matchAll(/=(\d+)u/g)].map(([, digits]) => BigInt(digits ?? ""));
  }

  async function counts(path: string, timestamps: readonly bigint[]): Promise<unknown[]> {
    const requests = timestamps.map((at) => `{path="${path}";tablet_index=0;timestamp=${at}u}`).join(";");
    const answers = await cluster.value("get_ordered_tablet_safe_trim_row_count", `{requests=[${requests}]}`);
    return Array.isArray(answers) ? answers.map((answer) => fieldOf(answer, "row_count")) : [];
  }

  it("[queue-agent 61] whole stores stay when one of their rows is as young as the bound", async () => {
    const path = await newQueue();
    await cluster.insert(path, numberedRows(0, 3));
    await cluster.insert(path, numberedRows(3, 5));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(5, 7));
    await cluster.insert(path, numberedRows(7, 8));
    const written = await timestampsOf(path);
    const [first = 0n, lastOfChunk = 0n, dynamic = 0n, last = 0n] = [0, 4, 5, 7].map((row) => written[row]);
    expect(await counts(path, [0n, first, first + 1n, lastOfChunk])).toEqual([0, 0, 0, 0]);
    expect(await counts(path, [lastOfChunk + 1n, dynamic, dynamic + 1n, last])).toEqual([5, 5, 5, 5]);
    expect(await counts(path, [last + 1n])).toEqual([8]);
    // A path by id, beside requests that fail for themselves.
    const sorted = newPath();
    await cluster.createSorted(sorted);
    const requests = [
      `{path="#${await idOf(path)}";tablet_index=0;timestamp=${dynamic}u}`,
      `{path="//tmp/absent";tablet_index=0;timestamp=0u}`,
      `{path="${path}";tablet_index=1;timestamp=0u}`,
      `{path="${sorted}";tablet_index=0;timestamp=0u}`,
      `{path="${path}";tablet_index=0}`,
    ];
    const answers = await cluster.value(
      "get_ordered_tablet_safe_trim_row_count",
      `{requests=[${requests.join(";")}]}`,
    );
    expect(answers).toMatchObject([
      { row_count: 5 },
      { error: { code: 500 } },
      { error: { code: 1701 } },
      { error: { code: 1, message: expect.stringContaining("is not ordered") } },
      { error: { code: 1, message: "Missing required parameter /timestamp" } },
    ]);
    await cluster.ok("trim_rows", `{path="#${await idOf(path)}";tablet_index=0;trimmed_row_count=8}`);
    expect(await counts(path, [0n, last, last + 1n])).toEqual([8, 8, 8]);
    expect(await counts(await newQueue(), [0n])).toEqual([0]);
    await cluster.unmount(path);
    expect(
      await cluster.value(
        "get_ordered_tablet_safe_trim_row_count",
        `{requests=[{path="${path}";tablet_index=0;timestamp=0u}]}`,
      ),
    ).toMatchObject([{ error: { code: 1702 } }]);
  });
});

describe("fetching", () => {
  it("tells the flushed chunks that are still in the tablet, in row order, mounted or not", async () => {
    const path = await newQueue(2);
    await cluster.insert(path, numberedRows(0, 3, '"$tablet_index"=1'));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(3, 5, '"$tablet_index"=1'));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(5, 6, '"$tablet_index"=1'));
    const found = await fetchChunks(`#${await idOf(path)}`);
    expect(found.object_id).toBe(await idOf(path));
    expect(found.tablets).toMatchObject([
      { tablet_index: 0, trimmed_row_count: 0, chunks: [] },
      {
        tablet_index: 1,
        trimmed_row_count: 0,
        chunks: [
          { start_row_index: 0, row_count: 3, data_weight: 81 },
          { start_row_index: 3, row_count: 2, data_weight: 54 },
        ],
      },
    ]);
    expect(found.tablets[1]?.chunks.map(({ id }) => id)).toEqual(await cluster.get(`${path}/@chunk_ids`));
    const text = await cluster.ok("fetch_queue_chunks", `{path="${path}";output_format=<format=text>yson}`);
    expect(text).toMatch(/"max_timestamp"=\d{10,}u/);
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=1;trimmed_row_count=4}`);
    await cluster.ok("freeze_table", `{path="${path}"}`);
    await cluster.unmount(path);
    // The row in the dynamic store is flushed by now; the first chunk is trimmed away.
    expect((await fetchChunks(path, "tablet_indexes=[1]")).tablets).toMatchObject([
      {
        tablet_index: 1,
        trimmed_row_count: 4,
        chunks: [
          { start_row_index: 3, row_count: 2 },
          { start_row_index: 5, row_count: 1 },
        ],
      },
    ]);
    expect((await cluster.error("fetch_queue_chunks", `{path="${path}";tablet_indexes=[2]}`)).code).toBe(
      1701,
    );
    const sorted = newPath();
    await cluster.createSorted(sorted);
    expect((await cluster.error("fetch_queue_chunks", `{path="${sorted}"}`)).message).toContain(
      "not ordered",
    );
  });
});

describe("attaching", () => {
  async function filledQueue(tablets = 1): Promise<string> {
    const path = await newQueue(tablets);
    for (let round = 0; round < 3; round++) {
      for (let index = 0; index < tablets; index++) {
        const from = 100 * index + 3 * round;
        await cluster.insert(path, numberedRows(from, from + 3, `"$tablet_index"=${index}`));
      }
      await cluster.flush(path);
    }
    return path;
  }

  const systemRows = async (path: string): Promise<Row[]> =>
    cluster.select(`key, value, [$timestamp], [$cumulative_data_weight] from [${path}]`);
  const readStatic = (path: string, more = ""): Promise<Row[]> =>
    cluster.ok("read_table", `{path="${path}";output_format=json;${more}}`).then(rowsOf);

  async function exportTable(queue: string, path: string, ids: readonly string[], more = ""): Promise<void> {
    const schema = await cluster.ok(
      "get",
      `{path="${queue}/@schema";output_format=<format=text>yson;return_only_value=%true}`,
    );
    await cluster.ok("create", `{type=table;path="${path}";attributes={schema=${schema}};${more}}`);
    await attach(path, `#${await idOf(queue)}`, ids, more);
  }

  it("a table in a nested transaction shows the rows of the queue, with their system columns", async () => {
    const queue = await filledQueue(2);
    const outer = await cluster.startTransaction("type=master");
    const inner = await cluster.startTransaction(`type=master;transaction_id="${outer}"`);
    const path = newPath();
    const ids = await chunkIdsOf(queue);
    await exportTable(queue, path, ids.slice(0, 4), `transaction_id="${inner}"`);
    await attach(path, queue, ids.slice(4), `transaction_id="${inner}"`);
    expect(await readStatic(path, `transaction_id="${inner}"`)).toEqual(await systemRows(queue));
    expect(await cluster.value("exists", `{path="${path}"}`)).toEqual({ value: false });
    await cluster.commit(inner);
    await cluster.commit(outer);
    expect(await readStatic(path)).toEqual(await systemRows(queue));
    expect(
      await cluster.get(path, "attributes=[chunk_ids;chunk_count;row_count;data_weight;schema_mode;dynamic]"),
    ).toMatchObject({
      $attributes: {
        chunk_count: 6,
        row_count: 18,
        data_weight: await cluster.get(`${queue}/@data_weight`),
        schema_mode: "strong",
        dynamic: false,
      },
    });
    expect(await cluster.get(`${path}/@chunk_ids`)).toEqual(ids);
    expect(await cluster.get(`${path}/@schema`)).toEqual(await cluster.get(`${queue}/@schema`));
  });

  it("an aborted export leaves nothing; queue and table go in any order", async () => {
    const queue = await filledQueue();
    const expected = await systemRows(queue);
    const ids = await chunkIdsOf(queue);
    const transaction = await cluster.startTransaction("type=master");
    await exportTable(queue, newPath(), ids, `transaction_id="${transaction}"`);
    await cluster.ok("abort_transaction", `{transaction_id="${transaction}"}`);
    const [first, second] = [newPath(), newPath()];
    await exportTable(queue, first, ids);
    await exportTable(queue, second, ids);
    await cluster.ok("trim_rows", `{path="${queue}";tablet_index=0;trimmed_row_count=9}`);
    expect(await readStatic(first)).toEqual(expected);
    await cluster.ok("remove", `{path="${queue}"}`);
    expect(await readStatic(first)).toEqual(expected);
    await cluster.ok("remove", `{path="${first}"}`);
    expect(await readStatic(second)).toEqual(expected);
  });

  it("refuses what does not fit, and changes nothing", async () => {
    const queue = await filledQueue();
    const ids = await chunkIdsOf(queue);
    const path = newPath();
    await exportTable(queue, path, ids.slice(1, 2));
    const other = await filledQueue();
    const [foreign = ""] = await chunkIdsOf(other);
    const refused = (destination: string, source: string, names: readonly string[]) =>
      cluster.error("attach_queue_chunks", attachParameters(destination, source, names));
    const missing = await refused(path, queue, [...ids.slice(2), foreign]);
    expect([missing.code, missing.message]).toEqual([708, expect.stringContaining(foreign)]);
    await cluster.ok("trim_rows", `{path="${queue}";tablet_index=0;trimmed_row_count=3}`);
    expect((await refused(path, queue, ids.slice(0, 1))).code).toBe(708);
    expect((await refused(path, queue, [...ids.slice(2), ...ids.slice(2)])).message).toContain("named twice");
    expect((await refused(queue, queue, ids.slice(2))).message).toContain("dynamic");
    expect((await refused("//tmp", queue, ids.slice(2))).code).toBe(1006);
    expect((await refused(path, path, ids.slice(2))).message).toContain("only an ordered dynamic table");
    const weak = newPath();
    await cluster.createTable(weak, "");
    expect((await refused(weak, queue, ids.slice(2))).code).toBe(316);
    const plain = newPath();
    await cluster.createTable(plain, "schema=[{name=key;type=int64};{name=value;type=string}]");
    expect((await refused(plain, queue, ids.slice(2))).code).toBe(316);
    expect((await readStatic(path)).map(({ key }) => key)).toEqual([3, 4, 5]);
    expect(await cluster.get(`${path}/@row_count`)).toBe(3);
  });

  it("needs read on the queue and write on the table", async () => {
    const queue = await filledQueue();
    const path = newPath();
    const ids = await chunkIdsOf(queue);
    await exportTable(queue, path, []);
    await cluster.ok("create", "{type=user;attributes={name=exporter}}");
    const deniedTo = async (denied: string, command: string, parameters: string): Promise<boolean> => {
      const { status, text } = await cluster.call(command, parameters, {
        headers: { "X-YT-User-Name": "exporter" },
      });
      return status !== 200 && text.includes("901") && text.includes(denied);
    };
    const deny = (node: string, permission: string) =>
      cluster.set(`${node}/@acl`, `[{action=deny;subjects=[exporter];permissions=[${permission}]}]`);
    await deny(queue, "read");
    expect(await deniedTo(queue, "fetch_queue_chunks", `{path="${queue}"}`)).toBe(true);
    expect(await deniedTo(queue, "attach_queue_chunks", attachParameters(path, queue, ids))).toBe(true);
    const trim = await cluster.call(
      "get_ordered_tablet_safe_trim_row_count",
      `{requests=[{path="${queue}";tablet_index=0;timestamp=0u}]}`,
      { headers: { "X-YT-User-Name": "exporter" } },
    );
    expect(trim.text).toContain("901");
    await cluster.set(`${queue}/@acl`, "[]");
    await deny(path, "write");
    expect(await deniedTo(path, "attach_queue_chunks", attachParameters(path, queue, ids))).toBe(true);
    expect(await cluster.get(`${path}/@row_count`)).toBe(0);
  });
});

describe("limits", () => {
  it("requests that are too long are refused and say what to do", async () => {
    const many = (item: string): string => `[${Array.from({ length: 10_001 }, () => item).join(";")}]`;
    // In the body: the headers of a request may not be so long.
    const refused = (command: string, parameters: string): Promise<string> =>
      cluster
        .request(`/api/v4/${command}`, {
          method: "POST",
          headers: { "Content-Type": "application/x-yt-yson-text" },
          body: `{${parameters}}`,
        })
        .then(({ text }) => text);
    const request = '{path="//tmp/q";tablet_index=0;timestamp=0u}';
    expect(await refused("get_ordered_tablet_safe_trim_row_count", `requests=${many(request)}`)).toContain(
      "Too many requests: 10001, limit 10000",
    );
    const ids = `path="//tmp/t";source_path="//tmp/q";chunk_ids=${many('"1-2-3-4"')}`;
    expect(await refused("attach_queue_chunks", ids)).toContain("in several requests within one transaction");
    expect(await refused("fetch_queue_chunks", `path="//tmp/q";tablet_indexes=${many("0")}`)).toContain(
      "Too many tablet indexes",
    );
  });
});

describe("chunks as objects", () => {
  it("tell their figures and how many tables hold them", async () => {
    const queue = await newQueue();
    await cluster.insert(queue, numberedRows(0, 3));
    await cluster.flush(queue);
    const [chunk] = (await fetchChunks(queue)).tablets[0]?.chunks ?? [];
    const id = `#${chunk?.id ?? ""}`;
    expect(await cluster.get(`${id}/@type`)).toBe("chunk");
    expect(await cluster.get(`${id}/@row_count`)).toBe(3);
    expect(await cluster.get(`${id}/@data_weight`)).toBe(chunk?.data_weight);
    expect(await cluster.get(`${id}/@min_timestamp`)).toBe(await cluster.get(`${id}/@max_timestamp`));
    expect(await cluster.get(`${id}/@ref_counter`)).toBe(1);
    const path = newPath();
    await cluster.createTable(path, `schema=${exportable}`);
    await attach(path, queue, [chunk?.id ?? ""]);
    expect(await cluster.get(`${id}/@ref_counter`)).toBe(2);
    await cluster.ok("remove", `{path="${queue}"}`);
    expect(await cluster.get(`${id}/@ref_counter`)).toBe(1);
    await cluster.error("set", `{path="${id}/@row_count";input_format=yson}`, "5");
    const transaction = await cluster.startTransaction("type=master");
    for (const within of ["", `transaction_id="${transaction}"`]) {
      const parameters = `{path="${id}/@mine";input_format=yson;${within}}`;
      expect((await cluster.error("set", parameters, "5")).message).toContain("is not a node");
    }
    await cluster.error("lock", `{path="${id}";mode=snapshot;transaction_id="${transaction}"}`);
    await cluster.error("remove", `{path="${id}"}`);
    await cluster.error("copy", `{source_path="${id}";destination_path="//tmp/copy"}`);
    await cluster.ok("remove", `{path="${path}"}`);
    expect((await cluster.error("get", `{path="${id}/@row_count"}`)).code).toBe(500);
  });
});

describe("by id, and in time", () => {
  it("attributes and trimming of a queue by its id, tablets as clients expect them", async () => {
    const queue = await newQueue(2);
    const id = `#${await idOf(queue)}`;
    for (const name of ["tablet_state", "tablet_count", "tablet_layout_revision", "schema", "tablets"]) {
      expect(await cluster.get(`${id}/@${name}`), name).toEqual(await cluster.get(`${queue}/@${name}`));
    }
    const [first] = Object(await cluster.get(`${id}/@tablets`));
    expect(first).toMatchObject({
      index: 0,
      state: "mounted",
      tablet_id: expect.stringMatching(/^[0-9a-f-]+$/),
      cell_id: expect.stringMatching(/^[0-9a-f-]+$/),
      cell_leader_address: expect.stringMatching(/:\d+$/),
    });
  });

  it("rows are flushed by time, by freezing and by unmounting", async () => {
    const clock = new FakeClock();
    const own = await TestCluster.start({ clock });
    const create = async (path: string, attributes: string): Promise<void> => {
      await own.createTable(path, `dynamic=%true;schema=${exportable};${attributes}`);
      await own.mount(path);
      await own.insert(path, numberedRows(0, 3));
    };
    const chunkCount = (path: string): Promise<unknown> => own.get(`${path}/@chunk_count`);
    await create("//tmp/soon", "dynamic_store_auto_flush_period=5000;dynamic_store_flush_period_splay=0");
    await create("//tmp/late", "");
    await create("//tmp/never", "dynamic_store_auto_flush_period=#");
    await clock.advance(4_000);
    expect(await chunkCount("//tmp/soon")).toBe(0);
    await clock.advance(3_000);
    expect(await chunkCount("//tmp/soon")).toBe(1);
    expect(await chunkCount("//tmp/late")).toBe(0);
    // A quarter of an hour, and up to a minute more so that tablets do not flush together.
    for (let minute = 0; minute < 17; minute++) {
      await clock.advance(60_000);
    }
    expect(await chunkCount("//tmp/late")).toBe(1);
    expect(await chunkCount("//tmp/never")).toBe(0);
    await own.ok("freeze_table", '{path="//tmp/never"}');
    expect(await chunkCount("//tmp/never")).toBe(1);
    await own.ok("unfreeze_table", '{path="//tmp/never"}');
    await own.insert("//tmp/never", numberedRows(3, 4));
    await own.unmount("//tmp/never");
    expect(await chunkCount("//tmp/never")).toBe(2);
    await own.stop();
  });

  it("exported tables go at their time, or so long after the last access: what comes first", async () => {
    const clock = new FakeClock();
    const own = await TestCluster.start({ clock });
    await own.createTable("//tmp/q", `dynamic=%true;schema=${exportable}`);
    await own.mount("//tmp/q");
    await own.insert("//tmp/q", numberedRows(0, 5));
    await own.flush("//tmp/q");
    const [id = ""] = Object(await own.get("//tmp/q/@chunk_ids"));
    const expiring = async (path: string, timeMs: number, timeoutMs: number): Promise<void> => {
      const transaction = await own.startTransaction("type=master");
      const within = `transaction_id="${transaction}"`;
      const time = new Date(clock.now() + timeMs).toISOString();
      const attributes = `schema=${exportable};expiration_time="${time}";expiration_timeout=${timeoutMs}`;
      await own.ok("create", `{type=table;path="${path}";attributes={${attributes}};${within}}`);
      await own.ok("attach_queue_chunks", attachParameters(path, "//tmp/q", [id], within));
      await own.commit(transaction);
    };
    await expiring("//tmp/time", 3_000, 60_000);
    await expiring("//tmp/timeout", 60_000, 3_000);
    const left = async (): Promise<unknown> =>
      own.value("list", '{path="//tmp"}').then((value) => fieldOf(value, "value"));
    for (let second = 0; second < 2; second++) {
      await clock.advance(1_000);
      expect(await left()).toEqual(["q", "time", "timeout"]);
      // Reading prolongs the timeout, and nothing prolongs the time.
      expect((await own.read("//tmp/time")).length).toBe(5);
      expect((await own.read("//tmp/timeout")).length).toBe(5);
    }
    await clock.advance(2_000);
    expect(await left()).toEqual(["q", "timeout"]);
    await clock.advance(4_000);
    expect(await left()).toEqual(["q"]);
    expect(await own.get(`#${id}/@ref_counter`)).toBe(1);
    await own.stop();
  });
});

describe("restarts", () => {
  it("an exported table and an open export survive", async () => {
    const clock = new FakeClock();
    let own = await TestCluster.start({ clock });
    await own.createTable("//tmp/q", `dynamic=%true;schema=${exportable}`);
    await own.mount("//tmp/q");
    await own.insert("//tmp/q", numberedRows(0, 5));
    await own.flush("//tmp/q");
    const transaction = await own.startTransaction("type=master");
    const [id = ""] = Object(await own.get("//tmp/q/@chunk_ids"));
    await own.ok(
      "create",
      `{type=table;path="//tmp/e";attributes={schema=${exportable}};transaction_id="${transaction}"}`,
    );
    await own.ok(
      "attach_queue_chunks",
      attachParameters("//tmp/e", "//tmp/q", [id], `transaction_id="${transaction}"`),
    );
    own = await own.restart();
    await own.ok("remove", `{path="//tmp/q"}`);
    await own.commit(transaction);
    own = await own.restart();
    expect((await own.read("//tmp/e")).map(({ key }) => key)).toEqual([0, 1, 2, 3, 4]);
    await own.ok("remove", `{path="//tmp/e"}`);
    await own.stop();
  });
});
