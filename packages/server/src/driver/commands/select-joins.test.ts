/** Queries over several tables of a cluster: rows, rights, times. */
import { mapOf, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cluster } from "../../cluster.ts";
import { startTestCluster } from "../../cluster-fixture.ts";
import type { CommandResponse } from "../command.ts";

let clock: FakeClock;
let cluster: Cluster;

beforeEach(async () => {
  clock = new FakeClock();
  cluster = await startTestCluster({ clock });
  await createTable("//tmp/people", "[{name=who;type=int64;sort_order=ascending};{name=name;type=string}]");
  await createTable("//tmp/queue", "[{name=who;type=int64};{name=text;type=string}]");
  await run("insert_rows", { path: "//tmp/people" }, "{who=1;name=ann};{who=2;name=bob}");
  await run("insert_rows", { path: "//tmp/queue" }, "{who=2;text=a};{who=3;text=b};{who=1;text=c}");
});
afterEach(() => cluster.close(0));

async function createTable(path: string, schema: string): Promise<void> {
  await run("create", { type: "table", path, attributes: parseYson(`{dynamic=%true;schema=${schema}}`) });
  await run("mount_table", { path });
}

function run(
  command: string,
  parameters: Record<string, YsonValue>,
  body = "",
  user = "root",
): Promise<CommandResponse> {
  return cluster.services.driver().execute({
    apiVersion: 4,
    command,
    parameters: mapOf({ input_format: "yson", output_format: parseYson("<format=text>yson"), ...parameters }),
    user,
    requestId: "1-2-3-4",
    signal: new AbortController().signal,
    body: async function* () {
      yield Buffer.from(body);
    },
    readBody: async () => Buffer.from(body),
  });
}

async function select(
  query: string,
  parameters: Record<string, YsonValue> = {},
  user = "root",
): Promise<string> {
  const response = await run("select_rows", { query, ...parameters }, "", user);
  let text = "";
  if (response.kind === "stream") {
    for await (const chunk of response.chunks) {
      text += chunk.toString();
    }
  }
  return text.replaceAll("\n", "").replaceAll('"', "");
}

test("a queue joined with a sorted table, in the order of the queue", async () => {
  const query =
    "q.[$row_index] as i, p.name as name from [//tmp/queue] as q left join [//tmp/people] as p on q.who = p.who";
  expect(await select(query)).toBe("{i=0;name=bob;};{i=1;name=#;};{i=2;name=ann;};");
});

test("a sorted table joined with a queue reads all of the queue, where that is allowed", async () => {
  const query = "name, text from [//tmp/people] join [//tmp/queue] using who";
  await expect(select(query)).rejects.toThrow("Foreign table key is not used in the join clause");
  expect(await select(query, { allow_join_without_index: true })).toBe(
    "{name=ann;text=c;};{name=bob;text=a;};",
  );
});

test("a query over a query, with totals", async () => {
  const query = "k, sum(n) as s from (select who % 2 as k, 1 as n from [//tmp/queue]) group by k with totals";
  expect(await select(query)).toBe("{k=0;s=1;};{k=1;s=2;};{k=#;s=3;};");
});

test("a join reads both tables at one timestamp", async () => {
  const timestamp = parseYson(`${cluster.services.transactions.visibleTimestamp}u`);
  await run("insert_rows", { path: "//tmp/people" }, "{who=3;name=cay}");
  const query = "p.name as name from [//tmp/queue] as q join [//tmp/people] as p on q.who = p.who";
  expect(await select(query, { timestamp })).toBe("{name=bob;};{name=ann;};");
  expect(await select(query)).toBe("{name=bob;};{name=cay;};{name=ann;};");
});

test("the right to read is asked for on every table, wherever it stands", async () => {
  await run("create", { type: "user", attributes: mapOf({ name: "eve" }) });
  await run("set", { path: "//tmp/people/@acl" }, "[{action=deny;subjects=[eve];permissions=[read]}]");
  const inJoin = "q.who from [//tmp/queue] as q join [//tmp/people] as p on q.who = p.who";
  for (const query of [inJoin, "name from (select name from [//tmp/people])"]) {
    await expect(select(query, {}, "eve")).rejects.toMatchObject({ code: 901 });
    await expect(run("explain_query", { query }, "", "eve")).rejects.toMatchObject({ code: 901 });
  }
  await expect(select("who from [//tmp/queue]", {}, "eve")).resolves.not.toBe("");
});

test("a table that is not mounted is named, joined or not", async () => {
  await run("unmount_table", { path: "//tmp/people" });
  const query = "q.who from [//tmp/queue] as q join [//tmp/people] as p on q.who = p.who";
  await expect(select(query)).rejects.toMatchObject({ code: 1702 });
});

test("a query that works for too long ends with error 3; the time in which nobody takes rows does not count", async () => {
  const rows = Array.from({ length: 20_000 }, (_, who) => `{who=${who};name=${"x".repeat(50)}}`);
  await run("insert_rows", { path: "//tmp/people" }, rows.join(";"));
  const slow = await run("select_rows", { query: "* from [//tmp/people]", timeout: 1_000n });
  if (slow.kind !== "stream") {
    throw new Error("Rows are expected");
  }
  let length = 0;
  for await (const chunk of slow.chunks) {
    length += chunk.length;
    await clock.advance(5_000);
  }
  expect(length).toBeGreaterThan(20_000 * 50);

  const busy = select("sum(1) from [//tmp/people] as l group by name", { timeout: 1_000n });
  const ended = expect(busy).rejects.toMatchObject({ code: 3 });
  await new Promise((resolve) => setImmediate(resolve));
  await clock.advance(1_001);
  await ended;
});

test("explain_query runs nothing and tells what a query would read", async () => {
  const query =
    "q.who from [//tmp/queue] as q join [//tmp/people] as p on q.who = p.who where q.[$tablet_index] = 0";
  const response = await run("explain_query", { query });
  expect(response).toMatchObject({
    kind: "structured",
    value: parseYson(
      `{query={where_expression="(q.[$tablet_index])=(0)";is_ordered_scan=%false;
        joins=[[{lookup_type="source ranges";common_key_prefix=0u;foreign_key_prefix=1u}]];
        ranges=[["[0#0]";"[0#0, 1#<Max>]"]]};subqueries=[];top_query={is_ordered_scan=%false}}`,
    ),
  });
  await expect(run("explain_query", { query: "* from [//tmp/none]" })).rejects.toMatchObject({ code: 500 });
});
