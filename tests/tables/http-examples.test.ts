/** The wire examples of transactions, dynamic tables, queues and batches, byte by byte where they say so. */
import { brotliCompressSync, deflateSync } from "node:zlib";
import { FakeClock } from "@qyt/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf, messagesOf, numberedRows, sortedSchema, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

const yson = "<format=text>yson";

describe("transactions", () => {
  it("[http 70] [http 71] start_transaction, nested, and start_tx of API v3", async () => {
    const started = await cluster.request("/api/v4/start_transaction", {
      method: "POST",
      body: '{transaction_id="0-0-0-0";timeout=30000;type=master;attributes={title=x}}',
    });
    expect(started.status).toBe(200);
    const id = String(fieldOf(JSON.parse(started.text), "transaction_id"));
    expect(id).toMatch(/^[0-9a-f]+-[0-9a-f]+-[0-9a-f]*0001-[0-9a-f]+$/);
    expect(await cluster.get(`//sys/transactions/${id}/@title`)).toBe("x");
    const nested = await cluster.value("start_transaction", `{transaction_id="${id}"}`);
    expect(fieldOf(nested, "transaction_id")).toMatch(/-[0-9a-f]*0004-/);
    const v3 = await cluster.call("start_tx", "{output_format=json}", { version: 3 });
    expect(JSON.parse(v3.text)).toMatch(/^[0-9a-f]+-[0-9a-f]+-[0-9a-f]*0001-[0-9a-f]+$/);
  });

  it("[http 72] ping_transaction", async () => {
    const id = await cluster.startTransaction("type=master");
    expect(await cluster.ok("ping_transaction", `{transaction_id="${id}";output_format=json}`)).toBe("{}");
    const without = await cluster.call("ping_transaction", "{}");
    expect([without.status, without.text]).toEqual([200, ""]);
    expect((await cluster.error("ping_transaction", '{transaction_id="1-2-10001-3"}')).code).toBe(11000);
    for (const command of ["commit_transaction", "abort_transaction"]) {
      expect(messagesOf(await cluster.error(command, "{}"))).toContain("Transaction is required");
    }
  });

  it("[http 73] [http 74] commit and abort of a master transaction", async () => {
    const id = await cluster.startTransaction("type=master");
    await cluster.ok("set", `{path="//tmp/in-transaction";transaction_id="${id}"}`, "1");
    expect(await cluster.value("exists", '{path="//tmp/in-transaction"}')).toEqual({ value: false });
    const answer = await cluster.value("commit_transaction", `{transaction_id="${id}"}`);
    expect(answer).toEqual({
      primary_commit_timestamp: expect.any(Number),
      commit_timestamps: { [String(cluster.cluster.services.cell.cellTag)]: expect.any(Number) },
    });
    expect(await cluster.get("//tmp/in-transaction")).toBe(1);
    expect((await cluster.error("commit_transaction", `{transaction_id="${id}"}`)).code).toBe(11000);
    const other = await cluster.startTransaction("type=master");
    await cluster.ok("set", `{path="//tmp/in-transaction";transaction_id="${other}"}`, "2");
    expect(await cluster.ok("abort_transaction", `{transaction_id="${other}";output_format=json}`)).toBe(
      "{}",
    );
    expect(await cluster.get("//tmp/in-transaction")).toBe(1);
  });

  it("[http 75] a repeated mutation gets the first answer", async () => {
    const create = (retry: string): Promise<unknown> =>
      cluster.value("create", `{type=map_node;path="//tmp/once";mutation_id="1-2-3-4";retry=${retry}}`);
    const [first, concurrent] = await Promise.all([create("%false"), create("%true")]);
    expect(concurrent).toEqual(first);
    expect(await create("%true")).toEqual(first);
    expect(
      (await cluster.error("create", '{type=map_node;path="//tmp/once";mutation_id="1-2-3-5"}')).code,
    ).toBe(501);
  });

  it("a mutation that failed may be tried again under its id", async () => {
    const create = '{type=map_node;path="//tmp/deep/once";mutation_id="1-2-3-6"}';
    expect((await cluster.error("create", create)).code).toBe(500);
    await cluster.ok("create", '{type=map_node;path="//tmp/deep"}');
    await cluster.ok("create", create);
  });

  it("[http 76] a transaction that nobody pings is gone", async () => {
    const clock = new FakeClock();
    const own = await TestCluster.start({ clock });
    try {
      for (const type of ["master", "tablet"]) {
        const { transaction_id: id } = Object(
          await own.value("start_transaction", `{type=${type};sticky=%true;timeout=1000}`),
        );
        await clock.advance(600);
        await own.ok("ping_transaction", `{transaction_id="${id}"}`);
        await clock.advance(5_000);
        expect((await own.error("ping_transaction", `{transaction_id="${id}"}`)).code, type).toBe(11000);
      }
    } finally {
      await own.stop();
    }
  });

  it("[http 77] names of the other API version are not there", async () => {
    expect((await cluster.call("start_tx", "{}")).status).toBe(404);
    expect((await cluster.call("start_transaction", "{}", { version: 3 })).status).toBe(404);
  });

  it("[http 78] [http 79] [http 80] [http 81] tablet transactions", async () => {
    await cluster.createSorted("//tmp/tx");
    await cluster.insert("//tmp/tx", "{key=1;value=old}");
    const first = await cluster.startTransaction("type=tablet;sticky=%true");
    const second = await cluster.startTransaction("type=tablet;sticky=%true");
    expect(first).toMatch(/-[0-9a-f]*0002-/);
    await cluster.insert("//tmp/tx", "{key=1;value=new}", `transaction_id="${first}"`);
    await cluster.insert("//tmp/tx", "{key=1;value=other}", `transaction_id="${second}"`);
    expect(await cluster.select("value from [//tmp/tx]")).toEqual([{ value: "old" }]);
    await cluster.commit(first);
    expect(await cluster.select("value from [//tmp/tx]")).toEqual([{ value: "new" }]);
    expect((await cluster.error("commit_transaction", `{transaction_id="${second}"}`)).code).toBe(1700);
    const master = await cluster.startTransaction("type=master");
    for (const id of [master, "1-2-10002-3"]) {
      for (const command of ["insert_rows", "delete_rows", "lock_rows", "lookup_rows"]) {
        const error = await cluster.error(command, `{path="//tmp/tx";transaction_id="${id}"}`, "{key=1}");
        expect(error.code, `${command} in ${id}`).toBe(11000);
      }
      const select = await cluster.error("select_rows", `{query="* from [//tmp/tx]";transaction_id="${id}"}`);
      expect(select.code).toBe(11000);
    }
  });
});

