/** Queries that do not run to their end undisturbed: the reader leaves, the table goes. */
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
  const attributes = parseYson(
    "{dynamic=%true;schema=[{name=k;type=int64;sort_order=ascending};{name=a;type=string}]}",
  );
  await run("create", { type: "table", path: "//tmp/s", attributes });
  await run("mount_table", { path: "//tmp/s" });
  const rows = Array.from({ length: rowCount }, (_, k) => `{k=${k};a=${"x".repeat(100)}}`);
  await run("insert_rows", { path: "//tmp/s" }, rows.join(";"));
});
afterEach(() => cluster.close(0));

const rowCount = 5_000;
const yson = { input_format: "yson", output_format: "yson" };

function run(
  command: string,
  parameters: Record<string, YsonValue>,
  body = "",
  signal = new AbortController().signal,
): Promise<CommandResponse> {
  return cluster.services.driver().execute({
    apiVersion: 4,
    command,
    parameters: mapOf({ ...yson, ...parameters }),
    user: "root",
    requestId: "1-2-3-4",
    signal,
    body: async function* () {
      yield Buffer.from(body);
    },
    readBody: async () => Buffer.from(body),
  });
}

async function open(
  command: string,
  parameters: Record<string, YsonValue>,
  body = "",
): Promise<AsyncIterator<Buffer>> {
  const response = await run(command, parameters, body);
  if (response.kind !== "stream") {
    throw new Error("Rows are expected");
  }
  return response.chunks[Symbol.asyncIterator]();
}

async function rest(rows: AsyncIterator<Buffer>): Promise<number> {
  let length = 0;
  for (let next = await rows.next(); next.done !== true; next = await rows.next()) {
    length += next.value.length;
  }
  return length;
}

test("a query whose reader leaves in the middle holds on to nothing", async () => {
  const rows = await open("select_rows", { query: "* from [//tmp/s]" });
  await rows.next();
  await rows.next();
  await rows.return?.();
  const { transactions } = cluster.services;
  clock.setNow(clock.now() + 600_000);
  await run("insert_rows", { path: "//tmp/s" }, "{k=1;a=y}");
  expect(transactions.horizon).toBe(transactions.visibleTimestamp);
});

test("a query whose reader stays gets every row", async () => {
  const rows = await open("select_rows", { query: "* from [//tmp/s]" });
  expect(await rest(rows)).toBeGreaterThan(rowCount * 100);
  const { transactions } = cluster.services;
  expect(transactions.horizon).toBe(transactions.visibleTimestamp);
});

test.each([
  ["select_rows", { query: "* from [//tmp/s]" }, ""],
  ["read_table", { path: "//tmp/s" }, ""],
  ["lookup_rows", { path: "//tmp/s" }, Array.from({ length: rowCount }, (_, k) => `{k=${k}}`).join(";")],
])("%s of a sorted table that is removed meanwhile fails", async (command, parameters, body) => {
  const rows = await open(command, parameters, body);
  await rows.next();
  await run("remove", { path: "//tmp/s" });
  await expect(rest(rows)).rejects.toMatchObject({ code: 500 });
});
