/** `pull_queue`: what a portion holds, where it stops, who may read. */
import { mapOf, withAttributes } from "@qyt/base";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { failureOf, plain, startOne, type TestCluster } from "./fixture.ts";

let primary: TestCluster;

beforeAll(async () => {
  primary = await startOne();
  await primary.createQueue("//tmp/q");
  await primary.link("//tmp/q", "//tmp/q-link");
  await primary.root.insertRows("//tmp/q", [{ data: "foo" }, { data: "bar" }]);
});

afterAll(() => primary?.close());

/** The response parameters of a pull, as text YSON. */
/** Without the revision of the tablets' layout, which is another one each time. */
async function responseParameters(path: string, offset: number): Promise<string | null> {
  const query = new URLSearchParams({ queue_path: path, partition_index: "0", offset: String(offset) });
  const response = await fetch(`http://${primary.cluster.address}/api/v4/pull_queue?${query}`, {
    headers: { "X-YT-Header-Format": "<format=text>yson" },
  });
  expect(response.status).toBe(200);
  await response.arrayBuffer();
  const header = response.headers.get("x-yt-response-parameters");
  return header === null ? null : header.replace(/"tablet_layout_revision"=\d+u;/, "");
}

describe.each(["//tmp/q", "//tmp/q-link"])("[queue-api 39] pull_queue of %s", (path) => {
  const pull = (offset: bigint, options = {}) => primary.root.pullQueue(path, offset, 0, options);
  const foo = { $tablet_index: 0n, $row_index: 0n, data: "foo" };
  const bar = { $tablet_index: 0n, $row_index: 1n, data: "bar" };

  it("[queue-api 35] begins at the offset", async () => {
    expect(plain(await pull(1n))).toEqual([bar]);
  });

  it("[queue-api 36] stops after max_row_count rows", async () => {
    expect(plain(await pull(0n, { maxRowCount: 1n }))).toEqual([foo]);
  });

  it("[queue-api 37] gives all rows in order", async () => {
    expect(plain(await pull(0n))).toEqual([foo, bar]);
  });

  it("[queue-api 38] gives one row although it is heavier than max_data_weight", async () => {
    expect(plain(await pull(0n, { maxDataWeight: 5n }))).toEqual([foo]);
  });

  it("[queue-api 48] refuses a negative offset", async () => {
    expect((await failureOf(pull(-1n))).text).toMatch(/Cannot read table .* at a negative offset -1/);
  });

  it("[queue-api 49] finds nothing beyond the end, which is no error", async () => {
    expect(await pull(2n)).toEqual([]);
    expect(await pull((1n << 63n) - 1n)).toEqual([]);
  });

  it("[queue-api 51] refuses a partition that is not there", async () => {
    for (const partition of [1, -1]) {
      const failure = await failureOf(primary.root.pullQueue(path, 0n, partition));
      expect(failure.codes).toContain(1701);
      expect(failure.text).toContain("Invalid tablet index for table");
    }
  });
});

