/** Copies and moves of sorted tables with so many versions that they are copied before the mutation. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { keyspace, prefixRange, storeKey } from "../../packages/server/src/cell/index.ts";
import { fieldOf, TestCluster } from "./test-cluster.ts";

const schema = "[{name=k;type=int64;sort_order=ascending};{name=v;type=int64}]";
const rowCount = 7_500;
const versionCount = 3;

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.createSorted(
    "//tmp/t",
    schema,
    "pivot_keys=[[];[100]];min_data_versions=10;max_data_versions=10",
  );
  for (let version = 0; version < versionCount; version++) {
    const rows = Array.from({ length: rowCount }, (_, k) => `{k=${k};v=${k * 10 + version}}`);
    await cluster.insert("//tmp/t", rows.join(";"));
  }
  await cluster.unmount("//tmp/t");
}, 60_000);
afterAll(() => cluster.stop());

async function totals(path: string): Promise<unknown> {
  const names = ["chunk_row_count", "data_weight", "uncompressed_data_size", "last_commit_timestamp"];
  return Promise.all(names.map((name) => cluster.get(`${path}/@${name}`)));
}

/** Stored versions and what is known of tables' rows; removals go on in the background. */
function recordCount(): number {
  let count = 0;
  for (const space of [keyspace.sortedRows, keyspace.retainedRows]) {
    const { from, to } = prefixRange(storeKey(space));
    count += [...cluster.store.range(from, to, { keysOnly: true })].length;
  }
  return count;
}

async function eventuallyRecords(count: number): Promise<void> {
  await expect.poll(recordCount, { timeout: 20_000 }).toBe(count);
}

async function checkRows(path: string): Promise<void> {
  await cluster.mount(path);
  const [sums] = await cluster.select(`sum(v) as s, sum(1) as c from [${path}] group by 1`);
  expect(sums).toEqual({
    s: (rowCount * (rowCount - 1) * 10) / 2 + rowCount * (versionCount - 1),
    c: rowCount,
  });
  const [row] = await cluster.lookup(path, "{k=7499}");
  expect(fieldOf(row, "v")).toBe(7_499 * 10 + versionCount - 1);
}

describe(`a sorted table of ${rowCount * versionCount} versions`, () => {
  it("is copied and moved as a whole, with all its versions and their times", {
    timeout: 60_000,
  }, async () => {
    const before = recordCount();
    const whole = await totals("//tmp/t");
    expect(await cluster.get("//tmp/t/@chunk_row_count")).toBe(rowCount * versionCount);
    await cluster.ok("copy", '{source_path="//tmp/t";destination_path="//tmp/copies/a";recursive=%true}');
    await cluster.ok("copy", '{source_path="//tmp/copies";destination_path="//tmp/more"}');
    await cluster.ok("move", '{source_path="//tmp/more/a";destination_path="//tmp/moved"}');
    expect(await totals("//tmp/copies/a")).toEqual(whole);
    expect(await totals("//tmp/moved")).toEqual(whole);
    await checkRows("//tmp/copies/a");
    await checkRows("//tmp/moved");
    for (const path of ["//tmp/copies", "//tmp/more", "//tmp/moved"]) {
      await cluster.ok("remove", `{path="${path}";recursive=%true;force=%true}`);
    }
    await eventuallyRecords(before);
  });

  it("leaves nothing behind when the copy is refused, or its transaction is aborted", {
    timeout: 60_000,
  }, async () => {
    const before = recordCount();
    await cluster.ok("create", '{type=map_node;path="//tmp/there"}');
    const refused = await cluster.error("copy", '{source_path="//tmp/t";destination_path="//tmp/there"}');
    expect(refused.message).toContain("already exists");
    const transaction = await cluster.startTransaction("type=master");
    const inside = `transaction_id="${transaction}"`;
    await cluster.ok("copy", `{source_path="//tmp/t";destination_path="//tmp/inside";${inside}}`);
    await cluster.ok("move", `{source_path="//tmp/t";destination_path="//tmp/away";${inside}}`);
    expect(recordCount()).toBeGreaterThan(before * 2.5);
    await cluster.ok("abort_transaction", `{${inside}}`);
    await eventuallyRecords(before);
    expect(await cluster.get("//tmp/t/@chunk_row_count")).toBe(rowCount * versionCount);
    await checkRows("//tmp/t");
  });
});
