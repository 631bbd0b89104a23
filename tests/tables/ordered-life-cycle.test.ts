/** Ordered tables over HTTP: creation, tablet states, resharding, copies, schema changes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fieldOf, messagesOf, numberedRows, queueSchema, sortedSchema, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

let tableCount = 0;
/** A path that no other test uses. */
function freshPath(): string {
  return `//tmp/t${++tableCount}`;
}

async function tabletsOf(path: string): Promise<Record<string, unknown>[]> {
  const tablets = await cluster.get(`${path}/@tablets`);
  return Array.isArray(tablets) ? tablets : [];
}

async function countsOf(path: string, name: "flushed_row_count" | "trimmed_row_count"): Promise<unknown[]> {
  return (await tabletsOf(path)).map((tablet) => tablet[name]);
}

describe("tablet states", () => {
  it("[tables 71] a new dynamic table has one unmounted tablet", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { isMounted: false });
    for (const [name, value] of [
      ["tablet_count", 1],
      ["tablet_state", "unmounted"],
      ["expected_tablet_state", "unmounted"],
      ["commit_ordering", "weak"],
      ["atomicity", "full"],
      ["sorted", false],
      ["dynamic", true],
    ] as const) {
      expect(await cluster.get(`${path}/@${name}`), name).toBe(value);
    }
  });

  it("[tables 72] a mounted tablet is in its cell, and an unmounted one is not", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    const [tablet, ...others] = await tabletsOf(path);
    expect(others).toEqual([]);
    expect(tablet).toMatchObject({ state: "mounted", index: 0, cell_id: expect.any(String) });
    const tabletIds = `//sys/tablet_cells/${tablet?.["cell_id"]}/@tablet_ids`;
    expect(await cluster.get(tabletIds)).toContain(tablet?.["tablet_id"]);
    await cluster.unmount(path);
    expect(await cluster.get(tabletIds)).not.toContain(tablet?.["tablet_id"]);
    expect((await tabletsOf(path))[0]).not.toHaveProperty("cell_id");
  });

  it("[tables 73] a frozen table is read and not written; unfrozen it is written again", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 2));
    await cluster.ok("freeze_table", `{path="${path}"}`);
    expect(await cluster.get(`${path}/@tablet_state`)).toBe("frozen");
    expect(await cluster.select(`key from [${path}]`)).toEqual([{ key: 0 }, { key: 1 }]);
    expect((await cluster.error("insert_rows", `{path="${path}"}`, "{key=2}")).code).toBe(1702);
    await cluster.ok("unfreeze_table", `{path="${path}"}`);
    await cluster.insert(path, "{key=2}");
    expect(await cluster.select(`key from [${path}]`)).toHaveLength(3);
  });

  it("[tables 74] freezing an empty table makes no chunks", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.ok("freeze_table", `{path="${path}"}`);
    expect(await cluster.get(`${path}/@tablet_state`)).toBe("frozen");
    expect(await cluster.get(`${path}/@chunk_count`)).toBe(0);
    expect(await cluster.get(`${path}/@chunk_ids`)).toEqual([]);
  });

  it("[tables 75] which command is taken in which state", async () => {
    const allowed: Record<string, readonly string[]> = {
      unmounted: ["mount_table", "mount_frozen", "unmount_table", "remount_table"],
      mounted: ["mount_table", "unmount_table", "freeze_table", "unfreeze_table", "remount_table"],
      frozen: ["mount_frozen", "unmount_table", "freeze_table", "unfreeze_table", "remount_table"],
    };
    const commands = [...new Set(Object.values(allowed).flat())];
    for (const state of ["unmounted", "mounted", "frozen"]) {
      for (const command of commands) {
        const path = freshPath();
        await cluster.createQueue(path, { isMounted: false });
        if (state !== "unmounted") {
          await cluster.mount(path, state === "frozen" ? "freeze=%true" : "");
        }
        const [name, more] = command === "mount_frozen" ? ["mount_table", "freeze=%true"] : [command, ""];
        const run = `${command} of ${state}`;
        if (allowed[state]?.includes(command) === true) {
          await expect(cluster.ok(name, `{path="${path}";${more}}`), run).resolves.toBeDefined();
        } else {
          const error = await cluster.error(name, `{path="${path}";${more}}`);
          expect(messagesOf(error), run).toMatch(
            new RegExp(`[Tt]ablet \\S+ (is|since it is) in "${state}" state`),
          );
          expect(await cluster.get(`${path}/@tablet_state`), run).toBe(state);
        }
      }
    }
  });

  it("[tables 76] no command of dynamic tables is taken by a static one", async () => {
    const path = freshPath();
    await cluster.createTable(path, `schema=${queueSchema}`);
    for (const command of ["mount", "unmount", "freeze", "unfreeze", "remount", "reshard"]) {
      const more = command === "reshard" ? "tablet_count=2" : "";
      const error = await cluster.error(`${command}_table`, `{path="${path}";${more}}`);
      expect(messagesOf(error)).toContain(`Cannot ${command} a static table`);
    }
  });

  it("[tables 77] an unmounted table is neither written nor read", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { isMounted: false });
    const written = await cluster.error("insert_rows", `{path="${path}"}`, "{key=1}");
    expect(written.code).toBe(1702);
    expect(messagesOf(written)).toContain(`Table ${path} has no mounted tablets`);
    const read = await cluster.error("select_rows", `{query="* from [${path}]"}`);
    expect(read.code).toBe(1702);
    expect(messagesOf(read)).toMatch(/Cannot read from tablet \S+ while it is in "unmounted" state/);
  });

  it("mounts a range of tablets, and refuses a range outside of the table", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 3, isMounted: false });
    await cluster.mount(path, "first_tablet_index=1;last_tablet_index=1");
    expect((await tabletsOf(path)).map(({ state }) => state)).toEqual(["unmounted", "mounted", "unmounted"]);
    expect(await cluster.get(`${path}/@tablet_state`)).toBe("mixed");
    expect(await cluster.get(`${path}/@tablet_count_by_state`)).toMatchObject({ mounted: 1, unmounted: 2 });
    for (const range of [
      "first_tablet_index=1;last_tablet_index=3",
      "first_tablet_index=2;last_tablet_index=1",
    ]) {
      await cluster.error("mount_table", `{path="${path}";${range}}`);
    }
  });

  it("[tables 87] removing a mounted table takes its tablets out of the cell", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 2 });
    const [tablet] = await tabletsOf(path);
    await cluster.insert(path, numberedRows(0, 3));
    await cluster.ok("remove", `{path="${path}"}`);
    const tabletIds = await cluster.get(`//sys/tablet_cells/${tablet?.["cell_id"]}/@tablet_ids`);
    expect(tabletIds).not.toContain(tablet?.["tablet_id"]);
    expect((await cluster.error("insert_rows", `{path="${path}"}`, "{key=1}")).code).toBe(500);
  });
});

