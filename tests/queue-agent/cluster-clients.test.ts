/** Clients of clusters are renewed when what they were made with changes, and only then. */
import { seededRandom, systemClock } from "@qyt/base";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ClusterAccess,
  ClusterClients,
} from "../../packages/queue-agent/src/clusters/cluster-clients.ts";
import { AgentWorld, failureOf } from "./agent-fixture.ts";

let world: AgentWorld;
beforeAll(async () => {
  world = await AgentWorld.start({ clusters: ["primary", "remote"] });
});
afterAll(() => world.stop());

it("follows proxies in //sys/clusters and tokens of the process", async () => {
  const access = new Map<string, ClusterAccess>();
  const clients = new ClusterClients({
    stateCluster: "primary",
    stateProxy: world.address(),
    access: () => access,
    byDefault: {},
    clock: systemClock,
    random: seededRandom(1),
  });
  world.onStop(() => clients.close());
  await clients.refresh();
  expect([...clients.names()].sort()).toEqual(["primary", "remote"]);
  const primary = clients.client("primary");
  const remote = clients.client("remote");
  expect(await remote.get("//sys/@cluster_name")).toBe("remote");

  await clients.refresh();
  expect(clients.client("remote")).toBe(remote);

  access.set("remote", { token: "new" });
  await clients.refresh();
  const renewed = clients.client("remote");
  expect(new Map(renewed.requester.options.headers).get("authorization")).toBe("OAuth new");
  expect(clients.client("primary")).toBe(primary);

  await world.set("//sys/clusters/remote", '{proxy="http://127.0.0.1:1"}');
  await clients.refresh();
  const error = await failureOf(clients.client("remote").get("//sys/@cluster_name"));
  expect(error.has("TransportError")).toBe(true);

  await world.client().remove("//sys/clusters/remote");
  await clients.refresh();
  expect(() => clients.client("remote")).toThrow(/is not known to the queue agent/);
});
