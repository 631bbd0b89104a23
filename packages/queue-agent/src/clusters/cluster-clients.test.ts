import { seededRandom } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { parseYson } from "@qyt/yson";
import { expect, it } from "vitest";
import { type ClusterAccess, ClusterClients, parseClusters } from "./cluster-clients.ts";

it("reads the proxies of //sys/clusters, and leaves out clusters that have none", () => {
  const value = parseYson(
    '{pythia={proxy="http://a:1";cluster_name=pythia};native={primary_master={addresses=[]}};freud=<x=1>{proxy="b:2"};odd=7}',
  );
  expect([...parseClusters(value)]).toEqual([
    ["pythia", "http://a:1"],
    ["freud", "b:2"],
  ]);
  expect(parseClusters(null).size).toBe(0);
});

function clients(access: readonly (readonly [string, ClusterAccess])[]): ClusterClients {
  return new ClusterClients({
    stateCluster: "pythia",
    stateProxy: "http://a:1",
    access: () => new Map(access),
    byDefault: { token: "all" },
    clock: new FakeClock(),
    random: seededRandom(1),
  });
}

it("knows the cluster of the state and those of the configuration before it has asked", async () => {
  const found = clients([
    ["freud", { proxy: "b:2", token: "one" }],
    ["hume", { token: "without a proxy" }],
  ]);
  expect([...found.names()].sort()).toEqual(["freud", "pythia"]);
  const headers = new Map(found.client("freud").requester.options.headers);
  expect(headers.get("authorization")).toBe("OAuth one");
  expect(new Map(found.client("pythia").requester.options.headers).get("authorization")).toBe("OAuth all");
  expect(found.client("freud")).toBe(found.client("freud"));
  await found.close();
});

it("says what to do about a cluster that it does not know", () => {
  expect(() => clients([]).client("hume")).toThrow(
    'Cluster "hume" is not known to the queue agent; add it to //sys/clusters of "pythia" or to the agent\'s configuration',
  );
});
