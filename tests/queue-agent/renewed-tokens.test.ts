/** Tokens that are replaced while an agent runs, or before it has ever been let in. */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { mapOf, seededRandom, systemClock } from "@qyt/base";
import { type ClusterAccess, parseStaticConfig, startQueueAgent } from "@qyt/queue-agent";
import { pino } from "pino";
import { afterEach, beforeEach, expect, it } from "vitest";
import { ClusterClients } from "../../packages/queue-agent/src/clusters/cluster-clients.ts";
import { GuardedCluster, sha256 } from "../access/guarded-cluster.ts";

let guarded: GuardedCluster;
beforeEach(async () => {
  guarded = await GuardedCluster.start();
});
afterEach(() => guarded.close());

it("gets over a token of the state cluster that was revoked before the new one came", async () => {
  const old = await guarded.issueToken("queue_agent");
  const access = new Map<string, ClusterAccess>([["pythia", { token: old }]]);
  const clients = new ClusterClients({
    stateCluster: "pythia",
    stateProxy: guarded.cluster.address,
    access: () => access,
    byDefault: {},
    clock: systemClock,
    random: seededRandom(1),
  });
  try {
    await clients.refresh();
    await guarded.root.execute("revoke_token", { user: "queue_agent", token_sha256: sha256(old) });
    await expect(clients.refresh()).rejects.toThrow("Authentication failed");

    access.set("pythia", { token: await guarded.issueToken("queue_agent") });
    await clients.refresh();
    expect(await clients.client("pythia").get("//sys/@cluster_name")).toBe("pythia");
  } finally {
    await clients.close();
  }
});

it("starts when a better token comes, and warns once of the one that was refused", async () => {
  const proxy = guarded.cluster.address;
  let token = randomBytes(16).toString("hex");
  const log = new PassThrough({ encoding: "utf8" });
  const { config } = parseStaticConfig(mapOf({ proxy, token }));
  const starting = startQueueAgent({
    config,
    logger: pino({ level: "debug" }, log),
    access: () => new Map([["pythia", { proxy, token }]]),
  });
  const lines: string[] = [];
  log.on("data", (text: string) => lines.push(...text.split("\n")));
  const refusals = (): readonly string[] => lines.filter((line) => line.includes("for its name failed"));
  while (refusals().length < 3) {
    await once(log, "data");
  }
  token = await guarded.issueToken("queue_agent");
  const agent = await starting;
  await agent.stop();
  expect(refusals().filter((line) => line.includes('"level":40'))).toHaveLength(1);
});
