/**
 * The exports of one queue: an exporter for each name in `@static_export_config`.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (UpdateExports, BuildExportsYson).
 */
import { Attributed, mapOf, type YsonValue, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { AlertManager, ManagedAlertCollector } from "../alerts/alert-manager.ts";
import type { AgentContext } from "../context.ts";
import type { StaticExportConfig, StaticExportConfigs } from "../objects/object-configs.ts";
import type { ObjectReference } from "../objects/reference.ts";
import { isReplicated, type QueueRow } from "../objects/state-rows.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import type { ExportManager } from "./export-manager.ts";
import { exportedRowCounts } from "./export-progress.ts";
import type { ExporterState } from "./exporter-state.ts";
import { aggregateRowCounts, type QueueExportProgress } from "./queue-export-progress.ts";
import { QueueExporter } from "./queue-exporter.ts";

const noRows: ReadonlyMap<number, bigint> = new Map();

export class QueueExports {
  readonly #context: AgentContext;
  readonly #queue: ObjectReference;
  readonly #manager: ExportManager;
  readonly #alerts: AlertManager;
  readonly #configurationAlerts: ManagedAlertCollector;
  readonly #exporters = new Map<string, QueueExporter>();
  readonly #stopping = new Set<Promise<void>>();
  #error: YtError | null = null;

  constructor(context: AgentContext, queue: ObjectReference, manager: ExportManager, alerts: AlertManager) {
    this.#context = context;
    this.#queue = queue;
    this.#manager = manager;
    this.#alerts = alerts;
    this.#configurationAlerts = alerts.collector();
  }

  /** Follows the queue's configuration: starts, changes and stops exporters. Once in each leading pass. */
  update(row: QueueRow, _snapshot?: QueueSnapshot): void {
    const configs = row.staticExportConfig;
    if (configs === null || configs.size === 0) {
      this.#fail(null);
      this.#configurationAlerts.publish();
      return;
    }
    const problem = misconfiguration(row, configs);
    if (problem !== null) {
      this.#fail(problem);
      this.#configurationAlerts.stage(alertKinds.staticExportMisconfiguration, problem);
      this.#configurationAlerts.publish();
      return;
    }
    this.#error = null;
    this.#configurationAlerts.publish();
    const { implementation } = this.#context.config().agent.controller.queueExporter;
    for (const [name, exporter] of this.#exporters) {
      if (!configs.has(name) || exporter.implementation !== implementation) {
        this.#drop(name, exporter);
      }
    }
    for (const [name, config] of configs) {
      const known = this.#exporters.get(name);
      known?.reconfigure(config, row.objectId);
      const exporter = known ?? this.#start(name, config, row.objectId);
      void exporter.readProgress();
    }
  }

  /** Stops all exporters; `reason` shows in the status and blocks trimming. */
  disable(reason: YtError): void {
    this.#fail(reason);
    this.#configurationAlerts.publish();
  }

  /** For trimming. An export whose progress is not read yet has exported nothing. */
  progress(): QueueExportProgress {
    if (this.#error !== null) {
      return { kind: "error", error: incorrectExports(this.#error) };
    }
    const rowCounts = aggregateRowCounts(
      [...this.#exporters.values()].map(({ progress }) =>
        progress === null ? noRows : exportedRowCounts(progress),
      ),
    );
    return rowCounts === null ? { kind: "none" } : { kind: "rows", rowCounts };
  }

  /**
   * The `exports` field of `@queue_status`: `progress` by name or `error`, as in the real system; with exports
   * also `state` by name, an addition of qyt.
   */
  status(): YsonValue {
    if (this.#error !== null) {
      return mapOf({ error: errorToYson(incorrectExports(this.#error)) });
    }
    return mapOf({
      progress: this.#byName((exporter) => exporter.progressYson()),
      state: this.#exporters.size === 0 ? undefined : this.#byName((exporter) => exporter.statusYson()),
    });
  }

  /** The `exporters` node of the Orchid. */
  orchid(): YsonValue {
    return this.#error === null
      ? this.#byName((exporter) => exporter.orchid())
      : new Attributed(mapOf({ error: errorToYson(incorrectExports(this.#error)) }), null);
  }

  /** By name, for metrics. */
  states(): ReadonlyMap<string, ExporterState> {
    return new Map([...this.#exporters].map(([name, { state }]) => [name, state]));
  }

  /** Resolves when no task of an exporter runs any more. */
  async stop(): Promise<void> {
    this.#fail(null);
    this.#configurationAlerts.close();
    await Promise.all(this.#stopping);
  }

  #fail(error: YtError | null): void {
    this.#error = error;
    for (const [name, exporter] of this.#exporters) {
      this.#drop(name, exporter);
    }
  }

  #drop(name: string, exporter: QueueExporter): void {
    this.#exporters.delete(name);
    const stopped = exporter.stop().finally(() => this.#stopping.delete(stopped));
    this.#stopping.add(stopped);
  }

  #start(name: string, config: StaticExportConfig, objectId: string | null): QueueExporter {
    const exporter = new QueueExporter({
      context: this.#context,
      queue: this.#queue,
      name,
      implementation: this.#context.config().agent.controller.queueExporter.implementation,
      config,
      objectId,
      manager: this.#manager,
      collector: this.#alerts.collector(),
    });
    this.#exporters.set(name, exporter);
    return exporter;
  }

  #byName(read: (exporter: QueueExporter) => YsonValue): ReadonlyMap<string, YsonValue> {
    return new Map([...this.#exporters].map(([name, exporter]) => [name, read(exporter)]));
  }
}

function incorrectExports(reason: YtError): YtError {
  return new YtError("Incorrect queue exports", { inner: [reason] });
}

function onlyOnReplicas(objectType: string): YtError {
  return new YtError(
    `Attribute "static_export_config" can only be set on replicas, not on a ${objectType}: set it on the tables that are its replicas`,
  );
}

/** `exports` of the status of a queue that is not followed: nothing runs, and a replicated queue can have none. */
export function unfollowedExportsStatus(row: QueueRow): YsonValue {
  const { objectType, staticExportConfig } = row;
  const hasExports = staticExportConfig !== null && staticExportConfig.size > 0;
  return objectType !== null && isReplicated(row) && hasExports
    ? mapOf({ error: errorToYson(incorrectExports(onlyOnReplicas(objectType))) })
    : mapOf({ progress: new Map() });
}

/** What is wrong with the set of exports as a whole; `null`: nothing. */
function misconfiguration(row: QueueRow, configs: StaticExportConfigs): YtError | null {
  if (row.objectType === null) {
    return new YtError("Static export config check failed", {
      inner: [new YtError("Object type is not known yet")],
    });
  }
  if (row.objectType !== "table") {
    return onlyOnReplicas(row.objectType);
  }
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  for (const { exportDirectory } of configs.values()) {
    if (seen.has(exportDirectory)) {
      duplicates.add(exportDirectory);
    }
    seen.add(exportDirectory);
  }
  if (duplicates.size === 0) {
    return null;
  }
  return new YtError("Static export config check failed", {
    inner: [...duplicates].map(
      (directory) =>
        new YtError(
          `Duplicate directory in config (Value: ${directory}): give each export a directory of its own`,
        ),
    ),
  });
}
