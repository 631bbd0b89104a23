/** Worker processes in a simulation: they can be killed at any moment, cut off from the others, and started anew. */
import type { Clock, Random, Timer, YsonValue } from "@qyt/base";
import { YtError } from "@qyt/base";
import type { ConnectorRegistry } from "../connectors/connector.ts";
import type { FunctionRegistry } from "../functions/process-function.ts";
import type { Network } from "../protocol/protocol.ts";
import { Worker } from "../worker/worker.ts";
import type { FixedLayout } from "./layout-fixture.ts";
import type { MemoryCluster, ProcessLife } from "./memory-cluster-fixture.ts";

/** Chances of what may go wrong between processes. */
export interface NetworkFaults {
  lostRequest: number;
  lostAnswer: number;
  maxDelayMs: number;
}

const timeoutMs = 1_000;

interface Life extends ProcessLife {
  /** Nobody of the others hears it or is heard by it; the cluster is. */
  isCutOff: boolean;
}

interface WorkerProcess {
  readonly worker: Worker;
  readonly life: Life;
}

export interface FleetOptions {
  readonly cluster: MemoryCluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly layout: FixedLayout;
  readonly pipelinePath: string;
  readonly registry: ConnectorRegistry;
  readonly functions: FunctionRegistry;
  readonly faults: NetworkFaults;
}

export class WorkerFleet {
  readonly #options: FleetOptions;
  readonly #processes = new Map<string, WorkerProcess>();
  #incarnations = 0;
  readonly messages: string[] = [];

  constructor(options: FleetOptions) {
    this.#options = options;
  }

  get addresses(): readonly string[] {
    return [...this.#processes.keys()];
  }

  start(address: string): void {
    const { cluster, random, layout, pipelinePath, registry, functions } = this.#options;
    const life: Life = { isKilled: false, isCutOff: false };
    const clock = lifeClock(this.#options.clock, life);
    this.#incarnations += 1;
    const worker = new Worker({
      address,
      pipelinePath,
      pipelineCluster: cluster.name,
      clusters: { cluster: () => cluster.connect(life) },
      registry,
      functions,
      network: this.#network(life),
      clock,
      random,
      log: (level, message, fields) => {
        this.messages.push(`${level}: ${message} ${JSON.stringify(fields ?? {})}`);
      },
      workerGroups: [],
      incarnation: `incarnation-${this.#incarnations}`,
      heartbeat: (heartbeat) => this.#trip(life, () => layout.heartbeat(heartbeat)),
    });
    this.#processes.set(address, { worker, life });
    worker.start();
  }

  /** Nothing of the process goes on, except what the cluster has on its way. */
  kill(address: string): void {
    const process = this.#processes.get(address);
    if (process !== undefined) {
      process.life.isKilled = true;
      this.#processes.delete(address);
    }
  }

  cutOff(address: string, isCutOff: boolean): void {
    const process = this.#processes.get(address);
    if (process !== undefined) {
      process.life.isCutOff = isCutOff;
    }
  }

  #network(life: Life): Network {
    return {
      call: (address, method, body) =>
        this.#trip(life, async (): Promise<YsonValue> => {
          const target = this.#processes.get(address);
          if (target === undefined || target.life.isCutOff) {
            throw new YtError(`Nobody listens at ${address}`, { code: "TransportError" });
          }
          return await target.worker.handle(method, body);
        }),
    };
  }

  async #trip<T>(life: Life, action: () => T | Promise<T>): Promise<T> {
    const { faults, random } = this.#options;
    await this.#delay(life, random.next() * faults.maxDelayMs);
    if (life.isCutOff || random.next() < faults.lostRequest) {
      await this.#delay(life, timeoutMs);
      throw new YtError("Request timed out", { code: "Timeout" });
    }
    const result = await action();
    if (life.isCutOff || random.next() < faults.lostAnswer) {
      await this.#delay(life, timeoutMs);
      throw new YtError("Connection was closed", { code: "TransportError" });
    }
    await this.#delay(life, random.next() * faults.maxDelayMs);
    return result;
  }

  #delay(life: Life, ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#options.clock.after(ms, () => {
        if (!life.isKilled) {
          resolve();
        }
      });
    });
  }
}

/** A clock whose timers end with the process. */
function lifeClock(clock: Clock, life: ProcessLife): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback): Timer {
      return clock.after(delayMs, () => {
        if (!life.isKilled) {
          callback();
        }
      });
    },
  };
}
