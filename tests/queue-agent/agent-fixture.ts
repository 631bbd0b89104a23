/**
 * A world for tests of the queue agent: clusters in this process behind real sockets, helpers that make
 * queues, consumers and registrations, and agents with fast periods.
 */
import {
  type Clock,
  seededRandom,
  systemClock,
  toYtError,
  type YsonMap,
  type YsonValue,
  YtError,
} from "@qyt/base";
import { createClient, type YtClient } from "@qyt/client";
import { parseStaticConfig, type QueueAgent, startQueueAgent } from "@qyt/queue-agent";
import { type Cluster, MemoryStore } from "@qyt/server";
import { eventually, ForgetfulStore, freePort } from "@qyt/testing";
import { errorFromYson, escapeYPathLiteral, fromYson, parseYson, writeYson } from "@qyt/yson";
import { pino } from "pino";
import { ClusterClients } from "../../packages/queue-agent/src/clusters/cluster-clients.ts";
import {
  type DynamicConfig,
  defaultDynamicConfig,
} from "../../packages/queue-agent/src/config/dynamic-config.ts";
import type { AgentContext } from "../../packages/queue-agent/src/context.ts";
import { type ObjectReference, referenceToString } from "../../packages/queue-agent/src/objects/reference.ts";
import { selectYson } from "../../packages/queue-agent/src/state/row-io.ts";
import { StateReader } from "../../packages/queue-agent/src/state/state-reader.ts";
import {
  ensureStateTables,
  locateStateTables,
  type StateTables,
} from "../../packages/queue-agent/src/state/state-tables.ts";
import { startTestCluster } from "../../packages/server/src/cluster-fixture.ts";

export const logger = pino({ level: process.env.QYT_TEST_LOG ?? "silent" });

/** The schema of a queue as the documentation makes it. */
export const queueSchema: YsonValue = parseYson(
  '[{name=data;type=string};{name="$timestamp";type=uint64};{name="$cumulative_data_weight";type=int64}]',
);

/** Passes follow each other so fast that a test waits for little; given as the agent's own configuration. */
export const fastDynamicConfig = `{
  alert_manager={alert_collection_period=50};
  queue_agent_sharding_manager={pass_period=50;sync_banned_instances_period=50};
  cypress_synchronizer={pass_period=50};
  queue_agent={pass_period=50;controller={pass_period=50}};
}`;

/** A paused or killed agent is dead to the others after so long. */
export const fastMembershipTimeoutMs = 1_000;

export interface AgentOptions {
  /** Default: `production`. */
  readonly stage?: string;
  /** Text YSON; default: `fastDynamicConfig`. */
  readonly dynamicConfig?: string;
  readonly membershipTimeoutMs?: number;
  /** Time of the agent alone. */
  readonly clock?: Clock;
}

export interface WorldOptions {
  /** The first one keeps the state. Default: `primary` alone. */
  readonly clusters?: readonly string[];
  readonly clock?: Clock;
}

export interface QueueOptions {
  readonly tabletCount?: number;
  readonly schema?: YsonValue;
  readonly attributes?: Readonly<Record<string, YsonValue>>;
  /** Default: true. */
  readonly mount?: boolean;
}

export class AgentWorld {
  readonly clusters: ReadonlyMap<string, Cluster>;
  readonly stateCluster: string;
  readonly clock: Clock;
  readonly #clients = new Map<string, YtClient>();
  readonly #closers: (() => Promise<void>)[] = [];
  #contextCount = 0;

  private constructor(clusters: ReadonlyMap<string, Cluster>, stateCluster: string, clock: Clock) {
    this.clusters = clusters;
    this.stateCluster = stateCluster;
    this.clock = clock;
  }

  static async start(options: WorldOptions = {}): Promise<AgentWorld> {
    const names = options.clusters ?? ["primary"];
    const clock = options.clock ?? systemClock;
    const stateCluster = names[0] ?? "primary";
    const peers = new Map<string, { readonly proxy: string }>();
    const ports = new Map<string, number>();
    for (const name of names) {
      const port = await freePort();
      ports.set(name, port);
      peers.set(name, { proxy: `http://127.0.0.1:${port}` });
    }
    const clusters = new Map<string, Cluster>();
    for (const name of names) {
      const cluster = await startTestCluster({
        name,
        port: ports.get(name) ?? 0,
        logger,
        peers: () => peers,
        registrationsCluster: stateCluster,
        store: new ForgetfulStore(new MemoryStore()),
        clock,
      });
      clusters.set(name, cluster);
    }
    return new AgentWorld(clusters, stateCluster, clock);
  }