describe("creation", () => {
  it("[tables 78] tablet_count says how many tablets there are", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 100, isMounted: false });
    expect(await cluster.get(`${path}/@tablet_count`)).toBe(100);
    expect(await tabletsOf(path)).toHaveLength(100);
    for (const [attributes, text] of [
      ["tablet_count=0", "Tablet count must be positive"],
      ["tablet_count=-1", "Tablet count must be positive"],
      ["pivot_keys=[[];[1]]", "Table is ordered; must provide tablet count"],
      ["pivot_keys=[[]];tablet_count=1", 'Cannot specify both "tablet_count" and "pivot_keys"'],
      ["tablet_count=1000000", "Tablet count cannot exceed the limit of"],
    ]) {
      const error = await cluster.error(
        "create",
        `{type=table;path="${freshPath()}";attributes={dynamic=%true;schema=${queueSchema};${attributes}}}`,
      );
      expect(messagesOf(error), attributes).toContain(text);
    }
  });

  it("[tables 79] commit_ordering is set while the table is unmounted", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { isMounted: false });
    await cluster.set(`${path}/@commit_ordering`, "strong");
    expect(await cluster.get(`${path}/@commit_ordering`)).toBe("strong");
    expect(messagesOf(await cluster.error("set", `{path="${path}/@commit_ordering"}`, "cmd"))).toContain(
      "Error parsing ECommitOrdering value",
    );
    await cluster.mount(path);
    expect(messagesOf(await cluster.error("set", `{path="${path}/@commit_ordering"}`, "weak"))).toContain(
      "Cannot change table commit ordering mode since not all tablets are unmounted",
    );
  });

  it("settings that readers and writers rely on are not changed under a mounted table", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    for (const [name, value] of [
      ["atomicity", "none"],
      ["in_memory_mode", "uncompressed"],
      ["replication_factor", "1"],
      ["vital", "%false"],
      ["media", "{default={replication_factor=1;data_parts_only=%false}}"],
      ["enable_dynamic_store_read", "%true"],
      ["tablet_cell_bundle", "default"],
    ] as const) {
      const error = await cluster.error("set", `{path="${path}/@${name}"}`, value);
      expect(messagesOf(error), name).toContain("since not all tablets are unmounted");
    }
    for (const [name, value] of [
      ["min_data_ttl", "5"],
      ["dynamic_store_auto_flush_period", "#"],
      ["max_data_versions", "2"],
      ["mount_config", "{min_data_versions=0}"],
    ] as const) {
      await cluster.set(`${path}/@${name}`, value);
    }
  });

  it("[tables 83] [tables 85] trimmed_row_counts presets the counts of the new tablets", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 3, attributes: "trimmed_row_counts=[1;2;3]" });
    expect(await countsOf(path, "flushed_row_count")).toEqual([1, 2, 3]);
    expect(await countsOf(path, "trimmed_row_count")).toEqual([1, 2, 3]);
    await cluster.insert(path, '{"$tablet_index"=2;key=7}');
    expect(await cluster.select(`[$row_index], key from [${path}] where [$tablet_index] = 2`)).toEqual([
      { $row_index: 3, key: 7 },
    ]);
    for (const [attributes, text] of [
      ["tablet_count=3;trimmed_row_counts=[1;2]", "has invalid size"],
      ["trimmed_row_counts=[1]", 'cannot be specified without "tablet_count"'],
      ["tablet_count=1;trimmed_row_counts=[-1]", "must be nonnegative"],
      ["tablet_count=1;cumulative_data_weights=[1;2]", "has invalid size"],
      ["cumulative_data_weights=[1]", 'cannot be specified without "tablet_count"'],
      ["tablet_count=1;cumulative_data_weights=[-1]", "must be nonnegative"],
    ]) {
      const error = await cluster.error(
        "create",
        `{type=table;path="${freshPath()}";attributes={dynamic=%true;schema=${queueSchema};${attributes}}}`,
      );
      expect(messagesOf(error), attributes).toContain(text);
    }
    const sorted = await cluster.error(
      "create",
      `{type=table;path="${freshPath()}";attributes={dynamic=%true;schema=${sortedSchema};trimmed_row_counts=[1]}}`,
    );
    expect(messagesOf(sorted)).toContain("can only be set for ordered tables");
  });

  it("[tables 96] [tables 97] schemas that no dynamic table can have", async () => {
    const schemas = {
      "duplicate names": "[{name=a;type=int64};{name=a;type=int64}]",
      "unknown system column": '[{name=a;type=int64};{name="$foo";type=int64}]',
      "wrong type of a system column": '[{name=a;type=int64};{name="$timestamp";type=int64}]',
      "required any": "[{name=a;type=any;required=%true}]",
      "key after value": "[{name=a;type=int64};{name=b;type=int64;sort_order=ascending}]",
      "only keys": "[{name=a;type=int64;sort_order=ascending}]",
      "computed column of an ordered table": '[{name=a;type=int64};{name=b;type=int64;expression="a + 1"}]',
    };
    for (const [what, schema] of Object.entries(schemas)) {
      const error = await cluster.error(
        "create",
        `{type=table;path="${freshPath()}";attributes={dynamic=%true;schema=${schema}}}`,
      );
      expect(error.has(314), `${what}: ${messagesOf(error)}`).toBe(true);
    }
    await cluster.error("create", `{type=table;path="${freshPath()}";attributes={dynamic=%true}}`);
  });
});

