/** Row counts, weights and sizes of sorted tables, and when they were written last: kept, never counted. */
import { emptyMap } from "@qyt/base";
import { between, chance, testRandom } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { keyspace, prefixRange, storeKey, WriteBatch } from "../../cell/index.ts";
import {
  addFigures,
  noFigures,
  readVersions,
  rowKeyOf,
  type TabletFigures,
  versionWeight,
} from "../sorted/index.ts";
import { EngineFixture } from "../transactions/engine-fixture.ts";
import type { DynamicTableHandle } from "./dynamic-table-handle.ts";
import { sortedFigures } from "./sorted-tablets.ts";

const root = { user: "root" };
const schema =
  "[{name=k;type=int64;sort_order=ascending};{name=s;type=string;sort_order=ascending};{name=v;type=string}]";

/** What is really there. */
function counted(engine: EngineFixture, table: DynamicTableHandle): TabletFigures {
  let sum = noFigures;
  for (const { key, version, byteSize } of readVersions(engine.cell, table.rows.range, () => table.path)) {
    sum = addFigures(sum, {
      versionCount: 1,
      dataWeight: versionWeight(rowKeyOf(key), version.cells),
      byteSize,
      lastCommitTimestamp: version.timestamp,
    });
  }
  return sum;
}

const kept = (engine: EngineFixture, table: DynamicTableHandle): TabletFigures =>
  sortedFigures(engine.tables.environment, table.state);

function withoutTime({ versionCount, dataWeight, byteSize }: TabletFigures) {
  return { versionCount, dataWeight, byteSize };
}

/** Long enough for the background to merge all that it may. */
async function compact(engine: EngineFixture): Promise<void> {
  for (let turn = 0; turn < 8; turn++) {
    await engine.clock.advance(600_000);
  }
}

async function attribute(engine: EngineFixture, path: string): Promise<unknown> {
  return engine.cypress.get(root, { path });
}

it("are what YTsaurus weighs: keys, values and timestamps of each version", async () => {
  const engine = await EngineFixture.open();
  const table = await engine.createTable("//tmp/t", schema);
  expect(await attribute(engine, "//tmp/t/@last_commit_timestamp")).toEqual(parseYson("0u"));
  const at = await engine.write(table, "{k=1;s=ab;v=xyz};{k=2;s=#;v=#}");
  expect(await attribute(engine, "//tmp/t/@chunk_row_count")).toBe(2n);
  expect(await attribute(engine, "//tmp/t/@unmerged_row_count")).toBe(2n);
  // 8 + 2 of the key, 3 of the value, 8 of the time; and 8 + 8.
  expect(await attribute(engine, "//tmp/t/@data_weight")).toBe(37n);
  expect(await attribute(engine, "//tmp/t/@tablet_statistics/unmerged_row_count")).toBe(2n);
  expect(await attribute(engine, "//tmp/t/@tablets/0/statistics/uncompressed_data_size")).toBe(
    BigInt(counted(engine, table).byteSize),
  );
  expect(await attribute(engine, "//tmp/t/@resource_usage/disk_space")).toBe(
    BigInt(counted(engine, table).byteSize),
  );
  expect(await attribute(engine, "//tmp/t/@last_commit_timestamp")).toEqual(parseYson(`${at}u`));
  await engine.write(table, "{k=1;s=ab;v=w}");
  expect(await attribute(engine, "//tmp/t/@chunk_row_count")).toBe(3n);
  await compact(engine);
  expect(await attribute(engine, "//tmp/t/@chunk_row_count")).toBe(2n);
  expect(await attribute(engine, "//tmp/t/@data_weight")).toBe(35n);
  await engine.close();
});

