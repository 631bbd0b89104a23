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
import { type OrchidNode, valueNode } from "../orchid/orchid-node.ts";
import type { PassInput } from "../snapshots/object-snapshot.ts";
import { QueueCollector } from "../snapshots/queue-collector.ts";
import { type QueueSnapshot, queueSnapshotWithError } from "../snapshots/queue-snapshot.ts";
import { notProcessedYet, queuePartitionsToYson, queueStatusToYson } from "../snapshots/queue-status.ts";
import type { ControllerEnvironment } from "./controller-environment.ts";
import { ObjectController } from "./object-controller.ts";
import type { QueueLeadership, QueueObject } from "./object-registry.ts";

/** What only the leader of a queue has. */
interface Leadership extends QueueLeadership {
  readonly alerts: AlertManager;
  readonly trimAlerts: ManagedAlertCollector;
  readonly operatorAlerts: ManagedAlertCollector;
  readonly exports: QueueExports;
}

export class QueueController extends ObjectController<QueueRow, QueueSnapshot> implements QueueObject {
  readonly #collector: QueueCollector;
  readonly #leadership: Leadership | undefined;

  constructor(
    environment: ControllerEnvironment,
    row: QueueRow,
    registrations: readonly RegistrationRow[],
    isLeading: boolean,
  ) {
    const { reads, origin } = environment;
    const error = origin.mark(notProcessedYet("Queue"));
    super(environment, isLeading, queueSnapshotWithError(row, registrations, error));
    this.#collector = new QueueCollector(row.reference, reads, origin);
    this.#leadership = isLeading ? lead(environment, row.reference) : undefined;
  }

  get leadership(): QueueLeadership | undefined {
    return this.#leadership;
  }

  override collectAlerts(): void {
    this.#leadership?.alerts.collect();
  }

  override async stop(): Promise<void> {
    // Exports do not wait for a pass that hangs: whoever leads the queue now needs their locks. The pass starts
    // none any more.
    await Promise.all([super.stop(), this.#leadership?.exports.stop()]);
  }

  protected override statusNodes(): Readonly<Record<string, OrchidNode>> {
    const { clock } = this.environment.context;
    return {
      status: valueNode(() => this.#status()),
      partitions: valueNode(() => queuePartitionsToYson(this.snapshot, clock.now())),
      exporters: valueNode(() => this.#leadership?.exports.orchid() ?? null),
    };
  }

  protected override collect(input: PassInput<QueueRow, QueueSnapshot>): Promise<QueueSnapshot> {
    return this.#collector.collect(input);
  }

  protected override async follow(previous: QueueSnapshot, snapshot: QueueSnapshot): Promise<void> {
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
    this.environment.profiler.queuePass?.(previous, snapshot);
    leadership.exports.update(snapshot.row, snapshot);
    await this.#trim(leadership, snapshot);
    this.#stageOperatorAlerts(leadership, snapshot);
  }

  protected override close(): void {
    this.#collector.close();
  }

  async #trim({ exports, trimAlerts }: Leadership, snapshot: QueueSnapshot): Promise<void> {
    const { context, registry, trimmer, stateAgeMs } = this.environment;
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
      trimAlerts.stage(alertKinds.trimFailed, this.environment.origin.mark(toYtError(thrown)));
    }
    trimAlerts.publish();
  }

  #stageOperatorAlerts({ operatorAlerts: collector }: Leadership, snapshot: QueueSnapshot): void {
    const { context, registry } = this.environment;
    const { controller } = context.config().agent;
    for (const alert of operatorAlerts(snapshot, registry.consumer, context.clock.now(), controller)) {
      collector.stage(alert.kind, alert.error, alert.tags);
    }
    collector.publish();
  }

  #status(): YsonMap {
    const { context } = this.environment;
    return queueStatusToYson(this.snapshot, {
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
