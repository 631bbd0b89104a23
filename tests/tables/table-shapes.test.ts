/** Tables whose tablets are preset or asked about: counters of new tablets, pivots, mount information, chunk lists. */
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messagesOf, numberedRows, queueSchema, sortedSchema, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start({ clock: new FakeClock() });
});
afterAll(() => cluster.stop());

const weighed = '[{name=value;type=string};{name="$cumulative_data_weight";type=int64}]';

/** The last running weight of each tablet. */
async function lastWeights(path: string): Promise<unknown[]> {
  const rows = await cluster.select(
    `[$tablet_index] as t, max([$cumulative_data_weight]) as w from [${path}] group by [$tablet_index] as t`,
  );
  return rows.map(({ w }) => w);
}

describe("cumulative_data_weights", () => {
  it("[tables 17] of a reshard presets the new tablets, and the kept one counts on", async () => {
    const path = "//tmp/weights";
    await cluster.createTable(path, `dynamic=%true;schema=${weighed}`);
    await cluster.mount(path);
    // One for the row, 8 for the weight itself.
    await cluster.insert(path, "{value=abc}");
    expect(await lastWeights(path)).toEqual([12]);
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=3;cumulative_data_weights=[1000;2000]}`);
    await cluster.mount(path);
    const rows = [0, 1, 2].map((tablet) => `{"$tablet_index"=${tablet};value=abc}`);
    await cluster.insert(path, rows.join(";"));
    expect(await lastWeights(path)).toEqual([24, 1012, 2012]);
  });

  it("[tables 18] refused in four ways; no table is made", async () => {
    const cases = [
      [weighed, "cumulative_data_weights=[1]", /cannot be specified without "tablet_count"/],
      [weighed, "tablet_count=2;cumulative_data_weights=[1]", /has invalid size/],
      [weighed, "tablet_count=2;cumulative_data_weights=[1;-1]", /must be nonnegative/],
      [sortedSchema, "tablet_count=1;cumulative_data_weights=[1]", /can only be set for ordered tables/],
    ] as const;
    const messages = new Set<string>();
    for (const [schema, attributes, text] of cases) {
      const error = await cluster.error(
        "create",
        `{type=table;path="//tmp/refused";attributes={dynamic=%true;schema=${schema};${attributes}}}`,
      );
      expect(messagesOf(error)).toMatch(text);
      messages.add(messagesOf(error));
      expect(await cluster.value("exists", '{path="//tmp/refused"}')).toEqual({ value: false });
    }
    expect(messages.size).toBe(4);
  });
});

it("[tables 20] timestamps of rows lie between those generated before and after them", async () => {
  const path = "//tmp/stamped";
  const schema = '[{name=value;type=string};{name="$timestamp";type=uint64}]';
  await cluster.createTable(path, `dynamic=%true;schema=${schema}`);
  await cluster.mount(path);
  const generate = async (): Promise<bigint> =>
    BigInt(
      (await cluster.ok("generate_timestamp", "{output_format=<format=text>yson}")).replaceAll(/\D/g, ""),
    );
  const before = await generate();
  await cluster.insert(path, "{value=a}");
  await cluster.insert(path, "{value=b}");
  const after = await generate();
  const text = await cluster.ok(
    "select_rows",
    `{query="[$timestamp] as t from [${path}]";output_format=<format=text>yson}`,
  );
  const [first = 0n, second = 0n] = [...text.matchAll(/(\d+)u/g)].map(([, digits]) => BigInt(digits ?? 0));
  expect([before < first, first < second, second < after]).toEqual([true, true, true]);
});

describe("what clients ask about tablets", () => {
  it("get_table_pivot_keys gives the first keys, by column or as lists", async () => {
    const schema =
      "[{name=a;type=uint64;sort_order=ascending};{name=b;type=string;sort_order=ascending};{name=v;type=int64}]";
    await cluster.createTable("//tmp/pivots", `dynamic=%true;schema=${schema};pivot_keys=[[];[5u];[5u;x]]`);
    expect(await cluster.value("get_table_pivot_keys", '{path="//tmp/pivots"}')).toEqual([
      {},
      { a: 5 },
      { a: 5, b: "x" },
    ]);
    expect(
      await cluster.value("get_table_pivot_keys", '{path="//tmp/pivots";represent_key_as_list=%true}'),
    ).toEqual([[], [5], [5, "x"]]);
    await cluster.createQueue("//tmp/no-pivots");
    expect((await cluster.error("get_table_pivot_keys", '{path="//tmp/no-pivots"}')).code).toBe(1716);
  });

  it("get_table_mount_info gives schema, tablets and cells", async () => {
    await cluster.createTable("//tmp/info", `dynamic=%true;schema=${sortedSchema};pivot_keys=[[];[10]]`);
    await cluster.mount("//tmp/info", "last_tablet_index=0");
    const cellIds = await cluster.value("list", '{path="//sys/tablet_cells";return_only_value=%true}');
    expect(await cluster.value("get_table_mount_info", '{path="//tmp/info"}')).toMatchObject({
      table_id: await cluster.get("//tmp/info/@id"),
      path: "//tmp/info",
      dynamic: true,
      sorted: true,
      upstream_replica_id: "0-0-0-0",
      need_key_evaluation: false,
      tablets: [
        {
          tablet_index: 0,
          state: "mounted",
          pivot_key: [],
          cell_id: Array.isArray(cellIds) ? cellIds[0] : "",
        },
        { tablet_index: 1, state: "unmounted", pivot_key: [10] },
      ],
    });
  });

  it.each(["lookup_rows", "delete_rows"])("%s of a queue is error 1716", async (command) => {
    const path = `//tmp/queue-${command}`;
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 1));
    const error = await cluster.error(command, `{path="${path}"}`, "{key=0}");
    expect(error.code).toBe(1716);
    expect(messagesOf(error)).toContain("is not sorted");
  });
});