describe("pull_queue", () => {
  it("[queue-api 40] gives exactly the index columns and those of the schema, nulls included", async () => {
    await primary.createQueue("//tmp/plain", { columns: [{ name: "data", type: "string" }] });
    await primary.root.insertRows("//tmp/plain", [{ data: "x" }, { data: null }]);
    expect(await primary.root.pullQueue("//tmp/plain", 0n, 0)).toEqual([
      { $tablet_index: 0n, $row_index: 0n, data: "x" },
      { $tablet_index: 0n, $row_index: 1n, data: null },
    ]);
  });

  it("[queue-api 46] needs read on the queue", async () => {
    const alice = await primary.user("alice");
    await primary.createQueue("//tmp/queue-46", { attributes: { inherit_acl: false } });
    const failure = await failureOf(alice.pullQueue("//tmp/queue-46", 0n, 0));
    expect(failure.codes).toContain(901);
    expect(failure.text).toContain("No Read permission for //tmp/queue-46");
  });

  it.each(["in memory", "flushed"])("[queue-api 47] obeys allow and deny entries, rows %s", async (where) => {
    const bob = await primary.user("bob");
    const path = `//tmp/queue-47-${where === "flushed" ? "flushed" : "memory"}`;
    await primary.createQueue(path, { attributes: { inherit_acl: false } });
    await primary.root.insertRows(path, [{ data: "a" }]);
    if (where === "flushed") {
      await primary.root.unmountTable(path);
      await primary.root.mountTable(path);
    }
    await primary.allow(path, "bob", ["read"]);
    expect(plain(await bob.pullQueue(path, 0n, 0))).toEqual([
      { $tablet_index: 0n, $row_index: 0n, data: "a" },
    ]);
    await primary.set(`${path}/@acl/end`, { action: "deny", subjects: ["bob"], permissions: ["read"] });
    expect((await failureOf(bob.pullQueue(path, 0n, 0))).codes).toContain(901);
    expect((await failureOf(bob.selectRows(`* from [${path}]`))).codes).toContain(901);
  });

  it("[queue-api 50] begins at the first row that is left, and says how many are gone", async () => {
    await primary.createQueue("//tmp/trimmed");
    await primary.root.insertRows(
      "//tmp/trimmed",
      Array.from({ length: 50 }, (_, index) => ({ data: `row ${index}` })),
    );
    await primary.root.trimRows("//tmp/trimmed", 0, 42n);
    const rows = await primary.root.pullQueue("//tmp/trimmed", 0n, 0);
    expect(rows.map((row) => row["$row_index"])).toEqual([42n, 43n, 44n, 45n, 46n, 47n, 48n, 49n]);
    expect(rows[0]?.["data"]).toBe("row 42");
    expect(await responseParameters("//tmp/trimmed", 2)).toBe(
      '{"start_offset"=42;"start_row_index"=42;"skipped_row_count"=40;}',
    );
    await primary.root.trimRows("//tmp/trimmed", 0, 50n);
    expect(await responseParameters("//tmp/trimmed", 45)).toBe(
      '{"start_offset"=45;"start_row_index"=45;"skipped_row_count"=5;}',
    );
  });

  it("names the first row in the response parameters, or the offset when there is none", async () => {
    expect(await responseParameters("//tmp/q", 1)).toBe('{"start_offset"=1;"start_row_index"=1;}');
    expect(await responseParameters("//tmp/q", 7)).toBe('{"start_offset"=7;"start_row_index"=7;}');
  });

  it("takes whole numbers above zero as limits", async () => {
    for (const [name, text] of [
      ["max_row_count", "MaxRowCount"],
      ["max_data_weight", "MaxDataWeight"],
      ["data_weight_per_row_hint", "DataWeightPerRowHint"],
    ] as const) {
      const call = primary.root.execute(
        "pull_queue",
        { queue_path: "//tmp/q", partition_index: 0n, [name]: 0n },
        { method: "GET" },
      );
      expect((await failureOf(call)).text).toContain(`${text} is non-positive`);
    }
  });

  it("gives as many rows as the hint of their weight allows, and never none", async () => {
    const rows = async (hint: bigint): Promise<number> => {
      let lines = "";
      for await (const chunk of primary.root.streamRows("pull_queue", {
        queue_path: "//tmp/q",
        partition_index: 0n,
        max_data_weight: 100n,
        data_weight_per_row_hint: hint,
        output_format: withAttributes("yson", mapOf({ format: "text" })),
      })) {
        lines += chunk.toString();
      }
      return lines.split("\n").length - 1;
    };
    expect(await rows(50n)).toBe(2);
    expect(await rows(100n)).toBe(1);
    expect(await rows(1000n)).toBe(1);
  });

  it("refuses a sorted table, an unmounted one, and reads a frozen one", async () => {
    await primary.createConsumer("//tmp/sorted");
    expect((await failureOf(primary.root.pullQueue("//tmp/sorted", 0n, 0))).text).toContain("is not ordered");
    await primary.createQueue("//tmp/state");
    await primary.root.insertRows("//tmp/state", [{ data: "a" }]);
    await primary.root.execute("freeze_table", { path: "//tmp/state" });
    expect(await primary.dataOf("//tmp/state")).toEqual(["a"]);
    await primary.root.execute("unfreeze_table", { path: "//tmp/state" });
    await primary.root.unmountTable("//tmp/state");
    expect((await failureOf(primary.root.pullQueue("//tmp/state", 0n, 0))).codes).toContain(1702);
  });

  it("refuses a queue of another cluster and names the command for that", async () => {
    const failure = await failureOf(primary.root.pullQueue("freud://tmp/q", 0n, 0));
    expect(failure.text).toContain("pull_queue_consumer");
    expect(failure.error.attributes.get("cluster")).toBe("freud");
    expect(plain(await primary.root.pullQueue("primary://tmp/q", 1n, 0))).toHaveLength(1);
  });
});