  /** Stops agents first, then the clusters. */
  async stop(): Promise<void> {
    for (const close of this.#closers.toReversed()) {
      await close();
    }
    for (const client of this.#clients.values()) {
      await client.close();
    }
    await Promise.all([...this.clusters.values()].map((cluster) => cluster.close(1_000)));
  }

  /** Called by `stop`, the last one added first. */
  onStop(close: () => Promise<void>): void {
    this.#closers.push(close);
  }

  address(cluster: string = this.stateCluster): string {
    const found = this.clusters.get(cluster);
    if (found === undefined) {
      throw new Error(`No cluster ${cluster} in this world`);
    }
    return found.address;
  }

  client(cluster: string = this.stateCluster): YtClient {
    let client = this.#clients.get(cluster);
    if (client === undefined) {
      client = createClient({ proxy: this.address(cluster) });
      this.#clients.set(cluster, client);
    }
    return client;
  }

  /** What an agent's parts are given, for tests of one part; the state tables exist afterwards. */
  async context(
    options: {
      readonly agentId?: string;
      readonly config?: () => DynamicConfig;
      readonly clock?: Clock;
    } = {},
  ): Promise<{ context: AgentContext; tables: StateTables; stateReader: StateReader }> {
    const clock = options.clock ?? this.clock;
    // Each its own: two agents with equal mutation ids would be given each other's answers.
    const random = seededRandom(++this.#contextCount);
    const clusters = new ClusterClients({
      stateCluster: this.stateCluster,
      stateProxy: this.address(),
      access: () => new Map(),
      byDefault: {},
      clock: systemClock,
      random,
    });
    this.onStop(() => clusters.close());
    await clusters.refresh();
    const root = "//sys/queue_agents";
    const tables = locateStateTables({ root, stateCluster: this.stateCluster });
    await ensureStateTables(clusters, tables, systemClock, new AbortController().signal);
    const context: AgentContext = {
      clock,
      random,
      logger,
      clusters,
      agentId: options.agentId ?? "127.0.0.1:1",
      host: "127.0.0.1",
      stage: "production",
      root,
      config: options.config ?? (() => defaultDynamicConfig),
    };
    return { context, tables, stateReader: new StateReader(clusters, tables) };
  }

  /** An agent in this process that answers; `stop` of the world stops it too. */
  async startAgent(options: AgentOptions = {}): Promise<QueueAgent> {
    const { config } = parseStaticConfig(
      parseYson(`{
        proxy="${this.address()}"; stage=${options.stage ?? "production"};
        membership_timeout=${options.membershipTimeoutMs ?? fastMembershipTimeoutMs};
        dynamic_config=${options.dynamicConfig ?? fastDynamicConfig};
      }`),
    );
    const clock = options.clock ?? systemClock;
    const agent = await startQueueAgent({ config, logger, clock });
    this.onStop(() => agent.stop());
    return agent;
  }

  /** A part of an agent's Orchid, read through the cluster. @param path starts with a slash */
  async orchid(agent: { readonly agentId: string }, path: string): Promise<YsonValue> {
    return this.get(`//sys/queue_agents/instances/${escapeYPathLiteral(agent.agentId)}/orchid${path}`);
  }

  /** Which agent leads each object. */
  async mapping(): Promise<Map<string, string>> {
    const rows = await selectYson(this.client(), "* from [//sys/queue_agents/queue_agent_object_mapping]");
    return new Map(rows.map((row) => [String(row.get("object")), String(row.get("host"))]));
  }

  /** Rows that were trimmed from a queue, by partition. */
  async trimmed({ cluster, path }: ObjectReference): Promise<unknown[]> {
    const tablets = fromYson(await this.get(`${path}/@tablets`, cluster));
    return Array.isArray(tablets) ? tablets.map((tablet) => Object(tablet).trimmed_row_count) : [];
  }

  /** Alerts in the status of a queue, by category. */
  async alerts({ cluster, path }: ObjectReference): Promise<Map<string, YtError>> {
    const value = await this.get(`${path}/@queue_status/alerts`, cluster);
    const entries: Iterable<[string, YsonValue]> = value instanceof Map ? value : [];
    return new Map([...entries].map(([category, error]) => [category, errorFromYson(error)]));
  }

  /** An error that a part of the Orchid shows. */
  async orchidError(agent: { readonly agentId: string }, path: string): Promise<YtError> {
    return errorFromYson(await this.orchid(agent, path));
  }

  async mount(path: string, cluster: string = this.stateCluster): Promise<void> {
    await this.client(cluster).mountTable(path);
    await this.waitUntil(async () => (await this.get(`${path}/@tablet_state`, cluster)) === "mounted");
  }

  async unmount(path: string, cluster: string = this.stateCluster): Promise<void> {
    await this.client(cluster).unmountTable(path);
    await this.waitUntil(async () => (await this.get(`${path}/@tablet_state`, cluster)) === "unmounted");
  }

  async createQueue(queue: ObjectReference, options: QueueOptions = {}): Promise<string> {
    const client = this.client(queue.cluster);
    const attributes: YsonMap = new Map<string, YsonValue>([
      ["dynamic", true],
      ["schema", options.schema ?? queueSchema],
      ["tablet_count", BigInt(options.tabletCount ?? 1)],
      ...Object.entries(options.attributes ?? {}),
    ]);
    const id = await client.create("table", queue.path, { attributes, recursive: true });
    if (options.mount !== false) {
      await client.mountTable(queue.path);
    }
    return id;
  }

  /** Mounted, with the schema of the documentation. */
  async createConsumer(consumer: ObjectReference): Promise<string> {
    return this.client(consumer.cluster).create("queue_consumer", consumer.path, { recursive: true });
  }

  async register(
    queue: ObjectReference,
    consumer: ObjectReference,
    options: { readonly vital?: boolean; readonly partitions?: readonly bigint[] } = {},
  ): Promise<void> {
    await this.client(queue.cluster).registerQueueConsumer(richPath(queue), richPath(consumer), {
      vital: options.vital ?? false,
      ...(options.partitions === undefined ? {} : { partitions: options.partitions }),
    });
  }

  async unregister(queue: ObjectReference, consumer: ObjectReference): Promise<void> {
    await this.client(queue.cluster).unregisterQueueConsumer(richPath(queue), richPath(consumer));
  }

  /** Rows `{data=…}` into one tablet. */
  async push(queue: ObjectReference, texts: readonly string[], tabletIndex = 0): Promise<void> {
    const rows = texts.map((data) => ({ $tablet_index: BigInt(tabletIndex), data }));
    await this.client(queue.cluster).insertRows(queue.path, rows);
  }

  async advance(
    consumer: ObjectReference,
    queue: ObjectReference,
    partition: number,
    newOffset: bigint,
  ): Promise<void> {
    await this.client(consumer.cluster).advanceQueueConsumer(consumer.path, richPath(queue), partition, {
      oldOffset: null,
      newOffset,
    });
  }

  /** Unmounts and mounts, which makes chunks of what was written. */
  async flush(queue: ObjectReference): Promise<void> {
    await this.unmount(queue.path, queue.cluster);
    await this.mount(queue.path, queue.cluster);
  }

  /** Sets a node or an attribute to a value given in text YSON, on the cluster of the state by default. */
  async set(path: string, yson: string, cluster: string = this.stateCluster): Promise<void> {
    await this.client(cluster).set(path, writeYson(parseYson(yson), "binary"));
  }

  async get(path: string, cluster: string = this.stateCluster): Promise<YsonValue> {
    return this.client(cluster).get(path);
  }

  /** Asks again until the answer is true. @throws Error with `what` after `limitMs` */
  async waitUntil(
    condition: () => boolean | Promise<boolean>,
    what = "the condition",
    limitMs = 15_000,
  ): Promise<void> {
    await eventually(async () => {
      if (!(await condition())) {
        throw new Error(`Waited for ${what}: not within ${limitMs} ms`);
      }
    }, limitMs);
  }
}

/** The `data` of the rows of a static table, in their order. */
export async function dataOf(client: YtClient, path: string): Promise<unknown[]> {
  const parts: Buffer[] = [];
  for await (const part of client.streamRows("read_table", { path, output_format: "json" })) {
    parts.push(part);
  }
  const lines = Buffer.concat(parts).toString().split("\n");
  return lines.filter((line) => line !== "").map((line) => Object(JSON.parse(line)).data);
}

/** The error with which the promise is rejected. @throws Error when it is not */
export async function failureOf(promise: Promise<unknown>): Promise<YtError> {
  const outcome = await promise.then(
    (value) => ({ value }),
    (thrown: unknown) => toYtError(thrown),
  );
  if (outcome instanceof YtError) {
    return outcome;
  }
  throw new Error("A failure was expected");
}

export function reference(text: string): ObjectReference {
  const colon = text.indexOf(":");
  return { cluster: text.slice(0, colon), path: text.slice(colon + 1) };
}

export { eventually, referenceToString };

function richPath({ cluster, path }: ObjectReference): string {
  return `<cluster=${cluster}>${path}`;
}
