/** Sorted tables between static and dynamic: rows, errors, what crashes and refusals leave. */
import { emptyMap, YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keyspace, prefixRange, storeKey, WriteBatch } from "../../cell/index.ts";
import { putStaged } from "../sorted/retained-record.ts";
import { failure, root, StaticFixture } from "../static/static-fixture.ts";

let fixture: StaticFixture;
beforeEach(async () => {
  fixture = await StaticFixture.open();
});
afterEach(() => fixture.close());

const schema =
  "<strict=%true;unique_keys=%true>[{name=k;type=int64;sort_order=ascending};{name=a;type=string};{name=u;type=uint64}]";
const path = { path: "//tmp/t", attributes: emptyMap };

function alter(text: string): Promise<void> {
  const options = parseYson(text);
  const map = options instanceof Map ? options : emptyMap;
  const dynamic = map.get("dynamic");
  const given = map.get("schema");
  return fixture.tables.alter(root, path, {
    ...(typeof dynamic === "boolean" ? { dynamic } : {}),
    ...(given === undefined ? {} : { schema: given }),
  });
}

/** Records of sorted rows and of what is known about them. */
async function records(): Promise<number> {
  // Removals wait a moment for others.
  await fixture.clock.advance(10_000);
  let count = 0;
  for (const space of [keyspace.sortedRows, keyspace.retainedRows]) {
    const { from, to } = prefixRange(storeKey(space));
    count += [...fixture.cell.range(from, to, { keysOnly: true })].length;
  }
  return count;
}

async function scan(): Promise<string[]> {
  const table = fixture.tables.dynamicTable(root, "//tmp/t");
  const rows: string[] = [];
  for await (const batch of fixture.tables.scanSorted(table)) {
    rows.push(
      ...batch.map((row) =>
        row
          .map((value) => (value instanceof Uint8Array ? Buffer.from(value).toString() : String(value)))
          .join(":"),
      ),
    );
  }
  return rows;
}

it("a sorted static table becomes dynamic with its rows, and static again with the newest of them", async () => {
  await fixture.create("//tmp/t", `{schema=${schema}}`);
  const rows = Array.from({ length: 1_200 }, (_, k) => `{k=${k};a=v${k};u=${k}u}`);
  await fixture.write("//tmp/t", rows.join(";"));
  await alter("{dynamic=%true}");
  expect(await fixture.get("//tmp/t/@tablet_state")).toBe("unmounted");
  await fixture.tables.mount(root, path, {});
  const found = await scan();
  expect(found).toHaveLength(1_200);
  expect([found[0], found[1_199]]).toEqual(["0:v0:0", "1199:v1199:1199"]);
  // One record for each row, and one for the time since when they can be read.
  expect(await records()).toBe(1_201);
  await fixture.tables.unmount(root, path, {});
  await alter("{dynamic=%false}");
  expect(await records()).toBe(0);
  expect(await fixture.get("//tmp/t/@row_count")).toBe(1_200n);
  expect((await fixture.column("//tmp/t")).startsWith('"v0","v1","v2",')).toBe(true);
});

it("an empty table switches too, and a new schema can come with the switch", async () => {
  await fixture.create("//tmp/t", `{schema=${schema}}`);
  await alter(`{dynamic=%true;schema=${schema.replace("{name=u;", "{name=more;type=int64};{name=u;")}}`);
  await fixture.tables.mount(root, path, {});
  expect(await scan()).toEqual([]);
  await fixture.tables.unmount(root, path, {});
  await alter("{dynamic=%false}");
  expect(await fixture.get("//tmp/t/@row_count")).toBe(0n);
  expect(await records()).toBe(0);
});

it("a table whose keys need not be unique stays static", async () => {
  await fixture.create("//tmp/t", `{schema=${schema.replace("unique_keys=%true", "unique_keys=%false")}}`);
  await fixture.write("//tmp/t", "{k=1;a=x};{k=1;a=y}");
  const error = await failure(alter("{dynamic=%true}"));
  expect(error instanceof YtError && error.code).toBe(316);
  expect(await fixture.get("//tmp/t/@dynamic")).toBe(false);
  expect(await records()).toBe(0);
});

it("rows staged for a table that was written meanwhile are dropped, and nothing is changed", async () => {
  await fixture.create("//tmp/t", `{schema=${schema}}`);
  await fixture.write("//tmp/t", "{k=1;a=x}");
  const mutate = fixture.cypress.mutate.bind(fixture.cypress);
  vi.spyOn(fixture.cypress, "mutate").mockImplementationOnce(async (context, action) => {
    await fixture.write("<append=%true>//tmp/t", "{k=2;a=y}");
    return await mutate(context, action);
  });
  const error = await failure(alter("{dynamic=%true}"));
  expect(error.message).toContain("was changed while it was to be altered; try again");
  expect(await fixture.get("//tmp/t/@row_count")).toBe(2n);
  expect(await records()).toBe(0);
  await alter("{dynamic=%true}");
  await fixture.tables.mount(root, path, {});
  expect(await scan()).toHaveLength(2);
});

it("what a crash leaves of staged rows is removed at the next start", async () => {
  await fixture.create("//tmp/t", `{schema=${schema}}`);
  const batch = new WriteBatch();
  putStaged(batch, "1-2-30191-4");
  batch.put(
    storeKey(keyspace.sortedRows, Buffer.from("00000001000000020003019100000004ff", "hex")),
    Buffer.from("x"),
  );
  await fixture.cell.commit({ batch });
  expect(await records()).toBe(2);
  fixture = await fixture.reopen();
  expect(await records()).toBe(0);
});
