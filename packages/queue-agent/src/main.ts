/**
 * One agent: puts the parts together, starts them in their order and stops them. The only place that knows
 * of the process. It decides nothing.
 *
 * Specified in: yt/yt/server/queue_agent/bootstrap.cpp.
 */
import { hostname } from "node:os";
import {
  type Clock,
  mapOf,
  type Random,
  secureRandom,
  sleep,
  systemClock,
  toYtError,
  type YsonValue,
  YtError,
} from "@qyt/base";
import type { Logger } from "pino";
import { AlertManager } from "./alerts/alert-manager.ts";
import { agentClient, type ClusterAccess, ClusterClients } from "./clusters/cluster-clients.ts";
import { DynamicConfigManager } from "./config/dynamic-config-manager.ts";
import type { StaticConfig } from "./config/static-config.ts";
import type { AgentContext } from "./context.ts";
import { AgentPass } from "./controllers/agent-pass.ts";
import { ConsumerNames } from "./controllers/consumer-names.ts";
import { InstanceRegistration } from "./election/instance-registration.ts";
import { LeaderElection } from "./election/leader-election.ts";
import { ExportManager } from "./exports/export-manager.ts";
import type { ProcessUsage } from "./metrics/agent-gauges.ts";
import { AgentMetrics } from "./metrics/agent-metrics.ts";
import { agentOrchid } from "./orchid/agent-orchid.ts";
import { type AgentServer, startAgentServer } from "./orchid/agent-server.ts";
import { OrchidClient } from "./orchid/orchid-client.ts";
import { askOrchid, type OrchidNode, valueNode } from "./orchid/orchid-node.ts";
import { PeriodicExecutor } from "./periodic.ts";
import { ShardingManager } from "./sharding/sharding-manager.ts";
import { StateReader } from "./state/state-reader.ts";
import { ensureStateTables, locateStateTables } from "./state/state-tables.ts";
import { Synchronizer } from "./synchronizer/synchronizer.ts";

export interface QueueAgentOptions {
  readonly config: StaticConfig;
  readonly logger: Logger;
  /** How clusters are reached, where that may change; wins over the configuration. Asked every few seconds. */
  readonly access?: () => ReadonlyMap<string, ClusterAccess>;
  /** Ends a start that waits for its cluster. */
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
  readonly random?: Random;
}

export interface QueueAgent {
  /** `host:port` of its HTTP server, its name among the others. */
  readonly agentId: string;
  /** Ends what is under way, gives objects and leadership back. */
  stop(): Promise<void>;
}

const startRetryMs = 500;
const clusterRefreshPeriodMs = 2_000;

/**
 * Starts an agent; the promise resolves when it takes part. Waits for the cluster of its state as long as
 * that takes.
 * @throws YtError when its address is not free, or the signal aborts first
 */
export async function startQueueAgent(options: QueueAgentOptions): Promise<QueueAgent> {
  const agent = new Agent(options);
  try {
    return await agent.start(options.signal ?? new AbortController().signal);
  } catch (thrown) {
    await agent.stop();
    throw toYtError(thrown);
  }
}

