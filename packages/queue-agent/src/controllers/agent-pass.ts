/**
 * The poll pass: reads the state tables, and keeps a controller for each object that this agent leads or
 * follows.
 *
 * Specified in: yt/yt/server/queue_agent/queue_agent.cpp (TQueueAgent::Pass).
 */
import { toYtError } from "@qyt/base";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { AgentContext } from "../context.ts";
import { ExportManager } from "../exports/export-manager.ts";
import type { ConsumerRow, DynamicState, QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import { PeriodicExecutor } from "../periodic.ts";
import { PeriodicPass } from "../periodic-pass.ts";
import { AgentReads } from "../reads/agent-reads.ts";
import { ErrorOrigin } from "../snapshots/error-origin.ts";
import { Trimmer } from "../trimming/trimmer.ts";
import { ConsumerController } from "./consumer-controller.ts";
import type { ConsumerNames } from "./consumer-names.ts";
import type { ControllerEnvironment, PassProfiler } from "./controller-environment.ts";
import { ControllerTicks, runPasses } from "./controller-ticks.ts";
import { ErrorQueueController, queueRowError } from "./error-controller.ts";
import { type ConsumerObject, ObjectRegistry, type QueueObject } from "./object-registry.ts";
import { type Selection, selectObjects } from "./object-selection.ts";
import { QueueController } from "./queue-controller.ts";

export interface AgentPassOptions {
  readonly stateReader: { read(signal?: AbortSignal): Promise<DynamicState> };
  /** Of the process: a failed pass is alert 3025. */
  readonly alerts: AlertManager;
  readonly exportManager?: ExportManager;
  readonly trimmer?: Pick<Trimmer, "trim">;
  readonly profiler?: PassProfiler;
  readonly reads?: AgentReads;
  /** Absent: names of multi-consumers are left as they are. */
  readonly consumerNames?: Pick<ConsumerNames, "synchronize">;
}

const emptyState: DynamicState = {
  queues: new Map(),
  consumers: new Map(),
  registrations: [],
  mapping: new Map(),
};

const noRegistrations: readonly RegistrationRow[] = [];

export class AgentPass {
  readonly registry = new ObjectRegistry();
  readonly poll: PeriodicPass;
  readonly #context: AgentContext;
  readonly #options: AgentPassOptions;
  readonly #environment: ControllerEnvironment;
  readonly #ticks: ControllerTicks;
  readonly #alertCollection: PeriodicExecutor;
  #state: DynamicState = emptyState;
  /** Monotonic time at which the read of `#state` began. */
  #stateReadMs = Number.NEGATIVE_INFINITY;
  #selectedWith: { readonly state: DynamicState; readonly handleReplicatedObjects: boolean } | undefined;

  constructor(context: AgentContext, options: AgentPassOptions) {
    const { clock, config, logger } = context;
    this.#context = context;
    this.#options = options;
    this.#environment = {
      context,
      registry: this.registry,
      reads: options.reads ?? new AgentReads(context.clusters),
      origin: new ErrorOrigin(context),
      exportManager: options.exportManager ?? new ExportManager(context),
      trimmer: options.trimmer ?? new Trimmer(context),
      profiler: options.profiler ?? {},
      stateAgeMs: () => clock.monotonic() - this.#stateReadMs,
    };
    this.poll = new PeriodicPass({
      context,
      alerts: options.alerts,
      periodMs: () => config().agent.passPeriodMs,
      run: (signal) => this.#pass(signal),
      failedAlert: alertKinds.agentPassFailed,
    });
    this.#ticks = new ControllerTicks(context, this.registry, this.#environment.reads);
    this.#alertCollection = new PeriodicExecutor({
      clock,
      periodMs: () => config().alertCollectionPeriodMs,
      run: async () => this.collectAlerts(),
      onError: (error) => logger.error({ err: error }, "Work of the queue agent failed"),
    });
  }

  /** The state as the latest good pass read it. */
  get state(): DynamicState {
    return this.#state;
  }

  /** How long the passes of all controllers took the last time, in milliseconds; `null`: never yet. */
  get controllerPassDurationMs(): number | null {
    return this.#ticks.durationMs;
  }

  start(): void {
    this.poll.start();
    this.#ticks.start();
    this.#alertCollection.start();
  }

  /** Stops the passes, then all controllers with their exports. */
  async stop(): Promise<void> {
    await Promise.all([this.poll.stop(), this.#ticks.stop(), this.#alertCollection.stop()]);
    const objects = [...this.registry.queues.values(), ...this.registry.consumers.values()];
    this.registry.replace(new Map(), new Map());
    await Promise.all(objects.map((object) => object.stop()));
  }

  /** One poll pass; new controllers start to run. Never rejects: see `poll`. */
  runOnce(): Promise<void> {
    return this.poll.runOnce();
  }

  /** One pass of every controller, queues first; waits for all of them. */
  async runControllers(): Promise<void> {
    await this.#ticks.runAll();
  }

  /** Makes the alerts of all led queues visible. */
  collectAlerts(): void {
    for (const queue of this.registry.queues.values()) {
      queue.collectAlerts();
    }
  }

  async #pass(signal: AbortSignal): Promise<void> {
    try {
      await this.poll.status.measure(async () => {
        const startMs = this.#context.clock.monotonic();
        const state = await this.#options.stateReader.read(signal);
        this.#follow(state);
        this.#state = state;
        this.#stateReadMs = startMs;
      });
    } catch (thrown) {
      throw this.#environment.origin.again(toYtError(thrown), this.poll.status.error);
    }
    await this.#synchronizeNames(signal);
    this.poll.alerts.publish();
  }

  /** What fails here fails no pass: nothing that an agent does rests on the names. */
  async #synchronizeNames(signal: AbortSignal): Promise<void> {
    try {
      await this.#options.consumerNames?.synchronize(this.#state, this.registry.consumers, signal);
    } catch (thrown) {
      if (!signal.aborted) {
        this.poll.alerts.stage(
          alertKinds.agentPassFailed,
          toYtError(thrown).wrap("Error while synchronizing multi_consumer_names table"),
        );
      }
    }
  }

  #follow(state: DynamicState): void {
    const { handleReplicatedObjects } = this.#context.config().agent;
    const before = this.#selectedWith;
    if (
      before?.handleReplicatedObjects === handleReplicatedObjects &&
      before.state.queues === state.queues &&
      before.state.consumers === state.consumers &&
      before.state.registrations === state.registrations &&
      before.state.mapping === state.mapping
    ) {
      return;
    }
    const selection = selectObjects(state, this.#context.agentId, { handleReplicatedObjects });
    const { registrationsByQueue, registrationsByConsumer } = selection;
    const queues = this.#queueObjects(state, selection);
    const consumers = this.#consumerObjects(state, selection);
    const leaving = [
      ...leavers(this.registry.queues, queues),
      ...leavers(this.registry.consumers, consumers),
    ];
    const coming = {
      queues: leavers(queues, this.registry.queues),
      consumers: leavers(consumers, this.registry.consumers),
    };
    this.registry.replace(queues, consumers);
    this.#environment.reads.retain(queues);
    this.#environment.profiler.retain?.(this.registry);
    this.#selectedWith = { state, handleReplicatedObjects };
    // Rows go to the controllers only now: trimming must not be turned on by a new row while the
    // registrations are still those of before.
    for (const [reference, queue] of queues) {
      const row = state.queues.get(reference);
      if (row !== undefined) {
        queue.update(row, registrationsByQueue.get(reference) ?? noRegistrations);
      }
    }
    for (const [reference, consumer] of consumers) {
      const row = state.consumers.get(reference);
      if (row !== undefined) {
        consumer.update(row, registrationsByConsumer.get(reference) ?? noRegistrations);
      }
    }
    for (const object of leaving) {
      void object.stop();
    }
    void firstPasses(coming.queues, coming.consumers);
  }

  #queueObjects(
    state: DynamicState,
    { queues, registrationsByQueue }: Selection,
  ): ReadonlyMap<string, QueueObject> {
    const result = new Map<string, QueueObject>();
    for (const [reference, isLeading] of queues) {
      const row = state.queues.get(reference);
      if (row !== undefined) {
        const registrations = registrationsByQueue.get(reference) ?? noRegistrations;
        result.set(
          reference,
          this.#queueObject(this.registry.queues.get(reference), row, registrations, isLeading),
        );
      }
    }
    return result;
  }

  #queueObject(
    present: QueueObject | undefined,
    row: QueueRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
  ): QueueObject {
    const error = queueRowError(row);
    if (error !== null) {
      return new ErrorQueueController(this.#environment, row, registrations, isLeading, error);
    }
    return present !== undefined && !present.isStateless && present.isLeading === isLeading
      ? present
      : new QueueController(this.#environment, row, registrations, isLeading);
  }

  #consumerObjects(
    state: DynamicState,
    { consumers, registrationsByConsumer }: Selection,
  ): ReadonlyMap<string, ConsumerObject> {
    const result = new Map<string, ConsumerObject>();
    for (const [reference, isLeading] of consumers) {
      const row: ConsumerRow | undefined = state.consumers.get(reference);
      const present = this.registry.consumers.get(reference);
      if (row !== undefined) {
        const registrations = registrationsByConsumer.get(reference) ?? noRegistrations;
        result.set(
          reference,
          present?.isLeading === isLeading
            ? present
            : new ConsumerController(this.#environment, row, registrations, isLeading),
        );
      }
    }
    return result;
  }
}

/** Objects of the first map in whose place the second one has none or another one. */
function leavers<T>(before: ReadonlyMap<string, T>, after: ReadonlyMap<string, T>): T[] {
  return [...before]
    .filter(([reference, object]) => after.get(reference) !== object)
    .map(([, object]) => object);
}

/** A new object is looked at at once; a consumer after its queues, whose boundaries it needs. */
async function firstPasses(
  queues: readonly QueueObject[],
  consumers: readonly ConsumerObject[],
): Promise<void> {
  await runPasses(queues);
  await runPasses(consumers);
}
