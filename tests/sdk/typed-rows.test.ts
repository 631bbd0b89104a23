/** Rows that a schema types: what TypeScript knows of them, and what a cluster makes of them. */
import {
  createClient,
  type InputRowOf,
  type PulledRowOf,
  queueSchema,
  type RowOf,
  schema,
  type YtClient,
} from "@qyt/client";
import type { Cluster } from "@qyt/server";
import { parseYsonList } from "@qyt/yson";
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";

let cluster: Cluster;
let client: YtClient;

beforeAll(async () => {
  cluster = await startTestCluster();
  client = createClient({ proxy: cluster.address });
});

afterAll(async () => {
  await client.close();
  await cluster.close(0);
});

const all = schema({
  hash: { type: "uint64", sortOrder: "ascending", expression: "farm_hash(key)" },
  key: { type: "int64", sortOrder: "ascending" },
  name: { type: "string", required: true },
  raw: "bytes",
  count: "uint64",
  small: "int8",
  ratio: "double",
  done: "boolean",
  day: "date",
  extra: "any",
});

const events = queueSchema({ data: "string", n: "int64" });

const full = {
  key: 1n,
  name: "één",
  raw: Uint8Array.of(0, 255, 128),
  count: 2n ** 64n - 1n,
  small: -128,
  ratio: 2,
  done: true,
  day: 19_000,
  extra: { list: [1n, "two", null] },
};

describe("what TypeScript knows of a row", () => {
  it("is the type of each column, null where a value is not required", () => {
    expectTypeOf<RowOf<typeof all>["key"]>().toEqualTypeOf<bigint | null>();
    expectTypeOf<RowOf<typeof all>["name"]>().toEqualTypeOf<string>();
    expectTypeOf<RowOf<typeof all>["raw"]>().toEqualTypeOf<Uint8Array | null>();
    expectTypeOf<RowOf<typeof all>["small"]>().toEqualTypeOf<number | null>();
    expectTypeOf<RowOf<typeof events>["$timestamp"]>().toEqualTypeOf<bigint | null>();
    expectTypeOf<PulledRowOf<typeof events>["$row_index"]>().toEqualTypeOf<bigint>();
  });

  it("is which columns are written: needed ones, others, and none that the cluster fills", () => {
    expectTypeOf<{ key: 1n; name: "x" }>().toExtend<InputRowOf<typeof all>>();
    expectTypeOf<{ key: 1n }>().not.toExtend<InputRowOf<typeof all>>();
    expectTypeOf<{ data: "x"; n: 1 }>().toExtend<InputRowOf<typeof events>>();
    expectTypeOf<{ data: 5 }>().not.toExtend<InputRowOf<typeof events>>();
    // @ts-expect-error the cluster computes it
    const computed: InputRowOf<typeof all> = { hash: 1n, key: 1n, name: "x" };
    // @ts-expect-error the cluster fills it
    const filled: InputRowOf<typeof events> = { data: "x", $timestamp: 1n };
    expect([computed, filled]).toHaveLength(2);
  });

  it("is the key alone, where a row is looked up", () => {
    const table = client.table("//tmp/any", all);
    expectTypeOf(table.get).parameter(0).toEqualTypeOf<{ readonly key: bigint | number | null }>();
  });
});

describe("what a cluster makes of them", () => {
  beforeAll(async () => {
    await client.table("//tmp/all", all).create();
    await client.mountTable("//tmp/all", { waitTimeoutMs: 10_000 });
    await client.table("//tmp/events", events).create();
    await client.mountTable("//tmp/events", { waitTimeoutMs: 10_000 });
  });

  it("gives each value back as it was", async () => {
    const table = client.table("//tmp/all", all);
    expect(await table.insert([full, { key: 2, name: "bare" }])).toBe(2);
    const row = await table.get({ key: 1n });
    expect(row).toMatchObject(full);
    expectTypeOf(row?.count).toEqualTypeOf<bigint | null | undefined>();
    expect(await table.get({ key: 2n })).toMatchObject({ name: "bare", raw: null, extra: null });
    expect(await table.get({ key: 3n })).toBeUndefined();
  });

  it("reads rows of a query one after the other", async () => {
    const names: string[] = [];
    for await (const row of client.table("//tmp/all", all).select("where key <= 2 order by key limit 10")) {
      names.push(row.name);
    }
    expect(names).toEqual(["één", "bare"]);
  });

  it("removes rows by their keys, in a transaction", async () => {
    await client.transaction(
      async (tx) => {
        const table = tx.table("//tmp/all", all);
        await table.insert([{ key: 9, name: "nine" }]);
        await table.delete([{ key: 2 }]);
      },
      { type: "tablet" },
    );
    expect(await client.table("//tmp/all", all).lookup([{ key: 2 }, { key: 9 }])).toMatchObject([
      { key: 9n },
    ]);
  });

  it("appends a source of many rows to a queue in several requests", async () => {
    const table = client.table("//tmp/events", events);
    async function* source(): AsyncGenerator<InputRowOf<typeof events>> {
      for (let n = 0; n < 60_000; n++) {
        yield { data: "event", n, $tablet_index: 0 };
      }
    }
    expect(await table.insert(source())).toBe(60_000);
    const [last] = await client.pullQueue("//tmp/events", 59_999n, 0);
    expect(last).toMatchObject({ n: 59_999n });
  });

  it("writes and reads a static table without holding it", async () => {
    const plain = schema({ n: { type: "int64", sortOrder: "ascending" }, text: "string" });
    const table = client.table("//tmp/static", plain);
    await table.create({ dynamic: false });
    const rows = 20_000;
    await table.write(
      (function* () {
        for (let n = 0; n < rows; n++) {
          yield { n, text: "x".repeat(n % 40) };
        }
      })(),
    );
    let sum = 0n;
    for await (const row of table.read()) {
      sum += row.n ?? 0n;
    }
    expect(sum).toBe((BigInt(rows) * BigInt(rows - 1)) / 2n);
    for await (const row of client.readTable("//tmp/static[#5:#7]")) {
      expect(row["n"]).toBeLessThan(7n);
    }
  });

  it("stores and gives back files as streams", async () => {
    await client.create("file", "//tmp/file");
    await client.writeFile(
      "//tmp/file",
      (async function* () {
        yield Buffer.from("hello, ");
        yield Buffer.from("world");
      })(),
    );
    let text = "";
    for await (const piece of client.readFile("//tmp/file", { offset: 7n })) {
      text += piece.toString();
    }
    expect(text).toBe("world");
  });
});

describe("rows that do not fit", () => {
  it.each([
    [{ key: 1n, name: 5 }, 'Column "name" is of type string and cannot have the value 5'],
    [{ key: 1n, name: "x", small: 128 }, 'Column "small" is of type int8 and cannot have the value 128'],
    [{ key: 1n, name: "x", count: -1n }, 'Column "count" is of type uint64'],
    [{ key: 1n, name: "x", other: 1n }, 'The schema has no column "other"'],
  ])("%o is refused before anything is sent", (row, message) => {
    expect(() => all.encode([row])).toThrow(message);
  });

  it("has key columns in front", () => {
    expect(() => schema({ v: "string", k: { type: "int64", sortOrder: "ascending" } })).toThrow(
      "put key columns first",
    );
  });
});

it("encodes what the general encoder does", () => {
  expect(parseYsonList(events.encode([{ data: "x", n: -1n }, { data: null }]))).toEqual([
    new Map<string, unknown>([
      ["data", "x"],
      ["n", -1n],
    ]),
    new Map<string, unknown>([["data", null]]),
  ]);
});
