/** Values of mount settings that mean nothing are refused when they are set. */
import { messagesOf } from "@qyt/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { queueSchema, TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;
beforeAll(async () => {
  cluster = await TestCluster.start();
  await cluster.createTable("//tmp/q", `dynamic=%true;schema=${queueSchema}`);
});
afterAll(() => cluster.stop());

const durations = [
  "min_data_ttl",
  "max_data_ttl",
  "min_replication_log_ttl",
  "dynamic_store_flush_period_splay",
];
const periods = ["dynamic_store_auto_flush_period", "auto_compaction_period"];
const counts = ["min_data_versions", "max_data_versions", "row_count_to_keep", "max_dynamic_store_row_count"];

it.each([...durations, ...periods])("%s takes milliseconds and texts", async (name) => {
  for (const good of ["1000", '"36h"', '"1d"', '"500"']) {
    await cluster.set(`//tmp/q/@${name}`, good);
  }
  for (const bad of ['"soon"', "-1", "[]", "true", '"-5s"']) {
    const set = await cluster.error("set", `{path="//tmp/q/@${name}";input_format=json}`, bad);
    expect(set.message, bad).toContain(`Error parsing attribute "${name}": expected milliseconds`);
  }
});

it.each(counts)("%s takes whole numbers", async (name) => {
  await cluster.set(`//tmp/q/@${name}`, "3");
  for (const bad of ['"3"', "-1", "1.5", "{}"]) {
    const set = await cluster.error("set", `{path="//tmp/q/@${name}";input_format=json}`, bad);
    expect(set.message, bad).toContain(`Error parsing attribute "${name}": expected a whole number`);
  }
});

it("an entity switches a period off, and is no lifetime", async () => {
  await cluster.set("//tmp/q/@dynamic_store_auto_flush_period", "#");
  const error = await cluster.error("set", '{path="//tmp/q/@min_data_ttl";input_format=json}', "null");
  expect(error.message).toContain("min_data_ttl");
});

it("they are looked at in mount_config and at create too, and nothing is changed", async () => {
  const config = await cluster.error(
    "set",
    '{path="//tmp/q/@mount_config/max_data_ttl";input_format=json}',
    '"x"',
  );
  expect(messagesOf(config).join("; ")).toContain('"max_data_ttl"');
  expect(await cluster.get("//tmp/q/@mount_config")).toEqual({});
  const created = await cluster.error(
    "create",
    `{type=table;path="//tmp/other";attributes={dynamic=%true;schema=${queueSchema};min_data_ttl=often}}`,
  );
  expect(created.message).toContain('"min_data_ttl"');
  expect(await cluster.value("exists", '{path="//tmp/other"}')).toEqual({ value: false });
});

it("rows have no lifetimes of their own: a column for them is refused, not ignored", async () => {
  const schema = '[{name=k;type=int64;sort_order=ascending};{name=v;type=int64};{name="$ttl";type=uint64}]';
  const error = await cluster.error(
    "create",
    `{type=table;path="//tmp/ttl";attributes={dynamic=%true;schema=${schema}}}`,
  );
  expect(error.message).toContain('Column "$ttl" is not supported yet');
});
