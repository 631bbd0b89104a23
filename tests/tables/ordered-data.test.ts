/** Rows of ordered tables over HTTP: writing, routing, selecting, trimming, flushing. */
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf, messagesOf, numberedRows, type Row, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

let tableCount = 0;
async function queue(tablets = 1, attributes = ""): Promise<string> {
  const path = `//tmp/q${++tableCount}`;
  await cluster.createQueue(path, { tablets, attributes });
  return path;
}

async function tablet(path: string, index = 0): Promise<Row> {
  return { ...Object(await cluster.get(`${path}/@tablets/${index}`)) };
}

async function keysOf(path: string, where = ""): Promise<unknown[]> {
  return (await cluster.select(`key from [${path}] ${where}`)).map(({ key }) => key);
}

describe("writing", () => {
  it("[tables 99] a hundred rows come back in order", async () => {
    const path = await queue();
    await cluster.insert(path, numberedRows(0, 100));
    expect(await cluster.select(`* from [${path}]`)).toEqual(
      Array.from({ length: 100 }, (_, key) => ({
        $tablet_index: 0,
        $row_index: key,
        key,
        value: `v${key}`,
      })),
    );
  });

  it("[tables 100] flushed and live rows have one sequence of indexes", async () => {
    const path = await queue();
    for (let round = 0; round < 3; round++) {
      await cluster.insert(path, numberedRows(20 * round, 20 * round + 10));
      await cluster.flush(path);
      await cluster.insert(path, numberedRows(20 * round + 10, 20 * round + 20));
      expect(await cluster.select(`[$row_index] as i, key from [${path}]`)).toEqual(
        Array.from({ length: 20 * (round + 1) }, (_, key) => ({ i: key, key })),
      );
    }
    expect(await cluster.get(`${path}/@chunk_count`)).toBe(3);
  });

  it("[tables 101] rows go to the tablet they name", async () => {
    const path = await queue(10);
    let rows = "";
    for (let index = 0; index < 10; index++) {
      rows += numberedRows(10 * index, 10 * index + 3, `"$tablet_index"=${index}`);
    }
    await cluster.insert(path, rows);
    for (let index = 0; index < 10; index++) {
      expect(await keysOf(path, `where [$tablet_index] = ${index}`)).toEqual(
        [0, 1, 2].map((key) => 10 * index + key),
      );
    }
  });

  it("[tables 102] tablet indexes out of range or of another type are refused, null means any", async () => {
    const path = await queue(10);
    for (const index of [-1, 10]) {
      const error = await cluster.error(
        "insert_rows",
        `{path="${path}"}`,
        `{"$tablet_index"=${index};key=1}`,
      );
      expect(messagesOf(error)).toContain(`Invalid tablet index: actual ${index}, expected in range [0, 9]`);
    }
    const error = await cluster.error("insert_rows", `{path="${path}"}`, '{"$tablet_index"=x;key=1}');
    expect(messagesOf(error)).toContain("Error parsing tablet index from row");
    expect(await keysOf(path)).toEqual([]);
    await cluster.insert(path, '{"$tablet_index"=#;key=1}');
    expect(await keysOf(path)).toEqual([1]);
  });

  it("[tables 103] rows of one request without an index share a tablet; requests are spread", async () => {
    const path = await queue(4);
    await cluster.insert(path, numberedRows(0, 50));
    const first = await cluster.select(
      `[$tablet_index] as t, sum(1) as n from [${path}] group by [$tablet_index]`,
    );
    expect(first).toEqual([{ t: expect.any(Number), n: 50 }]);
    for (let request = 0; request < 200; request++) {
      await cluster.insert(path, `{key=${request}}`);
    }
    const all = await cluster.select(
      `[$tablet_index] as t, sum(1) as n from [${path}] group by [$tablet_index]`,
    );
    // That one of four is never hit in 200 draws has a probability below 1e-24.
    expect(all.map(({ t }) => t).sort()).toEqual([0, 1, 2, 3]);
  });

  it("[tables 104] [tables 105] rows without an index go to mounted tablets only", async () => {
    const path = await queue(2);
    await cluster.unmount(path, "first_tablet_index=1;last_tablet_index=1");
    for (let request = 0; request < 20; request++) {
      await cluster.insert(path, `{key=${request}}`);
    }
    const error = await cluster.error("insert_rows", `{path="${path}"}`, '{"$tablet_index"=1;key=1}');
    expect(error.code).toBe(1702);
    const { tablet_id } = await tablet(path, 1);
    expect(
      error.find(1702)?.attributes.get("tablet_id") ?? error.innerErrors[0]?.attributes.get("tablet_id"),
    ).toBe(tablet_id);
    await cluster.mount(path);
    expect(await keysOf(path, "where [$tablet_index] = 1")).toEqual([]);
    await cluster.ok("freeze_table", `{path="${path}"}`);
    const frozen = await cluster.error("insert_rows", `{path="${path}"}`, '{"$tablet_index"=0;key=1}');
    expect(frozen.code).toBe(1702);
    expect(messagesOf(frozen)).toContain(`Table ${path} has no mounted tablets`);
  });

  it("[tables 106] update mode is not for ordered tables", async () => {
    const path = await queue();
    const error = await cluster.error("insert_rows", `{path="${path}";update=%true}`, "{key=1}");
    expect(messagesOf(error)).toContain('Cannot use "update" mode for ordered tables');
  });

  it("[tables 107] [tables 109] one bad row among ten keeps all out", async () => {
    const path = await queue();
    for (const bad of ["{key=1;value=5}", "{key=1;other=1}"]) {
      const rows = `${numberedRows(0, 7)}${bad};${numberedRows(8, 10)}`;
      const error = await cluster.error("insert_rows", `{path="${path}"}`, rows);
      expect(error.has(307)).toBe(true);
      if (bad.includes("other")) {
        expect(messagesOf(error)).toContain('Unexpected column "other"');
      } else {
        expect(messagesOf(error)).toMatch(/"string".*"int64"/);
      }
    }
    expect(await keysOf(path)).toEqual([]);
  });

  it("[tables 108] [tables 138] required columns, one of them with an aggregate, are plainly appended", async () => {
    const path = `//tmp/required${++tableCount}`;
    await cluster.createTable(
      path,
      "dynamic=%true;schema=[{name=key;type=int64;required=%true;aggregate=sum};{name=value;type=string}]",
    );
    await cluster.mount(path);
    for (const row of ["{value=a}", "{key=#;value=a}"]) {
      expect((await cluster.error("insert_rows", `{path="${path}"}`, row)).has(307), row).toBe(true);
    }
    await cluster.insert(path, "{key=1;value=a};{key=1}");
    await cluster.insert(path, "{key=1}", "aggregate=%true");
    expect(await keysOf(path)).toEqual([1, 1, 1]);
  });

  it("[tables 110] rows of an ordered table are neither deleted nor locked", async () => {
    const path = await queue();
    const transaction = await cluster.startTransaction();
    for (const command of ["delete_rows", "lock_rows"]) {
      const error = await cluster.error(
        command,
        `{path="${path}";transaction_id="${transaction}"}`,
        "{key=1}",
      );
      expect(messagesOf(error)).toContain("not sorted");
    }
    expect(messagesOf(await cluster.error("lookup_rows", `{path="${path}"}`, "{key=1}"))).toContain(
      "not sorted",
    );
  });

  it("[tables 137] a tablet of max_ordered_tablet_data_weight takes no more", async () => {
    const path = await queue(1, "max_ordered_tablet_data_weight=1000");
    await cluster.insert(path, `{value="${"x".repeat(500)}"}`);
    await cluster.insert(path, `{value="${"x".repeat(500)}"}`);
    const error = await cluster.error("insert_rows", `{path="${path}"}`, "{value=x}");
    expect(messagesOf(error)).toContain("max_ordered_tablet_data_weight");
    expect(messagesOf(error)).toContain("1000");
  });
});