describe("resharding", () => {
  it("[tables 80] to more tablets leaves the rows where they are", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 3));
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=5}`);
    await cluster.mount(path);
    expect(await cluster.get(`${path}/@tablet_count`)).toBe(5);
    expect(await cluster.select(`[$tablet_index], [$row_index], key from [${path}]`)).toEqual([
      { $tablet_index: 0, $row_index: 0, key: 0 },
      { $tablet_index: 0, $row_index: 1, key: 1 },
      { $tablet_index: 0, $row_index: 2, key: 2 },
    ]);
    await cluster.insert(path, '{"$tablet_index"=4;key=9}');
    expect(await cluster.select(`[$row_index], key from [${path}] where [$tablet_index] = 4`)).toEqual([
      { $row_index: 0, key: 9 },
    ]);
  });

  it("[tables 81] to fewer tablets appends the rows of the dropped ones to the last kept", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 5 });
    for (let tablet = 0; tablet < 5; tablet++) {
      await cluster.insert(path, numberedRows(10 * tablet, 10 * tablet + 2, `"$tablet_index"=${tablet}`));
    }
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=2}`);
    await cluster.mount(path);
    const rows = await cluster.select(`[$tablet_index], [$row_index], key from [${path}]`);
    expect(rows.map(Object.values)).toEqual([
      [0, 0, 0],
      [0, 1, 1],
      ...[10, 11, 20, 21, 30, 31, 40, 41].map((key, index) => [1, index, key]),
    ]);
  });

  it("[tables 82] a tablet trimmed inside a chunk cannot be joined, one trimmed at a border can", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 2 });
    await cluster.insert(path, numberedRows(0, 2, '"$tablet_index"=1'));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(2, 4, '"$tablet_index"=1'));
    await cluster.flush(path);
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=1;trimmed_row_count=1}`);
    await cluster.unmount(path);
    const error = await cluster.error("reshard_table", `{path="${path}";tablet_count=1}`);
    expect(messagesOf(error)).toContain("such a tablet cannot participate in resharding");
    await cluster.mount(path);
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=1;trimmed_row_count=2}`);
    await cluster.unmount(path);
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=1}`);
    await cluster.mount(path);
    expect(await cluster.select(`[$row_index], key from [${path}]`)).toEqual([
      { $row_index: 0, key: 2 },
      { $row_index: 1, key: 3 },
    ]);
  });

  it("[tables 84] a range of tablets grows by tablets with preset counts", async () => {
    const path = freshPath();
    await cluster.createQueue(path, { tablets: 5 });
    for (let tablet = 0; tablet < 5; tablet++) {
      await cluster.insert(path, numberedRows(0, 2, `"$tablet_index"=${tablet}`));
    }
    await cluster.flush(path);
    for (let tablet = 0; tablet < 5; tablet++) {
      await cluster.ok("trim_rows", `{path="${path}";tablet_index=${tablet};trimmed_row_count=1}`);
    }
    await cluster.unmount(path);
    const range = "first_tablet_index=1;last_tablet_index=3;tablet_count=5";
    for (const counts of ["[8]", "[8;9;10;11;12]"]) {
      const error = await cluster.error(
        "reshard_table",
        `{path="${path}";${range};trimmed_row_counts=${counts}}`,
      );
      expect(messagesOf(error)).toContain("has invalid size");
    }
    await cluster.ok("reshard_table", `{path="${path}";${range};trimmed_row_counts=[8;9]}`);
    expect(await countsOf(path, "flushed_row_count")).toEqual([2, 2, 2, 2, 8, 9, 2]);
    expect(await countsOf(path, "trimmed_row_count")).toEqual([1, 1, 1, 1, 8, 9, 1]);
  });

  it("cumulative_data_weights presets where the running weight of new tablets starts", async () => {
    const path = freshPath();
    const schema = '[{name=value;type=string};{name="$cumulative_data_weight";type=int64}]';
    await cluster.createTable(
      path,
      `dynamic=%true;schema=${schema};tablet_count=1;cumulative_data_weights=[100]`,
    );
    await cluster.ok("reshard_table", `{path="${path}";tablet_count=2;cumulative_data_weights=[1000]}`);
    await cluster.mount(path);
    await cluster.insert(path, '{"$tablet_index"=0;value=abc};{"$tablet_index"=1;value=abc}');
    const rows = await cluster.select(`[$cumulative_data_weight] as w from [${path}]`);
    // 1 for the row, 3 for the text, 8 for the column itself.
    expect(rows).toEqual([{ w: 112 }, { w: 1012 }]);
  });

  it("[tables 86] a mounted table is not resharded", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    const error = await cluster.error("reshard_table", `{path="${path}";tablet_count=2}`);
    expect(messagesOf(error)).toMatch(/Cannot reshard table since tablet \S+ is not unmounted/);
    await cluster.unmount(path);
    for (const [parameters, text] of [
      ["tablet_count=2;pivot_keys=[[]]", 'Cannot specify both "pivot_keys" and "tablet_count"'],
      ["", 'Must specify either "pivot_keys" or "tablet_count"'],
      ["pivot_keys=[[]]", "Table is ordered; must provide tablet count"],
      ["tablet_count=0", "Tablet count must be positive"],
    ] as const) {
      expect(messagesOf(await cluster.error("reshard_table", `{path="${path}";${parameters}}`))).toContain(
        text,
      );
    }
  });
});

describe("copies", () => {
  it("[tables 88] frozen and unmounted tables are copied, mounted ones are not, frozen ones do not move", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 3));
    const to = (): string => `source_path="${path}";destination_path="${freshPath()}"`;
    expect(messagesOf(await cluster.error("copy", `{${to()}}`))).toContain(
      `Cannot copy dynamic table ${path} since not all tablets are frozen or unmounted`,
    );
    await cluster.error("move", `{${to()}}`);
    await cluster.ok("freeze_table", `{path="${path}"}`);
    expect(messagesOf(await cluster.error("move", `{${to()}}`))).toContain(
      `Cannot move dynamic table ${path} since not all tablets are unmounted`,
    );
    await cluster.ok("copy", `{source_path="${path}";destination_path="//tmp/copy-of-frozen"}`);
    await cluster.unmount(path);
    await cluster.ok("copy", `{source_path="${path}";destination_path="//tmp/copy-of-unmounted"}`);
    await cluster.ok("move", `{source_path="${path}";destination_path="//tmp/moved"}`);
    for (const copy of ["//tmp/copy-of-frozen", "//tmp/copy-of-unmounted", "//tmp/moved"]) {
      expect(await cluster.get(`${copy}/@tablet_state`)).toBe("unmounted");
      await cluster.mount(copy);
      await cluster.insert(copy, "{key=9}");
      expect(await cluster.select(`[$row_index], key from [${copy}]`)).toEqual(
        [0, 1, 2, 9].map((key, index) => ({ $row_index: index, key })),
      );
    }
    expect(await cluster.value("exists", `{path="${path}"}`)).toEqual({ value: false });
  });

  it("[tables 89] a copy of a table trimmed inside a chunk shows the same rows", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 4));
    await cluster.flush(path);
    await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=3}`);
    await cluster.unmount(path);
    const copy = freshPath();
    await cluster.ok("copy", `{source_path="${path}";destination_path="${copy}"}`);
    await cluster.mount(copy);
    expect(await cluster.select(`[$row_index], key from [${copy}]`)).toEqual([{ $row_index: 3, key: 3 }]);
    expect(await countsOf(copy, "trimmed_row_count")).toEqual([3]);
  });
});

