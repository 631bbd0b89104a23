import { mapOf } from "@qyt/base";
import { EncodedRowsBuilder } from "@qyt/schema";
import { parseRichPath, parseYson } from "@qyt/yson";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { failure, root, StaticFixture } from "./static-fixture.ts";

let fixture: StaticFixture;

beforeEach(async () => {
  fixture = await StaticFixture.open();
});
afterEach(() => fixture.close());

const failingRead = (path: string): Promise<Error> =>
  failure(Promise.resolve().then(() => fixture.read(path)));

describe("ordered dynamic tables", () => {
  const attributes = (more = ""): string =>
    `{dynamic=%true;tablet_count=2;schema=[{name=a;type=int64};{name="$timestamp";type=uint64}];${more}}`;

  async function write(tablet: number, ...values: number[]): Promise<void> {
    const table = fixture.tables.dynamicTable(root, "//tmp/q");
    const transaction = fixture.transactions.begin({ user: "root" });
    const builder = new EncodedRowsBuilder(table.writeSchema);
    const position = table.writeSchema.indexOf("a");
    const tabletPosition = table.writeSchema.indexOf("$tablet_index");
    for (const value of values) {
      const row: (bigint | undefined)[] = [];
      row[position] = BigInt(value);
      row[tabletPosition] = BigInt(tablet);
      builder.addRow(row);
    }
    transaction.insertRows(table, builder.take());
    await transaction.commit();
  }

  const path = parseRichPath("//tmp/q");

  test("[tables 127] rows show after a flush", async () => {
    await fixture.create("//tmp/q", attributes());
    await fixture.tables.mount(root, path, {});
    await write(0, 1, 2);
    await write(1, 3);
    expect(await fixture.column("//tmp/q")).toBe("");
    await fixture.tables.freeze(root, path, {});
    expect(await fixture.column("//tmp/q")).toBe("1,2,3");
    const { text, parameters } = await fixture.read("//tmp/q{a}", { control: ["tablet", "row", "range"] });
    expect(text).toBe(
      '<"range_index"=0;>#;<"tablet_index"=0;>#;<"row_index"=0;>#;{"a"=1;};{"a"=2;};<"tablet_index"=1;>#;<"row_index"=0;>#;{"a"=3;};',
    );
    expect(parameters).toEqual(mapOf({ start_row_index: 0n, approximate_row_count: 3n }));
  });

  test("[tables 127] with enable_dynamic_store_read they show at once", async () => {
    await fixture.create("//tmp/q", attributes("enable_dynamic_store_read=%true"));
    await fixture.tables.mount(root, path, {});
    await write(1, 5);
    await write(0, 4);
    expect(await fixture.column("//tmp/q")).toBe("4,5");
    const { text } = await fixture.read("//tmp/q");
    expect(text).toMatch(/^\{"a"=4;"\$timestamp"=\d+u;\};\{"a"=5;"\$timestamp"=\d+u;\};$/);
  });

  test("[tables 128] enable_dynamic_store_read cannot be set while the table is mounted", async () => {
    await fixture.create("//tmp/q", attributes());
    await fixture.tables.mount(root, path, {});
    await write(0, 1);
    const setting = fixture.cypress.set(root, { path: "//tmp/q/@enable_dynamic_store_read", value: true });
    await failure(setting);
    expect(await fixture.column("//tmp/q")).toBe("");
  });

  test("[tables 126] trimmed rows are not read, nor rows in no chunk", async () => {
    await fixture.create("//tmp/q", attributes());
    await fixture.tables.mount(root, path, {});
    await write(0, 1, 2, 3);
    await fixture.tables.freeze(root, path, {});
    await fixture.tables.unfreeze(root, path, {});
    await write(0, 4);
    await fixture.tables.trim(root, path, 0, 2n);
    expect(await fixture.column("//tmp/q")).toBe("3");
  });

  test("[tables 129] ranges", async () => {
    await fixture.create("//tmp/q", attributes());
    await fixture.tables.mount(root, path, {});
    await write(0, 1, 2, 3);
    await write(1, 4, 5, 6);
    await fixture.tables.freeze(root, path, {});
    const ranges = (text: string): Promise<string> => fixture.column(`<ranges=[${text}]>//tmp/q`);
    expect(await ranges("{exact={tablet_index=1}}")).toBe("4,5,6");
    expect(await ranges("{exact={tablet_index=1;row_index=1}}")).toBe("5");
    expect(
      await ranges("{lower_limit={tablet_index=0;row_index=1};upper_limit={tablet_index=1;row_index=2}}"),
    ).toBe("2,3,4,5");
    expect(await ranges("{upper_limit={tablet_index=1}}")).toBe("1,2,3");
    expect(await ranges("{lower_limit={tablet_index=1}};{upper_limit={tablet_index=0;row_index=1}}")).toBe(
      "4,5,6,1",
    );
    expect((await failingRead("//tmp/q[#1:#2]")).message).toBe(
      "In ordered dynamic tables row index selector can only be specified when tablet index selector is also specified",
    );
    expect((await failingRead("//tmp/q[a]")).message).toBe(
      "Key selectors are not supported for unsorted tables",
    );
  });

  test("a read keeps what is trimmed while it runs", async () => {
    await fixture.create("//tmp/q", attributes());
    await fixture.tables.mount(root, path, {});
    await write(0, 1, 2, 3);
    await fixture.tables.freeze(root, path, {});
    await fixture.tables.unfreeze(root, path, {});
    const read = fixture.startRead("//tmp/q{a}");
    await fixture.tables.trim(root, path, 0, 3n);
    await fixture.tables.environment.chunks.settled();
    await fixture.clock.advance(10_000);
    let text = "";
    for await (const chunk of read.chunks) {
      text += chunk.toString();
    }
    expect(text.replaceAll("\n", "")).toBe('{"a"=1;};{"a"=2;};{"a"=3;};');
    expect(await fixture.column("//tmp/q")).toBe("");
  });
});