describe("transactions", () => {
  it("[tables 111] two transactions that append never conflict", async () => {
    const path = await queue();
    const first = await cluster.startTransaction();
    const second = await cluster.startTransaction();
    await cluster.insert(path, "{key=1}", `transaction_id="${first}"`);
    await cluster.insert(path, "{key=2}", `transaction_id="${second}"`);
    await cluster.commit(second);
    await cluster.commit(first);
    expect(await keysOf(path)).toEqual([2, 1]);
  });

  it("[tables 112] [tables 113] rows show after the commit, never after an abort", async () => {
    const path = await queue();
    const committed = await cluster.startTransaction();
    const aborted = await cluster.startTransaction();
    await cluster.insert(path, "{key=1}", `transaction_id="${committed}"`);
    await cluster.insert(path, "{key=2}", `transaction_id="${aborted}"`);
    expect(await cluster.select(`key from [${path}]`, `transaction_id="${committed}"`)).toEqual([]);
    await cluster.commit(committed);
    await cluster.ok("abort_transaction", `{transaction_id="${aborted}"}`);
    expect(await keysOf(path)).toEqual([1]);
    const again = await cluster.error("commit_transaction", `{transaction_id="${committed}"}`);
    expect(again.code).toBe(11000);
  });

  it("[tables 114] more than 100,000 rows in one transaction are too many", async () => {
    const path = await queue();
    const transaction = await cluster.startTransaction();
    const more = `transaction_id="${transaction}"`;
    await cluster.insert(path, "{key=1};".repeat(100_000), more);
    const error = await cluster.error("insert_rows", `{path="${path}";${more}}`, "{key=1}");
    expect(error.code).toBe(1717);
    expect(messagesOf(error)).toContain("Transaction affects too many rows");
    expect(error.attributes.get("limit")).toBe(100_000n);
  });

  it("[tables 115] rows of one commit have one timestamp in both queues", async () => {
    const schema = '[{name=key;type=int64};{name="$timestamp";type=uint64}]';
    const paths = ["//tmp/stamped1", "//tmp/stamped2"];
    const transaction = await cluster.startTransaction();
    for (const path of paths) {
      await cluster.createTable(path, `dynamic=%true;schema=${schema}`);
      await cluster.mount(path);
      await cluster.insert(path, "{key=1};{key=2}", `transaction_id="${transaction}"`);
    }
    await cluster.commit(transaction);
    const stamps = new Set<string>();
    for (const path of paths) {
      const text = await cluster.ok(
        "select_rows",
        `{query="[$timestamp] as t from [${path}]";output_format=<format=text>yson}`,
      );
      for (const [stamp] of text.matchAll(/\d+u/g)) {
        stamps.add(stamp);
      }
    }
    expect(stamps.size).toBe(1);
  });
});

