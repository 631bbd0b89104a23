/** Reads of one turn in one request, each with its own answer; watched reads; queries one behind the other. */
import { mapOf, YtError } from "@qyt/base";
import { expect, test } from "vitest";
import { FakeProxy } from "../testing/fake-proxy.ts";
import type { ClusterReads, ClusterReadsOptions } from "./cluster-reads.ts";
import { QueueRows, rowKey } from "./queue-rows.ts";

/** Answers each sub-request with its own parameters, those for the path `bad` with an error. */
function echoingProxy(): FakeProxy {
  return new FakeProxy({
    execute(_, parameters) {
      if (parameters.get("path") === "bad") {
        throw new YtError("nothing there", { code: 500 });
      }
      return mapOf({ value: parameters });
    },
    select: (query) =>
      [...query.matchAll(/\((\d+), ?(\d+)\)/g)].map(([, tablet, index]) =>
        mapOf({
          $tablet_index: BigInt(tablet ?? 0),
          $row_index: BigInt(index ?? 0),
          $cumulative_data_weight: 20n * BigInt(index ?? 0),
        }),
      ),
  });
}

function readsOf(proxy: FakeProxy, options: ClusterReadsOptions = {}): ClusterReads {
  return proxy.reads(options);
}

test("what is asked in one turn goes in one request, in order, each with its own answer", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy);
  const [first, bad, last] = await Promise.allSettled([
    reads.get("a"),
    reads.get("bad"),
    reads.execute("get_tablet_infos", { path: "c" }),
  ]);
  expect(proxy.batches).toHaveLength(1);
  expect(first).toMatchObject({ status: "fulfilled", value: mapOf({ path: "a" }) });
  expect(bad).toMatchObject({ status: "rejected", reason: { code: 500, message: "nothing there" } });
  expect(last).toMatchObject({ status: "fulfilled" });
  await reads.get("d");
  expect(proxy.batches).toHaveLength(2);
});

test("a long list goes in several requests", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy, { maxBatchSize: 10 });
  const answers = await Promise.all(Array.from({ length: 25 }, (_, index) => reads.get(`p${index}`)));
  expect(proxy.batches.map(({ length }) => length)).toEqual([10, 10, 5]);
  expect(answers[24]).toEqual(mapOf({ path: "p24" }));
});

test("a request that fails is the error of all that are in it", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy);
  proxy.isDown = true;
  const results = await Promise.allSettled([reads.get("a"), reads.get("b")]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  proxy.isDown = false;
  expect(await reads.get("a")).toEqual(mapOf({ path: "a" }));
});

test("a watched read has the answer of the refresh once, then asks for itself", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy);
  let decoded = 0;
  const watched = reads.watch("get", { path: "a" }, () => ++decoded);
  const bad = reads.watch("get", { path: "bad" }, () => ++decoded);
  await reads.refresh();
  expect(proxy.batches).toHaveLength(1);
  expect(await watched.take()).toBe(1);
  await expect(bad.take()).rejects.toMatchObject({ code: 500 });
  expect(proxy.batches).toHaveLength(1);
  expect(await watched.take()).toBe(2);
  expect(proxy.batches).toHaveLength(2);
  watched.close();
  bad.close();
  await reads.refresh();
  expect(proxy.batches).toHaveLength(2);
});

test("a refresh that fails is the error of each read, and the next one may succeed", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy);
  const watched = reads.watch("get", { path: "a" }, () => "here");
  proxy.isDown = true;
  await reads.refresh();
  await expect(watched.take()).rejects.toThrow("connection refused");
  proxy.isDown = false;
  await reads.refresh();
  expect(await watched.take()).toBe("here");
});

test("no more queries run at once than may", async () => {
  const proxy = echoingProxy();
  const reads = readsOf(proxy, { maxQueries: 3 });
  await Promise.all(Array.from({ length: 10 }, () => reads.select("* from [//q]")));
  expect(proxy.queries).toHaveLength(10);
  expect(proxy.mostQueriesAtOnce).toBe(3);
});

test("rows of one queue that are asked for in one turn are one query", async () => {
  const proxy = echoingProxy();
  const rows = new QueueRows(readsOf(proxy), "//q");
  const columns = { hasTimestampColumn: false, hasCumulativeDataWeightColumn: true };
  const [own, consumers] = await Promise.all([
    rows.read([rowKey(0, 5n)], columns),
    rows.read([rowKey(0, 5n), rowKey(1, 7n)], columns),
  ]);
  expect(proxy.queries).toEqual([
    "[$tablet_index], [$row_index], [$cumulative_data_weight] from [//q] where ([$tablet_index], [$row_index]) in ((0,5), (1,7))",
  ]);
  expect(own.get("0,5")).toEqual({ timestamp: null, cumulativeDataWeight: 100n });
  expect(consumers.get("1,7")?.cumulativeDataWeight).toBe(140n);
});
