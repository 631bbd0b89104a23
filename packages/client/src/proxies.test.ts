/** Which proxy gets a request, and what happens when one cannot be reached. */
import { seededRandom } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { expect, it } from "vitest";
import { createClient, type YtClient } from "./client.ts";
import type { ClientOptions } from "./options.ts";
import type { TransportResponse } from "./transport.ts";

interface Cluster {
  readonly client: YtClient;
  readonly clock: FakeClock;
  /** Host and what was asked of it. */
  readonly asked: string[];
  hosts: string[];
  readonly down: Set<string>;
}

function clusterOf(hosts: string[], discovery: ClientOptions["discovery"]): Cluster {
  const asked: string[] = [];
  const down = new Set<string>();
  const clock = new FakeClock();
  const transport = {
    async send({ url }: { readonly url: string }): Promise<TransportResponse> {
      const { host, pathname, search } = new URL(url);
      asked.push(`${host} ${pathname.replace("/api/v4/", "")}${search}`);
      if (down.has(host)) {
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      }
      return answer(pathname === "/hosts" ? JSON.stringify(cluster.hosts) : '{"transaction_id"="1-2-2-4"}');
    },
    close: async () => undefined,
  };
  const retries = { attempts: 3, minDelayMs: 0, maxDelayMs: 0 };
  const client = createClient({
    proxy: "light",
    transport,
    clock,
    retries,
    random: seededRandom(1),
    ...(discovery === undefined ? {} : { discovery }),
  });
  const cluster: Cluster = { client, clock, asked, hosts, down };
  return cluster;
}

function answer(text: string): TransportResponse {
  async function* body(): AsyncIterable<Buffer> {
    yield Buffer.from(text);
  }
  return { status: 200, headers: new Map(), body: body(), trailers: () => new Map() };
}

async function done(cluster: Cluster, work: Promise<unknown>): Promise<void> {
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  await cluster.clock.advanceUntil(() => isOver, 1);
  await work;
}

it("is the configured one, without discovery", async () => {
  const { client, asked } = clusterOf(["heavy"], undefined);
  await client.insertRows("//t", [{ a: 1n }]);
  expect(asked).toEqual(["light insert_rows"]);
});

it("is one that the cluster names, for heavy commands; the list is asked for once a minute", async () => {
  const cluster = clusterOf(["heavy:80"], { role: "data" });
  const { client, asked, clock } = cluster;
  await client.insertRows("//t", [{ a: 1n }]);
  await client.mountTable("//t");
  await client.insertRows("//t", [{ a: 1n }]);
  expect(asked).toEqual([
    "light /hosts?role=data",
    "heavy insert_rows",
    "light mount_table",
    "heavy insert_rows",
  ]);
  await clock.advance(60_000);
  await client.insertRows("//t", [{ a: 1n }]);
  expect(asked.slice(4)).toEqual(["light /hosts?role=data", "heavy insert_rows"]);
});

it("is another one when the first cannot be reached, for two minutes", async () => {
  const cluster = clusterOf(["first", "second"], true);
  const { client, asked, clock, down } = cluster;
  down.add("first");
  for (let i = 0; i < 6; i++) {
    await done(cluster, client.insertRows("//t", [{ a: 1n }]));
  }
  expect(asked.filter((line) => line === "first insert_rows")).toHaveLength(1);
  expect(asked.filter((line) => line === "second insert_rows")).toHaveLength(6);
  down.delete("first");
  await clock.advance(120_000);
  for (let i = 0; i < 10; i++) {
    await client.insertRows("//t", [{ a: 1n }]);
  }
  expect(asked.filter((line) => line === "first insert_rows").length).toBeGreaterThan(1);
});

it("is the configured one when the cluster names none", async () => {
  const { client, asked } = clusterOf([], true);
  await client.insertRows("//t", [{ a: 1n }]);
  expect(asked).toEqual(["light /hosts", "light insert_rows"]);
});

it("stays the same for all that belongs to a tablet transaction", async () => {
  const cluster = clusterOf(["a", "b", "c", "d"], true);
  for (let i = 0; i < 5; i++) {
    cluster.asked.splice(0);
    await cluster.client.transaction((tx) => tx.insertRows("//t", [{ a: 1n }]), { type: "tablet" });
    const hosts = cluster.asked.filter((line) => !line.includes("/hosts")).map((line) => line.split(" ")[0]);
    expect(hosts).toHaveLength(3);
    expect(new Set(hosts).size).toBe(1);
  }
});