it("[tables 136] the chunk list of a tablet tells what its chunks weigh, and what those weighed that were trimmed", async () => {
  const path = "//tmp/list-weights";
  await cluster.createTable(path, "dynamic=%true;schema=[{name=value;type=string}]");
  await cluster.mount(path);
  for (const weight of [8, 13, 8, 5]) {
    await cluster.insert(path, `{value="${"x".repeat(weight - 1)}"}`);
    await cluster.flush(path);
  }
  await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=3}`);
  const root = String(await cluster.get(`${path}/@chunk_list_id`));
  const [list] = await cluster.get(`#${root}/@child_ids`).then((ids) => (Array.isArray(ids) ? ids : []));
  expect(await cluster.get(`#${String(list)}/@statistics`)).toMatchObject({
    row_count: 1,
    logical_row_count: 4,
    data_weight: 5,
    trimmed_data_weight: 29,
  });
});

it("[tables 98] the kinds of chunk lists: of a static table, of a queue, and of its tablets", async () => {
  await cluster.createTable("//tmp/static-list", `schema=${queueSchema}`);
  await cluster.ok("write_table", '{path="//tmp/static-list"}', "{key=1;value=a}");
  await cluster.createQueue("//tmp/queue-list", { tablets: 2 });
  const kindOf = async (path: string): Promise<unknown> =>
    cluster.get(`#${String(await cluster.get(`${path}/@chunk_list_id`))}/@kind`);
  expect(await kindOf("//tmp/static-list")).toBe("static");
  expect(await kindOf("//tmp/queue-list")).toBe("ordered_dynamic_root");
  const children = await cluster.get(
    `#${String(await cluster.get("//tmp/queue-list/@chunk_list_id"))}/@child_ids`,
  );
  const kinds = await Promise.all(
    (Array.isArray(children) ? children : []).map((id) => cluster.get(`#${String(id)}/@kind`)),
  );
  expect(kinds).toEqual(["ordered_dynamic_tablet", "ordered_dynamic_tablet"]);
  expect((await cluster.error("get", '{path="#1-2-10065-3/@kind"}')).code).toBe(500);
});
