/**
 * Follows one queue: a snapshot with each pass and, where this agent leads it, alerts, exports and trimming.
 *
 * Specified in: yt/yt/server/queue_agent/queue_controller.cpp (TOrderedDynamicTableController).
 */
import { mapOf, toYtError, type YsonMap, YtError } from "@qyt/base";
import { errorToYson } from "@qyt/yson";
import { alertKinds } from "../alerts/alert-kinds.ts";
import type { ManagedAlertCollector } from "../alerts/alert-manager.ts";
import { AlertManager } from "../alerts/alert-manager.ts";
import { operatorAlerts } from "../alerts/operator-alerts.ts";
import { QueueExports } from "../exports/queue-exports.ts";
import type { ObjectReference } from "../objects/reference.ts";
import type { QueueRow, RegistrationRow } from "../objects/state-rows.ts";
import { mapNode, type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import { instantFromMs } from "../snapshots/instants.ts";
import { QueueCollector } from "../snapshots/queue-collector.ts";
import type { QueueSnapshot } from "../snapshots/queue-snapshot.ts";
import { notProcessedYet, queuePartitionsToYson, queueStatusToYson } from "../snapshots/queue-status.ts";
import { type ControllerEnvironment, PassGate } from "./controller-environment.ts";
import type { QueueLeadership, QueueObject } from "./object-registry.ts";
import { rowNodes } from "./row-representation.ts";

/** What only the leader of a queue has. */
interface Leadership extends QueueLeadership {
  readonly alerts: AlertManager;
  readonly trimAlerts: ManagedAlertCollector;
  readonly operatorAlerts: ManagedAlertCollector;
  readonly exports: QueueExports;
}

export class QueueController implements QueueObject {
  readonly reference: ObjectReference;
  readonly isLeading: boolean;
  readonly isStateless = false;
  readonly #environment: ControllerEnvironment;
  readonly #collector: QueueCollector;
  readonly #gate: PassGate;
  readonly #leadership: Leadership | undefined;
  #row: QueueRow;
  #registrations: readonly RegistrationRow[];
  #snapshot: QueueSnapshot;

  constructor(
    environment: ControllerEnvironment,
    row: QueueRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
  ) {
    const { context, reads, origin } = environment;
    this.reference = row.reference;
    this.isLeading = isLeading;
    this.#environment = environment;
    this.#row = row;
    this.#registrations = registrations;
    this.#collector = new QueueCollector(row.reference, reads, origin);
    this.#gate = new PassGate(context, row.reference);
    this.#leadership = isLeading ? lead(environment, row.reference) : undefined;
    this.#snapshot = queueSnapshotWithError(row, registrations, origin.mark(notProcessedYet("Queue")));
  }

  /** Made when asked for: thousands of objects are seldom looked into. */
  get orchid(): OrchidNode {
    const { context } = this.#environment;
    return mapNode({
      leading: valueNode(() => this.isLeading),
      pass_index: valueNode(() => BigInt(this.#snapshot.passIndex)),
      pass_instant: valueNode(() => instantFromMs(this.#snapshot.passInstantMs)),
      ...rowNodes(() => this.#row),
      status: valueNode(() => this.#status()),
      partitions: valueNode(() => queuePartitionsToYson(this.#snapshot, context.clock.now())),
      exporters: valueNode(() => this.#leadership?.exports.orchid() ?? null),
    });
  }

  get snapshot(): QueueSnapshot {
    return this.#snapshot;
  }

  get leadership(): QueueLeadership | undefined {
    return this.#leadership;
  }

  update(row: QueueRow, registrations: readonly RegistrationRow[]): void {
    this.#row = row;
    this.#registrations = registrations;
  }

  get isPassing(): boolean {
    return this.#gate.isRunning;
  }

  pass(): Promise<void> {
    return this.#gate.run(() => this.#pass());
  }

  collectAlerts(): void {
    this.#leadership?.alerts.collect();
  }

  async stop(): Promise<void> {
    // Exports do not wait for a pass that hangs: whoever leads the queue now needs their locks. The pass starts
    // none any more.
    await Promise.all([this.#gate.stop(), this.#leadership?.exports.stop()]);
    this.#collector.close();
  }

  async #pass(): Promise<void> {
    const { context, profiler } = this.#environment;
    const startMs = context.clock.monotonic();
    const previous = this.#snapshot;
    const row = this.#row;
    const snapshot = await this.#collector.collect({
      row,
      registrations: this.#registrations,
      previous,
      nowMs: context.clock.now(),
    });
    if (this.#gate.isStopped) {
      return;
    }
    this.#snapshot = snapshot;
    profiler.passEnded?.(snapshot, this.isLeading, context.clock.monotonic() - startMs);
    const leadership = this.#leadership;
    if (leadership === undefined) {
      return;
    }
    if (snapshot.bannedSinceMs !== null) {
      leadership.exports.disable(new YtError("Exports are disabled, since this queue is banned"));
      leadership.trimAlerts.publish();
      leadership.operatorAlerts.publish();
      return;
    }
    profiler.queuePass?.(previous, snapshot);
    leadership.exports.update(row, snapshot);
    await this.#trim(leadership, snapshot);
    this.#stageOperatorAlerts(leadership, snapshot);
  }

  async #trim({ exports, trimAlerts }: Leadership, snapshot: QueueSnapshot): Promise<void> {
    const { context, registry, trimmer, stateAgeMs } = this.#environment;
    const { agent } = context.config();
    const { enableAutomaticTrimming, trimmingPeriodMs, passPeriodMs } = agent.controller;
    if (!enableAutomaticTrimming) {
      trimAlerts.publish();
      return;
    }
    const passesPerTrim = Math.max(1, Math.ceil((trimmingPeriodMs ?? passPeriodMs) / passPeriodMs));
    if (snapshot.passIndex % passesPerTrim !== 0 || context.isPresent?.() === false) {
      return;
    }
    try {
      if (snapshot.row.autoTrimConfig?.enable === true) {
        requireKnownReaders(stateAgeMs(), maxAgeMs(agent.passPeriodMs));
      }
      await trimmer.trim({
        queue: snapshot,
        consumer: registry.consumer,
        consumersSinceMs: snapshot.passInstantMs - maxAgeMs(passPeriodMs),
        exports: exports.progress(),
      });
    } catch (thrown) {
      trimAlerts.stage(alertKinds.trimFailed, this.#environment.origin.mark(toYtError(thrown)));
    }
    trimAlerts.publish();
  }

  #stageOperatorAlerts({ operatorAlerts: collector }: Leadership, snapshot: QueueSnapshot): void {
    const { context, registry } = this.#environment;
    const { controller } = context.config().agent;
    for (const alert of operatorAlerts(snapshot, registry.consumer, context.clock.now(), controller)) {
      collector.stage(alert.kind, alert.error, alert.tags);
    }
    collector.publish();
  }

  #status(): YsonMap {
    const { context } = this.#environment;
    return queueStatusToYson(this.#snapshot, {
      host: context.host,
      alerts: this.#leadership?.alerts.alerts() ?? new Map(),
      exports: this.#leadership?.exports.status() ?? followersExports,
      nowMs: context.clock.now(),
    });
  }
}

/** What is older than this, in milliseconds, and than so many passes, is too old to trim by. */
const minTrustedAgeMs = 10_000;
const trustedPasses = 3;

function maxAgeMs(passPeriodMs: number): number {
  return Math.max(minTrustedAgeMs, trustedPasses * passPeriodMs);
}

/** @throws YtError when a vital consumer may have been registered since the registrations were read */
function requireKnownReaders(ageMs: number, limitMs: number): void {
  if (ageMs > limitMs) {
    throw new YtError(
      `Trimming iteration skipped due to outdated registrations: the state tables have not been read for ${Math.floor(ageMs / 1_000)} s; ` +
        'see the alert "queue_agent_pass_failed" of the queue agents',
    );
  }
}

const followersExports = mapOf({
  error: errorToYson(new YtError("Following queue controller can't track exports progress")),
});

function lead({ context, exportManager }: ControllerEnvironment, reference: ObjectReference): Leadership {
  const alerts = new AlertManager();
  return {
    alerts,
    trimAlerts: alerts.collector(),
    operatorAlerts: alerts.collector(),
    exports: new QueueExports(context, reference, exportManager, alerts),
  };
}

/** A snapshot of a queue of which nothing is known but why. */
export function queueSnapshotWithError(
  row: QueueRow,
  registrations: readonly RegistrationRow[],
  error: YtError,
): QueueSnapshot {
  return {
    kind: "queue",
    reference: row.reference,
    row,
    registrations,
    error,
    tableId: null,
    passIndex: -1,
    passInstantMs: 0,
    bannedSinceMs: null,
    hasTimestampColumn: false,
    hasCumulativeDataWeightColumn: false,
    isReplica: false,
    partitions: [],
  };
}