describe("selecting", () => {
  let path = "";
  beforeAll(async () => {
    path = await queue(2);
    await cluster.insert(
      path,
      numberedRows(0, 50, '"$tablet_index"=0') + numberedRows(100, 150, '"$tablet_index"=1'),
    );
  });

  it("[tables 116] ten rows of one tablet", async () => {
    expect(await keysOf(path, "where [$tablet_index] = 1 and [$row_index] between 10 and 19")).toEqual(
      Array.from({ length: 10 }, (_, index) => 110 + index),
    );
  });

  it("[tables 117] limits and bounds of row indexes cut exactly", async () => {
    for (const [where, from, to] of [
      ["[$tablet_index] = 0 limit 10", 0, 10],
      ["[$tablet_index] = 1 limit 10", 100, 110],
      ["[$tablet_index] = 0 and [$row_index] < 5", 0, 5],
      ["[$tablet_index] = 0 and [$row_index] <= 5", 0, 6],
      ["[$tablet_index] = 0 and [$row_index] > 45", 46, 50],
      ["[$tablet_index] = 0 and [$row_index] >= 45", 45, 50],
      ["[$tablet_index] = 0 and [$row_index] > 5 and [$row_index] < 8", 6, 8],
      ["[$tablet_index] = 1 and [$row_index] >= 5 and [$row_index] <= 8", 105, 109],
      ["([$tablet_index], [$row_index]) >= (1, 48)", 148, 150],
      ["[$tablet_index] = 0 and [$row_index] > 100", 0, 0],
    ] as const) {
      const expected = Array.from({ length: to - from }, (_, index) => from + index);
      expect(await keysOf(path, `where ${where}`), where).toEqual(expected);
    }
  });

  it("[tables 118] tablets that are not there have no rows", async () => {
    expect(await keysOf(path, "where [$tablet_index] in (-10, 20)")).toEqual([]);
    expect(await keysOf(path, "where [$tablet_index] >= null")).toHaveLength(100);
    expect(await keysOf(path, "where [$tablet_index] in (-10, 1, 20)")).toHaveLength(50);
  });

  it("[tables 119] only the columns asked for, in the order of the query", async () => {
    const text = (columns: string): Promise<string> =>
      cluster.ok(
        "select_rows",
        `{query="${columns} from [${path}] limit 1";output_format=<format=text>yson}`,
      );
    expect(await text("[$row_index]")).toBe('{"$row_index"=0;};\n');
    expect(await text("value")).toBe('{"value"="v0";};\n');
    expect(await text("value, [$tablet_index], key")).toBe('{"value"="v0";"$tablet_index"=0;"key"=0;};\n');
  });
});

