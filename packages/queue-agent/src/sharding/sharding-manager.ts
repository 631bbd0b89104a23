/**
 * The sharding manager: maps each object of this stage to one living instance. Every instance looks; the
 * first one that is not banned acts.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent_sharding_manager.cpp.
 */
import { mapOf, toYtError, YtError } from "@qyt/base";
import { escapeYPathLiteral } from "@qyt/yson";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { AgentContext } from "../context.ts";
import type { DynamicState } from "../objects/state-rows.ts";
import { PeriodicPass } from "../periodic-pass.ts";
import { deleteYson, insertYson } from "../state/row-io.ts";
import type { StateReader } from "../state/state-reader.ts";
import type { StateTables } from "../state/state-tables.ts";
import { type Instance, listInstances } from "./instances.ts";
import { planMapping, type ShardedObject } from "./mapping-plan.ts";

export interface ShardingOptions {
  readonly context: AgentContext;
  readonly tables: StateTables;
  readonly stateReader: StateReader;
  readonly alerts: AlertManager;
  /** Whether the others see this instance; without that it must not act. */
  readonly isPresent: () => boolean;
  /** Called after the mapping was changed. */
  readonly onChanged?: () => void;
}

/** The node of an instance that has been dead for so long is removed, unless it is banned. */
const deadNodeLifetimeMs = 600_000;

export class ShardingManager {
  readonly pass: PeriodicPass;
  readonly #options: ShardingOptions;
  #isBanned = false;
  /** Monotonic time since which the leader has seen an instance dead. */
  readonly #deadSinceMs = new Map<string, number>();
  /** What the last pass found in order: with the same input there is nothing to do. */
  #settled: { readonly state: DynamicState; readonly instances: string } | undefined;

  constructor(options: ShardingOptions) {
    const { context, alerts } = options;
    this.#options = options;
    this.pass = new PeriodicPass({
      context,
      alerts,
      periodMs: () => context.config().sharding.passPeriodMs,
      run: (signal) => this.#pass(signal),
      failedAlert: alertKinds.shardingManagerPassFailed,
      failedText: "Queue agent sharding manager pass failed",
    });
  }

  /** Whether this instance was banned when the latest pass looked. */
  get isBanned(): boolean {
    return this.#isBanned;
  }

  async #pass(signal: AbortSignal): Promise<void> {
    const { agentId, clusters, root, stage } = this.#options.context;
    const client = clusters.client(clusters.stateCluster);
    const instances = await listInstances(client, root, signal);
    this.#isBanned = instances.some(({ id, isBanned }) => id === agentId && isBanned);
    const members = instances.filter((instance) => instance.isPresent && instance.stage === stage);
    if (members.length === 0) {
      throw new YtError("No queue agents in discovery");
    }
    const active = members.filter(({ isBanned }) => !isBanned);
    if (active.length === 0) {
      throw new YtError("All queue agents are banned; remove the attribute @banned of one of the instances");
    }
    if (active[0]?.id !== agentId || !this.#options.isPresent()) {
      this.#settled = undefined;
      this.#deadSinceMs.clear();
      this.pass.status.rest();
      this.pass.alerts.publish();
      return;
    }
    await this.pass.status.measure(() =>
      this.#map(
        instances,
        active.map(({ id }) => id),
        signal,
      ),
    );
    this.pass.alerts.publish();
    await this.#removeDeadNodes(instances, signal);
  }

  async #map(all: readonly Instance[], instances: readonly string[], signal: AbortSignal): Promise<void> {
    const { context, stateReader, tables, isPresent, onChanged } = this.#options;
    const state = await stateReader.read(signal);
    const instancesKey = JSON.stringify(all.map(({ id, stage }) => [id, stage]).concat([[...instances]]));
    if (this.#settled !== undefined && isSameInput(this.#settled, { state, instances: instancesKey })) {
      return;
    }
    const { write, remove } = planMapping({
      stage: context.stage,
      objects: new Map<string, ShardedObject>([...state.consumers, ...state.queues]),
      mapping: state.mapping,
      instances,
      foreignInstances: new Set(all.filter(({ stage }) => stage !== context.stage).map(({ id }) => id)),
    });
    if (write.size === 0 && remove.length === 0) {
      this.#settled = { state, instances: instancesKey };
      return;
    }
    if (!isPresent()) {
      throw new YtError("The presence of this instance was lost during the pass; nothing was written");
    }
    const { cluster, path } = tables.queue_agent_object_mapping;
    const client = context.clusters.client(cluster);
    await insertYson(
      client,
      path,
      [...write].map(([object, host]) => mapOf({ object, host })),
      { signal },
    );
    await deleteYson(
      client,
      path,
      remove.map((object) => mapOf({ object })),
      { signal },
    );
    onChanged?.();
  }

  async #removeDeadNodes(instances: readonly Instance[], signal: AbortSignal): Promise<void> {
    const { clock, clusters, root, logger } = this.#options.context;
    const nowMs = clock.monotonic();
    const known = new Set(instances.map(({ id }) => id));
    for (const id of this.#deadSinceMs.keys()) {
      if (!known.has(id)) {
        this.#deadSinceMs.delete(id);
      }
    }
    for (const { id, isPresent, isBanned } of instances) {
      if (isPresent || isBanned) {
        this.#deadSinceMs.delete(id);
        continue;
      }
      const sinceMs = this.#deadSinceMs.get(id) ?? nowMs;
      this.#deadSinceMs.set(id, sinceMs);
      if (nowMs - sinceMs >= deadNodeLifetimeMs) {
        logger.info({ instance: id }, "removing the node of an instance that is gone");
        const client = clusters.client(clusters.stateCluster);
        await client
          .remove(`${root}/instances/${escapeYPathLiteral(id)}`, { recursive: true, force: true, signal })
          // It lives again, and its lock protects it; or the next try comes in ten minutes.
          .catch((thrown: unknown) => logger.debug({ err: toYtError(thrown) }, "the node stays"));
        this.#deadSinceMs.delete(id);
      }
    }
  }
}

/** The state reader gives the same maps while nothing was written. */
function isSameInput(
  before: { readonly state: DynamicState; readonly instances: string },
  now: { readonly state: DynamicState; readonly instances: string },
): boolean {
  return (
    before.instances === now.instances &&
    before.state.queues === now.state.queues &&
    before.state.consumers === now.state.consumers &&
    before.state.mapping === now.state.mapping
  );
}
