/** A whole cluster in this process for tests: in memory, on a free port, silent, and knowing no other. */
import { pino } from "pino";
import { MemoryStore } from "./cell/index.ts";
import { type Cluster, type ClusterOptions, startCluster } from "./cluster.ts";

/** @param options what is to be otherwise */
export function startTestCluster(options: Partial<ClusterOptions> = {}): Promise<Cluster> {
  const name = options.name ?? "test";
  return startCluster({
    name,
    host: "127.0.0.1",
    port: 0,
    dataDirectory: "",
    version: "25.1.0-test",
    logger: pino({ level: "silent" }),
    peers: () => new Map(),
    registrationsCluster: name,
    store: new MemoryStore(),
    ...options,
  });
}