describe("trimming", () => {
  it("[tables 120] [tables 121] rows below the count go, the rest keep their indexes", async () => {
    const path = await queue();
    await cluster.insert(path, numberedRows(0, 5));
    const trim = (count: number): Promise<string> =>
      cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=${count}}`);
    await trim(3);
    const rest = [
      { i: 3, key: 3 },
      { i: 4, key: 4 },
    ];
    expect(await cluster.select(`[$row_index] as i, key from [${path}]`)).toEqual(rest);
    for (const count of [-1, 0, 2, 3]) {
      await trim(count);
    }
    expect(await cluster.select(`[$row_index] as i, key from [${path}]`)).toEqual(rest);
  });

  it("[tables 122] what cannot be trimmed", async () => {
    const path = await queue(2);
    await cluster.insert(path, numberedRows(0, 5, '"$tablet_index"=0'));
    const beyond = await cluster.error("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=7}`);
    expect(messagesOf(beyond)).toMatch(/Cannot trim tablet \S+ at row 7 since it only has 5 row\(s\)/);
    for (const index of [2, -1]) {
      const error = await cluster.error(
        "trim_rows",
        `{path="${path}";tablet_index=${index};trimmed_row_count=1}`,
      );
      expect(error.code).toBe(1701);
      expect(messagesOf(error)).toContain(`expected in range [0,1], got ${index}`);
    }
    await cluster.createSorted("//tmp/trim-sorted");
    const sorted = await cluster.error(
      "trim_rows",
      '{path="//tmp/trim-sorted";tablet_index=0;trimmed_row_count=1}',
    );
    expect(messagesOf(sorted)).toContain("Table //tmp/trim-sorted is not ordered");
    await cluster.unmount(path);
    const unmounted = await cluster.error("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=1}`);
    expect(unmounted.code).toBe(1702);
  });

  it("[tables 123] [tables 124] [tables 126] whole chunks go; the count survives a new mount; readers obey it", async () => {
    const path = await queue();
    for (let chunk = 0; chunk < 3; chunk++) {
      await cluster.insert(path, numberedRows(2 * chunk, 2 * chunk + 2));
      await cluster.flush(path);
    }
    expect(await cluster.get(`${path}/@chunk_count`)).toBe(3);
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=3}`);
    expect(await cluster.get(`${path}/@chunk_count`)).toBe(2);
    await cluster.insert(path, numberedRows(6, 7));
    expect((await cluster.read(path)).map(({ key }) => key)).toEqual([3, 4, 5]);
    await cluster.flush(path);
    expect(await tablet(path)).toMatchObject({ trimmed_row_count: 3, flushed_row_count: 7 });
    expect(await keysOf(path)).toEqual([3, 4, 5, 6]);
  });

  it("[tables 125] a forced unmount goes back to what was flushed", async () => {
    const path = await queue();
    await cluster.insert(path, numberedRows(0, 2));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(2, 5));
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=4}`);
    await cluster.unmount(path, "force=%true");
    expect(await tablet(path)).toMatchObject({ trimmed_row_count: 2, flushed_row_count: 2 });
    await cluster.mount(path);
    expect(await keysOf(path)).toEqual([]);
    await cluster.insert(path, "{key=9}");
    expect(await cluster.select(`[$row_index] as i, key from [${path}]`)).toEqual([{ i: 2, key: 9 }]);
  });

  it("[tables 136] what the trimmed chunks weighed is counted", async () => {
    const path = `//tmp/weights${++tableCount}`;
    await cluster.createTable(path, "dynamic=%true;schema=[{name=value;type=string}]");
    await cluster.mount(path);
    for (const weight of [8, 13, 8, 5]) {
      await cluster.insert(path, `{value="${"x".repeat(weight - 1)}"}`);
      await cluster.flush(path);
    }
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=3}`);
    expect(await cluster.get(`${path}/@data_weight`)).toBe(5);
  });
});

describe("reading and counts", () => {
  it("[tables 127] [tables 128] read_table sees chunks, and with enable_dynamic_store_read all rows", async () => {
    const path = await queue();
    await cluster.insert(path, numberedRows(0, 2));
    expect(await cluster.read(path)).toEqual([]);
    await cluster.ok("freeze_table", `{path="${path}"}`);
    expect(await cluster.read(path)).toHaveLength(2);
    await cluster.ok("unfreeze_table", `{path="${path}"}`);
    expect(
      messagesOf(await cluster.error("set", `{path="${path}/@enable_dynamic_store_read"}`, "%true")),
    ).toContain("since not all tablets are unmounted");
    await cluster.unmount(path);
    await cluster.set(`${path}/@enable_dynamic_store_read`, "%true");
    await cluster.mount(path);
    await cluster.insert(path, numberedRows(2, 3));
    expect((await cluster.read(path)).map(({ key }) => key)).toEqual([0, 1, 2]);
  });

  it("[tables 129] [tables 130] read ranges name the tablet; nothing is written with write_table", async () => {
    const path = await queue(2);
    await cluster.insert(path, numberedRows(0, 5, '"$tablet_index"=1'));
    await cluster.flush(path);
    await cluster.error("read_table", `{path="${path}[#1:#3]";output_format=json}`);
    const range =
      "<ranges=[{lower_limit={tablet_index=1;row_index=1};upper_limit={tablet_index=1;row_index=3}}]>";
    const text = await cluster.ok("read_table", `{path=${range}"${path}";output_format=json}`);
    expect(text).toBe('{"key":1,"value":"v1"}\n{"key":2,"value":"v2"}\n');
    await cluster.error("write_table", `{path="${path}"}`, "{key=1}");
    await cluster.error("write_table", `{path="<append=%true>${path}"}`, "{key=1}");
  });

  it("[tables 131] get_tablet_infos counts rows; the barrier passes timestamps given out before", async () => {
    const path = await queue(2);
    await cluster.insert(path, numberedRows(0, 5, '"$tablet_index"=0'));
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=2}`);
    const { timestamp } = Object(await cluster.value("generate_timestamp", "{}"));
    const answer = await cluster.value("get_tablet_infos", `{path="${path}";tablet_indexes=[0;1]}`);
    const infos = fieldOf(answer, "tablets");
    expect(infos).toMatchObject([
      { total_row_count: 5, trimmed_row_count: 2 },
      { total_row_count: 0, trimmed_row_count: 0, last_write_timestamp: 0 },
    ]);
    const [first, second] = Array.isArray(infos) ? infos : [];
    expect(first.barrier_timestamp).toBeGreaterThanOrEqual(timestamp);
    expect(second.barrier_timestamp).toBeGreaterThanOrEqual(timestamp);
    expect(first.last_write_timestamp).toBeGreaterThan(0);
    expect((await cluster.error("get_tablet_infos", `{path="${path}";tablet_indexes=[2]}`)).code).toBe(1701);
    await cluster.unmount(path);
    expect((await cluster.error("get_tablet_infos", `{path="${path}";tablet_indexes=[0]}`)).code).toBe(1702);
  });
});

