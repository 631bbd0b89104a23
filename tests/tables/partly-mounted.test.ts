/** Tables of which some tablets are mounted and others are not: what needs only the first goes on. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TestCluster } from "./test-cluster.ts";

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await TestCluster.start();
});
afterAll(() => cluster.stop());

async function codeOf(query: string): Promise<number> {
  return Number((await cluster.error("select_rows", `{query="${query}"}`)).code);
}

describe("a query needs only the tablets that it reads", () => {
  it("of a queue", async () => {
    await cluster.createQueue("//tmp/queue", { tablets: 2 });
    await cluster.insert("//tmp/queue", '{"$tablet_index"=0;value=here};{"$tablet_index"=1;value=away}');
    await cluster.unmount("//tmp/queue", "first_tablet_index=1;last_tablet_index=1");
    expect(await cluster.select("value from [//tmp/queue] where [$tablet_index] = 0")).toEqual([
      { value: "here" },
    ]);
    expect(await codeOf("value from [//tmp/queue] where [$tablet_index] >= 0")).toBe(1702);
    expect(await codeOf("value from [//tmp/queue]")).toBe(1702);
  });

  it("of a sorted table", async () => {
    await cluster.createTable(
      "//tmp/sorted",
      "dynamic=%true;pivot_keys=[[];[10];[20]];schema=[{name=key;type=int64;sort_order=ascending};{name=value;type=string}]",
    );
    await cluster.mount("//tmp/sorted");
    await cluster.insert("//tmp/sorted", "{key=1;value=a};{key=10;value=b};{key=20;value=c}");
    await cluster.unmount("//tmp/sorted", "first_tablet_index=1;last_tablet_index=1");
    expect(await cluster.select("value from [//tmp/sorted] where key < 10")).toEqual([{ value: "a" }]);
    expect(await cluster.select("value from [//tmp/sorted] where key >= 20")).toEqual([{ value: "c" }]);
    expect(await codeOf("value from [//tmp/sorted] where key <= 10")).toBe(1702);
    expect(await codeOf("value from [//tmp/sorted] where key between 19 and 20")).toBe(1702);
  });
});
