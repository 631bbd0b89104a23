/** What the controllers of one agent share, and the order of one controller's passes. */
import { sleep, toYtError } from "@qyt/base";
import type { AgentContext } from "../context.ts";
import type { ExportManager } from "../exports/export-manager.ts";
import { type ObjectReference, referenceToString } from "../objects/reference.ts";
import type { AgentReads } from "../reads/agent-reads.ts";
import type { ConsumerSnapshot } from "../snapshots/consumer-snapshot.ts";
import type { ErrorOrigin } from "../snapshots/error-origin.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import type { Trimmer } from "../trimming/trimmer.ts";
import type { ObjectRegistry } from "./object-registry.ts";

/** Told of the passes of controllers; metrics are made from it. */
export interface PassProfiler {
  /** Of a leading controller whose queue is not banned. */
  queuePass?(previous: QueueSnapshot, next: QueueSnapshot): void;
  consumerPass?(previous: ConsumerSnapshot, next: ConsumerSnapshot): void;
  /** Of any controller, with the snapshot that it made. */
  passEnded?(snapshot: QueueSnapshot | ConsumerSnapshot, isLeading: boolean, durationMs: number): void;
  /** The objects that there are now; others are gone. */
  retain?(registry: ObjectRegistry): void;
}

export interface ControllerEnvironment {
  readonly context: AgentContext;
  readonly reads: AgentReads;
  readonly origin: ErrorOrigin;
  readonly registry: ObjectRegistry;
  readonly exportManager: ExportManager;
  readonly trimmer: Pick<Trimmer, "trim">;
  readonly profiler: PassProfiler;
  /** Milliseconds since the latest good read of the state tables began. */
  readonly stateAgeMs: () => number;
}

/** Passes that never overlap, delayed where the configuration asks for it, and that end with `stop`. */
export class PassGate {
  readonly #context: AgentContext;
  readonly #name: string;
  /** Only a pass that waits has one. */
  #abort: AbortController | undefined;
  #isStopped = false;
  #running: Promise<void> | undefined;

  constructor(context: AgentContext, reference: ObjectReference) {
    this.#context = context;
    this.#name = referenceToString(reference);
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Runs `work`, or waits for the pass under way. Never rejects: what is thrown is logged. */
  run(work: () => Promise<void>): Promise<void> {
    if (this.#running !== undefined || this.isStopped) {
      return this.#running ?? Promise.resolve();
    }
    this.#running = this.#guarded(work).finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#abort?.abort();
    await this.#running;
  }

  async #guarded(work: () => Promise<void>): Promise<void> {
    const { clock, config, logger } = this.#context;
    try {
      const { delayedObjects, controllerDelayMs } = config().agent.controller;
      if (controllerDelayMs > 0 && delayedObjects.has(this.#name)) {
        this.#abort = new AbortController();
        await sleep(clock, controllerDelayMs, this.#abort.signal);
      }
      await work();
    } catch (thrown) {
      if (!this.isStopped) {
        logger.error({ err: toYtError(thrown), object: this.#name }, "Pass of a controller failed");
      }
    }
  }
}
