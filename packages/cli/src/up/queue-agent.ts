/** The queue agent that `qyt up` runs beside its clusters. Imported only when there is to be one. */
import { mapOf } from "@qyt/base";
import { parseStaticConfig, startQueueAgent } from "@qyt/queue-agent";
import type { AgentStart, RunningAgent } from "./agent.ts";

/** @throws YtError when `signal` aborts first; otherwise it waits until the cluster of its state answers */
export async function startAgent(start: AgentStart): Promise<RunningAgent> {
  const { stateCluster, access, logger, signal } = start;
  const { config } = parseStaticConfig(mapOf({ ...access().get(stateCluster) }));
  return startQueueAgent({ config, logger, access, signal });
}
