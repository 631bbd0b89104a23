/**
 * Clients of clusters are renewed when what they were made with changes, and only then; nothing that is done
 * with them fails by it.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { seededRandom, systemClock, type YsonMap } from "@qyt/base";
import { freePort } from "@qyt/testing";
import { fromYson } from "@qyt/yson";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  type ClusterAccess,
  ClusterClients,
} from "../../packages/queue-agent/src/clusters/cluster-clients.ts";
import { AgentWorld, eventually, failureOf, reference } from "./agent-fixture.ts";
import { asMap, objectPath } from "./watching-fixture.ts";

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

/** Another address of a cluster. @returns the address, and how many connections there are */
async function startForwarder(target: string): Promise<{ address: string; connections: () => number }> {
  const { hostname, port } = new URL(`http://${target}`);
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(Number(port), hostname);
    open.add(socket);
    socket.on("close", () => {
      open.delete(socket);
      onward.destroy();
    });
    onward.on("close", () => socket.destroy());
    for (const each of [socket, onward]) {
      each.on("error", () => each.destroy());
    }
    socket.pipe(onward).pipe(socket);
  });
  const ownPort = await freePort();
  server.listen(ownPort, "127.0.0.1");
  await once(server, "listening");
  world.onStop(async () => {
    for (const socket of open) {
      socket.destroy();
    }
    server.close();
  });
  return { address: `127.0.0.1:${ownPort}`, connections: () => open.size };
}

it("[queue-agent 126] a cluster that gets another address leaves no error of the old client anywhere", async () => {
  const direct = world.address("remote");
  const useProxy = (address: string) => world.set("//sys/clusters/remote", `{proxy="http://${address}"}`);
  await useProxy(direct);
  const queue = reference("remote://tmp/queue");
  const consumer = reference("remote://tmp/consumer");
  await world.createQueue(queue, { attributes: { auto_trim_config: new Map([["enable", true]]) } });
  await world.createConsumer(consumer);
  await world.register(queue, consumer, { vital: true });
  await world.push(queue, ["a", "b", "c", "d"]);
  const agent = await world.startAgent();

  const status = async (): Promise<YsonMap> =>
    asMap(await world.orchid(agent, objectPath("queues", queue, "/status")));
  const trimmed = async (): Promise<unknown> =>
    Object(fromYson(await world.get(`${queue.path}/@tablets/0`, "remote"))).trimmed_row_count;
  const noise: unknown[] = [];
  /** Looks at the alerts with each try, so that those of a moment are seen too. */
  const watchUntil = (what: string, isDone: () => boolean | Promise<boolean>): Promise<void> =>
    world.waitUntil(
      async () => {
        const seen = await status();
        const [ofQueue, ofAgent] = [asMap(seen.get("alerts")), asMap(await world.orchid(agent, "/alerts"))];
        noise.push(
          ...ofQueue.values(),
          ...ofAgent.values(),
          ...(seen.has("error") ? [seen.get("error")] : []),
        );
        return isDone();
      },
      what,
      30_000,
    );
  await eventually(async () => {
    await world.advance(consumer, queue, 0, 1n);
    expect([(await status()).get("error"), await trimmed()]).toEqual([undefined, 1n]);
  });
  await world.waitUntil(async () => asMap((await status()).get("alerts")).size === 0);

  const other = await startForwarder(direct);
  await useProxy(other.address);
  await watchUntil("the agent to use the new address", () => other.connections() > 0);
  await world.advance(consumer, queue, 0, 2n);
  await watchUntil("trimming through the new address", async () => (await trimmed()) === 2n);

  await useProxy(direct);
  await watchUntil("the agent to leave that address again", () => other.connections() === 0);
  await world.advance(consumer, queue, 0, 3n);
  await watchUntil("trimming through the old address", async () => (await trimmed()) === 3n);
  expect(noise).toEqual([]);
}, 120_000);
