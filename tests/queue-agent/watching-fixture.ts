/**
 * One agent that watches objects whose rows and mapping the test writes itself, as the reference tests without
 * a synchronizer do. Passes run when the test says so.
 */
import { isList, isMap, mapOf, systemClock, Uint64, type YsonMap, type YsonValue } from "@qyt/base";
import { FakeClock } from "@qyt/testing";
import { writeYsonList } from "@qyt/yson";
import { AlertManager } from "../../packages/queue-agent/src/alerts/alert-manager.ts";
import {
  type DynamicConfig,
  defaultDynamicConfig,
} from "../../packages/queue-agent/src/config/dynamic-config.ts";
import type { AgentContext } from "../../packages/queue-agent/src/context.ts";
import { AgentPass, type AgentPassOptions } from "../../packages/queue-agent/src/controllers/agent-pass.ts";
import { ConsumerNames } from "../../packages/queue-agent/src/controllers/consumer-names.ts";
import type { ObjectReference } from "../../packages/queue-agent/src/objects/reference.ts";
import { agentOrchid } from "../../packages/queue-agent/src/orchid/agent-orchid.ts";
import { type AgentServer, startAgentServer } from "../../packages/queue-agent/src/orchid/agent-server.ts";
import { OrchidClient } from "../../packages/queue-agent/src/orchid/orchid-client.ts";
import {
  askOrchid,
  type OrchidMethod,
  type OrchidNode,
  orchidSteps,
} from "../../packages/queue-agent/src/orchid/orchid-node.ts";
import { type AgentWorld, referenceToString } from "./agent-fixture.ts";

const root = "//sys/queue_agents";

/** So that what was written just now is surely some time ago. */
const aheadMs = 5_000;

/** Columns of a row of `queues` or `consumers` in text YSON. */
export type Columns = Readonly<Record<string, YsonValue>>;

export const plainQueue: Columns = {
  row_revision: new Uint64(1n),
  revision: new Uint64(100n),
  object_type: "table",
  dynamic: true,
  sorted: false,
};

export class WatchingAgent {
  readonly world: AgentWorld;
  readonly context: AgentContext;
  readonly pass: AgentPass;
  readonly alerts: AlertManager;
  readonly server: AgentServer;
  /** The agent's own; the cluster's clock is the system's. It starts some seconds ahead of that one. */
  readonly clock: FakeClock;
  readonly #orchid: OrchidNode;
  config: DynamicConfig = defaultDynamicConfig;

  private constructor(
    world: AgentWorld,
    parts: Pick<WatchingAgent, "context" | "pass" | "alerts" | "server" | "clock"> & {
      readonly orchid: OrchidNode;
    },
  ) {
    this.world = world;
    this.context = parts.context;
    this.pass = parts.pass;
    this.alerts = parts.alerts;
    this.server = parts.server;
    this.clock = parts.clock;
    this.#orchid = parts.orchid;
  }

  /** @param settings `controller` settings beside the defaults */
  static async start(
    world: AgentWorld,
    settings: {
      readonly agentId?: string;
      readonly controller?: Partial<DynamicConfig["agent"]["controller"]>;
      readonly agent?: Partial<Omit<DynamicConfig["agent"], "controller">>;
      readonly parts?: Pick<AgentPassOptions, "trimmer" | "profiler">;
    } = {},
  ): Promise<WatchingAgent> {
    const clock = new FakeClock(systemClock.now() + aheadMs);
    const holder: { agent?: WatchingAgent } = {};
    const config: DynamicConfig = {
      ...defaultDynamicConfig,
      agent: {
        ...defaultDynamicConfig.agent,
        ...settings.agent,
        controller: { ...defaultDynamicConfig.agent.controller, ...settings.controller },
      },
    };
    // The server's address is the agent's name, so the tree comes after the socket.
    const late: { node?: OrchidNode } = {};
    const server = await startAgentServer({
      host: "127.0.0.1",
      port: 0,
      orchid: {
        get: () => null,
        ask: (method, steps) => askOrchid(late.node ?? { get: () => null }, method, steps),
      },
    });
    const { context, stateReader, tables } = await world.context({
      agentId: settings.agentId ?? server.address,
      config: () => holder.agent?.config ?? config,
      clock,
    });
    const alerts = new AlertManager();
    const consumerNames = new ConsumerNames({
      context,
      table: tables.multi_consumer_names,
      isLeader: () => true,
    });
    const pass = new AgentPass(context, { stateReader, alerts, consumerNames, ...settings.parts });
    const others = new OrchidClient();
    const idle = { orchid: () => mapOf({ active: false }) };
    const orchid = agentOrchid(context, { pass, alerts, shardingManager: idle, synchronizer: idle, others });
    late.node = orchid;
    const agent = new WatchingAgent(world, { context, pass, alerts, server, clock, orchid });
    agent.config = config;
    holder.agent = agent;
    world.onStop(async () => {
      await server.close();
      await pass.stop();
      await others.close();
    });
    return agent;
  }

