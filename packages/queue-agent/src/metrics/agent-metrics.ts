/**
 * The metrics of one agent: told of passes, asked for an answer.
 *
 * What is known at the moment of an answer is read then; only what has to be counted costs a pass anything,
 * and there only for partitions that have changed.
 */
import type { Clock } from "@qyt/base";
import type { AlertManager } from "../alerts/alert-manager.ts";
import type { PassProfiler } from "../controllers/controller-environment.ts";
import type { ObjectRegistry } from "../controllers/object-registry.ts";
import type { ExportManager } from "../exports/export-manager.ts";
import { agentGauges, type ProcessUsage } from "./agent-gauges.ts";
import { AlertSensors } from "./alert-sensors.ts";
import { ConsumerProfiles } from "./consumer-profiles.ts";
import { writeExports } from "./export-sensors.ts";
import { Exposition, type PieceSink } from "./exposition.ts";
import { ControllerPasses, type SinglePasses, writeExportPasses, writeSinglePasses } from "./pass-sensors.ts";
import { QueueProfiles } from "./queue-profiles.ts";

export interface AgentMetricsParts extends SinglePasses {
  readonly registry: ObjectRegistry;
  /** Of the process. */
  readonly alerts: Pick<AlertManager, "active">;
  readonly exportManager: Pick<ExportManager, "waiting" | "passes">;
  readonly isBanned: () => boolean;
  readonly controllersPassMs: () => number | null;
  readonly usage: () => ProcessUsage;
}

/** The form that prom-client writes, too. */
const textFormat = "text/plain; version=0.0.4; charset=utf-8";

export class AgentMetrics {
  readonly contentType = textFormat;
  readonly profiler: PassProfiler;
  readonly #clock: Clock;
  readonly #queues = new QueueProfiles();
  readonly #consumers = new ConsumerProfiles();
  readonly #controllers = new ControllerPasses();
  readonly #alerts = new AlertSensors();
  #writeAll: ((exposition: Exposition) => Promise<void>) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.profiler = {
      queuePass: (previous, next) => this.#queues.record(previous, next),
      consumerPass: (previous, next) => this.#consumers.record(previous, next),
      passEnded: (snapshot, isLeading, durationMs) =>
        this.#controllers.record(snapshot, isLeading, durationMs),
      retain: (registry) => this.#retain(registry),
    };
  }

  /** Until then answers are empty. */
  attach(parts: AgentMetricsParts): void {
    const { registry, alerts, exportManager } = parts;
    const gauges = agentGauges({ ...parts, waitingExports: () => exportManager.waiting });
    this.#writeAll = async (exposition) => {
      exposition.add(await gauges.metrics());
      await writeSinglePasses(exposition, parts);
      await this.#controllers.write(exposition);
      await writeExportPasses(exposition, exportManager.passes);
      await this.#queues.write(exposition);
      await this.#consumers.write(exposition, registry.queue, this.#clock.now());
      await writeExports(exposition, registry.queues.values(), this.#clock.now());
      await this.#alerts.write(exposition, alerts.active(), registry.queues);
    };
  }

  /** Writes the text for Prometheus. */
  async write(sink: PieceSink): Promise<void> {
    const exposition = new Exposition(this.#clock, sink);
    await this.#writeAll?.(exposition);
    await exposition.end();
  }

  #retain({ queues, consumers }: ObjectRegistry): void {
    this.#queues.retain((reference) => isLed(queues.get(reference)));
    this.#consumers.retain((reference) => isLed(consumers.get(reference)));
  }
}

/** Objects in error are made anew with each pass; their sensors are gone meanwhile. */
function isLed(object: { readonly isLeading: boolean; readonly isStateless: boolean } | undefined): boolean {
  return object?.isLeading === true && !object.isStateless;
}
