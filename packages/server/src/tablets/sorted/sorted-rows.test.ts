/** Rows of sorted tables: what is read at which time, aggregates, long rows, what compaction keeps. */
import { Uint64, YtError } from "@qyt/base";
import { parseYson } from "@qyt/yson";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WriteBatch } from "../../cell/index.ts";
import type { DynamicTableHandle } from "../tables/index.ts";
import { EngineFixture, failure } from "../transactions/engine-fixture.ts";

const schema =
  "[{name=k;type=int64;sort_order=ascending};{name=v;type=string};{name=n;type=int64;aggregate=sum}]";
let engine: EngineFixture;
let table: DynamicTableHandle;
beforeEach(async () => {
  engine = await EngineFixture.open();
  table = await engine.createTable("//tmp/t", schema, 'min_data_ttl="60s"');
});
afterEach(() => engine.close());

/** Compacts as far as live transactions allow, in steps of `maxRecords`. */
async function compact(maxRecords = 1_000, of = table): Promise<void> {
  for (let isDone = false; !isDone; ) {
    const batch = new WriteBatch();
    isDone = of.rows.compact(batch, engine.transactions.horizon, maxRecords);
    await engine.cell.commit({ batch });
  }
}

describe("reads", () => {
  it("see the newest version up to their timestamp", async () => {
    const stamps: bigint[] = [];
    for (const text of ["{k=1;v=a;n=1}", "{k=1;v=b}", "{k=2;v=c}"]) {
      stamps.push(await engine.write(table, text));
    }
    const [first = 0n, second = 0n] = stamps;
    expect(engine.lookup(table, "{k=1};{k=2};{k=3}")).toEqual(["1:b:#", "2:c:#", "-"]);
    expect(engine.lookup(table, "{k=1};{k=2}", second)).toEqual(["1:b:#", "-"]);
    expect(engine.lookup(table, "{k=1}", first)).toEqual(["1:a:1"]);
    expect(engine.lookup(table, "{k=1}", first - 1n)).toEqual(["-"]);
    expect(engine.scan(table, first)).toEqual(["1:a:1"]);
  });

  it("merge updates with what is below, and nothing below a deletion", async () => {
    await engine.write(table, "{k=1;v=a;n=1}");
    await engine.write(table, "{k=1;v=b}", { update: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:b:1"]);
    const transaction = engine.begin({ isBlind: true });
    await engine.delete(transaction, table, "{k=1}");
    await transaction.commit();
    expect(engine.lookup(table, "{k=1}")).toEqual(["-"]);
    await engine.write(table, "{k=1;n=5}", { update: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:#:5"]);
  });

  it("go past rows with very many versions in steps of bounded length", async () => {
    for (let round = 0; round < 60; round++) {
      await engine.write(table, `{k=1;v=r${round}}`);
    }
    await engine.write(table, "{k=2;v=x}");
    const reader = engine.begin();
    for (let round = 60; round < 120; round++) {
      await engine.write(table, `{k=1;v=r${round}};{k=2;v=y}`);
    }
    expect(engine.scan(table, reader.startTimestamp, 1)).toEqual(["1:r59:#", "2:x:#"]);
    expect(engine.scan(table)).toEqual(["1:r119:#", "2:y:#"]);
    reader.abort();
  });

  it("key columns of every type come back in their order, nulls first", async () => {
    const wide = await engine.createTable(
      "//tmp/wide",
      "[{name=a;type=uint64;sort_order=ascending};{name=b;type=string;sort_order=ascending};{name=c;type=double;sort_order=ascending};{name=d;type=boolean;sort_order=ascending};{name=v;type=int64}]",
    );
    await engine.write(
      wide,
      '{a=2u;b="";c=1.5;d=%true;v=1};{a=2u;v=2};{a=#;b=x;v=3};{v=4};{a=2u;b="\\0";v=5};{a=2u;b=#;c=-1.;v=6};{a=18446744073709551615u;v=7}',
    );
    expect(engine.scan(wide).map((row) => row.split(":").at(-1))).toEqual([
      "4",
      "3",
      "2",
      "6",
      "1",
      "5",
      "7",
    ]);
    expect(engine.lookup(wide, "{a=2u};{};{b=x}")).toEqual(["2:#:#:#:2", "#:#:#:#:4", "#:x:#:#:3"]);
  });
});

describe("aggregates", () => {
  it("fold increments with update and without", async () => {
    await engine.write(table, "{k=1;v=a;n=1}");
    await engine.write(table, "{k=1;n=2}", { update: true, aggregate: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:a:3"]);
    await engine.write(table, "{k=1;n=3}", { aggregate: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:#:6"]);
    await engine.write(table, "{k=1;v=b}", { aggregate: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:b:6"]);
    await engine.write(table, "{k=1;n=10}", { update: true });
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:b:10"]);
  });

  it("fold several increments of one transaction", async () => {
    await engine.write(table, "{k=1;v=a;n=1}");
    const transaction = engine.begin();
    const more = { update: true, aggregate: true };
    engine.insert(transaction, table, "{k=1;n=2};{k=1;n=3}", more);
    engine.insert(transaction, table, "{k=2;v=b;n=5}");
    engine.insert(transaction, table, "{k=2;n=5}", more);
    await engine.delete(transaction, table, "{k=3}");
    engine.insert(transaction, table, "{k=3;n=7}", more);
    await transaction.commit();
    expect(engine.lookup(table, "{k=1};{k=2};{k=3}")).toEqual(["1:a:6", "2:b:10", "3:#:7"]);
  });

  it("minimum, maximum and first of strings and numbers", async () => {
    const other = await engine.createTable(
      "//tmp/a",
      "[{name=k;type=int64;sort_order=ascending};{name=lo;type=string;aggregate=min};{name=hi;type=uint64;aggregate=max};{name=f;type=int64;aggregate=first};{name=d;type=double;aggregate=sum}]",
    );
    const rows = [
      "{k=1;lo=m;hi=5u;f=#;d=1.5}",
      "{k=1;lo=z;hi=9u;f=2;d=0.25}",
      "{k=1;lo=b;hi=18446744073709551615u;f=3;d=#}",
    ];
    for (const row of rows) {
      await engine.write(other, row, { update: true, aggregate: true });
      await compact(10, other);
    }
    expect(engine.lookup(other, "{k=1}")).toEqual(["1:b:18446744073709551615:2:1.75"]);
  });

  it("refuses what it cannot fold before anything is changed", async () => {
    const other = await engine.createTable(
      "//tmp/x",
      "[{name=k;type=int64;sort_order=ascending};{name=x;type=string;aggregate=xdelta}]",
    );
    await engine.write(other, "{k=1;x=a}");
    const transaction = engine.begin();
    expect(() => engine.insert(transaction, other, "{k=2;x=a}", { aggregate: true })).toThrow(
      'Aggregate function "xdelta" is not supported',
    );
    await transaction.commit();
    expect(engine.scan(other)).toEqual(["1:a"]);
  });
});

describe("long rows", () => {
  it.each([8_000, 8_166, 8_167, 20_000, 3_000_000])("a value of %i bytes", async (length) => {
    const text = "x".repeat(length);
    await engine.write(table, `{k=1;v=${text};n=1}`);
    await engine.write(table, "{k=1;n=1}", { update: true, aggregate: true });
    expect(engine.lookup(table, "{k=1}")).toEqual([`1:${text}:2`]);
    await compact();
    expect(engine.lookup(table, "{k=1}")).toEqual([`1:${text}:2`]);
    await engine.write(table, "{k=1;v=short}");
    await compact();
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:short:#"]);
    expect(engine.recordCount(table)).toBe(1);
  });

  it("a missing part is an error, never a shorter row", async () => {
    await engine.write(table, `{k=1;v=${"x".repeat(20_000)}}`);
    const { from, to } = table.rows.range;
    const parts = [...engine.cell.range(from, to, { keysOnly: true })];
    expect(parts.length).toBe(3);
    for (const gone of [parts[0], parts[1], parts[2]]) {
      const value = gone === undefined ? undefined : engine.cell.get(gone.key);
      const removal = new WriteBatch();
      removal.remove(gone?.key ?? Buffer.alloc(0));
      await engine.cell.commit({ batch: removal });
      expect(() => engine.lookup(table, "{k=1}")).toThrow("is damaged");
      expect(() => engine.scan(table)).toThrow("is damaged");
      const repair = new WriteBatch();
      repair.put(gone?.key ?? Buffer.alloc(0), value ?? Buffer.alloc(0));
      await engine.cell.commit({ batch: repair });
    }
    expect(engine.lookup(table, "{k=1}")).toHaveLength(1);
  });

  it("a key that the store cannot take is refused, and with it the whole request", async () => {
    const other = await engine.createTable(
      "//tmp/k",
      "[{name=k;type=string;sort_order=ascending};{name=v;type=int64}]",
    );
    const transaction = engine.begin();
    const error = await failure(
      (async () => engine.insert(transaction, other, `{k=a;v=1};{k=${"x".repeat(4_000)};v=2}`))(),
    );
    expect(error instanceof YtError && error.code).toBe(308);
    await transaction.commit();
    expect(engine.scan(other)).toEqual([]);
  });
});

describe("compaction", () => {
  it("leaves one record for a row that nobody reads in the past", async () => {
    for (let round = 0; round < 50; round++) {
      await engine.write(table, `{k=1;v=r${round}};{k=2;n=1}`, { update: true, aggregate: true });
    }
    await compact(7);
    expect(engine.recordCount(table)).toBe(2);
    expect(engine.scan(table)).toEqual(["1:r49:#", "2:#:50"]);
  });

  it("folds a chain longer than it takes at once", async () => {
    for (let round = 0; round < 600; round++) {
      await engine.write(table, "{k=1;n=1}", { update: true, aggregate: true });
    }
    await compact(100);
    await compact(100);
    expect(engine.recordCount(table)).toBe(1);
    expect(engine.scan(table)).toEqual(["1:#:600"]);
  });

  it("removes deleted rows with all that they hide, never the deletion first", async () => {
    await engine.write(table, `{k=1;v=${"x".repeat(50_000)}}`);
    await engine.write(table, "{k=1;v=b}");
    const transaction = engine.begin({ isBlind: true });
    await engine.delete(transaction, table, "{k=1}");
    await transaction.commit();
    for (let isDone = false; !isDone; ) {
      const batch = new WriteBatch();
      isDone = table.rows.compact(batch, engine.transactions.horizon, 1);
      await engine.cell.commit({ batch });
      expect(engine.lookup(table, "{k=1}")).toEqual(["-"]);
    }
    expect(engine.recordCount(table)).toBe(0);
  });

  it("keeps what a live transaction reads, and has a second look when it has ended", async () => {
    await engine.write(table, "{k=1;v=a;n=1}");
    const reader = engine.begin();
    await engine.write(table, "{k=1;v=b;n=1}");
    await engine.write(table, "{k=1;v=c;n=1}");
    await compact();
    expect(engine.lookup(table, "{k=1}", reader.startTimestamp)).toEqual(["1:a:1"]);
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:c:1"]);
    reader.abort();
    await compact();
    expect(engine.recordCount(table)).toBe(1);
    expect(engine.lookup(table, "{k=1}")).toEqual(["1:c:1"]);
  });

  it("does nothing while there is nothing to find", async () => {
    await engine.write(table, "{k=1;v=a};{k=2;v=b}");
    await compact();
    let reads = 0;
    const range = engine.store.range.bind(engine.store);
    engine.store.range = (...args) => {
      reads++;
      return range(...args);
    };
    await compact();
    expect(reads).toBe(0);
  });

  it("finds old versions after a restart", async () => {
    for (let round = 0; round < 5; round++) {
      await engine.write(table, `{k=1;v=r${round}}`);
    }
    engine = await engine.reopen();
    table = engine.table("//tmp/t");
    expect(engine.recordCount(table)).toBe(5);
    await engine.clock.advance(70_000);
    expect(engine.recordCount(table)).toBe(1);
    expect(engine.scan(table)).toEqual(["1:r4:#"]);
  });

  it("looks at everything again when its batch was not written", async () => {
    for (let round = 0; round < 5; round++) {
      await engine.write(table, `{k=1;v=r${round}}`);
    }
    const errors: unknown[] = [];
    engine.tables.onMaintenanceError = (_, error) => errors.push(error);
    await engine.clock.advance(55_000);
    engine.store.failAt(1);
    await engine.clock.advance(15_000);
    expect(errors).toHaveLength(1);
    expect(engine.recordCount(table)).toBe(1);
  });
});

describe("altered tables", () => {
  it("[tables 154] a key column added at the end is null in the rows that are there", async () => {
    await engine.write(table, "{k=2;v=b};{k=1;v=a}");
    await engine.unmount("//tmp/t");
    const wider = schema.replace("{name=v;", "{name=k2;type=string;sort_order=ascending};{name=v;");
    const alter = (text: string): Promise<void> =>
      engine.tables.alter(
        { user: "root" },
        { path: "//tmp/t", attributes: new Map() },
        { schema: parseYson(text) },
      );
    const middle = schema.replace("{name=k;", "{name=k0;type=string;sort_order=ascending};{name=k;");
    const error = await failure(alter(middle));
    expect(error instanceof YtError && error.code).toBe(316);
    await alter(wider);
    await engine.mount("//tmp/t");
    await engine.write(table, "{k=1;k2=x;v=c};{k=1;k2=#;v=d}");
    expect(engine.scan(table)).toEqual(["1:#:d:#", "1:x:c:#", "2:#:b:#"]);
    expect(engine.lookup(table, "{k=2};{k=1;k2=x};{k=1}")).toEqual(["2:#:b:#", "1:x:c:#", "1:#:d:#"]);
    await compact();
    expect(engine.recordCount(table)).toBe(3);
  });

  it("value columns that change their places keep their values", async () => {
    await engine.write(table, "{k=1;v=a;n=1}");
    await engine.unmount("//tmp/t");
    await engine.tables.alter(
      { user: "root" },
      { path: "//tmp/t", attributes: new Map() },
      {
        schema: parseYson(
          "[{name=k;type=int64;sort_order=ascending};{name=n;type=int64;aggregate=sum};{name=m;type=int64};{name=v;type=string}]",
        ),
      },
    );
    await engine.mount("//tmp/t");
    await engine.write(table, "{k=1;m=7}", { update: true });
    expect(engine.scan(table)).toEqual(["1:1:7:a"]);
    engine = await engine.reopen();
    expect(engine.scan(engine.table("//tmp/t"))).toEqual(["1:1:7:a"]);
  });
});

describe("reads of a time whose versions are gone", () => {
  it("are refused, those of the same time and later ones are not", async () => {
    const first = await engine.write(table, "{k=1;v=a};{k=2;v=x}");
    const second = await engine.write(table, "{k=1;v=b}");
    await compact();
    expect(engine.lookup(table, "{k=1}", second)).toEqual(["1:b:#"]);
    const expired = expect.objectContaining({ code: 1708 });
    expect(() => engine.lookup(table, "{k=1}", first)).toThrow(expired);
    expect(() => engine.scan(table, first)).toThrow(expired);
    const retained = new Uint64(second);
    expect(await engine.cypress.get({ user: "root" }, { path: "//tmp/t/@retained_timestamp" })).toEqual(
      retained,
    );
  });

  it("go on while nothing was written over", async () => {
    const first = await engine.write(table, "{k=1;v=a}");
    await engine.write(table, "{k=2;v=x}");
    await compact();
    expect(engine.scan(table, first)).toEqual(["1:a:#"]);
  });

  it("are refused after a restart too, and in a copy", async () => {
    const first = await engine.write(table, "{k=1;v=a}");
    await engine.write(table, "{k=1;v=b}");
    await compact();
    await engine.unmount("//tmp/t");
    await engine.cypress.copy({ user: "root" }, { sourcePath: "//tmp/t", destinationPath: "//tmp/c" });
    const expired = expect.objectContaining({ code: 1708 });
    expect(() => engine.scan(engine.table("//tmp/c"), first)).toThrow(expired);
    engine.clock.setNow(engine.clock.now() + 120_000);
    engine = await engine.reopen();
    expect(() => engine.scan(engine.table("//tmp/t"), first)).toThrow(expired);
    expect(engine.scan(engine.table("//tmp/t"))).toEqual(["1:b:#"]);
  });
});