describe("sorted dynamic tables", () => {
  beforeEach(async () => {
    await fixture.create(
      "//tmp/s",
      "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=a;type=string}]}",
    );
    await fixture.tables.mount(root, parseRichPath("//tmp/s"), {});
    const table = fixture.tables.dynamicTable(root, "//tmp/s");
    for (const [key, value] of [
      [1n, "x"],
      [2n, "y"],
      [3n, "z"],
    ] as const) {
      const transaction = fixture.transactions.begin({ user: "root" });
      transaction.writeRow(table, [key, Buffer.from(value)]);
      await transaction.commit();
    }
  });

  test("rows in key order, by ranges of keys and columns", async () => {
    expect((await fixture.read("//tmp/s")).text).toBe('{"k"=1;"a"="x";};{"k"=2;"a"="y";};{"k"=3;"a"="z";};');
    expect(await fixture.column("//tmp/s{a}[2:]")).toBe('"y","z"');
    expect(await fixture.column("//tmp/s[1:3]")).toBe('"x","y"');
    expect(await fixture.column("//tmp/s[2]")).toBe('"y"');
    expect(await fixture.column("//tmp/s[(2,5):,1]")).toBe('"z","x"');
    expect(await fixture.column("//tmp/s[<type=min>#:5u]")).toBe('"x","y","z"');
    expect(await fixture.column("//tmp/s[5u:]")).toBe("");
    expect((await failingRead("//tmp/s[#1]")).message).toBe(
      "Row index selectors are not supported for sorted dynamic tables",
    );
  });

  test("a read at a timestamp, and one that rows are changed under", async () => {
    const timestamp = fixture.transactions.visibleTimestamp;
    const read = fixture.startRead("//tmp/s{a}");
    const table = fixture.tables.dynamicTable(root, "//tmp/s");
    const transaction = fixture.transactions.begin({ user: "root" });
    transaction.writeRow(table, [2n, Buffer.from("new")]);
    await transaction.commit();
    let text = "";
    for await (const chunk of read.chunks) {
      text += chunk.toString();
    }
    expect(text.replaceAll("\n", "")).toBe('{"a"="x";};{"a"="y";};{"a"="z";};');
    expect(await fixture.column("//tmp/s")).toBe('"x","new","z"');
    expect(await fixture.column(`<timestamp=${timestamp}>//tmp/s`)).toBe('"x","y","z"');
  });
});

test("columns that a user may not read are refused, or left out when he asks for that", async () => {
  await fixture.create("//tmp/t", "{schema=[{name=a;type=int64};{name=b;type=int64}]}");
  await fixture.write("//tmp/t", "{a=1;b=2}");
  await fixture.cypress.create(root, { type: "user", attributes: mapOf({ name: "ann" }) });
  await fixture.cypress.set(root, {
    path: "//tmp/t/@acl",
    value: parseYson("[{action=allow;subjects=[root];permissions=[read];columns=[b]}]"),
  });
  const context = { user: "ann" };
  expect((await failure(Promise.resolve().then(() => fixture.read("//tmp/t", { context })))).code).toBe(901);
  expect((await fixture.read("//tmp/t{a}", { context })).text).toBe('{"a"=1;};');
});
