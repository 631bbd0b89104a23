/** What meets a mutation of the tree that is not durable yet: writes, trims, background work. */
import { emptyMap, YtError } from "@qyt/base";
import { settle } from "@qyt/testing";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Node } from "../../cypress/index.ts";
import { EngineFixture, failure } from "../transactions/engine-fixture.ts";
import { maintainTablets } from "./maintenance.ts";
import { choosePivots } from "./reshard.ts";
import type { TableState } from "./table-state.ts";

const root = { user: "root" };
const sortedSchema = "[{name=k;type=int64;sort_order=ascending};{name=a;type=string}]";
const queueSchema = "[{name=a;type=string}]";
let engine: EngineFixture;
beforeEach(async () => {
  engine = await EngineFixture.open();
});
afterEach(() => engine.close());

async function expectCode(promise: Promise<unknown>, code: number): Promise<void> {
  const error = await failure(promise);
  expect(error instanceof YtError && error.has(code), String(error)).toBe(true);
}

describe("a sorted table that is being unmounted or removed", () => {
  it("takes no rows any more", async () => {
    const table = await engine.createTable("//tmp/s", sortedSchema);
    engine.store.hold();
    const unmount = engine.unmount("//tmp/s");
    await settle();
    const write = failure(engine.write(table, "{k=1;a=x}"));
    await settle();
    engine.store.release();
    await unmount;
    const error = await write;
    expect(error instanceof YtError && error.has(1702)).toBe(true);
    expect(engine.recordCount(table)).toBe(0);
  });

  it("takes no rows of a large commit that is on its way", async () => {
    const table = await engine.createTable("//tmp/s", sortedSchema);
    const rows = Array.from({ length: 2_000 }, (_, k) => `{k=${k};a=x}`).join(";");
    const write = failure(engine.write(table, rows));
    await new Promise((resolve) => setImmediate(resolve));
    engine.store.hold();
    const unmount = engine.unmount("//tmp/s");
    const error = await write;
    expect(error instanceof YtError && error.has(1702)).toBe(true);
    engine.store.release();
    await unmount;
    expect(engine.recordCount(table)).toBe(0);
  });

  it("takes rows again when that came to nothing", async () => {
    const table = await engine.createTable("//tmp/s", sortedSchema);
    engine.store.failAt(1);
    await failure(engine.cypress.remove(root, { path: "//tmp/s", recursive: true, force: false }));
    await new Promise((resolve) => setImmediate(resolve));
    await engine.write(table, "{k=1;a=x}");
    expect(engine.scan(table)).toEqual(["1:x"]);
  });
});

describe("background work", () => {
  const node = (path: string) => (): Node<TableState> => engine.table(path).node;
  const soon = (): number => engine.clock.now() + 3_600_000;

  it("takes a flush back when the trim after it is refused", async () => {
    const table = await engine.createTable("//tmp/q", queueSchema, "dynamic_store_auto_flush_period=1000;");
    await engine.write(table, "{a=one}");
    const tablet = table.writableTablet(0);
    vi.spyOn(tablet, "planTtlTrim").mockReturnValue(5);
    await expectCode(maintainTablets(engine.tables.environment, node("//tmp/q"), soon()), 1);
    expect(tablet.pending).toBe(tablet.visible);
    await engine.write(table, "{a=two}");
    engine = await engine.reopen();
    expect(engine.table("//tmp/q").readableTablet(0).info().totalRowCount).toBe(2);
  });

  it("leaves a tablet alone that was unmounted while another was flushed", async () => {
    const table = await engine.createTable(
      "//tmp/q",
      queueSchema,
      "tablet_count=2;dynamic_store_auto_flush_period=1000;",
    );
    await engine.write(table, '{"$tablet_index"=0;a=one};{"$tablet_index"=1;a=two}');
    const second = table.writableTablet(1);
    vi.spyOn(second, "planTtlTrim").mockReturnValue(1);
    const { cell } = engine;
    const commit = cell.commit.bind(cell);
    vi.spyOn(cell, "commit").mockImplementationOnce(async (mutation) => {
      await commit(mutation);
      await engine.tables.unmount(
        root,
        { path: "//tmp/q", attributes: emptyMap },
        { firstTabletIndex: 1, lastTabletIndex: 1 },
      );
    });
    await maintainTablets(engine.tables.environment, node("//tmp/q"), soon());
    expect(second.visible.trimmedRowCount).toBe(0);
  });
});

describe("pivot keys of a reshard", () => {
  it("are not looked for when the tablets are mounted, or would be too many", async () => {
    const table = await engine.createTable("//tmp/s", sortedSchema);
    const choose = (tabletCount: number) =>
      choosePivots(engine.tables.environment, table.node, "//tmp/s", { tabletCount });
    await expectCode(choose(2), 1706);
    await engine.unmount("//tmp/s");
    await expect(choose(100_000_000)).rejects.toThrow("Tablet count cannot exceed");
    expect(await choose(2)).toBeDefined();
  });
});