class Agent {
  readonly #config: StaticConfig;
  readonly #access: () => ReadonlyMap<string, ClusterAccess>;
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #metrics: AgentMetrics;
  /** Run by `stop`, the last one first. */
  readonly #closers: (() => Promise<void>)[] = [];
  #orchid: OrchidNode = valueNode(() => {
    throw new YtError("The queue agent is starting", { code: "QueueAgentRetriableError" });
  });

  constructor({ config, logger, access, clock, random }: QueueAgentOptions) {
    this.#access = () => new Map([...config.clusters, ...(access?.() ?? [])]);
    this.#config = config;
    this.#logger = logger;
    this.#clock = clock ?? systemClock;
    this.#random = random ?? secureRandom();
    this.#metrics = new AgentMetrics(this.#clock);
  }

  async stop(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (thrown) {
        this.#logger.warn({ err: toYtError(thrown) }, "a part of the queue agent did not stop cleanly");
      }
    }
  }

  async start(signal: AbortSignal): Promise<QueueAgent> {
    const server = await this.#listen();
    const agentId = this.#agentId(server);
    const clusters = await this.#connect(signal);
    const { root, consumerRegistrationTablePath, replicatedTableMappingTablePath } = this.#config;
    const tables = locateStateTables({
      root,
      stateCluster: clusters.stateCluster,
      ...(consumerRegistrationTablePath === null ? {} : { consumerRegistrationTablePath }),
      ...(replicatedTableMappingTablePath === null ? {} : { replicatedTableMappingTablePath }),
    });
    await this.#untilDone("preparing the state tables", signal, () =>
      ensureStateTables(clusters, tables, this.#clock, signal),
    );
    const dynamicConfig = await this.#followConfig(clusters);
    let isPresent = (): boolean => false;
    const context: AgentContext = {
      clock: this.#clock,
      random: this.#random,
      logger: this.#logger,
      clusters,
      agentId,
      host: this.#config.advertisedHost ?? hostname(),
      stage: this.#config.stage,
      root,
      config: () => dynamicConfig.current,
      isPresent: () => isPresent(),
    };
    // Closed after the membership has ended: a question that hangs must not keep objects from the others.
    const others = new OrchidClient();
    this.#closers.push(() => others.close());
    const { registration, election } = this.#membership(context);
    isPresent = () => registration.isPresent;
    const alerts = new AlertManager();
    const stateReader = new StateReader(clusters, tables);
    const exportManager = new ExportManager(context);
    const { profiler } = this.#metrics;
    const consumerNames = new ConsumerNames({
      context,
      table: tables.multi_consumer_names,
      isLeader: () => election.isLeader,
    });
    const pass = new AgentPass(context, { stateReader, alerts, exportManager, profiler, consumerNames });
    const shardingManager = new ShardingManager({
      context,
      tables,
      stateReader,
      alerts,
      isPresent,
      onChanged: () => void pass.runOnce(),
    });
    const synchronizer = new Synchronizer({
      context,
      tables,
      stateReader,
      alerts,
      isLeader: () => election.isLeader,
      onChanged: () => void shardingManager.pass.runOnce(),
    });
    this.#metrics.attach({
      registry: pass.registry,
      poll: pass.poll.status,
      synchronizer: synchronizer.pass.status,
      shardingManager: shardingManager.pass.status,
      alerts,
      exportManager,
      isBanned: () => shardingManager.isBanned,
      controllersPassMs: () => pass.controllerPassDurationMs,
      usage: processUsage,
    });
    this.#orchid = agentOrchid(context, {
      pass,
      alerts,
      shardingManager: shardingManager.pass.status,
      synchronizer: synchronizer.pass.status,
      others,
      config: () => staticConfigToYson(this.#config),
      dynamicConfig: () => dynamicConfig.orchid(),
    });
    await registration.start(signal);
    election.start();
    for (const part of [alertCollection(context, alerts), shardingManager.pass, synchronizer.pass, pass]) {
      part.start();
      this.#closers.push(() => part.stop());
    }
    this.#logger.info({ agent_id: agentId, stage: context.stage }, "the queue agent takes part");
    return { agentId, stop: () => this.stop() };
  }

  /** The server answers before the tree is there: a cluster may ask at any moment. */
  async #listen(): Promise<AgentServer> {
    const { host, port } = this.#config;
    const orchid: OrchidNode = {
      get: () => this.#orchid.get(),
      ask: (method, steps) => askOrchid(this.#orchid, method, steps),
    };
    try {
      const server = await startAgentServer({ host, port, orchid, metrics: this.#metrics });
      this.#closers.push(() => server.close());
      return server;
    } catch (thrown) {
      throw new YtError(
        `The queue agent cannot listen on ${host}:${port}: ${toYtError(thrown).message}; choose another address or port 0`,
        { cause: thrown },
      );
    }
  }

  #agentId({ address }: AgentServer): string {
    const { host, advertisedHost } = this.#config;
    const isAnyAddress = host === "0.0.0.0" || host === "::";
    const reachable = advertisedHost ?? (isAnyAddress ? hostname() : undefined);
    return reachable === undefined ? address : `${reachable}:${address.slice(address.lastIndexOf(":") + 1)}`;
  }

  async #connect(signal: AbortSignal): Promise<ClusterClients> {
    const { proxy, access } = this.#config;
    const clock = this.#clock;
    const random = this.#random;
    const stateCluster = await this.#untilDone(`asking ${proxy} for its name`, signal, async () => {
      // Anew each time: the token may be a better one by now.
      const current = [...this.#access().values()].find((each) => each.proxy === proxy);
      const { client, transport } = agentClient({ ...access, ...current, proxy }, clock, random);
      try {
        const name = await client.get("//sys/@cluster_name", { signal });
        if (typeof name !== "string" || name === "") {
          throw new YtError(`The cluster at ${proxy} has no name in //sys/@cluster_name`);
        }
        return name;
      } finally {
        await transport.close();
      }
    });
    const own = this.#access().get(stateCluster);
    const result = new ClusterClients({
      stateCluster,
      stateProxy: own?.proxy ?? proxy,
      access: this.#access,
      byDefault: access,
      clock,
      random,
    });
    this.#closers.push(() => result.close());
    await this.#untilDone("reading //sys/clusters", signal, () => result.refresh(signal));
    const refresh = new PeriodicExecutor({
      clock,
      periodMs: () => clusterRefreshPeriodMs,
      run: (stop) => result.refresh(stop),
      onError: (error) => this.#logger.warn({ err: error }, "the list of clusters cannot be read"),
    });
    refresh.start();
    this.#closers.push(() => refresh.stop());
    return result;
  }

  async #followConfig(clusters: ClusterClients): Promise<DynamicConfigManager> {
    const manager = new DynamicConfigManager({
      client: () => clusters.client(clusters.stateCluster),
      clock: this.#clock,
      logger: this.#logger,
      path: this.#config.dynamicConfigPath,
      base: this.#config.dynamicConfig,
    });
    this.#closers.push(() => manager.stop());
    await manager.start();
    return manager;
  }

  #membership(context: AgentContext): {
    readonly registration: InstanceRegistration;
    readonly election: LeaderElection;
  } {
    const { clusters, clock, logger, root, agentId, stage } = context;
    const client = () => clusters.client(clusters.stateCluster);
    const transactionTimeoutMs = this.#config.membershipTimeoutMs;
    const { annotations, lockPath } = this.#config;
    const registration = new InstanceRegistration({
      client,
      clock,
      logger,
      root,
      agentId,
      stage,
      annotations,
      transactionTimeoutMs,
    });
    const election = new LeaderElection({ client, clock, logger, lockPath, agentId, transactionTimeoutMs });
    this.#closers.push(() => registration.stop());
    this.#closers.push(() => election.stop());
    return { registration, election };
  }

  /** Tries again until it succeeds: a cluster may start after its agent. Warns of each failure once. */
  async #untilDone<T>(what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let last = ""; ; ) {
      try {
        return await work();
      } catch (thrown) {
        signal.throwIfAborted();
        const err = toYtError(thrown);
        const level = err.message === last ? "debug" : "warn";
        last = err.message;
        this.#logger[level]({ err }, `${what} failed, trying again`);
      }
      await sleep(this.#clock, startRetryMs, signal);
    }
  }
}

function processUsage(): ProcessUsage {
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuSeconds: (user + system) / 1e6, residentBytes: rss, heapBytes: heapUsed };
}

/** Makes the process's alerts visible. */
function alertCollection({ clock, config, logger }: AgentContext, alerts: AlertManager): PeriodicExecutor {
  return new PeriodicExecutor({
    clock,
    periodMs: () => config().alertCollectionPeriodMs,
    run: async () => alerts.collect(),
    onError: (error) => logger.error({ err: error }, "alerts cannot be collected"),
  });
}

/** For the Orchid: without tokens. */
function staticConfigToYson(config: StaticConfig): YsonValue {
  return mapOf({
    proxy: config.proxy,
    stage: config.stage,
    host: config.host,
    port: BigInt(config.port),
    dynamic_state: mapOf({ root: config.root }),
    election_manager: mapOf({ lock_path: config.lockPath }),
    dynamic_config_path: config.dynamicConfigPath,
    membership_timeout: BigInt(config.membershipTimeoutMs),
    cypress_annotations: config.annotations,
    clusters: [...config.clusters.keys()],
  });
}