describe("alter_table", () => {
  it("[tables 90] to static and back", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 2));
    await cluster.flush(path);
    await cluster.insert(path, numberedRows(2, 3));
    await cluster.unmount(path);
    await cluster.ok("alter_table", `{path="${path}";dynamic=%false}`);
    expect(await cluster.get(`${path}/@dynamic`)).toBe(false);
    expect(await cluster.get(`${path}/@row_count`)).toBe(3);
    expect((await cluster.read(path)).map(({ key }) => key)).toEqual([0, 1, 2]);
    await cluster.error("get", `{path="${path}/@tablets"}`);
    await cluster.ok("alter_table", `{path="${path}";dynamic=%true}`);
    expect(await cluster.get(`${path}/@tablet_state`)).toBe("unmounted");
    await cluster.mount(path);
    await cluster.insert(path, "{key=3}");
    expect(await cluster.select(`[$tablet_index], [$row_index], key from [${path}]`)).toEqual(
      [0, 1, 2, 3].map((key) => ({ $tablet_index: 0, $row_index: key, key })),
    );
  });

  it("[tables 91] rows trimmed inside a chunk are back in the static table, whole chunks are gone", async () => {
    for (const [trimmed, keys] of [
      [1, [0, 1, 2, 3]],
      [2, [2, 3]],
    ] as const) {
      const path = freshPath();
      await cluster.createQueue(path);
      await cluster.insert(path, numberedRows(0, 2));
      await cluster.flush(path);
      await cluster.insert(path, numberedRows(2, 4));
      await cluster.flush(path);
      await cluster.ok("trim_rows", `{path="${path}";tablet_index=0;trimmed_row_count=${trimmed}}`);
      await cluster.unmount(path);
      await cluster.ok("alter_table", `{path="${path}";dynamic=%false}`);
      expect((await cluster.read(path)).map(({ key }) => key)).toEqual(keys);
    }
  });

  it("[tables 92] an ordered table does not become sorted, nor a sorted one ordered", async () => {
    const ordered = freshPath();
    const sorted = freshPath();
    await cluster.createQueue(ordered, { isMounted: false });
    await cluster.createTable(sorted, `dynamic=%true;schema=${sortedSchema}`);
    for (const [path, schema] of [
      [ordered, sortedSchema],
      [sorted, queueSchema],
    ]) {
      const error = await cluster.error("alter_table", `{path="${path}";schema=${schema}}`);
      expect(error.code, messagesOf(error)).toBe(316);
    }
  });

  it("[tables 93] columns are added to an unmounted table; old rows have null there", async () => {
    const path = freshPath();
    const schema = "[{name=key;type=int64};{name=more;type=string};{name=value;type=string}]";
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 1));
    const error = await cluster.error("alter_table", `{path="${path}";schema=${schema}}`);
    expect(messagesOf(error)).toContain("since not all tablets are unmounted");
    await cluster.unmount(path);
    await cluster.ok("alter_table", `{path="${path}";schema=${schema}}`);
    await cluster.mount(path);
    await cluster.insert(path, "{key=1;more=m;value=v1}");
    const rows = [
      { key: 0, more: null, value: "v0" },
      { key: 1, more: "m", value: "v1" },
    ];
    expect(await cluster.select(`key, more, value from [${path}]`)).toEqual(rows);
    await cluster.unmount(path);
    expect(await cluster.read(path)).toEqual(rows);
    await cluster.mount(path);
    expect(rowsWithoutIndexes(await cluster.select(`* from [${path}] where key = 0`))).toEqual([rows[0]]);
  });

  it("[tables 94] the columns that the server fills may be added later", async () => {
    const path = freshPath();
    await cluster.createQueue(path);
    await cluster.insert(path, numberedRows(0, 1));
    await cluster.unmount(path);
    const schema = `${queueSchema.slice(0, -1)};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]`;
    await cluster.ok("alter_table", `{path="${path}";schema=${schema}}`);
    await cluster.mount(path);
    await cluster.insert(path, numberedRows(1, 2));
    const rows = await cluster.select(
      `key, [$timestamp] as t, [$cumulative_data_weight] as w from [${path}]`,
    );
    expect(rows[0]).toMatchObject({ key: 0, t: null, w: null });
    expect(rows[1]).toMatchObject({ key: 1, t: expect.any(Number), w: expect.any(Number) });
  });

  it("[tables 95] changes that would lose or break rows are refused", async () => {
    const path = freshPath();
    await cluster.createTable(
      path,
      "dynamic=%true;schema=[{name=a;type=int64};{name=b;type=string};{name=c;type=int32}]",
    );
    const schemas = {
      "a column removed": "[{name=a;type=int64};{name=b;type=string}]",
      narrowed: "[{name=a;type=int32};{name=b;type=string};{name=c;type=int32}]",
      "optional to required": "[{name=a;type=int64;required=%true};{name=b;type=string};{name=c;type=int32}]",
      "a required column added":
        "[{name=a;type=int64};{name=b;type=string};{name=c;type=int32};{name=d;type=int64;required=%true}]",
    };
    for (const [what, schema] of Object.entries(schemas)) {
      const error = await cluster.error("alter_table", `{path="${path}";schema=${schema}}`);
      expect(error.code, `${what}: ${messagesOf(error)}`).toBe(316);
    }
    await cluster.ok(
      "alter_table",
      `{path="${path}";schema=[{name=a;type=int64};{name=b;type=any};{name=c;type=int64}]}`,
    );
  });
});

