/** The queue agent that `qyt up` runs beside its clusters. Imported only when there is to be one. */
import { mapOf, type YsonValue } from "@qyt/base";
import { parseStaticConfig, startQueueAgent } from "@qyt/queue-agent";
import type { AgentStart, RunningAgent } from "./agent.ts";

/** @throws YtError when `signal` aborts first; otherwise it waits until the cluster of its state answers */
export async function startAgent(start: AgentStart): Promise<RunningAgent> {
  const clusters = new Map<string, YsonValue>();
  for (const [name, access] of start.access) {
    clusters.set(name, mapOf({ ...access }));
  }
  const { config } = parseStaticConfig(mapOf({ ...start.access.get(start.stateCluster), clusters }));
  return startQueueAgent({ config, logger: start.logger, signal: start.signal });
}
