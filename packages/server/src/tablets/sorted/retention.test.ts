/** What the attributes `min_data_versions`, `max_data_versions`, `min_data_ttl` and `max_data_ttl` keep of sorted rows. */
import { afterEach, beforeEach, expect, it } from "vitest";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture } from "../transactions/engine-fixture.ts";

const schema = "[{name=k;type=int64;sort_order=ascending};{name=v;type=string};{name=w;type=string}]";
let engine: EngineFixture;
beforeEach(async () => {
  engine = await EngineFixture.open();
});
afterEach(() => engine.close());

const minuteMs = 60_000;

/** Minutes since the start of the test at which the versions of a row were written, newest first. */
function versionMinutes(table: DynamicTableHandle, startMs: number): number[] {
  const key = table.rows.encodeKey([1n]);
  return table.rows
    .versions(key, engine.transactions.visibleTimestamp, 100)
    .map(({ timestamp }) => Math.round((Number(timestamp >> 30n) - startMs / 1000) / 60));
}

/** One version a minute, the values v0, v1, …. @returns commit timestamps */
async function writeEachMinute(table: DynamicTableHandle, count: number): Promise<bigint[]> {
  const timestamps: bigint[] = [];
  for (let round = 0; round < count; round++) {
    timestamps.push(await engine.write(table, `{k=1;v=v${round}}`));
    await engine.clock.advance(minuteMs);
  }
  return timestamps;
}

it.each([
  // Behind the versions that are younger than min_data_ttl stands the one that was valid when they begin.
  ["min_data_ttl=150000", [5, 4, 3]],
  ['min_data_ttl="2.5m"', [5, 4, 3]],
  ['mount_config={min_data_ttl="150s"}', [5, 4, 3]],
  ["min_data_ttl=0", [5]],
  ["min_data_ttl=0;min_data_versions=3", [5, 4, 3]],
  ["min_data_ttl=0;min_data_versions=3;max_data_versions=1", [5, 4, 3]],
  ['min_data_ttl=0;max_data_versions=4;max_data_ttl="1h"', [5, 4, 3, 2]],
  ["min_data_ttl=0;max_data_versions=4;max_data_ttl=150000", [5, 4]],
  ['min_data_ttl=0;max_data_versions=20;max_data_ttl="1h"', [5, 4, 3, 2, 1, 0]],
  ["", [5, 4, 3, 2, 1, 0]],
])("with %s of six versions, one a minute, stay those of minutes %j", async (settings, expected) => {
  const table = await engine.createTable("//tmp/t", schema, settings);
  const startMs = engine.clock.now();
  const timestamps = await writeEachMinute(table, 6);
  expect(versionMinutes(table, startMs)).toEqual(expected);
  expect(engine.scan(table)).toEqual(["1:v5:#"]);
  // What is not refused is as it was.
  for (const [index, timestamp] of timestamps.entries()) {
    if (timestamp < engine.tables.environment.retainedTimestamp(table.id)) {
      expect(() => engine.lookup(table, "{k=1}", timestamp)).toThrow(expect.objectContaining({ code: 1708 }));
    } else {
      expect(engine.lookup(table, "{k=1}", timestamp)).toEqual([`1:v${index}:#`]);
    }
  }
});

it("rows go by age alone where min_data_versions is 0", async () => {
  const table = await engine.createTable(
    "//tmp/t",
    schema,
    'min_data_versions=0;min_data_ttl=0;max_data_ttl="3m"',
  );
  await engine.write(table, "{k=1;v=a};{k=2;v=a;w=b}");
  await engine.clock.advance(2 * minuteMs);
  await engine.write(table, "{k=2;v=c}", { update: true });
  expect(engine.scan(table)).toEqual(["1:a:#", "2:c:b"]);
  await engine.clock.advance(1.5 * minuteMs);
  // Row 1 is too old, and of row 2 the value that was not written again.
  expect(engine.scan(table)).toEqual(["2:c:#"]);
  await engine.clock.advance(2 * minuteMs);
  expect(engine.scan(table)).toEqual([]);
  expect(engine.recordCount(table)).toBe(0);
});

it("with max_data_versions 0 too, min_data_ttl is the lifetime", async () => {
  const table = await engine.createTable(
    "//tmp/t",
    schema,
    "min_data_versions=0;max_data_versions=0;min_data_ttl=60000",
  );
  await engine.write(table, "{k=1;v=a}");
  await engine.clock.advance(50_000);
  expect(engine.scan(table)).toEqual(["1:a:#"]);
  await engine.clock.advance(20_000);
  expect(engine.scan(table)).toEqual([]);
});

it("deletions go with what they hide, however many versions are kept", async () => {
  const table = await engine.createTable("//tmp/t", schema, "min_data_ttl=0;min_data_versions=3");
  await writeEachMinute(table, 2);
  const transaction = engine.begin();
  await engine.delete(transaction, table, "{k=1}");
  await transaction.commit();
  await engine.clock.advance(minuteMs);
  expect(engine.scan(table)).toEqual([]);
  expect(engine.recordCount(table)).toBe(3);
  await writeEachMinute(table, 3);
  expect(engine.scan(table)).toEqual(["1:v2:#"]);
  expect(engine.recordCount(table)).toBe(3);
});

it("a setting changed later counts from then on", async () => {
  const table = await engine.createTable("//tmp/t", schema, "min_data_ttl=0;min_data_versions=5");
  await writeEachMinute(table, 5);
  expect(engine.recordCount(table)).toBe(5);
  await engine.cypress.set({ user: "root" }, { path: "//tmp/t/@min_data_versions", value: 2n });
  await engine.clock.advance(minuteMs);
  expect(engine.recordCount(table)).toBe(2);
});

it("what can be read is known after a restart, however long ago it was", async () => {
  let table = await engine.createTable("//tmp/t", schema, 'min_data_ttl="2h"');
  const other = await engine.createTable("//tmp/o", schema, "min_data_ttl=0");
  const first = await engine.write(table, "{k=1;v=a}");
  await engine.write(other, "{k=1;v=a}");
  await engine.clock.advance(minuteMs);
  await engine.write(table, "{k=1;v=b}");
  await engine.write(other, "{k=1;v=b}");
  await engine.clock.advance(10 * minuteMs);
  engine = await engine.reopen();
  table = engine.table("//tmp/t");
  expect(engine.lookup(table, "{k=1}", first)).toEqual(["1:a:#"]);
  expect(() => engine.lookup(engine.table("//tmp/o"), "{k=1}", first)).toThrow(
    expect.objectContaining({ code: 1708 }),
  );
});
