/**
 * Lets all controllers run at the same ticks, so that what they ask for with every pass goes out together.
 */
import { sleep, turn } from "@qyt/base";
import type { AgentContext } from "../context.ts";
import { PeriodicExecutor } from "../periodic.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import type { ConsumerObject, ObjectRegistry, QueueObject } from "./object-registry.ts";

/** Share of the period after which the consumers' passes, and the next tick, no longer wait for slow ones. */
const patienceShare = 0.4;

interface ClusterObjects {
  readonly queues: QueueObject[];
  readonly consumers: ConsumerObject[];
}

export class ControllerTicks {
  readonly #context: AgentContext;
  readonly #registry: ObjectRegistry;
  readonly #reads: AgentReads;
  readonly #executor: PeriodicExecutor;
  readonly #busyClusters = new Set<string>();
  #durationMs: number | null = null;

  constructor(context: AgentContext, registry: ObjectRegistry, reads: AgentReads) {
    this.#context = context;
    this.#registry = registry;
    this.#reads = reads;
    this.#executor = new PeriodicExecutor({
      clock: context.clock,
      periodMs: () => context.config().agent.controller.passPeriodMs,
      run: (signal) => this.#tick(signal),
      onError: (error) => context.logger.error({ err: error }, "Passes of controllers could not be started"),
    });
  }

  /** How long the latest tick took until the passes of all objects had ended, in milliseconds; `null`: none yet. */
  get durationMs(): number | null {
    return this.#durationMs;
  }

  start(): void {
    this.#executor.start();
  }

  stop(): Promise<void> {
    return this.#executor.stop();
  }

  /** One pass of every controller, queues first; waits for all of them, however slow. */
  async runAll(): Promise<void> {
    await this.#reads.refresh();
    await Promise.all(await startPasses([...this.#registry.queues.values()]));
    await Promise.all(await startPasses([...this.#registry.consumers.values()]));
  }

  /** Each cluster by itself: one that is slow, or down, holds up its own objects alone. */
  async #tick(signal: AbortSignal): Promise<void> {
    const startMs = this.#context.clock.monotonic();
    const clusters = new Map<string, ClusterObjects>();
    const objectsOf = (cluster: string): ClusterObjects => {
      const objects = clusters.get(cluster) ?? { queues: [], consumers: [] };
      clusters.set(cluster, objects);
      return objects;
    };
    for (const queue of this.#registry.queues.values()) {
      objectsOf(queue.reference.cluster).queues.push(queue);
    }
    for (const consumer of this.#registry.consumers.values()) {
      objectsOf(consumer.reference.cluster).consumers.push(consumer);
    }
    const ticks: Promise<void>[] = [];
    for (const [cluster, { queues, consumers }] of clusters) {
      if (!this.#busyClusters.has(cluster)) {
        ticks.push(this.#tickCluster(cluster, queues, consumers, signal));
      }
    }
    await this.#atMost(this.#context.config().agent.controller.passPeriodMs, Promise.all(ticks), signal);
    this.#durationMs = this.#context.clock.monotonic() - startMs;
  }

  async #tickCluster(
    cluster: string,
    queues: readonly QueueObject[],
    consumers: readonly ConsumerObject[],
    signal: AbortSignal,
  ): Promise<void> {
    this.#busyClusters.add(cluster);
    try {
      const patienceMs = this.#context.config().agent.controller.passPeriodMs * patienceShare;
      await this.#reads.cluster(cluster).refresh();
      await this.#atMost(patienceMs, Promise.all(await startPasses(queues)), signal);
      await this.#atMost(patienceMs, Promise.all(await startPasses(consumers)), signal);
    } finally {
      this.#busyClusters.delete(cluster);
    }
  }

  /** Waits for the work, but no longer than so many milliseconds: one slow object does not hold up the others. */
  async #atMost(limitMs: number, work: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const limit = sleep(this.#context.clock, limitMs, AbortSignal.any([timer.signal, signal])).catch(
      () => undefined,
    );
    await Promise.race([work, limit]);
    timer.abort();
  }
}

const passesPerTurn = 50;

/** Starts a pass of each object, some in each turn of the event loop, and gives their ends. */
async function startPasses(objects: readonly (QueueObject | ConsumerObject)[]): Promise<Promise<void>[]> {
  const passes: Promise<void>[] = [];
  for (const [index, object] of objects.entries()) {
    passes.push(object.pass());
    if (index % passesPerTurn === passesPerTurn - 1) {
      await turn();
    }
  }
  return passes;
}
