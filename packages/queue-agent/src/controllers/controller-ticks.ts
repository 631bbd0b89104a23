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
  readonly #durationsMs = new Map<string, number>();

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

  /**
   * How long the latest passes of all objects took, from the start of a tick until the last of them had ended,
   * in milliseconds; of the slowest cluster. `null`: none yet.
   */
  get durationMs(): number | null {
    return this.#durationsMs.size === 0 ? null : Math.max(...this.#durationsMs.values());
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
    await runPasses([...this.#registry.queues.values()]);
    await runPasses([...this.#registry.consumers.values()]);
  }

  /** Each cluster by itself: one that is slow, or down, holds up its own objects alone. */
  async #tick(signal: AbortSignal): Promise<void> {
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
  }

  async #tickCluster(
    cluster: string,
    queues: readonly QueueObject[],
    consumers: readonly ConsumerObject[],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock } = this.#context;
    const startMs = clock.monotonic();
    this.#busyClusters.add(cluster);
    try {
      const patienceMs = this.#context.config().agent.controller.passPeriodMs * patienceShare;
      await this.#reads.cluster(cluster).refresh();
      // Who is still in an earlier pass is left alone, so that it takes nobody's place.
      const queuePasses = runPasses(queues.filter(isIdle));
      await this.#atMost(patienceMs, queuePasses, signal);
      const consumerPasses = runPasses(consumers.filter(isIdle));
      // Passes never reject.
      void Promise.all([queuePasses, consumerPasses]).then(() => {
        this.#durationsMs.set(cluster, clock.monotonic() - startMs);
      });
      await this.#atMost(patienceMs, consumerPasses, signal);
    } finally {
      this.#busyClusters.delete(cluster);
    }
  }

  /** Waits for the work, but no longer than so many milliseconds: one slow object does not hold up the others. */
  async #atMost(limitMs: number, work: Promise<unknown>, signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const end = (): void => timer.abort();
    // Not `AbortSignal.any`: what it makes is kept as long as the signal, which lives as long as the agent.
    signal.addEventListener("abort", end, { once: true });
    if (signal.aborted) {
      end();
    }
    try {
      await Promise.race([work, sleep(this.#context.clock, limitMs, timer.signal).catch(() => undefined)]);
    } finally {
      signal.removeEventListener("abort", end);
      end();
    }
  }
}

function isIdle(object: QueueObject | ConsumerObject): boolean {
  return !object.isPassing;
}

/** Passes under way at once: each holds what it has read until it ends. */
const passesAtOnce = 100;
const passesPerTurn = 50;

/** One pass of each object, not too many at once; resolves when all have ended. */
export async function runPasses(objects: readonly (QueueObject | ConsumerObject)[]): Promise<void> {
  const left = objects.values();
  let started = 0;
  const lane = async (): Promise<void> => {
    for (const object of left) {
      started += 1;
      await object.pass();
      if (started % passesPerTurn === 0) {
        await turn();
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(passesAtOnce, objects.length) }, lane));
}
