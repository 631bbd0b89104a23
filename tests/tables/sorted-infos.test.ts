/** `get_tablet_infos` of sorted tables: what a reader of a consumer's offsets looks at before it reads them. */
import { FakeClock } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fieldOf, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start({ clock: new FakeClock() });
});
afterEach(() => cluster.stop());

const schema = "[{name=key;type=int64;sort_order=ascending};{name=value;type=string}]";

interface Info {
  readonly written: bigint;
  readonly barrier: bigint;
}

/** Timestamps exactly: JSON numbers would round them. */
async function infos(indexes: readonly number[], path = "//tmp/t"): Promise<Info[]> {
  const text = await cluster.ok(
    "get_tablet_infos",
    `{path="${path}";tablet_indexes=[${indexes.join(";")}];output_format=<format=text>yson}`,
  );
  const all = (name: string): bigint[] =>
    [...text.matchAll(new RegExp(`"${name}"=(\\d+)u`, "g"))].map(([, digits]) => BigInt(digits ?? ""));
  const barriers = all("barrier_timestamp");
  return all("last_write_timestamp").map((written, index) => ({ written, barrier: barriers[index] ?? 0n }));
}

const written = async (indexes: readonly number[]): Promise<bigint[]> =>
  (await infos(indexes)).map((info) => info.written);

describe("tablet infos of a sorted table", () => {
  beforeEach(() => cluster.createSorted("//tmp/t", schema, "pivot_keys=[[];[10]]"));

  it("have no row counts, and the time of the newest write to the tablet", async () => {
    expect(await cluster.value("get_tablet_infos", `{path="//tmp/t";tablet_indexes=[0]}`)).toEqual({
      tablets: [
        {
          total_row_count: 0,
          trimmed_row_count: 0,
          delayed_lockless_row_count: 0,
          barrier_timestamp: expect.any(Number),
          last_write_timestamp: 0,
        },
      ],
    });
    expect(await written([0, 1])).toEqual([0n, 0n]);
    await cluster.insert("//tmp/t", "{key=1;value=a}");
    const [first = 0n, untouched] = await written([0, 1]);
    expect([first > 0n, untouched]).toEqual([true, 0n]);
    await cluster.insert("//tmp/t", "{key=10;value=a};{key=11;value=b}");
    const [same, second = 0n] = await written([0, 1]);
    expect([same, second > first]).toEqual([first, true]);
    await cluster.ok("delete_rows", '{path="//tmp/t"}', "{key=10}");
    expect(((await written([1]))[0] ?? 0n) > second).toBe(true);
    const attribute = '{path="//tmp/t/@tablets/1/last_commit_timestamp";output_format=<format=text>yson}';
    expect(await cluster.ok("get", attribute)).toContain(`${(await written([1]))[0] ?? 0n}u`);
    const [info] = await infos([1]);
    expect((info?.barrier ?? 0n) >= (info?.written ?? 0n)).toBe(true);
  });

  it("do not change with locks, failed commits and what is not committed", async () => {
    await cluster.insert("//tmp/t", "{key=1;value=a}");
    const before = await written([0]);
    const transaction = await cluster.startTransaction();
    await cluster.insert("//tmp/t", "{key=1;value=b}", `transaction_id="${transaction}"`);
    expect(await written([0])).toEqual(before);
    await cluster.insert("//tmp/t", "{key=1;value=c}");
    const winner = await written([0]);
    await cluster.error("commit_transaction", `{transaction_id="${transaction}"}`);
    expect(await written([0])).toEqual(winner);
    const locker = await cluster.startTransaction();
    await cluster.ok("lock_rows", `{path="//tmp/t";transaction_id="${locker}"}`, "{key=1}");
    await cluster.commit(locker);
    expect(await written([0])).toEqual(winner);
  });

  it("are the same after a restart, and stay with the rows when they are resharded and copied", async () => {
    await cluster.insert("//tmp/t", "{key=1;value=a}");
    const [first = 0n] = await written([0]);
    cluster = await cluster.restart();
    expect(await written([0, 1])).toEqual([first, 0n]);
    await cluster.insert("//tmp/t", "{key=20;value=a}");
    const [, second = 0n] = await written([0, 1]);
    expect(second > first).toBe(true);
    await cluster.unmount("//tmp/t");
    await cluster.ok("reshard_table", '{path="//tmp/t";pivot_keys=[[];[5];[10]]}');
    await cluster.mount("//tmp/t");
    expect(await written([0, 1, 2])).toEqual([second, second, second]);
    await cluster.unmount("//tmp/t");
    await cluster.ok("move", '{source_path="//tmp/t";destination_path="//tmp/moved"}');
    await cluster.mount("//tmp/moved");
    expect((await infos([2], "//tmp/moved")).map((info) => info.written)).toEqual([second]);
  });

  it("refuse tablets that are unmounted or not there", async () => {
    await cluster.unmount("//tmp/t");
    expect((await cluster.error("get_tablet_infos", '{path="//tmp/t";tablet_indexes=[0]}')).code).toBe(1702);
    expect((await cluster.error("get_tablet_infos", '{path="//tmp/t";tablet_indexes=[2]}')).code).toBe(1701);
    const frozen = await cluster.value("get", '{path="//tmp/t/@id"}');
    await cluster.mount("//tmp/t", "freeze=%true");
    const byId = `#${String(fieldOf(frozen, "value"))}`;
    expect((await infos([0], byId)).map((info) => info.written)).toEqual([0n]);
  });
});
