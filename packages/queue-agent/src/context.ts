/** What every part of one agent process is given. */
import type { Clock, Random } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import type { Logger } from "pino";
import type { DynamicConfig } from "./config/dynamic-config.ts";

/** Clients of the known clusters, made when first asked for and renewed when a connection changes. */
export interface AgentClusters {
  /** The cluster that keeps the state tables. */
  readonly stateCluster: string;
  /** Names of all clusters known now. */
  names(): readonly string[];
  /** @throws YtError when no such cluster is known */
  client(cluster: string): YtClient;
}

export interface AgentContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly clusters: AgentClusters;
  /** `host:port` of this agent's HTTP server; its name in the mapping. */
  readonly agentId: string;
  /** Shown as `queue_agent_host`. */
  readonly host: string;
  readonly stage: string;
  /** `//sys/queue_agents` by default. */
  readonly root: string;
  /**
   * Whether the other agents count on this one. Without that (a pause of the process, a cluster that does not
   * answer) another may lead its objects, and what it knows may be old: it must not trim. Absent: always.
   */
  readonly isPresent?: () => boolean;
  /** The configuration in force now; ask at each use. */
  readonly config: () => DynamicConfig;
}
