import { mapOf } from "@qyt/base";
import { parseRichPath, parseYson } from "@qyt/yson";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { keyspace, prefixRange, storeKey } from "../../cell/index.ts";
import { columnarStatistics } from "./columnar-statistics.ts";
import { concatenate } from "./concatenate.ts";
import { failure, root, StaticFixture } from "./static-fixture.ts";

let fixture: StaticFixture;

beforeEach(async () => {
  fixture = await StaticFixture.open();
});
afterEach(() => fixture.close());

const strong = "{schema=<strict=%true>[{name=a;type=int64;required=%true};{name=b;type=string}]}";
const sorted = "{schema=<strict=%true>[{name=a;type=string;sort_order=ascending};{name=b;type=int64}]}";
const unique =
  "{schema=<strict=%true;unique_keys=%true>[{name=a;type=string;sort_order=ascending};{name=b;type=int64}]}";

async function blockRecords(): Promise<number> {
  await fixture.tables.environment.chunks.settled();
  await fixture.clock.advance(10_000);
  const { from, to } = prefixRange(storeKey(keyspace.rowBlocks));
  return [...fixture.store.range(from, to)].length;
}

describe("writing", () => {
  test("[tables 174] rows come back; an append adds, an overwrite replaces", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1;x=[1;2]};{b=%true}");
    expect((await fixture.read("//tmp/t")).text).toBe('{"a"=1;"x"=[1;2;];};{"b"=%true;};');
    await fixture.write("<append=%true>//tmp/t", "{a=2}");
    expect(await fixture.column("//tmp/t")).toBe("1,2");
    expect(await fixture.get("//tmp/t/@chunk_count")).toBe(2n);
    await fixture.write("//tmp/t", "{a=3}");
    expect((await fixture.read("//tmp/t")).text).toBe('{"a"=3;};');
    expect(await fixture.get("//tmp/t/@row_count")).toBe(1n);
    expect(await blockRecords()).toBe(1);
  });

  test("writing nothing empties the table, appending nothing makes no chunk", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1}");
    await fixture.write("<append=%true>//tmp/t", "");
    expect(await fixture.get("//tmp/t/@chunk_count")).toBe(1n);
    await fixture.write("//tmp/t", "");
    expect(await fixture.get("//tmp/t/@chunk_count")).toBe(0n);
    const { text, parameters } = await fixture.read("//tmp/t");
    expect(text).toBe("");
    expect(parameters).toEqual(mapOf({ approximate_row_count: 0n }));
    expect(await blockRecords()).toBe(0);
  });

  test("[tables 23] the weight of rows without a schema", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("//tmp/t", "{a=1};{a=2};{a=3}");
    expect(await fixture.get("//tmp/t/@data_weight")).toBe(27n);
  });

  test("[tables 69] a table made without a schema", async () => {
    await fixture.create("//tmp/t");
    expect(await fixture.get("//tmp/t/@schema_mode")).toBe("weak");
    expect(await fixture.get("//tmp/t/@dynamic")).toBe(false);
    expect(await fixture.get("//tmp/t/@row_count")).toBe(0n);
    expect(await fixture.get("//tmp/t/@schema")).toEqual(parseYson("<strict=%false;unique_keys=%false>[]"));
  });

  test.each([
    ["a wrong type", strong, "{a=x;b=y}", 307],
    ["a column too many", strong, "{a=1;c=1}", 307],
    ["a required column missing", strong, "{b=y}", 307],
    ["rows out of order", sorted, "{a=b};{a=a}", 301],
    ["a repeated key", unique, "{a=a};{a=a}", 306],
    ["broken input", strong, "{a=5};{a=", 4000],
  ])("[tables 175] %s is refused and the table stays", async (_, attributes, rows, code) => {
    await fixture.create("//tmp/t", attributes);
    const good = attributes === strong ? "{a=7;b=z}" : "{a=m;b=1}";
    await fixture.write("//tmp/t", good);
    const before = (await fixture.read("//tmp/t")).text;
    expect((await failure(fixture.write("//tmp/t", rows))).has(code)).toBe(true);
    expect((await failure(fixture.write("<append=%true>//tmp/t", rows))).has(code)).toBe(true);
    expect((await fixture.read("//tmp/t")).text).toBe(before);
    expect(await blockRecords()).toBe(1);
  });

  test("rows appended to a sorted table must come behind its own", async () => {
    await fixture.create("//tmp/t", unique);
    await fixture.write("//tmp/t", "{a=b};{a=d}");
    expect((await failure(fixture.write("<append=%true>//tmp/t", "{a=c}"))).code).toBe(301);
    expect((await failure(fixture.write("<append=%true>//tmp/t", "{a=d}"))).code).toBe(306);
    await fixture.write("<append=%true>//tmp/t", "{a=e}");
    expect(await fixture.column("//tmp/t")).toBe('"b","d","e"');
  });

  test("path attributes give a new schema or an order", async () => {
    await fixture.create("//tmp/t");
    await fixture.write("<sorted_by=[a]>//tmp/t", "{a=1};{a=x}");
    expect(await fixture.get("//tmp/t/@sorted")).toBe(true);
    expect(await fixture.get("//tmp/t/@key_columns")).toEqual(["a"]);
    expect(await fixture.get("//tmp/t/@schema_mode")).toBe("weak");
    expect((await failure(fixture.write("<sorted_by=[a]>//tmp/t", "{a=x};{a=1}"))).code).toBe(301);
    await fixture.write("<append=%true>//tmp/t", "{a=0}");
    expect(await fixture.get("//tmp/t/@sorted")).toBe(false);
    await fixture.write("<schema=[{name=a;type=int64}]>//tmp/t", "{a=1}");
    expect(await fixture.get("//tmp/t/@schema_mode")).toBe("strong");
    expect((await failure(fixture.write("//tmp/t", "{a=x}"))).has("SchemaViolation")).toBe(true);
    const both = await failure(fixture.write("<append=%true;schema=[{name=a;type=int64}]>//tmp/t", "{a=1}"));
    expect(both.message).toBe('YPath attributes "append" and "schema" are not compatible');
  });

  test("[tables 130] dynamic tables are no destination", async () => {
    await fixture.create("//tmp/q", "{dynamic=%true;schema=[{name=a;type=int64}]}");
    const error = await failure(fixture.write("//tmp/q", "{a=1}"));
    expect(error.message).toBe("Cannot upload into ordered dynamic table");
  });

  test("rows of many blocks come back in order after a restart", async () => {
    await fixture.create("//tmp/t", strong);
    const rows = Array.from({ length: 20_000 }, (_, i) => `{a=${i};b="${"x".repeat(i % 40)}"}`);
    await fixture.write("//tmp/t", rows.join(";"));
    fixture = await fixture.reopen();
    const expected = rows.map((_, i) => i).join(",");
    expect(await fixture.column("//tmp/t")).toBe(expected);
    expect(await fixture.column("//tmp/t[#12345:#12348]")).toBe("12345,12346,12347");
  });

  test("a user who may not write is refused before his rows are read", async () => {
    await fixture.create("//tmp/t");
    await fixture.cypress.create(root, { type: "user", attributes: mapOf({ name: "ann" }) });
    await fixture.cypress.set(root, {
      path: "//tmp/t/@acl",
      value: parseYson("[{action=deny;subjects=[ann];permissions=[write]}]"),
    });
    expect((await failure(fixture.write("//tmp/t", "{a=1", { user: "ann" }))).code).toBe(901);
  });
});