describe("dynamic tables", () => {
  const table = "//tmp/t";
  const schema = "[{name=k;type=int64;sort_order=ascending};{name=v;type=string}]";
  const insert = (body: string | Buffer, parameters = "input_format=json", headers = {}) =>
    cluster.call("insert_rows", `{path="${table}";${parameters}}`, { body, headers });
  const lookup = (body: string, more = ""): Promise<string> =>
    cluster.ok("lookup_rows", `{path="${table}";input_format=yson;output_format=${yson};${more}}`, body);

  beforeAll(async () => {
    await cluster.createTable(table, `dynamic=%true;schema=${schema}`);
  });

  it("[http 82] mount_table", async () => {
    expect(await cluster.ok("mount_table", `{path="${table}";output_format=json}`)).toBe("{}");
    expect(await cluster.get(`${table}/@tablet_state`)).toBe("mounted");
    expect((await cluster.call("mount_table", `{path="${table}"}`, { version: 3 })).text).toBe("");
  });

  it("[http 83] [http 84] [http 85] insert_rows in JSON, compressed, and in YSON", async () => {
    for (const version of [3, 4] as const) {
      const reply = await cluster.call("insert_rows", `{path="${table}";input_format=json}`, {
        body: '{"k":1,"v":"a"}\n{"k":2}\n',
        version,
      });
      expect([reply.status, reply.body.length]).toEqual([200, 0]);
    }
    const rows = Buffer.from('{"k":1,"v":"a"}\n{"k":2}\n');
    expect((await insert(deflateSync(rows), undefined, { "Content-Encoding": "gzip" })).status).toBe(200);
    expect((await insert(brotliCompressSync(rows), undefined, { "Content-Encoding": "br" })).status).toBe(
      200,
    );
    expect((await insert('{k=3;v=#};{k=4;v="d"}', "input_format=yson")).status).toBe(200);
    expect(await cluster.select(`* from [${table}]`)).toEqual([
      { k: 1, v: "a" },
      { k: 2, v: null },
      { k: 3, v: null },
      { k: 4, v: "d" },
    ]);
  });

  it("[http 86] [http 87] [http 89] rows that do not fit", async () => {
    for (const [body, code] of [
      ['{"k":1}\n{"k":1,"z":1}', 307],
      ['{"k":1}\n{"k":"str","v":"a"}', 307],
    ] as const) {
      const error = await cluster.error("insert_rows", `{path="${table}";input_format=json}`, body);
      expect(error.has(code), body).toBe(true);
      expect(rowIndexOf(error)).toBe(1n);
    }
    const error = await cluster.error("insert_rows", `{path="${table}";input_format=yson}`, "5");
    expect(messagesOf(error)).toContain("Invalid row format, map expected");
  });

  it("[http 88] an integer for a double column needs to be asked for", async () => {
    await cluster.createSorted(
      "//tmp/doubles",
      "[{name=k;type=int64;sort_order=ascending};{name=d;type=double}]",
    );
    const put = (format: string, row: string) =>
      cluster.call("insert_rows", `{path="//tmp/doubles";input_format=${format}}`, { body: row });
    const refused = await put("json", '{"k":1,"d":1}');
    expect(refused.status).toBe(400);
    expect(refused.headers["x-yt-response-code"]).toBe("307");
    expect((await put("<enable_integral_to_double_conversion=%true>json", '{"k":1,"d":1}')).status).toBe(200);
    expect((await put("json", '{"k":2,"d":1.0}')).status).toBe(200);
  });

  it("[http 90] [http 91] [http 92] lookup_rows", async () => {
    await insert('{"k":1,"v":"a"}');
    expect(await lookup("{k=1};{k=99}")).toBe('{"k"=1;"v"="a";};\n');
    expect(await lookup("{k=1};{k=99}", "keep_missing_rows=%true")).toBe('{"k"=1;"v"="a";};\n#;\n');
    expect(await lookup("{k=1}", "column_names=[v]")).toBe('{"v"="a";};\n');
    const error = await cluster.error(
      "lookup_rows",
      `{path="${table}";input_format=yson;column_names=[zz]}`,
      "{k=1}",
    );
    expect(messagesOf(error)).toContain("No such column");
  });

  it("[http 93] [http 94] select_rows is chunked, and names its statistics only when asked", async () => {
    await insert('{"k":1,"v":"a"}\n{"k":2}');
    const query = `{query="k, v from [${table}] where k <= 2";output_format=json`;
    const plain = await cluster.call("select_rows", `${query}}`);
    expect(plain.text).toBe('{"k":1,"v":"a"}\n{"k":2,"v":null}\n');
    expect(plain.headers["transfer-encoding"]).toBe("chunked");
    expect(plain.headers["x-yt-response-parameters"]).toBeUndefined();
    for (const name of ["X-YT-Error", "X-YT-Response-Code", "X-YT-Response-Message"]) {
      expect(plain.headers.trailer).toContain(name);
    }
    const counted = await cluster.call("select_rows", `${query};enable_statistics=%true}`);
    expect(counted.headers["x-yt-response-parameters"]).toMatch(/^\{/);
  });

  it("[http 95] a syntax error comes before any data", async () => {
    const error = await cluster.error("select_rows", `{query="k from from [${table}]"}`);
    expect(messagesOf(error)).toContain("Error while parsing query");
  });

  it("[http 96] [http 97] delete_rows and update mode", async () => {
    await insert('{"k":7,"v":"a"}\n{"k":8,"v":"b"}');
    expect(await cluster.ok("delete_rows", `{path="${table}";output_format=json}`, "{k=7}")).toBe("{}");
    expect(await lookup("{k=7};{k=8}")).toBe('{"k"=8;"v"="b";};\n');
    const columns = "[{name=k;type=int64;sort_order=ascending};{name=v;type=string};{name=w;type=int64}]";
    await cluster.createSorted("//tmp/updated", columns);
    const put = (row: string, more = ""): Promise<void> => cluster.insert("//tmp/updated", row, more);
    const values = async (): Promise<unknown> => (await cluster.lookup("//tmp/updated", "{k=2}"))[0];
    await put("{k=2;v=keep;w=1}");
    await put("{k=2;w=2}", "update=%true");
    expect(await values()).toEqual({ k: 2, v: "keep", w: 2 });
    await put("{k=2}");
    expect(await values()).toEqual({ k: 2, v: null, w: null });
  });

  it("[http 98] [http 99] unmounted and static tables", async () => {
    await cluster.createTable("//tmp/unmounted", `dynamic=%true;schema=${schema}`);
    await cluster.createTable("//tmp/static", `schema=${schema}`);
    for (const command of ["insert_rows", "delete_rows", "lookup_rows"]) {
      const unmounted = await cluster.error(command, '{path="//tmp/unmounted"}', "{k=1}");
      expect(unmounted.code, command).toBe(1702);
      const fixed = await cluster.error(command, '{path="//tmp/static"}', "{k=1}");
      expect(messagesOf(fixed), command).toContain("is not dynamic");
    }
    await cluster.ok("create", '{type=map_node;path="//tmp/no-table"}');
    const noTable = await cluster.error("insert_rows", '{path="//tmp/no-table"}', "{k=1}");
    expect(messagesOf(noTable)).toContain(
      '//tmp/no-table does not point to a table: it is of type "map_node"',
    );
    expect((await cluster.error("insert_rows", '{path="//tmp/not-there"}', "{k=1}")).code).toBe(500);
  });

  it("[http 100] [http 101] [http 102] ordered tables", async () => {
    await cluster.createQueue("//tmp/q");
    await cluster.insert("//tmp/q", numberedRows(0, 5));
    const trim = '{path="//tmp/q";tablet_index=0;trimmed_row_count=2;output_format=json}';
    expect(await cluster.ok("trim_rows", trim)).toBe("{}");
    const wrong = await cluster.error("trim_rows", '{path="//tmp/q";tablet_index=5;trimmed_row_count=2}');
    expect(wrong.code).toBe(1701);
    expect(messagesOf(await cluster.error("delete_rows", '{path="//tmp/q"}', "{key=1}"))).toContain(
      "is not sorted",
    );
    await cluster.error("insert_rows", '{path="//tmp/q";update=%true}', "{key=1}");
    const infos = await cluster.request("/api/v4/get_tablet_infos", {
      method: "POST",
      body: '{path="//tmp/q";tablet_indexes=[0]}',
    });
    expect(JSON.parse(infos.text)).toEqual({
      tablets: [
        {
          total_row_count: 5,
          trimmed_row_count: 2,
          delayed_lockless_row_count: 0,
          barrier_timestamp: expect.any(Number),
          last_write_timestamp: expect.any(Number),
        },
      ],
    });
  });

  it("[http 103] versioned lookup", async () => {
    await insert('{"k":11,"v":"a"}');
    expect(await lookup("{k=11}", "versioned=%true")).toMatch(
      /^<"write_timestamps"=\[\d+u;\];"delete_timestamps"=\[\];>\{"k"=11;"v"=\[<"timestamp"=\d+u;>"a";\];\};\n$/,
    );
  });
});

function rowIndexOf(error: {
  attributes: ReadonlyMap<string, unknown>;
  innerErrors: readonly unknown[];
}): unknown {
  const own = error.attributes.get("row_index");
  if (own !== undefined) {
    return own;
  }
  for (const inner of error.innerErrors) {
    const found = rowIndexOf(inner as typeof error);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

describe("queues", () => {
  it("[http 104] [http 105] [http 106] [http 107] registration, pull, offsets, producers", async () => {
    await cluster.createQueue("//tmp/queue");
    await cluster.insert("//tmp/queue", numberedRows(0, 6));
    await cluster.ok("create", '{type=queue_consumer;path="//tmp/c"}');
    const registration = 'queue_path="//tmp/queue";consumer_path="//tmp/c"';
    expect(
      await cluster.ok("register_queue_consumer", `{${registration};vital=%true;output_format=json}`),
    ).toBe("{}");
    const list = await cluster.call(
      "list_queue_consumer_registrations",
      '{queue_path="//tmp/queue";output_format=json}',
      { method: "GET" },
    );
    expect(JSON.parse(list.text)).toMatchObject([{ vital: true }]);
    const pulled = await cluster.call(
      "pull_queue",
      '{queue_path="//tmp/queue";offset=2;partition_index=0;max_row_count=10;output_format=json}',
    );
    expect(pulled.text.split("\n")[0]).toContain('"$$row_index":2');
    expect(pulled.text.trim().split("\n")).toHaveLength(4);
    expect(pulled.headers["x-yt-response-parameters"]).toContain('"start_offset"=2');
    const advance = `{${registration};partition_index=0;old_offset=0;new_offset=5;client_side=%true;output_format=json}`;
    expect(await cluster.ok("advance_queue_consumer", advance)).toBe("{}");
    expect((await cluster.error("advance_queue_consumer", advance)).code).toBe(3100);
    await cluster.ok("create", '{type=queue_producer;path="//tmp/p"}');
    const session = 'producer_path="//tmp/p";queue_path="//tmp/queue";session_id=s';
    expect(await cluster.value("create_queue_producer_session", `{${session}}`)).toMatchObject({
      epoch: 0,
      sequence_number: -1,
    });
    await cluster.value("create_queue_producer_session", `{${session}}`);
    const push = await cluster.call("push_queue_producer", `{${session};epoch=0;input_format=yson}`, {
      method: "PUT",
      body: '{"$sequence_number"=1;key=1}',
    });
    expect([push.status, push.headers["x-yt-response-code"]]).toEqual([400, "3102"]);
  });
});

describe("batches", () => {
  const requests =
    '[{command=get;parameters={path="//tmp/@type";return_only_value=%true}};{command=get;parameters={path="//tmp/none"}};{command=set;parameters={path="//tmp/z"};input={q=1}}]';

  it("[http 121] [http 122] every item answers for itself", async () => {
    const v4 = await cluster.request("/api/v4/execute_batch", {
      method: "POST",
      body: `{requests=${requests};concurrency=50;output_format=json}`,
    });
    expect(v4.status).toBe(200);
    expect(JSON.parse(v4.text)).toMatchObject({
      results: [{ output: "map_node" }, { error: { code: 500 } }, { output: {} }],
    });
    const v3 = await cluster.request("/api/v3/execute_batch", {
      method: "POST",
      body: `{requests=${requests.replace("//tmp/z", "//tmp/z3")};output_format=json}`,
    });
    const list = JSON.parse(v3.text);
    expect(list[0]).toEqual({ output: "map_node" });
    expect(list[2]).toEqual({});
    expect(list[1].error.code).toBe(500);
  });

  it("[http 123] text that is encoded twice names the node it means", async () => {
    await cluster.ok("create", '{type=map_node;path="//tmp/\\xd1\\x8b"}');
    const reply = await cluster.request("/api/v4/execute_batch", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"requests":[{"command":"exists","parameters":{"path":"//tmp/Ñ\\u008b"}}],"output_format":"json"}',
    });
    expect(JSON.parse(reply.text)).toEqual({ results: [{ output: { value: true } }] });
  });

  it("[http 124] what cannot be part of a batch fails alone", async () => {
    const answer = await cluster.value(
      "execute_batch",
      '{requests=[{command=read_table;parameters={path="//tmp/x"}};{command=find_meaning;parameters={}};{command=exists;parameters={path="//tmp"}};{parameters={}};{command=set;parameters={path="//tmp/x"}}]}',
    );
    const results = fieldOf(answer, "results");
    expect(Array.isArray(results) ? results.map((result) => Object.keys(result)) : results).toEqual([
      ["error"],
      ["error"],
      ["output"],
      ["error"],
      ["error"],
    ]);
  });

  it("[http 125] a batch that is repeated is not executed again", async () => {
    const batch = `{requests=[{command=create;parameters={type=map_node;path="//tmp/batched"}};{command=set;parameters={path="//tmp/batched/@n"};input=1}];mutation_id="5-6-7-8";retry=%true;output_format=json}`;
    const first = await cluster.ok("execute_batch", batch);
    await cluster.set("//tmp/batched/@n", "2");
    expect(await cluster.ok("execute_batch", batch)).toBe(first);
    expect(await cluster.get("//tmp/batched/@n")).toBe(2);
  });

  it("rows in a batch are written in the format that the item names", async () => {
    await cluster.createSorted("//tmp/batch-rows", sortedSchema);
    const item = (format: string, input: string): string =>
      `{command=insert_rows;parameters={path="//tmp/batch-rows";input_format=${format}};input=${input}}`;
    const answer = await cluster.value(
      "execute_batch",
      `{requests=[${item("json", '"{\\"key\\":1,\\"value\\":\\"a\\"}"')};${item("yson", '"{key=2;value=b}"')};${item("yson", "{key=3}")}]}`,
    );
    expect(answer).toMatchObject({ results: [{}, {}, { error: expect.anything() }] });
    expect(await cluster.select("key from [//tmp/batch-rows]")).toEqual([{ key: 1 }, { key: 2 }]);
  });

  it("limits of a batch", async () => {
    expect(messagesOf(await cluster.error("execute_batch", "{requests=[];concurrency=0}"))).toContain(
      "Concurrency must be positive",
    );
    expect(await cluster.value("execute_batch", "{requests=[]}")).toEqual({ results: [] });
  });
});
