/** Rows of sorted dynamic tables over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { messagesOf, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

let tableCount = 0;
async function sorted(schema?: string, attributes = ""): Promise<string> {
  const path = `//tmp/s${++tableCount}`;
  await cluster.createSorted(path, schema, attributes);
  return path;
}

async function timestamp(): Promise<string> {
  const text = await cluster.ok("generate_timestamp", "{output_format=<format=text>yson}");
  return /\d+u/.exec(text)?.[0] ?? "";
}

describe("lookup_rows", () => {
  it("[tables 139] missing rows are dropped, or entities if asked for", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a};{key=3;value=c}");
    expect(await cluster.lookup(path, "{key=1};{key=2};{key=3}")).toEqual([
      { key: 1, value: "a" },
      { key: 3, value: "c" },
    ]);
    expect(await cluster.lookup(path, "{key=1};{key=2}", "keep_missing_rows=%true")).toEqual([
      { key: 1, value: "a" },
      null,
    ]);
  });

  it("[tables 140] one answer for each key, in the order of the request", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a};{key=2;value=b}");
    expect(
      (await cluster.lookup(path, "{key=1};{key=1};{key=2};{key=1}")).map((row) => row?.["value"]),
    ).toEqual(["a", "a", "b", "a"]);
  });

  it("the same lookup again sees the table as it is: written, altered, unmounted, made anew", async () => {
    const path = await sorted();
    const all = (): Promise<unknown> => cluster.lookup(path, "{key=1};{key=2}", "keep_missing_rows=%true");
    expect(await all()).toEqual([null, null]);
    await cluster.insert(path, "{key=1;value=a}");
    expect(await all()).toEqual([{ key: 1, value: "a" }, null]);
    await cluster.insert(path, `{key=2;value="${"x".repeat(20_000)}"}`);
    expect(await all()).toEqual([
      { key: 1, value: "a" },
      { key: 2, value: "x".repeat(20_000) },
    ]);
    await cluster.ok("delete_rows", `{path="${path}"}`, "{key=2}");
    await cluster.insert(path, "{key=1;value=b}");
    expect(await all()).toEqual([{ key: 1, value: "b" }, null]);
    await cluster.unmount(path);
    await expect(all()).rejects.toMatchObject({ code: 1702 });
    await cluster.ok(
      "alter_table",
      `{path="${path}";schema=<unique_keys=%true;strict=%true>[{name=key;type=int64;sort_order=ascending};{name=more;type=string};{name=value;type=string}]}`,
    );
    await cluster.mount(path);
    expect(await all()).toEqual([{ key: 1, more: null, value: "b" }, null]);
    await cluster.ok("remove", `{path="${path}"}`);
    await expect(all()).rejects.toMatchObject({ code: 500 });
    await cluster.createSorted(path);
    expect(await all()).toEqual([null, null]);
    await cluster.insert(path, "{key=2;value=c}");
    expect(await all()).toEqual([null, { key: 2, value: "c" }]);
  });

  it("[tables 141] versions newest first, deletions beside them", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    await cluster.insert(path, "{key=1;value=b}");
    await cluster.ok("delete_rows", `{path="${path}"}`, "{key=1}");
    await cluster.insert(path, "{key=1;value=c}");
    const text = await cluster.ok(
      "lookup_rows",
      `{path="${path}";versioned=%true;output_format=<format=text>yson}`,
      "{key=1};{key=2}",
    );
    const match =
      /^<"write_timestamps"=\[(.*?);\];"delete_timestamps"=\[(.*?);\];>\{"key"=1;"value"=\[(.*)\];\};\n$/.exec(
        text,
      );
    expect(match, text).not.toBeNull();
    const written = (match?.[1] ?? "").split(";").map((stamp) => BigInt(stamp.slice(0, -1)));
    const deleted = (match?.[2] ?? "").split(";").map((stamp) => BigInt(stamp.slice(0, -1)));
    expect(written).toHaveLength(3);
    expect(written).toEqual([...written].sort((a, b) => (a < b ? 1 : -1)));
    expect(deleted).toHaveLength(1);
    const values = [...(match?.[3] ?? "").matchAll(/<"timestamp"=(\d+)u;>"(\w)"/g)];
    expect(values.map(([, stamp, value]) => [BigInt(stamp ?? 0), value])).toEqual([
      [written[0], "c"],
      [written[1], "b"],
      [written[2], "a"],
    ]);
  });

  it("[tables 142] column_names limits and orders the columns", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    expect(await cluster.lookup(path, "{key=1}", "column_names=[value]")).toEqual([{ value: "a" }]);
    const text = await cluster.ok(
      "lookup_rows",
      `{path="${path}";column_names=[value;key];output_format=<format=text>yson}`,
      "{key=1}",
    );
    expect(text).toBe('{"value"="a";"key"=1;};\n');
    const error = await cluster.error("lookup_rows", `{path="${path}";column_names=[zz]}`, "{key=1}");
    expect(messagesOf(error)).toContain('No such column "zz"');
    for (const [suffix, text] of [
      ["{value}", 'Columns cannot be specified with table path, use "column_names" instead'],
      ["[1:2]", "Ranges cannot be specified"],
    ]) {
      const refused = await cluster.error("lookup_rows", `{path="${path}${suffix}"}`, "{key=1}");
      expect(messagesOf(refused)).toContain(text);
    }
  });

  it("[tables 152] at an old timestamp a deleted row is there", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    const before = await timestamp();
    await cluster.ok("delete_rows", `{path="${path}"}`, "{key=1};{key=5}");
    expect(await cluster.lookup(path, "{key=1}")).toEqual([]);
    expect(await cluster.lookup(path, "{key=1}", `timestamp=${before}`)).toEqual([{ key: 1, value: "a" }]);
    expect(await cluster.select(`* from [${path}]`, `timestamp=${before}`)).toEqual([{ key: 1, value: "a" }]);
    const error = await cluster.error(
      "lookup_rows",
      `{path="${path}";timestamp=18446744073709551615u}`,
      "{key=1}",
    );
    expect(messagesOf(error)).toContain("Invalid read timestamp");
  });

  it("answers many keys, in order", async () => {
    const path = await sorted();
    const count = 3_000;
    await cluster.insert(
      path,
      Array.from({ length: count }, (_, key) => `{key=${key};value=v${key}}`).join(";"),
    );
    const keys = Array.from({ length: count }, (_, key) => (key * 7) % count);
    const rows = await cluster.lookup(path, keys.map((key) => `{key=${key}}`).join(";"));
    expect(rows.map((row) => row?.["key"])).toEqual(keys);
  });
});

describe("insert_rows", () => {
  it("[tables 143] absent columns become null, or stay in update mode", async () => {
    const path = await sorted(
      "[{name=key;type=int64;sort_order=ascending};{name=a;type=int64};{name=b;type=int64}]",
    );
    await cluster.insert(path, "{key=1;a=1;b=1};{key=2;a=1;b=1}");
    await cluster.insert(path, "{key=1;a=2}");
    await cluster.insert(path, "{key=2;a=2}", "update=%true");
    expect(await cluster.lookup(path, "{key=1};{key=2}")).toEqual([
      { key: 1, a: 2, b: null },
      { key: 2, a: 2, b: 1 },
    ]);
  });

  it("[tables 144] aggregate columns are added up, or replaced without the flag", async () => {
    const path = await sorted(
      "[{name=key;type=int64;sort_order=ascending};{name=n;type=int64;aggregate=sum}]",
    );
    const value = async (): Promise<unknown> => (await cluster.lookup(path, "{key=1}"))[0]?.["n"];
    await cluster.insert(path, "{key=1;n=1}");
    await cluster.insert(path, "{key=1;n=2}", "aggregate=%true");
    await cluster.insert(path, "{key=1;n=3}", "aggregate=%true");
    expect(await value()).toBe(6);
    await cluster.insert(path, "{key=1;n=2}", "aggregate=%true;update=%true");
    expect(await value()).toBe(8);
    await cluster.insert(path, "{key=1;n=5}");
    expect(await value()).toBe(5);
  });

  it("[tables 153] a missing key column is an error, a null key is a key", async () => {
    const path = await sorted();
    for (const parameters of ["", "update=%true"]) {
      const error = await cluster.error("insert_rows", `{path="${path}";${parameters}}`, "{value=a}");
      expect(messagesOf(error)).toContain('Missing key column "key"');
    }
    await cluster.insert(path, "{key=#;value=n}");
    await cluster.insert(path, "{value=m}", "allow_missing_key_columns=%true");
    expect(await cluster.select(`* from [${path}]`)).toEqual([{ key: null, value: "m" }]);
    expect(await cluster.lookup(path, "{key=#};{}")).toHaveLength(2);
  });

  it("[tables 155] values of any type come back as they were", async () => {
    const path = await sorted("[{name=key;type=int64;sort_order=ascending};{name=value;type=any}]");
    const values = ["{a=[1;2u;-1.5;%true;#];b={c=d}}", "[1;[2;[]]]", '"text"', "5", "#", "<a=1>[1]"];
    for (const [key, value] of values.slice(0, 5).entries()) {
      await cluster.insert(path, `{key=${key};value=${value}}`);
    }
    const text = await cluster.ok(
      "lookup_rows",
      `{path="${path}";column_names=[value];output_format=<format=text>yson}`,
      values
        .slice(0, 5)
        .map((_, key) => `{key=${key}}`)
        .join(";"),
    );
    expect(text.split("\n")).toEqual([
      '{"value"={"a"=[1;2u;-1.5;%true;#;];"b"={"c"="d";};};};',
      '{"value"=[1;[2;[];];];};',
      '{"value"="text";};',
      '{"value"=5;};',
      '{"value"=#;};',
      "",
    ]);
    const error = await cluster.error("insert_rows", `{path="${path}"}`, `{key=9;value=${values[5]}}`);
    expect(messagesOf(error)).toContain("top-level attributes");
  });

  it("[tables 157] NaN is no key", async () => {
    const path = await sorted("[{name=key;type=double;sort_order=ascending};{name=value;type=string}]");
    for (const command of ["insert_rows", "delete_rows", "lookup_rows"]) {
      const error = await cluster.error(command, `{path="${path}"}`, "{key=%nan}");
      expect(error.has(325), command).toBe(true);
    }
  });

  it("a hundred thousand rows in one request", async () => {
    const path = await sorted();
    const rows = Array.from({ length: 100_000 }, (_, key) => `{key=${key};value=v}`).join(";");
    await cluster.insert(path, rows);
    expect(await cluster.select(`sum(1) as n, max(key) as m from [${path}] group by 1`)).toEqual([
      { n: 100_000, m: 99_999 },
    ]);
    const error = await cluster.error("insert_rows", `{path="${path}"}`, `${rows};{key=100000}`);
    expect(messagesOf(error)).toMatch(/too many rows/i);
  });
});

describe("transactions", () => {
  it("[tables 145] [tables 146] of two writers of a key the second commit is refused", async () => {
    const path = await sorted();
    const first = await cluster.startTransaction();
    const second = await cluster.startTransaction();
    await cluster.insert(path, "{key=1;value=a}", `transaction_id="${first}"`);
    await cluster.commit(first);
    await cluster.insert(path, "{key=1;value=b}", `transaction_id="${second}"`);
    const error = await cluster.error("commit_transaction", `{transaction_id="${second}"}`);
    expect(error.code).toBe(1700);
    const conflict = error.innerErrors[0];
    expect(conflict?.message).toBe("Row lock conflict due to concurrent write");
    expect(conflict?.attributes.get("loser_transaction_id")).toBe(second);
    expect(conflict?.attributes.has("winner_transaction_commit_timestamp")).toBe(true);
    expect(conflict?.attributes.get("tablet_id")).toBe(await cluster.get(`${path}/@tablets/0/tablet_id`));
    expect(conflict?.attributes.get("table_path")).toBe(path);
    expect(await cluster.lookup(path, "{key=1}")).toEqual([{ key: 1, value: "a" }]);
  });

  it("[tables 147] [tables 148] [tables 149] locks and lock groups", async () => {
    const path = await sorted(
      "[{name=key;type=int64;sort_order=ascending};{name=a;type=int64;lock=a};{name=b;type=int64;lock=b};{name=n;type=int64;aggregate=sum}]",
    );
    const run = async (
      one: (more: string) => Promise<unknown>,
      two: (more: string) => Promise<unknown>,
    ): Promise<number> => {
      const first = await cluster.startTransaction();
      const second = await cluster.startTransaction();
      await one(`transaction_id="${first}"`);
      await two(`transaction_id="${second}"`);
      await cluster.commit(first);
      const reply = await cluster.call("commit_transaction", `{transaction_id="${second}"}`);
      return reply.status === 200 ? 0 : Number(reply.headers["x-yt-response-code"]);
    };
    const write =
      (row: string, parameters = "update=%true") =>
      (more: string): Promise<void> =>
        cluster.insert(path, row, `${parameters};${more}`);
    const lock =
      (parameters: string) =>
      (more: string): Promise<string> =>
        cluster.ok("lock_rows", `{path="${path}";${parameters};${more}}`, "{key=1}");
    expect(await run(write("{key=1;a=1}"), write("{key=1;b=1}"))).toBe(0);
    expect(await run(write("{key=1;a=1}"), write("{key=1;a=2}"))).toBe(1700);
    expect(await run(lock("lock_type=shared_strong"), write("{key=1;n=1}"))).toBe(1700);
    expect(await run(lock("locks=[a]"), write("{key=1;b=1}"))).toBe(0);
    expect(await run(lock("locks=[a]"), write("{key=1;a=1}"))).toBe(1700);
    expect(await run(lock("lock_type=shared_strong"), lock("lock_type=shared_strong"))).toBe(0);
    expect(await run(lock("lock_type=exclusive"), lock("lock_type=shared_weak"))).toBe(1700);
    const add = write("{key=1;n=5}", "update=%true;aggregate=%true;lock_type=shared_write");
    expect(await run(add, add)).toBe(0);
    expect((await cluster.lookup(path, "{key=1}"))[0]?.["n"]).toBe(10);
    await cluster.error("lock_rows", `{path="${path}"}`, "{key=1}");
  });

  it("[tables 150] reads inside are as of the start", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    const transaction = await cluster.startTransaction();
    await cluster.insert(path, "{key=1;value=b}");
    const more = `transaction_id="${transaction}"`;
    expect(await cluster.lookup(path, "{key=1}", more)).toEqual([{ key: 1, value: "a" }]);
    expect(await cluster.select(`* from [${path}]`, more)).toEqual([{ key: 1, value: "a" }]);
    expect(await cluster.lookup(path, "{key=1}")).toEqual([{ key: 1, value: "b" }]);
  });

  it("[tables 151] atomicity of the table and of the request must match", async () => {
    const path = await sorted(undefined, "atomicity=none");
    const plain = await sorted();
    const loose = await cluster.startTransaction("type=tablet;atomicity=none");
    const full = await cluster.startTransaction("type=tablet");
    expect((await cluster.error("insert_rows", `{path="${path}"}`, "{key=1}")).code).toBe(11008);
    expect(
      (await cluster.error("insert_rows", `{path="${path}";transaction_id="${full}"}`, "{key=1}")).code,
    ).toBe(11008);
    expect(
      (await cluster.error("insert_rows", `{path="${plain}";transaction_id="${loose}"}`, "{key=1}")).code,
    ).toBe(11008);
    await cluster.insert(path, "{key=1;value=a}", `transaction_id="${loose}"`);
    await cluster.commit(loose);
    await cluster.insert(path, "{key=2;value=b}", "atomicity=none");
    expect(await cluster.select(`key from [${path}]`)).toEqual([{ key: 1 }, { key: 2 }]);
  });
});

describe("shape", () => {
  it("[tables 154] a key column may be added at the end of the key only", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    await cluster.unmount(path);
    const columns = ["{name=key;type=int64;sort_order=ascending}", "{name=value;type=string}"];
    const added = "{name=second;type=int64;sort_order=ascending}";
    const alter = (schema: readonly (string | undefined)[]): string =>
      `{path="${path}";schema=[${schema.join(";")}]}`;
    expect((await cluster.error("alter_table", alter([added, ...columns]))).code).toBe(316);
    await cluster.ok("alter_table", alter([columns[0], added, columns[1]]));
    await cluster.mount(path);
    await cluster.insert(path, "{key=1;second=0;value=b}");
    expect(await cluster.select(`* from [${path}]`)).toEqual([
      { key: 1, second: null, value: "a" },
      { key: 1, second: 0, value: "b" },
    ]);
    expect(await cluster.select(`value from [${path}] where key = 1 and second = null`)).toEqual([
      { value: "a" },
    ]);
    expect(await cluster.select(`value from [${path}] where key = 1 and second > null`)).toEqual([
      { value: "b" },
    ]);
  });

  it("[tables 156] pivot keys divide the keys", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a};{key=10;value=b};{key=20;value=c}");
    await cluster.unmount(path);
    for (const [pivots, text] of [
      ["[[5]]", "First pivot key must be empty"],
      ["[[];[10];[10]]", "Pivot keys must be strictly increasing"],
      ["[[];[10];[5]]", "Pivot keys must be strictly increasing"],
    ]) {
      const error = await cluster.error("reshard_table", `{path="${path}";pivot_keys=${pivots}}`);
      expect(messagesOf(error)).toContain(text);
    }
    await cluster.ok("reshard_table", `{path="${path}";pivot_keys=[[];[10]]}`);
    expect(await cluster.get(`${path}/@tablet_count`)).toBe(2);
    expect(await cluster.get(`${path}/@pivot_keys`)).toEqual([[], [10]]);
    await cluster.mount(path, "first_tablet_index=1;last_tablet_index=1");
    await cluster.insert(path, "{key=10;value=x}");
    expect((await cluster.error("insert_rows", `{path="${path}"}`, "{key=9;value=x}")).code).toBe(1702);
    expect(await cluster.lookup(path, "{key=10};{key=20}")).toHaveLength(2);
    expect((await cluster.error("lookup_rows", `{path="${path}"}`, "{key=1}")).code).toBe(1702);
    await cluster.mount(path);
    expect(await cluster.select(`* from [${path}]`)).toHaveLength(3);
    await cluster.unmount(path);
    for (const [parameters, text] of [
      ["first_tablet_index=1;last_tablet_index=1;pivot_keys=[[15];[20]]", "First pivot key must match"],
      [
        "first_tablet_index=0;last_tablet_index=0;pivot_keys=[[];[10]]",
        "Last pivot key must be strictly less",
      ],
    ]) {
      const error = await cluster.error("reshard_table", `{path="${path}";${parameters}}`);
      expect(messagesOf(error)).toContain(text);
    }
    await cluster.ok(
      "reshard_table",
      `{path="${path}";first_tablet_index=1;last_tablet_index=1;pivot_keys=[[10];[15]]}`,
    );
    expect(await cluster.get(`${path}/@pivot_keys`)).toEqual([[], [10], [15]]);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=1}`);
    expect(await cluster.get(`${path}/@pivot_keys`)).toEqual([[]]);
  });

  it("reshards to a tablet count by data, or uniformly", async () => {
    const path = await sorted("[{name=key;type=uint64;sort_order=ascending};{name=value;type=string}]");
    await cluster.insert(path, Array.from({ length: 100 }, (_, key) => `{key=${key}u;value=v}`).join(";"));
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=4}`);
    expect(await cluster.get(`${path}/@pivot_keys`)).toEqual([[], [25], [50], [75]]);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=2;uniform=%true}`);
    expect(
      await cluster.ok(
        "get",
        `{path="${path}/@pivot_keys";return_only_value=%true;output_format=<format=text>yson}`,
      ),
    ).toBe("[[];[9223372036854775808u;];]");
    await cluster.mount(path);
    expect(await cluster.select(`sum(1) as n from [${path}] group by 1`)).toEqual([{ n: 100 }]);
  });

  it("copies and moves take the rows along", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a};{key=2;value=b}");
    await cluster.unmount(path);
    await cluster.ok("copy", `{source_path="${path}";destination_path="//tmp/sorted-copy"}`);
    await cluster.ok("move", `{source_path="${path}";destination_path="//tmp/sorted-moved"}`);
    await cluster.mount("//tmp/sorted-copy");
    await cluster.mount("//tmp/sorted-moved");
    await cluster.insert("//tmp/sorted-copy", "{key=1;value=x}");
    expect(await cluster.lookup("//tmp/sorted-copy", "{key=1};{key=2}")).toEqual([
      { key: 1, value: "x" },
      { key: 2, value: "b" },
    ]);
    expect(await cluster.lookup("//tmp/sorted-moved", "{key=1}")).toEqual([{ key: 1, value: "a" }]);
    await cluster.ok("remove", '{path="//tmp/sorted-copy"}');
    expect(await cluster.lookup("//tmp/sorted-moved", "{key=1};{key=2}")).toHaveLength(2);
  });

  it("a move inside a transaction that is aborted leaves everything in place", async () => {
    const path = await sorted();
    await cluster.insert(path, "{key=1;value=a}");
    await cluster.unmount(path);
    const transaction = await cluster.startTransaction("type=master");
    await cluster.ok(
      "move",
      `{source_path="${path}";destination_path="//tmp/moved-inside";transaction_id="${transaction}"}`,
    );
    await cluster.ok("abort_transaction", `{transaction_id="${transaction}"}`);
    await cluster.mount(path);
    expect(await cluster.lookup(path, "{key=1}")).toEqual([{ key: 1, value: "a" }]);
  });
});

describe("computed columns", () => {
  const schema =
    '[{name=h;type=uint64;sort_order=ascending;expression="farm_hash(key) % 16"};{name=key;type=int64;sort_order=ascending};{name=value;type=string};{name=n;type=int64}]';

  it("are evaluated on insert, lookup and delete", async () => {
    const path = await sorted(schema);
    await cluster.insert(path, "{key=1;value=a;n=1};{key=2;value=b};{key=3;value=c}");
    await cluster.insert(path, "{key=1;value=x}", "update=%true");
    const rows = await cluster.select(`h, farm_hash(key) % 16 as expected, key, value, n from [${path}]`);
    expect(rows).toHaveLength(3);
    for (const row of rows) {
      expect(row["h"]).toBe(row["expected"]);
    }
    expect(await cluster.lookup(path, "{key=1};{key=2}", "column_names=[key;value;n]")).toEqual([
      { key: 1, value: "x", n: 1 },
      { key: 2, value: "b", n: null },
    ]);
    await cluster.ok("delete_rows", `{path="${path}"}`, "{key=2}");
    expect(await cluster.lookup(path, "{key=1};{key=2};{key=3}")).toHaveLength(2);
    const transaction = await cluster.startTransaction();
    await cluster.ok("lock_rows", `{path="${path}";transaction_id="${transaction}"}`, "{key=1}");
    await cluster.commit(transaction);
  });

  it("are not written by anybody", async () => {
    const path = await sorted(schema);
    const error = await cluster.error("insert_rows", `{path="${path}"}`, "{h=1u;key=1;value=a}");
    expect(messagesOf(error)).toContain('"h"');
    expect(await cluster.select(`* from [${path}]`)).toEqual([]);
  });

  it("must be expressions over the other key columns", async () => {
    for (const column of [
      '{name=h;type=uint64;sort_order=ascending;expression="farm_hash(value)"}',
      '{name=h;type=uint64;sort_order=ascending;expression="farm_hash(h)"}',
      '{name=h;type=uint64;sort_order=ascending;expression="farm_hash("}',
      '{name=h;type=string;sort_order=ascending;expression="farm_hash(key)"}',
      '{name=h;type=uint64;sort_order=ascending;required=%true;expression="farm_hash(key)"}',
    ]) {
      const columns = `[${column};{name=key;type=int64;sort_order=ascending};{name=value;type=string}]`;
      const error = await cluster.error(
        "create",
        `{type=table;path="//tmp/bad-computed";attributes={dynamic=%true;schema=${columns}}}`,
      );
      expect(error.has(314), `${column}: ${messagesOf(error)}`).toBe(true);
      expect(messagesOf(error)).toContain('column "h"');
    }
  });

  it("are not added, changed or taken away by alter_table", async () => {
    const path = await sorted(schema);
    await cluster.unmount(path);
    const changed = schema.replace("% 16", "% 32");
    expect((await cluster.error("alter_table", `{path="${path}";schema=${changed}}`)).code).toBe(316);
    const plain = await sorted();
    await cluster.unmount(plain);
    const added =
      '[{name=key;type=int64;sort_order=ascending};{name=h;type=int64;sort_order=ascending;expression="key + 1"};{name=value;type=string}]';
    expect((await cluster.error("alter_table", `{path="${plain}";schema=${added}}`)).code).toBe(316);
  });
});