describe("reading", () => {
  beforeEach(async () => {
    await fixture.create("//tmp/t", sorted);
    await fixture.write("//tmp/t", "{a=a;b=0};{a=b;b=1}");
    await fixture.write("<append=%true>//tmp/t", "{a=b;b=2};{a=c;b=3};{a=d;b=4}");
  });

  const valuesOf = async (path: string): Promise<string> =>
    [...(await fixture.read(path)).text.matchAll(/"b"=(\d+)/g)].map(([, value]) => value).join("");

  test.each([
    ["[#1:#3]", "12"],
    ["[#2]", "2"],
    ["[#4:#100]", "4"],
    ["[#7]", ""],
    ["[:#2]", "01"],
    ['["b":]', "1234"],
    ['["b":"c"]', "12"],
    ['["b"]', "12"],
    ['["b","a"]', "120"],
    ["[(b):(c)]", "12"],
    ["[(b,1):]", "34"],
    ["[(<type=min>#):(<type=max>#)]", "01234"],
    ["[<type=max>#:]", ""],
    ["[#3:#1]", ""],
    ["[#0:#2,#1:#3,c]", "01123"],
  ])("[tables 176] range %s gives %s", async (range, expected) => {
    expect(await valuesOf(`//tmp/t${range}`)).toBe(expected);
  });

  test("[tables 176] structured limits: key bounds, chunks, both kinds together", async () => {
    const ranges = (text: string): Promise<string> => valuesOf(`<ranges=[${text}]>//tmp/t`);
    expect(await ranges('{lower_limit={key_bound=[">";[b]]}}')).toBe("34");
    expect(await ranges('{upper_limit={key_bound=["<=";[b]]}}')).toBe("012");
    expect(await ranges('{lower_limit={key_bound=[">=";[b]]};upper_limit={key_bound=["<";[d]]}}')).toBe(
      "123",
    );
    expect(await ranges("{lower_limit={chunk_index=1}}")).toBe("234");
    expect(await ranges("{lower_limit={key=[b]};upper_limit={row_index=2}}")).toBe("1");
    expect((await failure(ranges("{lower_limit={row_index=-1}}"))).code).toBe(2700);
  });

  test("[tables 176] columns", async () => {
    expect((await fixture.read("//tmp/t{a}[#0:#2]")).text).toBe('{"a"="a";};{"a"="b";};');
    expect((await fixture.read("//tmp/t{b,nothing}[#0]")).text).toBe('{"b"=0;};');
  });

  test("[tables 176] control records come before rows where their value changes", async () => {
    const all = ["table", "row", "range"];
    const { text, parameters } = await fixture.read("//tmp/t{b}[#1:#3,#4]", { control: all });
    expect(text).toBe(
      '<"table_index"=0>#;<"range_index"=0>#;<"row_index"=1>#;{"b"=1;};{"b"=2;};<"range_index"=1>#;<"row_index"=4>#;{"b"=4;};'.replaceAll(
        ">#",
        ";>#",
      ),
    );
    expect(parameters).toEqual(mapOf({ start_row_index: 1n, approximate_row_count: 3n }));
  });

  test("response parameters alone", async () => {
    const { text, parameters } = await fixture.read("//tmp/t[#2:]", { startRowIndexOnly: true });
    expect(text).toBe("");
    expect(parameters).toEqual(mapOf({ start_row_index: 2n, approximate_row_count: 3n }));
  });

  test("keys of tables that are not sorted are refused", async () => {
    await fixture.create("//tmp/u");
    const error = await failure(Promise.resolve().then(() => fixture.read("//tmp/u[a:b]")));
    expect(error.message).toBe("Key selectors are not supported for unsorted tables");
    const tablet = await failure(
      Promise.resolve().then(() => fixture.read("<ranges=[{lower_limit={tablet_index=0}}]>//tmp/t")),
    );
    expect(tablet.message).toBe("Tablet index selectors are only supported for ordered dynamic tables");
  });

  test("a read shows what was there when it began, and lets go of it at its end", async () => {
    await fixture.create("//tmp/u");
    const rows = Array.from({ length: 50_000 }, (_, i) => `{a=${i}}`).join(";");
    await fixture.write("//tmp/u", rows);
    const kept = await blockRecords();
    const read = fixture.startRead("//tmp/u");
    await fixture.write("//tmp/u", "{a=0}");
    expect(await blockRecords()).toBe(kept + 1);
    let text = "";
    for await (const chunk of read.chunks) {
      text += chunk.toString();
    }
    expect(text.match(/\n/g)?.length).toBe(50_000);
    expect(await blockRecords()).toBe(2 + 1);
  });

  test("a read that nobody wants any more lets go of its rows", async () => {
    const iterator = fixture.startRead("//tmp/t").chunks[Symbol.asyncIterator]();
    await iterator.return?.();
    await fixture.write("//tmp/t", "");
    expect(await blockRecords()).toBe(0);
  });
});

