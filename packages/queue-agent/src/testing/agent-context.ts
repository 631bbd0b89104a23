/** A context of an agent process over clusters in memory, with a configuration that a test can change. */
import { type Clock, seededRandom, YtError } from "@qyt/base";
import type { YtClient } from "@qyt/client";
import { pino } from "pino";
import {
  type ControllerConfig,
  type DynamicConfig,
  defaultDynamicConfig,
  type QueueExporterConfig,
} from "../config/dynamic-config.ts";
import type { AgentContext } from "../context.ts";

export interface TestContext extends AgentContext {
  /** Changes options of exporters in the running process. */
  configureExporter(options: Partial<QueueExporterConfig>): void;
  configureController(options: Partial<ControllerConfig>): void;
  setExportRateLimit(perSecond: number): void;
}

export function testContext(clock: Clock, client: YtClient, cluster = "pythia", seed = 1): TestContext {
  let config: DynamicConfig = defaultDynamicConfig;
  const configureController = (options: Partial<ControllerConfig>): void => {
    config = {
      ...config,
      agent: { ...config.agent, controller: { ...config.agent.controller, ...options } },
    };
  };
  return {
    clock,
    random: seededRandom(seed),
    logger: pino({ level: "silent" }),
    clusters: {
      stateCluster: cluster,
      names: () => [cluster],
      client(name) {
        if (name !== cluster) {
          throw new YtError(`Cluster "${name}" is not known`);
        }
        return client;
      },
    },
    agentId: "localhost:1",
    host: "localhost",
    stage: "production",
    root: "//sys/queue_agents",
    config: () => config,
    configureController,
    configureExporter(options) {
      configureController({ queueExporter: { ...config.agent.controller.queueExporter, ...options } });
    },
    setExportRateLimit(exportRateLimit) {
      config = { ...config, agent: { ...config.agent, exportRateLimit } };
    },
  };
}