it("are right after writes, deletions, lost flushes, compaction and restarts", {
  timeout: 60_000,
}, async () => {
  const random = testRandom("figures");
  let engine = await EngineFixture.open();
  let table = await engine.createTable("//tmp/t", schema, "pivot_keys=[[];[5]]");
  for (let step = 0; step < 150; step++) {
    const rows = Array.from(
      { length: between(random, 1, 4) },
      () => `{k=${random.below(10)};s="${"x".repeat(random.below(3))}\\x00"`,
    );
    if (chance(random, 0.1)) {
      engine.store.failAt(1);
    }
    if (chance(random, 0.7)) {
      const long = chance(random, 0.1) ? 20_000 : 5;
      await engine
        .write(table, rows.map((row) => `${row};v="${"y".repeat(random.below(long))}"}`).join(";"))
        .catch(() => undefined);
    } else {
      const transaction = engine.begin();
      await engine.delete(transaction, table, rows.map((row) => `${row}}`).join(";"));
      await transaction.commit().catch(() => undefined);
    }
    await engine.clock.advance(chance(random, 0.2) ? 400_000 : 10);
    if (chance(random, 0.1)) {
      engine = await engine.reopen();
      table = engine.table("//tmp/t");
    }
    expect(withoutTime(kept(engine, table)), `step ${step}`).toEqual(withoutTime(counted(engine, table)));
  }
  await compact(engine);
  expect(withoutTime(kept(engine, table))).toEqual(withoutTime(counted(engine, table)));
  await engine.close();
});

it("go along with copies, moves, other tablets and another kind of table", async () => {
  let engine = await EngineFixture.open();
  const path = (name: string) => ({ path: name, attributes: emptyMap });
  await engine.createTable("//tmp/t", schema);
  const written = await engine.write(engine.table("//tmp/t"), "{k=1;s=a;v=x};{k=2;s=b;v=y};{k=3;s=c;v=z}");
  const whole = kept(engine, engine.table("//tmp/t"));
  await engine.unmount("//tmp/t");
  await engine.cypress.copy(root, { sourcePath: "//tmp/t", destinationPath: "//tmp/copy" });
  await engine.cypress.move(root, { sourcePath: "//tmp/t", destinationPath: "//tmp/moved" });
  expect(kept(engine, engine.table("//tmp/copy"))).toEqual(whole);
  expect(kept(engine, engine.table("//tmp/moved"))).toEqual(whole);
  await engine.tables.reshard(root, path("//tmp/moved"), { pivotKeys: [[], [2n]] });
  expect(kept(engine, engine.table("//tmp/moved"))).toEqual(whole);
  await engine.tables.reshard(root, path("//tmp/moved"), { tabletCount: 1 });
  engine = await engine.reopen();
  expect(kept(engine, engine.table("//tmp/moved"))).toEqual(whole);
  expect(whole.lastCommitTimestamp).toBe(written);
  await engine.tables.alter(root, path("//tmp/copy"), { dynamic: false });
  await engine.tables.alter(root, path("//tmp/copy"), { dynamic: true });
  const again = engine.table("//tmp/copy");
  expect(withoutTime(kept(engine, again))).toEqual(withoutTime(counted(engine, again)));
  for (const name of ["copy", "moved"]) {
    await engine.cypress.remove(root, { path: `//tmp/${name}`, force: true });
  }
  const { from, to } = prefixRange(storeKey(keyspace.sortedTablets));
  const left = [...engine.cell.range(from, to, { keysOnly: true })].length;
  const sorted = [...engine.cypress.allNodesOfType("table")].length;
  expect([left, sorted]).toEqual([0, 0]);
  await engine.close();
});

it("are counted once, at the start, where an earlier release has written none", async () => {
  let engine = await EngineFixture.open();
  await engine.createTable("//tmp/t", schema, "pivot_keys=[[];[2]]");
  await engine.write(engine.table("//tmp/t"), "{k=1;s=a;v=x};{k=2;s=b;v=y}");
  await engine.write(engine.table("//tmp/t"), "{k=2;s=b;v=yy}");
  const before = engine
    .table("//tmp/t")
    .state.tablets.map(({ id }) => engine.tables.environment.figures.find(id));
  const batch = new WriteBatch();
  const { from, to } = prefixRange(storeKey(keyspace.sortedTablets));
  for (const { key } of engine.cell.range(from, to)) {
    batch.remove(key);
  }
  await engine.cell.commit({ batch });
  engine = await engine.reopen();
  const after = engine
    .table("//tmp/t")
    .state.tablets.map(({ id }) => engine.tables.environment.figures.find(id));
  expect(after).toEqual(before);
  await engine.close();
});