function rowsWithoutIndexes(rows: Record<string, unknown>[]): Record<string, unknown>[] {
  return rows.map(({ $tablet_index: _, $row_index: __, ...row }) => row);
}

describe("restart", () => {
  it("keeps tables, tablet states and rows, those made inside a master transaction included", async () => {
    let own = await TestCluster.start();
    try {
      await own.createQueue("//tmp/q", { tablets: 2 });
      await own.insert("//tmp/q", numberedRows(0, 5, '"$tablet_index"=1'));
      await own.ok("freeze_table", '{path="//tmp/q";first_tablet_index=0;last_tablet_index=0}');
      await own.createSorted("//tmp/s");
      await own.insert("//tmp/s", "{key=1;value=a};{key=2;value=b}");
      const open = String(
        fieldOf(await own.value("start_transaction", "{timeout=600000}"), "transaction_id"),
      );
      await own.ok(
        "create",
        `{type=table;path="//tmp/inside";transaction_id="${open}";attributes={dynamic=%true;tablet_count=3;schema=${queueSchema}}}`,
      );
      own = await own.restart();
      expect((await own.get("//tmp/q/@tablets/0/state")) as string).toBe("frozen");
      expect(await own.get("//tmp/q/@tablets/1/state")).toBe("mounted");
      expect(await own.select("[$row_index], key from [//tmp/q]")).toHaveLength(5);
      expect(await own.lookup("//tmp/s", "{key=2}")).toEqual([{ key: 2, value: "b" }]);
      expect(await own.value("exists", '{path="//tmp/inside"}')).toEqual({ value: false });
      await own.ok("commit_transaction", `{transaction_id="${open}"}`);
      await own.mount("//tmp/inside");
      await own.insert("//tmp/inside", '{"$tablet_index"=2;key=1}');
      own = await own.restart();
      expect(await own.select("[$tablet_index], key from [//tmp/inside]")).toEqual([
        { $tablet_index: 2, key: 1 },
      ]);
    } finally {
      await own.stop();
    }
  });

  it("forgets a table whose master transaction is aborted after a restart", async () => {
    let own = await TestCluster.start();
    try {
      const open = String(
        fieldOf(await own.value("start_transaction", "{timeout=600000}"), "transaction_id"),
      );
      await own.ok(
        "create",
        `{type=table;path="//tmp/inside";transaction_id="${open}";attributes={dynamic=%true;schema=${queueSchema}}}`,
      );
      own = await own.restart();
      await own.ok("abort_transaction", `{transaction_id="${open}"}`);
      await own.createQueue("//tmp/inside");
      own = await own.restart();
      expect(await own.get("//tmp/inside/@tablet_state")).toBe("mounted");
    } finally {
      await own.stop();
    }
  });
});