  /** A poll pass, and then a pass of every controller, one second later than the ones before. */
  async passes(): Promise<void> {
    await this.clock.advance(1_000);
    await this.pass.runOnce();
    await this.pass.runControllers();
  }

  /** Writes the row as a whole and maps the object to this agent. */
  async putQueue(queue: ObjectReference, columns: Columns = plainQueue): Promise<void> {
    await this.#put("queues", queue, columns);
  }

  async putConsumer(consumer: ObjectReference, columns?: Columns): Promise<void> {
    const schema =
      columns === undefined
        ? await this.world.client(consumer.cluster).get(`${consumer.path}/@schema`)
        : undefined;
    await this.#put(
      "consumers",
      consumer,
      columns ?? {
        row_revision: new Uint64(1n),
        revision: new Uint64(100n),
        object_type: "table",
        treat_as_queue_consumer: true,
        schema: [schema ?? null],
      },
    );
  }

  async removeObject(table: "queues" | "consumers", { cluster, path }: ObjectReference): Promise<void> {
    await this.world.client().deleteRows(`${root}/${table}`, encoded({ cluster, path }));
  }

  /** Maps an object to another agent, or with `null` to none. */
  async map(object: ObjectReference, host: string | null): Promise<void> {
    const table = `${root}/queue_agent_object_mapping`;
    const key = { object: referenceToString(object) };
    await (host === null
      ? this.world.client().deleteRows(table, encoded(key))
      : this.world.client().insertRows(table, encoded({ ...key, host })));
  }

  async #put(table: "queues" | "consumers", object: ObjectReference, columns: Columns): Promise<void> {
    const { cluster, path } = object;
    const row = { cluster, path, queue_agent_stage: "production", ...columns };
    await this.world.client().insertRows(`${root}/${table}`, encoded(row));
    await this.map(object, this.context.agentId);
  }

  ask(method: OrchidMethod, path: string): Promise<YsonValue> {
    return askOrchid(this.#orchid, method, orchidSteps(path));
  }

  get(path: string): Promise<YsonValue> {
    return this.ask("get", path);
  }

  async queueStatus(queue: ObjectReference): Promise<YsonMap> {
    return asMap(await this.get(objectPath("queues", queue, "/status")));
  }

  async queuePartitions(queue: ObjectReference): Promise<readonly YsonMap[]> {
    return asList(await this.get(objectPath("queues", queue, "/partitions"))).map(asMap);
  }

  async consumerStatus(consumer: ObjectReference): Promise<YsonMap> {
    return asMap(await this.get(objectPath("consumers", consumer, "/status")));
  }

  /** Of one of its queues. */
  async consumerPartitions(consumer: ObjectReference, queue: ObjectReference): Promise<readonly YsonMap[]> {
    const all = asMap(await this.get(objectPath("consumers", consumer, "/partitions")));
    return asList(all.get(referenceToString(queue)) ?? []).map(asMap);
  }
}

export function objectPath(kind: string, object: ObjectReference, rest = ""): string {
  return `/queue_agent/${kind}/${object.cluster}:${object.path.replaceAll("/", "\\/")}${rest}`;
}

export function asMap(value: YsonValue | undefined): YsonMap {
  if (!isMap(value)) {
    throw new Error(`Expected a map, got ${String(value)}`);
  }
  return value;
}

export function asList(value: YsonValue | undefined): readonly YsonValue[] {
  if (!isList(value)) {
    throw new Error(`Expected a list, got ${String(value)}`);
  }
  return value;
}

/** The fields of a map by name, for `toMatchObject`. */
export function fields(value: YsonValue | undefined): Readonly<Record<string, unknown>> {
  return Object.fromEntries(asMap(value));
}

/** All messages of an error in a status, outer to inner. */
export function messagesOf(error: YsonValue | undefined): string {
  const map = asMap(error);
  const inner = map.get("inner_errors");
  return [String(map.get("message")), ...(isList(inner) ? inner.map(messagesOf) : [])].join("\n");
}

/** Codes likewise. */
export function codesOf(error: YsonValue | undefined): readonly bigint[] {
  const map = asMap(error);
  const code = map.get("code");
  const inner = map.get("inner_errors");
  return [...(typeof code === "bigint" ? [code] : []), ...(isList(inner) ? inner.flatMap(codesOf) : [])];
}

function encoded(row: Columns): { readonly body: Buffer; readonly format: YsonValue } {
  return { body: writeYsonList([mapOf(row)], "binary"), format: "yson" };
}