describe("retention and flushing on a clock of the test's own", () => {
  it("[tables 132] [tables 133] [tables 134] old chunks are trimmed where the settings ask for it", async () => {
    const clock = new FakeClock();
    const own = await TestCluster.start({ clock });
    try {
      const settings =
        "min_data_versions=0;max_data_versions=0;min_data_ttl=5000;dynamic_store_auto_flush_period=#";
      const tables = {
        "//tmp/expiring": settings,
        "//tmp/kept": `${settings};row_count_to_keep=2`,
        "//tmp/default": "min_data_ttl=5000;dynamic_store_auto_flush_period=#",
        "//tmp/unflushed": settings,
      };
      for (const [path, attributes] of Object.entries(tables)) {
        await own.createQueue(path, { attributes });
        for (const count of [2, 1, 1, 1]) {
          await own.insert(path, numberedRows(0, count));
          if (path !== "//tmp/unflushed") {
            await own.flush(path);
          }
        }
      }
      const trimmed = async (path: string): Promise<unknown> =>
        own.get(`${path}/@tablets/0/trimmed_row_count`);
      await clock.advance(3_000);
      expect(await trimmed("//tmp/expiring")).toBe(0);
      await clock.advance(5_000);
      expect(await trimmed("//tmp/expiring")).toBe(5);
      expect(await trimmed("//tmp/kept")).toBe(3);
      expect(await trimmed("//tmp/default")).toBe(0);
      expect(await trimmed("//tmp/unflushed")).toBe(0);
      expect(await own.get("//tmp/expiring/@chunk_count")).toBe(0);
    } finally {
      await own.stop();
    }
  });

  it("[tables 135] the dynamic store is flushed by its period", async () => {
    const clock = new FakeClock();
    const own = await TestCluster.start({ clock });
    try {
      await own.createQueue("//tmp/q", {
        attributes: "dynamic_store_auto_flush_period=1000;dynamic_store_flush_period_splay=0",
      });
      await own.insert("//tmp/q", numberedRows(0, 3));
      expect(await own.get("//tmp/q/@tablets/0/flushed_row_count")).toBe(0);
      await clock.advance(4_000);
      expect(await own.get("//tmp/q/@tablets/0/flushed_row_count")).toBe(3);
      expect(await own.read("//tmp/q")).toHaveLength(3);
    } finally {
      await own.stop();
    }
  });
});