describe("concatenate", () => {
  const join = (sources: readonly string[], destination: string): Promise<void> =>
    concatenate(fixture.tables, root, {
      sources: sources.map((path) => parseRichPath(path)),
      destination: parseRichPath(destination),
    });

  test("[tables 177] rows come in the order of the sources, with and without append", async () => {
    for (const [name, rows] of [
      ["x", "{a=1};{a=2}"],
      ["y", "{a=3}"],
      ["z", "{a=9}"],
    ] as const) {
      await fixture.create(`//tmp/${name}`);
      await fixture.write(`//tmp/${name}`, rows);
    }
    await join(["//tmp/x", "//tmp/y", "//tmp/x"], "//tmp/z");
    expect(await fixture.column("//tmp/z")).toBe("1,2,3,1,2");
    await join(["//tmp/y"], "<append=%true>//tmp/z");
    expect(await fixture.column("//tmp/z")).toBe("1,2,3,1,2,3");
    await join(["//tmp/z"], "<append=%true>//tmp/z");
    expect(await fixture.column("//tmp/z")).toBe("1,2,3,1,2,3,1,2,3,1,2,3");
    for (const name of ["x", "y", "z"]) {
      await fixture.cypress.remove(root, { path: `//tmp/${name}` });
    }
    expect(await blockRecords()).toBe(0);
  });

  test("tables with and without a schema into one without", async () => {
    await fixture.create("//tmp/x", strong);
    await fixture.write("//tmp/x", "{a=1;b=s}");
    await fixture.create("//tmp/y");
    await fixture.write("//tmp/y", "{a=2;c=%true}");
    await fixture.create("//tmp/z");
    await join(["//tmp/x", "//tmp/y"], "//tmp/z");
    expect((await fixture.read("//tmp/z")).text).toBe('{"a"=1;"b"="s";};{"a"=2;"c"=%true;};');
    expect((await fixture.read("//tmp/z{b,c}")).text).toBe('{"b"="s";};{"c"=%true;};');
    expect((await failure(join(["//tmp/y"], "//tmp/x"))).code).toBe(316);
  });

  test("a sorted destination takes sorted sources in order", async () => {
    for (const [name, rows] of [
      ["x", "{a=a};{a=b}"],
      ["y", "{a=b};{a=c}"],
      ["z", ""],
    ] as const) {
      await fixture.create(`//tmp/${name}`, sorted);
      await fixture.write(`//tmp/${name}`, rows);
    }
    await join(["//tmp/x", "//tmp/y"], "//tmp/z");
    expect(await fixture.column("//tmp/z")).toBe('"a","b","b","c"');
    expect((await failure(join(["//tmp/y", "//tmp/x"], "//tmp/z"))).code).toBe(301);
    expect(await fixture.column('//tmp/z["b"]')).toBe('"b","b"');
  });

  test("the destination may be a source: its chunks stay", async () => {
    for (const [name, rows] of [
      ["x", "{a=1}"],
      ["y", "{a=2}"],
    ] as const) {
      await fixture.create(`//tmp/${name}`);
      await fixture.write(`//tmp/${name}`, rows);
    }
    await join(["//tmp/x", "//tmp/y", "//tmp/x"], "//tmp/x");
    expect(await fixture.column("//tmp/x")).toBe("1,2,1");
    fixture = await fixture.reopen();
    expect(await fixture.column("//tmp/x")).toBe("1,2,1");
    await fixture.cypress.remove(root, { path: "//tmp/x", recursive: false, force: false });
    expect(await fixture.column("//tmp/y")).toBe("2");
  });
});

test("the weight of single columns, of rows with a schema and without", async () => {
  await fixture.create("//tmp/x", strong);
  await fixture.write("//tmp/x", "{a=1;b=xyz};{a=2;b=#}");
  await fixture.create("//tmp/y");
  await fixture.write("//tmp/y", "{a=1;c=%true};{c=[1]};{a=abc}");
  const weights = async (path: string) =>
    (await columnarStatistics(fixture.tables, fixture.transactions, root, parseRichPath(path))).get(
      "column_data_weights",
    );
  expect(await weights("//tmp/x{a,b,z}")).toEqual(mapOf({ a: 16n, b: 3n, z: 0n }));
  expect(await weights("//tmp/x{a}[#1]")).toEqual(mapOf({ a: 8n }));
  // A list of one small integer is five bytes of binary YSON.
  expect(await weights("//tmp/y{a,c}")).toEqual(mapOf({ a: 11n, c: 6n }));
  expect((await failure(weights("//tmp/x"))).message).toContain("It is required to specify column selectors");
});
