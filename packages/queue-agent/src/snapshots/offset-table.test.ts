/** What is read of a consumer's table, and when it is not read again. */
import { mapOf, Uint64, type YsonMap, YtError } from "@qyt/base";
import { describe, expect, test } from "vitest";
import { FakeProxy } from "../testing/fake-proxy.ts";
import { OffsetTable, type OffsetTarget } from "./offset-table.ts";

const queue = { cluster: "primary", path: "//tmp/q" };
const targets: readonly OffsetTarget[] = [{ queue, partitionCount: 2 }];
const plainKind = { hasMeta: true, hasName: false, isLegacy: false };

interface TableState {
  lastWrite: bigint;
  offset: bigint;
  /** The server tells when the rows of a sorted table were written. */
  tellsTimestamps?: boolean;
  /** The server tells when a sorted table was last written. */
  tellsLastWrite?: boolean;
  isUnmounted?: boolean;
}

function tableOf(state: TableState): { table: OffsetTable; proxy: FakeProxy } {
  const requireMounted = (): void => {
    if (state.isUnmounted === true) {
      throw new YtError("Tablet is not mounted", { code: "TabletNotMounted" });
    }
  };
  const proxy = new FakeProxy({
    execute(command) {
      if (command === "get") {
        return mapOf({ value: 1n });
      }
      requireMounted();
      if (state.tellsLastWrite === false) {
        throw new YtError("Table //tmp/c is not ordered");
      }
      return mapOf({ tablets: [mapOf({ last_write_timestamp: new Uint64(state.lastWrite) })] });
    },
    select(query) {
      requireMounted();
      const wantsTimestamp = query.includes("[$timestamp:offset]");
      if (wantsTimestamp && state.tellsTimestamps === false) {
        throw new YtError('Undefined reference "$timestamp:offset"');
      }
      const row: Record<string, YsonMap | string | Uint64> = {
        queue_cluster: queue.cluster,
        queue_path: queue.path,
        partition_index: new Uint64(1n),
        offset: new Uint64(state.offset),
        meta: mapOf({ cumulative_data_weight: 40n, offset_timestamp: new Uint64(77n) }),
        ...(wantsTimestamp ? { "$timestamp:offset": new Uint64(1_000n) } : {}),
      };
      return [mapOf(row), mapOf({ ...row, partition_index: new Uint64(2n) })];
    },
  });
  return { table: new OffsetTable(proxy.reads(), "//tmp/c"), proxy };
}

test("an offset comes with when it was written and what its row has noted", async () => {
  const { table, proxy } = tableOf({ lastWrite: 5n, offset: 2n });
  const { offsets } = await table.read(plainKind, targets);
  expect(offsets.get("primary://tmp/q")).toEqual(
    new Map([
      [1, { nextRowIndex: 2n, consumeTimestamp: 1_000n, cumulativeDataWeight: 40n, offsetTimestamp: 77n }],
    ]),
  );
  expect(proxy.queries).toEqual([
    '[queue_cluster], [queue_path], [partition_index], [offset], [meta], [$timestamp:offset] from [//tmp/c] where ([queue_cluster], [queue_path]) in (("primary", "//tmp/q")) and [partition_index] < 2u',
  ]);
});

test("rows are read again only when the table was written, or others are wanted", async () => {
  const state: TableState = { lastWrite: 5n, offset: 2n };
  const { table, proxy } = tableOf(state);
  const first = await table.read(plainKind, targets);
  expect(await table.read(plainKind, targets)).toBe(first);
  expect(proxy.queries).toHaveLength(1);
  state.lastWrite = 6n;
  state.offset = 3n;
  const second = await table.read(plainKind, targets);
  expect(second.offsets.get("primary://tmp/q")?.get(1)?.nextRowIndex).toBe(3n);
  expect(second.lastWriteTimestamp).toBe(6n);
  await table.read(plainKind, [{ queue, partitionCount: 3 }]);
  expect(proxy.queries).toHaveLength(3);
});

test("after a while the table is read whatever it says", async () => {
  const { table, proxy } = tableOf({ lastWrite: 5n, offset: 2n });
  for (let pass = 0; pass < 200; pass++) {
    await table.read(plainKind, targets);
  }
  expect(proxy.queries.length).toBeGreaterThan(1);
  expect(proxy.queries.length).toBeLessThan(10);
});

test("without queues nothing is asked", async () => {
  const { table, proxy } = tableOf({ lastWrite: 5n, offset: 2n });
  await table.read(plainKind, []);
  expect(proxy.queries).toEqual([]);
  expect(proxy.batches).toEqual([]);
});

describe("a server that tells less", () => {
  test("of the times of rows: they are unknown", async () => {
    const { table, proxy } = tableOf({ lastWrite: 5n, offset: 2n, tellsTimestamps: false });
    const { offsets, lastWriteTimestamp } = await table.read(plainKind, targets);
    expect(offsets.get("primary://tmp/q")?.get(1)?.consumeTimestamp).toBe(null);
    expect(lastWriteTimestamp).toBe(5n);
    expect(proxy.queries).toHaveLength(2);
  });

  test("of the last write of a sorted table: rows are read each time", async () => {
    const { table, proxy } = tableOf({ lastWrite: 5n, offset: 2n, tellsLastWrite: false });
    await table.read(plainKind, targets);
    await table.read(plainKind, targets);
    expect(proxy.queries).toHaveLength(2);
    // And it is not asked for that again.
    const infos = proxy.batches.flat().filter((item) => item.get("command") === "get_tablet_infos");
    expect(infos).toHaveLength(1);
  });
});

test("an unmounted table is an error with its code, and is read as soon as it is mounted", async () => {
  const state: TableState = { lastWrite: 5n, offset: 2n, isUnmounted: true };
  const { table } = tableOf(state);
  await expect(table.read(plainKind, targets)).rejects.toMatchObject({ code: 1702 });
  state.isUnmounted = false;
  const { offsets } = await table.read(plainKind, targets);
  expect(offsets.get("primary://tmp/q")?.get(1)?.consumeTimestamp).toBe(1_000n);
});

describe("a table of several consumers", () => {
  const kind = { ...plainKind, hasName: true };
  const namedRow = (name: string, path: string): YsonMap =>
    mapOf({
      queue_consumer_name: name,
      queue_cluster: queue.cluster,
      queue_path: path,
      partition_index: new Uint64(0n),
      offset: new Uint64(3n),
    });

  test("tells all its names with the query for the offsets, also without queues", async () => {
    const proxy = new FakeProxy({
      execute: (command) =>
        mapOf(
          command === "get" ? { value: 1n } : { tablets: [mapOf({ last_write_timestamp: new Uint64(5n) })] },
        ),
      select: () => [namedRow("left", queue.path), namedRow("right", "//tmp/other")],
    });
    const table = new OffsetTable(proxy.reads(), "//tmp/c");
    const { names, offsets } = await table.read(kind, targets);
    expect(names).toEqual(new Set(["left", "right"]));
    expect([...offsets.keys()]).toEqual(["primary://tmp/q\u0000left"]);
    expect(proxy.queries).toHaveLength(1);
    // The same set while nothing is written.
    expect((await table.read(kind, targets)).names).toBe(names);
    expect(proxy.queries).toHaveLength(1);
    expect((await table.read(kind, [])).names).toEqual(names);
  });
});
